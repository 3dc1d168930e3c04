"""The same kernels as CUDA C++: a header to take away, and a project around it."""
