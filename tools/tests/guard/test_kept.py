"""What this tree writes is what was kept."""

from __future__ import annotations

import pytest

from condyle import errors
from tools.guard import kept
from tools.guard.cases import CASES, chosen
from tools.guard.compare import Difference

SMALL = ("iiwa14", "hyq")


@pytest.mark.slow
@pytest.mark.parametrize("name", SMALL)
def test_counts_and_texts_are_as_kept(name: str) -> None:
    """If it is meant: `python -m tools.guard keep`, and say why in the commit."""
    (case,) = chosen([name])
    assert kept.differences(case) == []


def test_robots_that_are_kept_have_names() -> None:
    names = list(kept.read())
    assert {*SMALL} <= {*names}
    assert names == [case.name for case in CASES if case.name in names]


def test_no_error_is_kept() -> None:
    """A refused export has the hash of its error's name, which stays the same whatever is written."""
    refused = {kept.one({"export": name}) for name in vars(errors)}
    assert not [(name, what) for name, row in kept.read().items() for what, found in row.items() if found in refused]


def test_a_change_is_found(monkeypatch: pytest.MonkeyPatch) -> None:
    (case,) = chosen(["iiwa14"])
    before = kept.read()["iiwa14"]
    now = before | {"counts id": "id rnea 1 2 3", "new text": "1"}
    monkeypatch.setattr(kept, "kept", lambda *_: now)
    assert kept.differences(case) == [
        Difference("iiwa14", "counts id", "", before["counts id"], "id rnea 1 2 3"),
        Difference("iiwa14", "new text", "", "absent", "1"),
    ]
    monkeypatch.setattr(kept, "read", dict)
    assert kept.differences(case) == [Difference("iiwa14", "robot", "", "absent", "there")]
