"""Closed loops against MuJoCo's `connect` in the stiff limit: its constraints give way, ours do not."""

from __future__ import annotations

import numpy as np
import pytest

from tests.contacts.test_closures import FourBar
from tests.laws.robots import relative

mujoco = pytest.importorskip("mujoco", reason="pip install 'condyle[test]'")

STIFF = 2e-4
"""Of accelerations: MuJoCo's impedances end at 0.9999, so that 1e-4 of what is asked for is left out."""


def four_bar(bar: FourBar, impedance: float) -> object:
    """The same bars by MjSpec, coupler and rocker connected."""
    spec = mujoco.MjSpec()
    spec.option.gravity = (0.0, 0.0, -bar.gravity)
    spec.option.disableflags |= mujoco.mjtDisableBit.mjDSBL_CONTACT
    parents = {"crank": spec.worldbody}
    for name, parent, at, length, mass, inertia in zip(
        ("crank", "coupler", "rocker"),
        ("world", "crank", "world"),
        (0.0, bar.lengths[0], bar.base),
        bar.lengths,
        bar.masses,
        bar.inertias,
        strict=True,
    ):
        body = parents.get(parent, spec.worldbody).add_body(
            name=name,
            pos=(at, 0.0, 0.0),
            mass=mass,
            ipos=(0.5 * length, 0.0, 0.0),
            inertia=(1e-3, inertia, inertia),
            explicitinertial=True,
        )
        body.add_joint(name=name, type=mujoco.mjtJoint.mjJNT_HINGE, axis=(0.0, -1.0, 0.0))
        parents[name] = body
        if name != "crank":
            body.add_site(name=f"{name}_end", pos=(length, 0.0, 0.0))
    equality = spec.add_equality(
        type=mujoco.mjtEq.mjEQ_CONNECT, objtype=mujoco.mjtObj.mjOBJ_SITE, name1="coupler_end", name2="rocker_end"
    )
    equality.solref = (2e-3, 1.0)
    equality.solimp = (impedance, impedance, 1e-3, 0.5, 2.0)
    return spec


def error(crank: float, impedance: float) -> float:
    """Of its accelerations, relative to the largest."""
    bar = FourBar()
    model = four_bar(bar, impedance).compile()  # type: ignore[attr-defined]
    model.opt.iterations, model.opt.tolerance = 1000, 0.0
    data = mujoco.MjData(model)
    q, v = bar.state(crank, 1.7)
    order = [model.joint(name).qposadr[0] for name in ("crank", "coupler", "rocker")]
    data.qpos[order], data.qvel[order] = q, v
    data.qfrc_applied[order] = (0.4, 0.0, 0.0)
    mujoco.mj_forward(model, data)
    assert data.ne == 3
    a, _ = bar.case().compile().constrained_forward_dynamics(q, v, np.array([0.4, 0.0, 0.0]), np.ones(1))
    return relative(data.qacc[order][None], a[None])


@pytest.mark.parametrize("crank", [0.3, 1.1, 2.5, 4.0])
def test_connect(crank: float) -> None:
    """What is left falls with what the impedance leaves out: our answer is the limit."""
    soft, stiff = error(crank, 0.99), error(crank, 0.9999)
    assert stiff < STIFF
    assert 80.0 < soft / stiff < 120.0
