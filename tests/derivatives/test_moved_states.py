"""Second derivatives of functions at states that are no inputs: their configurations are made of other entries."""

from __future__ import annotations

import numpy as np
import pytest

import condyle


def asked(name):
    def f(at, x, w):
        turned = x[3:7]
        unit = np.concatenate([x[:3], turned * (1.0 / np.sqrt(turned @ turned)), x[7:]])
        here = at.moved_to(unit, w)
        if name == "step":
            return here.step(w, 0.1)[0]
        return here.potential_energy() if name == "energy" else here.frame("tip").translation

    return f


@pytest.mark.parametrize("name", ["energy", "translation", "step"])
def test_hessian_is_the_derivative_of_the_jacobian(name):
    robot = (
        condyle.Builder()
        .body("tip", mass=1.0, com=(0.1, 0, 0.2), inertia=np.diag([0.1, 0.2, 0.25]))
        .joint("j", parent="world", child="tip", type="free")
        .build()
    )
    f = robot.function(asked(name), {"x": 7, "w": 6}).compile(target="numpy")
    x, w = robot.random_state(1, 0)[0][0] * 1.1, np.linspace(-1.0, 1.0, 6)
    size = np.size(f(x, w))
    lam = [] if name == "energy" else [np.linspace(1.0, 2.0, size)]
    z = np.concatenate([x, w])

    def gradient(z):
        return np.ravel(lam or [1.0]) @ np.hstack([J.reshape(size, -1) for J in f.jacobian()(z[:7], z[7:])])

    steps = 1e-5 * np.eye(13)
    want = np.stack([(gradient(z + e) - gradient(z - e)) / 2e-5 for e in steps])
    np.testing.assert_allclose(f.hessian()(x, w, *lam), want, atol=1e-7)
