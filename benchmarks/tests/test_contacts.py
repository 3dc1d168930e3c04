"""benchmarks.contacts measures what it says, and its page says what is met and what is missing."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from benchmarks import contacts, contacts_table, results
from benchmarks.contacts_closure import closed, closure, linkage
from benchmarks.robots import Case
from condyle.cli.bound import Sampling

BRIEF = Sampling(samples=2, sample_s=1e-5, longest_s=0.1)
LEGS = ("lf_lowerleg", "rf_lowerleg", "lh_lowerleg", "rh_lowerleg")
DOG = contacts.Subject(Case("hyq-floating", "hyq", floating=True), "point", LEGS)


def spread(least: float) -> dict[str, float]:
    return {"median": least + 1.0, "minimum": least, "low": least, "high": least + 2.0}


def test_every_pattern_of_flags_is_timed() -> None:
    dyn = DOG.dynamics()
    found = contacts.patterns(DOG, dyn, BRIEF)
    assert len(found) == 17 and {"0000", "0110", "random"} <= found.keys()
    assert all(0.0 < ns["minimum"] <= ns["median"] for ns in found.values())
    assert contacts.violation(DOG, dyn) < 1e-9


def test_a_closed_linkage_opens_less_with_gains() -> None:
    q, v = closed(linkage((0.0, 0.0), "rk4"))
    dyn = linkage((0.0, 0.0), "rk4")
    assert np.abs(dyn.constraint_errors(q)).max() < 1e-14
    assert np.abs(dyn.constraint_jacobian(q) @ v).max() < 1e-12
    found = closure(500)
    euler, rk4 = found["semi_implicit_euler"], found["rk4"]
    assert rk4["with gains"] < 1e-8 < euler["with gains"] < euler["without"]


def entry() -> dict[str, object]:
    """What `measure` would answer."""
    words = ("fd", "cfd", "dfd", "dcfd", "fd, float32", "cfd, float32", "dcfd, float32", "impact", "step")
    ns = {name: spread(100.0) for name in (*words, "step, contacts")}
    ns |= {f"pinocchio {word}": spread(850.0) for word in ("aba", "motion", "slopes", "both")}
    return {
        "nv": 18,
        "kind": "point",
        "contacts": 4,
        "rival": {"version": "4", "eigen": "3.4", "compiler": "g++", "flags": "-O3"},
        "differences": {"cfd": 1e-13, "dcfd": 1e-12},
        "violation": 1e-15,
        "ns": ns,
        "flags": {"0": spread(100.0), "1": spread(101.0), "random": spread(102.0)},
        "operations": {name: {"mul": 10, "add": 5} for name in ("fd", "cfd", "dfd", "dcfd")},
    }


def test_the_page_says_what_is_met_and_what_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "contacts.json"
    monkeypatch.setattr(contacts_table, "SOURCE", path)
    assert contacts_table.page() == contacts_table.HEAD
    results.merge("contacts", "hyq-floating", entry(), path)
    results.merge("closure", "closure", closure(20), path)
    text = contacts_table.page()
    assert "| cfd / fd | 1.00 | at most 3 | yes |" in text
    assert "| constraintDynamics / cfd | 8.50 | 30 | no |" in text
    assert "| derivatives alone / dcfd | 8.50 | 8 | yes |" in text
    assert "100 to 102 ns with each of" in text and "a difference of 2.0 %" in text and "20 steps of 1 ms" in text


def test_the_page_is_up_to_date() -> None:
    assert contacts_table.PATH.read_text() == contacts_table.page()
