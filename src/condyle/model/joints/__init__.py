"""Every joint type by the word that names it; one file a type. See `base.JointType` for what a type says."""

from __future__ import annotations

from condyle.model.joints.base import JointType
from condyle.model.joints.cylindrical import Cylindrical
from condyle.model.joints.free import Free
from condyle.model.joints.helical import Helical
from condyle.model.joints.planar import Planar
from condyle.model.joints.prismatic import Prismatic
from condyle.model.joints.revolute import Continuous, Revolute
from condyle.model.joints.spherical import Spherical
from condyle.model.joints.translation import Translation
from condyle.model.joints.universal import Universal

_TYPES: tuple[JointType, ...] = (
    Revolute(),
    Continuous(),
    Prismatic(),
    Helical(),
    Cylindrical(),
    Planar(),
    Spherical(),
    Universal(),
    Translation(),
    Free(),
)
JOINT_TYPES = {joint.name: joint for joint in _TYPES}
"""A type of your own is used as soon as it is in here, under its name."""

__all__ = ["JOINT_TYPES", "JointType"]
