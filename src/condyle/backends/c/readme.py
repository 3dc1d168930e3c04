"""The README of an exported C project."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from condyle.backends.c.emit import Source, given_head, plain_head
from condyle.backends.c.target import TARGET
from condyle.backends.common.describe import described, in_ascii
from condyle.backends.common.facts import Facts
from condyle.backends.common.package import library_of
from condyle.backends.common.readme import Coordinates, birth, order
from condyle.ir.repeated import Repeated
from condyle.ir.sweep import Code


def readme(
    programs: Sequence[Code | Repeated],
    facts: Facts,
    real: str,
    joints: Sequence[Coordinates],
    made: Mapping[str, Source],
) -> str:
    """README.md: the files, how to build, test and install them, each function, the order of the joints."""
    name, library = facts.name, library_of(facts.name)
    sources = ", ".join(f"`{name}_{program.name}.c`" for program in programs)
    functions = "\n".join(_section(program, facts, real, made[program.name]) for program in programs)
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
| `CMakeLists.txt` | the library `{library}`, the test, and the package `{name}` |
| `robot.json` | names of joints, bodies and frames, in their order, as data |
| `condyle-export.json` | which files an export wrote: it replaces no others |

Build and test, with CMake or without; the exit status of the test is 0 if all answers are right:

```sh
cmake -S . -B build && cmake --build build && ctest --test-dir build
cc -O2 -march=native -ffp-contract=fast -fno-math-errno *.c -lm -o check && ./check
```

`-DCONDYLE_NATIVE=OFF` builds for other machines than this one. `cmake --install build --prefix PLACE` installs a
package, whose version is that of the ABI. Another project uses it, or `add_subdirectory` of this folder, with

```cmake
find_package({name} {TARGET.abi} CONFIG REQUIRED)   # with -DCMAKE_PREFIX_PATH=PLACE; not after add_subdirectory
target_link_libraries(app {name}::{name})
```

and without CMake `pkg-config --cflags --libs {name}`, with PLACE/lib/pkgconfig in PKG_CONFIG_PATH.

## Functions

Rows of n states stand one after the other. No function allocates, fails, or keeps anything between calls; they may run
in many threads at once. A plain call has its workspace on the stack; there is one where that is at most
{TARGET.stack // 1024} KiB. `_with` takes a workspace of yours at any address, `_strided` rows at any distance too. A
workspace has {name.upper()}_FN_WORK bytes, a constant that is enough on any machine, or {name}_FN_work() bytes.

The functions with `_f_ext` take external forces: for each body, in the order of `robot.json`, [force; torque] at the
origin of the body's frame, in that frame's axes. Without it they are zero. SI units; where two stand, the first is of
an angle, the second of a length.
{_rollouts(programs, name)}
{functions}
## Order of joints

{order(joints)}

A free joint is x y z qx qy qz qw in q; linear, then angular velocity in the body's own axes in v. A spherical joint is
qx qy qz qw, and angular velocity in the body's own axes.
"""


def _rollouts(programs: Sequence[Code | Repeated], name: str) -> str:
    if not any(isinstance(program, Repeated) for program in programs):
        return ""
    return f"""
A rollout repeats a function: what a step answers as `X_next` is X of the next step. It makes `steps` steps and keeps
those with numbers every, 2 every, ... and the last one: rows = ceil(steps / every); every = 0 keeps the last one alone,
rows = 1. `{name}_FN_strided` of a rollout takes `in_step` and `out_step` too: how many numbers lie between the rows of
two steps; an input whose in_step is 0 is the same at every step, any other has a row for each.
"""


def _section(program: Code | Repeated, facts: Facts, real: str, made: Source) -> str:
    function, head = facts.functions.get(program.name), plain_head if made.plain else given_head
    rows = [
        f"| `{name}` | {way} | {' x '.join(map(str, shape)) or '1'} | {_cell(port.unit) if port else ''} | "
        f"{_cell(port.doc) if port else ''} |"
        for way, name, shape, port in described(program, facts)
    ]
    return "\n".join(
        [
            f"### {facts.name}_{program.name}",
            "",
            *([] if function is None else [in_ascii(function.equation), ""]),
            "```c",
            head(program, f"{facts.name}_{program.name}", real) + ";",
            "```",
            "",
            "| argument | | shape | unit | meaning |",
            "|---|---|---|---|---|",
            *rows,
            "",
        ]
    )


def _cell(text: str) -> str:
    return in_ascii(text.replace("|", "or"))
