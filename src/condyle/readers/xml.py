"""A small XML reader for files that nobody vouches for: no DTD, no entities, bounded size and depth, line numbers."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from xml.parsers import expat

import numpy as np

from condyle.errors import Finding, ModelError
from condyle.model.array import LARGEST, Array

MAX_BYTES = 16 * 2**20
MAX_TEXT = 200
"""Characters of an element's text that are kept."""
MAX_DEPTH = 64
MAX_ELEMENTS = 500_000
_UTF8 = "utf-8"
ENCODINGS = (_UTF8, "us-ascii", "ascii", "iso-8859-1", "latin-1")
_TOKEN = re.compile(
    rb"""(?P<comment><!--.*?-->|<!(?!--|\[|[A-Za-z])[^>]*>?)|<!--.*"""
    rb"""|<!\[CDATA\[(?:.*?\]\]>|.*)|<\?(?:.*?\?>|.*)|<(?:[^"'<>]+|"[^"]*"|'[^']*')*""",
    re.DOTALL,
)
"""A comment, or what may hold its marks without being one; no part is looked at twice, so the time is linear.

TinyXML, which reads URDF and MJCF elsewhere, skips from "<!" to the next ">": so a comment begun "<!-\\-" is one.
"""
_DECLARED = re.compile(rb"""<\?xml[^>]*?\sencoding\s*=\s*["']([A-Za-z0-9._-]+)["']""")
_NO_END = re.compile(rb"[^\r\n]")


@dataclass(slots=True, eq=False)
class Element:
    """One element: its tag, attributes and children in document order, its line and file.

    folder: of the file, where one file includes others. text: the beginning of what stands beside its children.
    """

    tag: str
    attributes: dict[str, str]
    line: int
    children: list[Element] = field(default_factory=list["Element"])
    file: str = ""
    folder: Path = Path()
    text: str = ""

    def get(self, name: str) -> str | None:
        return self.attributes.get(name)

    def all(self, tag: str) -> list[Element]:
        return [child for child in self.children if child.tag == tag]

    def walk(self) -> Iterator[Element]:
        """This element and all below it, in the order of the text."""
        todo: list[Element] = [self]
        while todo:
            element = todo.pop()
            yield element
            todo.extend(reversed(element.children))

    def error(self, message: str, cure: str | None = None) -> Finding:
        return Finding("error", message, self.file, self.line, cure=cure)


def same(a: Element, b: Element) -> bool:
    """Whether two elements say the same, in whatever order their attributes stand."""
    if (a.tag, a.attributes, len(a.children)) != (b.tag, b.attributes, len(b.children)):
        return False
    return all(same(x, y) for x, y in zip(a.children, b.children, strict=True))


def read_bytes(path: Path) -> bytes:
    """The bytes of a regular file; ModelError if there is none or it is too large."""
    try:
        if not path.is_file():
            what = "is not a regular file" if path.exists() else "does not exist"
            raise ModelError([Finding("error", what, str(path))])
        with path.open("rb") as stream:
            data = stream.read(MAX_BYTES + 1)
    except (OSError, ValueError) as error:
        raise ModelError([Finding("error", f"cannot be read: {error}", str(path))]) from None
    if len(data) > MAX_BYTES:
        raise ModelError([Finding("error", f"larger than {MAX_BYTES // 2**20} MiB", str(path))])
    return data


def parse(data: bytes, file: str, *, depth: int = MAX_DEPTH, encodings: Sequence[str] = ENCODINGS) -> Element:
    """The root element; ModelError with file and line for text that is malformed, too deep, or declares a DTD.

    As the robots' other readers do, this takes "--" inside a comment and comments begun "<!" and no letter, and the
    text ends before a zero byte. "utf8" is UTF-8.
    """
    text = data.lstrip(b" \t\r\n")  # some files begin with an empty line, which XML does not allow
    above = data[: len(data) - len(text)].count(b"\n")
    try:
        try:
            return _tree(text, _Reader(file, depth, encodings, above))
        except expat.ExpatError as error:
            bare = _without_comments(text).partition(b"\0")[0]
            if error.code != expat.errors.codes[expat.errors.XML_ERROR_INVALID_TOKEN] or bare == text:
                raise
            return _tree(bare, _Reader(file, depth, encodings, above))
    except expat.ExpatError as error:
        ended = error.code == expat.errors.codes[expat.errors.XML_ERROR_NO_ELEMENTS]
        what = "the text ends before the root element does" if ended else expat.ErrorString(error.code)
        message = f"not XML: {what}, column {error.offset + 1}"
        late = error.code == expat.errors.codes[expat.errors.XML_ERROR_MISPLACED_XML_PI]
        cure = "delete what stands before '<?xml'" if late else None
        raise ModelError([Finding("error", message, file, error.lineno + above, cure=cure)]) from None
    except (LookupError, UnicodeError, ValueError) as error:
        raise ModelError([Finding("error", f"not XML: {error}", file)]) from None


def _tree(text: bytes, reader: _Reader) -> Element:
    declared = _DECLARED.match(text)
    spelled = declared is not None and _plain(declared[1].decode()) == _plain(_UTF8)
    parser = expat.ParserCreate(_UTF8 if spelled else None)  # expat knows it by this name alone
    parser.buffer_text = True
    reader.parser = parser
    parser.XmlDeclHandler = reader.declaration
    parser.StartDoctypeDeclHandler = reader.doctype
    parser.EntityDeclHandler = reader.entity
    parser.StartElementHandler = reader.start
    parser.EndElementHandler = reader.end
    parser.CharacterDataHandler = reader.data
    parser.Parse(text, True)
    if reader.root is None:
        raise ModelError([Finding("error", "no element", reader.file)])
    return reader.root


def _plain(encoding: str) -> str:
    """The name of an encoding without what people spell in several ways: "utf8", "UTF_8" and "utf-8" are one."""
    return encoding.lower().replace("-", "").replace("_", "")


def _without_comments(text: bytes) -> bytes:
    """The same with spaces for every character of a comment but line ends: lines and columns stay."""
    return _TOKEN.sub(lambda found: _NO_END.sub(b" ", found[0]) if found["comment"] else found[0], text)


class _Reader:
    """The handlers of one parse."""

    def __init__(self, file: str, depth: int, encodings: Sequence[str], above: int) -> None:
        self.file = file
        self.depth = depth
        self.encodings = encodings
        self.above = above
        self.parser: expat.XMLParserType | None = None
        self.root: Element | None = None
        self.open: list[Element] = []
        self.count = 0

    @property
    def line(self) -> int:
        return 0 if self.parser is None else self.parser.CurrentLineNumber + self.above

    def refuse(self, message: str, cure: str | None = None) -> ModelError:
        return ModelError([Finding("error", message, self.file, self.line, cure=cure)])

    def declaration(self, version: str, encoding: str | None, standalone: int) -> None:
        if encoding is not None and _plain(encoding) not in map(_plain, self.encodings):
            allowed = ", ".join(self.encodings)
            raise self.refuse(f"encoding {encoding!r}, expected one of {allowed}", "save the file as UTF-8")

    def doctype(self, name: str, system: str | None, public: str | None, internal: int) -> None:
        raise self.refuse("DOCTYPE declarations are refused", "a robot needs none: delete it")

    def entity(
        self,
        name: str,
        parameter: int,
        value: str | None,
        base: str | None,
        system: str | None,
        public: str | None,
        notation: str | None,
    ) -> None:
        raise self.refuse("ENTITY declarations are refused", "a robot needs none: write the text out")

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        self.count += 1
        if len(self.open) >= self.depth:
            raise self.refuse(f"elements nested deeper than {self.depth}")
        if self.count > MAX_ELEMENTS:
            raise self.refuse(f"more than {MAX_ELEMENTS} elements")
        element = Element(tag, attributes, self.line, file=self.file)
        if self.open:
            self.open[-1].children.append(element)
        else:
            self.root = element
        self.open.append(element)

    def data(self, text: str) -> None:
        kept = len(self.open[-1].text) if self.open else MAX_TEXT
        if kept < MAX_TEXT and not text.isspace():
            self.open[-1].text += text[: MAX_TEXT - kept]

    def end(self, tag: str) -> None:
        self.open.pop()


# Findings while a file is read, and its numbers: what stands there, what was allowed.


_NUMBER = re.compile(r"[+-]?([0-9]+\.?[0-9]*|\.[0-9]+)([eE][+-]?[0-9]+)?")
_INFINITE = re.compile(r"[+-]?inf(inity)?", re.IGNORECASE)
_FINITE = float(np.finfo(np.float64).max)
_SHOWN = 60


class Report:
    """Collects what is wrong with one file."""

    def __init__(self, file: str) -> None:
        self.file = file
        self.findings: list[Finding] = []

    def add(self, severity: str, node: Element, element: str | None, message: str, cure: str | None = None) -> None:
        """severity as in Finding; node: where it stands; element: what a person calls it."""
        self.findings.append(Finding(severity, message, self.file, node.line, element, cure))

    def error(self, node: Element, element: str | None, message: str, cure: str | None = None) -> None:
        self.add("error", node, element, message, cure)

    def note(self, node: Element, element: str | None, message: str, cure: str | None = None) -> None:
        self.add("note", node, element, message, cure)

    def number(self, node: Element, element: str, name: str, default: float | None) -> float:
        """A number; an error, and the default or 0, where it is none or too large (or missing without a default)."""
        return float(self._parsed(node, element, name, 1, default)[0])

    def limit(self, node: Element, element: str, name: str, default: float) -> float:
        """An attribute that may be infinite; what is beyond `LARGEST` counts as that."""
        text = node.get(name)
        if text is not None and _INFINITE.fullmatch(text.strip()):
            return float(text)
        value = float(self._parsed(node, element, name, 1, default, _FINITE)[0])
        return float(np.copysign(np.inf, value)) if abs(value) > LARGEST else value

    def vector(self, node: Element, element: str, name: str, default: Sequence[float]) -> Array:
        """Three numbers, (3,)."""
        if node.get(name) is None:
            return np.array(default, dtype=np.float64)
        return self._parsed(node, element, name, 3, None)

    def _parsed(
        self, node: Element, element: str, name: str, n: int, default: float | None, largest: float = LARGEST
    ) -> Array:
        text = node.get(name)
        spare = np.full(n, 0.0 if default is None else default)
        if text is None:
            if default is None:
                self.error(node, element, f"<{node.tag}> has no {name!r}", "a number is needed")
            return spare
        words = text.split()
        wanted = "a decimal number" if n == 1 else f"{n} decimal numbers with spaces between"
        if len(words) != n or not all(map(is_number, words)):
            self.error(node, element, f"<{node.tag}> {name}={shown(text)}, expected {wanted}", _cure(text))
            return spare
        values = np.array([float(word) for word in words])
        if not (np.abs(values) <= largest).all():
            self.error(node, element, f"<{node.tag}> {name}={shown(text)} is beyond the largest number, {largest:.3g}")
            return spare
        return values


def is_number(text: str) -> bool:
    """Whether a text is one decimal number."""
    return _NUMBER.fullmatch(text) is not None


def shown(text: str) -> str:
    """The text as a message may show it: quoted, and not too long."""
    return repr(text if len(text) <= _SHOWN else text[:_SHOWN] + "...")


def _cure(text: str) -> str | None:
    if "," in text:
        return "write the decimal point as a point, and separate numbers by spaces"
    return "expand it with xacro first" if "$" in text else None
