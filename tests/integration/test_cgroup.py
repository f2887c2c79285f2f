"""Control groups, real ones: other runs of Ralph make and remove theirs at the same time."""

from __future__ import annotations

import os
import threading
from contextlib import suppress

import pytest

from ralph.process import cgroup


def test_a_group_that_another_run_removes_meanwhile_stops_nobody() -> None:
    home = cgroup._home()
    if home is None:
        pytest.skip("no control group can be made here")
    brands = [(os.getpid() << 12) + number for number in range(60)]
    names = [f"{home}/{cgroup.PREFIX}{brand:x}" for brand in brands]
    over, at_work = threading.Event(), [names[0]]

    def another_run() -> None:
        while not over.is_set():
            with suppress(OSError):
                os.rmdir(at_work[0])  # noqa: PTH106 - the faster, the likelier it is in time

    other = threading.Thread(target=another_run)
    other.start()
    try:
        for brand, name in zip(brands, names, strict=True):
            at_work[0] = name
            cgroup.made(brand)
    finally:
        over.set()
        other.join()
        for name in names:
            with suppress(OSError):
                os.rmdir(name)  # noqa: PTH106
