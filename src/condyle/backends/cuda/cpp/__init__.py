"""The same kernels as CUDA C++: an exported header, and a project with it."""
