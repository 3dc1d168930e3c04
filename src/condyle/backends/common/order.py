"""Linear orders of the operations of a Program: which one is good depends on the robot, so several are made.

trace: as the algorithm ran, body by body. Depth first: what one output needs, right before it; values die young.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

from condyle.ir.program import Output, Program, operands

Key = Callable[[int, int, int], tuple[int, ...]]

KEYS: dict[str, Key] = {
    # (row, column, array): small matrices of one function are finished side by side
    "rows": lambda row, column, array: (row, column, array),
    "columns": lambda row, column, array: (column, row, array),
    "leaves": lambda row, column, array: (-max(row, column), -row, -column, array),
}
TRACE = "trace"


def orders(
    program: Program, nodes: Sequence[int], roots: Sequence[int], names: Sequence[str] = tuple(KEYS)
) -> Iterator[tuple[str, list[int]]]:
    """The trace, then these orders of `nodes`, each with its name and none twice.

    roots: the nodes that something outside needs. nodes come in trace order.
    """
    yield TRACE, list(nodes)
    inside = set(nodes)
    seen: set[tuple[int, ...]] = {tuple(nodes)}
    for name in names:
        order = depth_first(program, inside, _sorted_roots(program, roots, KEYS[name]))
        if tuple(order) not in seen:
            seen.add(tuple(order))
            yield name, order


def _sorted_roots(program: Program, roots: Sequence[int], key: Key) -> list[int]:
    """Roots by the first entry they are; what is no output comes first."""
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


def depth_first(program: Program, inside: set[int], roots: Sequence[int]) -> list[int]:
    """Every node of `inside` that the roots need, each right after its operands, the operand traced first first."""
    order: list[int] = []
    done: set[int] = set()
    for root in roots:
        stack = [root]
        while stack:
            node = stack[-1]
            if node in done:
                stack.pop()
                continue
            missing = [used for used in operands(program.nodes[node]) if used in inside and used not in done]
            if missing:
                stack.extend(sorted(missing, reverse=True))
            else:
                stack.pop()
                done.add(node)
                order.append(node)
    return order
