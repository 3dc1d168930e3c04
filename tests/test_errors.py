"""What a message of many findings looks like: sorted, marked, grouped, on lines of its own."""

from __future__ import annotations

import pickle
from dataclasses import replace
from pathlib import Path

import pytest

from condyle.errors import Finding, ModelError, ModelWarning, StateError, UnsupportedError, listed


def joints(n: int, severity: str = "note", message: str = "without limits") -> list[Finding]:
    return [Finding(severity, message, "r.urdf", 10 + k, f"joint 'j{k}'", "add them") for k in range(n)]


def test_errors_come_first_and_lines_are_marked() -> None:
    found = [Finding("note", "odd"), Finding("physics", "light"), Finding("error", "broken", "a.urdf", 3, "link 'x'")]
    error = ModelError(found)
    assert str(error) == "error: a.urdf:3: link 'x': broken\nphysics: light\nnote: odd"
    assert error.findings == tuple(found)
    assert str(pickle.loads(pickle.dumps(error))) == str(error)


def test_equal_findings_are_one_line_that_counts_and_names() -> None:
    assert listed(joints(58)) == (
        "note: r.urdf: 58 joints: without limits (add them): 'j0' (line 10), 'j1' (line 11), 'j2' (line 12) and 55 more"
    )
    assert listed(joints(2)) == "note: r.urdf: 2 joints: without limits (add them): 'j0' (line 10), 'j1' (line 11)"
    assert listed(joints(1)) == "note: r.urdf:10: joint 'j0': without limits (add them)"


def test_places_without_names_are_lines() -> None:
    found = [Finding("note", "<x> is unknown", "r.urdf", 4 + k, "robot") for k in range(3)]
    assert listed(found) == "note: r.urdf: 3 times: robot: <x> is unknown: line 4, line 5, line 6"


def test_findings_that_differ_in_numbers_only_are_one_line_unless_they_are_errors() -> None:
    def odd(severity: str) -> str:
        return listed([Finding(severity, f"moments {k}.5e-3 kg", None, None, f"link 'l{k}'") for k in range(3)])

    assert odd("physics") == "physics: 3 links, numbers of the first: moments 0.5e-3 kg: 'l0', 'l1', 'l2'"
    assert odd("error").count("\n") == 2


def test_a_message_is_never_endless() -> None:
    lines = listed([Finding("error", f"no {k}") for k in range(500)]).splitlines()
    assert len(lines) == 31
    assert lines[-1] == "error: and 470 more of other kinds"


def test_one_sentence_stays_one_sentence() -> None:
    error = ModelError("there is no joint 'x'")
    assert str(error) == "there is no joint 'x'"
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.findings) == (str(error), error.findings)


@pytest.mark.parametrize("forged", ["x\nerror: all is lost", "x\u2028y", "x\u202ey", "x\x1b[2Jy", "x\u3164y"])
def test_text_of_a_model_starts_no_line(forged: str) -> None:
    (line,) = listed([Finding("note", forged, forged, 1, f"link {forged}", forged)]).splitlines()
    assert line.isprintable()
    assert len(listed([Finding("note", "odd", None, None, f"joint {forged}")] * 2).splitlines()) == 1
    assert "\u202e" not in str(UnsupportedError("x\u202ey"))


def test_a_path_is_said_from_where_one_stands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """From the working directory or from home where the file lies below; the data keep the whole path."""
    file = tmp_path / "ws" / "arms" / "arm.urdf"
    file.parent.mkdir(parents=True)
    finding = Finding("note", "odd", str(file), 7, "joint 'j'")
    monkeypatch.setenv("HOME", str(tmp_path / "elsewhere"))
    assert str(finding) == f"{file}:7: joint 'j': odd"
    monkeypatch.setenv("HOME", str(tmp_path))
    assert str(finding) == "~/ws/arms/arm.urdf:7: joint 'j': odd"
    monkeypatch.chdir(tmp_path / "ws")
    assert str(finding) == "arms/arm.urdf:7: joint 'j': odd"
    assert listed([finding, replace(finding, element="joint 'k'", line=9)]).startswith("note: arms/arm.urdf: 2 joints")
    assert finding.file == str(file)
    assert str(replace(finding, file="../arm.urdf")).startswith("../arm.urdf:7")
    assert str(replace(finding, file=f"{tmp_path}/ws2/arm.urdf")).startswith("~/ws2/arm.urdf:7")


def test_findings_of_one_name_are_counted_as_times() -> None:
    """Three of two joints are not three joints."""
    found = [Finding("note", f"{k} links too many", "r.urdf", 4, f"joint 'j{k // 2}'") for k in range(3)]
    assert listed(found).startswith("note: r.urdf: 3 times, numbers of the first: ")


def test_bad_states_are_said_and_numbered() -> None:
    error = StateError("q: not finite", (1, 4))
    for each in (error, pickle.loads(pickle.dumps(error))):
        assert (str(each), each.rows) == ("q: not finite", (1, 4))


def test_findings_that_differ_in_file_kind_words_or_cure_are_lines_of_their_own() -> None:
    """Those of a place without a name differ by the place."""
    first = Finding("note", "odd", "a.urdf", 1, "joint 'x'", "mend it")
    others = (
        replace(first, file="b.urdf"),
        replace(first, element="link 'x'"),
        replace(first, element="robot"),
        replace(first, element=None),
        replace(first, message="even"),
        replace(first, cure=None),
        replace(first, severity="error"),
    )
    assert len(listed([first, *others]).splitlines()) == 8
    assert len(listed([first, replace(first, line=2, element="joint 'y'")]).splitlines()) == 1
    robots = [replace(first, element=name) for name in ("robot", "scene")]
    assert len(listed(robots).splitlines()) == 2


@pytest.mark.parametrize(("kinds", "last"), [(30, "error: no 29"), (31, "error: and 2 more of other kinds")])
def test_thirty_kinds_of_a_severity_are_shown(kinds: int, last: str) -> None:
    """The rest is counted by findings, not by kinds."""
    found = [Finding("error", f"no {k}") for k in range(kinds)]
    lines = listed([*found, *([found[30]] if kinds > 30 else []), Finding("note", "odd")]).splitlines()
    assert lines[-2:] == [last, "note: odd"] and len(lines) == min(kinds, 31) + 1


def test_findings_without_a_place_are_counted_alone() -> None:
    assert listed([Finding("note", "odd")] * 2) == "note: 2 times: odd"
    named = [Finding("note", "odd", None, 4, "joint 'a'"), Finding("note", "odd", None, None, "joint 'b'")]
    assert listed(named) == "note: 2 joints: odd: 'a' (line 4), 'b'"
    assert listed([Finding("note", "odd", None, None, "robot")] * 2) == "note: 2 times: robot: odd"
    assert listed(joints(4)).endswith("'j2' (line 12) and 1 more") and listed(joints(3)).endswith("'j2' (line 12)")


@pytest.mark.parametrize(
    "findings", ["sentence", [Finding("error", "sentence")], [Finding("note", "x", "f", 3)], joints(2)]
)
def test_a_model_error_is_the_same_after_a_pickle(findings: str | list[Finding]) -> None:
    error = ModelError(findings)
    again = pickle.loads(pickle.dumps(error))
    assert (str(again), again.findings) == (str(error), error.findings)


def test_a_warning_without_findings_has_none() -> None:
    assert ModelWarning("odd").findings == () and ModelWarning("odd", joints(1)).findings == tuple(joints(1))
