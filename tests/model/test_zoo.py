"""The robot with every joint type."""

from __future__ import annotations

from condyle.model.joints import JOINT_TYPES
from tests.zoo import every_joint


def test_it_has_every_type() -> None:
    for floating in (False, True):
        robot = every_joint(floating)
        assert {joint.type for joint in robot.joints} == set(JOINT_TYPES)
        assert robot.check() == ()
        assert any(joint.mimic for joint in robot.joints)
        assert any(joint.armature.any() for joint in robot.joints)
    assert every_joint(True).nv == every_joint().nv + 6
