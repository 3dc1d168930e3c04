"""A long Program as several C functions, because compile time grows faster than the length of a function.

It is cut as for target "c" (`backends.common.chunks`): values that other functions read are in the workspace.
"""

from __future__ import annotations

from functools import lru_cache

from condyle.backends.casadi.external import Part
from condyle.backends.casadi.nodes import value, write_nodes
from condyle.backends.common.chunks import CUT, Chunk, Lowered, Room, lower
from condyle.ir.program import Program
from condyle.text import Emitter

LONGEST = 2000
"""Most operations of a Program that is not cut, since loads and stores between functions take time."""


def is_long(program: Program) -> bool:
    """Whether it is cut."""
    return len(program.nodes) > LONGEST


@lru_cache(maxsize=16)
def _lowered(program: Program) -> Lowered:
    """The chunks. Sines and cosines are operations like any other; inputs are read from the arguments."""
    angles = range(len(program.nodes))
    return lower(program, CUT, inline=angles, room=Room((0,) * len(program.inputs), 0, 0, 0))


def room(program: Program) -> int:
    """Numbers of the workspace for its values."""
    return _lowered(program).size


class Split:
    """The functions of one part, called NAME_0, NAME_1, ..."""

    def __init__(self, name: str, part: Part) -> None:
        low = _lowered(part.program)
        self._name, self._part, self._slots = name, part, low.slots
        self._chunks = [step for step in low.steps if isinstance(step, Chunk)]
        assert len(self._chunks) == len(low.steps), name
        self._writes: dict[int, list[tuple[int, int]]] = {}
        for k, i, node in part.writes:
            self._writes.setdefault(node, []).append((k, i))

    def write(self, e: Emitter) -> None:
        """Writes the functions; each stores the outputs that it computes, and the values that later ones read."""
        head = "const casadi_real *const *a, casadi_real *const *r, casadi_real *w"
        for number, chunk in enumerate(self._chunks):
            with e.block(f"static void {self._name}_{number}({head})\n{{"):
                write_nodes(e, self._part, chunk.nodes, self._slots)
                e(*(f"w[{self._slots[node]}] = t{node};" for node in chunk.nodes if node in self._slots))
                e(*(f"r[{k}][{i}] = t{node};" for node in chunk.nodes for k, i in self._writes.get(node, ())))
                e("(void)a, (void)r, (void)w;")
            e("")

    def call(self, e: Emitter, first: int) -> None:
        """Writes the calls in order, then outputs that are constants or inputs. first: begin of their workspace."""
        e(*(f"{self._name}_{number}(a, r, w + {first});" for number in range(len(self._chunks))))
        for node, places in self._writes.items():
            if self._part.program.nodes[node][0] in ("const", "input"):
                e(*(f"r[{k}][{i}] = {value(self._part, node)};" for k, i in places))
