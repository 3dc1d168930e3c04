"""Derivatives of kinematics that are known in closed form."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from condyle.model.joints.increments import Rows
from condyle.spatial import vector as vec
from condyle.specification import Closed

Values: TypeAlias = "Sequence[Any]"
Given: TypeAlias = "Mapping[str, Values]"
Answers: TypeAlias = "Mapping[str, Values]"
Blocks: TypeAlias = "Iterator[tuple[list[int], tuple[Rows, Rows]]]"
"""Of every joint: where its velocities stand, and the derivatives by both inputs."""


def _integrate(at: Any, given: Given) -> Blocks:
    for kind, _, rates in at.tree.configurations:
        yield rates, kind.transport([given["dv"][k] for k in rates])


def _difference(at: Any, given: Given) -> Blocks:
    (dv,) = at.call("difference", given["q0"], given["q1"])
    for kind, _, rates in at.tree.configurations:
        here = [dv[k] for k in rates]
        by_q0 = kind.transport_inverse([-x for x in here])
        yield rates, ([[-x for x in row] for row in by_q0], kind.transport_inverse(here))


@dataclass(frozen=True)
class _JointByJoint:
    """Rules of a function of two inputs. blocks: its derivatives; tangents, output: as derivatives call them."""

    name: str
    blocks: Callable[[Any, Given], Blocks]
    inputs: tuple[str, str]
    tangents: tuple[str, str]
    output: str

    def jvp(self, at: Any, given: Given) -> Answers:
        result: list[Any] = [0.0] * at.tree.nv
        for rates, parts in self.blocks(at, given):
            for part, tangent in zip(parts, self.tangents, strict=True):
                own = [given[tangent][k] for k in rates]
                for k, row in zip(rates, part, strict=True):
                    result[k] = result[k] + _dot(row, own)
        return {f"d{self.output}": result}

    def vjp(self, at: Any, given: Given) -> Answers:
        result: dict[str, list[Any]] = {f"{one}_bar": [0.0] * at.tree.nv for one in self.inputs}
        for rates, parts in self.blocks(at, given):
            bar = [given[f"{self.output}_bar"][k] for k in rates]
            for found, part in zip(result.values(), parts, strict=True):
                for k, column in zip(rates, zip(*part, strict=True), strict=True):
                    found[k] = _dot(column, bar)
        return result

    def jacobian(self, at: Any, given: Given) -> Answers:
        n = at.tree.nv
        result: dict[str, list[Any]] = {f"d{self.name}_d{one}": [0.0] * n**2 for one in self.inputs}
        for rates, parts in self.blocks(at, given):
            for found, part in zip(result.values(), parts, strict=True):
                for k, row in zip(rates, part, strict=True):
                    for l, x in zip(rates, row, strict=True):
                        found[k * n + l] = x
        return result

    @property
    def rules(self) -> Mapping[str, Closed]:
        return {"jvp": self.jvp, "vjp": self.vjp, "jacobian": self.jacobian}


def _dot(row: Values, x: Values) -> Any:
    return sum(a * b for a, b in zip(row, x, strict=True))


def _jacobian_fk(at: Any, given: Given) -> Answers:
    """Columns of J in the world's axes move the origin, and turn the axes."""
    n = at.tree.nv
    (rotation, _), (columns,) = at.call("fk", given["q"]), at.call("jac_aligned", given["q"])
    by_rotation: list[Any] = [0.0] * (len(rotation) * n)
    by_translation: list[Any] = []
    for frame in range(len(rotation) // 9):
        linear, angular = ([columns[(6 * frame + k) * n : (6 * frame + k + 1) * n] for k in part] for part in HALVES)
        by_translation += [x for row in linear for x in row]
        for axis in range(3):
            entries = [9 * frame + 3 * k + axis for k in range(3)]
            unit = vec.three([rotation[entry] for entry in entries])
            for column, w in enumerate(zip(*angular, strict=True)):
                for entry, x in zip(entries, vec.cross(vec.three(w), unit), strict=True):
                    by_rotation[entry * n + column] = x
    return {"drotation_dq": by_rotation, "dtranslation_dq": by_translation}


HALVES = range(3), range(3, 6)
"""The rows of a Jacobian: linear, angular."""

RULES: Mapping[str, Mapping[str, Closed]] = {
    "fk": {"jacobian": _jacobian_fk},
    "integrate": _JointByJoint("integrate", _integrate, ("q", "dv"), ("dq", "ddv"), "q_next").rules,
    "difference": _JointByJoint("difference", _difference, ("q0", "q1"), ("dq0", "dq1"), "dv").rules,
}
