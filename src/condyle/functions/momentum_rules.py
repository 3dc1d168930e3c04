"""Derivatives of momentum and of the parts of the equation of motion that are other functions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from condyle.specification import F_EXT, Closed

Given = Mapping[str, Sequence[Any]]


def _jacobian_com(at: Any, given: Given) -> Given:
    return {"dcom_dq": at.call("jcom", given["q"])[0]}


def _jacobian_g(at: Any, given: Given) -> Given:
    """Inverse dynamics at rest."""
    still = [0.0] * at.tree.nv
    return {"dg_dq": at.call("did", given["q"], still, still)[0]}


def _jacobian_nle(at: Any, given: Given) -> Given:
    """Inverse dynamics without acceleration."""
    name, forces = (f"did_{F_EXT.name}", (given[F_EXT.name],)) if F_EXT.name in given else ("did", ())
    by_q, by_v = at.call(name, given["q"], given["v"], [0.0] * at.tree.nv, *forces)
    return {"dnle_dq": by_q, "dnle_dv": by_v}


RULES: Mapping[str, Mapping[str, Closed]] = {
    "com": {"jacobian": _jacobian_com},
    "g": {"jacobian": _jacobian_g},
    "nle": {"jacobian": _jacobian_nle},
}
