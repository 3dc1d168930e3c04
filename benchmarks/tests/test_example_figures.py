"""examples/README.md has a row for each example, with a picture of what it computes or the reason why there is none."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from benchmarks import example_figures
from benchmarks.example_figures import DRAWN, EXAMPLES, FOLDER, run

ROW = re.compile(r"^\| \[(\d\d)_\w+\.py\]\((\w+\.py)\): .* \| (?:!\[([^]]+)\]\(([^)]+)\)|none: \w.*) \|$", re.MULTILINE)


def test_every_example_has_a_picture_or_the_reason_why_not() -> None:
    rows = ROW.findall((EXAMPLES / "README.md").read_text())
    assert [name for _, name, _, _ in rows] == [path.name for path in sorted(EXAMPLES.glob("*.py"))]
    shown = {number: (EXAMPLES / picture).resolve() for number, _, _, picture in rows if picture}
    assert {number for number, path in shown.items() if path.parent == FOLDER} == set(DRAWN)
    assert {path.stem for path in FOLDER.glob("*")} == set(DRAWN)
    assert all(3_000 < path.stat().st_size < 100_000 for path in shown.values())


def test_a_variable_is_read_at_each_turn_of_a_loop() -> None:
    values, read = run("11", "step, size = down +", ("miss",))
    assert read["miss"].shape == (40, *values["miss"].shape)
    assert np.array_equal(read["miss"][-1], values["miss"]) and not np.array_equal(read["miss"][0], values["miss"])
    with pytest.raises(ValueError, match=r"11_payload\.py has no line that begins with 'nothing'"):
        run("11", "nothing")


def test_a_curve_and_a_robot_are_drawn_as_they_are_committed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The same signs; their positions may differ by rounding."""
    pytest.importorskip("matplotlib", reason="needs matplotlib: pip install 'condyle[plots]'")
    monkeypatch.setattr(example_figures, "FOLDER", tmp_path)
    for number, sign in (("06", "<use"), ("01", "<ellipse")):
        DRAWN[number]()
        drawn, kept = ((folder / f"{number}.svg").read_text() for folder in (tmp_path, FOLDER))
        assert drawn.count(sign) == kept.count(sign) > 5
