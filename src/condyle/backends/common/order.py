"""Linear orders of the operations of a Program. Several are tried, because the best one depends on the robot.

trace: the order in which the algorithm ran, body by body. The others are depth first: the operations that an output
needs come right before it, so live ranges are short. They differ in the order of the outputs. With the leaves first,
values that only a branch needs are dead before the trunk is computed.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from condyle.ir.program import Output, Program, operands

Key = Callable[[int, int, int], tuple[int, ...]]

KEYS: dict[str, Key] = {
    # (row, column, array): several matrices of one function are computed together
    "rows": lambda row, column, array: (row, column, array),
    "columns": lambda row, column, array: (column, row, array),
    "leaves": lambda row, column, array: (-max(row, column), -row, -column, array),
    "tips": lambda row, column, array: (-column, -row, array),
    "arrays": lambda row, column, array: (array, -column, -row),
    # values shared by the columns of a block, and by the columns of a factor, stay live for a short time
    "blocks": lambda row, column, array: (-(column // BLOCK), -row, -column, array),
}
TRACE = "trace"
BLOCK = 12


def orders(
    program: Program, nodes: Sequence[int], roots: Sequence[int], names: Sequence[str] = tuple(KEYS)
) -> Iterator[tuple[str, list[int]]]:
    """The trace, then these orders of `nodes`, each with its name and none twice.

    roots: the nodes that are used outside of `nodes`. nodes: in trace order.
    """
    yield TRACE, list(nodes)
    needs = _needs(program, nodes)
    seen: set[tuple[int, ...]] = {tuple(nodes)}
    for name in names:
        order = depth_first(needs, by_key(program, roots, name))
        if tuple(order) not in seen:
            seen.add(tuple(order))
            yield name, order


def by_key(program: Program, roots: Sequence[int], name: str) -> list[int]:
    """Roots in the order of the first output entry that each is; those that are no output come first."""
    key = KEYS[name]
    ranks: dict[int, tuple[int, ...]] = {}
    for output in program.outputs:
        rank = key(*_position(program, output))
        if output.node not in ranks or rank < ranks[output.node]:
            ranks[output.node] = rank
    return sorted(roots, key=lambda node: (node in ranks, ranks.get(node, ()), node))


def _position(program: Program, output: Output) -> tuple[int, int, int]:
    shape = program.arrays[output.array].shape
    columns = shape[-1] if len(shape) > 1 else 1
    return output.index // columns, output.index % columns, output.array


def _needs(program: Program, nodes: Sequence[int]) -> dict[int, list[int]]:
    """For each node its operands among the nodes, in reverse trace order."""
    inside = bytearray(len(program.nodes))
    for node in nodes:
        inside[node] = True
    return {
        node: sorted([used for used in operands(program.nodes[node]) if inside[used]], reverse=True) for node in nodes
    }


def reached(roots: Iterable[int], needs: Callable[[int], Iterable[int]]) -> set[int]:
    """The roots and all nodes that they need, directly or not."""
    found, waiting = set[int](), list(roots)
    while waiting:
        node = waiting.pop()
        if node not in found:
            found.add(node)
            waiting += needs(node)
    return found


def depth_first(needs: Mapping[int, Sequence[int]], roots: Sequence[int]) -> list[int]:
    """Every node that the roots need, each right after its operands, the last operand in `needs` first."""
    order: list[int] = []
    done = bytearray(max(needs, default=0) + 1)
    for root in roots:
        stack = [root]
        while stack:
            node = stack.pop()
            if node < 0:  # all operands of ~node are in the order already
                order.append(~node)
            elif not done[node]:
                done[node] = True
                stack.append(~node)
                stack.extend([used for used in needs[node] if not done[used]])
    return order
