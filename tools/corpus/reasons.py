"""A refusal as a class of refusals: the same words for every file, without its names and numbers."""

from __future__ import annotations

import re

from condyle import ModelError

_QUOTED = re.compile(r"(?<!\w)('[^']*'|\"[^\"]*\")(?!\w)")
_PLACE = re.compile(r" \((/[^)]*:)?(line )?\d+\)| \(/[^)]*\)")
_SEVERAL = re.compile(r"(…|<[\w:]+>)(, (…|<[\w:]+>))+( \.\.\.| and \d+ more)?")
_NUMBER = re.compile(r"(?<![\w<])[-+]?\d[\d_.]*(e[-+]?\d+)?")
LONGEST = 160


def message(error: Exception, file: str) -> str:
    """What the error says first: of a ModelError the first finding that is no note."""
    if isinstance(error, ModelError):
        worst = [finding for finding in error.findings if finding.severity == "error"] or error.findings
        return worst[0].message
    return str(error).removeprefix(f"{file}: ")


def reason(error: Exception, file: str) -> str:
    """Its class: "'a' has mass -1.0" becomes "… has mass N"."""
    text = _PLACE.sub("", " ".join(message(error, file).split()))
    return f"{type(error).__name__}: {_NUMBER.sub('N', _SEVERAL.sub('…', _QUOTED.sub('…', text)))}"[:LONGEST]
