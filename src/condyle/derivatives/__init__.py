"""Derivatives of functions, which are functions again: `FUNCTIONS["vjp_fd"]` and its kin."""

from condyle.derivatives.names import KINDS as KINDS
from condyle.derivatives.names import name_of as name_of
from condyle.derivatives.names import parsed as parsed
from condyle.derivatives.names import root as root
from condyle.derivatives.names import with_numbers as with_numbers
from condyle.functions import found_by
from condyle.specification import Function


@found_by
def _derived(name: str) -> Function | None:
    """What makes derivatives is imported when one is asked for."""
    if parsed(name) is None:
        return None
    from condyle.derivatives.derived import specification_of

    return specification_of(name)
