"""The robot with ten joint types."""

from __future__ import annotations

from condyle.model.joints import JOINT_TYPES
from tests.zoo import TYPES, every_joint


def test_it_has_ten_types() -> None:
    for floating in (False, True):
        robot = every_joint(floating)
        assert {joint.type for joint in robot.joints} == TYPES
        assert robot.check() == ()
        assert any(joint.mimic for joint in robot.joints)
        assert any(joint.armature.any() for joint in robot.joints)
    assert len(TYPES) == 10 and set(JOINT_TYPES) >= TYPES
    assert every_joint(True).nv == every_joint().nv + 6
