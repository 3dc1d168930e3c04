"""Tests of a GPU: `pytest -m gpu` asks for one, so a test fails where there is none; else it is skipped."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NoReturn

import pytest


def asks_for_gpu(config: pytest.Config) -> bool:
    """Whether only tests with the mark `gpu` run: `-m gpu`, `-m "gpu and not slow"`."""
    return re.fullmatch(r"gpu( and .*)?", config.option.markexpr.strip()) is not None


def has_gpu_tests(path: Path) -> bool:
    """Whether a file of tests is in `tests/gpu` or names the mark. All others may need packages that a machine with a
    GPU lacks."""
    return path.parent.name == "gpu" or may_have("gpu", path)


def may_have(mark: str, path: Path) -> bool:
    """Whether a file is no file of tests, or names the mark."""
    return not path.name.startswith("test_") or f"mark.{mark}" in path.read_text(encoding="utf-8")


def without_gpu(config: pytest.Config, reason: str) -> NoReturn:
    """Ends the running test, which needs a GPU."""
    if asks_for_gpu(config):
        pytest.fail(f"pytest -m gpu asks for a GPU: {reason}")
    pytest.skip(reason)
