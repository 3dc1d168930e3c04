"""The native extensions: in a file of their own, because only code knows where NumPy's headers are."""

import sys
from pathlib import Path

import numpy as np
from setuptools import Extension, setup

DRIVER = (
    *(
        "plan",
        "numbers",
        "check",
        "sets",
        "drivers",
        "driver",
        "loops",
        "side",
        "blocks",
        "single",
        "steps",
        "single_type",
    ),
    *("repeat", "repeat_run", "repeat_until", "repeat_lone", "repeat_type"),
)
RUNTIME = "src/condyle/runtime"
NATIVE, TILES, CHAIN = (f"{RUNTIME}/{part}" for part in ("native", "tiles", "chain"))
SHARED = tuple(f"{RUNTIME}/{name}.h" for name in ("module", "code", "instruction_sets"))
SUPPORT = "src/condyle/backends/c/support"

if sys.platform == "win32":
    sys.exit("condyle is not built for Windows: install it in WSL 2 (Linux); see docs/explanation/other-systems.md")

setup(
    ext_modules=[
        Extension(
            "condyle.runtime._native",
            [f"{RUNTIME}/_native.c"],
            include_dirs=[np.get_include()],
            depends=[
                f"{RUNTIME}/module.h",
                f"{RUNTIME}/unit.h",
                *(
                    f"{NATIVE}/{name}.h"
                    for name in (
                        *("common", "quaternions", "pieces", "pool", "entry", "blocks", "packed", "function"),
                        *("answers", "scheduled", "ffi", "ffi_entries", "ffi_launches", "gpu_arrays", "dlpack"),
                    )
                ),
            ],
            extra_compile_args=["-O2", "-pthread"],
            extra_link_args=["-pthread"],
        ),
        Extension(
            "condyle.backends.cpu._allocate",
            ["src/condyle/backends/cpu/_allocate.c"],
            depends=[
                f"{RUNTIME}/module.h",
                *(
                    f"src/condyle/backends/cpu/_allocate_{part}.h"
                    for part in ("registers", "schedule", "traffic", "module")
                ),
            ],
            extra_compile_args=["-O2"],
        ),
        Extension(
            "condyle.runtime._tiles",
            sorted(map(str, Path(TILES).glob("*.c"))),
            include_dirs=[TILES, SUPPORT],
            depends=[
                *SHARED,
                f"{RUNTIME}/unit.h",
                *(f"{TILES}/{name}.h" for name in DRIVER),
                *(f"{SUPPORT}/{name}.h" for name in ("vector", "sincos", "transpose", "tiles", "product")),
            ],
            extra_compile_args=["-O2", "-fno-math-errno", "-fno-trapping-math"],
        ),
        Extension(
            "condyle.runtime._chain",
            sorted(map(str, Path(CHAIN).glob("*.c"))),
            include_dirs=[CHAIN, SUPPORT],
            depends=[
                *SHARED,
                *(f"{CHAIN}/{name}.h" for name in ("chain", "check", "driver")),
                *(f"{SUPPORT}/{name}.h" for name in ("vector", "sincos", "transpose", "tiles", "product")),
            ],
            extra_compile_args=["-O2", "-fno-math-errno", "-fno-trapping-math"],
        ),
    ]
)
