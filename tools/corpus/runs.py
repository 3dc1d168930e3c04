"""Every case in a process of its own, with limits: what it sent is kept when it crashes or takes too long."""

from __future__ import annotations

import multiprocessing
import signal
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, as_completed
from multiprocessing.connection import Connection

from tools.corpus.find import Case, How, Record

_CONTEXT = multiprocessing.get_context("forkserver")  # the server has imported what every case needs


def run_all(cases: Sequence[Case], how: How, jobs: int) -> Iterator[Record]:
    """The record of every case, as they are done."""
    _CONTEXT.set_forkserver_preload(["tools.corpus.child"])
    with ThreadPoolExecutor(jobs) as pool:
        futures = [pool.submit(run, case, how) for case in cases]
        try:
            for future in as_completed(futures):
                yield future.result()
        finally:
            pool.shutdown(wait=False, cancel_futures=True)


def run(case: Case, how: How) -> Record:
    """What one case sent; "status" or "compared" says where it crashed or ran out of time."""
    receive, send = _CONTEXT.Pipe(duplex=False)
    process = _CONTEXT.Process(target=_enter, args=(send, case, how), daemon=True)
    record: Record = {"file": case.name, "source": case.source, "format": case.format, "variant": case.variant}
    record["stage"] = "load"
    process.start()
    send.close()
    late = not _listen(receive, record, time.monotonic() + how.seconds)
    if late:
        process.kill()
    process.join()
    stage = str(record.pop("stage"))
    if stage != "done":
        what = "timeout" if late else "crash"
        field = "status" if stage == "load" else "other" if stage == "other" else "compared"
        record[field] = what
        record["where"] = f"{stage}: {f'over {how.seconds:g} s' if late else _ending(process.exitcode)}"
    return record


def _enter(send: Connection, case: Case, how: How) -> None:
    """In the child: the engines are imported there only."""
    from tools.corpus import child

    child.main(send, case, how)


def _listen(receive: Connection, record: Record, end: float) -> bool:
    """Takes parts until the other side closes its end; false when the time is over."""
    try:
        while receive.poll(max(0.0, end - time.monotonic())):
            record.update(receive.recv())
    except EOFError:
        return True
    return False


def _ending(code: int | None) -> str:
    return signal.Signals(-code).name if code is not None and code < 0 else f"exit status {code}"
