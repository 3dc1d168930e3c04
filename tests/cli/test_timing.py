from __future__ import annotations

import time

from condyle.cli.bound import Sampling, interleaved


def test_a_longer_call_takes_longer() -> None:
    calls = {"short": lambda: time.sleep(0.0005), "long": lambda: time.sleep(0.003)}
    found = interleaved(calls, Sampling(samples=3, sample_s=0.001))
    assert found["long"].minimum > found["short"].minimum
    assert found["long"].minimum >= 3e6


def test_per_state_divides_every_number() -> None:
    (spread,) = interleaved({"x": lambda: None}, Sampling(samples=5, sample_s=1e-4)).values()
    half = spread.per(2)
    assert half.median == spread.median / 2
    assert half.minimum == spread.minimum / 2
    assert half.low <= half.median <= half.high
