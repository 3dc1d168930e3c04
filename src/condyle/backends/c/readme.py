"""The README of an exported C project."""

from __future__ import annotations

from collections.abc import Sequence

from condyle.backends.c.emit import plain_head
from condyle.backends.common.describe import described
from condyle.backends.common.facts import Facts
from condyle.backends.common.readme import Coordinates, birth, order
from condyle.ir.sweep import Code


def readme(programs: Sequence[Code], facts: Facts, real: str, joints: Sequence[Coordinates]) -> str:
    """README.md: the files, how to build and test them, each function, the order of the joints."""
    name, library = facts.name, f"condyle_{facts.name}"
    sources = ", ".join(f"`{name}_{program.name}.c`" for program in programs)
    functions = "\n".join(_section(program, facts, real) for program in programs)
    return f"""\
# {name}: rigid-body dynamics in C

{len(programs)} functions of one robot, nq = {facts.nq}, nv = {facts.nv}, every number a `{real}`.
{birth(facts)}

| file | what it is |
|---|---|
| `{name}.h` | the header, for C and C++; above each function its arguments and operations |
| {sources} | the functions: C99 that needs the C library, `libm` and no other file of these |
| `{name}_facts.c` | sizes, fingerprint and version as constants, to compare with the header's |
| `test.c` | calls every function on states with known answers |
| `CMakeLists.txt` | the library `{library}` and the test |
| `robot.json` | names of joints and bodies, as data |
| `condyle-export.json` | which files an export wrote: it replaces no others |

Build and test, with CMake or without; the exit status of the test is 0 if all answers are right:

```sh
cmake -S . -B build && cmake --build build && ctest --test-dir build
cc -O2 -march=native -ffp-contract=fast -fno-math-errno *.c -lm -o check && ./check
```

In a CMake project of yours: `add_subdirectory` this folder and `target_link_libraries(app {library})`;
`-DCONDYLE_NATIVE=OFF` builds for other machines than this one.

## Functions

Rows of n states stand one after the other. A function returns 0, or -1 when there is no memory; it keeps nothing
between calls and may run in many threads at once. `_strided` in the header takes rows at any distance and a workspace
of yours. SI units; where two stand, the first is of an angle, the second of a length. f_ext is zero: external forces
are not exported to C.

{functions}
## Order of joints

{order(joints)}

A free joint is x y z qx qy qz qw in q; linear, then angular velocity in the body's own axes in v. A spherical joint is
qx qy qz qw, and angular velocity in the body's own axes.
"""


def _section(program: Code, facts: Facts, real: str) -> str:
    function = facts.functions.get(program.name)
    rows = [
        f"| `{name}` | {way} | {' x '.join(['n', *map(str, shape)])} | {_cell(port.unit) if port else ''} | "
        f"{_cell(port.doc) if port else ''} |"
        for way, name, shape, port in described(program, facts)
    ]
    return "\n".join(
        [
            f"### {facts.name}_{program.name}",
            "",
            *([] if function is None else [function.equation, ""]),
            "```c",
            plain_head(program, f"{facts.name}_{program.name}", real) + ";",
            "```",
            "",
            "| argument | | shape | unit | meaning |",
            "|---|---|---|---|---|",
            *rows,
            "",
        ]
    )


def _cell(text: str) -> str:
    return text.replace("|", "or")
