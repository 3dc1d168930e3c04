"""Plans an accelerator: datapaths and formats from a traced Program and sampled states."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast

import numpy as np

from condyle.errors import UnsupportedError
from condyle.fpga.rtl import accelerator, datapath
from condyle.fpga.rtl.accelerator import (
    BIAS,
    COLUMNS,
    FLAG,
    FLOATS,
    INVERSE,
    ORDER,
    PRODUCTS,
    SOLVED,
    STAGE,
    STEP,
    TRIG,
    Leaf,
    Plan,
    Task,
    Unit,
    named,
)
from condyle.fpga.rtl.build import Accelerator, build, dsp_at, with_folding
from condyle.fpga.rtl.constants import with_constants
from condyle.fpga.rtl.datapath import Datapath, Incoming, Word
from condyle.fpga.rtl.lower import SINCOS_ERROR, TRIG_FORMAT, Source, input_word, lower
from condyle.fpga.rtl.operators import largest_angle
from condyle.fpga.rtl.target import (
    MARGIN,
    TAILS,
    XCVU9P,
    A,
    Device,
    Format,
    Reals,
    format_for,
    largest_of,
    outputs_of,
    values_of,
)
from condyle.fpga.rtl.target import Word as Numbers
from condyle.ir.expr import Graph
from condyle.ir.program import Array, Note, Output, Program, operands
from condyle.operations import Node

# The schedule module's Programs: M^-1 (tau - c), and -M^-1 times the derivatives of inverse dynamics.


SHARED = "x"
"""The columns of a product share units."""


class _Sums(Graph):
    """Makes the nodes of a Program: input words and sums, without simplification."""

    def __init__(self, arrays: Sequence[Array]) -> None:
        super().__init__()
        self.names = [array.name for array in arrays]

    def add_node(self, *node: object) -> int:
        return self.node(cast(Node, node)).index

    def word(self, word: Word) -> int:
        return self.add_node("input", self.names.index(word.name), word.index)

    def total(self, terms: Sequence[int]) -> int:
        """A sum as a balanced tree."""
        while len(terms) > 1:
            pairs = [self.add_node("add", *terms[k : k + 2]) for k in range(0, len(terms) - 1, 2)]
            terms = [*pairs, *terms[len(terms) - len(terms) % 2 :]]
        return terms[0]


def symmetric(word: Word, n: int) -> Word:
    """The entry of the upper triangle that equals this one."""
    i, j = divmod(word.index, n)
    return Word(word.name, min(i, j) * n + max(i, j))


def upper(words: Sequence[Word], n: int) -> list[Word]:
    """The entries of the upper triangle."""
    return [word for word in words if word.index // n <= word.index % n]


def solve(n: int, inverse: Sequence[Word]) -> Program:
    """a = Minv (tau - c), only the given entries of Minv not being zero."""
    arrays = (Array("tau", (n,)), Array("c", (n,)), Array("Minv", (n, n)))
    nodes = _Sums(arrays)
    net = [nodes.add_node("sub", nodes.word(Word("tau", k)), nodes.word(Word("c", k))) for k in range(n)]
    rows: list[list[int]] = [[] for _ in range(n)]
    for word in inverse:
        i, j = divmod(word.index, n)
        rows[i].append(nodes.add_node("mul", nodes.word(symmetric(word, n)), net[j]))
    outputs = [Output(0, k, nodes.total(row)) for k, row in enumerate(rows)]
    return Program("solve", arrays, (Array("a", (n,)),), tuple(nodes.nodes), tuple(outputs))


def derivatives(n: int, inverse: Sequence[Word], by: Sequence[Word], called: Mapping[str, str], keeps: bool) -> Program:
    """-Minv times the matrices `by`, with the names `called`, a stage for each column.

    keeps: whether the upper triangle of Minv is also an output.
    """
    names = tuple(called)
    arrays = (*(Array(name, (n, n)) for name in names), Array("Minv", (n, n)))
    results = (*(Array(name, (n, n)) for name in called.values()), *([Array("Minv", (n, n))] * keeps))
    nodes = _Sums(arrays)
    triangle = {word: nodes.word(word) for word in upper(inverse, n)}
    zero = nodes.add_node("const", 0.0)
    minus = {word: nodes.add_node("sub", zero, node) for word, node in triangle.items()}
    terms: dict[tuple[int, int], list[int]] = {}
    columns: dict[int, str] = {}
    for word in inverse:
        i, j = divmod(word.index, n)
        for right in by:
            row, column = divmod(right.index, n)
            if row == j:
                product = nodes.add_node("mul", minus[symmetric(word, n)], nodes.word(right))
                terms.setdefault((names.index(right.name), i * n + column), []).append(product)
                columns[product] = f"{SHARED}.{right.name}_{column}"
    outputs: list[Output] = []
    for (array, index), found in sorted(terms.items()):
        first = len(nodes.nodes)
        outputs.append(Output(array, index, nodes.total(found)))
        columns |= dict.fromkeys(range(first, len(nodes.nodes)), columns[found[0]])
    outputs += [Output(len(names), word.index, node) for word, node in triangle.items() if keeps]
    notes = tuple(Note(columns.get(k, "")) for k in range(len(nodes.nodes)))
    return Program("derivatives", arrays, results, tuple(nodes.nodes), tuple(outputs), notes=notes)


Groups = dict[str, list[tuple[Word, int]]]


@dataclass
class Planner:
    """program: the outputs of all units, traced, each node with its stage and its bounds. samples: q, v, a (n, size).

    tasks: in the order of their codes. products: of each derivative of inverse dynamics what -M^-1 times it is called.
    box, limits: see `Plan`. base: degrees of freedom whose motion can be given. branches: where joints, and entries of
    input arrays, stand in branches that are alike. echo: see `Boundary`.
    """

    program: Program
    units: Sequence[Unit]
    samples: Mapping[str, Reals]
    numbers: Numbers
    tasks: Sequence[Task]
    products: Mapping[str, str]
    box: Mapping[str, float | Reals]
    limits: Mapping[Word, float]
    stepping: accelerator.Stepping
    base: int
    branches: datapath.Branches
    echo: bool
    paths: dict[str, Datapath] = field(default_factory=dict[str, Datapath], init=False)
    torques: tuple[float, ...] = field(default=(), init=False)

    def __post_init__(self) -> None:
        self.n = self.program.arrays[0].size
        self.leaves = {leaf for task in self.tasks for leaves in task.passes for leaf in leaves}
        self.samples = _twice(self.samples) if self.base else self.samples
        self.values = values_of(self.program, self.samples)
        alike = datapath.shared_operations(self.program, *self.branches)
        largest = datapath.equalised(largest_of(self.values), alike)
        self.source = Source(self.program, largest, alike, datapath.scales(self.program, alike))
        self.outside: dict[int, Incoming] = {}
        turns: dict[int, Incoming] = {}
        angles: dict[int, int] = {}
        for k, node in enumerate(self.program.nodes):
            if node[0] == "input":
                word = input_word(self.program, node)
                known = FLAG if word == FLOATS else format_for(self.numbers, largest[k])
                self.outside[k] = Incoming(word, known)
            elif node[0] in ("sin", "cos"):
                (x,) = operands(node)
                turns[k] = Incoming(Word(str(node[0]), angles.setdefault(x, len(angles))), TRIG_FORMAT, SINCOS_ERROR)
        self.incoming = {**self.outside, **turns}

    def run(self) -> Plan:
        """Makes the datapaths of these functions."""
        for array in dict.fromkeys(unit.leaf.array for unit in self.units):
            self._traced(array)
        self._trig()
        formats = {given.word: given.format for given in self.outside.values() if given.word != FLOATS}
        if not self.leaves.isdisjoint((SOLVED, PRODUCTS)):
            self._schedule_module(formats)
        course = self._step(formats) if STEP in self.leaves else dict[Word, Format]()
        paths = {name: self.paths[name] for name in ORDER if name in self.paths}
        tasks = {task.function.name: task for task in self.tasks}
        results = {name: tuple(paths[task.leaf.array].formats(task.leaf.group).items()) for name, task in tasks.items()}
        known = (self.box, self.torques, self.limits, self.stepping, course, self.base)
        return Plan(self.numbers, tasks, self.program.inputs[0].size, self.n, paths, formats, results, *known)

    def _outputs(self, leaf: Leaf) -> list[tuple[Word, int]]:
        """All words of the outputs of a group's unit."""
        names = {port.name for unit in self.units if unit.leaf == leaf for port in unit.function.outputs}
        return [(word, node) for word, node in _pairs(self.program) if word.name in names]

    def _words(self, unit: Unit) -> list[tuple[Word, int]]:
        """The same, of symmetric matrices the upper triangle."""
        halved = {port.name for port in unit.function.outputs if port.symmetric}
        return [
            (word, node)
            for word, node in self._outputs(unit.leaf)
            if word.name not in halved or word.index // self.n <= word.index % self.n
        ]

    def _traced(self, array: str) -> None:
        """An array of units; the stages of one with a single letter have that, wherever a node was made first."""
        units = [unit for unit in self.units if unit.leaf.array == array]
        groups = [(unit.leaf.group, self._words(unit)) for unit in units if unit.leaf in self.leaves]
        letters = {unit.letter for unit in units}
        if groups:
            rename = units[0].letter if len(letters) == 1 else ""
            self.paths[array] = lower(array, self.source, self.numbers, self.incoming, groups, rename)

    def _trig(self) -> None:
        wanted = {word for path in self.paths.values() for word, _ in path.inputs}
        nodes = {given.word: k for k, given in self.incoming.items()}
        outputs = sorted(((word, nodes[word]) for word in wanted), key=lambda pair: pair[1])
        path = lower(TRIG.array, self.source, self.numbers, self.outside, [(TRIG.group, outputs)])
        self._check_angles(path)
        self.paths[TRIG.array] = path

    def _check_angles(self, path: Datapath) -> None:
        """UnsupportedError if an angle needs upper bits that its sine does not read."""
        right = min(
            (largest_angle(path.ops[op.args[0]].format) for op in path.ops if op.kind == "sincos"), default=np.inf
        )
        angles = {x for node in self.program.nodes if node[0] in ("sin", "cos") for x in operands(node)}
        reach = max((self.source.largest[x] for x in angles), default=0.0)
        if 1.01 * reach >= right:  # samples hardly reach the end of the box
            raise UnsupportedError(
                f"an angle of this robot reaches {reach:.4g} rad, but in word {self.numbers.name!r} sines are right "
                f"below {right:g} rad: choose a smaller q in the box, or a word of at most {A} bits"
            )

    def _schedule_module(self, formats: dict[Word, Format]) -> None:
        """The two products, their ranges sampled where a is what M^-1 (tau - c) gives."""
        outputs = outputs_of(self.program, self.values)
        inverse = [word for word, _ in self._outputs(INVERSE)]
        if SOLVED in self.leaves:
            most = self.box.get("tau", np.inf)
            outputs["tau"] = np.minimum(np.maximum(outputs["tau"], np.negative(most)), most)
            self.torques = tuple(np.abs(outputs["tau"]).max(axis=0).tolist())
            words = {Word("tau", k): x for k, x in enumerate(self.torques)}
            tau = {word: format_for(self.numbers, self.limits.get(word, x)) for word, x in words.items()}
            formats.update(tau)
            made = _exact(tau) | self._group_words(BIAS, "c") | self._group_words(INVERSE)
            samples = {"tau": outputs["tau"], "c": self._bias(outputs["tau"]), "Minv": outputs["Minv"]}
            self._product(SOLVED, solve(self.n, inverse), samples, made)
            self._check_solved()
        if PRODUCTS in self.leaves:
            largest = np.abs(outputs["Minv"]).max(axis=0)
            triangle = upper(inverse, self.n)
            given = _exact({word: format_for(self.numbers, float(largest[word.index])) for word in triangle})
            given |= self._group_words(INVERSE) if INVERSE in self.leaves else {}
            if any("Minv" in task.inputs for task in self.tasks):
                formats.update({word: one.format for word, one in given.items()})
            by = [word for word, _ in self._outputs(COLUMNS)]
            leave = [task.words.values() for task in self.tasks if task.leaf == PRODUCTS]
            keeps = self.echo or any(INVERSE.group in words for words in leave)
            program = derivatives(self.n, inverse, by, self.products, keeps)
            self._product(PRODUCTS, program, outputs, self._group_words(COLUMNS) | given)

    def _check_solved(self) -> None:
        """UnsupportedError if the accelerations of the box are smaller than one unit of those that are solved for."""
        solved = self.paths[SOLVED.array].formats(SOLVED.group).values()
        units = [2.0**-format.frac for format in solved]
        for k, unit in enumerate(units):
            bound = self.limits[Word("a", k)]
            if bound < unit:
                raise UnsupportedError(
                    f"box: a_{k} is at most {bound:g}, but one unit of fd's result is {unit:.2g} in word "
                    f"{self.numbers.name!r}, because of v and tau of the box: choose a larger a, a smaller v or tau, "
                    "or a wider word"
                )

    def _bias(self, tau: Reals) -> Reals:
        """c of the samples; of a given base, the second half of them, tau of the joints is that of its motion."""
        a = np.zeros_like(self.samples["a"])
        if self.base:
            half = len(a) // 2
            a[half:, : self.base] = self.samples["a"][half:, : self.base]
            tau[half:, : self.base] = 0.0
        return outputs_of(self.program, values_of(self.program, {**self.samples, "a": a}))["tau"]

    def _product(
        self, leaf: Leaf, program: Program, samples: Mapping[str, Reals], incoming: Mapping[Word, Incoming]
    ) -> None:
        reach = largest_of(values_of(program, samples))
        largest = [x if _negates(program, k) else TAILS * x for k, x in enumerate(reach)]
        self._lowered(leaf.array, Source(program, largest), incoming, {leaf.group: _pairs(program)})

    def _lowered(self, array: str, source: Source, incoming: Mapping[Word, Incoming], groups: Groups) -> None:
        nodes = [
            (k, input_word(source.program, node)) for k, node in enumerate(source.program.nodes) if node[0] == "input"
        ]
        given = {k: incoming[word] for k, word in nodes if word in incoming}
        self.paths[array] = lower(array, source, self.numbers, given, list(groups.items()))

    def _group_words(self, leaf: Leaf, name: str = "") -> dict[Word, Incoming]:
        """A group's words, under another array's name if one is given."""
        path = self.paths[leaf.array]
        words = [(Word(name or word.name, word.index), path.ops[k]) for word, k in path.group(leaf.group)]
        return {word: Incoming(word, op.format, op.noise) for word, op in words}

    def _step(self, formats: dict[Word, Format]) -> dict[Word, Format]:
        """The array `step`, and the words of the course. The state after a step has the formats of the state before."""
        stepping = self.stepping
        stages = [stage for task in self.tasks for stage in task.stages]
        again = accelerator.follow(stages)
        largest = self._largest_states()
        known = {**formats, **{word: format_for(self.numbers, x) for word, x in largest.items()}}
        formats.update({word: format for word, format in known.items() if word.name in ("q", "v")})
        words = stepping.coordinates.course(named(formats, "tau"), named(formats, "f_ext"), again)
        held = {
            word: accelerator.STAGE_FORMAT if word.name == "stage" else known[accelerator.like(word)] for word in words
        }
        weights = accelerator.weights(stepping, stages, self.numbers.constant)
        made = _exact({**held, **{Word(name, 0): weight.format for name, weight in weights.items()}})
        made |= self._group_words(SOLVED, "k")
        stage = stepping.advance(words, again)
        reach = self._reach(stage, made, largest)
        source = Source(stage.program, reach, whole=stage.whole)
        self._lowered(STEP.array, source, made, _groups(stage.program, stepping.coordinates.flat))
        return held

    def _largest_states(self) -> dict[Word, float]:
        """Of every word of q, v and, of joints that move along a curve, of a sum of rates."""
        state = self.stepping.coordinates
        sizes = {"q": state.nq, "v": state.nv}
        found = {
            Word(name, k): float(np.abs(self.samples[name][:, k]).max()) for name, n in sizes.items() for k in range(n)
        }
        return found | {Word("su", k): self.stepping.h * found[Word("v", k)] for k in state.curved}

    def _reach(
        self, stage: accelerator.Stage, incoming: Mapping[Word, Incoming], largest: Mapping[Word, float]
    ) -> list[float]:
        """The largest value of each node of a stage; what is a state again has the range of states."""
        reach = largest_of(values_of(stage.program, self._courses(incoming)))
        reach = [stage.small.get(k, x) for k, x in enumerate(reach)]
        for word, node in _pairs(stage.program):
            reach[node] = largest.get(accelerator.like(word), reach[node])
        for k, word in stage.alike.items():
            reach[k] = largest[word]
        return reach

    def _courses(self, incoming: Mapping[Word, Incoming]) -> dict[str, Reals]:
        """Words at random within half of what their formats hold, all at its end in the first row; q as sampled."""
        rng = np.random.default_rng(0)
        found: dict[str, Reals] = {}
        n = len(self.samples["q"])
        for word, given in incoming.items():
            array = found.setdefault(
                word.name, np.zeros((n, 1 + max(w.index for w in incoming if w.name == word.name)))
            )
            reach = float(given.format.to_real(np.array(given.format.limit))) / MARGIN
            array[:, word.index] = rng.uniform(-reach, reach, n)
            array[0, word.index] = reach
        return {**found, **dict.fromkeys(("q", "sq"), self.samples["q"])}


def _twice(samples: Mapping[str, Reals]) -> dict[str, Reals]:
    """First with a floating base, then with a given one."""
    n = len(samples["q"])
    floats = np.repeat((1.0, 0.0), n)[:, None]
    return {**{name: np.concatenate((rows, rows)) for name, rows in samples.items()}, FLOATS.name: floats}


def _pairs(program: Program) -> list[tuple[Word, int]]:
    """The words and the nodes of a Program's outputs."""
    return [(Word(program.arrays[output.array].name, output.index), output.node) for output in program.outputs]


def _groups(program: Program, flat: Collection[int]) -> Groups:
    """A stage's result, and what goes in again if stages follow: with the result's rates and plain coordinates."""
    groups: Groups = {STEP.group: []}
    for word, node in _pairs(program):
        name = STEP.group if word.name in ("q_next", "v_next") else STAGE.group
        groups.setdefault(name, []).append((word, node))
    groups[STEP.group].sort(key=lambda pair: (pair[0].name, pair[0].index))
    if STAGE.group in groups:
        result = groups[STEP.group]
        groups[STAGE.group] += [pair for pair in result if pair[0].name == "v_next" or pair[0].index in flat]
    return groups


def _exact(formats: Mapping[Word, Format]) -> dict[Word, Incoming]:
    return {word: Incoming(word, format) for word, format in formats.items()}


def _negates(program: Program, k: int) -> bool:
    """Whether a node is zero less a given word, which has the word's range."""
    if program.nodes[k][0] != "sub":
        return False
    zero, word = (program.nodes[x] for x in operands(program.nodes[k]))
    return zero == ("const", 0.0) and word[0] == "input"


# Whether an accelerator fits a part: the shortest interval within a budget of DSPs, and room for its registers.


LARGEST_II = 64


def foldings(plan: Plan) -> list[int]:
    """How many branches can share arrays, ascending."""
    counts = {len(alike) for path in plan.datapaths.values() for alike in path.shared}
    return sorted({1, *(k for n in counts for k in range(2, n + 1) if n % k == 0)})


def fit(
    plan: Plan,
    budget: int,
    constants: str = "dsp",
    folding: int | None = None,
    device: Device = XCVU9P,
    least: int = 1,
) -> tuple[int, int]:
    """The shortest interval whose units stay within a budget of DSPs, and the folding factor that then needs fewest.

    folding: only this factor. least: the shortest interval that is tried, because the link cannot feed a shorter one.
    UnsupportedError names the factors, or what fits the part.
    """
    known = foldings(plan)
    if folding is not None and folding not in known:
        raise UnsupportedError(f"folding={folding!r}: the branches of this robot allow {', '.join(map(str, known))}")
    plans = {n: with_folding(plan, n) for n in (known if folding is None else [folding])}
    costs: dict[int, tuple[int, int]] = {}
    for ii in range(min(least, LARGEST_II // 2), LARGEST_II + 1):
        there = {n: with_constants(shared, constants, ii, device) for n, shared in plans.items() if ii % n == 0}
        if there:
            costs[ii] = min((dsp_at(shared, ii, device), n) for n, shared in there.items())
            if costs[ii][0] <= min(budget, device.dsp):
                if budget > device.dsp:
                    break
                return ii, costs[ii][1]
    raise UnsupportedError(_does_not_fit(plan, budget, device, {ii: cost for ii, (cost, _) in costs.items()}))


def _does_not_fit(plan: Plan, budget: int, device: Device, costs: Mapping[int, int]) -> str:
    """The message that the functions do not fit. costs: DSPs at the intervals that were tried."""
    functions = ", ".join(plan.functions)
    ii = next((ii for ii, cost in costs.items() if cost <= device.dsp), None)
    if ii is None:
        return (
            f"an {device.name} is too small for {functions} at any interval: it has {device.dsp} DSPs, and "
            f"{min(costs.values())} are needed with a task every {_cycles(LARGEST_II)}. Choose fewer functions, a "
            "narrower word or a larger part"
        )
    shortest = f"the shortest interval that fits its {device.dsp} DSPs is {_cycles(ii)}, with {costs[ii]}"
    if budget > device.dsp:
        return f"dsp={budget} is more than an {device.name} has; {shortest}"
    return (
        f"dsp={budget} is too small for {functions}: the smallest budget is {min(costs.values())}, with a task every "
        f"{_cycles(max(costs))}. On an {device.name} {shortest}. Choose more DSPs, fewer functions, a narrower word or "
        "a larger part"
    )


def _cycles(n: int) -> str:
    return "1 cycle" if n == 1 else f"{n} cycles"


def fitted(plan: Plan, budget: int, constants: str, folding: int | None, device: Device, least: int = 1) -> Accelerator:
    """The accelerator at the shortest interval; UnsupportedError if the part has too few DSPs, or flip-flops."""
    ii, fold = fit(plan, budget, constants, folding, device, least)
    acc = _built(plan, constants, fold, ii, device)
    if device.family != "ecp5" or acc.register_bits <= device.lut:
        return acc
    longer = (_built(plan, constants, fold, n, device) for n in range(2 * ii, LARGEST_II + 1, ii))
    found = next((one for one in longer if one.register_bits <= device.lut), None)
    fits = f"The shortest interval that fits is {_cycles(found.ii)}: --dsp {found.dsp}" if found else "No interval fits"
    raise UnsupportedError(
        f"an {device.name} is too small for {', '.join(plan.functions)} with a task every {_cycles(ii)}: registers of "
        f"words take {acc.register_bits} flip-flops, and it has {device.lut}. {fits}. Choose fewer functions or a "
        "larger part"
    )


def _built(plan: Plan, constants: str, folding: int, ii: int, device: Device) -> Accelerator:
    return build(with_constants(with_folding(plan, folding), constants, ii, device), ii, device=device)
