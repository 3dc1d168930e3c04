"""What the top module is made of: queues, array instances, words found on buses, queues of results."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

from condyle.backends.fpga import stream
from condyle.backends.fpga.build import Accelerator
from condyle.backends.fpga.datapath import Word
from condyle.backends.fpga.edge import largest, takers
from condyle.backends.fpga.emit_array import bus, input_width, widths
from condyle.backends.fpga.emit_operators import any_of
from condyle.backends.fpga.queues import queues
from condyle.backends.fpga.tasks import Leaf
from condyle.text import Emitter

Places = dict[Word, tuple[str, int]]
"""Of each word the bus that carries it, and its lowest bit there."""


def laid(bus: str, words: Iterable[tuple[Word, int]]) -> Places:
    """Words of these widths on a bus that carries them one after the other."""
    found, low = Places(), 0
    for word, width in words:
        found[word] = (bus, low)
        low += width
    return found


def sliced(place: tuple[str, int], width: int) -> str:
    """So many bits of a bus."""
    bus, low = place
    return f"{bus}[{low + width - 1}:{low}]"


def is_one_of(code: str, codes: Iterable[int]) -> str:
    """Whether a code is one of these."""
    return "(" + (" | ".join(f"{code} == {one}" for one in codes) or "1'b0") + ")"


@dataclass
class Wires:
    """Writes parts of the top module; widths of q, v, u (a or tau), f_ext and Minv on the task's bus.

    nb: of the base's part of u, where its motion can be given. id: what goes with a task. d: declarations of wires.
    results: queues of results and the widths of their data.
    """

    acc: Accelerator
    prefix: str

    def __post_init__(self) -> None:
        self.d, self.e = Emitter(), Emitter()
        self.plan = self.acc.plan
        self.id, self.tasks = self.plan.id, list(self.plan.tasks.values())
        forced = [word for word in self.plan.takes("tau") if word.index < self.plan.base]
        self.nb = sum(self.plan.formats[word].width for word in forced)
        self.twice = self.plan.fed_back
        self.results: dict[str, int] = {}
        bits = Counter[str]()
        for field in stream.bus(self.plan):
            bits[field.word.name] += field.format.width
        self.nq, self.nv, self.nf, self.ni = (bits[name] for name in ("q", "v", "f_ext", "Minv"))
        self.nu = bits["a"] + bits["tau"]

    def outside(self) -> None:
        """Whether a word that the task's function takes is outside the box."""
        if not self.plan.flags:
            self.e("wire outside = 1'b0;")
            return
        flags: list[str] = []
        for name in ("q", "v", "a", "tau", "f_ext", "Minv"):
            places = self.fields("entry_q", "q", "v", "tau" if name == "tau" else "a", "f_ext", "Minv")
            known = {word: [task.codes[0] for task in takers(self.plan, word)] for word in self.plan.takes(name)}
            for codes in dict.fromkeys(tuple(found) for found in known.values() if found):
                words = [word for word, found in known.items() if found == list(codes)]
                self._edges(words, places)
                far = any_of([f"far_{word}" for word in words])
                flags.append(f"{is_one_of('entry_code', codes)} & ({far})")
        self.e(f"wire outside = {' | '.join(flags)};")

    def _edges(self, words: list[Word], places: Places) -> None:
        for word in words:
            width = self.plan.formats[word].width
            self.e(
                f"wire far_{word};",
                f"fx_outside #({width}, {largest(self.plan, word)}) is_far_{word} "
                f"(.x({sliced(places[word], width)}), .far(far_{word}));",
            )

    def base_and_joints(self) -> tuple[str, str]:
        """What goes to the dynamics array as a with a task to solve, and its torques: u holds either's part."""
        low, rest = self.nq + self.nv, self.nu - self.nb
        self.e(f"wire is_given = {self.sent(task.base_given for task in self.tasks)};")
        own, zeros = f"entry_q[{low + self.nb - 1}:{low}]", f"{self.nb}'b0"
        self.e(f"wire [{self.nb - 1}:0] given_a = is_given ? {own} : {zeros}, base_tau = is_given ? {zeros} : {own};")
        if not rest:
            return "given_a", "base_tau"
        return f"{{{rest}'b0, given_a}}", f"{{entry_q[{low + self.nu - 1}:{low + self.nb}], base_tau}}"

    def queue(self, name: str, width: int, depth: int, valid: str, data: str) -> None:
        """A queue with wires NAME_free (in_ready), NAME_full (out_valid), NAME_q; its reader drives NAME_pop."""
        self.d(f"wire {name}_free, {name}_full, {name}_next, {name}_pop;", f"wire [{width - 1}:0] {name}_q;")
        self.e(f"fx_fifo #({width}, {depth}, {_bits(depth)}) {name} (.clock(clock), .reset(reset),")
        self.e(f"    .in_valid({valid}), .in_ready({name}_free), .in_data({data}),")
        self.e(f"    .out_valid({name}_full), .out_ready({name}_pop), .out_data({name}_q), .next({name}_next));")

    def credits(self, name: str, depth: int, take: str, give: str) -> None:
        """A wire NAME_room: whether one of so many credits is left."""
        self.d(f"wire {name}_room;")
        self.e(f"fx_credits #({depth}, {_bits(depth)}) {name}_credits (.clock(clock), .reset(reset), .take({take}),")
        self.e(f"    .give({give}), .free({name}_room));")

    def array(self, name: str, valid: str, id_: str, data: list[str]) -> None:
        """An array and the queues of its results, with wires NAME_take and, for each group G, NAME_G_id, NAME_G.

        A task starts when the queue that its result will wait in has a credit, a free place, for it.
        """
        array = self.acc.arrays[name]
        code = self.id.code
        self.d(f"wire {name}_ready, {name}_take;", f"wire [{self.id.width - 1}:0] {name}_id;")
        self.d(f"reg [{input_width(array) - 1}:0] {name}_words;")
        bus(self.e, f"{name}_words", data)
        ports = [f".in_valid({name}_take)", f".in_ready({name}_ready)", f".in_id({name}_id)"]
        ports.append(f".in_data({name}_words)")
        for group, _ in array.datapath.groups:
            self.d(f"wire {name}_{group}_valid;", f"wire [{self.id.width - 1}:0] {name}_{group}_id;")
            self.d(f"wire [{widths(array, group) - 1}:0] {name}_{group};")
            ports += [f".{group}_{what}({name}_{group}_{what})" for what in ("valid", "id")]
            ports.append(f".{group}_data({name}_{group})")
        rooms = [valid, f"{name}_ready"]
        for queue in queues(self.plan)[name]:
            where = f"{name}_{queue.leaf.group}"
            depth, width = self.acc.depths[queue.name], self.id.width + widths(array, queue.leaf.group)
            comes = f"{where}_valid & {is_one_of(f'{where}_id[{code}]', queue.codes)}"
            self.queue(queue.name, width, depth, comes, f"{{{where}_id, {where}}}")
            if not queue.counted:
                needs = is_one_of(f"{name}_id[{code}]", queue.codes)
                self.credits(queue.name, depth, f"{name}_take & {needs}", f"{queue.name}_full & {queue.name}_pop")
                rooms.append(f"(~{needs} | {queue.name}_room)")
            if queue.is_result:
                self.results[queue.name] = width - self.id.width
        self.e(f"assign {name}_id = {id_};", f"assign {name}_take = {' & '.join(rooms)};")
        head = f"{self.prefix}_{name} {name} (.clock(clock), .reset(reset),"
        self.e(head, "    " + ",\n        ".join(ports) + ");")

    def sent(self, chosen: Iterable[bool]) -> str:
        """Whether the task that waits at the entry is one of the chosen."""
        return is_one_of("entry_code", [task.codes[0] for task, of in zip(self.tasks, chosen, strict=True) if of])

    def gather(self, array: str, places: Places) -> list[str]:
        """The words of an array's input bus, found on named buses."""
        path = self.acc.arrays[array].datapath
        return [sliced(places[word], path.ops[k].format.width) for word, k in path.inputs]

    def found(self, bus: str, leaf: Leaf, name: str = "") -> Places:
        """Where the words of an array's group lie on a bus that carries it."""
        formats = self.acc.arrays[leaf.array].datapath.formats(leaf.group).items()
        return laid(bus, ((Word(name or word.name, word.index), format.width) for word, format in formats))

    def fields(self, bus: str, *names: str) -> Places:
        """Where the words of input arrays lie on a bus that carries these arrays one after the other."""
        words = (word for name in names for word in self.plan.takes(name))
        return laid(bus, ((word, self.plan.formats[word].width) for word in words))


def _bits(depth: int) -> int:
    """Of an index into the memory of a queue."""
    return max(1, (depth - 2).bit_length())
