from collections.abc import Callable

from condyle.backends.cpu.operations import Instruction, Row
from condyle.operations import Node

def allocate(
    nodes: tuple[Node, ...],
    order: list[int],
    homes: dict[int, int],
    number: Callable[[float], int],
    instruction: type[Instruction],
    rows: dict[str, Row],
    registers: int,
    size: int,
    far: int,
    dirty: float,
    /,
) -> tuple[list[Instruction], int]: ...
def traffic(code: list[Instruction], slot_bytes: int, sets: int, ways: int, /) -> tuple[int, int]: ...
def schedule(
    nodes: tuple[Node, ...], order: list[int], window: int, issue: float, latency: dict[str, float], /
) -> list[int]: ...
