"""Derivatives of any function that can be recorded: its answers on symbols, then the chain rule.

Every input is moved by a small change e: a configuration by q ⊕ e, others by their sum; derivatives are by e, at e = 0.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias, cast

import numpy as np

from condyle.derivatives.products import Entries, Keeps, LargeProduct, entries, multiplied, shaped
from condyle.derivatives.recording import Call, Recording, is_composed, recorded
from condyle.ir.expr import Expr, Value
from condyle.model.tree import Tree
from condyle.passes.forward_reverse import Cotangents, Directions, forward, reverse
from condyle.passes.partials import is_zero
from condyle.scalar import Scalar
from condyle.specification import Derivative, Port

# Derivatives of large products, which are products again: dC = dL R + L dR, L_bar = C_bar R^T, R_bar = L^T C_bar.


def product_tangents(keeper: Keeps, product: LargeProduct, tangents: Mapping[int, Directions]) -> dict[int, Directions]:
    """dC = dL R + L dR for every direction of dL and dR, by node."""
    found: dict[int, Directions] = {}
    for direction in sorted({one for node in product.reads for one in tangents.get(node, {})}):
        result = np.zeros(product.shape, object)
        parts = [
            _mapped(part, lambda x, d=direction: _tangent(tangents, x, d)) for part in (product.left, product.right)
        ]
        for left, right in ((parts[0], product.right), (product.left, parts[1])):
            if not (_vanishes(left) or _vanishes(right)):
                result = result + multiplied(keeper, left, right)
        for k, x in enumerate(entries(result)):
            if not is_zero(x):
                found.setdefault(product.first + k, {})[direction] = x
    return found


def pass_on(keeper: Keeps, product: LargeProduct, active: Mapping[int, object], cotangents: Cotangents) -> None:
    """L_bar = C_bar R^T and R_bar = L^T C_bar, to those entries that depend on what is differentiated by."""
    bar = shaped([cotangents.get(k) for k in range(product.first, product.end)], product.shape)
    if _vanishes(bar):
        return
    left, right = product.left, product.right
    for to, first, second in ((left, bar, np.transpose(right)), (right, np.transpose(left), bar)):
        if not _any_of(to, active):
            continue
        for x, value in zip(entries(to), entries(multiplied(keeper, first, second)), strict=True):
            if isinstance(x, Expr) and x.index in active:
                cotangents.add(x.index, value)


def _any_of(array: Entries, active: Mapping[int, object]) -> bool:
    return any(isinstance(x, Expr) and x.index in active for x in entries(array))


def _tangent(tangents: Mapping[int, Directions], x: Value, direction: int) -> Value:
    return tangents.get(x.index, {}).get(direction, 0.0) if isinstance(x, Expr) else 0.0


def _mapped(array: Entries, function: Callable[[Value], Value]) -> Entries:
    return shaped([function(x) for x in entries(array)], array.shape)


def _vanishes(array: Entries) -> bool:
    return all(map(is_zero, entries(array)))


# Configurations and their tangent spaces, on symbols: q ⊕ e, and how changes of entries and of e belong together.


def moved(tree: Tree, q: Sequence[Value], e: Sequence[Value]) -> list[Value]:
    """q ⊕ e, exact to second order in e."""
    result = list(q)
    for kind, at, rates in tree.configurations:
        entries = kind.integrate_near([cast(Scalar, q[k]) for k in at], [cast(Scalar, e[k]) for k in rates])
        for k, value in zip(at, entries, strict=True):
            result[k] = cast(Value, value)
    return result


def apart(tree: Tree, q0: Sequence[Value], q1: Sequence[Value]) -> list[Value]:
    """q1 ⊖ q0, exact to second order in itself."""
    result: list[Value] = [0.0] * tree.nv
    for kind, at, rates in tree.configurations:
        entries = kind.difference_near([cast(Scalar, q0[k]) for k in at], [cast(Scalar, q1[k]) for k in at])
        for k, value in zip(rates, entries, strict=True):
            result[k] = cast(Value, value)
    return result


# The chain rule over a recording: forward and reverse sweeps that go around calls by derivatives of what they call.


FEW = 2
"""Sweeps along a call that take its jvp or vjp one by one; more of them take its Jacobian."""


class ChainRule:
    """Derivatives of values in one recording.

    moves: configurations in it that are inputs moved by e: their entries' nodes, and e.
    """

    def __init__(self, recording: Recording) -> None:
        self.recording = recording
        self._moves: dict[tuple[int, ...], Values] = {}

    def moved(self, q: Values) -> tuple[list[Value], list[Value]]:
        """(q ⊕ e, e) for symbols e of their own, zero when the recording is opened."""
        e = self.recording.zeros(self.recording.tree.nv)
        entries = moved(self.recording.tree, q, e)
        self._moves[_nodes(entries)] = e
        return entries, e

    def tangents(self, values: Values, seeds: Sequence[tuple[Value, Directions]]) -> list[Directions]:
        """Of each value, given those of leaves."""
        order = self.recording.needed(values, smoothly=True)
        start = {cast(Expr, leaf).index: of for leaf, of in seeds}
        found = forward(self.recording.graph, order, start, self._opened)
        return [found.get(value.index, {}) if isinstance(value, Expr) else {} for value in values]

    def cotangents(self, values: Values, seeds: Values, leaves: Values, by_blocks: bool = False) -> list[Value]:
        """Of each leaf, given those of values.

        by_blocks: calls whose Jacobian is known in closed form are passed by it, which many sweeps share.
        """
        order = self.recording.needed(values)
        active = self.recording.active(order, leaves)
        start = [(value.index, x) for value, x in zip(values, seeds, strict=True) if isinstance(value, Expr)]

        def closed(node: int, cotangents: Cotangents) -> None:
            call = self.recording.call_of(node)
            if call is None or node != call.first or node not in active:
                return
            if isinstance(call, LargeProduct):
                pass_on(self.recording, call, active, cotangents)
            else:
                self._closed(call, cotangents, active if by_blocks else None)

        found = reverse(self.recording.graph, order, active, start, closed)
        return [found.get(cast(Expr, leaf).index) for leaf in leaves]

    def _opened(self, node: int, tangents: dict[int, Directions]) -> None:
        call = self.recording.call_of(node)
        if call is None or node != call.first:
            return
        if isinstance(call, LargeProduct):
            tangents.update(product_tangents(self.recording, call, tangents))
        elif call.is_equal:
            own = () if call.is_frozen else zip(range(call.first, call.end), call.arguments[0], strict=True)
            found = ((k, tangents.get(x.index)) for k, x in own if isinstance(x, Expr))
            tangents.update({k: of for k, of in found if of})
        else:
            self._called(call, tangents)

    def _called(self, call: Call, tangents: dict[int, Directions]) -> None:
        """The tangents of all answers of a call."""
        of = [self._of_argument(port, x, tangents) for port, x in zip(call.ports, call.arguments, strict=True)]
        directions = sorted({direction for part in of for entry in part for direction in entry})
        answers = self._along(call, of, directions)
        tangents.update({k: found for k, found in zip(range(call.first, call.end), answers, strict=True) if found})

    def _of_argument(self, port: Port, argument: Values, tangents: dict[int, Directions]) -> list[Directions]:
        """The tangents of an argument, of a configuration in its tangent space."""
        own = [tangents.get(x.index, {}) if isinstance(x, Expr) else {} for x in argument]
        if not port.is_configuration:
            return own
        e = self._moves.get(_nodes(argument))
        if e is not None:
            return [tangents.get(cast(Expr, x).index, {}) for x in e]
        return self._mapped(own, lambda entries: apart(self.recording.tree, argument, entries), argument)

    def _mapped(
        self, tangents: Sequence[Directions], function: Callable[[Values], Values], point: Values
    ) -> list[Directions]:
        """A function of entries, differentiated at `point`, times tangents."""
        leaves = self.recording.copy(point)
        changed = function(leaves)
        return self.tangents(changed, [(leaf, part) for leaf, part in zip(leaves, tangents, strict=True) if part])

    def _along(
        self, call: Call, tangents: Sequence[Sequence[Directions]], directions: Sequence[int]
    ) -> list[Directions]:
        """The tangents of all answers of a call: one by one where there are few, or a rule for one is all that is
        known, else by its Jacobian.
        """
        rules = call.function.closed
        is_direct = is_composed(call.function) or ("jvp" in rules and "jacobian" not in rules)
        found: list[Directions] = [{} for _ in range(call.end - call.first)]
        if len(directions) <= FEW or is_direct:
            for direction in directions:
                given = [[entry.get(direction, 0.0) for entry in part] for part in tangents]
                answers = self.recording.call(self.recording.derive("jvp", call.function), *call.arguments, *given)
                self._put(call, found, direction, answers)
            return found
        by = [port.name for port, part in zip(call.ports, tangents, strict=True) if any(part)]
        blocks = self.recording.jacobian(call, by)
        for direction in directions:
            names = [output.name for output in call.function.outputs]
            products = [_product(blocks, name, call, tangents, direction) for name in names]
            self._put(call, found, direction, products)
        return found

    def _put(self, call: Call, tangents: list[Directions], direction: int, answers: Sequence[Values]) -> None:
        place = 0
        for port, answer, own in zip(call.function.outputs, answers, call.answers(self.recording), strict=True):
            entries = list(answer)
            if port.is_configuration:
                one: list[Directions] = [{0: x} for x in answer]
                e = self.recording.zeros(self.recording.tree.nv)
                changed = moved(self.recording.tree, own, e)
                entries = [part.get(0, 0.0) for part in self.tangents(changed, list(zip(e, one, strict=True)))]
            for k, x in enumerate(entries):
                if not is_zero(x):
                    tangents[place + k][direction] = x
            place += len(own)

    def _closed(self, call: Call, cotangents: Cotangents, active: Mapping[int, object] | None) -> None:
        """Cotangents of arguments. active: nodes that need theirs, where blocks of a Jacobian give them."""
        if call.is_equal:
            own = () if call.is_frozen else zip(range(call.first, call.end), call.arguments[0], strict=True)
            for k, x in own:
                if isinstance(x, Expr):
                    cotangents.add(x.index, cotangents.get(k))
            return
        received: list[Values] = []
        for port, own in zip(call.function.outputs, call.answers(self.recording), strict=True):
            bar = [cotangents.get(cast(Expr, x).index) for x in own]
            received.append(self._in_tangent_space(own, bar) if port.is_configuration else bar)
        if all(is_zero(x) for part in received for x in part):
            return
        if active is not None and "jacobian" in call.function.closed and not is_composed(call.function):
            ports, answers = self._by_blocks(call, received, active)
        else:
            ports = call.ports
            answers = self.recording.call(self.recording.derive("vjp", call.function), *call.arguments, *received)
        arguments = dict(zip((port.name for port in call.ports), call.arguments, strict=True))
        for port, bar in zip(ports, answers, strict=True):
            given = arguments[port.name]
            for x, value in zip(*self._to_entries(port, given, bar), strict=True):
                if isinstance(x, Expr):
                    cotangents.add(x.index, value)

    def _by_blocks(
        self, call: Call, received: Sequence[Values], active: Mapping[int, object]
    ) -> tuple[list[Port], list[list[Value]]]:
        """Cotangents times blocks of a call's Jacobian, of the arguments that need them."""
        pairs = zip(call.ports, call.arguments, strict=True)
        ports = [port for port, part in pairs if any(isinstance(x, Expr) and x.index in active for x in part)]
        blocks, answers = self.recording.jacobian(call, [port.name for port in ports]), list[list[Value]]()
        for port in ports:
            rows = [
                (blocks[output.name, port.name], bar)
                for output, bar in zip(call.function.outputs, received, strict=True)
            ]
            width = len(rows[0][0]) // len(rows[0][1])
            sums: list[Value] = [0.0] * width
            for block, bar in rows:
                for i, factor in enumerate(bar):
                    if not is_zero(factor):
                        sums = [x + factor * block[i * width + j] for j, x in enumerate(sums)]
            answers.append(sums)
        return ports, answers

    def _in_tangent_space(self, q: Values, bar: Values) -> list[Value]:
        """The cotangent of e in q ⊕ e, given those of the entries."""
        e = self.recording.zeros(self.recording.tree.nv)
        return self.cotangents(moved(self.recording.tree, q, e), bar, e)

    def _to_entries(self, port: Port, argument: Values, bar: Values) -> tuple[Values, Values]:
        """Whose cotangents they are: the entries', or e where a configuration is an input moved by e."""
        if not port.is_configuration:
            return argument, bar
        e = self._moves.get(_nodes(argument))
        if e is not None:
            return e, bar
        leaves = self.recording.copy(argument)
        return argument, self.cotangents(apart(self.recording.tree, argument, leaves), bar, leaves)


def _product(
    blocks: Mapping[tuple[str, str], Values],
    output: str,
    call: Call,
    tangents: Sequence[Sequence[Directions]],
    direction: int,
) -> list[Value]:
    """The tangent of one answer along one direction, by blocks of the Jacobian."""
    result: list[Value] = []
    parts = [(blocks[output, port.name], part) for port, part in zip(call.ports, tangents, strict=True) if any(part)]
    rows = len(parts[0][0]) // len(parts[0][1]) if parts else 0
    for i in range(rows):
        total: Value = 0.0
        for block, part in parts:
            n = len(part)
            for j, entry in enumerate(part):
                if direction in entry:
                    total = total + block[i * n + j] * entry[direction]
        result.append(total)
    return result


def _nodes(values: Values) -> tuple[int, ...]:
    return tuple(value.index if isinstance(value, Expr) else -1 for value in values)


Values: TypeAlias = Sequence[Value]
Answers: TypeAlias = "Sequence[Values]"


class Recorded:
    """A function recorded on the inputs of its derivative, for differentiation by changes of its inputs."""

    def __init__(self, recording: Recording, origin: Derivative, inputs: Mapping[str, Values]) -> None:
        self.recording, self.origin, self.rule = recording, origin, ChainRule(recording)
        self.changes: dict[str, Values] = {}
        moved: list[Values] = []
        for port in origin.function.inputs:
            entries: Values = [x if isinstance(x, Expr) else recording.equal([x])[0] for x in inputs[port.name]]
            if port.is_configuration:
                entries, self.changes[port.name] = self.rule.moved(entries)
            else:
                self.changes[port.name] = entries
            moved.append(entries)
        self.inputs = moved
        self.answers = [
            apart(recording.tree, recording.equal(answer), answer) if port.is_configuration else answer
            for port, answer in zip(origin.function.outputs, recorded(recording, origin.function, moved), strict=True)
        ]

    @property
    def flat(self) -> list[Value]:
        """All entries of all answers."""
        return [entry for answer in self.answers for entry in answer]

    def by(self, ports: Sequence[str]) -> list[Value]:
        """The changes of some inputs."""
        return [e for port in ports for e in self.changes[port]]

    def shaped(self, entries: Values) -> list[Values]:
        """Entries as the answers have them."""
        parts, begin = list[Values](), 0
        for answer in self.answers:
            parts.append(entries[begin : begin + len(answer)])
            begin += len(answer)
        return parts


def jvp(base: Recorded, inputs: Mapping[str, Values], more: Sequence[str]) -> Answers:
    """One direction."""
    seeds: list[tuple[Value, Directions]] = []
    for port, tangent in zip(base.origin.function.inputs, more, strict=True):
        seeds += ((e, {0: x}) for e, x in zip(base.changes[port.name], inputs[tangent], strict=True))
    return base.shaped([tangent.get(0, 0.0) for tangent in base.rule.tangents(base.flat, seeds)])


def vjp(base: Recorded, inputs: Mapping[str, Values], more: Sequence[str]) -> Answers:
    """One sweep back."""
    seeds = [x for cotangent in more for x in inputs[cotangent]]
    names = [port.name for port in base.origin.function.inputs]
    found = iter(base.rule.cotangents(base.flat, seeds, base.by(names)))
    return [[next(found) for _ in base.changes[name]] for name in names]


def jacobian(base: Recorded, inputs: Mapping[str, Values], more: Sequence[str]) -> Answers:
    """Column by column, or row by row where there are fewer rows."""
    values, leaves = base.flat, base.by(base.origin.by)
    n = len(leaves)
    if len(values) < n:
        rows = [base.rule.cotangents([value], [1.0], leaves, len(values) > FEW) for value in values]
    else:
        rows = [[of_row.get(k, 0.0) for k in range(n)] for of_row in base.rule.tangents(values, _units(leaves))]
    blocks, row = list[Values](), 0
    for answer in base.answers:
        column = 0
        for port in base.origin.by:
            width = len(base.changes[port])
            blocks.append([x for line in rows[row : row + len(answer)] for x in line[column : column + width]])
            column += width
        row += len(answer)
    return blocks


def hessian(base: Recorded, inputs: Mapping[str, Values], more: Sequence[str]) -> Answers:
    """Forward over reverse; the lower triangle, mirrored.

    Rules of calls give gradients in the tangent space at the moved inputs: see `_hessian_of_rule`. The antisymmetric
    part is there where two velocities are of one joint.
    """
    if "vjp" in base.origin.function.closed:
        return _hessian_of_rule(base, inputs, more)
    factors = [x for lam in more for x in inputs[lam]]
    leaves = base.by(base.origin.by)
    n = len(leaves)
    gradient = base.rule.cotangents(base.flat, factors, leaves)
    rows, end = list[Directions](), 0
    for port in base.origin.by:  # what is right of the block on the diagonal is not asked for
        begin, end = end, end + len(base.changes[port])
        rows += base.rule.tangents(gradient[begin:end], _units(leaves[:end]))
    mixed = _of_one_joint(base)

    def entry(i: int, j: int) -> Value:
        """i >= j."""
        own = rows[i].get(j, 0.0)
        return 0.5 * (own + rows[j].get(i, 0.0)) if (i, j) in mixed else own

    lower = [[entry(i, j) for j in range(i + 1)] for i in range(n)]
    return [[lower[max(i, j)][min(i, j)] for i in range(n) for j in range(n)]]


def _of_one_joint(base: Recorded) -> set[tuple[int, int]]:
    """Pairs of changes, the larger first, of a joint whose q is no plain vector."""
    found, begin = set[tuple[int, int]](), 0
    for port in base.origin.function.inputs:
        if port.is_configuration:
            for kind, _, rates in base.recording.tree.configurations:
                if not kind.is_flat:
                    found |= {(begin + i, begin + j) for i in rates for j in rates if i > j}
        begin += len(base.changes[port.name])
    return found


def _hessian_of_rule(base: Recorded, inputs: Mapping[str, Values], more: Sequence[str]) -> Answers:
    """The same by a gradient in closed form, which is in the tangent space at the moved inputs.

    Its derivative has, beside the second derivative by e, an antisymmetric part by the joints' brackets.
    """
    primal = base.origin.function
    vjp_of_primal = base.recording.derive("vjp", primal)
    bars = [port.name for port in vjp_of_primal.inputs[len(primal.inputs) :]]
    moved = {port.name: entries for port, entries in zip(primal.inputs, base.inputs, strict=True)}
    factors = {bar: inputs[lam] for bar, lam in zip(bars, more, strict=True)}
    gradient = recorded(base.recording, vjp_of_primal, [*moved.values(), *factors.values()])
    leaves = base.by(base.origin.by)
    n = len(leaves)
    rows = base.rule.tangents([x for part in gradient for x in part], _units(leaves))
    return [[0.5 * (rows[i].get(j, 0.0) + rows[j].get(i, 0.0)) for i in range(n) for j in range(n)]]


def _units(leaves: Values) -> list[tuple[Value, Directions]]:
    """A direction for every leaf."""
    return [(leaf, {k: 1.0}) for k, leaf in enumerate(leaves)]


DIFFERENTIATE = {"jvp": jvp, "vjp": vjp, "jacobian": jacobian, "hessian": hessian}
"""By kind: (function, inputs, names of the derivative's own inputs) -> its answers, each flat."""
