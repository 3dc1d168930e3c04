"""The style check finds what it names, and the pages pass it."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import pytest

from tools import prose

LONG = " ".join(["word"] * (prose.SENTENCE + 1)) + "."


def test_the_pages_have_no_word_or_length_that_is_wrong() -> None:
    assert prose.complaints() == []


def test_a_word_of_the_vocabulary_is_named_with_its_line_and_the_better_word() -> None:
    (wrong,) = prose.words("page.md", "# Limbs\n\nA robot\nwith two limbs, `limbs`.\n")
    assert wrong.startswith("page.md:3: 'limbs': write \"branch\"")


@pytest.mark.parametrize("text", ["```\n{}\n```\n", "| {} |\n", "# {}\n", "`{}`\n"])
def test_code_tables_and_headings_are_no_prose(text: str) -> None:
    assert prose.long_sentences("page.md", text.format(LONG)) == []


def test_a_long_sentence_is_found_where_its_paragraph_begins() -> None:
    (wrong,) = prose.long_sentences("page.md", f"Short.\n\nShort. {LONG} Short.\n")
    assert wrong.startswith(f"page.md:3: {prose.SENTENCE + 1} words, at most {prose.SENTENCE}")


def test_items_of_a_list_are_apart() -> None:
    half = " ".join(["word"] * (prose.SENTENCE // 2 + 2))
    assert prose.long_sentences("page.md", f"* {half}\n* {half}\n") == []


def test_a_list_of_measurements_is_no_sentence() -> None:
    assert prose.long_sentences("page.md", ", ".join(["panda id N=256 1.64 (1.8)"] * 20)) == []


def test_a_paragraph_of_five_lines_is_too_long() -> None:
    assert prose.long_paragraphs("page.md", "line\n" * prose.PARAGRAPH) == []
    assert len(prose.long_paragraphs("page.md", "line\n" * (prose.PARAGRAPH + 1))) == 1


def test_only_the_newest_section_of_a_changelog_is_read() -> None:
    assert prose.newest("# Changes\n## 2\nnew\n## 1\nold\n") == "# Changes\n## 2\nnew\n"


def test_lines_keep_their_numbers_without_what_is_no_prose() -> None:
    assert prose.prose_only("# Title\n\nOne `code` two.\n") == "\n\nOne X two.\n"


@pytest.mark.skipif(importlib.util.find_spec("proselint") is None, reason="proselint is in the lint extra")
def test_proselint_names_the_page_and_leaves_out_what_is_off(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "page.md").write_text('It is very "good" ...\n')
    (wrong,) = prose.proselint(tmp_path)
    assert wrong.startswith("docs/page.md:1:") and "weasel_words" in wrong
