"""Derivatives of constrained motion against central differences and each other: rows that are independent."""

from __future__ import annotations

from functools import cache
from typing import Any

import numpy as np
import pytest

from condyle import Dynamics
from condyle.model.contact import CONTACT_KINDS, anchors_of, gains_of
from tests.contacts.cases import Array, Case, apart, arm, drawn, hyq, is_independent, law, parts, slopes, tree
from tests.processor import slow

DIFFERENCES = 2e-7
"""Of fourth order with steps of 1e-4: rounding of what is solved for, 1e-12, over the step, and what is behind it."""
CASES = {
    **{f"tree-{seed}": tree(seed) for seed in (1, 3, 9)},
    "hyq": hyq(),
    **{kind: hyq(kind, 1) for kind in CONTACT_KINDS},
    "arm": arm(),
}
NAMES = ["tree-1", "tree-3", "arm", *(slow(name) for name in ("tree-9", "hyq", "plane"))]
OPEN = ("inertias", "gains", "anchors")


@cache
def compiled(name: str, opened: bool = False) -> Dynamics:
    return CASES[name].compile(inputs=OPEN if opened else ())


def given(name: str) -> tuple[Case, list[Array]]:
    """Inputs of cfd at states whose active rows are independent."""
    case = CASES[name]
    at = case.state(4, 2)
    found, on = law(case, compiled(name), at), case.on(at.active)
    assert all(is_independent(found.J[k], on[k], found.M[k]) for k in range(4))
    return case, [at.q, at.v, at.tau, at.active]


def numbers(case: Case, n: int) -> dict[str, Array]:
    """What OPEN names, in each of n states."""
    own = (case.robot.inertias, gains_of(case.contacts), anchors_of(case.contacts))
    return {name: np.tile(x, (n, 1, 1)) for name, x in zip(OPEN, own, strict=True)}


@pytest.mark.parametrize("name", NAMES)
def test_closed_derivatives(name: str) -> None:
    """dcfd, jvp and vjp of the same, along q, v and tau."""
    case, inputs = given(name)
    dyn, state, active = compiled(name), inputs[:3], inputs[3]
    along = drawn(state, case.robot.nv, 3)
    expected = slopes(case.robot, lambda *x: tuple(dyn.constrained_forward_dynamics(*x, active)), state, along)
    found = dyn.constrained_forward_dynamics_derivatives(*inputs)
    closed = [
        sum(np.einsum("n...j,nj->n...", part, dx) for part, dx in zip(three, along, strict=True))
        for three in (found[:3], found[3:])
    ]
    assert apart(closed, expected) < DIFFERENCES
    ahead = dyn.jvp("cfd")(*inputs, *along, 0.0 * active)
    assert apart(list(ahead), expected) < DIFFERENCES
    bars = [np.random.default_rng(4).normal(size=x.shape) for x in ahead]
    back = dyn.vjp("cfd")(*inputs, *bars)
    assert sums([*back[:3]], along) == pytest.approx(sums(bars, list(ahead)), rel=1e-8)


def sums(bars: list[Array], along: list[Array]) -> float:
    return sum(float(np.sum(x * y)) for x, y in zip(bars, along, strict=True))


def changes(along: list[Array]) -> dict[str, Array]:
    """The tangents of OPEN as a jvp takes them."""
    return {f"d{key}": dx for key, dx in zip(OPEN, along, strict=True)}


@pytest.mark.slow
@pytest.mark.parametrize("name", ["tree-3", slow("tree-1"), slow("tree-9"), slow("plane")])
def test_by_numbers_of_the_robot_and_its_contacts(name: str) -> None:
    """jvp, vjp, and blocks of the jacobian: inertias, gains, anchors."""
    case, inputs = given(name)
    dyn, more = compiled(name, True), numbers(case, 4)
    along = [*drawn(inputs[:3], case.robot.nv, 5), 0.0 * inputs[3], *(more[key] * 0.1 + 0.05 for key in OPEN)]

    def at(*x: Array) -> tuple[Array, ...]:
        return tuple(dyn.constrained_forward_dynamics(*x[:4], **dict(zip(OPEN, x[4:], strict=True))))

    expected = slopes(case.robot, at, [*inputs, *more.values()], along)
    ahead = dyn.jvp("cfd")(*inputs, *along[:4], **more, **changes(along[4:]))
    assert apart(list(ahead), expected) < DIFFERENCES
    bars = [np.random.default_rng(4).normal(size=x.shape) for x in ahead]
    back = dyn.vjp("cfd")(*inputs, *bars, **more)
    assert sums(list(back), along) == pytest.approx(sums(bars, list(ahead)), rel=1e-8)
    blocks = dyn.jacobian("cfd", by=OPEN)(*inputs, **more)
    own = dyn.jvp("cfd")(*inputs, *(0.0 * x for x in along[:4]), **more, **changes(along[4:]))
    for of, one in zip(("a", "force"), own, strict=True):
        found = sum(
            np.reshape(getattr(blocks, f"d{of}_d{key}"), (4, np.size(one[0]), -1)) @ np.reshape(dx, (4, -1, 1))
            for key, dx in zip(OPEN, along[4:], strict=True)
        )
        assert apart(np.reshape(found, one.shape), one) < 1e-9


@pytest.mark.parametrize("name", ["tree-3", slow("hyq")])
def test_external_forces(name: str) -> None:
    case, inputs = given(name)
    dyn, f_ext = compiled(name), case.state(4, 2).f_ext
    along = [*drawn(inputs[:3], case.robot.nv, 6), 0.0 * inputs[3], np.random.default_rng(7).normal(size=f_ext.shape)]

    def at(*x: Array) -> tuple[Array, ...]:
        return tuple(dyn.constrained_forward_dynamics(*x))

    expected = slopes(case.robot, at, [*inputs, f_ext], along)
    assert apart(list(dyn.jvp("cfd")(*inputs, *along[:4], f_ext, df_ext=along[4])), expected) < DIFFERENCES
    found = dyn.constrained_forward_dynamics_derivatives(*inputs, f_ext)
    held = slopes(case.robot, lambda *x: at(*x, inputs[3], f_ext), inputs[:3], along[:3])
    closed = sum(np.einsum("nij,nj->ni", part, dx) for part, dx in zip(found[:3], along[:3], strict=True))
    assert apart(closed, held[0]) < DIFFERENCES


@pytest.mark.slow
@pytest.mark.parametrize("name", ["small", "arm"])
def test_second_derivatives(name: str) -> None:
    """lam . (a, force): rows of the hessian along a tangent are differences of the vjp."""
    case = tree(2, 2, 1) if name == "small" else arm()
    dyn, at = case.compile(), case.state(2, 2)
    inputs = [at.q, at.v, at.tau, np.ones_like(at.active)]
    rng = np.random.default_rng(4)
    bars = [rng.normal(size=(2, case.robot.nv)), rng.normal(size=(2, len(case.contacts), 6))]
    along = [*drawn(inputs[:3], case.robot.nv, 3), 0.0 * inputs[3]]
    found: Any = dyn.hessian("cfd")(*inputs, *bars)
    expected = slopes(case.robot, lambda *x: tuple(dyn.vjp("cfd")(*x, *bars)), inputs, along)
    rows = np.concatenate(parts(expected), axis=-1)
    e = np.concatenate(along, axis=-1)
    H = found if isinstance(found, np.ndarray) else found.H
    nv = case.robot.nv
    turned = np.einsum("nij,nj->ni", H, e)
    # by q the vjp lives in the tangent space where it is taken: its slope and H there differ by a term that e sees once
    assert apart(np.sum(turned * e, axis=-1), np.sum(rows * e, axis=-1)) < 1e-6
    assert apart(turned[:, nv:], rows[:, nv:]) < 1e-6
    np.testing.assert_allclose(H, np.swapaxes(H, 1, 2), rtol=0, atol=1e-9 * np.abs(H).max())


@pytest.mark.parametrize("name", ["tree-3", slow("tree-1"), slow("hyq")])
def test_derivatives_of_impacts(name: str) -> None:
    case, inputs = given(name)
    dyn = compiled(name)
    e = np.random.default_rng(8).uniform(0.1, 0.9, (4, len(case.contacts)))
    q, v, _, active = inputs
    along = [*drawn([q, v], case.robot.nv, 3), 0.0 * active, np.ones_like(e)]
    expected = slopes(case.robot, lambda *x: tuple(dyn.impulse_dynamics(*x)), [q, v, active, e], along)
    ahead = dyn.jvp("impact")(q, v, active, e, *along)
    assert apart(list(ahead), expected) < DIFFERENCES
    bars = [np.random.default_rng(4).normal(size=x.shape) for x in ahead]
    assert sums(list(dyn.vjp("impact")(q, v, active, e, *bars)), along) == pytest.approx(
        sums(bars, list(ahead)), rel=1e-8
    )


@pytest.mark.parametrize("name", ["tree-1", "arm", *(slow(name) for name in ("tree-3", "hyq", "line", "plane"))])
def test_closed_derivatives_of_impacts_without_restitution(name: str) -> None:
    case, (q, v, _, active) = given(name)
    dyn, along = compiled(name), drawn([q, v], case.robot.nv, 3)

    def landed(*state: Array) -> tuple[Array, ...]:
        return (dyn.impulse_dynamics(*state, active, np.zeros_like(active)).v,)

    by_q, by_v = dyn.call("dland", [q, v, active])
    found = by_q @ along[0][..., None] + by_v @ along[1][..., None]
    assert apart([found[..., 0]], slopes(case.robot, landed, [q, v], along)) < DIFFERENCES
    np.testing.assert_allclose(by_v[-1], np.eye(case.robot.nv), rtol=0.0, atol=1e-12)  # no contact is on
    assert np.abs(by_q[-1]).max() < 1e-12


def test_every_block_of_the_residuals_of_planes() -> None:
    """d(M a + c - Jᵀ f) and d(J a + gamma) by q, v, a and f: where all entries of a force act, by closed forms."""
    case = arm()
    dyn, at = case.compile(), case.state(3, 2)
    rng = np.random.default_rng(9)
    inputs = [at.q, at.v, rng.normal(size=at.v.shape), rng.normal(size=(3, len(case.contacts), 6))]
    found = dyn.jacobian("cres")(*inputs)
    for k, name in enumerate(("q", "v", "a", "force")):
        along = [np.zeros_like(at.v), *(np.zeros_like(x) for x in inputs[1:])]
        along[k] = rng.normal(size=along[k].shape)
        expected = slopes(case.robot, lambda *x: tuple(dyn.call("cres", x)), inputs, along)
        for output, want in zip(("tau", "gamma"), expected, strict=True):
            block = np.reshape(getattr(found, f"d{output}_d{name}"), (3, want.shape[1], -1))
            assert apart((block @ np.reshape(along[k], (3, -1, 1)))[..., 0], want) < DIFFERENCES, (output, name)
