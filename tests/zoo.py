"""One robot with the joint types that every engine of the differential tests has."""

from __future__ import annotations

import numpy as np

import condyle
from condyle.model.builder import Builder, random_body
from condyle.model.robot import Robot

# name, parent, type, axis
_JOINTS: tuple[tuple[str, str, str, tuple[float, float, float]], ...] = (
    ("revolute", "trunk", "revolute", (0.0, 0.0, 1.0)),
    ("continuous", "revolute", "continuous", (0.0, -1.0, 0.0)),
    ("prismatic", "continuous", "prismatic", (0.6, 0.0, 0.8)),
    ("helical", "trunk", "helical", (1.0, 2.0, 2.0)),
    ("cylindrical", "helical", "cylindrical", (1.0, 0.0, 0.0)),
    ("planar", "trunk", "planar", (0.0, 1.0, 0.0)),
    ("spherical", "planar", "spherical", (0.0, 0.0, 1.0)),
    ("universal", "spherical", "universal", (1.0, 0.0, 0.0)),
    ("translation", "revolute", "translation", (0.0, 0.0, 1.0)),
    ("free", "translation", "free", (0.0, 0.0, 1.0)),
    ("tilted_planar", "helical", "planar", (2.0, -1.0, 2.0)),
    ("follower", "prismatic", "revolute", (0.0, 1.0, 0.0)),
)

TYPES = frozenset(kind for _, _, kind, _ in _JOINTS)


def every_joint(floating_base: bool = False) -> Robot:
    """A branched robot with all ten joint types, armatures, and a joint that mimics "revolute" (ratio -1.5, 0.2 rad).

    Fixed to the world at "trunk", or floating. Joint and body have the same name. The same on every call.
    """
    rng = np.random.default_rng(20)
    builder = Builder("every_joint")
    _add_body(builder, "trunk", rng)
    for i, (name, parent, kind, axis) in enumerate(_JOINTS):
        _add_body(builder, name, rng)
        builder.joint(
            name,
            parent=parent,
            child=name,
            type=kind,
            axis=axis,
            second_axis=(0.0, 0.6, 0.8) if kind == "universal" else None,
            pitch=0.15 if kind == "helical" else 0.0,
            xyz=rng.uniform(-0.3, 0.3, 3),
            rpy=rng.uniform(-np.pi, np.pi, 3),
            armature=0.01 * (i % 3),
            mimic=("revolute", -1.5, 0.2) if name == "follower" else None,
        )
    return builder.build(floating_base=floating_base)


def _add_body(builder: Builder, name: str, rng: np.random.Generator) -> None:
    body = random_body(name, rng)
    builder.body(name, mass=body.mass, com=body.com, inertia=body.inertia)


def tool_arm(offset: float = 0.3) -> condyle.Robot:
    """A link with a frame "tool" at (offset, 0, 0) [m] in it, which changes no mass."""
    builder = condyle.Builder("arm").body("a", mass=1.0, com=(0, 0, 0.1), inertia=np.eye(3) * 0.1).body("tool")
    builder.joint("j", parent="world", child="a", type="revolute", axis=(0, 1, 0), velocity=2.0)
    return builder.joint("f", parent="a", child="tool", type="fixed", xyz=(offset, 0, 0)).build()
