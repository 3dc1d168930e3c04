"""Pickles of users' functions: traced again on the other side, and refused where that gives another function."""

from __future__ import annotations

import copy
import pickle
import sys
from functools import partial
from typing import Any

import numpy as np
import pytest

import condyle
from condyle.derivatives import vjp
from condyle.errors import UnsupportedError

GAIN = 1.0


def scaled(x: Any) -> Any:
    return GAIN * x**2


def scaled_by(gain: float, x: Any) -> Any:
    return gain * x**2


def test_a_pickle_that_would_be_another_function_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    """It has the function by its name, and a worker has other values of its module's constants."""
    monkeypatch.setattr(sys.modules[__name__], "GAIN", 5.0)
    f = condyle.function(scaled, {"x": 2})
    pickles = [pickle.dumps(f), pickle.dumps(f.compile())]
    assert pickle.loads(pickles[1])(np.ones(2)).tolist() == [5.0, 5.0]
    monkeypatch.setattr(sys.modules[__name__], "GAIN", 7.0)
    for data in pickles:
        with pytest.raises(UnsupportedError, match=r"scaled: .*differs: function\.constants\).*functools\.partial"):
            pickle.loads(data)
    with pytest.raises(UnsupportedError, match=r"function\.constants"):
        copy.deepcopy(f)
    bound = condyle.function(partial(scaled_by, 5.0), {"x": 2}).compile()
    assert pickle.loads(pickle.dumps(bound))(np.ones(2)).tolist() == [5.0, 5.0]


def test_a_function_alone_has_no_pickle() -> None:
    """What is made of it has none either; the compiled function that has it does."""
    compiled = condyle.function(scaled, {"x": 2}).compile()
    for function in (compiled.specification, vjp(compiled.specification)):
        with pytest.raises(UnsupportedError, match="scaled: a user's function has no pickle of its own"):
            pickle.dumps(function)
    assert pickle.loads(pickle.dumps(compiled)).specification == compiled.specification
