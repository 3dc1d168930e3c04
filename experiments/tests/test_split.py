"""The split partitioning of Plancher 2021: the two halves together are did, on every target that runs here."""

from __future__ import annotations

import numpy as np
import pytest

import condyle
from condyle.errors import BuildError, UnsupportedError
from condyle.functions import FUNCTIONS
from experiments import gpu
from experiments.plancher2021 import partitionings
from experiments.plancher2021.split import LINKS, SPLIT

ROBOTS = {
    "iiwa14": lambda: condyle.load("iiwa14"),
    "hyq floating": lambda: condyle.load("hyq", floating_base=True),
    "chain": lambda: condyle.chain(4, rng=3),
}


@pytest.mark.parametrize("name", ROBOTS)
@pytest.mark.parametrize("target", ["numpy", "cpu"])
@pytest.mark.parametrize("shape", [(), (0,), (2, 5)])
def test_both_halves_are_did(name: str, target: str, shape: tuple[int, ...]) -> None:
    robot = ROBOTS[name]()
    n = int(np.prod(shape))
    q, v = robot.random_state(n, 7)
    a = 10.0 * np.random.default_rng(8).standard_normal((n, robot.nv))
    q, v, a = (x.reshape(*shape, -1) if n else np.zeros((*shape, x.shape[-1])) for x in (q, v, a))
    with partitionings.known():
        dynamics = robot.compile(target=target)
        links = dynamics.function(LINKS.name)(q, v, a)
        assert all(one.shape == (*shape, len(robot.bodies), 6) for one in links)
        found = dynamics.function(SPLIT.name)(q, *links)
    for one, exact in zip(found, robot.compile(target="numpy").inverse_dynamics_derivatives(q, v, a), strict=True):
        scale = np.abs(exact).max(initial=1.0)
        assert one.shape == exact.shape and np.abs(one - exact).max(initial=0.0) <= 1e-12 * scale


def test_the_two_targets_exchange_links() -> None:
    """What the processor computes is that of bodies, whichever target takes it; float32 is what a GPU is sent."""
    robot = ROBOTS["hyq floating"]()
    q, v = robot.random_state(20, 1)
    a = np.random.default_rng(2).standard_normal((20, robot.nv))
    with partitionings.known():
        links = robot.compile(target="cpu", dtype="float32").function(LINKS.name)(*(x.astype("f4") for x in (q, v, a)))
        exact = robot.compile(target="numpy").function(LINKS.name)(q, v, a)
        found = robot.compile(target="numpy").function(SPLIT.name)(q, *(x.astype("f8") for x in links))
    for one, other in zip(links, exact, strict=True):
        assert np.abs(one - other).max() <= 2e-5 * np.abs(other).max()
    expected = robot.compile(target="numpy").inverse_dynamics_derivatives(q, v, a)
    for one, other in zip(found, expected, strict=True):
        assert np.abs(one - other).max() <= 1e-4 * np.abs(other).max()


def test_velocities_and_accelerations_of_links_are_those_of_frames() -> None:
    robot = ROBOTS["iiwa14"]()
    names = robot.body_names
    q, v = robot.random_state(3, 1)
    a = np.random.default_rng(2).standard_normal((3, robot.nv))
    free = condyle.load("iiwa14", gravity=(0.0, 0.0, 0.0)).compile(target="numpy", frames=tuple(names))
    with partitionings.known():
        link_v, link_a, link_f = free.function(LINKS.name)(q, v, a)
    assert np.allclose(link_v, free.frame_velocities(q, v), atol=1e-12)
    assert np.allclose(link_a, free.frame_accelerations(q, v, a), atol=1e-11)
    assert np.allclose(link_f[..., 5], free.inverse_dynamics(q, v, a), atol=1e-11)  # all axes are z


def test_robots_whose_links_are_no_bodies_are_refused() -> None:
    inertia = {"mass": 1.0, "com": (0.0, 0.0, 0.1), "inertia": 0.01 * np.eye(3)}
    axes = {"axis": (1.0, 0.0, 0.0), "second_axis": (0.0, 1.0, 0.0)}
    builder = condyle.Builder().body("a", **inertia)
    builder = builder.joint("j", parent="world", child="a", type="universal", **axes)
    robot = builder.build()
    with partitionings.known(), pytest.raises(UnsupportedError, match="universal"):
        robot.compile(target="numpy").function(LINKS.name)(*(np.zeros(2) for _ in range(3)))


def test_functions_are_known_only_meanwhile_and_bytes_are_those_of_ports() -> None:
    with partitionings.known():
        assert partitionings.bytes_of(FUNCTIONS["did"]) == (4 * 21, 4 * 98)
        assert partitionings.bytes_of(SPLIT) == (4 * (7 + 3 * 42), 4 * 98)
        assert partitionings.bytes_of(FUNCTIONS["difd"]) == (4 * (21 + 49), 4 * 98)
    assert not {LINKS.name, SPLIT.name} & set(FUNCTIONS)


def test_without_an_assembler_the_split_kernel_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    def none() -> None:
        raise BuildError("target 'cuda' needs nvidia-nvjitlink")

    monkeypatch.setattr(partitionings, "assembled", none)
    row = partitionings.counted()
    assert {kernel["function"] for kernel in row["kernels"]} == {"id", "did", "difd"}
    assert "needs nvidia-nvjitlink" in partitionings.kernels(row)[-1][0]
    assert partitionings.parts(row)[1][3:] == [str(row["operations"][SPLIT.name]), "532", "392"]


def test_a_ratio_has_the_processors_part() -> None:
    times = {name: {"16": {gpu.WHOLE: 10.0}} for name in (SPLIT.name, "did", "difd")}
    mine = {"ns": {"16": {partitionings.ALL: {part: {"median": 250.0} for part in ("links", "product")}}}}
    assert partitionings.end_to_end(mine, {"times": times}, 16, "split") == 18.0
    assert partitionings.end_to_end(mine, {"times": times}, 16, "fused") == 14.0
    assert partitionings.ratio(mine, {"times": times}, 16) == "1.80"
    assert partitionings.ratio({}, {"times": times}, 16) == partitionings.ratio(mine, None, 16) == "unmeasured"
