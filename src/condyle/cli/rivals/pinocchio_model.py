"""A Pinocchio model in Python, from the same numbers as ours, joint by joint."""

from __future__ import annotations

from typing import Any

from condyle.cli.rivals import toolchain
from condyle.cli.rivals.numbers import Numbers

JOINTS = ("RX", "RY", "RZ", "RevoluteUnaligned", "PX", "PY", "PZ", "PrismaticUnaligned", "Spherical", "FreeFlyer")
"""In the order of kinds in numbers.py."""


def pinocchio() -> Any:
    """The package."""
    return toolchain.package("pinocchio", "'condyle[bench]'")


def model_of(pin: Any, numbers: Numbers) -> Any:
    """Frames behind that of the world."""
    model = pin.Model()
    for i, (parent, kind) in enumerate(zip(numbers.parent, numbers.kind, strict=True)):
        word = JOINTS[int(kind)]
        make = getattr(pin, f"JointModel{word}")
        joint = make(numbers.axis[i]) if word.endswith("Unaligned") else make()
        place = pin.SE3(numbers.rotation[i], numbers.translation[i])
        at = model.addJoint(int(parent) + 1, joint, place, f"j{i}")
        body = pin.Inertia(float(numbers.mass[i]), numbers.com[i], numbers.inertia[i])
        model.appendBodyToJoint(at, body, pin.SE3.Identity())
    for k, joint in enumerate(numbers.frame_joint):
        place = pin.SE3(numbers.frame_rotation[k], numbers.frame_translation[k])
        model.addFrame(pin.Frame(f"f{k}", int(joint) + 1, 0, place, pin.FrameType.OP_FRAME))
    model.armature = numbers.armature
    model.gravity.linear = numbers.gravity
    return model
