"""The intermediate representation: scalar operations, Programs and sweeps, and what they mean."""
