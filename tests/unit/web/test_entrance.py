"""Who is let in: links, cookies, hosts and origins."""

from __future__ import annotations

from pathlib import Path

import pytest

from ralph.errors import RalphError
from ralph.stores import seal
from ralph.web.address import Address, Origins, check, is_loopback, listen
from ralph.web.session import LASTS, MAX_LINKS, Doorkeeper


@pytest.fixture(autouse=True)
def own_key(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))


def test_a_link_lets_one_browser_in_once() -> None:
    door = Doorkeeper("project")
    link = door.new_link()
    assert door.use("") == "" and door.use(link[:-1]) == "" and door.use(f"{link}x") == ""
    cookie = door.use(link)
    assert door.knows(cookie)
    assert door.use(link) == ""


def test_links_that_nobody_used_do_not_pile_up() -> None:
    door = Doorkeeper("project")
    links = [door.new_link() for _ in range(MAX_LINKS + 1)]
    assert door.use(links[0]) == "" and door.use(links[-1])


def test_a_cookie_is_good_after_a_restart_but_not_for_other_projects_nor_for_ever() -> None:
    now = [1_000_000.0]
    door = Doorkeeper("project", lambda: now[0])
    cookie = door.use(door.new_link())
    assert Doorkeeper("project", lambda: now[0]).knows(cookie)
    assert not Doorkeeper("other", lambda: now[0]).knows(cookie)
    now[0] += LASTS - 1
    assert door.knows(cookie)
    now[0] += 100
    assert not door.knows(cookie)


def test_a_forged_cookie_is_refused() -> None:
    door = Doorkeeper("project")
    good = door.use(door.new_link())
    begun, _, made = good.rpartition(".")
    for bad in ("", ".", "..", good[:-1], f"{begun}.{'0' * len(made)}", f"9{good}", "é.é.é", f"{good}{'x' * 5000}"):
        assert not door.knows(bad), bad
    assert not door.knows(f"{begun}.{seal.seal('something else', begun.encode())}")


@pytest.mark.parametrize("host", ["0.0.0.0", "192.0.2.1", "::", "no.such.host.invalid"])
def test_an_address_that_others_reach_needs_tls_or_a_proxy(host: str) -> None:
    assert not is_loopback(host)
    with pytest.raises(RalphError, match="without TLS") as refused:
        check(Address(host=host))
    assert "--behind-proxy" in refused.value.remedy
    check(Address(host=host, cert="c", key="k"))
    check(Address(host=host, proxy="https://ralph.example.com"))


def test_loopback_needs_nothing_and_half_a_certificate_is_none() -> None:
    for host in ("127.0.0.1", "localhost", "127.1.2.3"):
        check(Address(host=host))
    with pytest.raises(RalphError, match="belong together"):
        check(Address(cert="c"))
    for proxy in ("ralph.example.com", "https://", "ftp://x", "https://x/path"):
        with pytest.raises(RalphError, match="not the address of a proxy"):
            check(Address(proxy=proxy))


def test_only_our_own_names_and_addresses_are_hosts() -> None:
    local = Origins(Address(), 4747)
    assert all(map(local.knows_host, ("127.0.0.1:4747", "localhost:4747", "LOCALHOST:4747", "[::1]:4747")))
    bad = ("", "127.0.0.1", "127.0.0.1:80", "evil.example:4747", "192.0.2.1:4747", "localhost:4747@evil.example:4747",
           "localhost.evil.example:4747", "127.0.0.1:x", "[::1", "localhost:4747/x")  # fmt: skip
    assert [host for host in bad if local.knows_host(host)] == []


def test_behind_a_proxy_its_name_is_ours_too() -> None:
    found = Origins(Address(proxy="https://ralph.example.com"), 4747)
    assert found.knows_host("ralph.example.com") and found.knows_host("127.0.0.1:4747")
    assert not found.knows_host("ralph.example.com:4747") and not found.knows_host("evil.example")
    assert found.knows_origin("https://ralph.example.com", "ralph.example.com")
    assert found.knows_origin("https://ralph.example.com", "127.0.0.1:4747")
    assert not found.knows_origin("http://ralph.example.com", "ralph.example.com")


def test_only_a_page_of_the_dashboard_is_an_origin() -> None:
    found = Origins(Address(), 4747)
    assert found.knows_origin("http://127.0.0.1:4747", "127.0.0.1:4747")
    for bad in ("", "null", "http://127.0.0.1:3000", "https://127.0.0.1:4747", "http://localhost:4747", "http://evil"):
        assert not found.knows_origin(bad, "127.0.0.1:4747"), bad


def test_a_taken_port_is_an_error_if_it_was_asked_for_and_another_is_used_if_not() -> None:
    with listen(Address()) as first, listen(Address()) as second:
        ports = {one.getsockname()[1] for one in (first, second)}
        assert len(ports) == 2
        with pytest.raises(RalphError, match="cannot be used") as refused:
            listen(Address(port=first.getsockname()[1]))
        assert "--port" in refused.value.remedy
