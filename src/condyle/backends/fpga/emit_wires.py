"""Parts of the top module: queues, array instances, words on buses, queues of results."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from condyle.backends.fpga import stream
from condyle.backends.fpga.build import Accelerator
from condyle.backends.fpga.datapath import Word
from condyle.backends.fpga.edge import largest, takers
from condyle.backends.fpga.emit_array import bits_of, bus
from condyle.backends.fpga.expressions import any_of, is_one_of, joined, zeros
from condyle.backends.fpga.formats import Format
from condyle.backends.fpga.queues import queues
from condyle.backends.fpga.stream import CODE, DATA, Bus, width
from condyle.backends.fpga.tasks import Leaf
from condyle.text import Emitter


@dataclass
class Wires:
    """Writes parts of the top module.

    d: declarations of wires. head: what goes with a task. u: the words of a or tau of a task, base: those of the base,
    where its motion can be given. course: what goes with a sub-task. entry, tau, given, buses: the queues, buses those
    behind arrays and of codes that are refused; results: of these the names of those whose words leave.
    """

    acc: Accelerator
    prefix: str

    def __post_init__(self) -> None:
        self.d, self.e = Emitter(), Emitter()
        self.plan = self.acc.plan
        self.id, self.tasks, self.twice = self.plan.id, list(self.plan.tasks.values()), self.plan.fed_back
        self.head = stream.head(self.id)
        task = [(field.word, field.format) for field in stream.bus(self.plan)]
        self.entry = Bus("entry_q", [*task, *self.head[:2]])
        self.u = [(word, format) for word, format in task if word.name in ("a", "tau")]
        self.tau, self.given = Bus("tau_q", self.u), Bus("given_q", self.takes("Minv"))
        self.base = [word for word in self.plan.takes("tau") if word.index < self.plan.base]
        self.course = Bus("course_q", list(self.plan.course.items()))
        waiting = [queue for ways in queues(self.plan).values() for queue in ways]
        self.buses = {queue.name: Bus(f"{queue.name}_q", [*self.group(queue.leaf), *self.head]) for queue in waiting}
        self.buses["refused"] = Bus("refused_q", self.head[:2])
        self.results = [queue.name for queue in waiting if queue.is_result]

    def outside(self) -> None:
        """Whether an input word that the task's function uses is outside the box."""
        if not self.plan.flags:
            self.e("wire outside = 1'b0;")
            return
        flags: list[str] = []
        for name in ("q", "v", "a", "tau", "f_ext", "Minv"):
            taken: dict[tuple[int, ...], list[Word]] = defaultdict(list)
            for word in self.plan.takes(name):
                taken[tuple(task.codes[0] for task in takers(self.plan, word))].append(word)
            taken.pop((), None)  # what no task takes
            for codes, words in taken.items():
                for word in words:
                    sizes = f"{self.plan.formats[word].width}, {largest(self.plan, word)}"
                    self.e(f"wire far_{word};")
                    self.e(f"fx_outside #({sizes}) is_far_{word} (.x({self.entry[word]}), .far(far_{word}));")
                flags.append(f"{is_one_of('entry_code', codes)} & ({any_of([f'far_{word}' for word in words])})")
        self.e(f"wire outside = {' | '.join(flags)};")

    def base_and_joints(self) -> tuple[str, str]:
        """What goes to the dynamics array as a with a task to solve, and its torques: u holds either's part."""
        self.e(f"wire is_given = {self.sent(task.base_given for task in self.tasks)};")
        own, rest = self.entry.span(self.base), [word for word, _ in self.u if word.index >= self.plan.base]
        wide = width(self.tau.at[word] for word in self.base)
        nothing = zeros(wide)
        self.e(f"wire [{wide - 1}:0] given_a = is_given ? {own} : {nothing}, base_tau = is_given ? {nothing} : {own};")
        if not rest:
            return "given_a", "base_tau"
        return joined(zeros(self.tau.width - wide), "given_a"), joined(self.entry.span(rest), "base_tau")

    def queue(self, bus: Bus, depth: int, valid: str, data: str) -> None:
        """A queue with wires NAME_free (in_ready), NAME_full (out_valid), NAME_q; its reader drives NAME_pop."""
        name = bus.name.removesuffix("_q")
        self.d(f"wire {name}_free, {name}_full, {name}_next, {name}_pop;", f"wire [{bus.width - 1}:0] {name}_q;")
        self.e(f"fx_fifo #({bus.width}, {depth}, {_bits(depth)}) {name} (.clock(clock), .reset(reset),")
        self.e(f"    .in_valid({valid}), .in_ready({name}_free), .in_data({data}),")
        self.e(f"    .out_valid({name}_full), .out_ready({name}_pop), .out_data({name}_q), .next({name}_next));")

    def credits(self, name: str, depth: int, take: str, give: str) -> None:
        """A wire NAME_room: one of so many credits is free."""
        self.d(f"wire {name}_room;")
        self.e(f"fx_credits #({depth}, {_bits(depth)}) {name}_credits (.clock(clock), .reset(reset), .take({take}),")
        self.e(f"    .give({give}), .free({name}_room));")

    def array(self, name: str, valid: str, id_: str, data: list[str]) -> None:
        """An array and the queues of its results, with wires NAME_take and, for each group G, NAME_G_id, NAME_G.

        A task starts when the queue that its result will wait in has a credit, a free place, for it.
        """
        array = self.acc.arrays[name]
        self.d(f"wire {name}_ready, {name}_take;", f"wire [{self.id.width - 1}:0] {name}_id;")
        self.d(f"reg [{bits_of(array, array.datapath.inputs) - 1}:0] {name}_words;")
        bus(self.e, f"{name}_words", data)
        ports = [f".in_valid({name}_take)", f".in_ready({name}_ready)", f".in_id({name}_id)"]
        ports.append(f".in_data({name}_words)")
        for group, words in array.datapath.groups:
            self.d(f"wire {name}_{group}_valid;", f"wire [{self.id.width - 1}:0] {name}_{group}_id;")
            self.d(f"wire [{bits_of(array, words) - 1}:0] {name}_{group};")
            ports += [f".{group}_{what}({name}_{group}_{what})" for what in ("valid", "id")]
            ports.append(f".{group}_data({name}_{group})")
        rooms = [valid, f"{name}_ready"]
        for queue in queues(self.plan)[name]:
            where = f"{name}_{queue.leaf.group}"
            depth = self.acc.depths[queue.name]
            comes = f"{where}_valid & {self.code_is(f'{where}_id', queue.codes)}"
            self.queue(self.buses[queue.name], depth, comes, f"{{{where}_id, {where}}}")
            if not queue.counted:
                needs = self.code_is(f"{name}_id", queue.codes)
                self.credits(queue.name, depth, f"{name}_take & {needs}", f"{queue.name}_full & {queue.name}_pop")
                rooms.append(f"(~{needs} | {queue.name}_room)")
        self.e(f"assign {name}_id = {id_};", f"assign {name}_take = {' & '.join(rooms)};")
        head = f"{self.prefix}_{name} {name} (.clock(clock), .reset(reset),"
        self.e(head, "    " + ",\n        ".join(ports) + ");")

    def sent(self, chosen: Iterable[bool]) -> str:
        """Whether the task at the input is one of these."""
        return is_one_of("entry_code", [task.codes[0] for task, of in zip(self.tasks, chosen, strict=True) if of])

    def code_is(self, wire: str, codes: Iterable[int]) -> str:
        """Whether the code that travels with a task is one of these."""
        return is_one_of(Bus(wire, self.head)[CODE], codes)

    def gather(self, array: str, words: Mapping[Word, str]) -> list[str]:
        """The words of an array's input bus."""
        return [words[word] for word, _ in self.acc.arrays[array].datapath.inputs]

    def group(self, leaf: Leaf) -> stream.Words:
        """The words that leave an array together; one bit if there are none."""
        formats = self.acc.arrays[leaf.array].datapath.formats(leaf.group)
        return list(formats.items()) or [(DATA, Format(1, 0))]

    def takes(self, *names: str) -> stream.Words:
        """The words of some input arrays, one after the other."""
        return [(word, self.plan.formats[word]) for name in names for word in self.plan.takes(name)]


def _bits(depth: int) -> int:
    """Bits of an index into the memory of a queue."""
    return max(1, (depth - 2).bit_length())
