"""The methods of steps, and the words that options take."""

from __future__ import annotations

import pytest

from condyle.specification import integrators
from condyle.specification.integrators import METHODS, Stage
from condyle.specification.ports import UNBOUND, Bound, Drives

pytestmark = pytest.mark.smoke

WORDS = {
    "PAPERS": ("iiwa14", "hyq", "atlas"),
    "BUNDLED": ("iiwa14", "hyq", "atlas", "panda", "ur5e", "anymal_kinova", "talos", "allegro", "go2", "g1"),
    "MIMICS": ("exact", "independent"),
    "UNMODELLED": ("refuse", "ignore"),
    "DTYPES": ("float64", "float32"),
    "LINKS": ("serial", "scan", "auto"),
    "REFERENCE_FRAMES": ("local", "world", "local_world_aligned"),
    "FORCE_FRAMES": ("local", "local_world_aligned"),
    "INTEGRATORS": ("semi_implicit_euler", "rk4", "euler"),
    "JOINT_FORCES": ("damping", "friction", "springs", "limits"),
    "REGRESSOR": ("damping", "friction", "armature", "stiffness"),
    "LAYERS": ("bodies", "links", "axes", "limits", "frames", "names", "com", "contacts", "ground", "forces"),
    "USUAL": ("bodies", "links", "axes", "frames", "names", "com", "contacts", "ground", "forces"),
    "VIEWS": ("iso", "front", "side", "top"),
    "THEMES": ("auto", "light", "dark"),
    "OVERFLOWS": ("flag", "silent"),
    "BOUNDARY": ("axi", "float32", "async_clock", "link", "echo", "bus_clock"),
}
"""In the order in which messages say them; the first is the default where an option has one."""


@pytest.mark.parametrize("name", WORDS)
def test_the_words_of_an_option(name: str) -> None:
    assert getattr(integrators, name) == WORDS[name]


def test_targets_are_the_librarys_then_those_of_files() -> None:
    assert integrators.TARGETS[:4] == ("cpu", "c", "numpy", "cuda") and integrators.TARGETS[4:] == integrators.ADDED


def test_the_weights_of_each_method() -> None:
    """Those of the velocity add up to one step; Euler's methods differ in the velocity that moves."""
    assert METHODS["euler"].stages == METHODS["semi_implicit_euler"].stages == (Stage(1.0, 1.0, 0.0, 0.0),)
    assert {name: (method.order, method.moves_last) for name, method in METHODS.items()} == {
        "semi_implicit_euler": (1, True),
        "rk4": (4, False),
        "euler": (1, False),
    }
    classical = METHODS["rk4"].stages
    assert [stage.b for stage in classical] == [1 / 6, 1 / 3, 1 / 3, 1 / 6]
    assert [stage.c for stage in classical] == [1 / 2, 1 / 2, 1.0, 1 / 6]
    assert [(stage.d, stage.e) for stage in classical] == [(0.0, 0.0), (1 / 8, 0.0), (0.0, 0.0), (1 / 12, 1.0)]


def test_defaults_of_a_compiled_robot() -> None:
    nothing = dict.fromkeys(
        ("forces", "damping", "friction", "stiffness", "reference", "lower", "upper", "actuators"), ()
    )
    rest = {"effort": (), "friction_velocity": 0.01, "stops": (1e4, 0.01, 0.001), "implicit": True, "joint_rows": False}
    assert Drives()._asdict() == {**nothing, **rest}
    frames = {"frames": (), "reference_frame": "local", "force_frame": "local", "integrator": "semi_implicit_euler"}
    assert Bound() == UNBOUND
    assert Bound()._asdict() == {**frames, "contacts": (), "regressor": (), "sweeps": None, "drives": Drives()}
