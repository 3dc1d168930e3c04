"""What compile takes, and how it refuses the rest."""

from __future__ import annotations

import inspect

import numpy as np
import pytest

import condyle
from condyle import UnsupportedError
from condyle.exports.targets import EXPORTS, options_of
from tests.driven import driven

ROBOT = condyle.chain(2)


@pytest.mark.parametrize(
    ("options", "word"),
    [
        ({"target": "cobol"}, "cobol"),
        ({"dtype": "float16"}, "float16"),
        ({"links": "parallel"}, "parallel"),
        ({"dtype": None}, "dtype=None"),
        ({"dtype": ">f4"}, "'>f4'.*float64"),
        ({"threads": 0}, "threads"),
        ({"threads": "4"}, "threads='4'"),
        ({"device": 0, "target": "c"}, "device"),
        ({"routes": {"fd": "guess"}}, "guess.*ltl, aba, minv"),
        ({"routes": {"ik": "rnea"}}, "'ik'.*id, fd, m"),
        ({"threads": 1 << 64}, "threads"),
        ({"device": "0", "target": "cuda"}, "device='0'"),
        ({"device": -1, "target": "cuda"}, "device=-1"),
        ({"kernels": 3, "target": "cuda"}, "kernels=3"),
        ({"kernels": {"fd": 3}, "target": "cuda"}, "'fd' is 3"),
        ({"frames": ("link_7",)}, "no frame 'link_7'; did you mean"),
    ],
)
def test_wrong_options(options: dict[str, object], word: str) -> None:
    with pytest.raises(UnsupportedError, match=word):
        ROBOT.compile(**options)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("target", "options", "words"),
    [
        (
            "c",
            {"word": "32", "folding": 2},
            r"'c' does not take .* word \(of target 'verilog'\), folding .*Options of 'c': dtype",
        ),
        ("c", {"step": 1e-3, "constants": "dsp"}, "step .*constants "),
        ("cuda", {"clock": 125.0, "f_ext": 1.0}, "clock .*f_ext .*'cuda': frames"),
        ("cuda", {"dtype": "float64"}, r"dtype \(of target 'c'\)"),
        ("verilog", {"frames": ("x",)}, r"frames \(of target 'c', 'casadi'"),
        ("verilog", {"dtype": "float32"}, r"dtype \(of target 'c'\).*word, dsp"),
    ],
)
def test_exports_refuse_what_says_nothing_to_them(target: str, options: dict, words: str, tmp_path) -> None:
    with pytest.raises(UnsupportedError, match=words):
        condyle.export(ROBOT, target, tmp_path / "out", **options)
    assert not (tmp_path / "out").exists()


def test_every_option_of_an_export_belongs_to_a_target() -> None:
    options = {option for target in EXPORTS for option in options_of(target)}
    assert options == {*[*inspect.signature(condyle.export).parameters][5:]}


@pytest.mark.smoke
def test_number_types_are_said_as_numpy_lets_them() -> None:
    said = (np.float32, np.dtype("float32"), "f4", float, np.dtype("float64"))
    assert [ROBOT.compile(dtype=dtype).dtype.name for dtype in said] == [*["float32"] * 3, *["float64"] * 2]


def test_a_prompt_shows_one_line() -> None:
    assert repr(ROBOT) == "<Robot 'chain': nq 2, nv 2, 2 bodies>"
    assert repr(ROBOT.compile(target="numpy", dtype="f4")) == f"<Dynamics of {ROBOT!r}: target numpy, float32>"


def test_an_unknown_function_is_named() -> None:
    with pytest.raises(UnsupportedError, match=r"'ik'.*id, fd, m"):
        ROBOT.compile().function("ik")
    with pytest.raises(UnsupportedError, match=r"'ik'.*id, fd, m"):
        ROBOT.compile().call("ik", ())


def test_any_whole_number_of_threads() -> None:
    q = np.zeros((40, 2))
    one = ROBOT.compile().mass_matrix(q)
    for threads in (np.int64(2), np.uint8(3), 1 << 30):
        assert np.array_equal(ROBOT.compile(threads=threads).mass_matrix(q), one)  # type: ignore[arg-type]


def test_functions_of_frames_say_which_option_they_need() -> None:
    with pytest.raises(UnsupportedError, match=r"frame_placements: no frames were named .*compile\(frames=\('"):
        ROBOT.compile().frame_placements(np.zeros(2))
    tip = [*ROBOT.frames][-1]
    with pytest.raises(UnsupportedError, match="no meaning with reference_frame='world'"):
        ROBOT.compile(frames=(tip,), reference_frame="world").frame_accelerations(*np.zeros((3, 2)))
    with pytest.raises(UnsupportedError, match="frame_jacobians: no frames"):
        condyle.export(ROBOT, "c", "never", ("id", "jac"))


def test_what_was_compiled_says_every_option_in_order() -> None:
    """A pickle compiles it again by these; inputs that the robot's numbers do not give are none."""
    robot = driven(ROBOT)
    tip = next(reversed(robot.frames))
    options = {
        "target": "numpy",
        "dtype": "float32",
        "threads": 1,
        "links": "serial",
        "routes": {"fd": "aba"},
        "device": None,
        "kernels": "auto",
        "frames": (tip,),
        "reference_frame": "world",
        "force_frame": "local_world_aligned",
        "integrator": "euler",
        "inputs": ("gravity", "damping"),
        "contacts": (condyle.Contact(tip, "point"),),
        "check": False,
        "joint_forces": ("damping", "friction"),
        "actuators": True,
        "friction_velocity": 0.03,
        "stops": (1.0, 0.2, 0.3),
        "implicit": False,
        "joint_rows": True,
        "regressor": ("damping", "armature"),
        "sweeps": 7,
    }
    assert [*options] == [*inspect.signature(condyle.Robot.compile).parameters][1:]
    build, arguments = robot.compile(**options).__reduce__()
    assert arguments._asdict() == {"robot": robot, **options}
    assert build(*arguments).__reduce__()[1] == arguments


def test_options_of_a_gpu_are_kept_until_its_first_call() -> None:
    for device, number in ((None, 0), (0, 0), (2, 2)):
        dyn = ROBOT.compile(target="cuda", device=device, kernels={"fd": "group8"} if device else "auto")
        assert dyn._compiler.device == number and dyn.__reduce__()[1].device == device
    for options in ({"device": 0}, {"kernels": "thread"}, {"kernels": {}}):
        with pytest.raises(UnsupportedError, match="device, kernels: these are options of target 'cuda'"):
            ROBOT.compile("cpu", **options)  # type: ignore[arg-type]


def test_one_iteration_is_the_least() -> None:
    frame = [*ROBOT.frames][-1]
    assert ROBOT.inverse_kinematics((frame,), most=1).most == 1
    for most in (0, -1, 1.5):
        with pytest.raises(UnsupportedError, match=rf"^most={most}: give a whole number from 1 on"):
            ROBOT.inverse_kinematics((frame,), most=most)  # type: ignore[arg-type]
