"""A page that shows a scene, and the handle that a script keeps of it."""

from __future__ import annotations

import dataclasses
import errno
import secrets
import socket
import threading
import time
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager, redirect_stdout
from functools import partial
from hmac import compare_digest
from http import HTTPStatus
from importlib import import_module
from io import StringIO
from numbers import Integral
from typing import Any

import numpy as np

from condyle.errors import DeviceError, ShapeError, UnsupportedError
from condyle.model.array import Array
from condyle.specification.integrators import LAYERS, USUAL
from condyle.text import printable
from condyle.view.browser import HOST, MESHES, Stage, viser
from condyle.view.drawing import checked_layers
from condyle.view.ground import ContactMark
from condyle.view.robot_parts import Shell
from condyle.view.scene import Scene

# Who may see a page: whoever has its address, which holds a random token. Others are refused before viser answers.


REFUSED = (
    "Open the whole address that the script or `condyle view` showed: behind the port stands the token of this page.\n"
)
_starting = threading.Lock()


class Gate(str):
    """A host that viser serves at, with the token of the page. `shut`: whether requests are checked.

    viser has no option for this. It passes the host on as it is, so that no other server of the process is changed.
    """

    token: str
    shut: bool

    def __new__(cls, host: str) -> Gate:
        gate = super().__new__(cls, host)
        gate.token, gate.shut = secrets.token_urlsafe(16), False
        return gate

    def admits(self, path: str) -> bool:
        """Whether a request's path is the token; what follows a question mark is viser's."""
        return compare_digest(path.partition("?")[0].strip("/").encode(), self.token.encode())

    def check(self, answer: Callable[..., Any], connection: Any, request: Any) -> Any:
        """Answer a page or a web socket that has the token, whatever its Host and Origin, and refuse others."""
        if not self.admits(request.path):
            return connection.respond(HTTPStatus.FORBIDDEN, REFUSED)
        return answer(connection, dataclasses.replace(request, path="/"))


@contextmanager
def checked(gate: Gate) -> Generator[None, None, None]:
    """Within it, a server of web sockets that starts at this host asks for the token."""
    package: Any = import_module("websockets.asyncio.server")
    with _starting:
        serve = package.serve

        def start(*arguments: Any, **options: Any) -> Any:
            answer = options.get("process_request")
            if answer is not None and any(value is gate for value in arguments):
                options["process_request"] = partial(gate.check, answer)
                gate.shut = True
            return serve(*arguments, **options)

        package.serve = start
        try:
            yield
        finally:
            package.serve = serve


# A free port of this machine.


LARGEST = 65535
TRIED = 1000


def free_port(host: str, first: int) -> int:
    """The first port from `first` on that nobody uses. UnsupportedError for no port, DeviceError where none is free."""
    number = isinstance(first, int) and not isinstance(first, bool)  # pyright: ignore[reportUnnecessaryIsInstance]
    if not number or not 1 <= first <= LARGEST:
        raise UnsupportedError(f"port={first!r}, expected a whole number from 1 to {LARGEST}")
    last = min(first + TRIED - 1, LARGEST)
    for port in range(first, last + 1):
        with socket.socket(socket.AF_INET, socket.SOCK_STREAM) as tried:
            tried.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # of a page that was just closed
            try:
                tried.bind((host, port))
            except OSError as error:
                if error.errno == errno.EADDRINUSE:
                    continue
                raise DeviceError(f"port {port} cannot be had: {error.strerror}; name another: port=") from None
        return port
    raise DeviceError(f"the ports {first} to {last} are all taken; name another: port=")


HINTS = {
    "bodies": "ellipsoids with the mass and inertia of each body",
    "links": "from joint to joint",
    "axes": "of joints, in their positive direction",
    "limits": "where joints can go, and their q",
    "frames": "x red, y green, z blue",
    "names": "of frames",
    "com": "centre of mass of what moves",
    "contacts": "their frames, and the errors of those that are open",
    "ground": "as it was given",
    "forces": "as they were given",
    MESHES: "of the model's file",
}
SPEEDS = (0.1, 4.0)
MOST_NAMES = 20
"""More names than these are shown only when asked for: they cover the robots."""
FASTEST = 60.0
"""States that are sent in a second; others are skipped."""


class View:
    """A page that is being served; it stays until `close()`, the end of a `with` or of the process.

    address: what a browser opens, with a random token that each request must have. `update(q)` draws other states,
    `time` is the index of the state that is shown.
    """

    def __init__(
        self,
        scene: Scene,
        again: Callable[..., Scene],
        layers: Sequence[str] | None,
        port: int,
        dark: bool,
        shells: tuple[Shell, ...] = (),
    ) -> None:
        """again: makes the scene of other arguments. DeviceError where the port cannot be had."""
        labels = len(scene.parts.marks) * scene.robots
        usual = USUAL if labels <= MOST_NAMES else tuple(layer for layer in USUAL if layer != "names")
        shown = usual if layers is None else checked_layers(layers)
        package = viser()
        free = free_port(HOST, port)  # viser hangs where a port is none or cannot be had
        self._gate = Gate(HOST)
        try:
            with redirect_stdout(StringIO()), checked(self._gate):  # its banner, which no option turns off
                self._server: Any = package.ViserServer(self._gate, free, printable(scene.name), verbose=False)
        except OSError as error:
            raise DeviceError(f"port {port} cannot be had: {error}; name another: port=") from None
        if not self._gate.shut:
            self._stop()
            cure = "pip install 'viser==1.1.1'"
            raise UnsupportedError(f"viser {package.__version__} serves pages to everybody, without a token: {cure}")
        self._server.request_share_url = _refused  # a page could ask for a tunnel to the internet
        self._again, self._dark, self._shells = again, dark, shells
        self._layers = {MESHES: True, **{layer: layer in shown for layer in LAYERS}}
        self._lock, self._closed = threading.RLock(), threading.Event()
        self._time, self._speed, self._playing = 0, 1.0, False
        self._server.gui.configure_theme(dark_mode=dark, show_logo=False, show_share_button=False)
        self._put(scene)
        self._player = threading.Thread(target=self._play, name="condyle view", daemon=True)
        self._player.start()

    @property
    def address(self) -> str:
        return f"http://{HOST}:{self._server.get_port()}/{self._gate.token}"

    @property
    def scene(self) -> Scene:
        return self._stage.scene

    @property
    def time(self) -> int:
        return self._time

    @time.setter
    def time(self, value: int) -> None:
        """ShapeError beyond the states there are; UnsupportedError for what is no whole number, and once closed."""
        self._check_open()
        if not isinstance(value, Integral):  # pyright: ignore[reportUnnecessaryIsInstance]
            raise UnsupportedError(f"time={value!r}: give the number of a state, from 0 to {self.scene.times - 1}")
        if not 0 <= value < self.scene.times:
            raise ShapeError(f"time {value}: there are the states 0 to {self.scene.times - 1}")
        self._go(int(value))
        if self._slider is not None and self._slider.value != value:
            self._slider.value = value

    def update(self, q: Any = None, **arguments: Any) -> None:
        """Draw other states of the same robot: the arguments of `Robot.show`, but for those of the page."""
        self._check_open()
        scene = self._again(q, **arguments)
        with self._lock:
            if _alike(scene, self.scene):
                self._stage.scene = scene
                self._go(0)
            else:
                self._put(scene)

    def _check_open(self) -> None:
        if self._closed.is_set():
            raise UnsupportedError("this page is closed: robot.show() opens another one")

    def close(self) -> None:
        """Stop serving. A second call does nothing."""
        if not self._closed.is_set():
            self._closed.set()
            self._player.join(timeout=2.0)
            self._stop()

    def _stop(self) -> None:
        with redirect_stdout(StringIO()):
            self._server.stop()

    def wait(self) -> None:
        """Serve until `close()` or an interrupt."""
        while not self._closed.wait(0.2):
            pass

    def __enter__(self) -> View:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"<View of {printable(self.scene.name)}: {self.address}{' (closed)' if self._closed.is_set() else ''}>"

    def _repr_html_(self) -> str:
        """What a notebook shows: the page itself."""
        return f'<iframe src="{self.address}" width="100%" height="520" style="border:0"></iframe>'

    def _put(self, scene: Scene) -> None:
        """Everything anew."""
        with self._lock:
            self._server.scene.reset()
            self._server.gui.reset()
            self._server.gui.main_panel.dock_right()  # beside the robots, not over them
            self._stage, self._time, self._slider = Stage(self._server, scene, self._dark, self._shells), 0, None
            self._controls()

    def _controls(self) -> None:
        gui = self._server.gui
        if self.scene.times > 1:
            self._slider = slider = gui.add_slider("state", 0, self.scene.times - 1, 1, 0)
            seconds = gui.add_text("time [s]", "0", disabled=True)
            button = gui.add_button("Play")
            speed = gui.add_slider("speed", *SPEEDS, 0.1, self._speed)

            def moved(_: object) -> None:
                self._go(int(slider.value))
                seconds.value = f"{slider.value * self.scene.dt:.3f}"

            def pressed(_: object) -> None:
                self._playing = not self._playing
                button.label = "Pause" if self._playing else "Play"

            def faster(_: object) -> None:
                self._speed = float(speed.value)

            slider.on_update(moved)
            button.on_click(pressed)
            speed.on_update(faster)
        for layer in self._layers:
            if self._stage.layers[layer]:
                self._toggle(gui, layer)

    def _toggle(self, gui: Any, layer: str) -> None:
        box = gui.add_checkbox(layer, self._layers[layer], hint=HINTS[layer])

        def changed(_: object) -> None:
            with self._lock:
                self._layers[layer] = bool(box.value)
                self._stage.show(layer, self._layers[layer])

        box.on_update(changed)
        self._stage.show(layer, self._layers[layer])

    def _go(self, now: int) -> None:
        with self._lock:
            self._time = min(now, self.scene.times - 1)
            self._stage.move(self._time)

    def _play(self) -> None:
        """The thread that plays: real time by `dt`, round and round."""
        began, first = time.monotonic(), 0
        while not self._closed.wait(1.0 / FASTEST):
            slider = self._slider
            if not self._playing or slider is None:
                began, first = time.monotonic(), self._time
                continue
            elapsed = (time.monotonic() - began) * self._speed
            now = (first + int(elapsed / self.scene.dt)) % self.scene.times
            if now != self._time:
                slider.value = now  # its handler moves the robots


def _refused(*_: object, **__: object) -> None:
    """Nothing leaves this machine."""


def _alike(first: Scene, second: Scene) -> bool:
    """Whether the same nodes can show both."""
    same = (first.times, first.robots, list(first.forces)) == (second.times, second.robots, list(second.forces))
    same = same and [m.name for m in first.parts.marks] == [m.name for m in second.parts.marks]
    return (
        same
        and list(map(_places, first.contacts)) == list(map(_places, second.contacts))
        and _nets_alike(first.nets(), second.nets())
    )


def _places(contact: ContactMark) -> list[object]:
    """What stands still of a contact: its name, and its frames on their bodies."""
    marks = [mark for mark in (contact.frame, contact.anchor) if mark is not None]
    return [contact.name, *((m.origin.body, m.origin.position.tolist(), m.axes.tolist()) for m in marks)]


def _nets_alike(first: Sequence[Array], second: Sequence[Array]) -> bool:
    return len(first) == len(second) and all(np.array_equal(a, b) for a, b in zip(first, second, strict=True))
