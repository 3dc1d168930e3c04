"""Parts of which the top module is written: queues, credits, and arrays with the queues of their results."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from condyle.fpga.rtl import stream
from condyle.fpga.rtl.build import Accelerator
from condyle.fpga.rtl.datapath import Word
from condyle.fpga.rtl.emit_array import bits_of, bus
from condyle.fpga.rtl.expressions import is_one_of
from condyle.fpga.rtl.formats import Format
from condyle.fpga.rtl.queues import codes_of, queues
from condyle.fpga.rtl.stream import CODE, DATA, Bus
from condyle.fpga.rtl.tasks import TASK_KINDS, Leaf
from condyle.text import Emitter


class Wires:
    """The text of the top module so far, and the words on its buses. It does not know what drives what.

    d: declarations of wires. e: all other text. head: what goes with a task. twice: the tasks of two passes. kinds: for
    which tasks a wire of this name is 1 while they are at the entry. u: the words of a or tau of a task, base: those of
    the base, where its motion can be an input. entry, tau, inverse, course: the buses of the queues of tasks, of their
    torques and M^-1, and of what goes with a sub-task; buses: those of the queues behind arrays, and of codes that are
    refused; results: of these the names of those that leave.
    """

    def __init__(self, acc: Accelerator, prefix: str) -> None:
        self.acc, self.plan, self.prefix, self.id = acc, acc.plan, prefix, acc.plan.id
        self.d, self.e, self.head = Emitter(), Emitter(), stream.head(self.id)
        self.tasks, self.twice = list(self.plan.tasks.values()), self.plan.fed_back
        task = [(field.word, field.format) for field in stream.bus(self.plan)]
        kinds = {kind: [task for task in self.tasks if is_kind(task)] for kind, is_kind in TASK_KINDS.items()}
        self.kinds = {Word(f"stream.{kind}", 0): tasks for kind, tasks in kinds.items() if tasks}
        self.entry = Bus("entry_q", [*task, *self.head[:2], *((kind, Format(1, 0)) for kind in self.kinds)])
        self.u = [(word, format) for word, format in task if word.name in ("a", "tau")]
        self.base = [word for word in self.plan.takes("tau") if word.index < self.plan.base]
        self.tau, self.inverse = Bus("tau_q", self.u), Bus("given_q", self.takes("Minv"))
        self.course = Bus("course_q", list(self.plan.course.items()))
        waiting = [queue for ways in queues(self.plan).values() for queue in ways]
        self.buses = {queue.name: Bus(f"{queue.name}_q", [*self.group(queue.leaf), *self.head]) for queue in waiting}
        self.buses["refused"] = Bus("refused_q", self.head[:2])
        self.results = [*(queue.name for queue in waiting if queue.is_result), "refused"]

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
        # No array's name can be a keyword with this ending: `solve` is one.
        self.e(f"{self.prefix}_{name} {name}_array (.clock(clock), .reset(reset),")
        self.e("    " + ",\n        ".join(ports) + ");")

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
