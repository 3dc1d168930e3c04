"""The script of the child process that compiles MJCF: MuJoCo's library by ctypes, nothing else is imported.

Run as `python -I -S mjcf_process.py LIBRARY SECONDS MEMORY RESULT`. Standard input: frames, a name and its bytes in
turn, the document first. Standard output: frames, each a kind ("error", "warning" or "model") and its bytes. A frame
is its length (8 bytes, little-endian) and that many bytes. Once the library is loaded the child can open no file: the
document names only what standard input brought.
"""

from __future__ import annotations

import ctypes
import os
import resource
import sys

WARNINGS = 100
TEXT = 4096  # bytes of an error, and of what goes to standard error


def main() -> None:
    library, seconds, memory, largest = sys.argv[1], *map(int, sys.argv[2:])
    ctypes.CDLL(None).prctl(1, 9)  # PR_SET_PDEATHSIG, SIGKILL: no child outlives its parent
    mujoco = ctypes.CDLL(library)
    frames = list(read_frames(sys.stdin.buffer.read()))
    limit(seconds, memory)
    heard = [0]

    def warned(text: bytes) -> None:
        heard[0] += 1
        if heard[0] <= WARNINGS:
            send(b"warning", text[:TEXT])

    def failed(text: bytes) -> None:
        send(b"error", text[:TEXT])
        os._exit(0)  # MuJoCo expects that this does not return

    handler = ctypes.CFUNCTYPE(None, ctypes.c_char_p)
    handlers = handler(warned), handler(failed)
    for name, function in (("mju_user_warning", handlers[0]), ("mju_user_error", handlers[1])):
        ctypes.c_void_p.in_dll(mujoco, name).value = ctypes.cast(function, ctypes.c_void_p).value
    compile_model(mujoco, frames, largest)


def limit(seconds: int, memory: int) -> None:
    """No more than these; no core file, no file opened from now on, no more than 4 KiB of standard error."""
    limits = {"AS": memory, "CPU": seconds, "CORE": 0, "NOFILE": 0, "FSIZE": TEXT}
    for name, value in limits.items():
        kind = getattr(resource, f"RLIMIT_{name}")
        hard = resource.getrlimit(kind)[1]
        value = value if hard == resource.RLIM_INFINITY else min(value, hard)
        resource.setrlimit(kind, (value, value))


def compile_model(mujoco: ctypes.CDLL, frames: list[bytes], largest: int) -> None:
    vfs = ctypes.create_string_buffer(64)  # mjVFS: one pointer
    mujoco.mj_defaultVFS(vfs)
    for name, data in zip(frames[::2], frames[1::2], strict=True):
        if mujoco.mj_addBufferVFS(vfs, name, data, len(data)) != 0:
            return send(b"error", b"a file cannot be handed over: " + name)
    mujoco.mj_loadXML.restype = ctypes.c_void_p
    mujoco.mj_sizeModel.restype = ctypes.c_longlong
    message = ctypes.create_string_buffer(TEXT)
    model = ctypes.c_void_p(mujoco.mj_loadXML(frames[0], vfs, message, TEXT))
    if not model:
        return send(b"error", message.value)
    if message.value:
        send(b"warning", message.value)
    size = mujoco.mj_sizeModel(model)
    if not 0 < size <= largest:
        return send(b"error", b"the compiled model takes %d bytes, expected at most %d" % (size, largest))
    buffer = ctypes.create_string_buffer(size)
    mujoco.mj_saveModel(model, None, buffer, ctypes.c_longlong(size))
    return send(b"model", buffer.raw)


def read_frames(data: bytes) -> list[bytes]:
    frames: list[bytes] = []
    at = 0
    while at < len(data):
        end = at + 8 + int.from_bytes(data[at : at + 8], "little")
        frames.append(data[at + 8 : end])
        at = end
    return frames


def send(kind: bytes, data: bytes) -> None:
    for part in (kind, data):
        todo = memoryview(len(part).to_bytes(8, "little") + part)
        while todo:
            todo = todo[os.write(1, todo) :]


if __name__ == "__main__":
    main()
