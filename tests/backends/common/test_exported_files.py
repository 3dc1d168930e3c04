"""An exported folder: what an export wrote is replaced, everything else is left alone, whatever lies in the way."""

from __future__ import annotations

import hashlib
import json
import os
from pathlib import Path

import pytest

from condyle.backends.common import exported_files
from condyle.backends.common.exported_files import MANIFEST, Coordinates, Manifest, birth, counted, order, write_owned
from condyle.backends.common.facts import Facts
from condyle.errors import UnsupportedError

OLD = {"a.c": "old a", "b.c": "old b", "report.json": "{}"}
NEW = {"a.c": "new a", "b.c": "new b", "c.c": "new c", "report.json": "{1}"}


def held(folder: Path) -> dict[str, str]:
    return {path.name: path.read_text() for path in folder.iterdir() if path.name != MANIFEST}


def test_an_export_replaces_its_own_files_and_leaves_others(tmp_path: Path) -> None:
    written = write_owned(tmp_path / "x" / "y", OLD)
    assert {path.name for path in written} == {*OLD, MANIFEST}
    (tmp_path / "x" / "y" / "mine.c").write_text("mine")
    write_owned(tmp_path / "x" / "y", NEW)
    assert held(tmp_path / "x" / "y") == {**NEW, "mine.c": "mine"}


def test_files_of_an_earlier_export_stay_its_own(tmp_path: Path) -> None:
    """Two robots, or more functions, in one folder: all of them can be written again."""
    write_owned(tmp_path, OLD)
    write_owned(tmp_path, {"c.c": "c"})
    write_owned(tmp_path, NEW)
    assert held(tmp_path) == NEW


@pytest.mark.parametrize("name", sorted(NEW))
def test_a_file_of_the_users_is_named_and_nothing_is_written(tmp_path: Path, name: str) -> None:
    (tmp_path / name).write_text("mine")
    with pytest.raises(UnsupportedError, match=rf"'{name}' is not ours.*name another folder.*nothing was written"):
        write_owned(tmp_path, NEW)
    assert held(tmp_path) == {name: "mine"}
    assert not (tmp_path / MANIFEST).exists()


def test_a_file_that_was_changed_is_the_users(tmp_path: Path) -> None:
    write_owned(tmp_path, OLD)
    (tmp_path / "a.c").write_text("mine")
    before = (tmp_path / MANIFEST).read_bytes()
    with pytest.raises(UnsupportedError, match=r"'a.c' was changed"):
        write_owned(tmp_path, NEW)
    assert held(tmp_path) == {**OLD, "a.c": "mine"}
    assert (tmp_path / MANIFEST).read_bytes() == before
    (tmp_path / "a.c").unlink()
    write_owned(tmp_path, NEW)
    assert held(tmp_path) == NEW


def test_what_the_project_rewrites_does_not_block(tmp_path: Path) -> None:
    write_owned(tmp_path, OLD, ("report.json",))
    (tmp_path / "report.json").write_text("{lut: 5}")
    write_owned(tmp_path, NEW, ("report.json",))
    assert held(tmp_path) == NEW
    other = tmp_path / "other"
    other.mkdir()
    (other / "report.json").write_text("mine")
    with pytest.raises(UnsupportedError, match=r"'report.json' is not ours"):
        write_owned(other, NEW, ("report.json",))


@pytest.mark.parametrize("where", ["there", "nowhere", "manifest"])
def test_a_link_leads_nowhere(tmp_path: Path, where: str) -> None:
    out, target = tmp_path / "out", tmp_path / "target"
    write_owned(out, OLD)
    if where != "nowhere":
        target.write_text((out / MANIFEST).read_text() if where == "manifest" else "old a")
    name = MANIFEST if where == "manifest" else "a.c"
    (out / name).unlink()
    (out / name).symlink_to(target)
    before = target.read_text() if target.exists() else None
    with pytest.raises(UnsupportedError, match=r"'a.c' is a link|no manifest"):
        write_owned(out, NEW)
    assert (target.read_text() if target.exists() else None) == before
    assert (out / "b.c").read_text() == "old b"


def test_the_folder_itself_may_be_a_link(tmp_path: Path) -> None:
    (tmp_path / "real").mkdir()
    (tmp_path / "out").symlink_to(tmp_path / "real")
    write_owned(tmp_path / "out", OLD)
    assert held(tmp_path / "real") == OLD


def test_folders_and_pipes_in_the_way_are_refused_at_once(tmp_path: Path) -> None:
    (tmp_path / "a.c").mkdir()
    os.mkfifo(tmp_path / "b.c")
    with pytest.raises(UnsupportedError, match=r"'a.c' is no file, 'b.c' is no file"):
        write_owned(tmp_path, NEW)
    (tmp_path / "m").mkdir()
    os.mkfifo(tmp_path / "m" / MANIFEST)
    with pytest.raises(UnsupportedError, match="is no manifest"):
        write_owned(tmp_path / "m", NEW)


@pytest.mark.parametrize(
    "text",
    [
        "", "[" * 100_000, "[]", "{}", "\xff", '{"files": {}, "replacing": {}}',
        '{"files": {"../x": "' + "0" * 64 + '"}, "replacing": {}, "rewritten": []}',
        '{"files": {"a.c": "0"}, "replacing": {}, "rewritten": []}',
        '{"files": {}, "replacing": {}, "rewritten": ["../x"]}',
        '{"files": {}, "replacing": {}, "rewritten": [[]]}', " " * (2 << 20),
    ],
)  # fmt: skip
def test_what_is_no_manifest_owns_nothing(tmp_path: Path, text: str) -> None:
    (tmp_path / MANIFEST).write_text(text, encoding="latin-1")
    with pytest.raises(UnsupportedError, match=f"{MANIFEST}' is no manifest"):
        write_owned(tmp_path, OLD)
    assert held(tmp_path) == {}


@pytest.mark.parametrize("at", range(6))
def test_an_export_that_was_cut_off_can_be_done_again(tmp_path: Path, at: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Cut off before each of its writes: the manifest, four files, the manifest again."""
    write_owned(tmp_path, OLD, ("report.json",))
    done, write = 0, exported_files.write_whole

    def cut(path: Path, text: str) -> Path:
        nonlocal done
        if done == at:
            raise KeyboardInterrupt
        done += 1
        return write(path, text)

    monkeypatch.setattr(exported_files, "write_whole", cut)
    with pytest.raises(KeyboardInterrupt):
        write_owned(tmp_path, NEW)
    monkeypatch.undo()
    for texts in (OLD, NEW):  # what there was, or what was to be
        folder = tmp_path / f"copy-{texts['a.c'][:3]}"
        folder.mkdir()
        for name in (*held_files(tmp_path), MANIFEST):
            (folder / name).write_bytes((tmp_path / name).read_bytes())
        write_owned(folder, texts)
        assert {**held(folder), **texts} == held(folder)
        assert json.loads((folder / MANIFEST).read_text())["replacing"] == {}


def held_files(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir() if path.is_file() and path.name != MANIFEST]


def test_a_manifest_is_text_that_people_read(tmp_path: Path) -> None:
    manifest = Manifest({"b.c": "0" * 64, "a.c": "1" * 64}, {}, frozenset({"z", "y"}))
    lines = manifest.text().splitlines()
    assert lines[0] == "{" and lines[1].startswith(' "about": "Files that Condyle wrote here')
    assert lines[2:] == [
        *(' "files": {', f'  "a.c": "{"1" * 64}",', f'  "b.c": "{"0" * 64}"', " },"),
        *(' "replacing": {},', ' "rewritten": [', '  "y",', '  "z"', " ]", "}"),
    ]
    written = write_owned(tmp_path, {"a.c": "a"}, ("a.c",))
    assert [path.name for path in written] == ["a.c", MANIFEST]
    found = json.loads(written[1].read_text())
    sha = hashlib.sha256(b"a").hexdigest()
    assert (found["files"], found["replacing"], found["rewritten"]) == ({"a.c": sha}, {}, ["a.c"])


def test_a_manifest_has_a_mebibyte_at_most(tmp_path: Path) -> None:
    write_owned(tmp_path, OLD)
    manifest = tmp_path / MANIFEST
    manifest.write_text(manifest.read_text().ljust((1 << 20) + 1))
    with pytest.raises(UnsupportedError, match="no manifest"):
        write_owned(tmp_path, NEW)
    manifest.write_text(manifest.read_text()[: 1 << 20])
    write_owned(tmp_path, NEW)
    assert held(tmp_path) == NEW


def test_five_files_in_the_way_are_named(tmp_path: Path) -> None:
    texts = {f"f{k}": "" for k in range(7)}
    for name in texts:
        (tmp_path / name).write_text("mine")
    for count, shown in ((5, 5), (7, 5)):
        with pytest.raises(UnsupportedError) as said:
            write_owned(tmp_path, dict.fromkeys([*texts][:count], ""))
        assert str(said.value).count("is not ours") == shown, said.value


def test_a_large_file_is_hashed_whole(tmp_path: Path) -> None:
    text = "x" * ((1 << 20) + 5)
    write_owned(tmp_path, {"a.c": text})
    write_owned(tmp_path, {"a.c": "new"})
    write_owned(tmp_path, {"a.c": text})
    (tmp_path / "a.c").write_text(text[:-1] + "y")
    with pytest.raises(UnsupportedError, match=r"'a.c' was changed"):
        write_owned(tmp_path, {"a.c": "new"})


def test_the_table_of_joints_says_where_each_stands() -> None:
    """Names that are more than a word are left to the robot's own file."""
    joints = [
        Coordinates("root", "free", range(7), range(6)),
        Coordinates("<b>", "revolute", range(7, 8), range(6, 7)),
        Coordinates("ball", "spherical", range(8, 12), range(7, 10)),
        Coordinates("tip", "revolute", range(0), range(0), "ball"),
        Coordinates("a" * 64, "revolute", range(12, 13), range(10, 11), "a" * 65),
    ]
    assert order(joints).splitlines() == [
        "| joint | name | type | in q | in v, a, tau |",
        "|---|---|---|---|---|",
        "| 0 | `root` | free | 0 to 6 | 0 to 5 |",
        "| 1 | (see `robot.json`) | revolute | 7 | 6 |",
        "| 2 | `ball` | spherical | 8 to 11 | 7 to 9 |",
        "| 3 | `tip` | revolute | follows `ball` | follows `ball` |",
        f"| 4 | `{'a' * 64}` | revolute | follows (see `robot.json`) | follows (see `robot.json`) |",
    ]
    assert [counted(n) for n in (1, 2)] == ["1 function", "2 functions"]


def test_a_folder_says_what_it_was_written_from() -> None:
    assert birth(Facts(1, 1)) == "Written by Condyle - from robot `-`."
    assert birth(Facts(1, 1, "abc", "0.1")) == "Written by Condyle 0.1 from robot `abc`."
