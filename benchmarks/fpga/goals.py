"""The tables of the FPGA page that put a goal beside what was found: cycles, DSPs, errors."""

from __future__ import annotations

from typing import Any

from benchmarks.fpga.cases import SHOWN
from benchmarks.fpga.errors import SLOW
from benchmarks.fpga.text import Found, dash, error, goal, per_cent
from benchmarks.sections import FUNCTIONS, table

NONE = (None, None, None)
GOALS: dict[str, dict[str, Any]] = {
    "iiwa14 32": {"latency": (95, 110, 260), "interval": (4, 6, 8), "share": 62},
    "iiwa14 27x18": {"latency": (75, 95, 220), "interval": (2, 2, 4), "share": 62},
    "iiwa14 27x18 difd": {"latency": (None, 90, None), "interval": (None, 1, None), "share": 85},
    "hyq 27x18": {"latency": NONE, "interval": (None, 3, None), "share": 62},
    "atlas 27x18": {"latency": NONE, "interval": (None, 16, None), "share": 95},
}
"""The goals: at most so many cycles of SHOWN, so many per cent of the device's DSPs."""
LIMITS = {
    "id, in N m": (f"iiwa14 27x18 {SLOW}", "id", "tau_absolute", 5e-3),
    "id, relative to each joint's largest torque": ("iiwa14 27x18", "id", "tau_relative", 5e-4),
    "did, relative to each column's largest entry": ("iiwa14 27x18", "did", None, 1e-2),
    "difd, relative to each column's largest entry": ("iiwa14 27x18", "difd", None, 1e-2),
}
"""Error and its row, function, name in the results (None: the largest relative one), goal."""
WITHIN = 0.01


def design(row: str) -> str:
    """Robot, word and box of a row of errors, with commas: iiwa14, 27x18, box v 2, a 5."""
    robot, word, *box = row.split(maxsplit=2)
    return ", ".join([robot, word, *(f"box {one}" for one in box)])


def goals(found: Found) -> list[str]:
    """Latency and interval were found by simulating the Verilog with iverilog. They are equal to those of the
    generator's schedule. The number in brackets is the goal: not more than this.

    The DSP budget is the largest number of DSPs that the generator may use (`--dsp`). An XCVU9P has 6840 DSPs. 4240 are
    62 %, which is the default; 5814 are 85 %, 6498 are 95 %."""
    rows = [_goal(row, entry) for row, entry in found.get("cycles", {}).items()]
    cycles = [f"{what}: {function}" for what in ("latency", "interval") for function in SHOWN]
    return table(["robot, functions, word", "DSP budget", *cycles, "DSPs used", "share of the XCVU9P"], rows)


def _goal(row: str, entry: Found) -> list[str]:
    wanted = GOALS.get(row, {"latency": NONE, "interval": NONE, "share": None})
    of = entry["simulated"]
    cycles = [
        f"{dash(of.get(function, {}).get(what))}{goal(most)}"
        for what in ("latency", "interval")
        for function, most in zip(SHOWN, wanted[what], strict=True)
    ]
    functions = "all seven" if len(entry["functions"]) == len(FUNCTIONS) else ", ".join(entry["functions"])
    about = f"{row.split()[0]}, {functions}, {entry['word']}"
    share = f"{entry['share']:.1f} %{goal(wanted['share'], ' %')}"
    return [about, str(entry["budget"]), *cycles, str(entry["dsp"]), share]


def worst(errors: Found) -> float:
    return max((value for name, value in errors.items() if name.endswith("relative")), default=0.0)


def errors(found: Found) -> list[str]:
    """The largest errors of the integer model against float64 over 10 000 random states of the box. Flagged tasks are
    left out.

    * **id, N m** is absolute. All other columns are relative.
    * **id, m, minv, did, dfd, difd**: relative to the largest value of the same entry (vectors) or of the same column
      (matrices) in the same 1000 samples.
    * **fd**: relative to the largest acceleration of the box.
    * **Box**: the default of the model, if the row names no other. It is v 10, a 100 for iiwa14; v 12, a 120 for HyQ;
      v 1, a 10 for Atlas.
    * **Flagged tasks**: their number, of all 70 000 tasks (10 000 for each function)."""
    rows: list[list[str]] = []
    for row, entry in found.get("errors", {}).items():
        of = entry["functions"]
        relative = {name: error(of["fd"]["a_of_box"] if name == "fd" else worst(of[name])) for name in FUNCTIONS}
        flagged = sum(one["flagged"] for one in of.values())
        rows.append([design(row), error(of["id"]["tau_absolute"]), *relative.values(), str(flagged)])
    return table(["robot, word", "id, N m", *FUNCTIONS, "flagged tasks"], rows)


def limits(found: Found) -> list[str]:
    """The largest errors over the same states, and the project's goals. A joint's largest torque is that of the
    samples."""
    rows: list[list[str]] = []
    for what, (row, function, name, most) in LIMITS.items():
        if of := found.get("errors", {}).get(row, {}).get("functions", {}).get(function):
            rows.append([f"{design(row)}: {what}", error(of[name] if name else worst(of)), error(most)])
    return table(["robot, word: error", "found", "goal"], rows)


def words(found: Found) -> list[str]:
    """Which words keep the errors of M⁻¹ and of the accelerations of fd within 1 %. The errors are those of the section
    Errors, over the same states."""
    rows: list[list[str]] = []
    for row, entry in found.get("errors", {}).items():
        of = entry["functions"]
        both = worst(of["minv"]), of["fd"]["a_of_box"]
        flagged = [str(of[name]["flagged"]) for name in ("minv", "fd")]
        rows.append([design(row), *map(per_cent, both), *flagged, "yes" if max(both) <= WITHIN else "no"])
    heads = ["robot, word", "error of M⁻¹", "error of fd", "flagged tasks: minv", "flagged tasks: fd"]
    return table([*heads, "both within 1 %"], rows)
