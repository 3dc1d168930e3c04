"""URDF text for the hostile tests, and what must come of it."""

from __future__ import annotations

from pathlib import Path

import pytest

from condyle.errors import ModelError, ModelWarning
from condyle.model.robot import Robot
from condyle.readers import load_robot

INERTIA = '<inertia ixx="0.1" ixy="0" ixz="0" iyy="0.2" iyz="0" izz="0.25"/>'
MASS = '<mass value="1"/>'
LIMIT = '<limit lower="-1" upper="1" effort="10" velocity="2"/>'
ENDS = '<parent link="base"/><child link="arm"/>'


def inertial(mass: str = MASS, inertia: str = INERTIA) -> str:
    return f"<inertial>{mass}{inertia}</inertial>"


def link(name: str, inside: str | None = None) -> str:
    return f'<link name="{name}">\n{inertial() if inside is None else inside}\n</link>\n'


def joint(name: str, parent: str, child: str, more: str = LIMIT, kind: str = "revolute") -> str:
    ends = f'<parent link="{parent}"/><child link="{child}"/>'
    return f'<joint name="{name}" type="{kind}">\n{ends}\n{more}\n</joint>\n'


def arm(inside: str | None = None, more: str = LIMIT, kind: str = "revolute") -> str:
    return '<link name="base"/>\n' + link("arm", inside) + joint("j", "base", "arm", more, kind)


def load(folder: Path, body: str, head: str = '<?xml version="1.0"?>\n', **more: bool) -> Robot:
    path = folder / "bad.urdf"
    path.write_text(f'{head}<robot name="r">\n{body}</robot>\n', encoding="utf-8")
    return load_robot(path, strict=more.get("strict", False), floating_base=more.get("floating_base", False))


def refused(folder: Path, text: str, body: str, *, line: int | None = None, strict: bool = False) -> ModelError:
    with pytest.raises(ModelError, match=text) as caught:
        load(folder, body, strict=strict)
    assert "bad.urdf" in str(caught.value)
    if line is not None:
        assert f"bad.urdf:{line}: " in str(caught.value)
    return caught.value


def warned(folder: Path, text: str, body: str) -> Robot:
    with pytest.warns(ModelWarning, match=text):
        return load(folder, body)


FOLLOWER = link("tip") + joint("k", "arm", "tip", LIMIT + '<mimic joint="{}" multiplier="2" offset="0.1"/>')
