"""Linear orders of the operations of a Program: which one is good depends on the robot, so several are made.

trace: as the algorithm ran, body by body. Depth first: what one output needs, right before it; values die young. Which
output goes first decides what is still near when it is wanted again: from the tips of the limbs, what they need is gone
before the trunk's turn.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from condyle.ir.program import Output, Program, operands

Key = Callable[[int, int, int], tuple[int, ...]]

KEYS: dict[str, Key] = {
    # (row, column, array): small matrices of one function are finished side by side
    "rows": lambda row, column, array: (row, column, array),
    "columns": lambda row, column, array: (column, row, array),
    "leaves": lambda row, column, array: (-max(row, column), -row, -column, array),
    "tips": lambda row, column, array: (-column, -row, array),
    "arrays": lambda row, column, array: (array, -column, -row),
    # what the columns of a block share stays near, and so do the columns of a factor
    "blocks": lambda row, column, array: (-(column // BLOCK), -row, -column, array),
}
TRACE = "trace"
BLOCK = 12


def orders(
    program: Program, nodes: Sequence[int], roots: Sequence[int], names: Sequence[str] = tuple(KEYS)
) -> Iterator[tuple[str, list[int]]]:
    """The trace, then these orders of `nodes`, each with its name and none twice.

    roots: the nodes that something outside needs. nodes come in trace order.
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
    """Roots by the first entry they are; what is no output comes first."""
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
    """Of each node the operands that are among the nodes, the one traced first last."""
    inside = bytearray(len(program.nodes))
    for node in nodes:
        inside[node] = True
    return {
        node: sorted([used for used in operands(program.nodes[node]) if inside[used]], reverse=True) for node in nodes
    }


def reached(roots: Iterable[int], needs: Callable[[int], Iterable[int]]) -> set[int]:
    """The roots, what they need, what that needs, and so on."""
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
            if node < 0:  # all that ~node needs stands before it
                order.append(~node)
            elif not done[node]:
                done[node] = True
                stack.append(~node)
                stack.extend([used for used in needs[node] if not done[used]])
    return order
