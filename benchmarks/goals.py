"""The goals of this project, compared with a results file: measured, wanted, met or not.

python -m benchmarks.goals            the newest results file of each machine
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from benchmarks.results import newest, read

Found = dict[str, Any]
FUNCTIONS = ("id", "fd", "m", "minv", "did", "dfd")
RATIOS = {
    "panda": (40, 38, 25, 38, 30, 26),
    "hyq": (45, 65, 20, 45, 43, 28),
    "hyq-floating": (35, 40, 13, 25, 25, 18),
    "talos-reduced": (36, 38, 12, 22, 16, 15),
    "talos-reduced-floating": (30, 30, 10, 18, 14, 12),
}
"""How many times longer Pinocchio's C++ shall take at N = 256."""
COLD_S = {"panda": 0.5, "hyq": 0.5, "talos-reduced": 3.0, "talos-reduced-floating": 6.0}
PEAK = {"panda": (("id", "did"), 0.75), "iiwa14": (("id", "did"), 0.75), "talos-reduced": (("dfd",), 0.55)}
SAME = 0.97
"""Not slower, to the accuracy of these measurements."""


@dataclass(frozen=True)
class Number:
    """One measured number and its goal; `least`: it shall be at least that, else at most.

    limit: the best that this machine allows, as measured there.
    """

    what: str
    measured: float
    wanted: float
    least: bool
    limit: float | None = None

    @property
    def met(self) -> bool:
        return self.measured >= self.wanted if self.least else self.measured <= self.wanted

    @property
    def margin(self) -> float:
        """Above 1 where met."""
        if self.least:
            return self.measured / self.wanted
        return self.wanted / self.measured if self.measured > 0 else math.inf


def ratios(found: Found) -> Iterator[Number]:
    for robot, wanted in RATIOS.items():
        functions = found.get("against", {}).get(robot, {}).get("functions", {})
        for name, goal in zip(FUNCTIONS, wanted, strict=True):
            ns = functions.get(name, {}).get("ns", {})
            if "pinocchio" in ns:
                theirs, least = ns["pinocchio"]["median"], least_ns(found, robot, name)
                limit = theirs / least if least else None
                yield Number(f"{robot} {name}", theirs / ns["condyle"]["median"], goal, True, limit)


def least_ns(found: Found, robot: str, name: str) -> float:
    """What a state takes at least at N = 256: its arithmetic without sines, or its bytes, whichever is longer."""
    cell = found.get("batches", {}).get(robot, {}).get("functions", {}).get(name, {}).get("256")
    return max(_arithmetic_ns(found, robot, name), floor_ns(cell) if cell else 0.0)


def _arithmetic_ns(found: Found, robot: str, name: str) -> float:
    """Of the kernel without sines, 0 where it was not measured."""
    kernel = found.get("peak", {}).get(robot, {}).get("functions", {}).get(name, {})
    return kernel.get("ns_a_state", 0.0)


def floor_ns(cell: Found) -> float:
    """Of moving the bytes of a state, the better of two ways."""
    return min(cell["floor-cached"]["median"], cell["floor-streamed"]["median"])


def pairs(
    measurement: str, above: str, below: str, wanted: float, least: bool, batches: Callable[[int], bool]
) -> Callable[[Found], Iterator[Number]]:
    """The ratio of two medians of every cell, for the batch sizes that are asked for."""

    def numbers(found: Found) -> Iterator[Number]:
        for robot, entry in found.get(measurement, {}).items():
            for name, cells in entry["functions"].items():
                for n, cell in cells.items():
                    if batches(int(n)) and above in cell and below in cell:
                        ratio = cell[above]["median"] / cell[below]["median"]
                        yield Number(f"{robot} {name} N={n}", ratio, wanted, least)

    return numbers


def packed_derivatives(found: Found) -> Iterator[Number]:
    """The limit: a packed call that is the kernel's arithmetic alone."""
    for robot, entry in found.get("packed", {}).items():
        for name in ("did", "dfd") if robot.startswith(("hyq", "talos")) else ():
            if cell := entry["functions"].get(name, {}).get("256"):
                dense, least = cell["dense"]["median"], _arithmetic_ns(found, robot, name)
                ratio = dense / cell["packed"]["median"]
                yield Number(f"{robot} {name} N=256", ratio, 1.4, True, dense / least if least else None)


def small_batches(found: Found) -> Iterator[Number]:
    for robot, entry in found.get("batches", {}).items():
        for name, cells in entry["functions"].items():
            ratio = cells["256"]["condyle"]["median"] / cells["16"]["condyle"]["median"]
            yield Number(f"{robot} {name}", ratio, 0.7, True)


def large_batches(found: Found) -> Iterator[Number]:
    """The limit: the kernel's arithmetic, where that takes longer than the bytes."""
    for robot, entry in found.get("batches", {}).items():
        for name, cells in entry["functions"].items():
            if cell := cells.get("65536"):
                floor = floor_ns(cell)
                limit = max(1.0, _arithmetic_ns(found, robot, name) / floor)
                yield Number(f"{robot} {name}", cell["condyle"]["median"] / floor, 1.3, False, limit)


def attainable(found: Found) -> Iterator[Number]:
    """Where arithmetic takes longer than the bytes, the bytes alone say little."""
    for robot, entry in found.get("batches", {}).items():
        for name, cells in entry["functions"].items():
            if cell := cells.get("65536"):
                least = max(floor_ns(cell), cells["256"]["condyle"]["median"])
                yield Number(f"{robot} {name}", cell["condyle"]["median"] / least, 1.3, False)


def one_state_python(found: Found) -> Iterator[Number]:
    for robot, entry in found.get("one_state", {}).items():
        for name, ns in entry["functions"].items():
            if "pinocchio-python" in ns:
                ratio = ns["pinocchio-python"]["median"] / ns["condyle"]["median"]
                yield Number(f"{robot} {name}", ratio, 1.0, True)


def one_state_kernel(found: Found) -> Iterator[Number]:
    for robot in ("panda", "hyq"):
        for name, ns in found.get("one_state", {}).get(robot, {}).get("functions", {}).items():
            if "kernel" in ns and "pinocchio" in ns and name in FUNCTIONS:
                yield Number(f"{robot} {name}", ns["kernel"]["median"] / ns["pinocchio"]["median"], 0.25, False)


def two_threads(found: Found) -> Iterator[Number]:
    """The limit: one thread on each core, in processes of their own."""
    for robot, entry in found.get("threads", {}).items():
        for name, cells in entry["functions"].items():
            for n, cell in cells.items():
                if "2 packed" in cell:
                    one, beside = cell["1 packed"]["median"], cell.get("1 packed beside", {}).get("median")
                    limit = 2 * one / beside if beside else None
                    yield Number(f"{robot} {name} N={n}", one / cell["2 packed"]["median"], 1.9, True, limit)


def call_over_kernel(call: str, most_ns: float) -> Callable[[Found], Iterator[Number]]:
    """What a call from Python adds to the kernel of one state, nanoseconds; the harness's own lambda is taken off."""

    def numbers(found: Found) -> Iterator[Number]:
        for robot, entry in found.get("one_state", {}).items():
            for name, ns in entry["functions"].items():
                if "kernel" in ns and "nothing" in ns:
                    added = ns[call]["median"] - ns["nothing"]["median"] - ns["kernel"]["median"]
                    yield Number(f"{robot} {name}", added, most_ns, False)

    return numbers


def cold(found: Found) -> Iterator[Number]:
    for robot, seconds in COLD_S.items():
        if entry := found.get("compiling", {}).get(robot):
            yield Number(f"{robot} [s]", entry["cold"]["all_s"], seconds, False)


def cached(found: Found) -> Iterator[Number]:
    for robot in COLD_S:
        for name, seconds in (
            found.get("compiling", {}).get(robot, {}).get("cached", {}).get("first_call_s", {}).items()
        ):
            yield Number(f"{robot} {name} [ms]", 1e3 * seconds, 20.0, False)


def memory(found: Found) -> Iterator[Number]:
    for robot in ("talos-reduced", "talos-reduced-floating"):
        if entry := found.get("compiling", {}).get(robot):
            most = max(entry["cold"]["peak_mb"], entry["cold"]["compiler_peak_mb"])
            yield Number(f"{robot} [MB]", most, 500.0, False)


def peak(found: Found) -> Iterator[Number]:
    for robot, (names, share) in PEAK.items():
        functions = found.get("peak", {}).get(robot, {}).get("functions", {})
        for name in names:
            if name in functions:
                yield Number(f"{robot} {name}", functions[name]["share"], share, True, functions[name].get("ceiling"))


GOALS: dict[str, Callable[[Found], Iterator[Number]]] = {
    "times faster than Pinocchio's C++, N = 256, at least": ratios,
    "time with new outputs over that with reused ones, at most 1.3": pairs(
        "outputs", "fresh", "reused", 1.3, False, lambda n: n >= 16
    ),
    "packed arrays: never slower than dense ones": pairs("packed", "dense", "packed", SAME, True, lambda n: n >= 16),
    "time dense over packed: did and dfd of hyq and talos, at least 1.4": packed_derivatives,
    "time of float64 over float32, N = 256 and up, at least 1.8": pairs(
        "number_types", "float64", "float32", 1.8, True, lambda n: n >= 256
    ),
    "speed a state at N = 16 over that at N = 256, at least 0.7": small_batches,
    "time at N = 65536 over the time of moving its bytes, at most 1.3": large_batches,
    "time at N = 65536 over the time of moving its bytes or that at N = 256, the longer one, at most 1.3": attainable,
    "time of one state, kernel only, over Pinocchio's C++, at most 0.25": one_state_kernel,
    "one state from Python: Pinocchio's time over ours, at least 1": one_state_python,
    "one state from Python, out= reused: nanoseconds beyond the kernel, at most 100": call_over_kernel(
        "condyle", 100.0
    ),
    "one state from Python, new outputs: nanoseconds beyond the kernel, at most 200": call_over_kernel(
        "condyle-fresh", 200.0
    ),
    "times faster with two threads than with one, packed, N = 4096 and up, at least 1.9": two_threads,
    "two threads, N = 16 to 256: never slower than one": pairs("threads", "1", "2", SAME, True, lambda n: n <= 256),
    "all seven functions compiled with an empty cache, seconds": cold,
    "from the cache, at most 20 ms each": cached,
    "memory of compiling talos, at most 500 MB": memory,
    "share of the machine's multiply-add peak, at least": peak,
}


def lines(found: Found) -> list[str]:
    """A table in Markdown: how many numbers meet each goal, and the worst one."""
    rows = ["| goal | met | worst | |", "|---|---:|---|---:|"]
    for text, numbers in GOALS.items():
        every = list(numbers(found))
        if not every:
            rows.append(f"| {text} | not measured | | |")
            continue
        worst = min(every, key=lambda number: number.margin)
        met = sum(number.met for number in every)
        wanted = f" ({worst.wanted:g})" if text.endswith(("least", "seconds")) else ""
        rows.append(f"| {text} | {met} of {len(every)} | {worst.what} | {worst.measured:.3g}{wanted} |")
    return rows


def missed(found: Found) -> list[str]:
    """Every number that does not meet its goal, a line a goal; in brackets what was wanted, and the limit."""
    wanting = {text: [number for number in numbers(found) if not number.met] for text, numbers in GOALS.items()}
    return [f"{text}: " + ", ".join(map(_missed, numbers)) for text, numbers in wanting.items() if numbers]


def _missed(number: Number) -> str:
    limit = f"; limit {number.limit:.3g}" if number.limit else ""
    return f"{number.what} {number.measured:.3g} ({number.wanted:g}{limit})"


def main() -> None:
    for path in newest():
        found = read(path)
        print("\n".join([path.name, "", *lines(found), "", *missed(found), ""]))


if __name__ == "__main__":
    main()
