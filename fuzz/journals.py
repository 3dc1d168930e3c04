"""Jobs in chunks with a journal: killed, stopped, gone on with the same arrays or with others, damaged on the way."""

from __future__ import annotations

import contextlib
import json
import os
import resource
import signal
import threading
import time
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

import condyle
from condyle import CondyleError, Dynamics
from condyle.calls.mapping import job as journals

WHAT = (
    "jobs with a journal that are killed and run again; found is: an answer that is not the right one where a run says "
    "that all is done, an error that is not condyle's own, a refusal of the same job, two runs at once, a file beside "
    "the journal written"
)
Rng = np.random.Generator
Array = NDArray[np.float64]


class Stopped(BaseException):
    """What ends a run in the middle."""


def arm(offset: float = 0.3, damping: float = 0.0) -> Dynamics:
    """A link with a tool frame."""
    builder = condyle.Builder("arm").body("a", mass=1.0, com=(0, 0, 0.1), inertia=np.eye(3) * 0.1).body("tool")
    builder.joint("j", parent="world", child="a", type="revolute", axis=(0, 1, 0), damping=damping)
    robot = builder.joint("f", parent="a", child="tool", type="fixed", xyz=(offset, 0, 0)).build()
    return robot.compile(target="numpy", frames=("tool",))


DYN = arm()
OTHERS = (arm(0.3 + 1e-9), arm(damping=1e-12), DYN.__reduce__()[1].robot.compile("numpy", frames=("a",)))


def case(rng: Rng, folder: Path) -> None:
    """One job: runs that end in the middle, a change or none, and a last run."""
    (folder / "outside").write_bytes(b"outside")
    place = folder / "job"
    place.mkdir()
    job = Job(rng, place)
    for _ in range(int(rng.integers(1, 4))):
        [job.stop, job.kill, job.kill_by_clock, job.full_disk][int(rng.integers(4))]()
    if rng.random() < 0.1:
        job.two_at_once()
        return
    name = str(rng.choice(["same", "same", "sink", "rows", "source", "robot", "states", "damage", "link"]))
    getattr(job, f"after_{name}")()
    assert (folder / "outside").read_bytes() == b"outside", "a file beside the journal was written"
    names = {path.name for path in folder.rglob("*")}
    assert names <= {"outside", "job", *job.allowed}, f"files: {names}"


class Job:
    """A job in a folder: frame placements of an arm, into two memory maps."""

    def __init__(self, rng: Rng, folder: Path) -> None:
        self.rng, self.folder, self.path = rng, folder, folder / "job.json"
        self.n = int(rng.integers(1, 400))
        self.q = rng.uniform(-3, 3, (self.n, 1))
        self.right = [np.asarray(x) for x in DYN.frame_placements(self.q)]
        self.allowed = {"rotation", "translation", "job.json", "job.json.lock", "job.json.new"}
        self.sinks("w+")
        journals.SMALL = int(rng.choice([1 << 20, 0]))  # large chunks are written down from time to time only

    def sinks(self, mode: str) -> list[Any]:
        shapes = {"rotation": (self.n, 1, 3, 3), "translation": (self.n, 1, 3)}
        return [np.memmap(self.folder / name, float, mode, shape=shape) for name, shape in shapes.items()]

    def run(self, source: Any = None, sinks: Any = None, dyn: Dynamics = DYN) -> int:
        """A run with the arrays of this job where no others are named."""
        source, sinks = self.q if source is None else source, self.sinks("r+") if sinks is None else sinks
        return dyn.map("fk", (source,), sinks, int(self.rng.integers(1, 100)), self.path, progress=False)

    def done(self) -> dict[str, Any] | None:
        """What the journal says."""
        return json.loads(self.path.read_bytes()) if self.path.exists() else None

    def check(self) -> None:
        """All states have the right answers."""
        for found, want in zip(self.sinks("r"), self.right, strict=True):
            assert np.array_equal(found, want), f"wrong answers in states {np.flatnonzero(found != want)[:5]} ..."

    def stop(self) -> None:
        """An exception while a chunk is read."""
        with contextlib.suppress(Stopped):
            self.run(Stops(self.q, int(self.rng.integers(self.n + 1))))

    def kill(self) -> None:
        """SIGKILL while a chunk is read."""
        self._in_child(Stops(self.q, int(self.rng.integers(self.n + 1)), signal.SIGKILL), None)

    def kill_by_clock(self) -> None:
        """SIGKILL at any moment, also while the journal is written."""
        self._in_child(self.q, float(self.rng.uniform(0, 0.02)))

    def _in_child(self, source: Any, after: float | None) -> None:
        child = os.fork()
        if child == 0:
            with contextlib.suppress(BaseException):
                self.run(source)
            os._exit(0)
        if after is not None:
            time.sleep(after)
            os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)

    def full_disk(self) -> None:
        """No file may grow: neither the sinks, where they have holes, nor the journal."""
        soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
        resource.setrlimit(resource.RLIMIT_FSIZE, (int(self.rng.integers(1000)), hard))
        try:
            assert self.run() == 0, "a journal was written where there is no room"
        except CondyleError:
            return
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))

    def two_at_once(self) -> None:
        """Two threads run the job: one does it, the other is refused or finds it done; the journal goes on after."""
        counts, errors = list[int](), list[BaseException]()

        def run() -> None:
            try:
                counts.append(self.run())
            except BaseException as error:
                errors.append(error)

        threads = [threading.Thread(target=run) for _ in range(2)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        for error in errors:
            assert isinstance(error, CondyleError) and "another run has" in str(error), repr(error)
        assert counts, f"no run at all: {errors}"
        self.check()

    def after_same(self) -> None:
        """The same job goes on."""
        done = self.done()
        assert self.run() == self.n - (done["done"] if done else 0)
        self.check()
        assert self.run() == 0

    def refused(self, **given: Any) -> None:
        """Refused where the journal says that something is done."""
        done = self.done()
        before = None if done is None else self.path.read_bytes()
        refused = ""
        try:
            self.run(**given)
        except CondyleError as error:
            refused = str(error)
        assert bool(refused) == (done is not None), f"{list(given)}: {refused or 'accepted'}, journal {done}"
        assert not refused or self.path.read_bytes() == before, "a run that was refused wrote the journal"

    def after_sink(self) -> None:
        """The sink is made anew, or is another one."""
        self.refused(sinks=self.sinks("w+") if self.rng.random() < 0.5 else [np.zeros_like(x) for x in self.right])

    def after_rows(self) -> None:
        """A bit of an answer of the last chunk that is done is another one."""
        done, sinks = self.done(), self.sinks("r+")
        array = sinks[int(self.rng.integers(2))]
        row = 0 if done is None else int(self.rng.integers(done["begin"], done["done"]))
        flat = array[row].reshape(-1).view(np.uint64)
        flat[int(self.rng.integers(flat.size))] ^= np.uint64(1 << int(self.rng.integers(64)))
        self.refused(sinks=sinks)

    def after_source(self) -> None:
        """An input of the last chunk that is done is another one."""
        done, other = self.done(), self.q.copy()
        row = 0 if done is None else int(self.rng.integers(done["begin"], done["done"]))
        other[row] = np.nextafter(other[row], 10.0)
        self.refused(source=other)

    def after_robot(self) -> None:
        """Another robot, or another frame."""
        self.refused(dyn=OTHERS[int(self.rng.integers(len(OTHERS)))])

    def after_states(self) -> None:
        """A source and a sink with more states, or fewer."""
        n = max(1, self.n + int(self.rng.choice([-1, 1, -50, 50])))
        if n != self.n:
            self.refused(source=np.resize(self.q, (n, 1)), sinks=[np.resize(x, (n, *x.shape[1:])) for x in self.right])

    def after_damage(self) -> None:
        """A journal that is damaged is refused; or it says the same still, and the job is done right."""
        if not self.path.exists():
            return
        data = bytearray(self.path.read_bytes())
        kind = int(self.rng.integers(7))
        if kind == 0:
            data = data[: int(self.rng.integers(len(data)))]
        elif kind == 1:
            data[int(self.rng.integers(len(data)))] = int(self.rng.integers(256))
        elif kind == 2:
            data = bytearray(self.rng.bytes(int(self.rng.integers(200))))
        elif kind == 3:
            data = bytearray(b"[" * int(self.rng.choice([100, 60_000, 10_000_000])))
        elif kind == 4:
            data = bytearray(b'{"done": 1' + b"0" * int(self.rng.choice([10, 5000])) + b"}")
        elif kind == 5:
            data += b" " * int(self.rng.choice([1, 70_000]))
        else:
            entries: dict[str, Any] = json.loads(data)
            key = str(self.rng.choice(list(entries)))
            entries[key] = [None, True, -1, 1.5, "x", [], {}, 10**30][int(self.rng.integers(8))]
            data = bytearray(json.dumps(entries).encode())
        self.path.write_bytes(data)
        try:
            self.run()
        except CondyleError:
            return
        self.check()

    def after_link(self) -> None:
        """Links and other things where the journal's files stand."""
        name = str(self.rng.choice(["job.json", "job.json.new", "job.json.lock"]))
        place, outside = self.folder / name, self.folder.parent / "outside"
        place.unlink(missing_ok=True)
        kind = int(self.rng.integers(4))
        if kind == 0:
            place.symlink_to(outside)
        elif kind == 1:
            place.symlink_to(self.folder / "nowhere")
        elif kind == 2:
            place.mkdir()
        else:
            os.mkfifo(place)
        with contextlib.suppress(CondyleError):
            self.run(sinks=self.sinks("w+") if name == "job.json" else None)
            self.check()


class Stops:
    """A source that ends the run where a state is read."""

    def __init__(self, q: Array, at: int, by: int | None = None) -> None:
        self.q, self.at, self.by = q, at, by
        self.shape, self.dtype = q.shape, q.dtype

    def __getitem__(self, key: slice) -> Array:
        if key.stop > self.at and self.by is not None:
            os.kill(os.getpid(), self.by)
        if key.stop > self.at:
            raise Stopped
        return self.q[key]

    def __setitem__(self, key: object, value: object) -> None:
        raise AssertionError("a source was written")
