from __future__ import annotations

import time

import pytest

from condyle.cli import bound
from condyle.cli.bound import Call, Sampling, Spread, interleaved, spelled_out


def test_a_longer_call_takes_longer() -> None:
    calls = {"short": lambda: time.sleep(0.0005), "long": lambda: time.sleep(0.003)}
    found = interleaved(calls, Sampling(samples=3, sample_s=0.001))
    assert found["long"].minimum > found["short"].minimum
    assert found["long"].minimum >= 3e6


def test_per_state_divides_every_number() -> None:
    assert Spread(8.0, 2.0, 4.0, 16.0).per(2) == Spread(4.0, 1.0, 2.0, 8.0)


class Watch:
    """A clock that only calls move on, each by its own nanoseconds; keeps which calls there were."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.now, self.calls = 0, list[str]()
        monkeypatch.setattr(time, "perf_counter_ns", lambda: self.now)
        monkeypatch.setattr(bound, "CLOCKS", {"wall": lambda: self.now, "cpu": lambda: 2 * self.now})

    def call(self, name: str, *ns: int) -> Call:
        """Takes these times in turn."""

        def run() -> None:
            self.calls.append(name)
            self.now += ns[self.calls.count(name) % len(ns)]

        return run


@pytest.mark.parametrize(
    ("ns", "calls"),
    [
        (1_000_000, 1 + 1 + 2 * 3 + 15 * 4),  # samples of 4 ms
        (10_000_000, 1 + 1 + 2 * 3 + 15),
        (10_000_001, 1 + 1 + 15),  # a long call is not warmed up again
        (400_000_000, 1 + 1 + 10),  # 4 s in all
        (1_000_000_000, 1 + 1 + 5),
    ],
)
def test_so_many_calls_are_timed(monkeypatch, ns: int, calls: int) -> None:
    watch = Watch(monkeypatch)
    found = interleaved({"x": watch.call("x", ns)}, Sampling())
    assert found == {"x": Spread(ns, ns, ns, ns)}
    assert len(watch.calls) == calls


def test_samples_take_turns_and_every_second_round_goes_backwards(monkeypatch) -> None:
    watch = Watch(monkeypatch)
    calls = {"a": watch.call("a", 20_000_000), "b": watch.call("b", 30_000_000)}
    found = interleaved(calls, Sampling("cpu", samples=3, sample_s=0.05))
    assert "".join(watch.calls) == "aa" + "bb" + "aabb" + "bbaa" + "aabb"
    assert (found["a"].median, found["b"].median) == (40e6, 60e6), "of the clock that was asked for"


def test_quartiles_are_those_of_the_samples(monkeypatch) -> None:
    watch = Watch(monkeypatch)
    times = [10_000_000 * k for k in (1, 9, 2, 4, 3, 5, 6)]  # the first call takes 90 ms, the second one 20 ms
    (found,) = interleaved({"x": watch.call("x", *times)}, Sampling(samples=5, sample_s=1e-3)).values()
    assert found == Spread(median=4e7, minimum=1e7, low=3e7, high=5e7)


def test_a_call_shorter_than_the_clock_can_see_takes_a_part_of_its_tick(monkeypatch) -> None:
    (found,) = interleaved({"x": Watch(monkeypatch).call("x", 0)}, Sampling(sample_s=4e-9)).values()
    assert found.median == pytest.approx(1 / 12)  # a third of a nanosecond a call fills 4 ns with 12


def test_times_are_wide_where_their_quartiles_are_more_than_15_per_cent_apart() -> None:
    assert not Spread(100.0, 90.0, 90.0, 105.0).wide
    assert Spread(100.0, 90.0, 90.0, 105.5).wide


@pytest.mark.parametrize("n", range(1, 7))
def test_a_call_that_is_spelled_out_has_its_arguments(n: int) -> None:
    called = spelled_out(lambda *arguments, out: (arguments, out), list(range(n)), "o")
    assert called() == (tuple(range(n)), "o")
