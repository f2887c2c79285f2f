"""Which paths a configuration or a link may make writable."""

from __future__ import annotations

from pathlib import Path

import pytest

from ralph.errors import RalphError
from ralph.sandbox.paths import leads_astray, writable


@pytest.mark.parametrize("text", ["~/.cache/mine", "/srv/cache", "~/data"])
def test_a_folder_with_nothing_else_in_it_is_fine(tmp_path: Path, text: str) -> None:
    (found,) = writable("sandbox.caches", [text], tmp_path, ())

    assert found == (tmp_path / text[2:] if text.startswith("~/") else Path(text))


@pytest.mark.parametrize(
    "text", ["/", "~/", "~/.ssh", "~/.ssh/keys", "~/.config", "~/.bashrc", "~/.local/bin", "~/kept/x", "relative"]
)
def test_what_reaches_too_far_is_refused_with_its_place(tmp_path: Path, text: str) -> None:
    with pytest.raises(RalphError, match=r"sandbox\.caches\[1\]: .* cannot be writable"):
        writable("sandbox.caches", ["~/fine", text], tmp_path, (tmp_path / "kept",))


def test_state_that_is_a_link_to_a_start_up_file_leads_astray(tmp_path: Path) -> None:
    (tmp_path / ".bashrc").touch()
    (tmp_path / "dotfiles").mkdir()
    (tmp_path / "evil").symlink_to(tmp_path / ".bashrc")
    (tmp_path / ".claude").symlink_to(tmp_path / "dotfiles")

    assert leads_astray(tmp_path / "evil", tmp_path)
    assert not leads_astray(tmp_path / ".claude", tmp_path), "people keep their settings elsewhere"
