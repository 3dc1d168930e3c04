"""The scalar form of assembled code: one state, read from and written to the caller's rows, without tiles.

Its operations are those of the vector form, so a single state gives the same bits as in a batch. The driver computes
sines, which are not in the kernels, for as many angles at once as a vector has lanes, by vector instructions.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field

from condyle.backends.common.chunks import Angle, Chunk, Lowered, angle_slots
from condyle.backends.common.facts import packed
from condyle.backends.cpu.encode import Single, encode, padded
from condyle.backends.cpu.operations import SLOT, Instruction, slot
from condyle.backends.cpu.target import SINGLE, Isa

KERNEL, LOAD, SINES, COPY, CLEAR, REACH = range(6)  # as in runtime/tiles/single.h
MOST_ARRAYS = 8
"""With more arrays there would be no registers for windows; no function has more."""

Place = tuple[int, int]
"""An address: memory (SLOT: the workspace, -1: the constants, k: array k, inputs before outputs) and number in it."""
Step = tuple[int, int, int, int, int]


def single(
    low: Lowered,
    inline: Sequence[int],
    kernels: Sequence[Sequence[Instruction]],
    constants: Sequence[float],
    size: int,
    isa: Isa,
    bits: int,
) -> Single | None:
    """The scalar form of these kernels. size: number of slots of the workspace. None if there are too many arrays.

    inline: slots of the angles whose sines the kernels compute.
    """
    program = low.program
    if len(program.inputs) + len(program.arrays) > MOST_ARRAYS:
        return None
    form = _Form(low, len(constants), size, isa.lanes(bits))
    following = iter(kernels)
    steps, text = [*form.clears(), *form.reach(inline)], b""
    for step in low.steps:
        if isinstance(step, Chunk):
            steps.append((KERNEL, len(text), 0, 0, 0))
            text += padded(encode(form.spread(next(following)), SINGLE[isa.name], bits, form.places))
        else:
            steps += form.sines(step.angles)
    steps += form.late
    sizes = [one.size for one in (*program.inputs, *program.arrays)]
    head = (form.work, len(program.inputs), len(program.arrays), len(steps))
    values = (*constants, *(value for _, value in low.constants))
    numbers = array("q", (*head, *sizes, *(number for step in steps for number in step)))
    return Single(text, packed(values, bits), numbers.tobytes())


@dataclass
class _Form:
    """The address of each slot's value.

    places: addresses of slots that are not in the workspace under their own number. more: additional slots of a slot
    that is several entries of outputs. late: copies to outputs that no kernel stores. work: size of the workspace in
    numbers; after the slots it has three vectors for each group of angles: angles, sines, cosines.
    """

    low: Lowered
    n_constants: int
    size: int
    lanes: int
    places: dict[int, Place] = field(default_factory=dict[int, Place])
    more: dict[int, list[int]] = field(default_factory=dict[int, list[int]])
    late: list[Step] = field(default_factory=list[Step])

    def __post_init__(self) -> None:
        for k, (base, one) in enumerate(zip(self.low.bases, self.low.program.inputs, strict=True)):
            self.places.update((base + entry, (k, entry)) for entry in range(one.size))
        for k, (number, _) in enumerate(self.low.constants):
            self.places[number] = -1, self.n_constants + k
        self.work = -(-self.size // self.lanes) * self.lanes
        self.groups: dict[tuple[Angle, ...], int] = {}
        for step in self.low.steps:
            if not isinstance(step, Chunk):
                self.groups[step.angles] = self.work
                self.work += 3 * self.lanes * -(-len(step.angles) // self.lanes)
                for sine, place in self._sines_and_places(step.angles):
                    self.places.setdefault(sine, place)
        self._place_outputs()

    def _sines_and_places(self, angles: tuple[Angle, ...]) -> Iterator[tuple[int, Place]]:
        """(slot, address in the vectors) of each sine and cosine that is used."""
        for k, angle in enumerate(angles):
            first = self.groups[angles] + k // self.lanes * 3 * self.lanes + k % self.lanes
            for nth, wanted in enumerate(angle_slots(self.low, angle)[1:], 1):
                if wanted != self.low.spare:
                    yield wanted, (SLOT, first + nth * self.lanes)

    def _place_outputs(self) -> None:
        """Gives slots of outputs their addresses; a value that is several entries is stored several times."""
        elsewhere = set(self.places)
        beyond = self.work
        for k, table in enumerate(self.low.tables, len(self.low.bases)):
            for entry, number in enumerate(table):
                if number == self.low.zero:
                    continue
                if number in elsewhere:
                    self.late.append((COPY, *self._address(self.places[number]), *self._address((k, entry))))
                elif number not in self.places:
                    self.places[number] = k, entry
                else:
                    self.more.setdefault(number, []).append(beyond)
                    self.places[beyond] = k, entry
                    beyond += 1

    @staticmethod
    def _address(place: Place) -> tuple[int, int]:
        """The address with the runtime's numbers of memories: workspace, constants, inputs, outputs."""
        memory, number = place
        return (0 if memory == SLOT else memory + 2), number

    def clears(self) -> list[Step]:
        """Outputs with entries that are zero for every state are cleared first."""
        low = self.low
        tables = enumerate(low.tables, len(low.bases) + 2)
        return [(CLEAR, k, len(table), 0, 0) for k, table in tables if low.zero in table]

    def spread(self, code: Sequence[Instruction]) -> list[Instruction]:
        """The code with a store for every output entry of a value."""
        if not self.more:
            return list(code)
        return [
            one
            for i in code
            for one in (
                (i, *(i._replace(b=slot(other)) for other in self.more.get(i.b - SLOT, ())))
                if i.op == "store"
                else (i,)
            )
        ]

    def reach(self, inline: Sequence[int]) -> list[Step]:
        """Steps that load the angles of kernels' sines into vectors and reduce large ones."""
        if not inline:
            return []
        first, count = self.work, -(-len(inline) // self.lanes)
        self.work += count * self.lanes
        steps = self._loads([(number, first + k) for k, number in enumerate(inline)])
        self.places.update((number, (SLOT, first + k)) for k, number in enumerate(inline))
        return [*steps, (REACH, first, count, 0, 0)]

    def _loads(self, wanted: Sequence[tuple[int, int]]) -> list[Step]:
        """Steps that copy slots to numbers of the workspace; consecutive ones are one step."""
        steps: list[Step] = []
        for number, to in wanted:
            memory, index = self._address(self.places.get(number, (SLOT, number)))
            if to % self.lanes and steps[-1][1] == memory and steps[-1][2] + steps[-1][3] == index:
                steps[-1] = (*steps[-1][:3], steps[-1][3] + 1, steps[-1][4])
            else:
                steps.append((LOAD, memory, index, 1, to))
        return steps

    def sines(self, angles: tuple[Angle, ...]) -> list[Step]:
        """Steps for sines of these angles: loads, the computation, copies of results that have another address."""
        first, count = self.groups[angles], -(-len(angles) // self.lanes)
        steps = self._loads(
            [
                (angle_slots(self.low, angle)[0], first + k // self.lanes * 3 * self.lanes + k % self.lanes)
                for k, angle in enumerate(angles)
            ]
        )
        steps.append((SINES, first, count, 0, 0))
        for sine, place in self._sines_and_places(angles):
            if self.places[sine] != place:
                steps.append((COPY, *self._address(place), *self._address(self.places[sine])))
        return steps
