from condyle.ir.ops import Node

def schedule(
    nodes: tuple[Node, ...], order: list[int], window: int, issue: float, latency: dict[str, float], /
) -> list[int]: ...
