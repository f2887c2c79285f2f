"""Objects that Ralph writes itself."""

from __future__ import annotations

import os
import resource
import signal
from pathlib import Path

import pytest

from ralph.git.objects import loose, write_object


def test_an_object_that_does_not_fit_on_the_disk_is_not_written_in_part(tmp_path: Path) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    ignored = signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, hard))
    try:
        with pytest.raises(OSError, match="too large"):
            write_object(tmp_path, "blob", os.urandom(1000))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        signal.signal(signal.SIGXFSZ, ignored)
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]
    assert loose(tmp_path, write_object(tmp_path, "blob", b"it fits")).is_file()
