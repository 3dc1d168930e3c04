"""What runs beside every target: arrays in and out, the call itself, the cache of built objects, the toolchain."""

import sys

if sys.platform == "win32":
    raise ImportError(
        "condyle does not run on Windows: install it in WSL 2 (Linux); "
        "docs/explanation/other-systems.md says what is missing"
    )
