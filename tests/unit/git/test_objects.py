"""Objects that Ralph writes itself."""

from __future__ import annotations

import os
from pathlib import Path

import pytest

from ralph.git.objects import loose, write_object
from tests.unit.conftest import full_disk


def test_an_object_that_does_not_fit_on_the_disk_is_not_written_in_part(tmp_path: Path) -> None:
    with full_disk(100), pytest.raises(OSError, match="too large"):
        write_object(tmp_path, "blob", os.urandom(1000))
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]
    assert loose(tmp_path, write_object(tmp_path, "blob", b"it fits")).is_file()
