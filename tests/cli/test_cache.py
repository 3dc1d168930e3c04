from __future__ import annotations

from datetime import datetime

from condyle.runtime.cache import Entry


def test_path_ls_and_clear(run, pendulum, cache_dir) -> None:
    assert run("cache", "path").out.strip() == str(cache_dir)
    assert run("cache", "ls", "--json").json == []
    words = ("--target", "c", "--functions", "m", "--batch", "2")
    assert run("bench", pendulum(), *words).status == 0
    (entry,) = run("cache", "ls", "--json").json
    assert entry["bytes"] > 0
    assert entry["name"][:12] in run("cache", "ls").out
    assert run("cache", "clear", "--json").json == {"cleared": 1}
    assert run("cache", "ls").out == ""


def test_what_is_kept_is_listed_with_its_size_and_last_use(run, monkeypatch) -> None:
    used = datetime(2024, 3, 5, 6, 7, 8)
    entry = Entry("0123456789abcdef", 12_345, used.timestamp(), "id of arm")
    monkeypatch.setattr("condyle.runtime.cache.entries", lambda: [entry])
    *_, line = run("cache", "ls").out.splitlines()
    assert line == "0123456789ab  12.3  2024-03-05 06:07  id of arm"
    assert run("cache", "ls", "--json").json == [
        {"name": entry.name, "bytes": 12_345, "used": used.timestamp(), "description": "id of arm"}
    ]


def test_the_folder_and_the_number_deleted_are_said(run, cache_dir) -> None:
    assert run("cache", "path", "--json").json == {"path": str(cache_dir)}
    ran = run("cache", "clear")
    assert (ran.status, ran.out) == (0, "compiled functions deleted: 0\n")
