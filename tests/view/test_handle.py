"""The handle of a page by doubles of viser and of its web sockets: who is answered, what is drawn, how it plays."""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass, replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import condyle
from condyle import Contact
from condyle.errors import DeviceError, ShapeError, UnsupportedError
from condyle.model.placement import Placement
from condyle.specification.integrators import LAYERS, USUAL
from condyle.view import handle
from condyle.view.handle import Gate, View, checked
from condyle.view.scene import Scene
from tests.view import scenes

SOCKETS = "websockets.asyncio.server"
ROBOT = condyle.chain(2, rng=0)


def scene(times: int = 1, **options: Any) -> Scene:
    """So many states of the robot, a quarter of a second apart."""
    q = np.linspace(0.0, 1.0, times)[:, None] * np.ones(ROBOT.nq)
    return scenes.scene(ROBOT, trajectory=q, dt=0.25, **options)


@dataclass
class Request:
    """What a browser asks for."""

    path: str
    host: str = "evil.example"


@pytest.fixture
def sockets(monkeypatch: pytest.MonkeyPatch) -> Any:
    """A package of web sockets that keeps what it was asked to serve."""
    package: Any = SimpleNamespace(served=[])
    package.serve = lambda *arguments, **options: package.served.append((arguments, options)) or "serving"
    monkeypatch.setitem(sys.modules, SOCKETS, package)
    return package


def test_a_request_is_answered_whose_path_is_the_token() -> None:
    gate = Gate("127.0.0.1")
    assert gate == "127.0.0.1" and not gate.shut and len(gate.token) == 22 and Gate("x").token != gate.token
    for path in (f"/{gate.token}", f"/{gate.token}/", gate.token, f"/{gate.token}?websocket=1&a?b"):
        assert gate.admits(path)
    for path in ("", "/", f"/{gate.token[:-1]}", f"/{gate.token}x", f"/x/{gate.token}", f"/?{gate.token}", "/é"):
        assert not gate.admits(path)
    connection = SimpleNamespace(respond=lambda status, text: (int(status), text))
    refused = gate.check(lambda *_: pytest.fail("viser was asked"), connection, Request("/"))
    assert refused == (403, handle.REFUSED)
    answered = gate.check(lambda *given: given, connection, Request(f"/{gate.token}?x", "here"))
    assert answered == (connection, Request("/", "here"))


def test_only_servers_at_a_gate_are_checked_and_only_meanwhile(sockets: Any) -> None:
    gate, serve = Gate("127.0.0.1"), sockets.serve

    def answer(connection: object, request: Request) -> str:
        return f"viser: {request.path}"

    with checked(gate):
        assert sockets.serve("handler", "127.0.0.1", 80, process_request=answer) == "serving" and not gate.shut
        assert sockets.serve("handler", gate, 80) == "serving" and not gate.shut
        assert sockets.serve("handler", gate, 80, process_request=None, other=1) == "serving" and not gate.shut
        sockets.serve("handler", gate, 81, process_request=answer, other=2)
    assert gate.shut and sockets.serve is serve
    plain, *_, last = sockets.served
    assert plain == (("handler", "127.0.0.1", 80), {"process_request": answer})
    assert last[0] == ("handler", gate, 81) and last[1]["other"] == 2
    asked = last[1]["process_request"]
    assert asked(None, Request(f"/{gate.token}")) == "viser: /"
    assert asked(SimpleNamespace(respond=lambda status, _: status.name), Request("/")) == "FORBIDDEN"
    with pytest.raises(OSError, match="taken"), checked(gate):
        raise OSError("taken")
    assert sockets.serve is serve
    with checked(gate):
        assert sockets.serve is not serve, "no lock is left"


class Control:
    """A control of a page; a value that is set is heard as one that was moved."""

    def __init__(self, kind: str, *arguments: Any, **options: Any) -> None:
        self.kind, self.arguments, self.options, self.heard = kind, arguments, options, list[Callable[[Any], None]]()
        self._value = {"add_checkbox": arguments[-1], "add_slider": arguments[-1]}.get(kind, "")
        self.label = arguments[0]

    def on_update(self, call: Callable[[Any], None]) -> None:
        self.heard.append(call)

    on_click = on_update

    @property
    def value(self) -> Any:
        return self._value

    @value.setter
    def value(self, value: Any) -> None:
        self._value = value
        self.press()

    def press(self) -> None:
        for call in self.heard:
            call(self)


class Gui:
    """Controls by their labels, and what else was called."""

    def __init__(self) -> None:
        self.controls, self.calls = dict[str, Control](), list[Any]()
        self.main_panel = SimpleNamespace(dock_right=lambda: self.calls.append("right"))

    def reset(self) -> None:
        self.calls.append("reset")
        self.controls.clear()

    def configure_theme(self, **options: Any) -> None:
        self.calls.append(options)

    def __getattr__(self, kind: str) -> Any:
        def add(label: str, *arguments: Any, **options: Any) -> Control:
            self.controls[label] = Control(kind, label, *arguments, **options)
            return self.controls[label]

        return add


class Stage:
    """What was moved and shown."""

    def __init__(self, server: Any, scene: Scene, dark: bool, shells: Any) -> None:
        self.scene, self.dark, self.shells, self.moved, self.shown = scene, dark, shells, list[int](), dict[str, bool]()
        self.layers = {layer: ["node"] for layer in LAYERS} | {"meshes": [], "forces": []}

    def move(self, time: int) -> None:
        self.moved.append(time)

    def show(self, layer: str, visible: bool) -> None:
        self.shown[layer] = visible


class Thread:
    """One that never runs."""

    def __init__(self, **options: Any) -> None:
        self.options, self.calls = options, list[Any]()

    def start(self) -> None:
        self.calls.append("start")

    def join(self, timeout: float) -> None:
        self.calls.append(timeout)


class Viser:
    """A server of pages, which serves at once; shut: whether it lets requests be checked."""

    __version__ = "9.9"
    shut, error = True, None

    def __init__(self, host: Any, port: int, label: str, verbose: bool) -> None:
        print("a banner")
        if self.error is not None:
            raise self.error
        self.given, self.stopped = (str(host), port, label, verbose), 0
        self.gui, self.scene = Gui(), SimpleNamespace(reset=lambda: self.gui.calls.append("scene"))
        if self.shut:
            sys.modules[SOCKETS].serve("handler", host, port, process_request=print)
        Viser.last = self

    def request_share_url(self) -> str:
        return "https://a.tunnel"

    def get_port(self) -> int:
        return self.given[1]

    def stop(self) -> None:
        print("a farewell")
        self.stopped += 1

    last: Any


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch, sockets: Any) -> Callable[..., View]:
    """Opens pages by these doubles."""
    monkeypatch.setattr(handle, "viser", lambda: SimpleNamespace(ViserServer=Viser, __version__="9.9"))
    monkeypatch.setattr(handle, "Stage", Stage)
    monkeypatch.setattr(handle, "free_port", lambda host, port: port + 1 if host == "127.0.0.1" else 0)
    monkeypatch.setattr(handle.threading, "Thread", Thread)

    def open_page(shown: Scene, again: Any = None, layers: Any = None, dark: bool = False, shells: Any = ()) -> View:
        return View(shown, again, layers, 8080, dark, shells)

    return open_page


def test_a_page_is_made_once_with_its_name_its_theme_and_its_panel(opened: Any, capsys: Any) -> None:
    page = opened(scene(), dark=True, shells=("shell",))
    server = page._server
    assert server.given == ("127.0.0.1", 8081, ROBOT.name, False)
    assert page.address == f"http://127.0.0.1:8081/{page._gate.token}"
    theme = {"dark_mode": True, "show_logo": False, "show_share_button": False}
    assert server.gui.calls == [theme, "scene", "reset", "right"]
    assert (page._stage.dark, page._stage.shells) == (True, ("shell",))
    assert server.request_share_url() is None, "nothing leaves this machine"
    assert page._player.calls == ["start"] and page._player.options["daemon"] is True
    assert page._player.options["target"] == page._play and page._player.options["name"] == "condyle view"
    assert repr(page) == f"<View of {ROBOT.name}: {page.address}>"
    assert page._repr_html_().startswith(f'<iframe src="{page.address}" width="100%"')
    with page as same:
        assert same is page and server.stopped == 0
    page.close()
    assert server.stopped == 1 and page._player.calls == ["start", 2.0]
    assert repr(page).endswith(" (closed)>")
    page.wait()
    for call in (page.update, lambda: setattr(page, "time", 0)):
        with pytest.raises(UnsupportedError, match="this page is closed"):
            call()
    assert capsys.readouterr().out == "", "banners are swallowed"


def test_a_page_that_cannot_be_served_is_an_error(opened: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Viser, "error", OSError("in use"))
    with pytest.raises(DeviceError, match="port 8080 cannot be had: in use; name another: port="):
        opened(scene())
    monkeypatch.setattr(Viser, "error", None)
    monkeypatch.setattr(Viser, "shut", False)
    with pytest.raises(UnsupportedError, match=r"viser 9\.9 serves pages to everybody.*viser==1\.1\.1"):
        opened(scene())
    assert Viser.last.stopped == 1
    with pytest.raises(UnsupportedError, match="'shadow' is not one of"):
        opened(scene(), layers=["shadow"])


def test_layers_begin_as_asked_and_are_switched(opened: Any) -> None:
    """Those without nodes have no box."""
    page = opened(scene())
    boxes, stage = page._server.gui.controls, page._stage
    assert list(boxes) == [layer for layer in LAYERS if layer != "forces"], "one state has no controls of time"
    assert {label: box.value for label, box in boxes.items()} == {label: label in USUAL for label in boxes}
    assert stage.shown == {label: label in USUAL for label in boxes}
    assert {label: box.options["hint"] for label, box in boxes.items()} == {
        label: handle.HINTS[label] for label in boxes
    }
    assert {*handle.HINTS} == {*LAYERS, "meshes"}
    boxes["com"].value = False
    boxes["limits"].value = True
    assert (stage.shown["com"], stage.shown["limits"]) == (False, True)
    few = opened(scene(), layers=("com",))
    assert [layer for layer, shown in few._layers.items() if shown] == ["meshes", "com"]


@pytest.mark.parametrize(("many", "shown"), [(20, True), (21, False)])
def test_more_than_twenty_names_begin_hidden(opened: Any, many: int, shown: bool) -> None:
    single = scene()
    mark = single.parts.marks[0]
    made = replace(single, parts=replace(single.parts, marks=(mark,) * many))
    page = opened(made)
    assert page._layers["names"] is shown and page._layers["frames"]
    assert opened(made, layers=("names",))._layers["names"], "unless they are asked for"


def test_marks_of_all_robots_are_counted(opened: Any) -> None:
    each = len(scene().parts.marks)
    for robots in (20 // each, 20 // each + 1):
        made = scenes.scene(ROBOT, np.zeros((robots, ROBOT.nq)))
        assert opened(made)._layers["names"] is (robots * each <= 20)


def test_time_goes_to_a_state_that_there_is(opened: Any) -> None:
    page = opened(scene(5))
    assert (page.time, page.scene.times) == (0, 5)
    slider, seconds = (page._server.gui.controls[label] for label in ("state", "time [s]"))
    assert slider.arguments == ("state", 0, 4, 1, 0) and seconds.options == {"disabled": True}
    page.time = np.int64(4)
    assert (page.time, slider.value, seconds.value, page._stage.moved[-1]) == (4, 4, "1.000", 4)
    assert type(page.time) is int
    count = len(page._stage.moved)
    page.time = 4
    assert len(page._stage.moved) == count + 1, "the slider stands there already"
    slider.value = 0
    assert (page.time, seconds.value) == (0, "0.000")
    for value in (5, -1):
        with pytest.raises(ShapeError, match=f"time {value}: there are the states 0 to 4"):
            page.time = value
    for value in (1.0, "1", None):
        with pytest.raises(UnsupportedError, match="give the number of a state, from 0 to 4"):
            page.time = value
    still = opened(scene())
    still.time = 0
    assert still._stage.moved == [0]
    page._go(9)
    assert page.time == 4, "no later than the last state"


def test_two_states_can_be_played_and_one_cannot(opened: Any) -> None:
    page = opened(scene(2))
    controls = page._server.gui.controls
    assert list(controls)[:4] == ["state", "time [s]", "Play", "speed"]
    assert controls["state"].arguments[2] == 1 and controls["time [s]"].arguments == ("time [s]", "0")
    assert controls["speed"].arguments == ("speed", 0.1, 4.0, 0.1, 1.0)
    button = controls["Play"]
    for label, playing in (("Pause", True), ("Play", False)):
        button.press()
        assert (button.label, page._playing) == (label, playing)
    controls["speed"].value = 2
    assert page._speed == 2.0 and isinstance(page._speed, float)


def test_states_of_the_same_shape_take_the_place_on_the_stage(opened: Any) -> None:
    heard: list[Any] = []

    def again(q: Any, **named: Any) -> Scene:
        heard.append((q, named))
        return scene(3, **named) if q == "same" else scene(2)

    page = opened(scene(3), again)
    page.time, stage = 2, page._stage
    page.update("same", points=None)
    assert heard == [("same", {"points": None})]
    assert page._stage is stage and (page.time, stage.moved[-1]) == (0, 0)
    page.time = 1
    page.update()
    assert page._stage is not stage and (page.time, page.scene.times) == (0, 2)
    assert page._server.gui.calls[-3:] == ["scene", "reset", "right"]
    assert page._server.gui.controls["state"].arguments[2] == 1
    assert heard[-1] == (None, {})


def test_scenes_are_alike_that_have_the_same_nodes() -> None:
    name = "link1"
    held = Contact(name, anchor=Placement.from_rpy())
    first = scene(3, contacts=[held])
    ground = condyle.ground.Plane()
    assert handle._alike(first, scene(3, contacts=[held]))
    moved = replace(held, anchor=Placement.from_rpy((0.1, 0.0, 0.0)))
    turned = replace(held, placement=Placement.from_rpy((0, 0, 0), (0.1, 0, 0)))
    others = [
        scene(2, contacts=[held]),
        scene(3, contacts=[]),
        scene(3, contacts=[moved]),
        scene(3, contacts=[turned]),
        scene(3, contacts=[replace(held, anchor=None)]),
        scene(3, contacts=[held], forces={name: (0, 0, 1)}),
        scene(3, contacts=[held], ground=ground),
        scene(3, contacts=[held], frames=(name,)),
        replace(first, contacts=(replace(first.contacts[0], name="x"),)),
    ]
    for k, other in enumerate(others):
        assert not handle._alike(first, other) and not handle._alike(other, first), k
    one, two = (scene(3, contacts=[held], ground=condyle.ground.Plane(offset=offset)) for offset in (0.0, 0.5))
    assert handle._alike(one, scene(3, contacts=[held], ground=ground)) and not handle._alike(one, two)
    single, pair = (scenes.scene(ROBOT, np.zeros((robots, 2))) for robots in (1, 2))
    assert not handle._alike(single, pair)


def test_playing_goes_round_in_real_time_by_the_speed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Three states, 0.25 s apart, at twice the speed; it begins at the state where it was paused."""
    waited, moved = list[float](), list[int]()

    class Slider:
        value = property(fset=lambda _, now: (moved.append(now), setattr(page, "_time", now)))

    # what is set before each turn, the time, and the state that it moves to
    turns = [
        ({"_playing": False}, 10.0, None),
        ({"_playing": False, "_time": 1}, 20.0, None),
        ({"_playing": True}, 20.1, None),
        ({}, 20.125, 2),
        ({}, 20.2, None),
        ({}, 20.25, 0),
        ({}, 20.625, None),
        ({}, 20.75, 1),
        ({"_slider": None}, 30.0, None),
        ({"_slider": Slider()}, 30.125, 2),
    ]
    times = [0.0, *(time for _, time, _ in turns)]
    clock, left = iter(times), iter(turns)

    def wait(seconds: float) -> bool:
        waited.append(seconds)
        turn = next(left, None)
        vars(page).update(turn[0] if turn else {})
        return turn is None

    shown = SimpleNamespace(dt=0.25, times=3)
    page: Any = SimpleNamespace(
        _closed=SimpleNamespace(wait=wait), _slider=Slider(), _playing=False, _speed=2.0, _time=0, scene=shown
    )
    monkeypatch.setattr(handle.time, "monotonic", lambda: next(clock))
    View._play(page)
    assert waited == [1 / 60] * 11
    assert moved == [state for _, _, state in turns if state is not None]
