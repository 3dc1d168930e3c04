"""Plans an accelerator: datapaths and formats from a traced Program and sampled states."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

import numpy as np

from condyle.backends.fpga import products, ranges, steps, twins
from condyle.backends.fpga.accelerator import CODES, DERIVATIVES, LEAVES, ORDER, TAILS, TO_SOLVE, Limbs, Plan, needs
from condyle.backends.fpga.datapath import Datapath, Given, Word
from condyle.backends.fpga.formats import MARGIN, Format, format_for
from condyle.backends.fpga.given import FLAG, FLOATS, both
from condyle.backends.fpga.lower import SINCOS_ERROR, TRIG, Source, input_word, lower
from condyle.backends.fpga.ranges import Reals
from condyle.backends.fpga.target import Word as Numbers
from condyle.ir.program import Program, operands


@dataclass
class _Planner:
    program: Program
    stages: Sequence[str]
    samples: Mapping[str, Reals]
    numbers: Numbers
    functions: Sequence[str]
    stepping: steps.Stepping
    base: int
    limbs: Limbs
    caps: Mapping[int, float]
    floors: Mapping[int, float]

    def __post_init__(self) -> None:
        if self.base:
            self.samples = _twice(self.samples)
        self.found = ranges.values(self.program, self.samples)
        alike = twins.twins(self.program, self.stages, *self.limbs)
        largest = twins.equalised(ranges.largest(self.found), alike)
        self.source = Source(
            self.program, self.stages, largest, alike, twins.scales(self.program, alike), self.caps, self.floors
        )
        self.n = self.program.arrays[0].size
        self.given: dict[int, Given] = {}
        self.outside: dict[int, Given] = {}
        self.paths: dict[str, Datapath] = {}
        for k, node in enumerate(self.program.nodes):
            if node[0] == "input":
                word = input_word(self.program, node)
                known = FLAG if word == FLOATS else format_for(self.numbers, self.source.largest[k])
                self.outside[k] = Given(word, known)
        self.given.update(self.outside)
        angles: dict[int, int] = {}
        for k, node in enumerate(self.program.nodes):
            if node[0] in ("sin", "cos"):
                (x,) = operands(node)
                self.given[k] = Given(Word(str(node[0]), angles.setdefault(x, len(angles))), TRIG, SINCOS_ERROR)

    def group(self, *names: str) -> list[tuple[Word, int]]:
        arrays = self.program.arrays
        return [
            (Word(arrays[output.array].name, output.index), output.node)
            for output in self.program.outputs
            if arrays[output.array].name in names
        ]

    def triangle(self, name: str) -> list[tuple[Word, int]]:
        return [(word, node) for word, node in self.group(name) if word.index // self.n <= word.index % self.n]

    def run(self) -> Plan:
        has = self.functions
        groups: list[tuple[str, Sequence[tuple[Word, int]]]] = []
        if needs(has, "id", *TO_SOLVE):
            groups.append(("tau", self.group("tau")))
        if needs(has, *DERIVATIVES):
            groups.append(("dtau", self.group("dtau_dq", "dtau_dv")))
        if groups:
            self.paths["dynamics"] = lower("dynamics", self.source, self.numbers, self.given, groups)
        groups = []
        if needs(has, "m"):
            groups.append(("M", self.triangle("M")))
        if needs(has, *both("minv"), *TO_SOLVE):
            groups.append(("Minv", self.triangle("Minv")))
        if groups:
            self.paths["mass"] = lower("mass", self.source, self.numbers, self.given, groups, rename="M")
        self._trig()
        formats = {given.word: given.format for given in self.outside.values() if given.word != FLOATS}
        self._schedule_module(formats)
        nq = self.program.inputs[0].size
        plan = Plan(
            self.numbers, tuple(has), nq, self.n, self.paths, formats, {}, stepping=self.stepping, base=self.base
        )
        course = self._step(plan, formats) if needs(has, *steps.STEPS) else dict[Word, Format]()
        ordered = {name: self.paths[name] for name in ORDER if name in self.paths}
        results = {function: _results(ordered, function) for function in has}
        return replace(plan, datapaths=ordered, results=results, course=course)

    def _step(self, plan: Plan, formats: dict[Word, Format]) -> Mapping[Word, Format]:
        """The array `step`; the state that it makes has the formats of the one that it takes. What the course holds."""
        again, state = "rk4" in plan.functions, self.stepping.coordinates
        sizes = {"q": state.nq, "v": state.nv}
        largest = {
            Word(name, k): float(np.abs(self.samples[name][:, k]).max()) for name, n in sizes.items() for k in range(n)
        }
        formats.update({word: format_for(self.numbers, x) for word, x in largest.items()})
        largest.update({Word("su", k): self.stepping.h * largest[Word("v", k)] for k in state.curved})
        known = {**formats, **{word: format_for(self.numbers, x) for word, x in largest.items()}}
        words = state.course(plan.takes("tau"), plan.takes("f_ext"), again)
        held = {word: steps.STAGE if word.name == "stage" else known[steps.like(word)] for word in words}
        weights = {Word(name, 0): weight.format for name, weight in plan.weights.items()}
        made = _exact({**held, **weights}) | _made(self.paths["solve"], "out", "k")
        stage = self.stepping.advance(words, again)
        program = stage.program
        reach = ranges.largest(ranges.values(program, self._courses(made)))
        reach = [stage.small.get(k, x) for k, x in enumerate(reach)]
        groups: dict[str, list[tuple[Word, int]]] = {"out": []}
        for output in program.outputs:
            word = Word(program.arrays[output.array].name, output.index)
            if steps.like(word) in largest:
                reach[output.node] = largest[steps.like(word)]
            groups.setdefault("out" if word.name in ("q_next", "v_next") else "again", []).append((word, output.node))
        for k, word in stage.alike.items():
            reach[k] = largest[word]
        groups["out"].sort(key=lambda pair: (pair[0].name, pair[0].index))
        if "again" in groups:
            groups["again"] += [
                pair for pair in groups["out"] if pair[0].name == "v_next" or pair[0].index in state.flat
            ]
        source = Source(program, [""] * len(program), reach, whole=stage.whole)
        nodes = [(k, input_word(program, node)) for k, node in enumerate(program.nodes) if node[0] == "input"]
        inputs = {k: made[word] for k, word in nodes if word in made}
        self.paths["step"] = lower("step", source, self.numbers, inputs, list(groups.items()))
        return held

    def _courses(self, made: Mapping[Word, Given]) -> dict[str, Reals]:
        """Words at random within half of what their formats hold, all at its end in the first row; q as sampled."""
        rng = np.random.default_rng(0)
        found: dict[str, Reals] = {}
        n = len(self.samples["q"])
        for word, given in made.items():
            array = found.setdefault(word.name, np.zeros((n, 1 + max(w.index for w in made if w.name == word.name))))
            reach = float(given.format.to_real(np.array(given.format.limit))) / MARGIN
            array[:, word.index] = rng.uniform(-reach, reach, n)
            array[0, word.index] = reach
        return {**found, **dict.fromkeys(("q", "sq"), self.samples["q"])}

    def _trig(self) -> None:
        wanted = {word for path in self.paths.values() for word, _ in path.inputs}
        nodes = {given.word: k for k, given in self.given.items()}
        outputs = sorted(((word, nodes[word]) for word in wanted), key=lambda pair: pair[1])
        self.paths["trig"] = lower("trig", self.source, self.numbers, self.outside, [("out", outputs)])

    def _schedule_module(self, formats: dict[Word, Format]) -> None:
        """The two products, their ranges sampled where a is what M^-1 (tau - c) gives."""
        outputs = ranges.outputs(self.program, self.found)
        a, tau = np.zeros_like(self.samples["a"]), outputs["tau"]
        if self.base:
            half = len(a) // 2
            a[half:, : self.base], tau[half:, : self.base] = self.samples["a"][half:, : self.base], 0.0
        still = {**self.samples, "a": a}
        bias = ranges.outputs(self.program, ranges.values(self.program, still))["tau"]
        inverse = [word for word, _ in self.group("Minv")]
        if needs(self.functions, *TO_SOLVE):
            tau = {
                Word("tau", k): format_for(self.numbers, float(np.abs(outputs["tau"][:, k]).max()))
                for k in range(self.n)
            }
            formats.update(tau)
            made = _made(self.paths["dynamics"], "tau", "c") | _made(self.paths["mass"], "Minv")
            program = products.solve(self.n, inverse)
            samples = {"tau": outputs["tau"], "c": bias, "Minv": outputs["Minv"]}
            self._product("solve", program, samples, made | _exact(tau))
        if needs(self.functions, *both("dfd", "difd")):
            made = _made(self.paths["dynamics"], "dtau")
            by = [word for word, _ in self.group("dtau_dq", "dtau_dv")]
            largest = np.abs(outputs["Minv"]).max(axis=0)
            triangle = products.upper(inverse, self.n)
            given = _exact({word: format_for(self.numbers, float(largest[word.index])) for word in triangle})
            if "mass" in self.paths and "Minv" in dict(self.paths["mass"].groups):
                given |= _made(self.paths["mass"], "Minv")
            if needs(self.functions, "difd"):
                formats.update({word: one.format for word, one in given.items()})
            program = products.derivatives(self.n, inverse, by)
            self._product("derivatives", program, outputs, made | given)

    def _product(self, name: str, program: Program, samples: Mapping[str, Reals], made: Mapping[Word, Given]) -> None:
        largest = [TAILS * x for x in ranges.largest(ranges.values(program, samples))]
        source = Source(program, [""] * len(program), largest)
        given = {k: made[input_word(program, node)] for k, node in enumerate(program.nodes) if node[0] == "input"}
        pairs = [(Word(program.arrays[o.array].name, o.index), o.node) for o in program.outputs]
        self.paths[name] = lower(name, source, self.numbers, given, [("out", pairs)])


def _twice(samples: Mapping[str, Reals]) -> dict[str, Reals]:
    """The base floating, then given."""
    n = len(samples["q"])
    floats = np.repeat((1.0, 0.0), n)[:, None]
    return {**{name: np.concatenate((rows, rows)) for name, rows in samples.items()}, FLOATS.name: floats}


def _made(path: Datapath, group: str, name: str = "") -> dict[Word, Given]:
    """A group's words, under another array's name if one is given."""
    words = [(Word(name or word.name, word.index), path.ops[k]) for word, k in path.group(group)]
    return {word: Given(word, op.format, op.noise) for word, op in words}


def _exact(formats: Mapping[Word, Format]) -> dict[Word, Given]:
    return {word: Given(word, format) for word, format in formats.items()}


def _results(paths: Mapping[str, Datapath], function: str) -> tuple[tuple[Word, Format], ...]:
    array, group = LEAVES[function]
    words = [(word, paths[array].ops[k].format) for word, k in paths[array].group(group)]
    return tuple(words)


def plan(
    program: Program,
    stages: Sequence[str],
    samples: Mapping[str, Reals],
    numbers: Numbers,
    functions: Sequence[str],
    stepping: steps.Stepping = steps.STANDING,
    base: int = 0,
    limbs: Limbs = ({}, {}),
    caps: Mapping[int, float] = MappingProxyType({}),
    floors: Mapping[int, float] = MappingProxyType({}),
) -> Plan:
    """Datapaths for these functions. program: outputs tau, dtau_dq, dtau_dv, M, Minv; samples: q, v, a (n, size).

    base: degrees of freedom whose motion can be given. limbs: the places of joints, and of entries of input arrays, in
    limbs that are alike. caps, floors: bounds of nodes, of reciprocals' arguments from below.
    """
    chosen = tuple(f for f in CODES if f in functions)
    return _Planner(program, stages, samples, numbers, chosen, stepping, base, limbs, caps, floors).run()
