"""What is compared: the robots, and what is asked of each, by its size."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

from benchmarks.robots import CASES as TIMED
from benchmarks.robots import PANDA, TALOS, Case

Question = dict[str, Any]

ROBOTS = {
    "iiwa14": "iiwa14",
    "hyq": "hyq",
    "atlas": "atlas",
    "ur5": "ur_description/urdf/ur5_robot.urdf",
    "panda-hand": PANDA,  # a mimic finger
    "solo12": "solo_description/robots/solo12.urdf",
    "bolt": "bolt_description/robots/bolt.urdf",
    "go2": "go2_description/urdf/go2.urdf",
    "anymal-kinova": "anymal_b_simple_description/robots/anymal-kinova.urdf",
    "allegro": "allegro_hand_description/urdf/allegro_right_hand.urdf",
    "talos-arm": "talos_data/robots/talos_left_arm.urdf",  # a gripper of mimic joints
    "simple-humanoid": "simple_humanoid_description/urdf/simple_humanoid.urdf",
    "talos-reduced": TALOS,
    "tree": "tree:8",  # all types of joints
}
"""Fixed and floating: the bundled robots, ten of the example-robot-data wheel (arms, legs, a hand, humanoids)."""

MADE = {"chain-20": "chain:20", "chain-150": "chain:150", "mimics-50": "mimics:50"}
"""Fixed; the longer ones are compiled as loops."""

CASES = (
    *TIMED,
    *(
        Case(name + "-floating" * base, path, bool(base))
        for name, path in ROBOTS.items()
        for base in (0, 1)
        if name + "-floating" * base not in {case.name for case in TIMED}
    ),
    *(Case(name, source) for name, source in MADE.items()),
)
"""First those of the results files: times are taken of these only, unless others are named."""

PARALLEL = ("iiwa14", "hyq", "hyq-floating", "talos-arm", "chain-20", "chain-150")
"""Cases whose links are also asked to run in parallel."""

FULL = ("iiwa14", "hyq", "hyq-floating", "talos-arm", "tree", "tree-floating", "chain-20")
"""Cases that are asked everything; the others what shows most: all on the two cores of a laptop in some ten minutes."""

SMALL, LARGE = 14, 27
"""Degrees of freedom up to which answers of C are compared, and from which on little of a GPU is."""

VERILOG = ("iiwa14", "hyq", "bolt-floating", "ur5")
STEPPED = ("iiwa14", "bolt-floating")
"""Those that are exported as accelerators, and those with steps in time too."""

PLANNED = ("id", "fd", "m", "minv", "did", "dfd", "difd")
"""Functions of accelerators: exports of others are refused."""

PARTITIONS = ("thread split", "thread fused")


def chosen(names: Sequence[str]) -> list[Case]:
    """The cases of these names, by default all; those of the wheel only where it is installed."""
    known = {case.name: case for case in CASES}
    if unknown := [name for name in names if name not in known]:
        raise SystemExit(f"no robot {unknown[0]!r}; there are {', '.join(known)}")
    return [case for case in CASES if case.path is not None and (not names or case.name in names)]


@dataclass(frozen=True)
class Plan:
    """What is asked of one case that has nv degrees of freedom and these functions."""

    case: Case
    nv: int
    functions: Sequence[str]
    isas: Sequence[str] = field(default=())

    @property
    def is_full(self) -> bool:
        return self.case.name in FULL

    def bits(self) -> Iterator[tuple[str, Question]]:
        """By name: what `bits` of a worker takes, but for the cache.

        In full: C, NumPy in float32, external forces in both number types. The largest have no forces in machine code.
        """
        every, plain = ("dense", "packed", "one"), ("dense", "one")
        for dtype in ("float64", "float32"):
            double = dtype == "float64"
            if double or self.is_full:
                yield self._bits("numpy", dtype, "serial", plain, double)
            for isa in self.isas:
                yield self._bits("cpu", dtype, "serial", every, self.is_full or (double and self.nv < LARGE), isa)
            if self.is_full or (double and self.nv <= SMALL):
                yield self._bits("c", dtype, "serial", every, self.is_full and double and self.nv <= SMALL)
            for links in ("scan", "auto") if self.case.name in PARALLEL else ():
                yield self._bits("numpy", dtype, links, plain, double)
                for isa in self.isas:
                    yield self._bits("cpu", dtype, links, plain, links == "scan" and double and self.is_full, isa)

    def _bits(
        self, target: str, dtype: str, links: str, layouts: Sequence[str], forces: bool, isa: str = ""
    ) -> tuple[str, Question]:
        name = " ".join(word for word in (target, isa, dtype, "" if links == "serial" else links) if word)
        what = {"target": target, "dtype": dtype, "links": links, "layouts": layouts, "forces": forces, "isa": isa}
        return name, {"ask": "bits", **what, "functions": list(self.functions)}

    def texts(self) -> Iterator[tuple[str, Question]]:
        """By name: what writes text."""
        given: Question = {"ask": "texts", "functions": list(self.functions)}
        yield "c float64", {**given, "target": "c"}
        if self.is_full:
            yield "c float32", {**given, "target": "c", "dtype": "float32"}
            yield "cuda", {**given, "target": "cuda"}
        if self.case.name in VERILOG:
            yield (
                "verilog",
                {**given, "target": "verilog", "functions": [name for name in self.functions if name in PLANNED]},
            )
        if self.case.name in STEPPED:
            yield "verilog step", {**given, "target": "verilog", "functions": ["euler", "rk4"]}
        yield from self._gpu()

    def _gpu(self) -> Iterator[tuple[str, Question]]:
        """PTX. Not in full: as Condyle chooses for few states, a thread a state from so many degrees of freedom on."""
        given: Question = {"ask": "gpu", "functions": list(self.functions), "links": "serial", "forces": False}
        forms = ("auto", "thread", "group8") if self.is_full else ("auto",) if self.nv < LARGE else ("thread",)
        yield "ptx float64", {**given, "dtype": "float64", "forms": forms}
        if self.is_full:
            yield "ptx float32", {**given, "dtype": "float32", "forms": ("thread", "group32")}
            yield "ptx f_ext", {**given, "dtype": "float64", "forms": ("thread",), "forces": True}
            split = [name for name in ("dfd", "difd") if name in self.functions]
            yield "ptx split", {**given, "dtype": "float64", "forms": PARTITIONS, "functions": split}
        if self.case.name in PARALLEL:
            yield "ptx scan", {**given, "dtype": "float64", "forms": ("auto",), "links": "scan"}
