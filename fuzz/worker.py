"""The child of the runner: python -m fuzz.worker NAME SEED FIRST PIPE runs case after case until it is killed."""

from __future__ import annotations

import os
import sys
import warnings

from fuzz.runner import load, replay


def main(name: str, seed: int, first: int, pipe: int) -> None:
    """Writes the number of each case to the pipe before it runs; an exception ends the process."""
    load(name)
    warnings.simplefilter("ignore")
    while True:
        os.write(pipe, b"%d\n" % first)
        replay(name, seed, first)
        first += 1


if __name__ == "__main__":
    main(sys.argv[1], *(int(word) for word in sys.argv[2:5]))
