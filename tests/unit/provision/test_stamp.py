"""What Ralph noted beside a working copy counts only as this process wrote it."""

from __future__ import annotations

from pathlib import Path

from ralph.provision import stamp


def test_notes_that_somebody_rewrote_count_for_nothing(tmp_path: Path) -> None:
    places = ("a", "b")
    known = {"node_modules": {"": (0o40755, 0, 0, 0, 0, "")}}
    stamp.write_manifests(tmp_path, known)
    stamp.write(tmp_path, stamp.Stamp(places=places, found=("node_modules",)))
    assert stamp.read_manifests(tmp_path) == known
    assert stamp.read(tmp_path, places).found == ("node_modules",)

    for path in tmp_path.iterdir():
        path.write_bytes(path.read_bytes() + b" ")

    assert stamp.read_manifests(tmp_path) == {}
    assert stamp.read(tmp_path, places).found == ()
