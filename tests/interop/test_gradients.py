"""Changes and gradients by the entries of q, held to differences of `integrate`."""

from __future__ import annotations

import numpy as np
import pytest

import condyle
from condyle.interop import gradients as g

ROBOTS = {
    "all": lambda: condyle.random_tree(9, 3, floating_base=True),
    "planar": lambda: condyle.random_tree(1, 0, types=("planar",)),
    "spherical": lambda: condyle.random_tree(1, 0, types=("spherical",)),
    "flat": lambda: condyle.chain(3, 0),
}


@pytest.mark.parametrize("name", ROBOTS)
def test_maps_between_entries_and_tangents(name):
    robot = ROBOTS[name]()
    layout, rng = g.layout_of(robot), np.random.default_rng(1)
    assert sum(nq for _, nq, _ in layout) == robot.nq and sum(nv for _, _, nv in layout) == robot.nv
    assert g.is_plain(layout) == (name == "flat")
    q, _ = robot.random_state(5, 0)
    step, bar = rng.normal(size=(5, robot.nv)), rng.normal(size=(5, robot.nq))
    h = 1e-6
    moved = (robot.integrate(q, h * step) - robot.integrate(q, -h * step)) / (2 * h)
    change = g.entries_of(np, layout, q, step)
    assert np.allclose(change, moved, atol=1e-8)
    assert np.allclose(g.step_of(np, layout, q, change), step)
    tangent = g.tangent_gradient(np, layout, q, bar)
    assert np.allclose((tangent * step).sum(-1), (bar * change).sum(-1))
    ambient = g.ambient_gradient(np, layout, q, step)
    assert np.allclose(g.tangent_gradient(np, layout, q, ambient), step)
    assert np.allclose(g.entries_of(np, layout, q, g.step_of(np, layout, q, ambient)), ambient)  # along the manifold
    assert np.allclose(
        g.ambient_gradient(np, layout, q[0], step), [g.ambient_gradient(np, layout, q[0], x) for x in step]
    )


def test_pieces_of_a_configuration_in_order():
    """Joints whose q is a plain vector are one piece where they stand side by side; one that mimics has no entries."""
    robot = ROBOTS["all"]()
    pieces, flat = g.layout_of(robot), [joint.kind.is_flat for joint in robot.joints]
    changes = sum(not here or not before for before, here in zip([False, *flat], flat, strict=False))
    assert len(pieces) == changes and ("free", 7, 6) in pieces
    assert g.layout_of(condyle.chain(3, 0)) == (("flat", 3, 3),)
    arm = condyle.load("panda")
    followers = [joint for joint in arm.joints if joint.mimic is not None]
    assert g.layout_of(arm) == (("flat", arm.nq, arm.nv),) and arm.nv == len(arm.joints) - len(followers)


@pytest.mark.parametrize("name", ["all", "planar", "spherical"])
def test_batches_of_states_and_of_steps_broadcast(name):
    """A flat piece has the batch of the step alone."""
    robot = ROBOTS[name]()
    layout, rng = g.layout_of(robot), np.random.default_rng(2)
    q, _ = robot.random_state(3, 0)
    step, bar = rng.normal(size=(2, 1, robot.nv)), rng.normal(size=(2, 1, robot.nq))
    for f, x in ((g.entries_of, step), (g.ambient_gradient, step), (g.step_of, bar), (g.tangent_gradient, bar)):
        whole = np.broadcast_to(x, (2, 3, x.shape[-1]))
        found, want = f(np, layout, q, x), f(np, layout, np.broadcast_to(q, (2, *q.shape)), whole)
        assert found.shape == want.shape and np.array_equal(found, want)
        single = f(np, layout, q, x[0, 0])
        assert single.shape == want[0].shape and np.array_equal(single, want[0])
