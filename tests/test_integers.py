"""`condyle.fixed_point`: on every bit the integer model and the Verilog; calls like those of `Dynamics`."""

from __future__ import annotations

import pickle
from dataclasses import replace
from inspect import signature
from pathlib import Path

import numpy as np
import pytest

import condyle
from condyle import FixedPoint, Robot, ShapeError, SingularError, StateError, UnsupportedError, fpga
from condyle.fpga.functions import library
from condyle.functions import FUNCTIONS, registered
from condyle.specification import Call
from tests.programs import needs

HARD = {"v": 3.0, "a": 20.0}
FORCE = 50.0
SLIDE = """<robot name="slide"><link name="base"/><link name="cart"><inertial><mass value="1"/>
<inertia ixx="0.01" iyy="0.01" izz="0.01" ixy="0" ixz="0" iyz="0"/></inertial></link>
<joint name="rail" type="prismatic"><parent link="base"/><child link="cart"/><axis xyz="0 0 1"/>
<limit lower="-REACH" upper="REACH" effort="1" velocity="1"/>
</joint></robot>"""
needs_iverilog = needs("iverilog", "make")


@pytest.fixture(scope="module")
def arm() -> tuple[Robot, FixedPoint]:
    robot = condyle.chain(3, 2)
    return robot, condyle.fixed_point(robot, box=HARD, f_ext=FORCE, step=2e-3)


def test_answers_have_the_shapes_and_about_the_values_of_dynamics(arm: tuple[Robot, FixedPoint]) -> None:
    robot, fx = arm
    dyn = robot.compile()
    rng = np.random.default_rng(0)
    q, v, a = rng.uniform(-1, 1, (2, 1, 3)), rng.uniform(-1, 1, (5, 3)), rng.uniform(-1, 1, 3)
    f_ext = rng.uniform(-5, 5, (5, 3, 6))
    for name in library():
        method, inputs = fx.function(name), FUNCTIONS[name].inputs
        known = {"q": q, "v": v, "a": a, "tau": a, "Minv": np.broadcast_to(dyn.mass_matrix_inverse(q), (2, 5, 3, 3))}
        args = [known[port.name] for port in inputs]
        value, flag = method(*args)
        want = dyn.function(name)(*args)
        for got, exact in zip(*(x if isinstance(x, tuple) else (x,) for x in (value, want)), strict=True):
            assert got.shape == exact.shape and flag.shape == exact.shape[: flag.ndim] and flag.dtype == np.bool_
            assert np.abs(got - exact).max() < 0.01 * max(1.0, np.abs(exact).max()), name
        assert type(value) is type(want) and not flag.any()
    tau, _ = fx.inverse_dynamics(q, v, a, f_ext=f_ext)
    assert fx.call(FUNCTIONS["id"], (q, v, a), f_ext)[0].tobytes() == tau.tobytes()
    assert np.abs(tau - dyn.inverse_dynamics(q, v, a, f_ext=f_ext)).max() < 1e-2
    (q1, v1), _ = fx.rk4(q, v, a)
    exact = robot.compile(integrator="rk4").step(q, v, np.broadcast_to(a, (2, 5, 3)), np.full((2, 5), 2e-3))
    assert np.abs(q1 - exact[0]).max() < 1e-5 and np.abs(v1 - exact[1]).max() < 1e-3


def test_one_state_an_empty_batch_out_and_threads(arm: tuple[Robot, FixedPoint]) -> None:
    robot, fx = arm
    q, v, a = np.random.default_rng(1).uniform(-2, 2, (3, 700, 3))
    tau, flags = fx.inverse_dynamics(q, v, a)
    one, flag = fx.inverse_dynamics(q[3], v[3], a=a[3])
    assert one.tobytes() == tau[3].tobytes() and flag == flags[3] and flag.shape == ()
    out = np.full((700, 3), np.nan)
    again, _ = fx.inverse_dynamics(q, v, a, out=out)
    assert again is out and out.tobytes() == tau.tobytes()
    alone = condyle.fixed_point(robot, box=HARD, f_ext=FORCE, threads=1)
    assert alone.inverse_dynamics(q, v, a)[0].tobytes() == tau.tobytes()
    held = FixedPoint.__dict__["inverse_dynamics"].__get__(alone)  # a method from before the first call
    front = alone.inverse_dynamics
    assert held(q[3], v[3], a[3])[0].tobytes() == one.tobytes() and alone.inverse_dynamics is front
    empty, none = fx.inverse_dynamics(q[:0], v[:0], a[:0])
    assert empty.shape == (0, 3) and none.shape == (0,)


def test_the_flag_says_that_an_input_left_the_box(arm: tuple[Robot, FixedPoint]) -> None:
    _, fx = arm
    zero = np.zeros(3)
    for v, flagged in ((3.0, False), (3.1, True), (1e300, True), (-3.1, True)):
        assert fx.inverse_dynamics(zero, np.array([0.0, v, 0.0]), zero)[1] == flagged
    (value, flag), (clamped, _) = (fx.inverse_dynamics(zero, np.full(3, v), zero) for v in (1e9, 1e200))
    assert flag and value.tobytes() == clamped.tobytes()


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("target", ["cpu", "numpy"])
def test_what_is_no_number_is_an_error_that_says_which(bad: float, target: str, arm: tuple[Robot, FixedPoint]) -> None:
    robot, fx = arm
    fx = fx if target == "cpu" else condyle.fixed_point(robot, functions=("m",), target="numpy")
    q = np.zeros((2, 3, 3))
    q[1, 1, 2] = bad
    with pytest.raises(StateError, match=r"mass_matrix: q has .* not finite, first in state 4 of 6") as said:
        fx.mass_matrix(q)
    assert said.value.rows == (4,)
    with pytest.raises(StateError, match="not finite"):
        fx.words("m", q)


def test_the_model_answers_where_it_is_asked_for_and_is_the_same(arm: tuple[Robot, FixedPoint]) -> None:
    robot, fx = arm
    model = condyle.fixed_point(robot, box=HARD, f_ext=FORCE, target="numpy")
    q, v, tau = np.random.default_rng(3).uniform(-4, 4, (3, 50, 3))
    for (value, flag), (same, flags) in zip(
        *([f.forward_dynamics(q, v, tau), f.mass_matrix(q[0])] for f in (fx, model)), strict=True
    ):
        assert value.tobytes() == same.tobytes() and np.array_equal(flag, flags)
    assert "fd         machine code" in fx.explain() and "fd         NumPy, as asked for" in model.explain()
    assert "not compiled before its first call" in model.explain()


def test_a_function_that_is_too_long_is_answered_by_the_model(
    arm: tuple[Robot, FixedPoint], monkeypatch: pytest.MonkeyPatch
) -> None:
    robot, fx = arm
    monkeypatch.setattr("condyle.fpga.integers.LONGEST", 10)
    long = condyle.fixed_point(robot, box={**HARD, "tau": 99.0})
    value, _ = long.mass_matrix(np.zeros((4, 3)))
    assert "operations are too many to compile" in long.explain()
    assert value.tobytes() == fx.mass_matrix(np.zeros((4, 3)))[0].tobytes()


def test_operations_of_a_task_are_those_of_its_arrays_at_each_stage(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    """Four stages have four times as many as one; as many as LONGEST are compiled, and no more."""
    monkeypatch.setenv("CONDYLE_CACHE_DIR", str(tmp_path))

    def said(name: str) -> str:
        fx, zero = condyle.fixed_point(condyle.chain(1, 0), functions=("rk4", "euler", "m")), np.zeros(1)
        fx.call(name, (zero,) if name == "m" else (zero, zero, zero))
        return next(line for line in fx.explain().splitlines() if line.startswith(f"{name} "))

    monkeypatch.setattr("condyle.fpga.integers.LONGEST", 0)
    lengths = {
        name: int(said(name).split("NumPy, ")[1].split(" operations are too many")[0]) for name in ("rk4", "euler", "m")
    }
    plan = fpga.planned(condyle.chain(1, 0), fpga.Options(("rk4", "euler", "m")))
    assert lengths["rk4"] == 4 * lengths["euler"] and lengths["m"] == len(plan.datapaths["mass"].cones["M"])
    for longest, runs in ((lengths["m"] - 1, "too many to compile"), (lengths["m"], "machine code")):
        monkeypatch.setattr("condyle.fpga.integers.LONGEST", longest)
        assert runs in said("m")


def test_a_function_that_no_code_computes_is_answered_by_the_model(
    arm: tuple[Robot, FixedPoint], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    robot, fx = arm

    def refused(*_: object) -> None:
        raise UnsupportedError("too wide a word")

    monkeypatch.setenv("CONDYLE_CACHE_DIR", str(tmp_path))
    monkeypatch.setattr("condyle.fpga.integers.program_of", refused)
    model = condyle.fixed_point(robot, box=HARD, f_ext=FORCE, step=2e-3, functions=("id", "m"))
    q, v, a = np.random.default_rng(5).uniform(-4, 4, (3, 2100, 3))
    for same, value in zip(model.inverse_dynamics(q, v, a), fx.inverse_dynamics(q, v, a), strict=True):
        assert same.tobytes() == value.tobytes()  # three pieces of at most 1000 states
    assert "id         NumPy, too wide a word" in model.explain()
    with pytest.raises(StateError, match=r"v has .* not finite, first in state 2000 of 2100"):
        model.inverse_dynamics(q, np.where(np.arange(2100)[:, None] == 2000, np.nan, v), a)


def test_functions_registered_later_are_methods_too(arm: tuple[Robot, FixedPoint]) -> None:
    robot, fx = arm
    mass = FUNCTIONS["m"]
    again = replace(mass, name="again", method="mass_again", composition=(Call(mass, ("M",)),))
    q, same = np.ones(3), condyle.fixed_point(robot, functions=("m",), target="numpy")
    with registered(again):
        later = condyle.fixed_point(robot, functions=("again",), target="numpy")
        np.testing.assert_array_equal(later.mass_again(q)[0], same.mass_matrix(q)[0])
    for nothing in ("mass_again", "_mass_again", "__mass__"):
        with pytest.raises(AttributeError, match=f"'FixedPoint' object has no attribute '{nothing}'"):
            getattr(fx, nothing)


def test_limits_of_joints_tell_kernels_that_are_kept_apart(tmp_path: Path) -> None:
    """The robot's fingerprint has no limits, and formats follow from them."""
    made: list[float] = []
    for reach in (0.5, 3.0):
        (tmp_path / "slide.urdf").write_text(SLIDE.replace("REACH", str(reach)))
        robot = condyle.load(tmp_path / "slide.urdf")
        _, flag = condyle.fixed_point(robot, functions=("id",)).inverse_dynamics([0.7], [0.0], [0.0])
        made.append(bool(flag))
    assert made == [True, False]


def test_words_and_formats_are_those_of_the_hardware(arm: tuple[Robot, FixedPoint]) -> None:
    _, fx = arm
    q, v, a = np.random.default_rng(2).uniform(-1, 1, (3, 2, 3))
    words, formats = fx.words("id", q, v, a), fx.formats("id")
    assert set(words) == {"q", "v", "a"} and set(formats) == {"q", "v", "a", "tau", "f_ext"}
    for name, given in (("q", q), ("v", v), ("a", a)):
        scale = np.array([2.0 ** formats[name][k][1] for k in range(3)])
        np.testing.assert_array_equal(words[name], np.rint(given * scale))
    tau, _ = fx.inverse_dynamics(q, v, a)
    whole = tau * np.array([2.0 ** formats["tau"][k][1] for k in range(3)])
    np.testing.assert_array_equal(whole, np.rint(whole))


@needs_iverilog
def test_the_simulated_verilog_answers_the_same(arm: tuple[Robot, FixedPoint]) -> None:
    """Two calls of one bench, the second with more states than the first had room for."""
    _, fx = arm
    said: list[str] = []
    rng = np.random.default_rng(4)
    for batch in ((5,), (10, 9)):
        q, v, a = rng.uniform(-3.3, 3.3, (3, *batch, 3))
        value, flag = fx.simulate("id", q, v, a, progress=said.append)
        want, flags = fx.inverse_dynamics(q, v, a)
        assert value.tobytes() == want.tobytes() and np.array_equal(flag, flags) and flags.any() and not flags.all()
    assert said[:2] == ["generating ...", "simulating, 0 of 5 tasks done ..."] and said[-1] == ""


def test_bad_input(arm: tuple[Robot, FixedPoint]) -> None:
    robot, fx = arm
    zero = np.zeros(3)
    with pytest.raises(UnsupportedError, match="word '7x7'"):
        condyle.fixed_point(robot, "7x7")
    with pytest.raises(UnsupportedError, match="box: there is no 'speed' in a box"):
        condyle.fixed_point(robot, box={"speed": 1.0})
    with pytest.raises(UnsupportedError, match="cuda"):
        condyle.fixed_point(robot, target="cuda")
    with pytest.raises(UnsupportedError, match="'fk' has no hardware plan"):
        condyle.fixed_point(robot, functions=("fk",))
    with pytest.raises(UnsupportedError, match=r"has no external forces: give fixed_point\(\.\.\., f_ext="):
        condyle.fixed_point(robot).inverse_dynamics(zero, zero, zero, f_ext=np.zeros((3, 6)))
    with pytest.raises(UnsupportedError, match="mass_matrix does not depend on external forces: call it without f_ext"):
        fx.call("m", (zero,), np.zeros((3, 6)))
    for wrong, said in (
        ({"word": 27}, "word=27: give text, such as '27x18', '32' or 'q16.16'"),
        ({"functions": "id"}, "functions='id': give a list of short names"),
        ({"functions": 7}, "functions=7: give a list"),
        ({"threads": 0}, "threads=0.*None for every core"),
        ({"f_ext": "large"}, "f_ext='large'"),
        ({"step": None}, "step=None: give a number, in seconds, or leave it out"),
    ):
        with pytest.raises(UnsupportedError, match=said):
            condyle.fixed_point(robot, **wrong)
    with pytest.raises(ShapeError, match="rk4: v has shape"):
        fx.rk4(zero, np.zeros(4), zero)
    with pytest.raises(UnsupportedError, match="tool"):
        fx.simulate("id", zero, zero, zero, tool="modelsim")
    with pytest.raises(TypeError):
        fx.inverse_dynamics(zero, zero)
    builder = condyle.Builder("m").body("base").body("link")
    with pytest.warns(condyle.ModelWarning, match="moves no mass"):
        massless = builder.joint("j", parent="base", child="link", type="prismatic", axis=(1.0, 0.0, 0.0)).build()
    with pytest.raises(SingularError):
        condyle.fixed_point(massless).forward_dynamics([0.0], [0.0], [0.0])


def test_a_pickle_and_what_is_said_of_it(arm: tuple[Robot, FixedPoint]) -> None:
    _, fx = arm
    again = pickle.loads(pickle.dumps(fx))
    q = np.ones((2, 3))
    assert again.mass_matrix(q)[0].tobytes() == fx.mass_matrix(q)[0].tobytes()
    own = {"box": HARD, "f_ext": FORCE, "step": 3e-3, "functions": ("id",), "threads": 1, "target": "numpy"}
    other = condyle.fixed_point(condyle.chain(2, 0), "32", **own)
    same = pickle.loads(pickle.dumps(other))
    assert (
        same._compiled.options == other._compiled.options
        and same._compiled.robot.fingerprint == other._compiled.robot.fingerprint
    )
    assert (same.functions, same._threads, same._compiled.target) == (("id",), 1, other._compiled.target)
    assert other._compiled.target.is_reference and not fx._compiled.target.is_reference
    assert repr(fx).startswith("<FixedPoint of") and "27x18" in repr(fx)
    assert list(signature(FixedPoint.__dict__["rk4"]).parameters) == ["self", "q", "v", "tau", "f_ext", "out"]
    assert "Answers (value, flag)" in str(fx.inverse_dynamics.__doc__)
