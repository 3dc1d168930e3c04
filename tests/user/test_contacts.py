"""Contacts inside of users' functions: forces, impacts, matrices, steps with flags; derivatives and C of them."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import condyle
from condyle.model.placement import Placement
from tests.programs import needs
from tests.user.test_function import differences

FEET = tuple(
    condyle.Contact(f"{leg}_lowerleg", placement=Placement.from_rpy((0.33, 0.0, 0.0)))
    for leg in ("lf", "rf", "lh", "rh")
)
BAUMGARTE = (condyle.Contact("lf_lowerleg", gains=(0.0, 5.0)), condyle.Contact("rh_lowerleg", "plane"))
SIZES = {"q": "nq", "v": "nv", "tau": "nv", "active": "n_contacts"}


@pytest.fixture(scope="module")
def quadruped() -> condyle.Robot:
    return condyle.load("hyq", floating_base=True)


@pytest.fixture(scope="module")
def leg() -> condyle.Robot:
    """Five joints and a foot: small enough for every derivative."""
    return condyle.chain(5, 2)


def touching(robot: condyle.Robot, **options: Any) -> tuple[condyle.Contact, ...]:
    foot = Placement.from_rpy((0.1, 0.05, 0.2))
    return (condyle.Contact(list(robot.frames)[-1], placement=foot, **options),)


def states(robot: condyle.Robot, n: int, contacts: int) -> tuple[np.ndarray, ...]:
    rng = np.random.default_rng(4)
    q, v = robot.random_state(n, 3)
    return q, v, rng.normal(size=(n, robot.nv)), rng.integers(0, 2, (n, contacts)).astype(float)


def grips(at: Any, tau: Any, active: Any) -> dict[str, Any]:
    moving = at.constrained_forward_dynamics(tau, active)
    J, G = at.constraint_jacobian(), at.delassus_matrix(active)
    landed = at.impulse_dynamics(active, 0.5 * np.ones(len(at.contacts)))
    return {
        "grip": (moving.force**2).sum(),
        "slip": J @ moving.a,
        "G": G,
        "after": landed.v,
        "free": at.step(tau, 1e-3, active=0.0 * active).v,
        "step": at.step(tau, 1e-3, active=active).v,
        "held": at.step(tau, 1e-3).v,
    }


@pytest.mark.parametrize("contacts", [FEET, BAUMGARTE])
def test_a_state_offers_functions_of_contacts(quadruped: condyle.Robot, contacts: tuple[condyle.Contact, ...]) -> None:
    f = quadruped.function(grips, SIZES, contacts=contacts)
    q, v, tau, active = states(quadruped, 4, len(contacts))
    found, dyn = f.compile(target="numpy")(q, v, tau, active), quadruped.compile("numpy", contacts=contacts)
    for one, other in zip(found, f.reference(q, v, tau, active), strict=True):
        np.testing.assert_allclose(one, other, 1e-8, 1e-8)
    a, force = dyn.constrained_forward_dynamics(q, v, tau, active)
    np.testing.assert_allclose(found.grip, (force**2).sum(axis=(1, 2)), 1e-9)
    np.testing.assert_allclose(found.slip, np.einsum("nij,nj->ni", dyn.constraint_jacobian(q), a), 1e-9, 1e-8)
    np.testing.assert_allclose(found.G, dyn.delassus_matrix(q, active), 1e-9, 1e-12)
    half = np.full(len(contacts), 0.5)
    np.testing.assert_allclose(found.after, dyn.impulse_dynamics(q, v, active, half).v, 1e-9, 1e-9)
    for flags, output in ((0.0 * active, found.free), (active, found.step), (1.0 + 0.0 * active, found.held)):
        np.testing.assert_allclose(output, dyn.step(q, v, tau, 1e-3, active=flags).v, 1e-9, 1e-9)


@pytest.mark.slow
def test_a_compiled_function_is_that_of_its_own_contacts(quadruped: condyle.Robot) -> None:
    """The same function and the same robot, other contacts: kernels are kept between runs by what they depend on."""

    def stepped(at: Any, tau: Any) -> Any:
        return at.step(tau, 1e-3).v

    q, v, tau, _ = states(quadruped, 4, 1)
    for foot in FEET[:2]:
        f = quadruped.function(stepped, {"q": "nq", "v": "nv", "tau": "nv"}, contacts=[foot])
        want = quadruped.compile("numpy", contacts=[foot])
        for target in ("cpu", "c"):
            np.testing.assert_allclose(f.compile(target)(q, v, tau), want.step(q, v, tau, 1e-3).v, 1e-8, 1e-8)
        np.testing.assert_allclose(
            quadruped.compile(contacts=[foot]).step(q, v, tau, 1e-3).v, want.step(q, v, tau, 1e-3).v, 1e-8, 1e-8
        )


def work(at: Any, tau: Any, active: Any) -> dict[str, Any]:
    a, force = at.constrained_forward_dynamics(tau, active)
    return {"a": a, "cost": (force**2).sum() + (at.v[0] * at.delassus_matrix(active)).sum()}


def test_derivatives_are_those_of_differences(leg: condyle.Robot) -> None:
    f = leg.function(work, SIZES, contacts=touching(leg, gains=(0.0, 3.0))).compile()
    q, v, tau, _ = (x[0] for x in states(leg, 1, 1))
    active = np.ones(1)
    J = f.jacobian(by=("q", "v", "tau"))(q, v, tau, active)
    for output in ("a", "cost"):
        moves = {
            "q": lambda e, output=output: getattr(f(q + e, v, tau, active), output),
            "v": lambda e, output=output: getattr(f(q, v + e, tau, active), output),
            "tau": lambda e, output=output: getattr(f(q, v, tau + e, active), output),
        }
        for name, move in moves.items():
            by = differences(move, 5)
            found = getattr(J, f"d{output}_d{name}").reshape(by.shape)
            np.testing.assert_allclose(found, by, rtol=1e-5, atol=1e-5 * max(1.0, np.abs(by).max()))
    weights = np.array([0.3, -1.0, 0.7, 0.2, -0.4])
    back = f.vjp()(q, v, tau, active, weights, 2.0)
    for name in ("q", "v", "tau"):
        want = weights @ getattr(J, f"da_d{name}") + 2.0 * getattr(J, f"dcost_d{name}")
        np.testing.assert_allclose(getattr(back, name), want, rtol=1e-7, atol=1e-7 * np.abs(want).max())


def test_what_has_no_contacts_says_so(leg: condyle.Robot) -> None:
    sizes = {"q": "nq", "v": "nv", "tau": "nv"}
    with pytest.raises(condyle.UnsupportedError, match=r"at\.constraint_jacobian: the robot has no contacts; give"):
        leg.function(lambda at, tau: at.constraint_jacobian() @ tau, sizes)
    with pytest.raises(condyle.UnsupportedError, match=r"at\.step: the robot has no contacts; give"):
        leg.function(lambda at, tau: at.step(tau, 1e-3, active=tau[:1]).v, sizes)
    with pytest.raises(condyle.ShapeError, match=r"active has shape \(2,\), expected \(1,\)"):
        leg.function(lambda at, tau: at.delassus_matrix(tau[:2]), sizes, contacts=touching(leg))
    with pytest.raises(condyle.UnsupportedError, match="there is no frame 'nothing'"):
        leg.function(lambda at, tau: at.v, sizes, contacts=[condyle.Contact("nothing")])


@needs("cc")
def test_an_export_passes_its_own_test(leg: condyle.Robot, tmp_path: Path) -> None:
    f = leg.function(work, SIZES, contacts=touching(leg))
    f.export("c", tmp_path / "out", derivatives=("vjp",))
    sources = sorted(str(path) for path in (tmp_path / "out").glob("*.c"))
    subprocess.run(["cc", "-O1", *sources, "-lm", "-o", str(tmp_path / "check")], check=True)
    subprocess.run([str(tmp_path / "check")], check=True)
