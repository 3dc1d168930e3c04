"""`condyle export`: the generated source of a robot's functions, for use without Python."""

from __future__ import annotations

import argparse
import json
import warnings
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import condyle
from condyle import api
from condyle.backends.c.part_report import PARTS as PROCESSORS
from condyle.backends.c.part_report import REPORT, table
from condyle.cli.bound import add_bound, driving, those_there
from condyle.cli.common import add_robot, load_aloud, progress, say, show, show_json, words
from condyle.errors import AccuracyWarning, UnsupportedError
from condyle.exports.targets import EXPORTS, options_of
from condyle.fpga.box_sources import box_of_effort, box_of_file, merged
from condyle.fpga.functions import families, tasks
from condyle.fpga.rtl.constants import CONSTANTS
from condyle.fpga.rtl.target import PARTS, PIPELINES
from condyle.functions import DEFAULT, FUNCTIONS, function_or_none
from condyle.functions.open_rollouts import opened
from condyle.functions.repeat import repeat
from condyle.functions.steps import STEP
from condyle.specification import Function
from condyle.specification.integrators import DTYPES, INTEGRATORS, OVERFLOWS, REFERENCE_FRAMES, UNNAMED
from condyle.specification.ports import NUMBERS

STEPS = 50
"""Of what commands call a rollout where they run it."""


def fill(command: argparse.ArgumentParser) -> None:
    command.description = (
        "Write a project that runs without Python: C sources, a CUDA header, a C file for CasADi, or Verilog. Those in "
        "C, CUDA and Verilog have a test that checks itself. Files in DIR that an earlier export wrote are replaced "
        "if nobody changed them; any other file in the way is an error."
    )
    command.epilog = "example: condyle export arm.urdf --target c --out arm-c --functions id,fd"
    add_robot(command)
    command.add_argument("--target", choices=EXPORTS, required=True, help="what is written")
    command.add_argument(
        "--out", metavar="DIR", required=True, help="the folder that is written; it is made if it does not exist"
    )
    add_functions(command, named_functions)
    add_bound(command, "none", "none")
    command.add_argument(
        "--reference-frame",
        choices=REFERENCE_FRAMES,
        help="axes and origin of velocities and Jacobians of frames (default local)",
    )
    command.add_argument(
        "--integrator", choices=INTEGRATORS, help=f"how step moves the state (default {INTEGRATORS[0]})"
    )
    command.add_argument(
        "--inputs",
        metavar="NAME,NAME",
        type=numbers,
        default=(),
        help=f"target c or cuda: numbers of the robot that become inputs of the functions: {', '.join(NUMBERS)}",
    )
    command.add_argument(
        "--name",
        help="first part of every exported name: a lower-case letter, then up to 30 of a-z, 0-9 and _; no keyword of "
        f"C, C++, CUDA or Verilog (default: the name of a bundled robot, else {UNNAMED})",
    )
    command.add_argument("--dtype", choices=DTYPES, help="target c: number type of all arrays (default float64)")
    command.add_argument(
        "--embedded",
        action="store_true",
        help="target c: freestanding code for a microcontroller, one state a call (default: a library for many states)",
    )
    command.add_argument(
        "--libm", action="store_true", help="with --embedded: sines and roots of libm (default: their code is written)"
    )
    for name in ("flash", "stack"):
        command.add_argument(
            f"--{name}",
            metavar="BYTES",
            type=amount,
            help=f"with --embedded and --part: an error if more {name} is needed, such as 8192 or 8K",
        )
    add_hardware(command, "options of --target verilog", tuple(PROCESSORS))
    command.set_defaults(run=run)


def numbers(text: str) -> tuple[str, ...]:
    """A list such as inertias,gravity."""
    return words(text, NUMBERS)


def amount(text: str) -> int:
    """Bytes, such as 8192, 8K or 1M."""
    number, unit = (text[:-1], text[-1].upper()) if text[-1:].upper() in ("K", "M") else (text, "")
    if not number.isdecimal() or int(number) == 0:
        raise argparse.ArgumentTypeError(f"{text!r}: give a number of bytes such as 8192, 8K or 1M")
    return int(number) << {"": 0, "K": 10, "M": 20}[unit]


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
            raise argparse.ArgumentTypeError(
                f"{word!r}{again}: give numbers such as q=6.3,v=10,v.joint_3=2,a=100,tau=300"
            )
        found[key] = value
    return found


def add_hardware(command: argparse.ArgumentParser, title: str, processors: Iterable[str] = ()) -> None:
    """What only the verilog target takes, but for the part, which may be a processor; None is not said."""
    group = command.add_argument_group(title, "docs/how-to/fpga.md explains them")
    other = "; of an embedded export the processor that it is measured for (default none)" if processors else ""
    group.add_argument(
        "--part",
        choices=(*PARTS, *processors),
        help=f"the FPGA (default xcvu9p, that of the board VCU118){other}",
    )
    group.add_argument(
        "--word",
        metavar="WORD",
        help="number format, 8 to 32 bits: AxB such as 27x18, N such as 32, or qI.F such as q16.16 (default 27x18, of "
        "a part of the 7 series 25x18)",
    )
    group.add_argument(
        "--dsp", type=int, metavar="N", help="DSPs that may be used (default: 62 %% of those of the part)"
    )
    group.add_argument(
        "--clock", type=float, metavar="MHZ", help="clock that is assumed where times are printed, in MHz (default 125)"
    )
    group.add_argument(
        "--constants",
        choices=CONSTANTS,
        help="products with constants; dsp: by DSPs (default); shift: by shifts and sums; auto: by shifts and sums "
        "where these take a smaller share of the part",
    )
    group.add_argument(
        "--f-ext",
        type=float,
        metavar="N",
        help="tasks have external forces, each component up to this many N or N m (default: they have none)",
    )
    group.add_argument(
        "--step", type=float, metavar="S", help="time step of the functions euler and rk4, in seconds (default 0.001)"
    )
    group.add_argument(
        "--folding",
        type=int,
        metavar="N",
        help="N branches of the robot that are alike share one array of operators (default: by the number of DSPs)",
    )
    group.add_argument(
        "--pipeline",
        type=int,
        choices=range(len(PIPELINES)),
        help="more registers: 1: at the factors of products; 2: in multipliers too; 3: before clamps too (default 0: "
        "none)",
    )
    group.add_argument(
        "--box",
        metavar="v=10,a=100",
        type=sizes,
        help="largest |q|, |v|, |a| and |tau| of a task in SI units, for all joints or for one: q=6.3,v=10,v.joint_3=2 "
        "(default: from the limits of the model)",
    )
    sources = group.add_mutually_exclusive_group()
    sources.add_argument(
        "--box-states",
        metavar="FILE",
        type=Path,
        help="the box of recorded states: an .npz file with q, v, and a or tau, a state a row; --box has priority",
    )
    sources.add_argument(
        "--box-effort",
        metavar="PERCENT",
        type=float,
        help="the box for torques within this many per cent of the model's effort limits around those of zero "
        "acceleration, such as 10; --box has priority",
    )
    group.add_argument(
        "--overflow",
        choices=OVERFLOWS,
        help="flag: the answer says that a number was clamped (default); silent: it does not",
    )
    group.add_argument(
        "--axi",
        type=int,
        metavar="BITS",
        help="width of both AXI4-Streams: 32, 64, 128, 256, 512 or 1024 bits (default 512)",
    )
    group.add_argument(
        "--float32",
        action="store_const",
        const=True,
        help="words on the streams are float32 and are converted on the chip (default: fixed point)",
    )
    group.add_argument(
        "--async-clock",
        action="store_const",
        const=True,
        help="the accelerator has its own clock, core_clk (default: the clock of the streams)",
    )
    group.add_argument(
        "--bus-clock",
        type=float,
        metavar="MHZ",
        help="with --async-clock: the frequency of the streams, for rates and constraints (default: that of --clock)",
    )
    group.add_argument(
        "--link",
        type=float,
        metavar="GB/S",
        help="speed of the link to the host in each direction, in GB/s; a task enters as often as the link can feed it "
        "(default: the number of DSPs decides)",
    )
    group.add_argument(
        "--echo",
        action="store_const",
        const=True,
        help="difd returns the M^-1 that it was given (default: it does not)",
    )
    group.add_argument(
        "--root",
        metavar="LINK",
        help="make this link the root of a robot with a floating base; auto: the link with the shortest latency of "
        "those that are compared (default: the root of the model)",
    )


def add_functions(
    command: argparse.ArgumentParser,
    type: Callable[[str], tuple[str | Function, ...]],
    examples: str = "derivatives too, such as id,vjp_fd,jacobian_fk_by_q,",
) -> None:
    """--functions; `type` knows the names."""
    command.add_argument(
        "--functions",
        metavar="NAME,NAME",
        type=type,
        default=",".join(DEFAULT),
        help=f"functions by short name, {examples} or all (default: {','.join(DEFAULT)})",
    )


def hardware_options(arguments: argparse.Namespace, robot: condyle.Robot) -> dict[str, Any]:
    """What was said to the arguments of `add_hardware`, as `condyle.export` takes it."""
    said: dict[str, Any] = vars(arguments)
    options = {name: said[name] for name in options_of("verilog") if said[name] is not None}
    path, percent = arguments.box_states, arguments.box_effort
    if path is None and percent is None:
        return options
    if arguments.root is not None:
        raise UnsupportedError("--root: its base has other velocities than the model's: give --box alone")
    box = box_of_effort(robot, percent) if path is None else box_of_file(robot, path)
    return options | {"box": merged(box, arguments.box or {})}


def functions(text: str) -> tuple[Function, ...]:
    """A list such as id,dfd,vjp_fd of short names or methods' names; "all" is every function, no derivative."""
    if text == "all":
        return tuple(FUNCTIONS.values())
    return tuple(function for _, function in _read(text) if function is not None)


def functions_that_run(text: str) -> tuple[Function, ...]:
    """The same; "rollout" is one of STEPS steps, whose last state is kept."""
    rollout = repeat(STEP, STEPS, ("tau",), last=True).name
    return functions(",".join(rollout if word == "rollout" else word for word in text.split(",")))


def named_functions(text: str) -> tuple[str, ...]:
    """The names of the same, of rollouts of any number of steps, and of what only an accelerator can do."""
    if text == "all":
        return tuple(FUNCTIONS)
    rollouts = (word for word in text.split(",") if opened(word) is not None)
    return tuple(name for name, _ in _read(text, (*tasks(), *rollouts)))


def _read(text: str, more: Iterable[str] = ()) -> list[tuple[str, Function | None]]:
    """The names of a list as they are printed, each with its function; `more` names are allowed that have none."""
    read = [(word, function_or_none(word)) for word in text.split(",")]
    named = [(word if function is None else function.name, function) for word, function in read]
    derived = (name for name, function in named if function is not None)
    words(",".join(name for name, _ in named), (*FUNCTIONS, *more, *derived))
    return named


def with_plans(named: tuple[str, ...], robot: condyle.Robot) -> tuple[str, ...]:
    """For "all" what an accelerator of this robot can do; functions that were named are left as they are."""
    return tuple(name for family in families(robot) for name in family) if named == tuple(FUNCTIONS) else named


def run(arguments: argparse.Namespace) -> int:
    loaded = load_aloud(arguments)
    if arguments.name is None and api.prefix_of(loaded.robot) == UNNAMED:
        say(f"every exported name begins with {UNNAMED!r}; --name chooses another beginning")
    functions = arguments.functions
    if arguments.target == "verilog":
        functions = with_plans(functions, loaded.robot)
    elif functions == tuple(FUNCTIONS):
        functions = those_there(FUNCTIONS.values(), arguments)
    progress("generating ...")
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", AccuracyWarning)
        written = condyle.export(
            loaded.robot,
            target=arguments.target,
            out=arguments.out,
            functions=functions,
            name=arguments.name,
            dtype=arguments.dtype,
            frames=arguments.frames,
            reference_frame=arguments.reference_frame,
            integrator=arguments.integrator,
            inputs=arguments.inputs,
            contacts=tuple(map(condyle.Contact, arguments.contacts)) or None,
            embedded=arguments.embedded,
            libm=arguments.libm,
            flash=arguments.flash,
            stack=arguments.stack,
            **driving(arguments),
            **hardware_options(arguments, loaded.robot),
        )
    progress("")
    for one in caught:
        say(f"warning: {one.message}")
    if arguments.json:
        show_json({"files": [str(path) for path in written]})
    else:
        show("\n".join(str(path) for path in written))
        for path in written:
            if arguments.embedded and path.name == REPORT:
                show(table(json.loads(path.read_text())))
    return 0
