"""The tool that tries model files of other projects, on a few small ones."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

from condyle import ModelError, UnsupportedError
from condyle.errors import Finding
from tools.corpus.find import Case, How, cases
from tools.corpus.reasons import reason
from tools.corpus.summary import counts, text, wrong

ROOT = Path(__file__).resolve().parents[2]
BODY = (
    '<inertial><origin xyz="0.1 0.2 0.3"/><mass value="2"/>'
    '<inertia ixx="0.2" iyy="0.3" izz="0.25" ixy="0.01" ixz="0" iyz="0"/></inertial>'
)
ARM = (
    f'<robot name="arm"><link name="a">{BODY}</link><link name="b">{BODY}</link><joint name="j" type="revolute">'
    '<origin xyz="0 0 1"/><parent link="a"/><child link="b"/><axis xyz="0 1 0"/>'
    '<limit lower="-1" upper="1" effort="1" velocity="1"/></joint></robot>'
)
SPRUNG = (
    '<mujoco><worldbody><body><joint name="h"/><geom size="0.1" pos="0 0.2 0"/></body></worldbody>'
    '<tendon><fixed name="t" stiffness="3"><joint joint="h" coef="1"/></fixed></tendon></mujoco>'
)
FILES = {
    "some/arm.urdf": ARM,
    "some/none.urdf": ARM.replace('<child link="b"/>', ""),
    "other/sprung.xml": "<!-- <robot> is not the root -->" + SPRUNG,
    "other/part.xml": "<mujocoinclude/>",
    "other/colours.xml": "<robot/>",
    "other/read.me": SPRUNG,
}
SEVEN = {"id", "m", "minv", "fd", "did", "dfd", "difd"}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    for name, content in FILES.items():
        path = tmp_path / "models" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf-8")
    return tmp_path / "models"


def test_every_file_in_every_variant(folder: Path) -> None:
    found = {(case.name, case.source, case.format, case.variant) for case in cases(folder)}
    assert found == {
        *(("some/arm.urdf", "some", "urdf", variant) for variant in ("fixed", "floating")),
        *(("some/none.urdf", "some", "urdf", variant) for variant in ("fixed", "floating")),
        *(("other/sprung.xml", "other", "mjcf", variant) for variant in ("refuse", "ignore")),
    }
    assert {case.name for case in cases(folder, only="arm")} == {"some/arm.urdf"}
    fixed = cases(folder, every=2, variants=("fixed",))
    assert {(case.name, case.variant) for case in fixed} == {("some/arm.urdf", "fixed")}


@pytest.mark.slow
def test_a_run(folder: Path, tmp_path: Path) -> None:
    pytest.importorskip("mujoco", reason="pip install 'condyle[test]'")
    pytest.importorskip("pinocchio", reason="pip install 'condyle[test]'")
    lines, results = tmp_path / "runs.jsonl", tmp_path / "counts.json"
    command = [sys.executable, "-m", "tools.corpus", str(folder), "--json", str(lines), "--results", str(results)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    records = {(r["file"], r["variant"]): r for r in map(json.loads, lines.read_text().splitlines())}
    assert len(records) == 6
    for case in (("some/arm.urdf", "fixed"), ("some/arm.urdf", "floating"), ("other/sprung.xml", "ignore")):
        record = records[case]
        assert (record["status"], record["other"], record["compared"]) == ("loads", "loads", "numpy, cpu")
        assert set(record["numpy"]) == set(record["cpu"]) == set(record["compile_seconds"]) == SEVEN
        assert record["beyond"] == []
    assert records["other/sprung.xml", "refuse"]["status"] == "refused"
    assert records["other/sprung.xml", "refuse"]["other"] == "loads"
    assert records["some/none.urdf", "fixed"]["other"].startswith("refuses")
    assert "tendons" in done.stdout
    whole = json.loads(results.read_text())
    assert {row["source"] for row in whole["sources"]} == {"some", "other", "all"}
    assert whole["commit"] and whole["machine"]["numpy"]
    assert whole["worst errors"]["mjcf cpu"]["id"]["of"] == "other/sprung.xml (ignore)"
    again = subprocess.run([*command[:3], "--read", str(lines)], cwd=ROOT, capture_output=True, text=True, check=False)
    assert again.stdout == done.stdout


def test_time_is_limited(folder: Path) -> None:
    """What was known by then stays."""
    pytest.importorskip("mujoco", reason="pip install 'condyle[test]'")
    pytest.importorskip("pinocchio", reason="pip install 'condyle[test]'")
    from tools.corpus.runs import run

    record = run(cases(folder, only="arm")[0], How(seconds=0.0))
    assert (record["file"], record["status"], record["where"]) == ("some/arm.urdf", "timeout", "load: over 0 s")


def test_only_loaded(folder: Path) -> None:
    pytest.importorskip("mujoco", reason="pip install 'condyle[test]'")
    pytest.importorskip("pinocchio", reason="pip install 'condyle[test]'")
    from tools.corpus.runs import run

    record = run(cases(folder, only="arm")[0], How(most=0))
    assert record["status"] == "loads"
    assert not {"where", "compared", "numpy", "other"} & set(record)
    assert not any(wrong([record]).values())


def test_reasons_leave_names_and_numbers_out() -> None:
    findings = [Finding("note", "odd"), Finding("error", "the model's joint 'j 1' has mass -1.5e-3 (of \"x\")", "f", 3)]
    assert reason(ModelError(findings), "f") == "ModelError: the model's joint … has mass N (of …)"
    several = UnsupportedError("f: tendons (2): 'a' (/some where/f.xml:3), 'b' (line 4), 'c' and 7 more: not supported")
    assert reason(several, "f") == "UnsupportedError: tendons: …: not supported"


RECORDS = (
    {"status": "loads", "other": "loads", "condition": 9.0, "numpy": {"id": 1e-16}, "beyond": [], "compared": "numpy"},
    {"status": "loads", "condition": 1e17, "numpy": {"id": 1e-3}, "beyond": ["numpy id"], "compared": "numpy"},
    {"status": "loads", "condition": 2.0, "numpy": {"id": 1e-15, "minv": "singular"}, "compared": "numpy"},
    {"status": "refused", "reason": "ModelError: cycle", "other": "refuses: cycle"},
    {"status": "refused", "reason": "ModelError: cycle", "other": "loads"},
    {"status": "crash", "where": "load: SIGSEGV"},
    {"status": "loads", "other": "refuses: file /some/it.urdf is", "compared": "not read by the other engine"},
)


def test_summary_names_what_is_wrong() -> None:
    about = {"source": "here", "format": "urdf", "variant": "fixed"}
    records = [{"file": f"{i}.urdf", **about, **record} for i, record in enumerate(RECORDS)]
    found = {title: dict(groups) for title, groups in wrong(records).items()}
    assert found == {
        "refused": {"ModelError: cycle": ["4.urdf (fixed)"]},
        "refused by both": {"ModelError: cycle": ["3.urdf (fixed)"]},
        "crashes": {"load: SIGSEGV": ["5.urdf (fixed)"]},
        "beyond the accuracy": {"numpy id": ["1.urdf (fixed)"]},
        "singular": {
            "no SingularError, and a condition beyond 1e15": ["1.urdf (fixed)"],
            "SingularError, but a finite condition": ["2.urdf (fixed)"],
        },
        "not compared": {"not read by the other engine: refuses: file it.urdf is": ["6.urdf (fixed)"]},
    }
    shown = text(records)
    assert "urdf numpy  1.0e-15" in shown  # the worst of those within the promise
    row = {"source": "here", "format": "urdf", "files": "7", "variant": "fixed"}
    assert {**row, "loads": "4", "refused": "2", "wrong": "1", "other": "2", "compared": "3"} in counts(records)[
        "sources"
    ]


def test_a_case_is_data() -> None:
    """It goes to another process."""
    import pickle

    case = Case(Path("a.urdf"), "a.urdf", "here", "urdf", "fixed")
    assert pickle.loads(pickle.dumps(case)) == case
