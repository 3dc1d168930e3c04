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
    generated: Mapping[str, Source],
) -> str:
    """README.md: the files, how to build, test and install them, each function, the order of the joints."""
    name, library = facts.name, library_of(facts.name)
    sources = ", ".join(f"`{name}_{program.name}.c`" for program in programs)
    functions = "\n".join(_section(program, facts, real, generated[program.name]) for program in programs)
    return f"""\
# {name}: rigid-body dynamics in C

{len(programs)} functions of one robot, nq = {facts.nq}, nv = {facts.nv}, every number a `{real}`.
{birth(facts)}

| file | what it is |
|---|---|
| `{name}.h` | the header, for C and C++: above each function its equation, arguments and number of operations |
| {sources} | the functions: each is one C99 file that needs only the C library and `libm` |
| `{name}_facts.c` | sizes, fingerprint and version as constants, to compare with those of the header |
| `test.c` | calls every function on states with known results |
| `CMakeLists.txt` | the library `{library}`, the test, and the package `{name}` |
| `robot.json` | names of joints, bodies and frames, in their order |
| `condyle-export.json` | the files of this export; a later export replaces only these |

Build and test with CMake, or with one compiler call. The exit status of the test is 0 if all results are right:

```sh
cmake -S . -B build && cmake --build build && ctest --test-dir build
cc -O2 -march=native -ffp-contract=fast -fno-math-errno *.c -lm -o check && ./check
```

`-DCONDYLE_NATIVE=OFF` builds for other machines of the same architecture. `cmake --install build --prefix PLACE`
installs a package; its version is the ABI number. Another project uses the package, or `add_subdirectory` with this
folder:

```cmake
find_package({name} {TARGET.abi} CONFIG REQUIRED)   # with -DCMAKE_PREFIX_PATH=PLACE; not after add_subdirectory
target_link_libraries(app {name}::{name})
```

Without CMake: `pkg-config --cflags --libs {name}`, with PLACE/lib/pkgconfig in PKG_CONFIG_PATH.

## Functions

Arrays have n rows, one for each state, one after the other. Functions allocate no memory, have no state between calls,
and may be called from several threads at once. `{name}_FN` has its workspace on the stack, and is missing if that is
more than {TARGET.stack // 1024} KiB. `{name}_FN_with` takes a workspace from the caller, at any address.
`{name}_FN_strided` also takes the distance between rows. The size of a workspace is {name.upper()}_FN_WORK bytes, a
constant that is enough on any machine, or {name}_FN_work() bytes.

The functions with `_f_ext` take external forces: for each body, in the order of `robot.json`, [force; torque] at the
origin of the body's frame, in that frame's axes. In the functions without `_f_ext` they are zero. Units are SI; of two
units, such as N m or N, the first is that of a rotation, the second that of a translation.
{_rollouts(programs, name)}
{functions}
## Order of joints

{order(joints)}

A free joint has x y z qx qy qz qw in q, and in v the linear, then the angular velocity, in the body's own axes. A
spherical joint has qx qy qz qw in q, and in v the angular velocity in the body's own axes.
"""


def _rollouts(programs: Sequence[Code | Repeated], name: str) -> str:
    if not any(isinstance(program, Repeated) for program in programs):
        return ""
    return f"""
A rollout repeats a function: its output `X_next` is the input X of the next step. It computes `steps` steps and stores
the results of steps number every, 2 every, ... and of the last one: rows = ceil(steps / every). With every = 0 it
stores the last one only, rows = 1. `{name}_FN_strided` of a rollout also takes `in_step` and `out_step`, the number of
elements between the rows of two steps. An input with in_step = 0 is the same at every step; any other has a row for
each step.
"""


def _section(program: Code | Repeated, facts: Facts, real: str, source: Source) -> str:
    function, head = facts.functions.get(program.name), plain_head if source.plain else given_head
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
