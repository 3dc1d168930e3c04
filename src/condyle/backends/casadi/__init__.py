"""C sources with CasADi's interface for external functions, for CasADi and acados."""
