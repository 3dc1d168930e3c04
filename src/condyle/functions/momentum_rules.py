"""Derivatives of momentum and of the parts of the equation of motion that are other functions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from condyle.functions import takes, variant
from condyle.specification import Closed

Given = Mapping[str, Sequence[Any]]


def _call(at: Any, given: Given, function: str, *inputs: Sequence[Any]) -> Sequence[Any]:
    """A function with what is given behind its own inputs, as far as it depends on it."""
    extra = [name for name in takes(function) if name in given]
    return at.call(variant(function, extra), *inputs, *(given[name] for name in extra))


def _jacobian_com(at: Any, given: Given) -> Given:
    return {"dcom_dq": _call(at, given, "jcom", given["q"])[0]}


def _jacobian_g(at: Any, given: Given) -> Given:
    """Inverse dynamics at rest."""
    still = [0.0] * at.tree.nv
    return {"dg_dq": _call(at, given, "did", given["q"], still, still)[0]}


def _jacobian_nle(at: Any, given: Given) -> Given:
    """Inverse dynamics without acceleration."""
    by_q, by_v = _call(at, given, "did", given["q"], given["v"], [0.0] * at.tree.nv)
    return {"dnle_dq": by_q, "dnle_dv": by_v}


RULES: Mapping[str, Mapping[str, Closed]] = {
    "com": {"jacobian": _jacobian_com},
    "g": {"jacobian": _jacobian_g},
    "nle": {"jacobian": _jacobian_nle},
}
