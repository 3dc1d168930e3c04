"""Random trees in which joints mimic joints, as URDF and as MJCF text."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

Array = np.ndarray
MULTIPLIERS = (1.0, 1.0, -1.0, 2.0, -0.5, 0.1, -3.0)


@dataclass(frozen=True)
class Drawn:
    """Joint k of a tree, "j{k}", and the body that it carries, "b{k}". master: the joint that it mimics, or None."""

    parent: int
    type: str
    master: int | None
    multiplier: float
    offset: float
    numbers: dict[str, float]
    vectors: Array
    """(3, 3): place of the joint, its axis, centre of mass of the body."""


def drawn(rng: np.random.Generator, mjcf: bool) -> list[Drawn]:
    """Two to eight joints; about half of them mimic another, which may come later."""
    n = int(rng.integers(2, 9))
    order = rng.permutation(n).tolist()
    types = ["revolute", "prismatic"] if mjcf else ["revolute", "prismatic", "continuous"]
    tree: list[Drawn] = []
    for k in range(n):
        earlier = order[: order.index(k)]
        master = int(rng.choice(earlier)) if earlier and rng.random() < 0.6 else None
        multiplier = float(rng.choice(MULTIPLIERS)) if rng.random() < 0.8 else float(rng.normal())
        if rng.random() < 0.03 and not mjcf:
            multiplier = 0.0  # an equality of MJCF with this one is no line
        offset = 0.0 if rng.random() < 0.5 else float(rng.normal(0.0, 0.2))
        kind, parent, vectors = (
            str(rng.choice(types)),
            int(rng.integers(-1, k)) if k else -1,
            rng.uniform(-1, 1, (3, 3)),
        )
        vectors[1] /= np.linalg.norm(vectors[1])
        tree.append(Drawn(parent, kind, master, multiplier, offset, numbers(rng, kind), vectors))
    return tree


def numbers(rng: np.random.Generator, kind: str) -> dict[str, float]:
    """Some of the numbers of a joint. Its limits have 0 between them, mostly."""
    found: dict[str, float] = {}
    for name in ("damping", "friction", "effort", "velocity"):
        if rng.random() < 0.6:
            found[name] = 0.0 if rng.random() < 0.1 else float(rng.uniform(0.0, 3.0))
    if kind != "continuous" and rng.random() < 0.7:
        found["lower"], found["upper"] = -float(rng.uniform(0.1, 2.0)), float(rng.uniform(0.1, 2.0))
        if rng.random() < 0.05:
            found["lower"] = found["upper"] - float(rng.choice([0.0, 0.1]))
    return found


def urdf(tree: list[Drawn]) -> str:
    lines = ['<robot name="tree"><link name="world"/>']
    for k, one in enumerate(tree):
        place, axis, com = map(words, one.vectors)
        said = one.numbers
        limit = attributes(said, lower="lower", upper="upper", effort="effort", velocity="velocity")
        dynamics = attributes(said, damping="damping", friction="friction")
        mimic = "" if one.master is None else attributes(vars(one), multiplier="multiplier", offset="offset")
        lines += [
            f'<link name="b{k}"><inertial><origin xyz="{com}"/><mass value="1"/>',
            '<inertia ixx=".1" ixy="0" ixz="0" iyy=".2" iyz="0" izz=".25"/></inertial></link>',
            f'<joint name="j{k}" type="{one.type}"><axis xyz="{axis}"/><origin xyz="{place}"/>',
            f'<parent link="{f"b{one.parent}" if one.parent >= 0 else "world"}"/><child link="b{k}"/>',
            f"<limit {limit}/><dynamics {dynamics}/>",
            "" if one.master is None else f'<mimic joint="j{one.master}" {mimic}/>',
            "</joint>",
        ]
    return "\n".join([*lines, "</robot>"])


def mjcf(tree: list[Drawn]) -> str:
    lines = ['<mujoco><compiler angle="radian" autolimits="true"/><worldbody>']

    def write(k: int) -> None:
        one = tree[k]
        place, axis, com = map(words, one.vectors)
        said = attributes(one.numbers, damping="damping", friction="frictionloss")
        if "lower" in one.numbers and one.numbers["lower"] < one.numbers["upper"]:
            said += f' range="{one.numbers["lower"]!r} {one.numbers["upper"]!r}"'
        if one.numbers.get("effort", 0.0) > 0.0:
            said += f' actuatorfrcrange="{-one.numbers["effort"]!r} {one.numbers["effort"]!r}"'
        kind = "hinge" if one.type == "revolute" else "slide"
        lines.append(f'<body name="b{k}" pos="{place}"><joint name="j{k}" type="{kind}" axis="{axis}" {said}/>')
        lines.append(f'<inertial pos="{com}" mass="1" diaginertia=".1 .2 .25"/>')
        for child in [i for i, other in enumerate(tree) if other.parent == k]:
            write(child)
        lines.append("</body>")

    for root in [i for i, one in enumerate(tree) if one.parent < 0]:
        write(root)
    lines.append("</worldbody><equality>")
    for k, one in enumerate(tree):
        if one.master is not None:
            line = f"{one.offset!r} {one.multiplier!r} 0 0 0"
            lines.append(f'<joint joint1="j{k}" joint2="j{one.master}" polycoef="{line}"/>')
    return "\n".join([*lines, "</equality></mujoco>"])


def attributes(said: dict[str, object], **names: str) -> str:
    """name="value" of those that are said, each by its name in the file."""
    return " ".join(f'{there}="{said[here]!r}"' for here, there in names.items() if here in said)


def words(x: Array) -> str:
    return " ".join(repr(value) for value in x.tolist())
