"""A tree against a copy of itself, and against one that was changed."""

from __future__ import annotations

import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import condyle
from benchmarks.robots import Case
from tools.guard.cases import CASES, Plan, chosen
from tools.guard.compare import compare
from tools.guard.ratios import import_times, times
from tools.guard.tree import COMMIT, ROOT, Before, installed

ARM = Case("iiwa14", "iiwa14")
LINK = 'mass value="3.5"'


@pytest.fixture
def copied(tmp_path: Path) -> Before:
    site = tmp_path / "site"
    shutil.copytree(Path(condyle.__file__).parent, site / "condyle", ignore=shutil.ignore_patterns("__pycache__"))
    return Before(site, "a copy")


@pytest.mark.slow
def test_equal_trees(copied: Before) -> None:
    """Twice: the second time the answers of before are read."""
    for _ in range(2):
        found = compare(copied, ARM, ["id", "m"], ["bits", "counts", "texts"])
        assert found.differences == []
        assert found.compared > 100
    assert len(list((copied.site.parent / "site-kept").glob("*.json"))) > 10


@pytest.mark.slow
def test_another_robot(copied: Before) -> None:
    """A link that weighs more changes the answers that its mass enters, the texts, and by how much is said."""
    file = copied.site / "condyle/robots/iiwa14.urdf"
    text = file.read_text()
    assert LINK in text
    file.write_text(text.replace(LINK, 'mass value="3.51"', 1))
    found = compare(copied, ARM, ["id"], ["bits", "counts", "texts"]).differences
    said = {(one.what, one.key): one for one in found}
    assert ("model", "fingerprint") in said and ("model", "random_state") not in said
    for one in ("numpy float64", "c float32"):
        assert 1e-7 < float(said[one, "id dense"].error) < 1e-1
    assert {"robot_id.c"} <= {key for what, key in said if what == "c float64"}
    assert {what for what, _ in said} >= {"c float64", "cuda", "verilog", "ptx float64", "ptx scan"}
    assert not [key for what, key in said if key.startswith("fx_")], "operators know no robot"


def test_times(copied: Before) -> None:
    found = times(copied, ARM, ["m"], 2)
    assert {one.what for one in found} == {f"{w} {d}" for w in ("call", "compile") for d in ("float64", "float32")}
    assert all(one.before > 0 and one.now > 0 for one in (*found, import_times(copied, 1)))


def test_all_names_are_told_apart() -> None:
    assert len({case.name for case in CASES}) == len(CASES)
    with pytest.raises(SystemExit, match="no robot 'hy'"):
        chosen(["hy"])


def test_every_target_is_asked() -> None:
    plan = Plan(ARM, 7, ["id", "dfd"], ["avx512", "avx2"])
    names = {"numpy float64", "numpy float32", "cpu avx2 float64", "cpu avx512 float32", "cpu avx2 float64 scan"}
    assert {*names, "c float64", "c float32", "cpu avx512 float32 auto"} <= dict(plan.bits()).keys()
    assert len(dict(plan.bits())) == len(list(plan.bits()))
    texts = {
        "c float64",
        "c float32",
        "cuda",
        "verilog",
        "verilog step",
        "ptx float64",
        "ptx f_ext",
        "ptx split",
        "ptx scan",
    }
    assert texts <= dict(plan.texts()).keys()


def test_a_folder_of_another_commit_is_refused(tmp_path: Path) -> None:
    if not (ROOT / ".git").exists():
        pytest.skip("a source archive has no history")
    (tmp_path / COMMIT).write_text("0" * 40)
    with pytest.raises(SystemExit, match="holds 000000000, not"), installed("HEAD", tmp_path):
        pass


def test_what_cannot_be_compared_is_said() -> None:
    command = [sys.executable, "-m", "tools.guard", "compare", "HEAD", "--what", "bits,speed"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "--what: 'speed' is not one of bits, counts, texts, times" in done.stderr
