"""A C99 header for the host: packets of tasks and results, from the same data as NAME_stream.json."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from condyle.backends.fpga.boundary import HEADER
from condyle.backends.fpga.emit_project import filled
from condyle.text import Emitter


def emit_host(stream: Mapping[str, Any]) -> str:
    """NAME_host.h. stream: see `describe`."""
    name, e = stream["name"], Emitter()
    for function, row in stream["functions"].items():
        for what in ("task", "result"):
            words = [
                f"{{{w['low']}, {w['width']}, {w['frac']}, {w['entries'][0]}, {w['entries'][-1]}}}"
                for w in row[what]["words"]
            ]
            e.table(f"static const {name}_word {name}_{function}_{what}", words or ["{0, 0, 0, 0, 0}"], 4)
    with e.block(f"static const {name}_register {name}_identity[] = {{", "};"):
        known = [(key, row) for key, row in stream["registers"].items() if "value" in row]
        e(*(f'{{"{key}", 0x{row["address"]:02x}, 0x{row["value"]:08x}}},' for key, row in known))
    with e.block(f"static const {name}_function {name}_functions[] = {{", "};"):
        for function, row in stream["functions"].items():
            arrays, packets = (row["inputs"], row["outputs"]), (row["task"], row["result"])
            names = [", ".join(f"{key}[{n}]" for key, n in array.items()) for array in arrays]
            numbers = [row["code"], *(sum(array.values()) for array in arrays)]
            numbers += [*(packet["bytes"] for packet in packets), *(len(packet["words"]) for packet in packets)]
            words = f"{name}_{function}_task, {name}_{function}_result"
            e(f'{{"{function}", "{names[0]}", "{names[1]}", {", ".join(map(str, numbers))}, {words}}},')
    guard = f"{name}_host_h".upper()
    words = {"NAME": name, "TABLES": e.text(), "TAG": HEADER["tag"][1]}
    words |= {"BEAT": stream["axi"] // 8, "FLOAT32": int(stream["float32"])}
    head = f"/* Packets of the accelerator {name}, of model {stream['fingerprint']}: see {name}_stream.json. */\n"
    return f"{head}#ifndef {guard}\n#define {guard}\n{filled('host.h', words)}#endif\n"
