"""The run on a GPU from end to end before it meets one: on a driver that computes, with small robots and batches."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import condyle
from benchmarks import gpu_time, results, steps_common
from benchmarks.gpu import arrays, correct, libraries, parts, prepare, receipt, times, tools
from benchmarks.gpu.__main__ import main
from benchmarks.gpu.context import Context, Row, read, without_gpu
from benchmarks.gpu.parts import Part
from condyle.errors import BuildError, DeviceError, UnsupportedError
from condyle.functions import DEFAULT
from condyle.model.joints import JOINT_TYPES
from condyle.runtime.cuda import driver as drivers
from tests.backends.cuda.fake_driver import FakeDriver
from tests.backends.cuda.simulate import made, robot
from tests.gpu.conftest import fake

__all__ = ["fake"]

CHAIN = "2"
SOME = correct.Amount(
    ("thread", "group32"), ("thread",), few=(1, 33), many=(1, 70), names=(*DEFAULT, "step", "dstep"), partitions={}
)
PLAN = times.Plan((3, 40), launches=2, repeats=1, copied=1024, cases={CHAIN: ("id", "minv")})


@pytest.fixture
def context(fake: FakeDriver, tmp_path: Path) -> Context:
    return Context("a part", tmp_path / "rows.jsonl")


def rows(context: Context) -> list[Row]:
    return read(context.rows)


def about(row: Row) -> tuple[Any, ...]:
    return row["function"], row["form"]


def test_functions(context: Context) -> None:
    """Functions of DEFAULT and some others, with forces too, in two forms; rows say what was computed where."""
    correct.functions(context, CHAIN, "float32", SOME)
    written = rows(context)
    assert not [row for row in written if {"bad", "left_out"} & set(row)]
    done = {("dfd", "thread"), ("dfd", "group32"), ("dstep", "thread"), ("fd f_ext", "thread")}
    assert done <= {about(row) for row in written}
    row = next(row for row in written if about(row) == ("fd", "thread"))
    assert (row["card"], row["arch"], row["sizes"], row["part"]) == ("Fake GPU", "sm_90", [1, 70], "a part")
    assert 0 < row["error"] <= row["allowed"] < 1e-3
    assert row["commit"] and row["driver"] and len(row["inputs"]) == len(row["answers"]) == 16
    assert len(row["kernels"]) == 1


def test_contacts(context: Context) -> None:
    """A point at the tip of an arm that can move in three directions."""
    correct.functions(
        context, "4", "float64", replace(SOME, forms=("thread",), many=(33,), names=("cfd", "step_active"))
    )
    assert [(row["function"], row.get("bad")) for row in rows(context)] == [("cfd", None), ("step_active", None)]


def test_the_tree_of_all_joints() -> None:
    assert {joint.type for joint in correct.robot_of("tree").joints} == set(JOINT_TYPES)


def test_schedules(context: Context) -> None:
    correct.jobs(context, (CHAIN,), 2)
    (row,) = rows(context)
    assert row["what"] == "schedule" and "bad" not in row and row["answers"] and len(row["kernels"]) > 10


def test_rollouts_links_and_users(context: Context, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(correct, "STEPS", 4)
    monkeypatch.setattr(correct, "DEFAULT", ("minv", "fd"))
    correct.rollouts(context, "float32", (CHAIN,), 5)
    correct.links(context, "float64", (3,), (2,))
    correct.users(context, "float64", CHAIN, 5)
    written = rows(context)
    assert not [row for row in written if "bad" in row]
    assert {row["what"] for row in written} == {"rollout", "links", "user's function"}
    assert all(row["kernels"] and row["answers"] for row in written)


def planted(monkeypatch: pytest.MonkeyPatch, change: Callable[[np.ndarray], None]) -> None:
    """What a copy from the GPU brings is changed, all rows of float32 that are not the guards."""
    before = arrays.Guarded.numbers

    def numbers(self: arrays.Guarded) -> Any:
        with self.gpu.current():
            whole = np.zeros(self.count, self.dtype)
            self.gpu.driver("cuMemcpyDtoHAsync", whole.ctypes.data, self.address, whole.nbytes, 0)
            change(whole)
            self.gpu.driver("cuMemcpyHtoD", self.address, whole.ctypes.data, whole.nbytes)
        return before(self)

    monkeypatch.setattr(arrays.Guarded, "numbers", numbers)


ONES = np.full(4, 0xFF, np.uint8).view(np.float32)[0]
WRONG: dict[str, Callable[[np.ndarray], None]] = {
    "error": lambda whole: np.multiply(whole[65:-65], 1.001, out=whole[65:-65]),
    "other bits than row 0": lambda whole: whole.__setitem__(
        65 + 2 * arrays.PERIOD, np.nextafter(whole[65], np.float32(9))
    ),
    "1 of 140 numbers were not written": lambda whole: whole.__setitem__(-66, ONES),
    "1 numbers beside the array": lambda whole: whole.__setitem__(-65, 0.0),
    "1 of 140 numbers are NaN": lambda whole: whole.__setitem__(66, np.nan),
}


@pytest.mark.parametrize("said", WRONG)
def test_a_wrong_answer_is_noticed(context: Context, monkeypatch: pytest.MonkeyPatch, said: str) -> None:
    planted(monkeypatch, WRONG[said])
    amount = correct.Amount(("thread",), (), few=(), many=(70,), names=("id",), partitions={})
    correct.functions(context, CHAIN, "float32", amount)
    assert said in next(row for row in rows(context) if row["function"] == "id")["bad"]


def test_other_bits_of_another_form_are_noticed(context: Context, monkeypatch: pytest.MonkeyPatch) -> None:
    reference = arrays.Reference(correct.robot_of(CHAIN), functions=(condyle.functions.FUNCTIONS["id"],))
    dyn = correct.on_gpu(correct.robot_of(CHAIN), "float32")
    work = correct.Compared(context, reference, dyn, condyle.functions.FUNCTIONS["id"], (3,), {})
    work()
    ((name, (first,)),) = work.bits.items()
    work.bits[name] = [np.nextafter(first, np.float32(9))]
    with pytest.raises(AssertionError, match="other bits than in another form"):
        work()


def test_an_error_of_the_driver_ends_the_part(context: Context) -> None:
    def broken() -> Row:
        raise DeviceError("CUDA_ERROR_ILLEGAL_ADDRESS")

    def lacking() -> Row:
        raise UnsupportedError("has no work")

    context.check({"what": "first"}, lacking, may_lack=True)
    context.check({"what": "second"}, lacking)
    with pytest.raises(DeviceError):
        context.check({"what": "third"}, broken)
    assert [{"bad", "left_out"} & set(row) for row in rows(context)] == [{"left_out"}, {"bad"}, {"bad"}]


def test_times(context: Context, monkeypatch: pytest.MonkeyPatch) -> None:
    """Half a millisecond a graph, says the driver that computes."""
    monkeypatch.setitem(times.FORMS, "float32", ("thread", "group32", "thread split"))
    monkeypatch.setattr(times, "DEFAULT", ("fd",))
    monkeypatch.setitem(times.GOALS, (CHAIN, "id", 40), 1e3)
    times.start(context, PLAN)
    times.forms(context, CHAIN, "float32", PLAN)
    times.links(context, PLAN, ("3",))
    times.calls(context, PLAN, (3,), (CHAIN, ("id",)))
    machine, *written = rows(context)
    assert machine["versions"]["numpy"] and machine["copy_gb_s"] > 0
    timed = [row for row in written if row["what"] == "kernel"]
    assert [(row["function"], row["form"], row["n"]) for row in timed] == [
        (function, form, n) for function in ("id", "minv") for form in ("thread", "group32") for n in (40, 3)
    ]
    assert all(row["us"] == row["again"] == 500 / 2 and row["floor_us"] > 0 for row in timed)
    assert timed[0]["goal_million_s"] == 1e3
    assert all(row["auto"].startswith(("thread", "group")) for row in timed)
    assert sum(row["what"] == "links" for row in written) == 1
    assert all(row[f"{what}_us"] > 0 for row in written[-1:] for what in ("out", "new", "copies", "pinned", "staged"))


@pytest.mark.slow  # compiles a quadruped on the ground
def test_times_of_rollouts(context: Context, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(times, "STEPS", 3)
    monkeypatch.setattr(steps_common.Plan, "steps", 3)
    times.rollouts(context, PLAN, 2)
    assert [(row["robot"], row["us"] > 0) for row in rows(context)] == [(name, True) for name in times.ROLLED]


def test_what_is_not_installed_is_left_out(context: Context, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(tools.shutil, "which", lambda name: None)
    monkeypatch.setattr(libraries, "import_module", raising)
    for part in (libraries.pytorch, libraries.cupy, libraries.jax, tools.profile):
        part(context)
    monkeypatch.setattr(correct, "command", lambda words: 0)
    correct.header(context, ("iiwa14",))
    libraries.mjx(context, ("iiwa14",), 2)
    tools.sanitize(context, "racecheck")
    tools.grid(context, "iiwa14")
    written = rows(context)
    assert all(row["left_out"] for row in written)
    said = " ".join(row["left_out"] for row in written)
    assert all(word in said for word in ("torch", "cupy", "jax", "ncu", "compute-sanitizer", "nvcc", "--grid"))


def raising(name: str) -> object:
    raise ImportError(name)


def test_the_kernels_that_matter_run(fake: FakeDriver, monkeypatch: pytest.MonkeyPatch) -> None:
    """What the tools of CUDA look at."""
    monkeypatch.setattr(tools, "HOT", ((CHAIN, "id", "thread", 1), (CHAIN, "fd", "group32", 2)))
    monkeypatch.setattr(tools, "DEFAULT", ())
    tools.hot(0)
    tools.hot(3)


def test_the_table_of_ncu() -> None:
    text = (
        '==PROF== hello\n"ID","Kernel Name","gpu__time_duration.sum","other"\n"","","ns",""\n"0","condyle_id","12","7"'
    )
    assert tools.metrics(text) == [{"kernel": "condyle_id", "gpu__time_duration.sum": "12"}]


def test_the_fastest_of_grid() -> None:
    lines = [json.dumps({"function": "id", "n": n, "threads": k, "us": us}) for n, k, us in ((1, 64, 3), (1, 128, 2))]
    assert tools.fastest(["hello", *lines])["id", 1]["threads"] == 128
    q, v, tau = (np.zeros((2, 7)) for _ in range(3))
    wanted = tools.expected(condyle.load("iiwa14").compile(), q, v, tau)
    assert {name: x.shape[1] for name, x in wanted.items()} == {"id": 7, "minv": 49, "fd": 7, "did": 98, "dfd": 98}
    assert tools.differs(wanted["dfd"].astype("float32").reshape(-1), wanted["dfd"]) < 1e-6  # type: ignore[operator]
    assert "NaN" in str(tools.differs(np.full(14, np.nan), wanted["id"]))


@pytest.mark.needs("nvcc")
@pytest.mark.slow
def test_the_program_around_grid_compiles(tmp_path: Path) -> None:
    names = ("inverse_dynamics", "forward_dynamics", "inverse_dynamics_gradient", "forward_dynamics_gradient")
    shapes = {**dict.fromkeys(names, ", const T gravity"), "direct_minv": ""}
    head = "template <typename T> __global__ void"
    kernels = [
        f"{head} {name}_kernel(T *, const T *, int, const robotModel<T> *{more}, int) {{}}"
        for name, more in shapes.items()
    ]
    counts = [f"const int {word}_COUNT = 9;" for word in ("ID_DYNAMIC_SHARED_MEM", "MINV_DYNAMIC_SHARED_MEM",
              "FD_DYNAMIC_SHARED_MEM", "ID_DU_MAX_SHARED_MEM", "FD_DU_MAX_SHARED_MEM")]  # fmt: skip
    text = ["namespace grid {", "template <typename T> struct robotModel {};", *kernels, *counts]
    text += ["const int NUM_JOINTS = 7, SUGGESTED_THREADS = 64;", "template <typename T> void init_grid() {}"]
    text += ["template <typename T> robotModel<T> *init_robotModel() { return nullptr; }", "}"]
    (tmp_path / "grid.cuh").write_text("\n".join(text))
    source = Path(tools.__file__).with_name("grid.cu")
    tools.ran(["nvcc", "-std=c++17", "-arch=sm_90", f"-I{tmp_path}", "-c", str(source), "-o", str(tmp_path / "grid.o")])


def test_a_run_is_at_most_five_minutes() -> None:
    names = [part.name for stages in parts.RUNS.values() for stage in stages for part in stage]
    assert len(set(names)) == len(names) - 1  # both begin with the same
    assert all(parts.longest(stages) <= parts.SECONDS for stages in parts.RUNS.values())
    words = "functions", "others"
    assert {f"{word} {name} {dtype}" for word in words for name in correct.ROBOTS for dtype in correct.DTYPES} <= set(
        names
    )


def program(text: str) -> list[str]:
    return [sys.executable, "-c", f"import json, sys, time\n{text}"]


def test_parts_that_end_well_badly_or_never(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """What they wrote stays; what a killed one started goes with it."""
    path = tmp_path / "out" / "rows.jsonl"
    row = f"open({str(path)!r}, 'a').write(json.dumps({{'part': sys.argv[1]}}) + chr(10))"
    texts = {
        "well": row,
        "badly": f"{row}\nprint('why it failed')\nsys.exit(3)",
        "never": f"{row}\nimport subprocess\nsubprocess.run([sys.executable, '-c', 'import time; time.sleep(60)'])",
        "later": row,
    }
    stages = [[Part(name, lambda _: None, 1.5 if name == "never" else 20) for name in some] for some in
              (("well", "badly", "never"), ("later",))]  # fmt: skip
    status = parts.run(stages, path, lambda part: [*program(texts[part.name]), part.name])
    assert status == 1
    written = read(path)
    assert sorted(row["part"] for row in written if "ended" not in row) == sorted(texts)
    ended = {row["part"]: (row["ended"], row["rows"]) for row in written if "ended" in row}
    assert ended == {
        "well": ("exit status 0", 1), "badly": ("exit status 3", 1),
        "never": ("killed after 2 s", 1), "later": ("exit status 0", 1),
    }  # fmt: skip
    assert "why it failed" in path.with_suffix(".log").read_text()
    assert "never" in capsys.readouterr().out


def test_a_wrong_row_is_the_runs_fault(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    path = tmp_path / "rows.jsonl"
    row = {"part": "one", "what": "function", "robot": "arm", "bad": "error 1", "us": 2.0, "goal_us": 1.0}
    text = f"open({str(path)!r}, 'a').write({json.dumps(row)!r} + chr(10) + 'half of a li')"
    assert parts.run([[Part("one", lambda _: None, 20)]], path, lambda part: program(text)) == 1
    said = capsys.readouterr().out
    assert "WRONG one arm" in said and "us 2, goal 1" in said


@pytest.mark.slow  # a new process of the real command
def test_a_part_in_a_process_of_its_own(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    """Without a GPU it says so, and nothing else runs."""
    path = tmp_path / "rows.jsonl"
    command = parts.command_of(path)
    assert parts.run(parts.RUNS["2"], path, lambda part: ["env", "CUDA_VISIBLE_DEVICES=", *command(part)]) == 1
    (row,) = read(path)
    assert (row["part"], row["ended"]) == ("start", "exit status 1")
    assert "DeviceError" in capsys.readouterr().out


CHECKING = """
from pathlib import Path
from benchmarks.gpu import correct
from benchmarks.gpu.context import Context
from condyle.runtime.cuda import driver as drivers
from tests.backends.cuda.fake_driver import FakeDriver
driver = drivers.Driver(FakeDriver())
drivers.driver = lambda: driver
amount = correct.Amount(("thread",), ("thread",), few=(1,), many=(1, 70), names=("id", "m"), partitions={})
for _ in range(int(sys.argv[2])):
    correct.functions(Context(sys.argv[1], Path(sys.argv[3])), "2", "float32", amount)
"""


@pytest.mark.slow  # processes that compile
def test_checks_in_processes_of_which_one_is_killed(tmp_path: Path) -> None:
    """All rows that it had written can be read, and the other part is not disturbed."""
    path = tmp_path / "run1.jsonl"
    both = Part("once", lambda _: None, 60), Part("for ever", lambda _: None, 12)
    command = lambda part: [*program(CHECKING), part.name, "1" if part.name == "once" else "100000", str(path)]  # noqa: E731
    assert parts.run([both], path, command) == 1
    written = [row for row in read(path) if "ended" not in row]
    assert len([row for row in written if row["part"] == "once"]) == 3  # id, m, id with forces
    assert len([row for row in written if row["part"] == "for ever"]) > 3
    assert all(row["card"] == "Fake GPU" and row["kernels"] and "bad" not in row for row in written)
    assert receipt.keep(tmp_path, tmp_path / "receipt.json", tmp_path / "times.json") == 0
    assert len(receipt.load(tmp_path / "receipt.json")) == 3


# The receipt


def checked(function: str, *kernels: str, **more: Any) -> Row:
    row = {"what": "function", "robot": "iiwa14", "dtype": "float32", "function": function, "form": "thread"}
    return {**row, "kernels": list(kernels), "card": "H200", "driver": "580", "commit": "a" * 40, **more}


def page(folder: Path) -> Path:
    path = folder / "page.md"
    path.write_text(f"before\n{receipt.BEGIN}{receipt.END}after\n")
    return path


def test_without_a_receipt_nothing_has_run(tmp_path: Path) -> None:
    there, absent = page(tmp_path), tmp_path / "absent.json"
    assert receipt.check(list, False, absent, there) == 1
    assert receipt.check(list, True, absent, there) == 0
    assert receipt.check(list, False, absent, there) == 0
    assert "Nothing of this target has run on a GPU yet" in there.read_text()
    assert there.read_text().startswith("before\n") and there.read_text().endswith("after\n")


def test_a_receipt_that_is_out_of_date(tmp_path: Path) -> None:
    """The kernel that changed is named with the commit that had run, a new one too; the page is held to it."""
    out = tmp_path / "out"
    out.mkdir()
    rows = [checked("id", "1"), checked("fd", "2"), checked("dfd", "3", bad="error 1"), {"part": "times", "us": 2.0}]
    (out / "run1.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows) + '{"half')
    kept, timed = tmp_path / "receipt.json", tmp_path / "times.json"
    assert receipt.keep(out, kept, timed) == 1  # a wrong answer
    assert [row["us"] for row in receipt.load(timed)] == [2.0]
    there = page(tmp_path)
    same = [checked("id", "1"), checked("fd", "2")]
    assert receipt.check(lambda: same, True, kept, there) == 0
    text = there.read_text()
    assert "2 checks of 2 kernels gave right answers on a GPU: H200, driver 580, commit aaaaaaaaaaaa." in text
    assert "since" not in text and "**Wrong on a GPU**: iiwa14 float32: dfd (thread)" in text
    changed = [checked("id", "1"), checked("fd", "4"), checked("minv", "5")]
    assert receipt.check(lambda: changed, False, kept, there) == 1
    assert receipt.check(lambda: changed, True, kept, there) == 0
    text = there.read_text()
    assert "* Not run on a GPU since aaaaaaaaaaaa: iiwa14 float32: fd (thread)\n" in text
    assert "* Never run on a GPU: iiwa14 float32: minv (thread)\n" in text
    (out / "run1.jsonl").write_text(json.dumps(checked("fd", "4", commit="b" * 40)) + "\n")
    receipt.keep(out, kept, timed)
    assert {row["function"]: row["commit"][:1] for row in receipt.load(kept)} == {"id": "a", "fd": "b", "dfd": "a"}


def test_a_commit_outside_git_is_known_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(results, "code_hash", lambda: "7" * 64)
    monkeypatch.setattr(results, "commit", lambda: "c" * 40)
    assert receipt.short("src:" + "7" * 64) == "c" * 12
    assert receipt.short("src:" + "8" * 64) == "src:" + "8" * 12


def test_the_page_says_what_has_run() -> None:
    """Where there is a receipt, the slow test makes all kernels of this tree."""
    if not receipt.RECEIPT.exists():
        assert main(["check"]) == 0


@pytest.mark.slow
def test_every_kernel_of_this_tree_is_on_the_page() -> None:
    assert main(["check"]) == 0


def test_kernels_without_a_gpu_have_the_texts_of_those_with_one(
    fake: FakeDriver, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """So that a receipt can be compared."""
    amount = correct.Amount(("thread", "group32"), (), few=(1,), many=(1,), names=("fd", "dfd"))
    with_gpu, without = Context("one", tmp_path / "1"), Context("one", tmp_path / "2", for_arch="")
    correct.functions(with_gpu, CHAIN, "float32", amount)
    monkeypatch.setattr(drivers, "driver", drivers.driver)  # is put back
    without_gpu()
    correct.functions(without, CHAIN, "float32", amount)
    correct.jobs(without, (CHAIN,), 3)
    drivers.gpu.cache_clear()
    written, texts = ({receipt.key_of(row): row["kernels"] for row in read(tmp_path / name)} for name in "12")
    assert len(texts.pop(("schedule", CHAIN, "float64", "optimal control", "auto"))) > 10
    assert written == texts and all(written.values())


# What travels


def test_prepare_and_unpack(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, grid, source = tmp_path / "travels", tmp_path / "headers", tmp_path / "src"
    (grid / "iiwa14").mkdir(parents=True)
    (grid / "iiwa14" / "grid.cuh").write_text("text")
    environment = dict[str, str]()
    monkeypatch.setattr(prepare, "os", SimpleNamespace(environ=environment, pathsep=":"))
    monkeypatch.setattr(sys, "path", [*sys.path])
    options = SimpleNamespace(python="no-such-python", arch="sm_90", grid=grid, packages=None)

    def assemble(arch: str) -> None:
        (Path(environment.pop("CONDYLE_CACHE_DIR")) / "kernel").write_text(arch)

    references = lambda: (folder / "reference").mkdir()  # noqa: E731
    assert prepare.prepare(options, references, assemble, folder) == 0  # type: ignore[arg-type]
    assert "no compiled modules" in capsys.readouterr().out
    assert (folder / "grid" / "iiwa14" / "grid.cuh").read_text() == "text"
    (folder / "modules" / "condyle").mkdir(parents=True)
    (folder / "modules" / "condyle" / "_native.so").write_text("code")
    (source / "condyle").mkdir(parents=True)
    prepare.unpack(folder, source)
    assert (source / "condyle" / "_native.so").read_text() == "code"
    assert (Path(environment["CONDYLE_CACHE_DIR"]) / "kernel").read_text() == "sm_90"
    assert environment["PYTHONPATH"].split(":")[0] == str(source)
    assert (folder / "reference").exists()
    monkeypatch.setattr(prepare, "MOST_MB", 0)
    assert prepare.prepare(options, references, assemble, folder) == 1  # type: ignore[arg-type]
    assert not (folder / "reference").exists()


def test_answers_are_taken_along(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Only where they are of the same inputs, and of the same code."""
    function = condyle.functions.FUNCTIONS["did"]
    first = arrays.Reference(correct.robot_of(CHAIN), functions=(function,))
    first.save(tmp_path / "kept.npz", (function,))
    again, other = (arrays.Reference(correct.robot_of(name), functions=(function,)) for name in (CHAIN, "3"))
    for reference in (again, other):
        reference.load(tmp_path / "kept.npz")
    assert not other._answers
    for kept, made_anew in zip(again._answers["did"], first.answers(function), strict=True):
        np.testing.assert_array_equal(kept, made_anew)
    assert again.condition == first.condition
    monkeypatch.setattr(results, "code_hash", lambda: "other")
    (again := arrays.Reference(correct.robot_of(CHAIN), functions=(function,))).load(tmp_path / "kept.npz")
    assert not again._answers


# Clocks


def test_floors() -> None:
    machine = gpu_time.Machine(1e12, {"float32": 1e13, "float64": 5e12}, 1e9)
    assert machine.floor_us(1e7, 10**7, 64_000, "float32") == pytest.approx({"operations": 1, "bytes": 10, "code": 1})
    assert machine.floor_us(1e7, 0, 0, "float64")["operations"] == pytest.approx(2)


def test_code_is_counted() -> None:
    """Bytes of code of a kernel: whole instructions, at least one for each that the Program has."""
    from condyle.backends.cuda.kernel import assemble

    (part,) = made(robot("iiwa14"), "id", 32).launches
    try:
        size = gpu_time.text_bytes(assemble(part, "sm_90").cubin)
    except BuildError as error:
        pytest.skip(str(error))
    assert size % 16 == 0
    assert 304 * 16 < size < 304 * 16 * 6
