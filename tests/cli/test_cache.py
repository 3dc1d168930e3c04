from __future__ import annotations


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
