"""Parts of the top module: queues, array instances, words on buses, queues of results."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Mapping

from condyle.backends.fpga import stream
from condyle.backends.fpga.build import Accelerator
from condyle.backends.fpga.datapath import Word
from condyle.backends.fpga.edge import largest
from condyle.backends.fpga.emit_array import bits_of, bus
from condyle.backends.fpga.expressions import any_of, is_one_of, joined, zeros
from condyle.backends.fpga.formats import Format
from condyle.backends.fpga.queues import codes_of, queues
from condyle.backends.fpga.stream import CODE, DATA, Bus, width
from condyle.backends.fpga.tasks import KINDS, Leaf, Task
from condyle.text import Emitter


class Wires:
    """Writes parts of the top module.

    d: declarations of wires. head: what goes with a task. u: the words of a or tau of a task, base: those of the base,
    where its motion can be given. course: what goes with a sub-task. entry, tau, given, buses: the queues, buses those
    behind arrays and of codes that are refused; heads: of these the names of those that leave. kinds: for which tasks a
    wire of this name is 1 while they are at the entry. room: what must be there before that task starts.
    """

    def __init__(self, acc: Accelerator, prefix: str) -> None:
        self.acc, self.plan, self.prefix = acc, acc.plan, prefix
        self.d, self.e = Emitter(), Emitter()
        self.id, self.tasks, self.twice = self.plan.id, list(self.plan.tasks.values()), self.plan.fed_back
        self.head = stream.head(self.id)
        task = [(field.word, field.format) for field in stream.bus(self.plan)]
        kinds = {kind: [task for task in self.tasks if is_one(task)] for kind, is_one in KINDS.items()}
        self.kinds = {Word(f"stream.{kind}", 0): tasks for kind, tasks in kinds.items() if tasks}
        self.entry = Bus("entry_q", [*task, *self.head[:2], *((kind, Format(1, 0)) for kind in self.kinds)])
        self.u = [(word, format) for word, format in task if word.name in ("a", "tau")]
        self.tau, self.given = Bus("tau_q", self.u), Bus("given_q", self.takes("Minv"))
        self.base = [word for word in self.plan.takes("tau") if word.index < self.plan.base]
        self.course = Bus("course_q", list(self.plan.course.items()))
        waiting = [queue for ways in queues(self.plan).values() for queue in ways]
        self.buses = {queue.name: Bus(f"{queue.name}_q", [*self.group(queue.leaf), *self.head]) for queue in waiting}
        self.buses["refused"] = Bus("refused_q", self.head[:2])
        self.heads = [*(queue.name for queue in waiting if queue.is_result), "refused"]
        self.room = ["entry_full", "is_known"]

    def outside(self) -> None:
        """Whether an input word that the task's function uses is outside the box."""
        flags, taken = list[str](), defaultdict[tuple[str, tuple[int, ...]], list[Word]](list)
        for word, _ in self.takes("q", "v", "a", "tau", "f_ext", "Minv") if self.plan.flags else ():
            codes = tuple(task.codes[0] for task in self.tasks if task.takes(word, self.plan.base))
            taken[word.name, codes].append(word)
        for codes, words in ((codes, words) for (_, codes), words in taken.items() if codes):
            for word in words:
                sizes = f"{self.plan.formats[word].width}, {largest(self.plan, word)}"
                self.e(f"wire far_{word};")
                self.e(f"fx_outside #({sizes}) is_far_{word} (.x({self.entry[word]}), .far(far_{word}));")
            flags.append(f"{is_one_of('entry_code', codes)} & ({any_of([f'far_{word}' for word in words])})")
        self.e(f"wire outside = {' | '.join(flags) or zeros(1)};")

    def base_and_joints(self) -> tuple[str, str]:
        """What goes to the dynamics array as a with a task to solve, and its torques: u holds either's part."""
        self.e(f"wire is_given = {self.sent(task for task in self.tasks if task.base_given)};")
        own, rest = self.entry.span(self.base), [word for word, _ in self.u if word.index >= self.plan.base]
        wide = width(self.tau.at[word] for word in self.base)
        nothing = zeros(wide)
        self.e(f"wire [{wide - 1}:0] given_a = is_given ? {own} : {nothing}, base_tau = is_given ? {nothing} : {own};")
        return joined(zeros(self.tau.width - wide), "given_a"), joined(self.entry.span(rest), "base_tau")

    def queue(self, bus: Bus, depth: int, push: str, data: str) -> None:
        """A queue with wires NAME_free (ready), NAME_full (valid), NAME_q; its reader drives NAME_pop, 0 if empty."""
        name = bus.name.removesuffix("_q")
        self.d(f"wire {name}_free, {name}_full, {name}_next, {name}_pop;", f"wire [{bus.width - 1}:0] {name}_q;")
        self.e(f"fx_queue #({bus.width}, {depth}, {_bits(depth)}) {name} (.clock(clock), .reset(reset),")
        self.e(f"    .push({push}), .ready({name}_free), .in_data({data}),")
        self.e(f"    .valid({name}_full), .pop({name}_pop), .out_data({name}_q), .next({name}_next));")

    def credits(self, name: str, depth: int, take: str, give: str) -> None:
        """A wire NAME_room: one of so many credits is free."""
        self.d(f"wire {name}_room;")
        self.e(f"fx_credits #({depth}, {_bits(depth)}) {name}_credits (.clock(clock), .reset(reset), .take({take}),")
        self.e(f"    .give({give}), .free({name}_room));")

    def array(self, name: str, valid: str, id_: str, words: Mapping[Word, str]) -> None:
        """An array and the queues of its results, with wires NAME_take and, for each group G, NAME_G_id, NAME_G.

        A task starts when the queue that its result will wait in has a credit, a free place, for it.
        """
        array, ports = self.acc.arrays[name], [f".in_valid({name}_take)", f".in_ready({name}_ready)"]
        ports += [f".in_id({name}_id)", f".in_data({name}_words)"]
        self.d(f"wire {name}_ready, {name}_take;", f"wire [{self.id.width - 1}:0] {name}_id;")
        self.d(f"reg [{bits_of(array, array.datapath.inputs) - 1}:0] {name}_words;")
        bus(self.e, f"{name}_words", [words[word] for word, _ in array.datapath.inputs])
        for group, leaving in array.datapath.groups:
            where = f"{name}_{group}"
            self.d(f"wire {where}_valid;", f"wire [{self.id.width - 1}:0] {where}_id;")
            self.d(f"wire [{bits_of(array, leaving) - 1}:0] {where};")
            ports += [f".{group}_valid({where}_valid)", f".{group}_id({where}_id)", f".{group}_data({where})"]
        rooms = [valid, f"{name}_ready"]
        for queue in queues(self.plan)[name]:
            where, depth = f"{name}_{queue.leaf.group}", self.acc.depths[queue.name]
            # The code decides where words of other codes pass through the array too.
            is_for_all = codes_of(self.plan, name) <= set(queue.codes)
            leaves, needs = ([] if is_for_all else [self.code_is(f"{at}_id", queue.codes)] for at in (where, name))
            comes = " & ".join([f"{where}_valid", *leaves])
            self.queue(self.buses[queue.name], depth, comes, f"{{{where}_id, {where}}}")
            if not queue.counted:
                self.credits(queue.name, depth, " & ".join([f"{name}_take", *needs]), f"{queue.name}_pop")
                rooms.append(f"({' | '.join([*(f'~{code}' for code in needs), f'{queue.name}_room'])})")
        self.e(f"assign {name}_id = {id_};", f"assign {name}_take = {' & '.join(rooms)};")
        self.e(f"{self.prefix}_{name} {name}_array (.clock(clock), .reset(reset),", "    " + ",\n        ".join(ports) + ");")

    def sent(self, tasks: Iterable[Task]) -> str:
        """Whether the task at the input is one of these."""
        return is_one_of("entry_code", [task.codes[0] for task in tasks])

    def code_is(self, wire: str, codes: Iterable[int]) -> str:
        """Whether the code that travels with a task is one of these."""
        return is_one_of(Bus(wire, self.head)[CODE], codes)

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
