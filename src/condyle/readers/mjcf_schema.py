"""How this version of MuJoCo saves a compiled model: the tables in its own header files, nothing of its code."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from condyle.errors import UnsupportedError

_WIDTHS = {"mjtNum": "<f8", "int": "<i4", "float": "<f4", "mjtByte": "|u1", "mjtBool": "|u1", "char": "|u1"}
_FORMS = {**_WIDTHS, "mjtSize": "<i8"}
_MACRO = re.compile(r"#define\s+(MJMODEL_\w+)[^\S\n]*\\\n((?:.*\\\n)*.*)")
_ROW = re.compile(r"\b(X[A-Z]*)\s*\(([^()]*(?:\([^()]*\)[^()]*)*)\)|\b(MJMODEL_POINTERS_\w+)")
_FIELD = re.compile(r"^\s*(mjtNum|int|float)\s+(\w+)(?:\[(\w+)\])?;", re.MULTILINE)


@dataclass(frozen=True, slots=True)
class Row:
    """An array of the saved model: name, NumPy type, the count of its rows, what its columns are the product of."""

    name: str
    form: str
    rows: str
    columns: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Schema:
    """Sizes in the order of the file, arrays in that order, byte offsets of options, numbers with names."""

    sizes: tuple[str, ...]
    arrays: tuple[Row, ...]
    options: Mapping[str, int]
    constants: Mapping[str, int]


@lru_cache(maxsize=8)
def schema_of(folder: Path) -> Schema:
    """The schema that the header files in `folder` say; UnsupportedError if they are of another form."""
    try:
        texts = {path.name: path.read_text(encoding="utf-8") for path in sorted((folder).glob("mj*.h"))}
        macros = {match[1]: match[2] for match in _MACRO.finditer(texts["mjxmacro.h"])}
        sizes = tuple(re.findall(r"\bX\(\s*(\w+)\s*\)", macros["MJMODEL_SIZES"]))
        struct = re.search(r"struct mjOption_ \{(.*?)\n\} mjOption;", texts["mjmodel.h"], re.DOTALL)
        constants = {
            match[1]: int(match[2])
            for text in texts.values()
            for match in re.finditer(r"#define (mj\w+)\s+(\d+)\b", text)
        }
        bit = re.search(r"mjDSBL_GRAVITY\s*=\s*1\s*<<\s*(\d+)", "".join(texts.values()))
        if struct is None or bit is None:
            raise KeyError("mjOption")
        if not re.search(r"X\s*\(\s*mjtNum,\s*actuator_armature,", texts["mjxmacro.h"]):
            raise KeyError("actuator_armature")  # older than 4
        constants["mjDSBL_GRAVITY"] = 1 << int(bit.group(1))
        return Schema(sizes, tuple(_rows("MJMODEL_POINTERS", macros)), _offsets(struct.group(1), constants), constants)
    except (OSError, KeyError, ValueError) as error:
        raise UnsupportedError(
            f"this version of MuJoCo describes its models in a way that is not known here ({error!r}): install mujoco 4"
        ) from None


def _rows(macro: str, macros: Mapping[str, str]) -> list[Row]:
    rows: list[Row] = []
    for match in _ROW.finditer(macros[macro]):
        if match[3]:
            rows += _rows(match[3], macros)
        else:
            kind, name, count, columns = (word.strip() for word in match[2].split(","))
            factors = re.findall(r"\w+", columns.replace("MJ_M", ""))
            rows.append(Row(name, _FORMS[kind], count, tuple(factors)))
    return rows


def _offsets(struct: str, constants: Mapping[str, int]) -> dict[str, int]:
    """Where each option stands in its struct; doubles come first, so that nothing is padded."""
    offsets: dict[str, int] = {}
    at = 0
    for kind, name, count in _FIELD.findall(struct):
        width = 8 if kind == "mjtNum" else 4
        if at % width:
            raise ValueError(f"mjOption.{name}")
        offsets[name] = at
        at += width * (1 if not count else int(count) if count.isdigit() else constants[count])
    return offsets
