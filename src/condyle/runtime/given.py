"""What a caller hands in for an array: made one, or refused."""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from condyle.errors import DTypeError, ShapeError
from condyle.runtime.rows import Floats
from condyle.specification.ports import F_EXT


def refuse_lazy(method: str, name: str, arg: object) -> None:
    """DTypeError for a lazy array, which would be computed here, whole."""
    if hasattr(arg, "__dask_graph__"):
        raise DTypeError(
            f"{method}: {name} is a lazy array of Dask: condyle.interop.dask.wrap(dyn).{method} takes it by blocks; "
            f"{name}.compute() makes it an array"
        )


def as_array(method: str, name: str, arg: ArrayLike) -> Floats:
    """What is no array yet as one; DTypeError or ShapeError where it is nothing of the kind."""
    refuse_lazy(method, name, arg)
    if np.ma.is_masked(arg):
        raise DTypeError(f"{method}: {name} has masked entries: pass {name}.filled(...), or the states that are whole")
    try:
        array = np.asarray(arg)
    except MemoryError:
        raise
    except ValueError as error:
        raise ShapeError(f"{method}: {name} is not a regular array: {error}") from error
    except Exception as error:  # what lends itself as an array may refuse: a tensor with a gradient, a tracer
        of = type(arg).__module__.split(".")[0]
        why = f"condyle.interop.{of}.wrap(dyn).{method} takes it" if of in ("jax", "torch") else error
        raise DTypeError(f"{method}: {name} ({type(arg).__name__}) cannot be read as an array: {why}") from error
    if array.dtype.kind == "O" and array.ndim == 0:
        by_joint = f"; the entries of joint j are {name}[..., j.{'q' if name == 'q' else 'v'}_slice], j of robot.joints"
        cure = by_joint if isinstance(arg, dict) and name in ("q", "v", "a", "tau") else ""
        cure = ": robot.f_ext({...}) makes one from named frames" if name == F_EXT.name else cure
        raise DTypeError(f"{method}: {name} is {type(arg).__name__}, expected an array{cure}")
    return array
