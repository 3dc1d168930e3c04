"""Code in any form does not change after it is made: equal code has one hash, and caches may keep it."""

from __future__ import annotations

import dataclasses
import inspect

import pytest

from condyle.ir import expr, interp, link_parallel, loops, program, schedule, segments
from condyle.links.cuda import part, transport
from condyle.links.trace import traced_segments

RECORDS = [
    record
    for module in (expr, interp, link_parallel, loops, program, schedule, segments, part, transport, traced_segments)
    for _, record in inspect.getmembers(module, dataclasses.is_dataclass)
    if record.__module__ == module.__name__
]


@pytest.mark.parametrize("record", RECORDS, ids=lambda record: record.__name__)
def test_a_record_is_frozen(record: type) -> None:
    made = object.__new__(record)
    with pytest.raises(dataclasses.FrozenInstanceError):
        setattr(made, dataclasses.fields(record)[0].name, None)


def test_all_forms_are_there() -> None:
    names = {record.__name__ for record in RECORDS}
    assert len(RECORDS) > 25 and {"Program", "LinkParallel", "Segmented", "Rolled", "Schedule", "Kernel"} <= names
