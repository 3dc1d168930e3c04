"""Jobs in chunks: the answers of one call, from and to all kinds of arrays, and on again where a job was killed."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
import zarr

import condyle
from condyle.calls import mapping
from condyle.errors import DTypeError, ShapeError, UnsupportedError

N, CHUNK = 1003, 100


@pytest.fixture(scope="module")
def dyn() -> condyle.Dynamics:
    return condyle.load("iiwa14").compile(threads=1)


@pytest.fixture(scope="module")
def states() -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    q, v = condyle.load("iiwa14").random_state(N, 0)
    return q, v, 2.0 * v


def memmap(path: Path, array: np.ndarray) -> np.ndarray:
    found = np.memmap(path, array.dtype, "w+", shape=array.shape)
    found[:] = array
    return found


@pytest.mark.parametrize("kind", ["arrays", "memory maps", "zarr"])
def test_chunks_are_one_call(kind, dyn, states, tmp_path):
    want = dyn.inverse_dynamics(*states)
    if kind == "arrays":
        source, sink = states, np.empty_like(want)
    elif kind == "memory maps":
        source = [memmap(tmp_path / f"{k}", x) for k, x in enumerate(states)]
        sink = memmap(tmp_path / "tau", np.zeros_like(want))
    else:
        source = [zarr.array(x, chunks=(64, 7)) for x in states]
        sink = zarr.zeros(want.shape, chunks=(64, 7), dtype=want.dtype)
    assert dyn.map("id", source, sink, chunk=CHUNK, progress=False) == N
    assert np.array_equal(np.asarray(sink[:]), want)


def test_memory_maps_are_read_where_they_lie(dyn, states, tmp_path):
    maps = [memmap(tmp_path / f"{k}", x) for k, x in enumerate(states)]
    wide = memmap(tmp_path / "wide", np.repeat(states[0], 2, 0))
    source, sink = [wide[::2], *maps[1:]], np.empty_like(states[0])
    job = dyn._job("id")
    parts = mapping._read(job, source, 100, 200)
    seen = [np.may_share_memory(part, array) for part, array in zip(parts, source, strict=True)]
    assert seen == [False, True, True] and parts[0].flags.c_contiguous
    dyn.map("id", source, sink, CHUNK, progress=False)
    assert np.array_equal(sink, dyn.inverse_dynamics(*states))


def test_several_answers_inputs_for_all_states_and_a_function_as_sink(dyn, states):
    q, v, tau = states
    want = dyn.forward_dynamics_derivatives(q, v, tau[0])
    sinks = [np.empty_like(x) for x in want]
    dyn.map("dfd", (q, v, tau[0]), sinks, chunk=CHUNK, progress=False)
    assert all(np.array_equal(x, y) for x, y in zip(sinks, want, strict=True))
    found: list[int] = []
    dyn.map("dfd", (q, v, tau), lambda begin, answers: found.append(begin + len(answers[0])), 400, progress=False)
    assert found == [400, 800, N]


@pytest.mark.smoke
def test_an_iterator_gives_chunks_of_its_own_length(dyn, states):
    parts = [slice(0, 10), slice(10, 700), slice(700, N)]
    sink = np.empty_like(states[0])
    count = dyn.map("id", (tuple(x[part] for x in states) for part in parts), sink, progress=False)
    assert count == N and np.array_equal(sink, dyn.inverse_dynamics(*states))
    with pytest.raises(ShapeError, match="tau has 5 states, the source more"):
        dyn.map("id", iter([tuple(x[:10] for x in states)]), sink[:5], progress=False)


def test_a_function_of_ones_own(dyn, states):
    f = condyle.load("iiwa14").function(lambda at: {"e": (at.v**2).sum()}, {"q": "nq", "v": "nv"}).compile()
    sink = np.empty(N)
    f.map(states[:2], sink, chunk=CHUNK, progress=False)
    assert np.allclose(sink, (states[1] ** 2).sum(axis=1))


def test_a_job_goes_on_where_its_journal_is(dyn, states, tmp_path):
    journal, calls = tmp_path / "job.json", list[int]()

    def breaks(begin: int, answers: tuple[np.ndarray, ...]) -> None:
        if begin >= 300 and not calls:
            calls.append(begin)
            raise KeyboardInterrupt
        sink[begin : begin + len(answers[0])] = answers[0]

    sink = np.zeros_like(states[0])
    with pytest.raises(KeyboardInterrupt):
        dyn.map("id", states, breaks, CHUNK, journal, progress=False)
    assert json.loads(journal.read_text())["done"] == 300
    assert dyn.map("id", states, breaks, 250, journal, progress=False) == N - 300
    assert np.array_equal(sink, dyn.inverse_dynamics(*states))
    assert dyn.map("id", states, breaks, CHUNK, journal, progress=False) == 0


KILLED = """
import os, sys
import numpy as np
import condyle

dyn, n = condyle.load("iiwa14").compile(threads=1), 1003
q, v = condyle.load("iiwa14").random_state(n, 0)
tau = np.memmap(sys.argv[1], float, "r+", shape=(n, 7))

def sink(begin, answers):
    tau[begin : begin + len(answers[0])] = answers[0]
    if begin == 500:
        os.kill(os.getpid(), 9)

dyn.map("id", (q, v, 2.0 * v), sink, 100, sys.argv[2], progress=False)
"""


def test_a_killed_process_loses_nothing(dyn, states, tmp_path):
    path, journal = tmp_path / "tau", tmp_path / "job.json"
    sink = memmap(path, np.zeros_like(states[0]))
    done = subprocess.run([sys.executable, "-c", KILLED, str(path), str(journal)], check=False, env=os.environ)
    assert done.returncode == -9 and json.loads(journal.read_text())["done"] == 500
    assert dyn.map("id", states, sink, CHUNK, journal, progress=False) == N - 500
    assert np.array_equal(sink, dyn.inverse_dynamics(*states))


def test_a_journal_of_another_job_is_refused(dyn, states, tmp_path):
    journal, sink = tmp_path / "job.json", np.empty_like(states[0])
    dyn.map("id", states, sink, CHUNK, journal, progress=False)
    with pytest.raises(UnsupportedError, match=r"another job .*delete the file"):
        dyn.map("fd", states, sink, CHUNK, journal, progress=False)
    with pytest.raises(UnsupportedError, match="another job"):
        dyn.map("id", [x[:10] for x in states], sink[:10], CHUNK, journal, progress=False)
    for text in ("", "{}", '{"identity": 1}', "[]", '{"identity": "", "states": 1003, "done": "x"}'):
        journal.write_text(text)
        with pytest.raises(UnsupportedError, match="no journal"):
            dyn.map("id", states, sink, CHUNK, journal, progress=False)
    with pytest.raises(UnsupportedError, match=r"there is no folder .*name a file in a folder that exists"):
        dyn.map("id", states, sink, CHUNK, tmp_path / "none" / "job.json", progress=False)
    with pytest.raises(UnsupportedError, match="is a folder"):
        dyn.map("id", states, sink, CHUNK, tmp_path, progress=False)
    with pytest.raises(UnsupportedError, match="iterator cannot go back"):
        dyn.map("id", iter([states]), sink, CHUNK, journal, progress=False)


def test_a_journal_of_other_options_is_refused(states, tmp_path):
    robot, journal = condyle.load("iiwa14"), tmp_path / "job.json"
    q, v, tau = states
    sinks = [np.empty_like(q), np.empty_like(v)]
    dt = np.full(N, 1e-3)
    robot.compile(integrator="rk4").map("step", (q, v, tau, dt), sinks, CHUNK, journal, progress=False)
    with pytest.raises(UnsupportedError, match="another job"):
        robot.compile().map("step", (q, v, tau, dt), sinks, CHUNK, journal, progress=False)
    robot.compile(integrator="rk4", threads=1).map("step", (q, v, tau, dt), sinks, CHUNK, journal, progress=False)


def test_a_sink_over_the_source_is_refused(dyn, states, tmp_path):
    path, (q, v, a) = tmp_path / "a", states
    memmap(path, a)
    one, other = (np.memmap(path, a.dtype, "r+", shape=a.shape) for _ in range(2))
    kept = zarr.array(a, chunks=(64, 7))
    for source, sink in ((one, other), (kept, kept)):
        with pytest.raises(ShapeError, match="tau overlaps the source"):
            dyn.map("id", (q, v, source), sink, CHUNK, progress=False)


def test_what_does_not_fit_is_said(dyn, states):
    q, v, a = states
    sink = np.empty_like(q)
    cases = [
        ((q, v), sink, "the source has 2 arrays, expected a list with an array for each input: q, v, a"),
        ((q, v[:5], a), sink, "same number of states: q 1003, v 5, a 1003"),
        ((q, v, a[:, :6]), sink, r"a has shape \(1003, 6\), expected \(states, 7\)"),
        ((q[0], v[0], a[0]), sink, "no input has states"),
        (states, sink[:5], "tau has 5 states, the source 1003"),
        (states, [sink, sink], "the sink has 2 arrays, expected one for each answer: tau"),
        (states, a, "tau overlaps the source"),
    ]
    for source, to, said in cases:
        with pytest.raises(ShapeError, match=said):
            dyn.map("id", source, to, CHUNK, progress=False)
    with pytest.raises(DTypeError, match="q is float32, expected float64"):
        dyn.map("id", (q.astype("float32"), v, a), sink, CHUNK, progress=False)
    with pytest.raises(DTypeError, match="q is list"):
        dyn.map("id", (q.tolist(), v, a), sink, CHUNK, progress=False)
    with pytest.raises(DTypeError, match="the sink is NoneType, expected an array for each answer, or a function"):
        dyn.map("id", states, None, CHUNK, progress=False)
    for chunk in (0, -1, 1.5, None):
        with pytest.raises(ShapeError, match="expected an integer, 1 state or more"):
            dyn.map("id", states, sink, chunk, progress=False)
    sink.flags.writeable = False
    with pytest.raises(ShapeError, match="read-only"):
        dyn.map("id", states, sink, CHUNK, progress=False)


def test_a_bar_is_shown_where_it_is_asked_for(dyn, states, capsys, monkeypatch):
    sink = np.empty_like(states[0])
    dyn.map("id", states, sink, CHUNK, progress=True)
    assert "inverse_dynamics" in capsys.readouterr().err
    monkeypatch.setitem(sys.modules, "tqdm", None)
    dyn.map("id", states, sink, CHUNK)
    with pytest.raises(UnsupportedError, match="pip install tqdm"):
        dyn.map("id", states, sink, CHUNK, progress=True)


def test_no_states_are_no_work(dyn, states):
    assert dyn.map("id", [x[:0] for x in states], np.empty((0, 7)), progress=False) == 0
