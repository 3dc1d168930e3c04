"""How the operations are spelled in C and C++; `one` and `sqrt` depend on the type."""

from __future__ import annotations

FORMS = {
    "neg": "-{0}",
    "add": "{0} + {1}",
    "sub": "{0} - {1}",
    "mul": "{0} * {1}",
    "rcp": "{one} / {0}",
    "sqrt": "{sqrt}({0})",
    "fma": "{0} * {1} + {2}",
    "fms": "{0} * {1} - {2}",
    "fnma": "{2} - {0} * {1}",
    "fnms": "-({0} * {1}) - {2}",
}
