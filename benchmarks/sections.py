"""The sections of benchmarks/RESULTS.md, each from one measurement of a results file."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from benchmarks import goals

Found = dict[str, Any]
FUNCTIONS = ("id", "fd", "m", "minv", "did", "dfd", "difd")
SHARES = (
    "The share is multiplications and additions a second, without sines, divided by those of a loop of independent "
    "multiply-adds. In brackets is the share if every arithmetic instruction took the time of a multiply-add and loads "
    "took no time. That is the largest possible share on Intel, where all of these instructions use the same units. "
    "AMD has other units for additions."
)
PARTS = (
    "Nanoseconds a state at N = 256. A call = rows to vectors and back + sines and cosines + the other arithmetic + "
    "the rest. The time of rows is that of the driver without a kernel, which moves all bytes. The times of sines and "
    "arithmetic are those of the kernels alone. The rest is the call itself, and the time that a part waits for the "
    "part before it."
)
LIMITS = (
    "These goals are not met. In brackets are the goal and, where it is known, the limit: the best value that is "
    "possible on this machine. The limits are the following ratios. Times faster than Pinocchio: Pinocchio's time over "
    "that of our kernel without sines, packing and unpacking, or over that of moving the same bytes, whichever takes "
    "longer. Packed arrays: the dense call's time over that of the kernel without sines. 65536 states: that kernel's "
    "time over that of moving the bytes. Two threads: the rate of two processes of one thread at the same time. Share "
    "of the peak: see its section below."
)


def table(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Words left, numbers right."""
    return [
        "| " + " | ".join(heads) + " |",
        "|---" + "|---:" * (len(heads) - 1) + "|",
        *("| " + " | ".join(row) + " |" for row in rows),
        "",
    ]


def number(x: float) -> str:
    return f"{x:.0f}" if x >= 100 else f"{x:.1f}" if x >= 10 else f"{x:.2f}"


def against(robots: Found) -> list[str]:
    """Nanoseconds of every engine, and in brackets how many times ours."""
    text: list[str] = []
    for robot, entry in robots.items():
        functions = entry["functions"]
        engines = dict.fromkeys(engine for of in functions.values() for engine in of["ns"])
        rows = [
            [engine, *(_beside(functions.get(name, {}).get("ns", {}), engine) for name in FUNCTIONS)]
            for engine in engines
        ]
        text += [f"{robot}, nv {entry['nv']}, ns a state:", "", *table([robot, *FUNCTIONS], rows)]
        text += [f"{other} is absent: {why['']}\n" for other, why in entry["absent"].items() if "" in why]
    return text


def _beside(ns: Found, engine: str) -> str:
    if engine not in ns:
        return "-"
    median = ns[engine]["median"]
    if engine == "condyle":
        return number(median)
    return f"{number(median)} ({number(median / ns['condyle']['median'])})"


def ratio_by_batch(above: str, below: str) -> Callable[[Found], list[str]]:
    """A line a robot and batch: above over below for each function."""

    def section(robots: Found) -> list[str]:
        rows: list[list[str]] = []
        for robot, entry in robots.items():
            for n in dict.fromkeys(n for cells in entry["functions"].values() for n in cells):
                cells = [entry["functions"].get(name, {}).get(n) for name in FUNCTIONS]
                rows.append([robot, n, *("-" if c is None else _ratio(c, above, below) for c in cells)])
        return table(["robot", "N", *FUNCTIONS], rows)

    return section


def _ratio(cell: Found, above: str, below: str) -> str:
    return f"{cell[above]['median'] / cell[below]['median']:.2f}"


def batches(robots: Found) -> list[str]:
    """Nanoseconds a state, and how many times the bytes' own time."""
    rows: list[list[str]] = []
    for robot, entry in robots.items():
        for n in dict.fromkeys(n for cells in entry["functions"].values() for n in cells):
            cells = [entry["functions"].get(name, {}).get(n) for name in FUNCTIONS]
            rows.append([robot, n, *("-" if cell is None else _floored(cell) for cell in cells)])
    return table(["robot", "N", *FUNCTIONS], rows)


def _floored(cell: Found) -> str:
    ours = cell["condyle"]["median"]
    floor = min(cell["floor-cached"]["median"], cell["floor-streamed"]["median"])
    return f"{number(ours)} ({number(ours / floor)})"


def parts(robots: Found) -> list[str]:
    rows: list[list[str]] = []
    for robot, entry in robots.items():
        found = [entry["functions"].get(name) for name in FUNCTIONS]
        rows.append([robot, *("-" if ns is None else _parts(ns) for ns in found)])
    return table(["robot", *FUNCTIONS], rows)


def _parts(ns: Found) -> str:
    call, rows, kernel, arithmetic = (ns[part]["median"] for part in ("call", "rows", "kernel", "arithmetic"))
    of, left = (rows, max(0.0, kernel - arithmetic), arithmetic), call - rows - kernel
    return f"{number(call)} = {' + '.join(map(number, of))} {'-' if left < 0 else '+'} {number(abs(left))}"


def one_state(robots: Found) -> list[str]:
    rows: list[list[str]] = []
    for robot, entry in robots.items():
        engines = dict.fromkeys(engine for ns in entry["functions"].values() for engine in ns)
        for engine in engines:
            cells = [entry["functions"].get(name, {}).get(engine) for name in FUNCTIONS]
            rows.append([robot, engine, *("-" if cell is None else number(cell["median"]) for cell in cells)])
    return table(["robot", "", *FUNCTIONS], rows)


def threads(robots: Found) -> list[str]:
    many: Found = {}
    for robot, entry in robots.items():
        cells = {name: _having("2 packed", of) for name, of in entry["functions"].items()}
        many[robot] = {"functions": cells}
    dense, both = ratio_by_batch("1", "2")(robots), ratio_by_batch("1 packed", "2 packed")(many)
    return [*dense, "Packed arrays:", "", *both]


def _having(engine: str, cells: Found) -> Found:
    return {n: cell for n, cell in cells.items() if engine in cell}


def compiling(robots: Found) -> list[str]:
    heads = ["robot", "import", "load", "all seven, empty cache", *FUNCTIONS]
    heads += ["all seven, from the cache", "memory, MB", "compiler's memory, MB"]
    rows: list[list[str]] = []
    for robot, entry in robots.items():
        cold = entry["cold"]
        each = [f"{cold['first_call_s'].get(name, 0.0):.3f}" for name in FUNCTIONS]
        first = [f"{cold[key]:.3f}" for key in ("import_s", "load_s", "all_s")]
        memory = [f"{cold[key]:.0f}" for key in ("peak_mb", "compiler_peak_mb")]
        rows.append([robot, *first, *each, f"{entry['cached']['all_s']:.3f}", *memory])
    return table(heads, rows)


def peak(robots: Found) -> list[str]:
    rows = [
        [
            robot,
            *(_share(entry["functions"][name]) if name in entry["functions"] else "-" for name in FUNCTIONS),
        ]
        for robot, entry in robots.items()
    ]
    return table(["robot", *FUNCTIONS], rows)


def _share(found: Found) -> str:
    ceiling = f" ({100 * found['ceiling']:.0f} %)" if "ceiling" in found else ""
    return f"{100 * found['share']:.0f} %{ceiling}"


SECTIONS: dict[str, tuple[str, str, Callable[[Found], list[str]]]] = {
    "against": (
        "Other libraries",
        "float64, one thread, N = 256, NumPy in and out, `out=` reused. In brackets is the ratio to our time.",
        against,
    ),
    "outputs": (
        "New outputs",
        "Time of a call that allocates its outputs, divided by the time of a call with `out=`.",
        ratio_by_batch("fresh", "reused"),
    ),
    "packed": (
        "Packed arrays",
        "Time with NumPy arrays divided by the time with packed arrays.",
        ratio_by_batch("dense", "packed"),
    ),
    "number_types": (
        "float32",
        "Time of float64 divided by the time of float32.",
        ratio_by_batch("float64", "float32"),
    ),
    "batches": (
        "Batch sizes",
        "Nanoseconds a state. In brackets is the ratio to the time of only reading its inputs and writing its outputs.",
        batches,
    ),
    "parts": ("Where the time goes", PARTS, parts),
    "one_state": ("One state", "Nanoseconds. The time of Pinocchio's C++ contains no call from Python.", one_state),
    "threads": ("Two threads", "Wall time of one thread divided by that of two.", threads),
    "compiling": ("Compiling", "Seconds until the first answer of each function, in a new process.", compiling),
    "peak": (
        "Share of the peak",
        SHARES,
        peak,
    ),
}


def page(found: Found) -> list[str]:
    """All sections that the file has numbers for, the goals first."""
    text = ["## Goals", "", *goals.lines(found), ""]
    missed = goals.missed(found)
    if missed:
        text += [LIMITS, "", *(f"* {line}" for line in missed), ""]
    for name, (title, about, section) in SECTIONS.items():
        if name in found:
            text += [f"## {title}", "", about, "", *section(found[name])]
    return text
