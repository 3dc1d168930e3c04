"""`condyle export`: the generated source of a robot's functions, for use without Python."""

from __future__ import annotations

import argparse
import warnings
from collections.abc import Callable, Iterable
from typing import Any

import condyle
from condyle import api
from condyle.backends.fpga.constants import CONSTANTS
from condyle.backends.fpga.target import PARTS, PIPELINES
from condyle.choices import DTYPES, EXPORTS, INTEGRATORS, OVERFLOWS, REFERENCE_FRAMES, UNNAMED
from condyle.cli.bound import add_frames
from condyle.cli.common import add_robot, load_aloud, progress, say, show, show_json, words
from condyle.errors import AccuracyWarning
from condyle.functions import DEFAULT, FUNCTIONS, found
from condyle.functions.open_rollouts import opened
from condyle.functions.rollouts import name_of
from condyle.hardware.functions import library, tasks
from condyle.ports import NUMBERS

STEPS = 50
"""Of what commands call a rollout where they run it."""


def fill(command: argparse.ArgumentParser) -> None:
    command.description = (
        "Write a project that needs no Python: C sources, a CUDA header or Verilog, each with a test that "
        "checks itself. Files in DIR that an export wrote are replaced; any other in the way is refused."
    )
    command.epilog = "example: condyle export arm.urdf --target c --out arm-c --functions id,fd"
    add_robot(command)
    command.add_argument("--target", choices=tuple(EXPORTS), required=True)
    command.add_argument("--out", metavar="DIR", required=True, help="the folder to write")
    add_functions(command, named_functions)
    add_frames(command)
    command.add_argument(
        "--reference-frame", choices=REFERENCE_FRAMES, help="of their velocities and Jacobians (default local)"
    )
    command.add_argument("--integrator", choices=INTEGRATORS, help=f"of step (default {INTEGRATORS[0]})")
    command.add_argument(
        "--inputs", metavar="inertias,gravity", type=numbers, default=(), help="c, cuda: numbers of the robot as inputs"
    )
    command.add_argument("--name", help="prefix of the exported symbols: [a-z][a-z0-9_]{0,30}, no word of a language")
    command.add_argument("--dtype", choices=DTYPES, help="c: of every number (default float64)")
    add_hardware(command)
    command.set_defaults(run=run)


def numbers(text: str) -> tuple[str, ...]:
    """A list such as inertias,gravity."""
    return words(text, NUMBERS)


def sizes(text: str) -> dict[str, float]:
    """A list such as v=10,v.joint_3=2,a=100, each key once."""
    found: dict[str, float] = {}
    for word in text.split(","):
        key, equals, number = word.rpartition("=")
        try:
            value = float(number)
        except ValueError:
            value, equals = 0.0, ""
        if not equals or not key or key in found:
            again = ", said twice" if key in found else ""
            raise argparse.ArgumentTypeError(f"{word!r}{again}: give numbers such as v=10,v.joint_3=2,a=100,tau=300")
        found[key] = value
    return found


def add_hardware(command: argparse.ArgumentParser) -> None:
    """What only the verilog target takes; None is not said."""
    command.add_argument("--part", choices=tuple(PARTS), help="verilog: the FPGA (default xcvu9p, that of a VCU118)")
    command.add_argument("--word", metavar="AxB", help="verilog: numbers, as 18x18, 27, 32 or q16.16 (default 27x18)")
    command.add_argument("--dsp", type=int, metavar="N", help="verilog: a budget of DSPs (default 62 %% of the part)")
    command.add_argument("--clock", type=float, metavar="MHZ", help="verilog: assumed, to print times (default 125)")
    command.add_argument(
        "--constants", choices=CONSTANTS, help="verilog: products with constants by DSPs (default) or by shifts"
    )
    command.add_argument(
        "--f-ext",
        type=float,
        metavar="N",
        help="verilog: tasks carry external forces, up to N newton (c and cuda have FN_f_ext)",
    )
    command.add_argument("--step", type=float, metavar="S", help="verilog: seconds of euler and rk4 (default 0.001)")
    command.add_argument(
        "--folding", type=int, metavar="N", help="verilog: how many branches that are alike share an array"
    )
    command.add_argument(
        "--pipeline",
        type=int,
        choices=range(len(PIPELINES)),
        help="verilog: registers also of factors (1), multipliers (2), before clamps (3); default 0",
    )
    command.add_argument(
        "--box",
        metavar="v=10,a=100",
        type=sizes,
        help="verilog: largest |v|, |a|, |tau|, of all joints or of one, as v.joint_3=2 (default: see docs/fpga.md)",
    )
    command.add_argument(
        "--overflow", choices=OVERFLOWS, help="verilog: what is clamped raises the answer's flag (default), or does not"
    )
    command.add_argument("--axi", type=int, metavar="BITS", help="verilog: of an AXI4-Stream, 32 to 1024 (default 512)")
    command.add_argument(
        "--float32", action="store_const", const=True, help="verilog: singles on the streams, converted on chip"
    )
    command.add_argument(
        "--async-clock", action="store_const", const=True, help="verilog: the core has a clock of its own"
    )
    command.add_argument(
        "--link",
        type=float,
        metavar="GB/S",
        help="verilog: the link to the host, each direction: tasks enter as often as it can feed them",
    )
    command.add_argument("--echo", action="store_const", const=True, help="verilog: difd sends M^-1 back")
    command.add_argument("--root", metavar="LINK", help="verilog: hold a floating robot by this link, or auto")


def add_functions(command: argparse.ArgumentParser, type: Callable[[str], tuple[str, ...]]) -> None:
    """--functions; `type` knows the names."""
    command.add_argument(
        "--functions",
        metavar="id,dfd",
        type=type,
        default=DEFAULT,
        help=f"which, by short name, or all (default: {','.join(DEFAULT)}); derivatives too: vjp_fd, jacobian_fk_by_q",
    )


def hardware_options(arguments: argparse.Namespace) -> dict[str, Any]:
    """What was said to the arguments of `add_hardware`, as `condyle.export` takes it."""
    said: dict[str, Any] = vars(arguments)
    return {name: said[name] for name in EXPORTS["verilog"] if said[name] is not None}


def functions(text: str, more: Iterable[str] = ()) -> tuple[str, ...]:
    """A list such as id,dfd,vjp_fd of the short names, or of methods' names; "all" is every function, no derivative."""
    if text == "all":
        return tuple(FUNCTIONS)
    short = {function.method: name for name, function in FUNCTIONS.items()}
    names = ",".join(short.get(word, word) for word in text.split(","))
    derived = [name for name in names.split(",") if found(name) is not None]
    return words(names, (*FUNCTIONS, *more, *derived))


def functions_that_run(text: str) -> tuple[str, ...]:
    """The same; "rollout" is one of STEPS steps, whose last state is kept."""
    rollout = name_of("step", STEPS, ("tau",), last=True)
    return functions(",".join(rollout if word == "rollout" else word for word in text.split(",")))


def named_functions(text: str) -> tuple[str, ...]:
    """The same, rollouts of any number of steps, and what only an accelerator can do."""
    return functions(text, (*tasks(), *(name for name in text.split(",") if opened(name) is not None)))


def hardware_functions(text: str) -> tuple[str, ...]:
    """What an accelerator can do."""
    return with_plans(named_functions(text))


def with_plans(named: tuple[str, ...]) -> tuple[str, ...]:
    """Of every function those that an accelerator has; functions that were named are left as they are."""
    return library() if named == tuple(FUNCTIONS) else named


def run(arguments: argparse.Namespace) -> int:
    loaded = load_aloud(arguments)
    if arguments.name is None and api.prefix_of(loaded.robot) == UNNAMED:
        say(f"every symbol begins with {UNNAMED!r}; --name says another prefix")
    progress("generating ...")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", AccuracyWarning)
        written = condyle.export(
            loaded.robot,
            target=arguments.target,
            out=arguments.out,
            functions=with_plans(arguments.functions) if arguments.target == "verilog" else arguments.functions,
            name=arguments.name,
            dtype=arguments.dtype,
            frames=arguments.frames,
            reference_frame=arguments.reference_frame,
            integrator=arguments.integrator,
            inputs=arguments.inputs,
            contacts=tuple(map(condyle.Contact, arguments.contacts)) or None,
            **hardware_options(arguments),
        )
    progress("")
    for one in caught:
        say(f"warning: {one.message}")
    if arguments.json:
        show_json({"files": [str(path) for path in written]})
    else:
        show("\n".join(str(path) for path in written))
    return 0
