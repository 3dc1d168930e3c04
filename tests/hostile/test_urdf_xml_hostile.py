"""URDF files that attack the reader itself: malformed, declared, nested, huge, damaged."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from condyle.errors import CondyleError, ModelError
from condyle.readers import load_robot
from tests.hostile.urdf_text import FOLLOWER, LIMIT, arm, joint, link, load, refused


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('<robot name="r"><link', r"bad\.urdf:1: not XML: .*column"),
        ("", "not XML: the text ends before the root"),
        ('<robot name="r"><link name="a">', "not XML: the text ends before the root"),
        ("<html/>", "neither URDF nor MJCF"),
        ("<robot/>", "no link at all"),
        ("\x00\x01", "not XML"),
        ('<?xml version="1.0" encoding="utf-7"?><robot/>', "encoding 'utf-7', expected one of utf-8"),
        ('<?xml version="1.0" encoding="cp037"?><robot/>', "encoding 'cp037'|not XML"),
    ],
)
def test_malformed_empty_or_other_xml(text: str, message: str, tmp_path: Path) -> None:
    path = tmp_path / "bad.urdf"
    path.write_bytes(text.encode())
    with pytest.raises(ModelError, match=message):
        load_robot(path)


@pytest.mark.parametrize("text", ["a -- b", "--", "-", "<!-- a", '\n--\n"', "a --\r\n'"])
def test_dashes_in_a_comment_are_taken(text: str, tmp_path: Path) -> None:
    """As Pinocchio and MuJoCo take them; what comes after keeps its line."""
    path = tmp_path / "arm.urdf"
    path.write_bytes(f'<robot name="r"><!--{text}-->\n<link name="a"/><link name="a"/></robot>'.encode())
    line = text.count("\n") + 2
    with pytest.raises(ModelError, match=f"arm.urdf:{line}: link 'a' is defined twice"):
        load_robot(path)


def test_what_stands_behind_a_zero_byte_does_not_count(tmp_path: Path) -> None:
    """A public file has the end of an older one there; a file whose root is not closed before it is none."""
    path = tmp_path / "arm.urdf"
    path.write_bytes(b'<robot name="r"><link name="a"/></robot>\n\0 <link name="b"/></robot>')
    assert list(load_robot(path).frames) == ["a"]
    path.write_bytes(b'<robot name="r"><link name="a"/>\0</robot>')
    with pytest.raises(ModelError, match="the text ends before the root element does"):
        load_robot(path)


@pytest.mark.parametrize(
    "text",
    [
        '<link name="<!-- a -->"/>',
        "<link name='<!-- -- -->'/>",
        '<link name="a"/><!-- -- <link name="b"/>',
        '<link name="a"><![CDATA[ <!-- ]]></link><!-- -- --> & <b -->',
        '<link name="a" <!-- -- --> />x<',
        "<link name='<!- a ->'/>",
        '<link name="a"/><!x <link name="b"/>',
    ],
)
def test_what_is_no_comment_is_not_taken_for_one(text: str, tmp_path: Path) -> None:
    refused(tmp_path, "not XML", text)


def test_many_marks_of_comments_take_no_time(tmp_path: Path) -> None:
    for text in ("<!--", "<!-- -- -->", "<![CDATA[", "<?", "<a '", '<a "', "<"):
        start = time.process_time()
        refused(tmp_path, "not XML", text * (2_000_000 // len(text)) + "<")
        assert time.process_time() - start < 3.0


@pytest.mark.smoke
def test_entity_bomb(tmp_path: Path) -> None:
    lines = ['<!ENTITY a0 "x">', *(f'<!ENTITY a{i} "{f"&a{i - 1};" * 10}">' for i in range(1, 7))]
    with pytest.raises(ModelError, match=r"bad\.urdf:2: DOCTYPE declarations are refused"):
        load(tmp_path, arm().replace('"arm"', '"&a6;"'), f'<?xml version="1.0"?>\n<!DOCTYPE r [{"".join(lines)}]>\n')


@pytest.mark.smoke
def test_external_entity(tmp_path: Path) -> None:
    head = '<!DOCTYPE r [<!ENTITY x SYSTEM "file:///etc/passwd">]>'
    with pytest.raises(ModelError, match="DOCTYPE"):
        load(tmp_path, arm(), head)
    with pytest.raises(ModelError, match="not XML: undefined entity"):
        load(tmp_path, "&x;" + arm())


def test_a_hundred_thousand_nested_tags(tmp_path: Path) -> None:
    refused(tmp_path, "nested deeper than", "<link>" * 100_000 + "</link>" * 100_000)
    refused(tmp_path, "nested deeper than 64", "<gazebo>" * 100 + "</gazebo>" * 100)


def chain(n: int) -> str:
    links = "".join(link(f"l{i}") for i in range(n))
    return links + "".join(joint(f"j{i}", f"l{i - 1}", f"l{i}") for i in range(1, n))


def test_a_thousand_links(tmp_path: Path) -> None:
    assert load(tmp_path, chain(1_001)).nv == 1_000


@pytest.mark.slow  # as the thousand above; tests/model has ten thousand that no file holds
def test_ten_thousand_links(tmp_path: Path) -> None:
    start = time.process_time()
    assert load(tmp_path, chain(10_001)).nv == 10_000
    assert time.process_time() - start < 30.0
    refused(tmp_path, "20000 links, expected at most 16384", "".join(f'<link name="l{i}"/>' for i in range(20_000)))


@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture], deadline=None)
@given(st.data())
@pytest.mark.filterwarnings("ignore::condyle.errors.ModelWarning")
def test_a_damaged_file_loads_or_is_refused_politely(tmp_path: Path, data: st.DataObject) -> None:
    path = tmp_path / "bad.urdf"
    text = f'<robot name="r">{arm(more="<origin/><axis/>" + LIMIT) + FOLLOWER.format("j")}</robot>'
    for _ in range(data.draw(st.integers(1, 3))):
        begin = data.draw(st.integers(0, len(text)))
        end = data.draw(st.integers(begin, min(len(text), begin + 12)))
        text = text[:begin] + data.draw(st.text('<>/"=-0. e9naif&#;x\u00e9\n', max_size=4)) + text[end:]
    path.write_bytes(text.encode())
    try:
        load_robot(path).random_state(1, 0)
    except CondyleError as error:
        assert str(error)  # noqa: PT017
