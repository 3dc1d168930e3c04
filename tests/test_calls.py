"""Calls of one robot: what a call takes and is called, and what is counted, kept and said of it; by small robots."""

from __future__ import annotations

import copy
import inspect
import pickle
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import condyle
from condyle.calls import mapping, methods
from condyle.calls.call import Call, _batch, _inputs, _packed_sums
from condyle.calls.mapping import Job
from condyle.calls.methods import answer_names, as_result, document_of, result_of, signature_of
from condyle.compile.compiler import Compiler
from condyle.errors import ShapeError, StateError
from condyle.functions import FUNCTIONS, function_of
from tests.refusals import refuses

ROBOT = condyle.chain(3, rng=0)
DYN = ROBOT.compile("numpy")
OPEN = ROBOT.compile("numpy", inputs=("gravity",))
Q, V = ROBOT.random_state(4, 0)
WRENCHES = np.ones((4, 3, 6))


@pytest.mark.parametrize(
    ("call", "signature"),
    [
        (DYN.vjp("fd"), "(q, v, tau, a_bar, f_ext=None, out=None)"),
        (DYN.jvp("fd"), "(q, v, tau, dq, dv, dtau, f_ext=None, df_ext=None, out=None)"),
        (DYN.hessian("fd"), "(q, v, tau, lam, f_ext=None, out=None)"),
        (DYN.jacobian("fd", "q"), "(q, v, tau, f_ext=None, out=None)"),
        (DYN.jacobian("fd", ("q", "f_ext")), "(q, v, tau, f_ext=None, out=None)"),
        (DYN.jacobian("m"), "(q, out=None)"),
        (OPEN.vjp("fd"), "(q, v, tau, a_bar, f_ext=None, gravity=None, out=None)"),
        (OPEN.jvp("id"), "(q, v, a, dq, dv, da, f_ext=None, gravity=None, df_ext=None, dgravity=None, out=None)"),
        (OPEN.forward_dynamics, "(q, v, tau, f_ext=None, out=None, *, gravity=None)"),
        (OPEN.mass_matrix, "(q, out=None)"),
    ],
)
def test_what_calls_take(call: Any, signature: str) -> None:
    assert str(inspect.signature(call)) == signature


def test_signatures_of_methods() -> None:
    assert str(signature_of(FUNCTIONS["fd"])) == "(self, q, v, tau, f_ext=None, out=None)"
    assert str(signature_of(FUNCTIONS["m"])) == "(self, q, out=None)"


def test_answers_are_called_as_outputs_and_cotangents_as_inputs() -> None:
    assert answer_names(FUNCTIONS["dfd"]) == ("da_dq", "da_dv", "da_dtau")
    assert answer_names(function_of("vjp_fd")) == ("q", "v", "tau") and answer_names(function_of("jvp_fd")) == ("da",)
    assert result_of(FUNCTIONS["fd"]) is None and as_result(FUNCTIONS["fd"], [3]) == 3
    found = as_result(FUNCTIONS["dfd"], [1, 2, 3])
    assert found == (1, 2, 3) and found.da_dv == 2 and type(found) is result_of(FUNCTIONS["dfd"])
    assert type(found).__name__ == "ForwardDynamicsDerivatives"
    assert type(found).__doc__ == "da_dq, da_dv, da_dtau: the answers of `forward_dynamics_derivatives`."
    assert pickle.loads(pickle.dumps(found)) == found and type(copy.copy(found)) is type(found)


def test_named_tuples_of_answers_are_attributes_before_they_answer() -> None:
    kind = result_of(FUNCTIONS["dstep"])
    assert kind is not None
    methods.__dict__.pop(kind.__name__)
    assert getattr(methods, kind.__name__)._fields == answer_names(FUNCTIONS["dstep"])
    for name in ("ForwardDynamics", "Nothing"):
        refuses(f"module 'condyle.calls.methods' has no attribute {name!r}", lambda name=name: getattr(methods, name),
                AttributeError)  # fmt: skip


def test_a_document_says_what_is_taken_answered_and_raised() -> None:
    text = document_of(FUNCTIONS["fd"])
    parts = text.split("\n\n")
    assert parts[0].startswith("Return a: ") and parts[0].endswith(".")
    assert parts[1] == f"{FUNCTIONS['fd'].equation}."
    taken = parts[2].splitlines()
    assert taken[0] == "Arguments, where ... are batch dimensions that broadcast:"
    assert [line.split(" ")[0] for line in taken[1:]] == ["q", "v", "tau", "f_ext", "out:"]
    assert taken[2].startswith("v (..., nv) [rad/s or m/s], in joint coordinates: ")
    assert taken[4].endswith("; zero if it is left out") and "[N, N m], in each body's link frame: " in taken[4]
    assert parts[3].startswith("Answers:\na (..., nv) [")
    errors = parts[4].splitlines()
    assert errors[0] == "Errors:" and len(errors) == 4 and errors[3].startswith("SingularError: ")
    assert parts[5].startswith("Source: ") and len(parts) == 6
    assert "SingularError" not in document_of(FUNCTIONS["id"])
    assert "UnsupportedError: the robot was compiled without frames=." in document_of(FUNCTIONS["fk"])
    assert "UnsupportedError: the robot was compiled without contacts." in document_of(FUNCTIONS["cfd"])
    several = document_of(FUNCTIONS["dfd"])
    assert several.startswith("Return the named tuple (da_dq, da_dv, da_dtau).\n\n")
    assert document_of(function_of("vjp_fd"), ("q", "v", "tau")).startswith("Return the named tuple (q, v, tau).")


@pytest.mark.parametrize(
    ("name", "cure"),
    [
        ("fd", "; did you mean 'forward_dynamics'?"),
        ("forward_dynamic", "; did you mean 'forward_dynamics'?"),
        ("mass_matrx", "; did you mean 'mass_matrix'?"),
        ("massmatrix", "; did you mean 'mass_matrix'?"),
        ("zzz", ""),
        ("_fd", ""),
        ("__array_interface__", ""),
    ],
)
def test_a_wrong_name_is_told_the_right_one(name: str, cure: str) -> None:
    refuses(f"'Dynamics' object has no attribute '{name}'{cure}", lambda: getattr(DYN, name), AttributeError)


def test_a_call_shows_its_short_name_or_its_method() -> None:
    made = Call(DYN, FUNCTIONS["m"])
    assert repr(made) == f"<mass_matrix of {DYN!r}>" and made.name == "m" and made.signature == "(nq)->(nv,nv)"
    vjp = Call.of_derivative(DYN, "vjp", FUNCTIONS["m"], None, {})
    assert repr(vjp) == f"<vjp_m of {DYN!r}>" and vjp.asked == ("vjp", FUNCTIONS["m"], None)
    assert Call.of_derivative(DYN, "jacobian", FUNCTIONS["fd"], ("v", "q"), {}).asked[2] == ("q", "v")
    assert Call.of_derivative(DYN, "jacobian", FUNCTIONS["fd"], ("tau", "v", "q"), {}).asked[2] is None, "all of them"
    assert made.__reduce__() == (Call, (DYN, FUNCTIONS["m"])) and pickle.loads(pickle.dumps(made)).name == "m"
    assert vjp.memory(5) == 5 * 8 * (3 + 9 + 3) and vjp.explain(5) == DYN.explain(5, ("vjp_m",))
    again = pickle.loads(pickle.dumps(Call.of_derivative(DYN, "jacobian", FUNCTIONS["fd"], "q", {})))
    assert np.array_equal(again(Q, V, V), DYN.jacobian("fd", "q")(Q, V, V))
    for kind in ("vjp", "jvp", "hessian"):
        again = pickle.loads(pickle.dumps(Call.of_derivative(DYN, kind, FUNCTIONS["m"], None, {})))
        assert again.name == f"{kind}_m"


def test_what_is_differentiated_by_comes_in_the_order_of_the_inputs() -> None:
    """Numbers of the robot last, and external forces before them."""
    opened = FUNCTIONS["id"].taking("gravity")
    assert _inputs("jacobian", opened, ("gravity", "f_ext", "v"), True) == ("v", "f_ext", "gravity")
    assert _inputs("jacobian", opened, "q", True) == ("q",)
    for by in ((), ("q", "q"), ("x",), 3, ("f_ext",)):
        said = f"jacobian('id_gravity', by={by!r}): give some of its inputs, each once: q, v, a, gravity"
        refuses(said, lambda by=by: _inputs("jacobian", opened, by, False))


def test_batch_dimensions_of_what_is_given() -> None:
    assert _batch(np.zeros((4, 2, 3)), 1) == (4, 2) and _batch([[1.0, 2.0]], 1) == (1,) and _batch(3.0, 0) == ()
    assert _batch(np.zeros(3), 2) == () and _batch([[1.0], [1.0, 2.0]], 1) == ()
    assert _batch(SimpleNamespace(shape=[5, 3]), 1) == (5,)


def test_cotangents_of_what_all_states_share_are_sums() -> None:
    vjp, bar = DYN.vjp("id"), np.linspace(0.0, 1.0, 12).reshape(4, 3)
    whole = vjp(Q, np.tile(V[0], (4, 1)), V, bar)
    for v in (V[0], V[:1], V[0].tolist()):
        found = vjp(Q, v, V, bar)
        assert found.v.shape == np.shape(v)
        np.testing.assert_allclose(np.reshape(found.v, 3), whole.v.sum(axis=0), rtol=1e-13)
        np.testing.assert_array_equal(found.q, whole.q)
    out = tuple(np.full(shape, np.nan) for shape in ((4, 3), (3,), (4, 3)))
    assert all(x is y for x, y in zip(vjp(Q, V[0], V, bar, out=out), out, strict=True))
    np.testing.assert_allclose(out[1], whole.v.sum(axis=0), rtol=1e-13)
    assert DYN.vjp("m")(Q[0], np.ones((4, 3, 3))).shape == (3,)


def test_sums_of_packed_cotangents_are_plain_where_a_row_was() -> None:
    packed, bar = [DYN.pack(x) for x in (Q, V)], DYN.pack(np.ones((4, 3)))
    found = DYN.vjp("id")(packed[0], V[0], packed[1], bar)
    want = DYN.vjp("id")(Q, V[0], V, np.ones((4, 3)))
    assert isinstance(found.q, condyle.Packed) and isinstance(found.v, np.ndarray)
    np.testing.assert_array_equal(found.q.dense(), want.q)
    np.testing.assert_allclose(found.v, want.v, rtol=1e-13)
    said = (
        "vjp_inverse_dynamics: out= is for packed arguments alone, or for plain ones; an input that is one row for all"
    )
    refuses(f"{said}...", lambda: _packed_sums(function_of("vjp_id"), (), (), 3))


def test_answers_on_a_gpu_are_not_summed() -> None:
    spec = [SimpleNamespace(dims=(3,), name=name) for name in ("q", "M_bar")]
    engine = SimpleNamespace(
        binder=lambda _: SimpleNamespace(specs=(spec, spec[:1])), direct=lambda *_: lambda *_: object()
    )
    made = Call(engine, function_of("vjp_m"))  # type: ignore[arg-type]
    said = (
        "vjp_mass_matrix: one row for all states has a sum of cotangents as its answer, which is not made on the GPU..."
    )
    refuses(said, lambda: made(np.zeros(3), np.zeros((4, 3))))


def test_forces_that_are_not_given_are_zero() -> None:
    jvp, along = DYN.jvp("id"), (V, V, V)
    full = DYN.jvp("id_f_ext")
    assert np.array_equal(jvp(Q, V, V, *along, df_ext=WRENCHES), full(Q, V, V, 0 * WRENCHES, *along, WRENCHES))
    assert np.array_equal(jvp(Q, V, V, *along, f_ext=WRENCHES), full(Q, V, V, WRENCHES, *along, 0 * WRENCHES))
    assert DYN.zeros((3, 6)) is DYN.zeros((3, 6)) and DYN.zeros((3, 6)).shape == (3, 6)


def test_memory_is_that_of_all_arrays() -> None:
    single = ROBOT.compile("numpy", "float32")
    for dyn, item in ((DYN, 8), (single, 4)):
        assert dyn.memory(10, ("id", "m", "ke")) == {"id": 120 * item, "m": 120 * item, "ke": 70 * item}
    assert DYN.memory(0, ("id",)) == {"id": 0}
    assert set(DYN.memory(1)) >= set(DYN.signature)
    fresh = ROBOT.compile("numpy")
    fresh.vjp("m")
    assert "vjp_m" in fresh.memory(1) and "vjp_fd" not in fresh.memory(1)


@pytest.mark.parametrize(("target", "threads"), [("numpy", "one thread"), ("cpu", "at most 3 threads, fewer for")])
def test_what_runs_begins_with_target_type_batch_and_threads(target: str, threads: str) -> None:
    first = ROBOT.compile(target, threads=3).explain(7, ("m",)).splitlines()
    assert first[0].startswith(f"target {target}, float64, batch of 7, {threads}") and len(first) == 2


def test_lines_of_what_runs() -> None:
    compiler, numpy = DYN._compiler, DYN._target

    def line(name: str) -> str:
        return compiler.line(function_of(name), numpy, "float64", 5)

    row = compiler.work(FUNCTIONS["m"])
    work = f"{row['mul']} mul, {row['add']} add, {row['div']} div, {row['sincos']} sincos per state"
    assert line("m") == f"{'m':12} {row['route']:23} {work}"
    step = line("step")
    assert line("rollout_7_of_step") == f"{'rollout_7_of_step':12} 7 times: {step}"
    iterate = "iterate_7_until_kinetic_energy{}_of_ke"
    for mark, which in (("", "each"), ("_together", "any")):
        name = iterate.format(mark)
        assert line(name) == f"{name:12} at most 7 times, until kinetic_energy > 0 for {which} state: {line('ke')}"
    name = "vjp_rollout_7_by_tau_of_step"
    kept = f"{name:12} forward, every state kept, some rollouts at a time: 6 times: {step}; then backward: 7 times: "
    assert line(name) == kept + line("vjp_step")


def test_long_functions_say_how_they_run(monkeypatch: pytest.MonkeyPatch) -> None:
    dyn = ROBOT.compile("numpy")
    compiler = copy.copy(dyn._compiler)
    compiler.estimate = lambda size: 10**9

    def line(name: str, target: Any = dyn._target) -> str:
        return compiler.line(function_of(name), target, "float64", 5)

    slow = "too long for straight-line code, and without loops: it runs in NumPy, much slower"
    assert line("integrate") == f"{'integrate':12} {'joints':23} {slow}"
    assert line("id") == f"{'id':12} {'rnea, rolled':23} loops over 3 links"
    columns = line("jacobian_integrate")
    assert columns.startswith(f"{'jacobian_integrate':12} {'columns':24}6 times: jvp_integrate")
    other = SimpleNamespace(is_reference=False, computes=SimpleNamespace(name="c"))
    assert line("step", other) == f"{'step':12} {'calls':24}{line('fd', other)}; {line('integrate', other)}"
    assert line("id", other).endswith("loops over 3 links, target c") and "target" not in line("integrate", other)
    monkeypatch.setattr(Compiler, "is_hopeless", lambda *_: False)
    compiler.estimate = lambda size: 20_001
    assert (
        line("integrate") == f"{'integrate':12} {'joints':23} straight-line code, not counted here: that takes seconds"
    )


def test_names_of_rollouts_are_of_their_steps() -> None:
    assert DYN.function("fd").__name__ == "forward_dynamics"
    assert DYN.function("vjp_fd") is DYN.vjp("fd") and DYN.function("vjp_fd") is DYN.function("vjp_forward_dynamics")
    assert DYN.function("jacobian_fd_by_q") is DYN.jacobian("fd", "q") is DYN.jacobian("fd", ["q"])
    first = DYN.function("rollout_3_by_tau_of_step")
    assert first is DYN.function("rollout_3_by_tau_of_step")
    tau = np.ones((4, 3, 3))
    for x, y in zip(first(Q, V, tau, 0.01), DYN.rollout(Q, V, tau, 0.01), strict=True):
        assert np.array_equal(x, y)


JOB = Job("f", {"x": (2,), "c": ()}, {"y": (2,)}, np.dtype("f8"), lambda xs, out: (xs[0] * xs[1],), "f", {})


def test_states_out_of_range_are_counted_from_the_first_of_all() -> None:
    def compute(inputs: Any, out: Any) -> Any:
        bad = np.flatnonzero(inputs[0][:, 0] < 0.0)
        if bad.size:
            raise StateError("bad", tuple(bad.tolist()))
        return (inputs[0],)

    x = np.ones((10, 2))
    x[[7, 8]] = -1.0
    job = replace(JOB, compute=compute)
    with pytest.raises(StateError, match=r"^bad\. States are counted from 6 of the source$") as info:
        mapping.run(job, (x, np.array(1.0)), lambda begin, answers: None, 3, None, False)
    assert info.value.rows == (7, 8)


@pytest.mark.parametrize(
    ("chunk", "pieces"),
    [(4, [(0, 4), (4, 4), (8, 2)]), (10, [(0, 10)]), (11, [(0, 10)]), (np.int8(5), [(0, 5), (5, 5)])],
)
def test_chunks_are_read_one_ahead(chunk: Any, pieces: list[tuple[int, int]]) -> None:
    x, seen = np.arange(20.0).reshape(10, 2), list[tuple[int, int]]()
    assert mapping.run(JOB, (x, np.array(2.0)), lambda at, y: seen.append((at, len(y[0]))), chunk, None, False) == 10
    assert seen == pieces
    chunks = iter([(x[:3], np.array(2.0)), (x[3:], np.array(2.0))])
    seen.clear()
    assert mapping.run(JOB, chunks, lambda at, y: seen.append((at, len(y[0]))), 1, None, False) == 10
    assert seen == [(0, 3), (3, 7)]


def test_a_sink_with_fewer_states_than_an_iterator_has_is_refused() -> None:
    x = np.ones((3, 2))
    with pytest.raises(ShapeError, match=r"^f: y has 5 states, the source more$"):
        mapping.run(JOB, iter([(x, np.array(1.0))] * 2), np.zeros((5, 2)), 1, None, False)
    assert mapping.run(JOB, iter([(x, np.array(1.0))] * 2), np.zeros((6, 2)), 1, None, False) == 6


def test_a_bar_has_all_states_and_those_that_are_done(monkeypatch: pytest.MonkeyPatch) -> None:
    bars: list[dict[str, Any]] = []

    class Shown:
        def __init__(self, **options: Any) -> None:
            bars.append({**options, "updates": []})

        def __enter__(self) -> Any:
            return self

        def __exit__(self, *_: object) -> None: ...

        def update(self, n: int) -> None:
            bars[-1]["updates"].append(n)

    monkeypatch.setattr(mapping, "import_module", lambda name: SimpleNamespace(tqdm=Shown))
    x, shown = (np.ones((10, 2)), np.array(1.0)), {"desc": "f", "unit": "state", "unit_scale": True}
    for progress, disable in ((None, None), (True, False)):
        mapping.run(JOB, x, lambda *_: None, 4, None, progress)
        assert bars.pop() == {"total": 10, "initial": 0, **shown, "disable": disable, "updates": [4, 4, 2]}
    mapping.run(JOB, iter([x]), lambda *_: None, 4, None, True)
    assert bars.pop() == {"total": None, "initial": 0, **shown, "disable": False, "updates": [10]}
    mapping.run(JOB, x, lambda *_: None, 4, None, False)
    assert bars == []


def test_pages_of_a_memory_map_are_read_whole(tmp_path: Any) -> None:
    whole = np.memmap(tmp_path / "x", float, "w+", shape=(6, 4))
    whole[...] = np.arange(24.0).reshape(6, 4)
    for part in (whole[2:5], whole[:, 1:3], whole[::-1], whole[:0]):
        found = mapping._touched(part)
        np.testing.assert_array_equal(found, part)
        assert found.flags.c_contiguous and (found is part) is bool(part.flags.c_contiguous)
