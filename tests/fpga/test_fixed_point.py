"""The integers compiled are the model's and the Verilog's, on every bit."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
import pytest

import condyle
from condyle import FixedPoint, Robot, UnsupportedError, fpga
from condyle.backends.cpu.build import supported
from condyle.fpga import integers
from condyle.fpga.rtl.evaluate import evaluate
from condyle.fpga.rtl.vectors import dense, task_of
from condyle.functions import FUNCTIONS
from condyle.specification.ports import F_EXT
from tests.fpga.rtl.conftest import ball_and_plane
from tests.processor import slow
from tests.programs import needs

HARD = {"v": 3.0, "a": 20.0}
FORCE = 50.0
needs_iverilog = needs("iverilog", "make")


def states(robot: Robot, n: int, box: Mapping[str, object], f_ext: float | None = None) -> dict[str, np.ndarray]:
    """Fresh ones; every third is far outside the box."""
    found = fpga.consistent(robot, fpga.sampled(robot, n, 77, fpga.box_of(robot, box, f_ext)))
    wild = np.random.default_rng(5)
    for name in found:
        found[name][::3] *= wild.choice([1.0, 3.0, 50.0, 1e9], found[name][::3].shape)
    return found


def same_as_the_model(fx: FixedPoint, name: str, given: Mapping[str, np.ndarray], f_ext: bool = False) -> int:
    """Every bit of every answer; how many words."""
    compiled = fx._compiled
    function = next(function for function in compiled.tasks if function.name == name)
    plan, taken = compiled.plan(function), function.taking(F_EXT) if f_ext else function
    want = evaluate(plan, name, task_of(plan, name, given))
    n = len(want.over)
    args = [np.reshape(given[port.name], (n, *port.shape(compiled.sizes))) for port in taken.inputs]
    forces = args.pop() if f_ext else None
    value, flag = fx.call(name, args, forces)
    values = value if isinstance(value, tuple) else (value,)
    for port, got in zip(function.outputs, values, strict=True):
        flat = np.reshape(got, (n, -1))
        exact = dense(plan, name, port.name, want, np.zeros_like(flat))
        assert flat.tobytes() == exact.tobytes(), (name, port.name)
    np.testing.assert_array_equal(flag, want.over)
    assert want.over.any() or name in ("m", "minv", "minv_given")
    assert "machine code" in compiled.kernel(taken).description
    return len(plan.results[name]) * n


def test_formats_are_those_of_inputs_and_outputs() -> None:
    fx = condyle.fixed_point(condyle.chain(2, 0))
    for function in [*fx._compiled.tasks][:7]:
        ports = {port.name for port in (*function.inputs, *function.outputs)}
        assert set(fx.formats(function)) == ports == set(fx.formats(function.name)), function.name


EVERY = ("27x18", "q12.10")
"""Words of both kinds, whose functions are all compared."""
WORDS = (*EVERY, "27", "32", "18x18", "12x8", "q8.20")
TREE = condyle.random_tree(2, 3, floating_base=True)


@pytest.mark.slow
@pytest.mark.parametrize(
    ("robot", "word"), [(ball_and_plane(), "27x18"), *(slow(TREE, word) for word in WORDS)], ids=str
)
def test_every_function_is_the_model_on_every_bit(robot: Robot, word: str) -> None:
    """Configurations that are no plain vectors; of a floating base also the functions to which its motion is given.

    Another word changes formats, not operations: two functions have all of these.
    """
    functions = None if word in EVERY else ("minv", "dfd")
    fx = condyle.fixed_point(robot, word, HARD, f_ext=FORCE, functions=functions)
    given = states(robot, 60, HARD, FORCE)
    for name in fx.functions:
        same_as_the_model(fx, name, given, fpga.functions()[name].function.takes_f_ext)


def test_a_given_base_and_one_accelerator_of_some_functions() -> None:
    robot = (
        condyle.Builder("two")
        .body("base", mass=1.0, inertia=0.1 * np.eye(3))
        .body("arm", mass=0.5, com=(0.1, 0.2, 0.3), inertia=0.05 * np.eye(3))
        .joint("hinge", parent="base", child="arm", type="revolute", axis=(0.0, 1.0, 0.0))
        .build(floating_base=True)
    )
    fx = condyle.fixed_point(robot, functions=("dfd_given", "fd"))
    assert fx.functions == ("fd", "dfd_given")
    given = states(robot, 30, {})
    for name in fx.functions:
        same_as_the_model(fx, name, given)
    with pytest.raises(UnsupportedError, match="no function 'id' in this accelerator; there are fd, dfd_given"):
        fx.function("id")
    with pytest.raises(UnsupportedError, match="no function 'id' in this accelerator"):
        fx.call(FUNCTIONS["id"], [given[name] for name in ("q", "v", "a")])


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
def test_random_robots_are_the_model_on_every_bit(seed: int) -> None:
    robot = condyle.random_tree(2 + seed % 2, seed, floating_base=seed % 2 == 0)
    functions = None if seed == 1 else ("id", "fd", "minv", "did", "dfd")  # of a floating base all are compared above
    fx = condyle.fixed_point(robot, ("27x18", "27", "32")[seed % 3], HARD, functions=functions)
    given = states(robot, 100, HARD)
    for name in fx.functions:
        same_as_the_model(fx, name, given)


@pytest.mark.slow
@pytest.mark.parametrize(("name", "n", "functions"), [("iiwa14", 300, None), ("hyq", 40, ("did", "dfd"))])
def test_bundled_robots_are_the_model_on_every_bit(name: str, n: int, functions: tuple[str, ...] | None) -> None:
    robot = condyle.load(name, floating_base=name == "hyq")
    fx = condyle.fixed_point(robot, box={"v": 10, "a": 100}, functions=functions)
    given = states(robot, n, {"v": 10, "a": 100})
    assert sum(same_as_the_model(fx, function, given) for function in fx.functions) > 20_000


@pytest.mark.slow
@needs_iverilog
@pytest.mark.parametrize("name", ["rk4", "dfd"])
def test_the_simulated_verilog_answers_the_same_of_several_passes(name: str) -> None:
    robot = ball_and_plane()
    fx = condyle.fixed_point(robot, f_ext=FORCE)  # of both steps the weights have one format, of rk4 alone another
    given = states(robot, 40, {}, FORCE)
    args, f_ext = [given[name] for name in ("q", "v", "tau")], np.reshape(given["f_ext"], (40, -1, 6))
    value, flag = fx.simulate(name, *args, f_ext=f_ext)
    want, flags = fx.call(name, args, f_ext)
    assert all(x.tobytes() == y.tobytes() for x, y in zip(value, want, strict=True))
    assert np.array_equal(flag, flags)


@pytest.mark.slow
@needs_iverilog
def test_a_million_words_of_iiwa14_are_those_of_the_verilog() -> None:
    robot = condyle.load("iiwa14")
    box, words = {"v": 10, "a": 100}, 0
    fx = condyle.fixed_point(robot, box=box)
    for function in fx._compiled.tasks:
        name, plan = function.name, fx._compiled.plan(function)
        n = -(-SHARES.get(name, 10_000) // len(plan.results[name]))
        given = states(robot, n, box)
        args = [np.reshape(given[port.name], (n, *port.shape(fx._compiled.sizes))) for port in function.inputs]
        value, flag = fx.simulate(name, *args)
        want, flags = fx.call(name, args)
        for x, y in zip(*(x if isinstance(x, tuple) else (x,) for x in (value, want)), strict=True):
            assert x.tobytes() == y.tobytes(), name
        assert np.array_equal(flag, flags)
        words += n * len(plan.results[name])
    assert words >= 1_000_000


SHARES = {"did": 300_000, "difd": 300_000, "m": 300_000, "dfd": 60_000, "minv": 40_000}
"""Words by function; tasks of those with many words are quickest a word."""


def test_a_kernel_is_kept_for_one_robot_and_box_alone() -> None:
    """What a plan is made of has a part in the key: the robot's limits too, which no fingerprint has."""

    def key(box: float = 3.0, **limits: float) -> object:
        builder = condyle.Builder("arm").body("a", mass=1.0, com=(0.0, 0.0, 0.1), inertia=np.eye(3) * 0.1)
        robot = builder.joint("j", parent="world", child="a", type="revolute", axis=(0, 1, 0), **limits).build()
        return condyle.fixed_point(robot, box={"v": box, "a": 20.0})._compiled._key(FUNCTIONS["id"])

    given = [key(), key(upper=1.0, lower=-1.0), key(upper=np.nextafter(1.0, 2.0), lower=-1.0), key(velocity=2.0)]
    given += [key(np.nextafter(3.0, 4.0)), key(armature=1e-12), key(damping=0.1)]
    assert key() == given[0] and len({repr(one) for one in given}) == len(given)


def test_every_option_of_a_plan_has_a_part_in_the_key() -> None:
    def key(function: str = "id", **options: object) -> str:
        given = {"box": HARD, **options}
        return repr(condyle.fixed_point(condyle.chain(2), **given)._compiled._key(FUNCTIONS[function]))  # type: ignore[arg-type]

    others: list[dict[str, object]] = [{"word": "32"}, {"f_ext": 50.0}, {"f_ext": 60.0}, {"step": 2e-3}]
    keys = [key(), key("fd"), key(functions=["id"]), *(key(**options) for options in others)]
    assert key() == keys[0] and len(set(keys)) == len(keys)


def test_a_kernel_is_kept_for_the_next_process(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """The second time nothing is planned."""
    if not supported():
        pytest.skip("kernels are kept as machine code, which needs an x86-64 processor with AVX2 and FMA")
    monkeypatch.setenv("CONDYLE_CACHE_DIR", str(tmp_path))
    robot, still = condyle.chain(2), np.zeros(2)
    first = condyle.fixed_point(robot, functions=["id"], box=HARD).inverse_dynamics(still, still, still)

    def planned(*_: object) -> None:
        raise AssertionError("it was planned")

    monkeypatch.setattr(integers, "planned", planned)
    second = condyle.fixed_point(robot, functions=["id"], box=HARD).inverse_dynamics(still, still, still)
    for one, other in zip(first, second, strict=True):
        np.testing.assert_array_equal(one, other)
