"""How rivals are compiled and called: by doubles of their libraries, so that no compiler runs."""

from __future__ import annotations

import ctypes
import re
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import condyle
from condyle.cli import rivals
from condyle.cli.rivals import mujoco_c, pinocchio_cpp, rival
from condyle.cli.rivals.crocoddyl_steps import CrocoddylSteps
from condyle.cli.rivals.mujoco_c import MjxRollout, MujocoC, MujocoRollout, mjcf
from condyle.cli.rivals.numbers import JOINT_KINDS, held, numbers_of, word_of
from condyle.cli.rivals.pinocchio_cpp import Built, CasadiC, PinocchioCpp, model_of
from condyle.cli.rivals.rival import Compiled, Cpp, Headers, Model
from condyle.errors import BuildError, UnsupportedError
from condyle.functions import FUNCTIONS, function_of

ROBOT = condyle.chain(2, rng=0)


class Heard:
    """A function of a C library that keeps what it was given."""

    def __init__(self, answer: Any = None) -> None:
        self.calls: list[tuple[Any, ...]] = []
        self.answer = answer

    def __call__(self, *given: Any) -> Any:
        self.calls.append(given)
        return self.answer


def fake_library() -> Any:
    names = ("rival_run", "rival_free", "rival_time")
    more = {"rival_new": Heard(77), "rival_function": Heard(5), "rival_size": Heard(0), "rival_write": Heard(0)}
    return SimpleNamespace(**{name: Heard() for name in names}, **more)


def addresses(*arrays: np.ndarray) -> tuple[int, ...]:
    return tuple(array.ctypes.data for array in arrays)


def test_a_call_has_its_numbers_and_the_addresses_of_its_arrays() -> None:
    """An argument that is missing is the last one that is there; without out answers stay inside."""
    library, arrays = fake_library(), [np.zeros((3, 2)) for _ in range(4)]
    q, v, a, minv = arrays
    compiled = Compiled(library, 9)
    for given, pointers in (
        ([q], addresses(q, q, q)),
        ([q, v], addresses(q, v, v)),
        ([q, v, a], addresses(q, v, a)),
    ):
        compiled.call("m", given)()
        assert library.rival_run.calls.pop() == (9, 2, 3, *pointers, None, None)
    compiled.call("difd", arrays, [q, v])()
    *numbers, out = library.rival_run.calls.pop()
    assert tuple(numbers) == (9, 6, 3, *addresses(q, v, a, minv))
    assert [*out] == list(addresses(q, v))
    assert len(library.rival_run.argtypes) == 8 and library.rival_run.restype is None
    assert library.rival_run.argtypes[1:3] == [ctypes.c_int, ctypes.c_long]


def test_a_model_is_given_back_once_unless_it_was_refused() -> None:
    library = fake_library()
    model = Model(library, "text", 3)
    assert (model.handle, library.rival_new.calls) == (77, [("text", 3)])
    del model
    assert library.rival_free.calls == [(77,)]
    library.rival_new.answer = None
    refused = Model(library)
    assert refused.handle is None
    del refused
    assert len(library.rival_free.calls) == 1


def test_a_step_is_told_its_time_and_a_rollout_its_steps() -> None:
    library = fake_library()
    built = Built(library)
    q, tau, dt = np.zeros((3, 2)), np.zeros((3, 7, 2)), np.full(3, 0.5)
    built.call("fd", [q, q, q])()
    assert not library.rival_time.calls and library.rival_function.calls == [(b"fd",)]
    built.call("step", [q, q, q, dt])()
    built.call("rollout", [q, q, tau, dt])()
    assert library.rival_time.calls == [(77, 0.5, 1), (77, 0.5, 7)]
    assert [call[1:3] for call in library.rival_run.calls] == [(5, 3)] * 3
    assert all(call[6] is None for call in library.rival_run.calls), "dt is not a matrix"


@pytest.fixture
def pinocchio_there(monkeypatch: pytest.MonkeyPatch) -> Heard:
    """Headers and a compiler that are said to be there; what is built."""
    built = Heard(fake_library())
    monkeypatch.setattr(rival, "pinocchio_headers", lambda: Headers(("-isystem", "pin"), "4.1", "3.4.0"))
    monkeypatch.setattr(rival, "cpp_compiler", lambda names: Cpp(f"/bin/{names[0]}", f"{names[0]} 19"))
    monkeypatch.setattr(rival, "library", built)
    return built


@pytest.mark.parametrize(("name", "compiler"), [("pinocchio", "clang++-19"), ("pinocchio-gcc", "g++")])
def test_pinocchio_is_built_by_the_compiler_of_its_name(pinocchio_there: Heard, name: str, compiler: str) -> None:
    opened = rivals.opened(name, ROBOT)
    assert opened.name == name and opened.about == {
        "version": "4.1",
        "eigen": "3.4.0",
        "compiler": f"{compiler} 19",
        "flags": "-std=c++17 -O3 -march=native -DNDEBUG",
    }
    q = np.zeros((1, 2))
    for _ in range(2):
        opened.answers("fd", [q, q, q], [q])
        opened.call("jac", [q])()
    folder = pinocchio_cpp.FOLDER
    headers = (folder / "pinocchio_run.hpp", folder / "pinocchio_model.hpp")
    command = [f"/bin/{compiler}", *pinocchio_cpp.FLAGS, "-isystem", "pin", *rival.SHARED]
    assert pinocchio_there.calls == [
        (command, folder / source, headers, f"Pinocchio 4.1 by {name}")
        for source in ("pinocchio_dynamics.cpp", "pinocchio_functions.cpp")
    ]
    assert [opened.tolerance(word) for word in ("fd", "step", "rollout")] == [1e-8] * 3


def test_a_source_elsewhere_finds_the_headers_here(pinocchio_there: Heard, tmp_path: Path) -> None:
    PinocchioCpp(ROBOT).build(tmp_path / "own.cpp")
    ((command, source, *_),) = pinocchio_there.calls
    assert command[-2:] == ["-I", str(pinocchio_cpp.FOLDER)] and source == tmp_path / "own.cpp"


def test_steps_of_turning_joints_may_differ_in_first_order(pinocchio_there: Heard) -> None:
    for robot, allowed in ((ROBOT, 1e-8), (condyle.random_tree(1, rng=0, types=("free",)), 1e-3)):
        found = PinocchioCpp(robot)
        assert (found.tolerance("step"), found.tolerance("rollout"), found.tolerance("id")) == (allowed, allowed, 1e-8)


class CasadiThere(CasadiC):
    """Without the package: what it writes is given."""

    def __init__(self) -> None:
        self._folder, self._headers = Path("casadi"), Headers(("-isystem", "pin"), "4.1", "3.4.0")
        self._numbers, self._compiler = numbers_of(ROBOT, "CasADi"), SimpleNamespace(path="cc", version="cc 9")
        self._functions = {}


class Writer:
    """CasADi's writer: a function of a library that writes this text."""

    argtypes: object = None

    def __init__(self, text: str, status: int = 0) -> None:
        self.text, self.status = text, status

    def __call__(self, struct: object, number: int, folder: bytes) -> int:
        Path(folder.decode(), "f.c").write_text(self.text.format(number=number))
        return self.status


def test_casadi_writes_and_builds_each_function_once(pinocchio_there: Heard, monkeypatch: pytest.MonkeyPatch) -> None:
    built = list[tuple[Any, ...]]()

    def build(command: list[str], source: Path, beside: object, label: str) -> Any:
        built.append((command, source.name, beside, label, source.read_text()))
        library = fake_library()
        library.rival_write = Writer("int f{number};")
        return library

    monkeypatch.setattr(rival, "library", build)
    casadi, q = CasadiThere(), np.zeros((3, 2))
    for _ in range(2):
        casadi.call("m", [q])()
    (*writer, _), (*function, text) = built
    links = ("-Lcasadi", "-Wl,-rpath,casadi", "-lcasadi")
    includes = ("-isystem", str(Path("casadi", "include")), "-isystem", "pin")
    command = ["/bin/g++", "-std=c++17", "-O0", "-DNDEBUG", *includes, *rival.SHARED, *links]
    assert writer == [command, "casadi_write.cpp", (rival.MODEL,), "CasADi's writer"]
    own = ["cc", "-std=c11", "-O3", "-march=native", *rival.SHARED, "-lm"]
    assert function == [own, "f.c", (), "m by CasADi"]
    assert "int f2;" in text and "#include GENERATED" not in text
    assert casadi.tolerance("m") == 1e-8


@pytest.mark.parametrize(
    ("status", "text", "size", "error", "said"),
    [
        (1, "", 0, BuildError, "CasADi could not write id"),
        (0, "x" * (2**21 + 1024), 0, UnsupportedError, "CasADi wrote 2049 KB of C for id"),
        (0, "x", 1, UnsupportedError, "id by CasADi takes more memory"),
    ],
)
def test_what_casadi_cannot_do_is_said(
    monkeypatch: pytest.MonkeyPatch, status: int, text: str, size: int, error: type[Exception], said: str
) -> None:
    monkeypatch.setattr(CasadiThere, "_writer", SimpleNamespace(rival_write=Writer(text, status)))
    monkeypatch.setattr(rival, "library", lambda *_: SimpleNamespace(rival_size=lambda: size))
    with pytest.raises(error, match=said):
        CasadiThere().call("id", [np.zeros((1, 2))] * 3)


def test_text_of_two_mib_is_compiled(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(CasadiThere, "_writer", SimpleNamespace(rival_write=Writer("x" * 2**21)))
    monkeypatch.setattr(rival, "library", lambda *_: fake_library())
    CasadiThere().call("id", [np.zeros((1, 2))] * 3)()


def test_upper_triangles_are_made_whole() -> None:
    class Answering(CasadiThere):
        def _compiled(self, function: str) -> Any:
            return SimpleNamespace(call=lambda function, arrays, out: lambda: None)

    upper = np.array([[[1.0, 2.0, 3.0], [9.0, 4.0, 5.0], [9.0, 9.0, 6.0]]])
    whole = [[1.0, 2.0, 3.0], [2.0, 4.0, 5.0], [3.0, 5.0, 6.0]]
    for function, symmetric in (("m", {0}), ("minv", {0}), ("dfd", {2}), ("did", set())):
        out = [upper.copy() for _ in range(3)]
        Answering().answers(function, [np.zeros((1, 3))], out)
        assert [x[0].tolist() == whole for x in out] == [k in symmetric for k in range(3)], function


@pytest.mark.parametrize("given", [1, 2, 3, 4])
def test_casadi_is_given_three_arrays_at_least(given: int) -> None:
    arrays = [np.full((2, 3), k) for k in range(given)]
    found = pinocchio_cpp._three(arrays)
    assert len(found) == max(3, given)
    assert [x.tolist() for x in found[:given]] == [x.tolist() for x in arrays]
    assert all(x.shape == (2, 3) and not x.any() for x in found[given:])


def test_the_first_compiler_that_runs_is_taken(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    for name, status in (("broken", 1), ("good", 0), ("better", 0)):
        (tmp_path / name).write_text(f"#!/bin/sh\necho {name} 19.1\necho more\nexit {status}\n")
        (tmp_path / name).chmod(0o755)
    assert rival.cpp_compiler(("none", "broken", "good", "better")) == Cpp(str(tmp_path / "good"), "good 19.1")
    with pytest.raises(UnsupportedError, match=r"no C.. compiler that runs: tried none, broken"):
        rival.cpp_compiler(("none", "broken"))


def test_headers_are_found_beside_each_other(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.path", [str(tmp_path)])
    monkeypatch.setattr(rival.metadata, "version", lambda name: {"pin": "4.1"}[name])
    with pytest.raises(UnsupportedError, match="Pinocchio's headers are not installed"):
        rival.pinocchio_headers()
    include = tmp_path / "cmeel.prefix" / "include"
    for file in ("pinocchio/multibody.hpp", "eigen3/Eigen/Core", "eigen3/Eigen/src/Core/util/Macros.h"):
        (include / file).parent.mkdir(parents=True, exist_ok=True)
        (include / file).touch()
    macros = include / "eigen3/Eigen/src/Core/util/Macros.h"
    macros.write_text("// x\n#define EIGEN_WORLD_VERSION 3\n#define EIGEN_MAJOR_VERSION 4\n#define OTHER 1\n")
    found = rival.pinocchio_headers()
    assert found.flags[-4:] == ("-isystem", str(include), "-isystem", str(include / "eigen3"))
    assert found.flags[:-4] == rival.DEFINITIONS
    assert (found.pinocchio, found.eigen) == ("4.1", "3.4.?")


def test_a_library_is_kept_by_all_that_it_is_made_of(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    source, header = tmp_path / "a.c", tmp_path / "a.h"
    source.write_text("source")
    header.write_text("header")
    ran, kept = list[Any](), list[Any]()

    def fetch(parts: list[str], label: str, make: Any) -> str:
        kept.append((parts, label))
        make(tmp_path / "a.so")
        return "built"

    monkeypatch.setattr(rival.cache, "fetch", fetch)
    monkeypatch.setattr(rival.trusted_folders, "library", lambda built: f"opened {built}")
    monkeypatch.setattr(rival, "run", lambda *given: ran.append(given))
    monkeypatch.setattr(rival, "find_compiler", lambda: SimpleNamespace(identity="this machine"))
    command = ["cc", "-O3", "-lm", "-Lx", "-l:y.so"]
    assert rival.library(command, source, (header,), "Y") == "opened built"
    assert kept == [(["rival", *command, "a.c", "this machine", "source", "header"], "Y, for comparison")]
    own = ["cc", "-O3", "-Lx", "-o", str(tmp_path / "a.so"), str(source), "-lm", "-l:y.so"]
    assert ran == [([own], tmp_path, 900.0, 1)], "libraries behind the source that uses them"


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("libmujoco.so.3.9.1", "needs MuJoCo 4 or newer; version 3.9.1 is installed"),
        (None, "the mujoco package has no shared library"),
    ],
)
def test_another_mujoco_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str | None, said: str
) -> None:
    if name is not None:
        (tmp_path / name).touch()
    monkeypatch.setattr(rival, "wheel_folder", lambda *_: tmp_path)
    with pytest.raises(UnsupportedError, match=said):
        MujocoC(ROBOT)


def test_mujoco_is_linked_by_its_own_library(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "libmujoco.so.4.0.1").touch()
    built = Heard(fake_library())
    monkeypatch.setattr(rival, "wheel_folder", lambda *_: tmp_path)
    monkeypatch.setattr(rival, "library", built)
    monkeypatch.setattr(mujoco_c, "find_compiler", lambda: SimpleNamespace(path="cc"))
    opened = rivals.opened("mujoco", ROBOT)
    links = (f"-L{tmp_path}", f"-Wl,-rpath,{tmp_path}", "-l:libmujoco.so.4.0.1")
    command = ["cc", "-std=c11", "-O3", "-isystem", str(tmp_path / "include"), *rival.SHARED, *links]
    assert built.calls == [(command, mujoco_c.SOURCE, (), "MuJoCo")]
    assert opened.about["version"] == "4.0.1"
    assert [opened.tolerance(word) for word in ("id", "did", "dfd", "dstep")] == [1e-8, 1e-4, 1e-4, 1e-4]
    q = np.zeros((3, 2))
    for number, word in enumerate(("id", "fd", "m", "minv", "did", "dfd", "difd", "step", "dstep")):
        opened.call(word, [q, q, q, np.full(3, 0.25)])()
        assert built.answer.rival_run.calls[-1][:3] == (77, number, 3)
    texts = [text.decode() for text, *_ in built.answer.rival_new.calls]
    assert [text.count("<motor ") for text in texts] == [0, 2], "derivatives of a step have motors"
    built.answer.rival_new.answer = None
    with pytest.raises(UnsupportedError, match="MuJoCo refuses 'chain"):
        MujocoC(ROBOT)


def test_mujoco_of_many_threads_has_a_pool() -> None:
    mujoco = pytest.importorskip("mujoco", reason="needs the mujoco package: pip install 'condyle[bench]'")
    assert MujocoRollout(ROBOT).about == {
        "version": mujoco.__version__,
        "flags": "the wheel's own library",
        "threads": "1",
    }
    assert MujocoRollout(ROBOT, threads=2).about["threads"] == "2"
    heard = Heard(SimpleNamespace(rollout=lambda *_, **__: None))
    for threads, pool in ((1, 0), (2, 2)):
        found = MujocoRollout(ROBOT, threads)
        found._module = SimpleNamespace(Rollout=lambda nthread: heard(nthread))
        found.call("rollout", [np.zeros((1, 2)), np.zeros((1, 2)), np.zeros((1, 3, 2)), np.ones(1)])
        assert heard.calls.pop() == (pool,)
    assert (MujocoRollout(ROBOT, batch=True).name, MujocoRollout(ROBOT).name) == ("mujoco-batch", "mujoco-rollout")


def test_mjx_takes_no_free_joint(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(rival, "package", lambda *_: None)
    with pytest.raises(UnsupportedError, match="MJX integrates free joints differently"):
        MjxRollout(condyle.load("hyq", floating_base=True))


def test_crocoddyl_has_two_integrators() -> None:
    with pytest.raises(UnsupportedError, match="crocoddyl has no rk8; it has semi_implicit_euler, rk4"):
        CrocoddylSteps(ROBOT, "rk8")


def test_a_package_without_headers_is_told_from_none(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("sys.path", [str(tmp_path)])
    with pytest.raises(UnsupportedError, match="casadi is not installed"):
        rival.wheel_folder("casadi", "bench", "a.h")
    (tmp_path / "casadi" / "include").mkdir(parents=True)
    with pytest.raises(UnsupportedError, match="casadi is installed without its C headers"):
        rival.wheel_folder("casadi", "bench", "a.h")
    (tmp_path / "casadi" / "include" / "a.h").touch()
    assert rival.wheel_folder("casadi", "bench", "a.h") == tmp_path / "casadi"


@pytest.mark.parametrize(
    ("axis", "type", "kind"),
    [
        ((1, 0, 0), "revolute", 0),
        ((0, 1, 0), "revolute", 1),
        ((0, 0, 1), "continuous", 2),
        ((0, 0.6, 0.8), "revolute", 3),
        ((0, 0, -1), "revolute", 3),
        ((1, 0, 0), "prismatic", 4),
        ((0, 0, 1), "prismatic", 6),
        ((0.6, 0, 0.8), "prismatic", 7),
        ((0, 0, 1), "spherical", 8),
        ((0, 0, 1), "free", 9),
    ],
)
def test_a_joint_has_the_number_of_its_type_and_axis(axis: tuple[float, ...], type: str, kind: int) -> None:
    builder = condyle.Builder().body("a", mass=2.0, com=(0.1, 0.2, 0.3), inertia=0.1 * np.eye(3))
    more = {} if kind >= 8 else {"axis": axis}
    robot = builder.joint("j", parent="world", child="a", type=type, xyz=(1.0, 2.0, 3.0), **more).build()
    numbers = numbers_of(robot, "Pinocchio")
    assert numbers.kind.tolist() == [kind] and numbers.parent.tolist() == [-1]
    assert numbers.translation.tolist() == [[1.0, 2.0, 3.0]] and numbers.com.tolist() == [[0.1, 0.2, 0.3]]
    struct = numbers.struct()
    assert (struct.joints, struct.frames, struct.kind[0], struct.mass[0], struct.com[2]) == (1, 0, kind, 2.0, 0.3)
    words = {0: "hinge", 4: "slide", 8: "ball", 9: "free"}
    word = words[kind if kind >= 8 else kind // 4 * 4]
    text = mjcf(numbers)
    assert f'type="{word}"' in text and ('axis="' in text.replace("xyaxes", "")) == (kind < 8)
    assert kind in range(JOINT_KINDS[type], JOINT_KINDS[type] + 4)


def test_numbers_behind_a_joint_are_seen_from_its_moved_frame() -> None:
    """What stands behind a joint is turned by a quarter about z, and shifted."""
    robot = condyle.chain(2, rng=3)
    turn = np.array([[0.0, -1.0, 0.0], [1.0, 0.0, 0.0], [0.0, 0.0, 1.0]])
    after = robot.joints[0].after.from_rpy((0.1, 0.2, 0.3), (0.0, 0.0, np.pi / 2))
    moved = replace(robot, joints=(replace(robot.joints[0], after=after), robot.joints[1]))
    plain, found = numbers_of(robot, "Pinocchio"), numbers_of(moved, "Pinocchio")
    shift = np.array((0.1, 0.2, 0.3))
    assert np.allclose(found.com[0], turn @ plain.com[0] + shift)
    assert np.allclose(found.inertia[0], turn @ plain.inertia[0] @ turn.T)
    assert np.allclose(found.rotation[1], turn @ plain.rotation[1])
    assert np.allclose(found.translation[1], turn @ plain.translation[1] + shift)
    assert np.allclose(found.com[1], plain.com[1]) and np.allclose(found.translation[0], plain.translation[0])


def test_answers_that_differ_by_what_is_allowed_are_refused() -> None:
    function = FUNCTIONS["id"]
    ours = [np.array([[2.0, 1.0]])]

    def other(error: float) -> Any:
        def answers(word: str, arguments: object, out: list[np.ndarray]) -> None:
            out[0][...] = [[2.0, 1.0 + 2.0 * error]]

        return SimpleNamespace(name="other", answers=answers, tolerance=lambda word: 0.25)

    assert held(ROBOT, other(0.125), "id", [], ours, function.outputs) == 0.125
    for error in (0.25, 0.5, float("nan")):
        with pytest.raises(BuildError, match=r"other and condyle differ by .* in id; nothing was timed"):
            held(ROBOT, other(error), "id", [], ours, function.outputs)


def test_either_sign_of_a_quaternion_is_the_same_configuration() -> None:
    robot = condyle.random_tree(2, rng=0, types=("spherical",))
    q, v = robot.random_state(3, 0)
    other = SimpleNamespace(name="o", tolerance=lambda word: 1e-9)

    def answers(word: str, arguments: object, out: list[np.ndarray]) -> None:
        out[0][...], out[1][...] = -q, v

    other.answers = answers
    held(robot, other, "step", [], [q, v], FUNCTIONS["step"].outputs)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("name", "word"),
    [
        ("id", "id"),
        ("rollout_50_by_tau_last_of_step", "rollout"),
        ("rollout_50_by_tau_of_step", "rollout_50_by_tau_of_step"),
        ("rollout_50_last_of_step", "rollout_50_last_of_step"),
    ],
)
def test_a_rollout_whose_last_state_is_kept_is_one_to_rivals(name: str, word: str) -> None:
    assert word_of(function_of(name)) == word


def test_a_model_of_pinocchio_has_our_numbers() -> None:
    pin = pytest.importorskip("pinocchio", reason="needs the pin package: pip install 'condyle[bench]'")
    robot = condyle.random_tree(4, rng=2, types=("revolute", "prismatic", "spherical", "free"))
    names = tuple(robot.frames)[1:3]
    numbers = numbers_of(robot, "Pinocchio", names)
    model = model_of(pin, numbers)
    assert (model.njoints - 1, model.nq, model.nv, model.nframes - 1) == (4, robot.nq, robot.nv, 2)
    assert [parent - 1 for parent in [*model.parents][1:]] == [*robot.parents]
    for k, (body, own) in enumerate(zip(robot.bodies, [*model.inertias][1:], strict=True)):
        assert own.mass == body.mass and np.allclose(own.lever, numbers.com[k])
        assert np.allclose(own.inertia, numbers.inertia[k])
        assert np.allclose(model.jointPlacements[k + 1].translation, numbers.translation[k])
        assert np.allclose(model.jointPlacements[k + 1].rotation, numbers.rotation[k])
    assert [frame.parentJoint for frame in [*model.frames][1:]] == [robot.frames[name].body + 1 for name in names]
    assert np.allclose(model.gravity.linear, robot.gravity) and np.allclose(model.armature, numbers.armature)


def test_a_compiler_without_a_name_of_its_own_serves_last(monkeypatch: pytest.MonkeyPatch) -> None:
    there: list[str] = []
    monkeypatch.setattr(rival.shutil, "which", lambda name: there.append(name))
    for names in (rival.GCC, rival.CLANG_FIRST):
        with pytest.raises(UnsupportedError, match=rf"tried {re.escape(', '.join(names))} "):
            rival.cpp_compiler(names)
    assert there == ["g++", "c++", "clang++-19", "clang++", "g++", "c++"]
