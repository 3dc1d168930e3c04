"""What a GPU launches for functions whose lanes are links, or chunks of a chain of links."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from condyle.algorithms.scans.forward_dynamics import GUARD
from condyle.algorithms.scans.routes import SCANS
from condyle.backends.common.facts import bits_of
from condyle.backends.cuda.links.entries import multiplied
from condyle.backends.cuda.links.lanes import MOST, lanes_for
from condyle.backends.cuda.links.pairs import paired
from condyle.backends.cuda.links.part import launch
from condyle.backends.cuda.parts import Part, Parts
from condyle.functions import FUNCTIONS
from condyle.functions.quantities import MINV, TAU, A, M, Q, V
from condyle.ir.chunked import Chunked
from condyle.ir.program import Array
from condyle.model.tree import Tree
from condyle.specification import F_EXT, Port
from condyle.trace.chunks import best_chunks, chunked, is_chain
from condyle.trace.linked import (
    RECORD,
    eliminations,
    forward_dynamics,
    inverse_dynamics,
    mass_pairs,
    pairs,
    records,
    size_of_solver,
    solve,
)
from condyle.trace.straight import arrays

LONGEST_CHAIN = 4096
"""Links up to which a GPU's chunks are scanned: a chunk lies in its thread's local memory, which drivers set aside for
every thread that a GPU can have."""

ROUTES = {name: next(iter(routes)) for name, routes in SCANS.items()}
"""The scans that GPUs have, as `algorithms.scans.routes` names them."""


PAIRED = ("did", "dfd", "difd")
"""Functions whose derivatives by v are entries of pairs."""


def in_chunks(tree: Tree, function: str) -> bool:
    """Whether lanes are chunks of a chain, not links."""
    return function == "fd" and is_chain(tree)


def longest(tree: Tree, function: str) -> int:
    """Links up to which there is a scan; pairs of records do not know what armature of a free joint answers."""
    if function in PAIRED and tree.has_free_rotors:
        return 0
    return LONGEST_CHAIN if in_chunks(tree, function) else MOST


def guard(dtype: str) -> float:
    """See `Segments`."""
    return GUARD * float(np.finfo(dtype).eps)


def parts(tree: Tree, function: str, f_ext: bool, dtype: str) -> Parts:
    """The launches of a function: a method of `_Launches`."""
    made, signature = _Launches(tree, f_ext, dtype), FUNCTIONS[function]
    inputs, outputs = arrays(tree, signature.ports(f_ext)), arrays(tree, signature.outputs)
    return Parts(function, bits_of(dtype), inputs, outputs, tuple(getattr(made, function)()))


class _Launches:
    """Functions as launches, one after the other; scratch hands on what one leaves for the next."""

    def __init__(self, tree: Tree, f_ext: bool, dtype: str) -> None:
        self.tree, self.f_ext, self.dtype, self.bits = tree, f_ext, dtype, bits_of(dtype)
        self.lanes = lanes_for(len(tree.links))
        self.a = Array("scratch a", (tree.nv,))
        self.record = Array("scratch record", (tree.nv, RECORD))
        self.solver = Array("scratch solver", (size_of_solver(tree),))

    def array(self, port: Port) -> Array:
        return arrays(self.tree, [port])[0]

    def id(self) -> list[Part]:
        return [self._links(inverse_dynamics(self.tree, self.lanes, self.f_ext), A, [self.array(TAU)])]

    def fd(self) -> list[Part]:
        if not in_chunks(self.tree, "fd"):
            return [self._fd([self.array(A)], False)]
        code = chunked(self.tree, "fd", self.f_ext, best_chunks(self.tree), guard(self.dtype))
        return [self._links(code, TAU, [self.array(A)])]

    def did(self) -> list[Part]:
        """Records of all degrees of freedom, then every entry by itself."""
        return self._did(self.array(A), arrays(self.tree, FUNCTIONS["did"].outputs))

    def m(self) -> list[Part]:
        """The same of a robot at rest."""
        code = records(self.tree, self.lanes, False, still=True)
        before = launch(code, [self.array(Q)], [self.record], self.bits)
        return [before, paired(mass_pairs(self.tree), self.record, [self.array(M)], self.bits)]

    def difd(self) -> list[Part]:
        """did into scratch, then products."""
        outputs = arrays(self.tree, FUNCTIONS["difd"].outputs)
        given = [Array(f"scratch {array.name}", array.shape) for array in outputs]
        return [*self._did(self.array(A), given), multiplied(self.array(MINV), given, outputs, self.bits)]

    def minv(self) -> list[Part]:
        """One scan of elements, then columns."""
        code = eliminations(self.tree, self.lanes, guard(self.dtype))
        return [launch(code, [self.array(Q)], [self.solver], self.bits), self._inverse(MINV)]

    def dfd(self) -> list[Part]:
        """Forward dynamics, did at its answer where the answers go, and solved for in place."""
        *ports, inverse = FUNCTIONS["dfd"].outputs
        derivatives = arrays(self.tree, ports)
        solved = solve(self.tree, self.lanes, False)
        columns = [launch(solved, [self.solver, matrix], [matrix], self.bits) for matrix in derivatives]
        before = [self._fd([self.a, self.solver], True), *self._did(self.a, derivatives)]
        return [*before, *columns, self._inverse(inverse)]

    def _fd(self, outputs: Sequence[Array], solver: bool) -> Part:
        code = forward_dynamics(self.tree, self.lanes, self.f_ext, guard(self.dtype), solver)
        return self._links(code, TAU, outputs)

    def _did(self, a: Array, outputs: Sequence[Array]) -> list[Part]:
        before = self._links(records(self.tree, self.lanes, self.f_ext), a, [self.record])
        return [before, paired(pairs(self.tree), self.record, outputs, self.bits)]

    def _inverse(self, port: Port) -> Part:
        return launch(solve(self.tree, self.lanes, True), [self.solver], [self.array(port)], self.bits)

    def _links(self, code: Chunked, given: Array | Port, outputs: Sequence[Array]) -> Part:
        """A launch that takes q, v, and a or tau, and external forces."""
        third = given if isinstance(given, Array) else self.array(given)
        inputs = [self.array(Q), self.array(V), third, *([self.array(F_EXT)] if self.f_ext else [])]
        return launch(code, inputs, outputs, self.bits)
