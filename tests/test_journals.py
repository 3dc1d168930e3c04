"""Journals of jobs: the same job goes on; another robot, source or sink, damage and a second run are refused."""

from __future__ import annotations

import errno
import json
import os
import resource
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import condyle
from condyle.calls.mapping import job as journals
from condyle.errors import UnsupportedError
from condyle.model.placement import Placement
from tests.runtime.test_loading import mounted_run
from tests.zoo import tool_arm

N, CHUNK = 1000, 100


class Stops:
    """A source that ends the run where a state is read."""

    def __init__(self, q: np.ndarray, begin: int) -> None:
        self.q, self.begin, self.shape, self.dtype = q, begin, q.shape, q.dtype

    def __getitem__(self, part: slice) -> np.ndarray:
        if part.start >= self.begin:
            raise KeyboardInterrupt
        return self.q[part]

    def __setitem__(self, part: object, value: object) -> None: ...


@pytest.fixture
def job(tmp_path: Path) -> Job:
    return Job(tmp_path)


class Job:
    """Frame placements of an arm, which stopped when half was done."""

    def __init__(self, folder: Path) -> None:
        self.folder, self.path = folder, folder / "job.json"
        self.q = np.random.default_rng(0).uniform(-3, 3, (N, 1))
        self.dyn = tool_arm().compile(frames=("tool",))
        self.sinks = [np.zeros((N, 1, 3, 3)), np.zeros((N, 1, 3))]
        with pytest.raises(KeyboardInterrupt):
            self.run(source=Stops(self.q, N // 2))

    def run(self, dyn: Any = None, source: Any = None, sinks: Any = None, name: str = "fk") -> int:
        source, sinks = self.q if source is None else source, self.sinks if sinks is None else sinks
        return (dyn or self.dyn).map(name, (source,), sinks, CHUNK, self.path, progress=False)

    def refused(self, said: str, **given: Any) -> None:
        before = self.path.read_bytes()
        with pytest.raises(UnsupportedError, match=said):
            self.run(**given)
        assert self.path.read_bytes() == before and not self.path.with_name("job.json.lock").exists()


def test_the_same_job_goes_on(job: Job) -> None:
    assert json.loads(job.path.read_text())["done"] == N // 2
    assert job.run(tool_arm().compile(target="numpy", frames=("tool",), threads=1)) == N // 2
    want = job.dyn.frame_placements(job.q)
    assert all(np.allclose(x, y, rtol=0, atol=1e-14) for x, y in zip(job.sinks, want, strict=True))
    assert sorted(path.name for path in job.folder.iterdir()) == ["job.json"]


@pytest.mark.parametrize(
    ("differs", "dyn"),
    [
        ("robot.frames", lambda: tool_arm(0.3 + 1e-9).compile(frames=("tool",))),
        ("frames", lambda: tool_arm().compile(frames=("a",))),
        ("reference_frame", lambda: tool_arm().compile(frames=("tool",), reference_frame="world")),
        ("contacts", lambda: tool_arm().compile(frames=("tool",), contacts=(condyle.Contact("tool"),))),
    ],
)
def test_another_robot_is_refused_and_what_differs_is_said(job: Job, differs: str, dyn: Callable[[], Any]) -> None:
    job.refused(rf"another job \(what differs: {differs}\): delete the file", dyn=dyn())


def test_a_contact_that_moved_is_another_job(tmp_path: Path) -> None:
    """Both were 12.34 in the journal's text."""
    q, zero, one, robot = np.zeros((N, 1)), np.zeros(1), np.ones(1), tool_arm()
    sinks = [np.zeros((N, 1)), np.zeros((N, 1, 6))]
    for x, said in ((12.341, ""), (12.344, r"what differs: contacts\)")):
        at = Placement(np.eye(3), np.array([x, 0.0, 0.0]))
        dyn = robot.compile("numpy", contacts=(condyle.Contact("tool", placement=at),))
        if not said:
            dyn.map("cfd", (q, zero, zero, one), sinks, CHUNK, tmp_path / "job.json", progress=False)
            continue
        with pytest.raises(UnsupportedError, match=said):
            dyn.map("cfd", (q, zero, zero, one), sinks, CHUNK, tmp_path / "job.json", progress=False)


@pytest.mark.parametrize("n", [N - 1, N + 1, 2 * N, N // 4])
def test_other_numbers_of_states_are_refused(job: Job, n: int) -> None:
    sinks = [np.resize(x, (n, *x.shape[1:])) for x in job.sinks]
    job.refused(rf"what differs: states \({N}, here {n}\)", source=np.resize(job.q, (n, 1)), sinks=sinks)


def test_a_sink_that_was_made_anew_is_refused(job: Job) -> None:
    """As of a memory map with mode "w+", half of whose answers were zeros."""
    job.refused(r'the sink does not have the answers of states 400 to 499.*"r\+" and not "w\+"',
                sinks=[np.zeros_like(x) for x in job.sinks])  # fmt: skip
    job.sinks[1][499, 0, 2] = np.nextafter(job.sinks[1][499, 0, 2], 1)
    job.refused("the sink does not have the answers")


def test_another_source_is_refused(job: Job) -> None:
    other = job.q.copy()
    other[450] = np.nextafter(other[450], 9)
    job.refused(
        "the source is another one: states 400 to 499, the last ones that are done, have other inputs", source=other
    )


def test_a_finished_job_is_compared_too(job: Job) -> None:
    assert job.run() == N // 2 and job.run() == 0
    job.refused("the sink does not have the answers of states 900 to 999", sinks=[np.zeros_like(x) for x in job.sinks])


@pytest.mark.parametrize(
    "data",
    [b"[" * 60_000, b"[" * 10_000_000, b"\xff\xfe", b"", b"null", b'{"done": 1' + b"0" * 5000 + b"}", b" " * 70_000],
    ids=["nested", "long", "not UTF-8", "empty", "null", "digits", "blank"],
)
def test_a_damaged_journal_is_refused(job: Job, data: bytes) -> None:
    job.path.write_bytes(data)
    job.refused("is no journal of a job .*delete the file to compute all states again")


@pytest.mark.parametrize("key", ["function", "states", "begin", "done", "inputs", "answers", "identity"])
def test_every_entry_of_a_journal_counts(job: Job, key: str) -> None:
    entries = json.loads(job.path.read_text())
    for wrong in (None, True, -1, 1.5, "x", [], {}, 10**30):
        if wrong == {} and key == "identity":
            continue
        job.path.write_text(json.dumps({**entries, key: wrong}))
        job.refused("journal")
    job.path.write_text(json.dumps({name: value for name, value in entries.items() if name != key}))
    job.refused("no journal of a job")


def test_two_runs_at_once_are_refused(job: Job) -> None:
    with journals.opened(job.dyn._job("fk"), job.path, N):
        with pytest.raises(UnsupportedError, match=r"another run has the journal .*wait until it ends"):
            job.run()
        assert job.path.with_name("job.json.lock").exists()
    assert job.run() == N // 2


def test_a_lock_of_a_killed_run_is_none(job: Job) -> None:
    job.path.with_name("job.json.lock").write_bytes(b"")
    assert job.run() == N // 2


@pytest.mark.parametrize("name", ["job.json", "job.json.new", "job.json.lock"])
def test_links_are_not_written_through(job: Job, name: str, tmp_path: Path) -> None:
    outside = tmp_path / "outside"
    outside.write_bytes(b"outside")
    place = job.folder / name
    place.unlink(missing_ok=True)
    place.symlink_to(outside)
    if name == "job.json.new":
        assert job.run() == N // 2
    else:
        with pytest.raises(UnsupportedError, match="not a link to it" if name == "job.json" else "cannot be written"):
            job.run()
    assert outside.read_bytes() == b"outside"


def test_a_journal_that_cannot_be_written_is_said(job: Job) -> None:
    """As on a full disk: no file may be longer than some bytes."""
    before = job.path.read_bytes()
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, hard))
    try:
        with pytest.raises(
            UnsupportedError, match=r"journal .* cannot be written \(File too large\): make room and run"
        ):
            job.run()
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    assert job.path.read_bytes() == before
    assert job.run() == N // 2


def test_large_chunks_are_written_down_from_time_to_time(job: Job, monkeypatch: pytest.MonkeyPatch) -> None:
    """Their hashes would take longer than the work; the last one always is, so that a job that is done is known."""
    clock, done = [0.0], list[int]()
    monkeypatch.setattr(journals, "SMALL", 0)
    monkeypatch.setattr(journals.time, "monotonic", lambda: clock[0])

    def sink(begin: int, answers: tuple[np.ndarray, ...]) -> None:
        clock[0] += 0.15
        done.append(json.loads(job.path.read_text())["done"] if job.path.exists() else 0)

    job.path.unlink()
    assert job.run(sinks=sink) == N
    assert done == [0, 100, 100, 100, 100, 500, 500, 500, 500, 900]
    assert json.loads(job.path.read_text())["done"] == N


FULL = """
import sys
import numpy as np, condyle
from condyle.errors import OutOfMemoryError
dyn, q = condyle.chain(2).compile(target="numpy"), np.zeros((20_000, 2))
sink = np.memmap(sys.argv[1] + "/sink", float, "w+", shape=(20_000, 2))
try:
    dyn.map("id", (q, q, q), sink[:], progress=False)
except OutOfMemoryError as error:
    print("refused", "320000 bytes, for which the disk has no room" in str(error))
"""


def test_a_full_disk_under_a_memory_map_is_an_error(tmp_path: Path) -> None:
    """Without room for its blocks the process ended by SIGBUS."""
    assert mounted_run(tmp_path, "size=64k", [sys.executable, "-c", FULL, str(tmp_path)]).strip() == "refused True"


def test_blocks_of_a_memory_map_are_reserved(tmp_path: Path) -> None:
    sink = np.memmap(tmp_path / "sink", float, "w+", shape=(20_000, 2))
    q = np.zeros((20_000, 2))
    assert condyle.chain(2).compile("numpy").map("id", (q[:0], q[:0], q[:0]), sink[:0], progress=False) == 0
    status = (tmp_path / "sink").stat()
    assert status.st_blocks * 512 >= status.st_size


WPLUS = """
import os, signal, sys
import numpy as np, condyle
robot = condyle.chain(3)
q, v = robot.random_state(10_000, 0)
sink = np.memmap(sys.argv[1] + "/tau", float, sys.argv[2], shape=q.shape)

def killed(begin, answers):
    sink[begin : begin + len(answers[0])] = answers[0]
    if begin == 5000:
        os.kill(os.getpid(), signal.SIGKILL)

to = killed if sys.argv[3] == "kill" else sink
try:
    robot.compile().map("id", (q, v, v), to, 1000, sys.argv[1] + "/job.json", progress=False)
    print(np.array_equal(sink, robot.compile().inverse_dynamics(q, v, v)))
except condyle.CondyleError as error:
    print(type(error).__name__)
"""


def test_a_killed_script_that_is_run_again(tmp_path: Path) -> None:
    """With "w+" it is refused, with "r+" all answers are right."""

    def run(mode: str, way: str) -> str:
        command = [sys.executable, "-c", WPLUS, str(tmp_path), mode, way]
        return subprocess.run(command, capture_output=True, text=True, check=False).stdout.strip()

    assert [run("w+", "kill"), run("r+", ""), run("w+", "")] == ["", "True", "UnsupportedError"]


@pytest.mark.parametrize("chunk", [(-1, 500), (500, 500), (501, 500), (400, N + 1)])
def test_a_chunk_of_a_journal_lies_within_its_states(chunk: tuple[int, int]) -> None:
    """0 <= begin < done <= states, from both sides of each."""

    def entries(begin: int, done: int) -> bytes:
        text = {"function": "f", "inputs": "x", "answers": "y", "identity": {}}
        return json.dumps({**text, "states": N, "begin": begin, "done": done}).encode()

    for begin, done in ((0, 1), (N - 1, N), (0, N)):
        assert journals.Done.read(entries(begin, done)).done == done
    with pytest.raises(ValueError, match="its numbers are not those of a chunk"):
        journals.Done.read(entries(*chunk))


def test_a_pipe_is_no_journal(job: Job) -> None:
    job.path.unlink()
    os.mkfifo(job.path)
    with pytest.raises(UnsupportedError, match=r"cannot be read \(it is no file\): name a file that can be read"):
        job.run()


def test_a_lock_that_was_deleted_when_it_was_taken_is_taken_anew(job: Job, monkeypatch: pytest.MonkeyPatch) -> None:
    """The run that had it ended between the two; a file system without locks is none the worse."""
    lock, tried = job.path.with_name("job.json.lock"), list[int]()

    def flock(descriptor: int, flags: int) -> None:
        tried.append(flags)
        if len(tried) == 1:
            lock.unlink()
        raise OSError(errno.ENOLCK, "no locks here")

    before = len(os.listdir("/proc/self/fd"))  # noqa: PTH208
    monkeypatch.setattr(journals.fcntl, "flock", flock)
    with journals.opened(job.dyn._job("fk"), job.path, N):
        assert lock.exists() and tried == [journals.fcntl.LOCK_EX | journals.fcntl.LOCK_NB] * 2
        assert len(os.listdir("/proc/self/fd")) == before + 1  # noqa: PTH208
    assert not lock.exists() and len(os.listdir("/proc/self/fd")) == before  # noqa: PTH208


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EINVAL, None])
def test_room_for_a_memory_map_is_asked_for_whole(
    job: Job, tmp_path: Path, number: int | None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A disk that is full is an error, one that cannot reserve is not; none is asked for what is there already."""
    asked = list[tuple[int, int]]()

    def reserve(descriptor: int, begin: int, length: int) -> None:
        asked.append((begin, length))
        if number is not None:
            raise OSError(number, "a word")

    array = np.memmap(tmp_path / "sink", float, "w+", shape=(3000, 1, 3))
    monkeypatch.setattr(os, "posix_fallocate", reserve)
    before, placed = len(os.listdir("/proc/self/fd")), job.dyn._job("fk")  # noqa: PTH208
    if number in (None, errno.EINVAL):
        journals._reserve(placed, "translation", array[10:20])
    else:
        said = (
            r"^frame_placements: translation is a memory map of '.*sink', 72000 bytes, .* no room \(a word\): make room"
        )
        with pytest.raises(condyle.OutOfMemoryError, match=said):
            journals._reserve(placed, "translation", array[10:20])
    assert asked == [(0, 72_000)] and len(os.listdir("/proc/self/fd")) == before  # noqa: PTH208
    array[...] = 1.0
    array.flush()
    journals._reserve(placed, "translation", array)
    (tmp_path / "sink").unlink()
    for other in (array, np.zeros(3), object()):
        journals._reserve(placed, "translation", other)  # type: ignore[arg-type]
    assert len(asked) == 1


def test_hashes_tell_numbers_shapes_and_types_apart() -> None:
    x = np.arange(6.0)
    others = [x[::-1], x.reshape(2, 3), x.astype("f4"), x.astype(">f8"), x[:5]]
    assert len({journals.hashed([other]) for other in (x, *others)}) == 6
    assert journals.hashed([x[::2]]) == journals.hashed([x[::2].copy()])
    assert journals.hashed([x, x]) != journals.hashed([x]) != journals.hashed([])


def test_small_chunks_are_all_written_down(job: Job, monkeypatch: pytest.MonkeyPatch) -> None:
    """Of a MiB, inputs and answers together; larger ones every half second, and the last one."""
    monkeypatch.setattr(journals.time, "monotonic", lambda: 100.0)
    mib = np.zeros(1 << 17)
    assert mib.nbytes == journals.SMALL == 1 << 20 and journals.WAIT == 0.5

    def written(inputs: int, answers: int, end: int, now: float) -> bool:
        job.path.unlink(missing_ok=True)
        journal = journals.Journal(job.dyn._job("fk"), job.path, N)
        journal.keep(0, 10, [mib[:1]], [mib[:1]])
        job.path.unlink()
        monkeypatch.setattr(journals.time, "monotonic", lambda: now)
        journal.keep(10, end, [mib[:inputs]], [mib[:answers]])
        monkeypatch.setattr(journals.time, "monotonic", lambda: 100.0)
        return job.path.exists()

    assert written(1 << 16, 1 << 16, 20, 100.0)
    assert not written(1 << 17, 1, 20, 100.0) and not written(1 << 17, 1, 20, 100.4)
    assert written(1 << 17, 1, N, 100.0) and written(1 << 17, 1, 20, 100.5)


def test_a_journal_that_cannot_be_opened_says_why(job: Job, tmp_path: Path) -> None:
    said = r"lock' beside it cannot be written \(File name too long\); name a file"
    with pytest.raises(UnsupportedError, match=said), journals.opened(job.dyn._job("fk"), tmp_path / ("x" * 252), N):
        pass
    said = r"journal=.*; name a file in a folder that exists"
    for wrong in (3, b"x"):
        opened: Any = journals.opened(job.dyn._job("fk"), wrong, N)  # type: ignore[arg-type]
        with pytest.raises(UnsupportedError, match=said), opened:
            pass
