from __future__ import annotations

from pathlib import Path


def test_files_are_written_and_listed(run, pendulum, tmp_path) -> None:
    out = tmp_path / "generated"
    ran = run(
        "export", pendulum(), "--target", "c", "--out", str(out), "--functions", "id,m", "--name", "rod", "--json"
    )
    assert ran.status == 0, ran.err
    files = [Path(name) for name in ran.json["files"]]
    assert files
    assert all(path.is_file() and path.is_relative_to(out) for path in files)
    assert {".c", ".h", ".json"} <= {path.suffix for path in files}


def test_a_name_that_is_no_symbol_is_refused(run, pendulum, tmp_path) -> None:
    ran = run("export", pendulum(), "--target", "c", "--out", str(tmp_path / "x"), "--name", "Not a symbol")
    assert ran.status in (1, 2)
    assert "Not a symbol" in ran.err


def test_a_folder_with_a_project_of_its_own_is_left_alone(run, pendulum, tmp_path) -> None:
    (tmp_path / "README.md").write_text("mine")
    refused = run("export", pendulum(), "--target", "c", "--out", str(tmp_path), "--functions", "id")
    assert refused.status == 2
    assert "'README.md' is not ours" in refused.err and "name another folder" in refused.err
    assert (tmp_path / "README.md").read_text() == "mine"
    out = tmp_path / "rod"
    for _ in range(2):  # an earlier export may be written over
        assert run("export", pendulum(), "--target", "c", "--out", str(out), "--functions", "id").status == 0


def test_an_empty_folder_name_is_refused(run, pendulum, tmp_path, monkeypatch) -> None:
    monkeypatch.chdir(tmp_path)
    before = sorted(tmp_path.iterdir())
    refused = run("export", pendulum(), "--target", "c", "--out", "")
    assert refused.status == 2
    assert "name a folder" in refused.err
    assert [path for path in sorted(tmp_path.iterdir()) if path not in before and path.suffix != ".urdf"] == []
