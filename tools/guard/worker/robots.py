"""The robot behind a name: bundled, a file, or made here: "chain:20", "mimics:50", "tree:8" (of many joint types)."""

from __future__ import annotations

import math
from typing import Any

import condyle

FINGERS = {"panda_finger_joint1": 0.0, "panda_finger_joint2": 0.0}


def robot(source: str, floating: bool, locked: bool) -> Any:
    kind, _, number = source.partition(":")
    if not number:
        made = condyle.load(source, floating_base=floating)
        return made.lock(FINGERS) if locked else made
    if kind == "chain":
        return condyle.chain(int(number), rng=1)
    return _mimics(int(number)) if kind == "mimics" else condyle.random_tree(int(number), 3, floating_base=floating)


def _mimics(links: int) -> Any:
    """A chain whose every tenth joint follows the one before."""
    builder = condyle.Builder("mimics")
    for k in range(links):
        follows = (f"j{k - 1}", -0.5, 0.1) if k % 10 == 9 else None
        place: dict[str, Any] = {
            "xyz": (0.1, 0.02 * (k % 3), 0.3),
            "rpy": (0.3, math.pi / 2 if k % 4 else -0.4, 0.1 * (k % 5)),
        }
        parent = f"b{k - 1}" if k else "world"
        builder.body(
            f"b{k}", mass=1.0 + 0.01 * k, com=(0.1, 0.05, 0.2), inertia=((0.3, 0, 0), (0, 0.2, 0), (0, 0, 0.25))
        )
        builder.joint(f"j{k}", type="revolute", parent=parent, child=f"b{k}", axis=(0, 0, 1), mimic=follows, **place)
    return builder.build()
