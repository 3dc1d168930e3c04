"""The chain rule over a recording: forward and reverse sweeps that go around calls by derivatives of what they call."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import cast

from condyle.derivatives.product_rules import pass_on, product_tangents
from condyle.derivatives.products import LargeProduct
from condyle.derivatives.recording import Call, Recording
from condyle.derivatives.tangent import apart, moved
from condyle.ir.expr import Expr, Value
from condyle.passes.forward import Directions, forward
from condyle.passes.partials import is_zero
from condyle.passes.reverse import Cotangents, reverse
from condyle.specification import Port

Values = Sequence[Value]


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

    def cotangents(self, values: Values, seeds: Values, leaves: Values) -> list[Value]:
        """Of each leaf, given those of values."""
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
                self._closed(call, cotangents)

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
        """The tangents of all answers of a call: one by one where there are few, else by its Jacobian."""
        found: list[Directions] = [{} for _ in range(call.end - call.first)]
        if len(directions) <= 2:
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

    def _closed(self, call: Call, cotangents: Cotangents) -> None:
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
        answers = self.recording.call(self.recording.derive("vjp", call.function), *call.arguments, *received)
        for port, given, bar in zip(call.ports, call.arguments, answers, strict=True):
            for x, value in zip(*self._to_entries(port, given, bar), strict=True):
                if isinstance(x, Expr):
                    cotangents.add(x.index, value)

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
