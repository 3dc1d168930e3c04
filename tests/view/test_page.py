"""The page in the browser: only its address with the token is answered, its scene moves, it stops. Needs viser."""

from __future__ import annotations

import json
import os
import signal
import socket
import subprocess
import sys
import urllib.request
from contextlib import nullcontext

import numpy as np
import pytest

import condyle
from condyle import Contact
from condyle.errors import ShapeError, UnsupportedError
from condyle.ground import Plane
from condyle.model.placement import Placement
from condyle.view import handle
from condyle.view.browser import quaternion
from condyle.view.handle import free_port
from tests.view.test_contacts import GUESS, four_bar

ARM = condyle.load("iiwa14")
LAST = 6


@pytest.fixture
def page():
    pytest.importorskip("viser", reason="needs viser: pip install 'condyle[view]'")
    q = np.linspace(0.0, 1.0, 21)[:, None] * np.ones(7)
    with ARM.show(trajectory=np.stack([q, -q]), dt=0.02, browser=False, port=18080) as shown:
        yield shown


def got(address: str) -> str:
    with urllib.request.urlopen(address, timeout=10) as answer:
        return answer.read().decode()


def test_it_is_served_here(page) -> None:
    assert page.address.startswith("http://127.0.0.1:")
    assert "<html" in got(page.address)
    assert f'<iframe src="{page.address}"' in page._repr_html_()
    assert repr(page) == f"<View of iiwa14: {page.address}>"


FOREIGN = "evil.example"
"""A site that the user's browser has open; with its name on 127.0.0.1 it is the Host too."""


def answer_to(page, path: str, *headers: str, host: str = FOREIGN) -> bytes:
    """What the page's port answers to a request."""
    request = "\r\n".join((f"GET {path} HTTP/1.1", f"Host: {host}", "Connection: close", *headers, "", ""))
    with socket.create_connection(("127.0.0.1", page._server.get_port()), timeout=10) as link:
        link.sendall(request.encode())
        return b"".join(iter(lambda: link.recv(1 << 16), b""))


@pytest.mark.parametrize("host", [FOREIGN, "127.0.0.1:18080", "localhost", "[::1]:18080", "0.0.0.0:18080"])
def test_no_page_is_answered_without_its_token(page, host) -> None:
    token = page.address.rpartition("/")[2]
    assert len(token) >= 22  # 128 bits
    for path in (
        "/",
        "/index.html",
        f"/{token[:-1]}",
        f"/{token}x",
        f"/{token}/index.html",
        f"/?{token}",
        "//",
        "/%00",
    ):
        answer = answer_to(page, path, host=host)
        assert answer.startswith(b"HTTP/1.1 403 ") and b"<html" not in answer and token.encode() not in answer
    assert answer_to(page, f"/{token}", host=host).startswith(b"HTTP/1.1 200 OK")


@pytest.mark.parametrize(
    "origin", [None, f"https://{FOREIGN}", "null", "http://127.0.0.1:18080", "http://localhost:3000"]
)
def test_no_web_socket_is_answered_without_its_token(page, origin) -> None:
    client = pytest.importorskip("websockets.sync.client")
    refusal = pytest.importorskip("websockets.exceptions").InvalidStatus
    viser = pytest.importorskip("viser")
    root, _, token = page.address.replace("http:", "ws:").rpartition("/")
    options = {"origin": origin, "subprotocols": [f"viser-v{viser.__version__}"], "max_size": None}

    def connected(path: str):
        """By a socket that exists, so that no proxy of the environment is asked."""
        return client.connect(
            root + path, sock=socket.create_connection(("127.0.0.1", page._server.get_port())), **options
        )

    for path in ("", "/", f"/{token[:-1]}", f"/{'A' * len(token)}", f"/?websocket={token}"):
        with pytest.raises(refusal, match="HTTP 403"):
            connected(path)
    assert not page._server.get_clients()
    with connected(f"/{token}") as link:
        assert len(link.recv(timeout=10)) > 100


def test_only_127_0_0_1_is_served(page) -> None:
    port = page._server.get_port()
    for family, host in ((socket.AF_INET6, "::1"), (socket.AF_INET, "127.0.0.2")):
        with socket.socket(family) as link, pytest.raises(OSError):
            link.connect((host, port))


def test_each_page_has_another_token(page) -> None:
    with ARM.show(browser=False, port=18080) as other:
        assert other.address.rpartition("/")[2] != page.address.rpartition("/")[2]
        token = page.address.rpartition("/")[2]
        assert answer_to(other, f"/{token}").startswith(b"HTTP/1.1 403 ")


def test_a_viser_that_asks_for_no_token_is_refused(monkeypatch) -> None:
    pytest.importorskip("viser", reason="needs viser: pip install 'condyle[view]'")
    monkeypatch.setattr(handle, "checked", lambda _: nullcontext())
    first = free_port("127.0.0.1", 18080)
    with pytest.raises(UnsupportedError, match="serves pages to everybody, without a token: pip install"):
        ARM.show(browser=False, port=first)
    with pytest.raises(OSError):
        got(f"http://127.0.0.1:{first}")


def test_other_servers_of_the_process_are_not_changed(page) -> None:
    serve = pytest.importorskip("websockets.asyncio.server").serve
    assert serve.__module__ == "websockets.asyncio.server"


def test_bodies_stand_where_the_scene_has_them(page) -> None:
    for now in (7, 20, 0):
        page.time = now
        for robot in (0, 1):
            node = page._stage.bodies[robot][LAST]
            np.testing.assert_allclose(node.position, page.scene.origins[now, robot, LAST], atol=1e-6)
            w, *xyz = node.wxyz
            turn = page.scene.rotations[now, robot, LAST]
            np.testing.assert_allclose(abs(np.dot(quaternion(turn), (w, *xyz))), 1.0, atol=1e-6)
        ends = page._stage.links.points
        np.testing.assert_allclose(ends, page._stage._ends(now), atol=1e-6)
    assert page.time == 0
    with pytest.raises(ShapeError, match="time 21: there are the states 0 to 20"):
        page.time = 21
    for odd in ("a", 1.5):
        with pytest.raises(UnsupportedError, match=rf"time={odd!r}: give the number of a state, from 0 to 20"):
            page.time = odd


def test_a_closed_page_says_so(page) -> None:
    page.close()
    with pytest.raises(UnsupportedError, match=r"this page is closed: robot.show\(\) opens another one"):
        page.update(np.zeros(7))
    with pytest.raises(UnsupportedError, match="this page is closed"):
        page.time = 1


def test_other_states_are_drawn(page) -> None:
    first = page._stage
    page.update(trajectory=np.full((2, 21, 7), 0.3))
    assert page._stage is first  # the same nodes move
    np.testing.assert_allclose(first.bodies[1][LAST].position, page.scene.origins[0, 1, LAST], atol=1e-6)
    page.update(np.zeros((3, 7)))
    assert page._stage is not first and len(page._stage.bodies) == 3 and page._slider is None
    with pytest.raises(ShapeError, match=r"expected \(7,\)"):
        page.update(np.zeros(6))


def test_layers_are_switched(page) -> None:
    balls = page._stage.layers["bodies"]
    assert len(balls) == 2 * 8 and all(ball.visible for ball in balls)
    page._stage.show("bodies", False)
    assert not any(ball.visible for ball in balls)


def test_ranges_begin_hidden_on_the_body_before_and_their_hands_on_the_next(page) -> None:
    lines = page._stage.layers["limits"]
    assert len(lines) == 2 * 7 * 2 and not any(line.visible for line in lines)
    assert [line.name.split("/")[-2] for line in lines[:4]] == [str(LAST + 1), "0", "0", "1"]
    page._stage.show("limits", True)
    assert all(line.visible for line in lines)


def test_forces_without_length_are_hidden() -> None:
    pytest.importorskip("viser", reason="needs viser: pip install 'condyle[view]'")
    force = {"iiwa_link_7": np.array([(0.0, 0.0, 0.0), (0.0, 0.0, 50.0)])}
    with ARM.show(trajectory=np.zeros((2, 7)), forces=force, browser=False, port=18080) as shown:
        (arrow,) = shown._stage.arrows
        assert not arrow.visible
        shown.time = 1
        assert arrow.visible
        start, end = arrow.points[0]
        np.testing.assert_allclose(start, shown.scene.force_points["iiwa_link_7"][1, 0], atol=1e-6)
        assert end[2] > start[2]
        shown._stage.show("forces", False)
        shown.time = 1
        assert not arrow.visible


def test_marks_move_and_say_their_errors() -> None:
    pytest.importorskip("viser", reason="needs viser: pip install 'condyle[view]'")
    robot = four_bar()
    q = robot.close(np.array([GUESS, GUESS]), fixed=["a"])
    q[0, 2] += 0.3
    with robot.show(trajectory=q, ground=Plane(), browser=False, port=18080) as shown:
        marks = shown._stage.contacts
        (label,) = marks.words
        assert label.visible and label.text.startswith("contact 'coupler' on 'rocker': 0.1")
        start, end = marks.lines.points[0]
        assert np.linalg.norm(end - start) == pytest.approx(shown.scene.opening(0, 0, shown.scene.contacts[0])[0])
        shown._stage.show("contacts", False)
        assert not label.visible and not marks.lines.visible
        shown._stage.show("contacts", True)
        shown.time = 1
        assert not label.visible and np.ptp(marks.lines.points[0], axis=0).max() < 1e-6
        first = shown._stage
        shown.update(trajectory=q[::-1])
        assert shown._stage is first and not label.visible
        shown.update(trajectory=q, contacts=[Contact("rocker")])
        assert shown._stage is not first and shown._stage.contacts.normals is not None
        assert len(shown._stage.layers["ground"]) == 2


def test_it_plays_in_time(page) -> None:
    page._playing = True
    assert page._closed.wait(0.3) is False
    assert page.time > 0


def test_no_tunnel_is_opened(page) -> None:
    assert page._server.request_share_url() is None
    assert page._server._share_tunnel is None


def test_it_stops(page) -> None:
    page.close()
    page.close()
    page.wait()
    with pytest.raises(OSError):
        got(page.address)


def test_many_names_begin_hidden() -> None:
    pytest.importorskip("viser", reason="needs viser: pip install 'condyle[view]'")
    q = np.zeros((3, 7))
    for layers, visible in ((None, False), (("names",), True)):
        with ARM.show(q, browser=False, port=18080, layers=layers) as shown:
            assert all(label.visible is visible for label in shown._stage.layers["names"])


def _unignored() -> None:
    """A background run inherits an ignored SIGINT."""
    signal.signal(signal.SIGINT, signal.SIG_DFL)


def test_the_command_serves_until_it_is_interrupted() -> None:
    pytest.importorskip("viser", reason="needs viser: pip install 'condyle[view]'")
    command = [sys.executable, "-m", "condyle", "view", "iiwa14", "--no-browser", "--port", "18090", "--json"]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdout=pipe, stderr=pipe, text=True, preexec_fn=_unignored) as started:
        try:
            text = ""
            while "}" not in text:
                line = started.stdout.readline()
                assert line, started.stderr.read()
                text += line
            assert "<html" in got(json.loads(text)["address"])
            os.kill(started.pid, signal.SIGINT)
            assert started.wait(timeout=20) == 130
            assert started.stdout.read() == ""
        finally:
            started.kill()


def test_without_the_package(monkeypatch) -> None:
    monkeypatch.setitem(sys.modules, "viser", None)
    with pytest.raises(UnsupportedError, match=r"pip install 'condyle\[view\]'"):
        ARM.show()


def test_the_package_is_imported_only_for_pages(tmp_path) -> None:
    code = "import condyle, sys; condyle.load('iiwa14').show(file=sys.argv[1]); sys.exit('viser' in sys.modules)"
    subprocess.run([sys.executable, "-c", code, str(tmp_path / "a.svg")], check=True, timeout=60)


@pytest.mark.parametrize("rpy", [(0, 0, 0), (np.pi, 0, 0), (0.3, -1.0, 2.5), (0, 0, np.pi)])
def test_quaternions_of_rotations(rpy) -> None:
    turn = Placement.from_rpy(rpy=rpy).rotation
    w, x, y, z = quaternion(turn)
    v = np.array((x, y, z))
    cross = np.array(((0, -z, y), (z, 0, -x), (-y, x, 0)))
    np.testing.assert_allclose((w * w - v @ v) * np.eye(3) + 2 * np.outer(v, v) + 2 * w * cross, turn, atol=1e-12)
