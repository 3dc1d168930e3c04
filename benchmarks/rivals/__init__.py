"""Adapters that only the benchmarks need; the C++ one is in the package, since `condyle bench --against` uses it."""
