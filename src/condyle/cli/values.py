"""Values of options, from the text that was typed; argparse says which option a message is about."""

from __future__ import annotations

import argparse
import math


def gravity(text: str) -> tuple[float, ...]:
    """Three numbers X,Y,Z [m/s^2]."""
    numbers = tuple(_number(word) for word in text.split(","))
    if len(numbers) != 3 or not all(map(math.isfinite, numbers)):
        raise argparse.ArgumentTypeError(f"{text!r} is not X,Y,Z, three numbers such as 0,0,-9.81")
    return numbers


def snap(text: str) -> float:
    """An angle [rad]."""
    angle = _number(text)
    if not 0.0 <= angle < 0.1:
        raise argparse.ArgumentTypeError(f"{text!r} is not an angle of 0 to 0.1 rad")
    return angle


def seconds(text: str) -> float:
    """A number of seconds, more than 0."""
    found = _number(text)
    if not 0.0 < found < math.inf:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of seconds such as 60")
    return found


def size(text: str) -> int:
    """A number of bytes, with K, M or G."""
    scale = {"K": 10, "M": 20, "G": 30}.get(text[-1:].upper(), 0)
    number = text[:-1] if scale else text
    if not number.isdecimal() or not 0 < int(number) << scale < 1 << 50:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number of bytes such as 512M or 4G")
    return int(number) << scale


def _number(text: str) -> float:
    """NaN where it is none."""
    try:
        return float(text)
    except ValueError:
        return math.nan


def lock(text: str) -> tuple[str, float]:
    """A joint and the value that it is fixed at: JOINT=VALUE."""
    name, separator, value = text.rpartition("=")
    try:
        if not separator or not name:
            raise ValueError
        return name, float(value)
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is not JOINT=VALUE such as finger_joint=0.0") from None
