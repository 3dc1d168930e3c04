"""The native extension: in a file of its own, because only code knows where NumPy's headers are."""

import numpy as np
from setuptools import Extension, setup

setup(
    ext_modules=[
        Extension(
            "condyle.runtime._native",
            ["src/condyle/runtime/_native.c"],
            include_dirs=[np.get_include()],
            extra_compile_args=["-O2", "-pthread"],
            extra_link_args=["-pthread"],
        )
    ]
)
