"""A free port of this machine."""

from __future__ import annotations

import errno
import socket

from condyle.errors import DeviceError, UnsupportedError

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
