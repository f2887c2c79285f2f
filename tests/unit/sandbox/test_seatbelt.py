"""The profile for macOS, as text: it has not been tried on a Mac."""

from __future__ import annotations

from pathlib import Path

from ralph.sandbox.permissions import Network, Permissions
from ralph.sandbox.seatbelt import profile


def test_the_profile_says_what_may_be_written_read_and_reached() -> None:
    given = Permissions(
        writable=(Path("/Users/me/.cache/ralph/copy"),),
        read_only=(Path("/Users/me/.cache/ralph/copy/.git"),),
        hidden=(Path("/Users/me/.cache/ralph"), Path('/Users/me/.s"sh')),
        shown=(Path("/Users/me"),),
        temporary=Path("/private/tmp/own"),
        network=Network(is_open=False, port=4000, has_hosts=True, services=(3000,)),
    )

    rules = profile(given).splitlines()

    assert rules[:3] == ["(version 1)", "(allow default)", "(deny file-write*)"]
    last = [rules.index(rule) for rule in (
        '(allow file-read* (subpath "/Users/me"))',
        '(deny file-read* file-write* (subpath "/Users/me/.cache/ralph"))',
        '(allow file-read* file-write* (subpath "/Users/me/.cache/ralph/copy"))',
        '(deny file-write* (subpath "/Users/me/.cache/ralph/copy/.git"))',
        '(allow file-read* file-write* (subpath "/private/tmp/own"))',
        "(deny network*)",
        '(allow network-outbound (remote ip "localhost:4000"))',
        '(allow network-outbound (remote ip "localhost:3000"))',
    )]  # fmt: skip
    assert last == sorted(last), "the last rule that matches decides"
    assert '(deny file-read* file-write* (subpath "/Users/me/.s\\"sh"))' in rules


def test_an_open_network_has_no_rules() -> None:
    assert "network" not in profile(Permissions(writable=()))
