"""How derivatives are called: by name or position, packed, broadcast, into arrays of one's own; and what is refused."""

from __future__ import annotations

import inspect
import pickle
import subprocess
import sys
import threading
from pathlib import Path

import numpy as np
import pytest

import condyle
from condyle import DTypeError, Dynamics, ShapeError, SingularError, UnsupportedError
from condyle.compile.targets import CPU
from condyle.functions import FUNCTIONS, function_of, registered
from condyle.runtime._native import Function
from tests.functions.first_moment import FIRST_MOMENT

N = 6
TARGETS = ("numpy", "cpu")


@pytest.fixture(scope="module", params=TARGETS)
def dyn(request: pytest.FixtureRequest) -> Dynamics:
    robot = condyle.random_tree(2, rng=0, types=("revolute", "spherical"), floating_base=True)
    return robot.compile(target=request.param, threads=2)


@pytest.fixture
def given(dyn: Dynamics) -> dict[str, np.ndarray]:
    """q, v, tau, a cotangent of a, tangents and forces of N states."""
    robot, rng = dyn.__reduce__()[1][0], np.random.default_rng(0)
    q, v = robot.random_state(N, rng)
    known = {"q": q, "v": v, "f_ext": rng.normal(size=(N, len(robot.bodies), 6))}
    return known | {name: rng.normal(size=(N, robot.nv)) for name in ("tau", "a_bar", "dq", "dv", "dtau")}


def along(dyn: Dynamics, given: dict[str, np.ndarray]) -> dict[str, np.ndarray]:
    """What a jvp of fd takes."""
    return {name: given[name] for name in inspect.signature(dyn.jvp("fd")).parameters if name in given}


def test_names_and_positions(dyn: Dynamics, given: dict[str, np.ndarray]) -> None:
    x = [given[name] for name in ("q", "v", "tau", "a_bar")]
    want = dyn.vjp("fd")(*x)
    assert want._fields == ("q", "v", "tau")
    for found in (
        dyn.vjp("fd")(*x[:2], a_bar=x[3], tau=x[2]),
        dyn.function("vjp_fd")(*x),
        dyn.vjp("fd")(*x, f_ext=None, out=None),
    ):
        assert all(np.array_equal(one, two) for one, two in zip(found, want, strict=True))
    assert str(inspect.signature(dyn.vjp("fd"))) == "(q, v, tau, a_bar, f_ext=None, out=None)"
    assert str(inspect.signature(dyn.jvp("fd"))).endswith("dtau, f_ext=None, df_ext=None, out=None)")
    assert isinstance(dyn.jvp("fd")(**{k: x for k, x in along(dyn, given).items() if k != "f_ext"}), np.ndarray)
    assert dyn.jacobian("fd")(*x[:3])._fields == ("da_dq", "da_dv", "da_dtau")
    assert dyn.jacobian("fd", by=("tau", "q"))(*x[:3])._fields == ("da_dq", "da_dtau")
    nv = x[1].shape[1]
    assert dyn.jacobian("fd", by="v")(*x[:3]).shape == (N, nv, nv)
    assert dyn.jvp("integrate")(x[0], x[1], x[2], x[3]).shape == (N, nv)
    assert dyn.jacobian("ke")(*x[:2])._fields == ("dke_dq", "dke_dv")
    assert dyn.jacobian("ke", by=["q", "v"]) is dyn.jacobian("ke")


def test_forces(dyn: Dynamics, given: dict[str, np.ndarray]) -> None:
    """One more input; of jvp with a tangent of its own; without them they are zero."""
    x, f = [given[name] for name in ("q", "v", "tau", "a_bar")], given["f_ext"]
    answer = dyn.vjp("fd")(*x, f_ext=f)
    assert answer._fields == ("q", "v", "tau", "f_ext")
    assert [one.shape for one in answer] == [given[name].shape for name in ("dq", "v", "tau", "f_ext")]
    again = dyn.function("vjp_fd_f_ext")(*x[:3], f, x[3])
    assert all(np.array_equal(one, two) for one, two in zip(answer, again, strict=True))
    none = dyn.vjp("fd")(*x, f_ext=0.0 * f)
    for one, two in zip(none[:3], dyn.vjp("fd")(*x), strict=True):
        np.testing.assert_allclose(one, two, rtol=0, atol=1e-11 * np.abs(two).max())
    t = along(dyn, given)
    adjoint = sum(np.sum(one * two) for one, two in zip(answer, (t["dq"], t["dv"], t["dtau"], f), strict=True))
    tangent = np.sum(x[3] * dyn.jvp("fd")(**t, df_ext=f))
    assert abs(adjoint - tangent) < 1e-9 * abs(tangent)
    t.pop("f_ext")
    slope = dyn.jacobian("fd", by=("f_ext",))(*x[:3])
    df_ext = dyn.jvp("fd")(**t, df_ext=f) - dyn.jvp("fd")(**t)
    assert slope.shape == (*x[1].shape, *f.shape[1:])
    np.testing.assert_allclose(np.einsum("niab,nab->ni", slope, f), df_ext, atol=1e-9 * np.abs(df_ext).max())


def test_a_cotangent_has_the_shape_of_its_input(dyn: Dynamics, given: dict[str, np.ndarray]) -> None:
    """Summed over what its input was broadcast over, also into arrays of one's own."""
    q, v, tau, bar, f = (given[name] for name in ("q", "v", "tau", "a_bar", "f_ext"))
    q, bar = np.stack([q, q[::-1]]), np.stack([bar, 2 * bar])
    wide = [np.broadcast_to(x, (2, N, *x.shape[-dims:])) for x, dims in ((v, 1), (tau[:1], 1), (f[0], 2))]
    want = dyn.vjp("fd")(q, wide[0], wide[1], bar, f_ext=wide[2])
    found = dyn.vjp("fd")(q, v, tau[:1], bar, f_ext=f[0])
    assert [x.shape for x in found] == [(2, *given["dq"].shape), v.shape, tau[:1].shape, f[0].shape]
    sums = want.q, want.v.sum(0), want.tau.sum((0, 1))[None], want.f_ext.sum((0, 1))
    for one, two in zip(found, sums, strict=True):
        np.testing.assert_allclose(one, two, rtol=0, atol=1e-12 * np.abs(want.q).max())
    out = tuple(np.full_like(x, np.nan) for x in found)
    again = dyn.vjp("fd")(q, v, tau[:1], bar, f_ext=f[0], out=out)
    assert all(one is two and np.array_equal(one, x) for one, two, x in zip(again, out, found, strict=True))
    with pytest.raises(ShapeError, match=r"vjp_forward_dynamics: out\[1\] has shape"):
        dyn.vjp("fd")(q, v, tau[:1], bar, f_ext=f[0], out=(out[0], out[0], *out[2:]))
    with pytest.raises(ShapeError, match="overlaps"):
        dyn.vjp("fd")(q, v, tau[:1], bar, f_ext=f[0], out=(out[0], v, *out[2:]))
    nothing = dyn.vjp("fd")(q[:, :0], v[0], tau[0], bar[0, 0])
    assert nothing.q.shape == (2, 0, v.shape[1]) and np.array_equal(nothing.v, 0.0 * v[0])


def test_one_row_for_all_states_is_summed_by_every_way_in(dyn: Dynamics, given: dict[str, np.ndarray]) -> None:
    """Also when plain calls are native, and where the other inputs are packed."""
    q, v, tau, bar = (given[name] for name in ("q", "v", "tau", "a_bar"))
    want = dyn.vjp("fd")(q, v, np.ascontiguousarray(np.broadcast_to(tau[0], tau.shape)), bar)
    for one in (tau[0], tau[:1]):
        found = dyn.vjp("fd")(q, v, one, bar)
        assert found.tau.shape == one.shape
        np.testing.assert_allclose(found.tau.reshape(-1), want.tau.sum(0), atol=1e-12 * np.abs(want.tau).max())
        np.testing.assert_allclose(found.q, want.q, atol=1e-12 * np.abs(want.q).max())
    single = dyn.vjp("fd")(q[:1], v[:1], tau[0], bar[:1])
    assert single.tau.shape == tau[0].shape and single.q.shape == v[:1].shape
    packed = [dyn.pack(x) for x in (q, v, bar)]
    mixed = dyn.vjp("fd")(packed[0], packed[1], tau[0], packed[2])
    np.testing.assert_allclose(mixed.tau, want.tau.sum(0), atol=1e-12 * np.abs(want.tau).max())
    np.testing.assert_allclose(mixed.q.dense(), want.q, atol=1e-12 * np.abs(want.q).max())
    with pytest.raises(UnsupportedError, match="leave out= out"):
        dyn.vjp("fd")(packed[0], packed[1], tau[0], packed[2], out=(packed[1], tau[0], packed[2]))
    shared = dyn.vjp("fd")(*packed[:2], dyn.pack(tau), bar[0])
    np.testing.assert_allclose(shared.q.dense(), dyn.vjp("fd")(q, v, tau, bar[0]).q, atol=1e-12 * np.abs(want.q).max())


def test_a_sum_is_the_same_for_any_number_of_threads() -> None:
    robot, n = condyle.chain(2), 5001
    q, v = robot.random_state(n, 0)
    answers = [robot.compile(threads=threads).vjp("id")(q, v[0], v[1], v) for threads in (1, 3)]
    for one, two in zip(*answers, strict=True):
        assert np.array_equal(one, two)


def test_one_state_lists_and_no_states(dyn: Dynamics, given: dict[str, np.ndarray]) -> None:
    x = [given[name] for name in ("q", "v", "tau", "a_bar")]
    many = dyn.vjp("fd")(*x)
    for one in (dyn.vjp("fd")(*(a[0] for a in x)), dyn.vjp("fd")(*(a[0].tolist() for a in x))):
        for found, want in zip(one, many, strict=True):
            np.testing.assert_allclose(found, want[0], rtol=0, atol=1e-11 * np.abs(want).max())
    assert [a.shape for a in dyn.vjp("fd")(*(a[:0] for a in x))] == [(0, x[1].shape[1])] * 3
    assert dyn.hessian("ke")(x[0][0], x[1][0], 1.0).shape == (2 * x[1].shape[1],) * 2


def test_packed(dyn: Dynamics, given: dict[str, np.ndarray]) -> None:
    x, f = [given[name] for name in ("q", "v", "tau", "a_bar")], given["f_ext"]
    packed = [dyn.pack(a) for a in x]
    for more, dense in (({}, {}), ({"f_ext": dyn.pack(f, "f_ext")}, {"f_ext": f})):
        want = dyn.vjp("fd")(*x, **dense)
        out = dyn.vjp("fd")(*packed, **more)
        assert out._fields == want._fields
        found = dyn.vjp("fd")(*packed, **more, out=out)
        assert all(one is two for one, two in zip(found, out, strict=True))
        for one, two in zip(found, want, strict=True):
            np.testing.assert_allclose(one.dense(), two, rtol=0, atol=1e-11 * np.abs(two).max())
    t = [dyn.pack(a) for a in (given["dq"], given["dv"], given["dtau"])]
    ahead = dyn.jvp("fd")(*packed[:3], *t, df_ext=dyn.pack(f, "f_ext")).dense()
    want = dyn.jvp("fd")(*x[:3], given["dq"], given["dv"], given["dtau"], df_ext=f)
    np.testing.assert_allclose(ahead, want, rtol=0, atol=1e-11 * np.abs(want).max())
    bar = np.random.default_rng(1).normal(size=(N, x[1].shape[1], x[1].shape[1]))
    found = dyn.vjp("m")(packed[0], dyn.vjp("m").pack(bar, "M_bar"))
    np.testing.assert_allclose(found.dense(), dyn.vjp("m")(x[0], bar), rtol=0, atol=1e-11)
    with pytest.raises(UnsupportedError, match="a_bar not: pack every argument"):
        dyn.vjp("fd")(*packed[:3], x[3])


def test_errors_name_the_argument(dyn: Dynamics, given: dict[str, np.ndarray]) -> None:
    q, v, tau, bar = (given[name] for name in ("q", "v", "tau", "a_bar"))
    with pytest.raises(ShapeError, match=r"vjp_forward_dynamics: q has shape"):
        dyn.vjp("fd")(q[:, :3], v, tau, bar)
    with pytest.raises(ShapeError, match=r"do not broadcast: .*a_bar"):
        dyn.vjp("fd")(q, v, tau, bar[:4])
    with pytest.raises(DTypeError, match=r"vjp_forward_dynamics: a_bar is float32.*astype"):
        dyn.vjp("fd")(q, v, tau, bar.astype("f4"))
    with pytest.raises(ShapeError, match="q is not a regular array"):
        dyn.vjp("fd")([[1], [2, 3]], v, tau, bar)
    with pytest.raises(TypeError, match="a_bar"):
        dyn.vjp("fd")(q, v, tau)
    with pytest.raises(TypeError, match="f_ext"):
        dyn.vjp("m")(q, bar, f_ext=given["f_ext"])
    with pytest.raises(UnsupportedError, match=r"vjp_frame_placements: no frames were named"):
        dyn.vjp("fk")(q, bar, bar)
    with pytest.raises(UnsupportedError, match=r"vjp_frame_placements: no frames were named"):
        dyn.vjp("fk").explain()
    for name in ("nothing", 3, [], None, "vjp_fd_by_q"):
        with pytest.raises(UnsupportedError, match=r"there is no function .*id, fd"):
            dyn.vjp(name)  # type: ignore[arg-type]
    for by in ((), ("x",), ("q", "q"), 3, (["q"],), "qv"):
        with pytest.raises(UnsupportedError, match=r"jacobian\('fd', by=.*q, v, tau, f_ext"):
            dyn.jacobian("fd", by=by)  # type: ignore[arg-type]


def test_a_mass_matrix_without_inverse_is_said() -> None:
    robot = condyle.Builder().body("b", mass=0.0, com=(0, 0, 0), inertia=np.zeros((3, 3)))
    with pytest.warns(condyle.errors.ModelWarning, match="singular"):
        robot = robot.joint("j", parent="world", child="b", type="revolute", axis=(0, 0, 1)).build()
    one = np.zeros(1)
    with pytest.raises(SingularError, match="'j' moves no inertia"):
        robot.compile().vjp("fd")(one, one, one, one)
    assert robot.compile().vjp("id")(one, one, one, one).q.shape == (1,)


@pytest.mark.parametrize("target", TARGETS)
def test_explain_memory_and_help(target: str) -> None:
    dyn = condyle.chain(2).compile(target=target)
    derivative = dyn.vjp("ke")
    assert derivative.explain(5).splitlines()[1].startswith("vjp_ke ")
    assert "\nvjp_ke " in dyn.explain(5) and derivative.explain(5).splitlines()[0] == dyn.explain(5).splitlines()[0]
    assert derivative.memory(10) == 10 * 8 * (2 + 2 + 1 + 2 + 2) == dyn.memory(10)["vjp_ke"]
    assert derivative.signature == "(nq),(nv),()->(nv),(nv)"
    assert "kinetic_energy_bar" in derivative.__doc__ and "vjp_ke of" in repr(derivative)
    assert derivative.__doc__.startswith("Return the named tuple (q, v).")
    assert dyn.vjp("ke") is derivative


def test_pickles_are_made_again_elsewhere(dyn: Dynamics, tmp_path: Path) -> None:
    """A process that never used the derivative reads its named tuple; the derivative itself goes along."""
    robot = dyn.__reduce__()[1][0]
    q, v = robot.random_state(2, 0)
    call = robot.compile(target="numpy").vjp("ke")
    answer = call(q, v, np.ones(2))
    path = tmp_path / "answer"
    path.write_bytes(pickle.dumps((answer, call, q, v)))
    program = (
        f"import pickle, numpy as np\nanswer, call, q, v = pickle.loads(open({str(path)!r}, 'rb').read())\n"
        "again = call(q, v, np.ones(2))\nassert type(again) is type(answer) and answer._fields == ('q', 'v')\n"
        "assert all(np.array_equal(x, y) for x, y in zip(again, answer))"
    )
    subprocess.run([sys.executable, "-c", program], check=True, timeout=120)


def test_a_plain_call_runs_no_python() -> None:
    """It is native once compiled, as a method's is, also for a second way to name the same derivative."""
    robot = condyle.chain(2)
    dyn = robot.compile()
    q, v = robot.random_state(3, 0)
    dyn.function("jacobian_id_f_ext")(q, v, v, np.zeros((3, 2, 6)))
    vjp, jacobian = dyn.vjp("id"), dyn.jacobian("id", by=("q", "v", "a", "f_ext"))
    vjp(q, v, v, v)
    jacobian(q, v, v, np.zeros((3, 2, 6)))
    assert isinstance(vjp, Function)
    seen: list[str] = []
    sys.setprofile(lambda frame, event, arg: seen.append(frame.f_code.co_name) if event == "call" else None)
    try:
        vjp(q, v, v, v)
        vjp(q=q, v=v, a=v, tau_bar=v)
        jacobian(q, v, v, np.zeros((3, 2, 6)))
    finally:
        sys.setprofile(None)
    assert seen == []


def test_many_threads_ask_at_once() -> None:
    robot = condyle.chain(3)
    dyn = robot.compile()
    q, v = robot.random_state(50, 0)
    found: list[tuple[np.ndarray, ...]] = []
    threads = [threading.Thread(target=lambda: found.append(dyn.vjp("fd")(q, v, v, v))) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(found) == 8
    assert all(np.array_equal(x, y) for answer in found for x, y in zip(answer, found[0], strict=True))


def test_kernels_are_kept_by_name() -> None:
    """Those of the library's own functions, and of functions that say so."""
    robot = condyle.chain(2)
    q, v = robot.random_state(3, 0)
    dyn = robot.compile()
    want = dyn.vjp("id")(q, v, v, v)
    fresh = robot.compile()
    kept = fresh._compiler.kept(function_of("vjp_id"), CPU, "float64")
    if kept is None:
        pytest.skip("no machine code here")
    assert all(np.array_equal(x, y) for x, y in zip(fresh.vjp("id")(q, v, v, v), want, strict=True))
    assert fresh._compiler.kept(function_of("vjp_id_f_ext"), CPU, "float64") is None
    with registered(FIRST_MOMENT):
        name = FIRST_MOMENT.name
        fresh.vjp(name)(q, np.ones((3, 3)))
        assert fresh._compiler.kept(function_of(f"vjp_{name}"), CPU, "float64") is None
        assert not fresh._compiler.keeps(function_of(f"jacobian_{name}_by_q")) and fresh._compiler.keeps(
            function_of("hessian_fd_f_ext")
        )


def test_the_library_does_not_list_derivatives() -> None:
    assert "vjp_fd" not in FUNCTIONS and function_of("vjp_fd").name == "vjp_fd"
    assert not any("vjp" in name for name in condyle.chain(2).compile().signature)
