"""What functions there are, and what can run each: `condyle info --functions`."""

from __future__ import annotations

from condyle.cli.common import Json, table
from condyle.fpga.functions import tasks
from condyle.functions import FUNCTIONS
from condyle.links.routes import routes_of as parallel_routes
from condyle.specification import Function, Port
from condyle.specification.integrators import TARGETS

HEAD = ("function", "method", "inputs -> outputs", "unit", "runners")
HARDWARE = "hardware"


def listed() -> list[dict[str, Json]]:
    """Every function as data."""
    return [
        {
            "function": function.name,
            "method": function.method,
            "equation": function.equation,
            "inputs": [_port(port) for port in function.inputs],
            "outputs": [_port(port) for port in function.outputs],
            "f_ext": function.takes_f_ext,
            "options": list(function.options),
            "runners": runners(function),
            "targets": targets(function),
        }
        for function in FUNCTIONS.values()
    ]


def lines() -> list[str]:
    """The same for people."""
    planned = ", ".join(name for name, function in FUNCTIONS.items() if HARDWARE in runners(function))
    alone = ", ".join(name for name in tasks() if name not in FUNCTIONS)
    return [
        table(HEAD, [_row(function) for function in FUNCTIONS.values()]),
        f"targets {', '.join(TARGETS)} have every function; [f_ext]: external forces can be given",
        f"target verilog ({HARDWARE}) has {planned}; only there are {alone}",
        "straight: straight-line code",
        "loops: loops over joints, for robots with many joints; there a function without loops runs in NumPy",
        "link-parallel: links in parallel, see --links",
    ]


def runners(function: Function) -> list[str]:
    """What can run it, of any robot."""
    found = {
        "straight": True,
        "loops": any(route.loops for route in function.routes.values()),
        "link-parallel": bool(parallel_routes(function)),
        HARDWARE: any(function == task.function for task in tasks().values()),
    }
    return [name for name, there in found.items() if there]


def targets(function: Function) -> list[str]:
    """What it can be compiled for or exported to."""
    return [*TARGETS, *(["verilog"] if HARDWARE in runners(function) else [])]


def _row(function: Function) -> list[str]:
    given = ", ".join(port.name for port in function.inputs) + (" [f_ext]" if function.takes_f_ext else "")
    gives = ", ".join(f"{port.name} ({', '.join(port.dims)})" for port in function.outputs)
    units = dict.fromkeys(port.unit for port in function.outputs)
    told = "; ".join(units).replace(" | ", " or ")
    return [function.name, function.method, f"{given} -> {gives}", told, ", ".join(runners(function))]


def _port(port: Port) -> Json:
    return {"name": port.name, "shape": list(port.dims), "unit": port.unit, "frame": port.frame, "meaning": port.doc}
