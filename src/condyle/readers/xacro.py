"""What is left of xacro in a file: refused where it changes the robot, a finding elsewhere."""

from __future__ import annotations

from collections.abc import Iterator

from condyle.errors import Finding, ModelError
from condyle.readers.xml import Element

XACRO = "xacro:"
_NAMING = ("arg", "property")
"""They only name values: where one is used, its use is found."""
_RAW = ("macro", "include", "if", "unless", "insert_block", "call", "element", "attribute")
"""What the expansion removes in any case: a file that has one was never expanded."""
_NUMBERS = ("origin", "mass", "inertia", "parent", "child", "axis", "limit", "dynamics", "mimic")
_EXPAND = "expand it first: `xacro robot.urdf.xacro > robot.urdf`, or xacrodoc's `xacrodoc robot.urdf.xacro`"


def check_xacro(root: Element, file: str) -> list[Finding]:
    """Findings about xacro elements that change nothing, or nothing that can be known.

    ModelError for a file that was never expanded: it has macros, includes or conditions, an expression in a value that
    is used, or an element that stands for a part of a link or a joint.
    """
    for element in root.children:
        if _word(element) in _RAW:
            raise _raw(f"<{element.tag}>", element, file)
    for element in _used(root):
        expressions = [f"{name}={text!r}" for name, text in element.attributes.items() if "${" in text or "$(" in text]
        if expressions:
            raise _raw(f"<{element.tag}> {expressions[0][:80]}", element, file)
        if _word(element):
            raise _raw(f"<{element.tag}> could stand for an inertia", element, file)
    return sorted(_left_over(root, file), key=lambda finding: finding.line or 0)


def _raw(what: str, node: Element, file: str) -> ModelError:
    return ModelError(
        [Finding("error", f"{what}: this file is raw xacro, not yet URDF", file, node.line, cure=_EXPAND)]
    )


def _word(element: Element) -> str:
    """What stands behind xacro: in the tag; nothing for other elements and for those that only name values."""
    word = element.tag.removeprefix(XACRO) if element.tag.startswith(XACRO) else ""
    return "" if word in _NAMING else word


def _left_over(root: Element, file: str) -> Iterator[Finding]:
    for element in root.children:
        if _word(element):
            message = f"<{element.tag}> was not expanded: what it stands for is not in this robot"
            cure = "expand the file with what defines it, or delete it if it is a sensor or a picture"
            yield Finding("physics", message, file, element.line, cure=cure)
    top = {id(element) for element in root.children}
    for element in root.walk():
        if element.tag.startswith(XACRO) and (id(element) not in top or not _word(element)):
            yield Finding("note", f"<{element.tag}> is left over from xacro and ignored", file, element.line)


def _used(root: Element) -> Iterator[Element]:
    """The elements that a robot is made of, and the xacro elements that stand directly in one of them."""
    yield root
    for child in root.children:
        if child.tag in ("link", "joint"):
            yield child
            yield from _inside(child)


def _inside(owner: Element) -> Iterator[Element]:
    for child in owner.children:
        if child.tag.startswith(XACRO) or child.tag in _NUMBERS:
            yield child
        elif child.tag == "inertial":
            yield child
            yield from _inside(child)
