"""Every joint type by the word that names it. A file of this folder with a class of `base.JointType` adds its type."""

from __future__ import annotations

from collections.abc import Iterator
from importlib import import_module
from inspect import isabstract
from pkgutil import iter_modules

from condyle.model.joints.base import JointType

_FIRST = ("one_axis", "several_axes")
"""Files whose types come first, in this order, since robots drawn by a seed depend on it. Others follow by name."""


def _types() -> Iterator[JointType]:
    others = (found.name for found in iter_modules(__path__) if found.name not in _FIRST)
    for name in (*_FIRST, *others):
        module = import_module(f"{__name__}.{name}")
        own = [found for found in vars(module).values() if getattr(found, "__module__", "") == module.__name__]
        classes = [found for found in own if isinstance(found, type) and issubclass(found, JointType)]
        yield from (one() for one in classes if not isabstract(one))


JOINT_TYPES = {joint.name: joint for joint in _types()}
"""A type of your own is used as soon as it is in here, under its name."""

__all__ = ["JOINT_TYPES", "JointType"]
