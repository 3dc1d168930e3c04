"""Holds the pages to plain words: the field's words, sentences of 35 words at most, short paragraphs in the README.

python tools/prose.py           lists what is wrong; exit status 1 if anything is
python tools/prose.py --long    also lists the sentences that tools/prose_known.txt counts
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
WORDS = ROOT / "tools" / "prose_words.txt"
KNOWN = ROOT / "tools" / "prose_known.txt"
SENTENCE, PARAGRAPH = 35, 4
PATTERNS = ("README.md", "CONTRIBUTING.md", "SECURITY.md", "docs/**/*.md", "benchmarks/*.md", "CHANGELOG.md")
# Generated from docstrings, which ruff and the tests of the reference hold.
LEFT_OUT = ("docs/reference/functions.md",)
# Checks of proselint that do not fit these pages, each with the reason.
OFF = {
    "typography.symbols": "pages are typed with straight quotes, three dots and x, as the code beside them",
    "lexical_illusions": "equations, shapes and names of functions repeat: f f, 5 5, exp exp",
    "spelling.consistency": "prose is British (centre), names in code are American (center_of_mass)",
    "needless_variants": "it takes the name of a joint, revolute, for a form of revolt",
    "misc.phrasal_adjectives.ly": "it takes names of files and options with a hyphen for adjectives",
}

Block = tuple[int, list[str]]


def pages(root: Path = ROOT) -> list[Path]:
    found = {path for pattern in PATTERNS for path in root.glob(pattern)}
    return sorted(path for path in found if not str(path.relative_to(root)).startswith(LEFT_OUT))


def newest(text: str) -> str:
    """The first section of a changelog."""
    parts = re.split(r"(?m)^(?=## )", text)
    return "".join(parts[:2])


def blocks(text: str) -> Iterator[Block]:
    """Paragraphs and items of lists with the number of their first line: no code, table, heading or comment."""
    fenced, first, lines = False, 0, list[str]()
    for number, line in enumerate([*text.splitlines(), ""], 1):
        bare = line.strip()
        edge = bare.startswith("```")
        indented = not lines and line.startswith("    ")  # code without a fence
        apart = fenced or edge or indented or not bare or bare.startswith(("|", "#", "<!--", "![", "$$"))
        if lines and (apart or re.match(r"([*+-]|\d+\.) ", bare)):
            yield first, lines
            lines = []
        if not apart:
            first = first if lines else number
            lines.append(bare)
        fenced ^= edge


def plain(lines: list[str]) -> str:
    """Prose without what is no word of it: code and formulas are one word each, a link is its text."""
    text = re.sub(r"^([*+-]|\d+\.) ", "", " ".join(lines))
    text = re.sub(r"`[^`]*`|\$[^$]*\$", "X", text)
    return re.sub(r"\[([^\]]*)\]\([^)]*\)", r"\1", text)


def sentences(text: str) -> list[str]:
    return [part for part in re.split(r"(?<=[.!?:;])\**\s+", text) if part]


def vocabulary(path: Path = WORDS) -> list[tuple[re.Pattern[str], str]]:
    """Words that are not used, as regular expressions, each with the field's word."""
    lines = [line for line in path.read_text().splitlines() if line and not line.startswith("#")]
    pairs = [line.split(" -> ", 1) for line in lines]
    return [(re.compile(rf"\b(?:{word})\b", re.IGNORECASE), better) for word, better in pairs]


def words(name: str, text: str) -> list[str]:
    """Words of the vocabulary in a page's prose."""
    return [
        f"{name}:{first}: {hit.group()!r}: write {better}"
        for first, lines in blocks(text)
        for pattern, better in vocabulary()
        for hit in pattern.finditer(plain(lines))
    ]


def long_sentences(name: str, text: str) -> list[str]:
    return [
        f"{name}:{first}: {len(sentence.split())} words, at most {SENTENCE}: {sentence[:60]} ..."
        for first, lines in blocks(text)
        for sentence in sentences(plain(lines))
        if len(sentence.split()) > SENTENCE and not _of_numbers(sentence)
    ]


def _of_numbers(sentence: str) -> bool:
    """Whether it is a list of measurements or an equation: two words in five have a digit or no letter."""
    found = sentence.split()
    return 5 * sum(any(c.isdigit() for c in one) or not any(map(str.isalpha, one)) for one in found) >= 2 * len(found)


def long_paragraphs(name: str, text: str) -> list[str]:
    return [
        f"{name}:{first}: a paragraph of {len(lines)} lines, at most {PARAGRAPH}"
        for first, lines in blocks(text)
        if len(lines) > PARAGRAPH
    ]


def known() -> dict[str, int]:
    """Long sentences that a page had when this check began: one `path: count` a line."""
    lines = [line for line in KNOWN.read_text().splitlines() if line and not line.startswith("#")]
    return {name: int(count) for name, count in (line.rsplit(": ", 1) for line in lines)}


def prose_only(text: str) -> str:
    """The page with its lines where they were, and what is no prose left out."""
    lines = [""] * len(text.splitlines())
    for first, block in blocks(text):
        for k, line in enumerate(block):
            lines[first - 1 + k] = re.sub(r"`[^`]*`|\$[^$]*\$", "X", line)
    return "\n".join(lines) + "\n"


def proselint(root: Path = ROOT) -> list[str]:
    """What proselint finds in the prose of all pages."""
    with tempfile.TemporaryDirectory() as folder:
        names = [path.relative_to(root).as_posix() for path in pages(root)]
        # Version 0.16 ignores --config where a command follows, and reads this file of the working folder.
        Path(folder, ".proselintrc.json").write_text(json.dumps({"checks": dict.fromkeys(OFF, False)}))
        for name in names:
            Path(folder, name.replace("/", "+")).write_text(prose_only(content(root, name)))
        command = [sys.executable, "-m", "proselint", "check", "-o", "compact"]
        command += [name.replace("/", "+") for name in names]
        said = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False)
    if said.returncode not in (0, 1):
        return [f"proselint did not run (pip install -e '.[lint]'): {(said.stderr or said.stdout).strip()[-300:]}"]
    return [line.replace("+", "/", line.split(":")[0].count("+")) for line in said.stdout.splitlines() if line.strip()]


def content(root: Path, name: str) -> str:
    text = (root / name).read_text()
    return newest(text) if name == "CHANGELOG.md" else text


def complaints(root: Path = ROOT, *, every: bool = False) -> list[str]:
    """What is wrong in all pages; sentences beyond the known count of a page, or all of them."""
    wrong, excused = list[str](), {} if every else known()
    for path in pages(root):
        name = path.relative_to(root).as_posix()
        text = content(root, name)
        found = long_sentences(name, text)
        wrong += words(name, text) + (found if len(found) > excused.get(name, 0) else [])
        wrong += long_paragraphs(name, text) if name == "README.md" else []
    return wrong


def main() -> int:
    wrong = complaints(every="--long" in sys.argv[1:]) + proselint()
    print("\n".join(wrong) if wrong else "prose: fine", file=sys.stderr if wrong else sys.stdout)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
