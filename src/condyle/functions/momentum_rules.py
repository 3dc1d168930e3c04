"""Derivatives of momentum and of the parts of the equation of motion that are other functions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from condyle.functions.calls import call
from condyle.specification import Closed

Given = Mapping[str, Sequence[Any]]


def _jacobian_com(at: Any, given: Given) -> Given:
    return {"dcom_dq": call(at, given, "jcom", given["q"])[0]}


def _jacobian_g(at: Any, given: Given) -> Given:
    """Inverse dynamics at rest."""
    still = [0.0] * at.tree.nv
    return {"dg_dq": call(at, given, "did", given["q"], still, still)[0]}


def _jacobian_nle(at: Any, given: Given) -> Given:
    """Inverse dynamics without acceleration."""
    by_q, by_v = call(at, given, "did", given["q"], given["v"], [0.0] * at.tree.nv)
    return {"dnle_dq": by_q, "dnle_dv": by_v}


RULES: Mapping[str, Mapping[str, Closed]] = {
    "com": {"jacobian": _jacobian_com},
    "g": {"jacobian": _jacobian_g},
    "nle": {"jacobian": _jacobian_nle},
}
