"""What backends hand on is a value: nobody can change it, and it has no more than its fields."""

from __future__ import annotations

import dataclasses
import importlib
import pkgutil
from collections.abc import Iterator
from typing import Any

import pytest

import condyle.backends

pytestmark = pytest.mark.smoke
WORK = {
    "c.schedule._Function", "cpu.allocate.Constants", "cpu.assemble.Straight", "cpu.chain._Writer",
    "cpu.columns._Places", "cpu.operations._Expansion", "cpu.single._Form", "cuda.kernel.Plan",
}  # fmt: skip
"""Classes whose fields change while something is made, or kept."""
LOOSE = {
    "c.schedule.Entry", "casadi.source.External", "casadi.source.Family", "casadi.source.Part", "casadi.source.Port",
    "casadi.source.Shape", "common.exported_files.Manifest", "common.loops.Layout", "cpu.chain.Made",
    "cpu.chain.Storage", "cuda.target.Size",
}  # fmt: skip
"""Values that keep what they computed once, or are few."""


def classes() -> Iterator[tuple[str, Any]]:
    """Dataclasses by their names behind `condyle.backends`."""
    for module in pkgutil.walk_packages(condyle.backends.__path__, "condyle.backends."):
        if not module.ispkg and not module.name.endswith("_allocate"):
            for one in vars(importlib.import_module(module.name)).values():
                if dataclasses.is_dataclass(one) and isinstance(one, type) and one.__module__ == module.name:
                    yield f"{module.name.removeprefix('condyle.backends.')}.{one.__name__}", one


def test_values_are_frozen() -> None:
    assert {name for name, one in classes() if not one.__dataclass_params__.frozen} == WORK
    assert len(dict(classes())) > 50


def test_values_have_no_more_than_their_fields() -> None:
    assert {name for name, one in classes() if "__slots__" not in vars(one)} == LOOSE | WORK - {"cuda.kernel.Plan"}
