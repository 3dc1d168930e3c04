"""What calls on JAX arrays do not take, each with what to do instead; nothing is compiled."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import condyle
from condyle.errors import DTypeError, UnsupportedError
from condyle.functions import FUNCTIONS, function_of

jax: Any = pytest.importorskip("jax", reason="pip install 'condyle[jax]'")
from condyle.interop.jax import wrap  # noqa: E402
from condyle.interop.jax.calls import Dims, What, ports_of  # noqa: E402
from condyle.interop.jax.gpu import Caller  # noqa: E402
from condyle.interop.jax.processor import _rule  # noqa: E402
from condyle.interop.jax.rules import _kept  # noqa: E402
from condyle.specification import Repeat  # noqa: E402

jnp = jax.numpy
FAR = wrap(condyle.random_tree(1, 3, types=("revolute",), floating_base=True).compile("numpy", dtype="float32"))
ENGINE = FAR._maker.engine


@pytest.mark.parametrize(
    ("value", "said"),
    [
        (None, "inverse_dynamics: q is NoneType, expected an array"),
        ({"a": 1}, "inverse_dynamics: q is dict, expected an array"),
        (
            SimpleNamespace(__dask_graph__=None),
            r"inverse_dynamics: q is lazy: use condyle\.interop\.dask\.wrap\(dyn\), or pass q\.compute\(\)",
        ),
        ("seven", "inverse_dynamics: q cannot be read as an array: .*"),
        ([[1.0, 2.0], [3.0]], "inverse_dynamics: q cannot be read as an array: .*"),
        (np.zeros(8, complex), r"inverse_dynamics: q is complex128, expected float32: pass q\.astype\(float32\)"),
        (
            np.zeros(8),
            (
                r"inverse_dynamics: q is float64, expected float32: pass q\.astype\(float32\), or "
                r'compile\(dtype="float64"\)'
            ),
        ),
        (np.zeros(8, "f2"), r"inverse_dynamics: q is float16, expected float32: pass q\.astype\(float32\)"),
    ],
)
def test_arguments_that_are_no_arrays_of_the_right_type(value: Any, said: str) -> None:
    with pytest.raises(DTypeError, match=f"^{said}$"):
        FAR.inverse_dynamics(value, np.zeros(7, "f4"), np.zeros(7, "f4"))


def test_a_derivative_that_the_library_lacks_is_refused() -> None:
    """Of a rollout there is the vjp."""
    rollout = function_of("rollout_2_by_tau_of_step")
    assert What(ENGINE, "vjjv", FUNCTIONS["id"]).name == "vjp_jvp_jvp_vjp_id"
    what = What(ENGINE, "j", rollout)
    assert not what.is_there and What(ENGINE, "v", rollout).is_there and What(ENGINE, "", rollout).is_there
    said = f"^jvp_{rollout.name}: the library has no derivative of this order of {rollout.name}: take the highest one "
    with pytest.raises(UnsupportedError, match=said):
        _ = what.function


def test_only_derivatives_are_linear() -> None:
    q, v = jnp.zeros((8,), "f4"), jnp.zeros((7,), "f4")
    with pytest.raises(UnsupportedError, match=r"^id is not linear in what it is transposed by"):
        jax.linear_transpose(lambda a: FAR.inverse_dynamics(q, v, a), v)(v)
    with pytest.raises(UnsupportedError, match=r"^jvp_id is not linear in what it is transposed by"):
        jax.linear_transpose(lambda a: FAR.jvp("id")(q, v, a, v, v, v), v)(v)


def test_kernels_that_are_called_from_the_processors_memory() -> None:
    what = What(ENGINE, "", FUNCTIONS["id"])
    with pytest.raises(
        UnsupportedError, match=r"^inverse_dynamics: its kernels are called from the processor's memory"
    ):
        Caller(what, 1).answers("", object(), [], [])


def test_dimensions_of_derivatives() -> None:
    """A tangent, and a cotangent, of a configuration has nv entries: 7 here, and 8 of q."""
    q, v = Dims((8,), True), Dims((7,), False)
    along = Dims((7,), False)
    inverse = FUNCTIONS["id"]
    assert ports_of(What(ENGINE, "", inverse)) == ([q, v, v], [v])
    assert ports_of(What(ENGINE, "j", inverse)) == ([q, v, v, along, along, along], [v])
    assert ports_of(What(ENGINE, "v", inverse)) == ([q, v, v, v], [along, along, along])
    assert ports_of(What(ENGINE, "jv", inverse)) == ([q, v, v, v, along, along, along, along], [along] * 3)
    step = FUNCTIONS["step"]
    assert ports_of(What(ENGINE, "j", step))[1] == [along, v]


def test_shards_are_of_batch_dimensions_alone() -> None:
    matrix, number, row = Dims((2, 3), False), Dims((), False), Dims((4,), False)
    whole = [f"w{k}" for k in range(5)]
    takes = [(True, matrix), (False, row), (True, number)]
    assert _rule(2, takes, [row, row], whole) == "b0 b1 w0 w1, w2, b0 b1 -> b0 b1 w3, b0 b1 w4"


def test_rows_that_a_rollout_keeps_of_all_steps() -> None:
    rows = np.arange(7.0)
    of = Repeat(FUNCTIONS["step"], 7, ("q", "v"), ("tau",), 3, ("cost",))
    assert _kept(of, "q", rows).tolist() == [2.0, 5.0, 6.0]
    assert _kept(of, "cost", rows) == 21.0
    assert _kept(of._replace(every=0), "q", rows) == 6.0 and _kept(of._replace(every=1), "q", rows).tolist() == [*rows]
