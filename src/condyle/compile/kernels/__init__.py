"""Kernels that are made of other kernels."""
