"""The runner finds what a fuzzer raises, a crash and a hang, and says how to repeat it."""

from __future__ import annotations

import sys
import types
from pathlib import Path

import numpy as np
import pytest

from fuzz import runner

FUZZERS = {
    "harmless": "pass",
    "wrong": "assert rng.integers(10) != 3, 'three'",
    "crash": "import os\n    if rng.integers(10) == 3: os.abort()",
    "hang": "import time\n    if rng.integers(10) == 3: time.sleep(60)",
}


@pytest.fixture
def fuzzer(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """fuzzer(name): a fuzzer of that name, in a package that the child finds too."""

    def make(name: str) -> str:
        folder = tmp_path / "fuzz"
        folder.mkdir()
        for file in ("__init__.py", "runner.py", "worker.py"):
            (folder / file).symlink_to(runner.HERE / file)
        text = f"WHAT = 'a test'\n\n\ndef case(rng, folder):\n    {FUZZERS[name]}\n"
        (folder / f"{name}.py").write_text(text)
        module = types.ModuleType(f"fuzz.{name}")
        exec(text, module.__dict__)
        monkeypatch.setitem(sys.modules, f"fuzz.{name}", module)
        monkeypatch.setattr(runner, "HERE", folder)
        return name

    return make


def first_three(seed: int) -> int:
    return next(k for k in range(1000) if np.random.default_rng([seed, k]).integers(10) == 3)


def test_nothing_is_found_where_nothing_is_wrong(fuzzer) -> None:
    outcome = runner.attack(fuzzer("harmless"), 0, 1.0)
    assert outcome.cases > 10
    assert not outcome.found
    assert str(outcome).endswith("nothing found")


@pytest.mark.parametrize(("name", "text"), [("wrong", "AssertionError: three"), ("crash", "status -6")])
def test_a_wrong_answer_and_a_crash_are_found_and_can_be_repeated(fuzzer, name: str, text: str) -> None:
    outcome = runner.attack(fuzzer(name), 5, 2.0)
    assert outcome.found[0].case == first_three(5)
    assert text in outcome.found[0].what
    assert len(outcome.found) > 1, "it goes on after the first"
    assert f"python -m fuzz {name} --seed 5 --case {first_three(5)}" in str(outcome)


def test_a_hang_is_found(fuzzer, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runner, "LONGEST_CASE_S", 0.5)
    outcome = runner.attack(fuzzer("hang"), 5, 3.0)
    assert outcome.found[0].case == first_three(5)
    assert "not finished" in outcome.found[0].what


def test_known_are_the_modules_with_a_case() -> None:
    assert "runner" not in runner.known()
    assert all(runner.load(name).WHAT for name in runner.known())
