"""C sources with CasADi's external interface, which CasADi and acados load."""
