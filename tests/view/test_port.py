"""Ports: those that are taken are skipped, those that are none are errors."""

from __future__ import annotations

import errno
import socket

import pytest

from condyle.errors import DeviceError, UnsupportedError
from condyle.view import handle
from condyle.view.handle import free_port

HOST = "127.0.0.1"


def test_a_port_that_is_taken_is_skipped() -> None:
    first = free_port(HOST, 18500)
    with socket.socket() as taken:
        taken.bind((HOST, first))
        taken.listen()
        assert free_port(HOST, first) > first
    assert free_port(HOST, first) == first


@pytest.mark.parametrize("given", ["80", 0, -1, 70000, True, 80.0, None])
def test_what_is_no_port(given) -> None:
    with pytest.raises(UnsupportedError, match="expected a whole number from 1 to 65535"):
        free_port(HOST, given)


@pytest.mark.parametrize(
    ("code", "words"), [(errno.EACCES, "port 80 cannot be had"), (errno.EADDRINUSE, "80 to 89 are all")]
)
def test_ports_that_cannot_be_had(monkeypatch, code, words) -> None:
    class Refusing(socket.socket):
        def bind(self, _) -> None:
            raise OSError(code, "no")

    monkeypatch.setattr(handle.socket, "socket", Refusing)
    monkeypatch.setattr(handle, "TRIED", 10)
    with pytest.raises(DeviceError, match=words):
        free_port(HOST, 80)
