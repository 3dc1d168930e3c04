"""Tensors of every kind: a right answer, or an error that says what to pass."""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import condyle
from condyle import DTypeError, ShapeError
from condyle.interop.torch import wrap
from tests.interop.torch_cases import torch

ROBOT = condyle.chain(3, 0)
FAR = wrap(ROBOT.compile(target="numpy"))
Q, V = map(torch.from_numpy, ROBOT.random_state(4, 0))
TAU = 2.0 * V


class Named(torch.Tensor):
    """A subclass without operations of its own."""


def fake(x: Any) -> Any:
    from torch._subclasses.fake_tensor import FakeTensorMode

    return FakeTensorMode().from_tensor(x)


SAME: dict[str, Callable[[Any], Any]] = {
    "negative bit": lambda x: torch._neg_view(-x),
    "imaginary part of a conjugate": lambda x: torch.complex(0.0 * x, -x).conj().imag,
    "real part of a conjugate": lambda x: torch.complex(x, x).conj().real,
    "subclass": lambda x: x.as_subclass(Named),
    "parameter": lambda x: torch.nn.Parameter(x),
    "transposed": lambda x: x.T.contiguous().T,
    "made in inference": lambda x: torch.inference_mode()(lambda: 1.0 * x)(),
    "list": lambda x: x.tolist(),
    "array": lambda x: x.numpy(),
}
OTHER: dict[str, tuple[Callable[[Any], Any], type[Exception], str]] = {
    "sparse": (lambda x: x.to_sparse(), DTypeError, r"q is torch.sparse_coo.*q\.to_dense\(\)"),
    "sparse rows": (lambda x: x.to_sparse_csr(), DTypeError, r"q is torch.sparse_csr.*q\.to_dense\(\)"),
    "nested": (lambda x: torch.nested.nested_tensor([x[0], x[1]]), DTypeError, r"q is nested.*torch\.stack"),
    "ragged": (
        lambda x: torch.nested.nested_tensor([x[0], x[1]], layout=torch.jagged), DTypeError, r"nested.*torch\.stack"
    ),
    "quantized": (
        lambda x: torch.quantize_per_tensor(x.float(), 0.1, 0, torch.qint8), DTypeError, r"quantized.*q\.dequantize\(\)"
    ),
    "complex": (lambda x: torch.complex(x, x), DTypeError, r"q is torch.complex128.*pass q\.real$"),
    "masked": (lambda x: torch.masked.masked_tensor(x, x > 0.0), DTypeError, "MaskedTensor.*pass a plain tensor"),
    "fake": (fake, DTypeError, "FakeTensor.*pass a plain tensor"),
    "text": (lambda x: "a", DTypeError, r"q \(str\) cannot be read as a tensor"),
    "nothing in it": (lambda x: [[None] * 3], DTypeError, r"q \(list\) cannot be read as a tensor"),
    "irregular": (lambda x: [[1.0, 2.0, 3.0], [1.0]], ShapeError, "q is not a regular array"),
    "no dimension": (lambda x: torch.tensor(1.0, dtype=x.dtype), ShapeError, r"q has shape \(\)"),
}  # fmt: skip


def made(f: Callable[[Any], Any], x: Any) -> Any:
    with warnings.catch_warnings():  # PyTorch's own, of what is in its beta
        warnings.simplefilter("ignore")
        return f(x)


@pytest.mark.parametrize("kind", SAME)
def test_the_answer_is_the_same(kind: str) -> None:
    want = FAR.forward_dynamics(Q, V, TAU)
    for k in range(3):
        given = [made(SAME[kind], x) if i == k else x for i, x in enumerate((Q, V, TAU))]
        assert torch.equal(FAR.forward_dynamics(*given).detach(), want)


@pytest.mark.parametrize("kind", ["negative bit", "imaginary part of a conjugate", "subclass"])
def test_gradients_of_and_by_it(kind: str) -> None:
    def gradient(q: Any, cotangent: Any) -> Any:
        tau = TAU.clone().requires_grad_()
        FAR.forward_dynamics(q, V, tau).backward(cotangent)
        return tau.grad

    want = gradient(Q, V)
    assert torch.equal(gradient(made(SAME[kind], Q), V), want)
    assert torch.equal(gradient(Q, made(SAME[kind], V)), want)
    mapped = torch.func.vmap(FAR.forward_dynamics)(made(SAME[kind], Q), V, TAU)
    np.testing.assert_allclose(mapped, FAR.forward_dynamics(Q, V, TAU), rtol=1e-12)


@pytest.mark.parametrize("kind", OTHER)
def test_what_is_no_plain_tensor_says_what_to_pass(kind: str) -> None:
    f, error, message = OTHER[kind]
    with pytest.raises(error, match=rf"^forward_dynamics: .*{message}|^forward_dynamics: {message}") as raised:
        FAR.forward_dynamics(made(f, Q), V, TAU)
    assert not re.search("several devices", str(raised.value))


def test_methods_name_functions_too() -> None:
    assert torch.equal(FAR.vjp("forward_dynamics")(Q, V, TAU, V).q, FAR.vjp("fd")(Q, V, TAU, V).q)
