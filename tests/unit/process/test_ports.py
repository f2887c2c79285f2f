"""Free ports are free, and whoever holds one is named."""

from __future__ import annotations

import os
import socket

from ralph.process.ports import free_port, holder


def test_a_free_port_can_be_listened_at_and_is_given_once() -> None:
    ports = [free_port() for _ in range(20)]

    assert len(set(ports)) == 20
    for port in ports:
        assert holder(port) is None
        socket.create_server(("127.0.0.1", port)).close()


def test_who_holds_a_port_is_named() -> None:
    with socket.create_server(("127.0.0.1", 0)) as server:
        found = holder(server.getsockname()[1])

    assert found is not None
    assert found.pid == os.getpid()
    assert str(found) == f"{found.name} (process {os.getpid()})"
