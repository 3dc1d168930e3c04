"""What the decorators of dataclasses say."""

from __future__ import annotations

import re
from pathlib import Path

import condyle

USUAL = ("init=True", "repr=True", "eq=True", "order=False", "frozen=False", "slots=False", "kw_only=False")


def test_an_option_is_said_where_it_is_not_the_usual_one() -> None:
    """So a class that says `frozen` cannot be changed, and one that says `eq` is compared by identity."""
    texts = [path.read_text(encoding="utf-8") for path in Path(condyle.__file__).parent.rglob("*.py")]
    said = [options for text in texts for options in re.findall(r"@dataclass\(([^()]*)\)", text)]
    assert len(said) > 100
    assert [options for options in said if any(usual in options for usual in USUAL)] == []
