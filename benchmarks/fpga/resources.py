"""The table of the FPGA page that has yosys' counts: one for each design."""

from __future__ import annotations

from benchmarks.fpga.counts import WHAT
from benchmarks.fpga.text import Found, listed
from benchmarks.sections import table

HEADS = ("part", "LUTs", "flip-flops", "flip-flops of products", "DSPs", "18-kbit block RAMs")


def counts(found: Found) -> list[str]:
    """Counted by `make count` (yosys, UltraScale+), all seven functions, word 27x18. The DSP budget is the default,
    except in the design with 600 DSPs.

    * **A function** counts every array that its tasks pass through. An array that several functions share is counted
      in each of them.
    * **Boundary**: what `NAME_axi` has in addition to `NAME`, with streams of 512 bits. It is not part of the whole.
    * **Flip-flops of products**: output registers of products. A DSP48E2 has a register for them, which yosys does not
      use on this family. They are not part of the column before.
    * **Highest fan-out**: the loads of the net with the most loads, clock and reset excluded.
    * Of Atlas only some arrays were counted."""
    text: list[str] = []
    for robot, entry in _robots(found.get("counts", {})).items():
        text += [f"**{_design(robot)}, interval {entry['interval']}**", "", *table(HEADS, _rows(entry))]
        text += [
            f"{_loads(entry)}yosys: {entry['seconds']:.0f} s of one processor, {entry['peak'] / 1024:.1f} GiB.",
            "",
        ]
    return text


def _design(robot: str) -> str:
    name, _, dsp = robot.partition("-")
    return f"{name}, at most {dsp} DSPs" if dsp else name


def _rows(entry: Found) -> list[list[str]]:
    parts = {"whole": entry["whole"], **{f"array `{name}`": cells for name, cells in entry["arrays"].items()}}
    parts |= {f"function {name}": cells for name, cells in entry["functions"].items()}
    parts["boundary"] = entry.get("boundary")
    return [[name, *(str(cells[key]) for key in WHAT)] for name, cells in parts.items() if cells]


def _robots(rows: Found) -> Found:
    """Rows of one robot together: its arrays may have been counted one by one."""
    robots: Found = {}
    for row, entry in rows.items():
        robot = robots.setdefault(row.split()[0], {"seconds": 0, "peak": 0, "arrays": {}, "functions": {}})
        robot["seconds"] += entry["processor_s"]
        robot["peak"] = max(robot["peak"], entry["peak_mb"])
        robot |= {what: entry.get(what) for what in ("interval", "whole", "boundary")}
        for part in ("arrays", "functions"):
            robot[part] |= entry[part]
    order = listed(name for robot in robots.values() for name in robot["arrays"])
    for robot in robots.values():
        robot["arrays"] = {name: robot["arrays"][name] for name in order if name in robot["arrays"]}
    return robots


def _loads(entry: Found) -> str:
    """The nets with most loads, in a sentence."""
    most = [(entry.get(place) or {}).get("most_loads") for place in ("whole", "boundary")]
    said = [f"{one['loads']} (net `{one['net']}`)" for one in most if one]
    return f"Highest fan-out: {', in the boundary '.join(said)}. " if said else ""
