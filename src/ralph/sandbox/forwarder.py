"""Runs a program that has a network of its own, and passes its connections on to Ralph's proxy.

Usage: forwarder.py SOCKET PORTS PROGRAM [ARGUMENT…]. It listens on the program's own loopback: on port 3128 for
requests to the proxy, and on each of PORTS (numbers with commas) for the service that has this port on the machine.
Ralph starts it with `python -I -S`, so it imports nothing but the standard library.
"""

import os
import signal
import socket
import sys
import threading
from contextlib import suppress

PORT = 3128
CHUNK = 1 << 16


def main() -> int:
    """Start the program, pass connections on while it runs, and end as it ends."""
    path, ports, argv = sys.argv[1], sys.argv[2], sys.argv[3:]
    wanted = (PORT, *map(int, filter(None, ports.split(","))))
    listeners = [(found, port) for port in wanted if (found := _listen(port))]
    child = os.fork()
    if child == 0:
        try:
            os.execvp(argv[0], argv)
        except OSError as error:
            os.write(2, f"{argv[0]}: {error.strerror}\n".encode())
        os._exit(127)
    for number in (signal.SIGTERM, signal.SIGINT, signal.SIGHUP):
        signal.signal(number, signal.SIG_IGN)  # the program gets the signal too, and decides
    for listener, port in listeners:
        threading.Thread(target=_accept, args=(listener, path, port), daemon=True).start()
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    return code if code >= 0 else 128 - code


def _listen(port: int) -> socket.socket | None:
    """Listen on both loopback addresses, where there are two; None: the program may not use this port."""
    for family, address in ((socket.AF_INET6, "::"), (socket.AF_INET, "127.0.0.1")):
        with suppress(OSError, ValueError):
            return socket.create_server(
                (address, port), family=family, backlog=128, dualstack_ipv6=family is socket.AF_INET6
            )
    return None


def _accept(listener: socket.socket, path: str, port: int) -> None:
    while True:
        inner, _ = listener.accept()
        threading.Thread(target=_pass_on, args=(inner, path, port), daemon=True).start()


def _pass_on(inner: socket.socket, path: str, port: int) -> None:
    outer = socket.socket(socket.AF_UNIX)
    try:
        outer.connect(path)
        if port != PORT and not _opens_tunnel(outer, port):
            raise ConnectionRefusedError
    except OSError:
        inner.close()
        outer.close()
        return
    threading.Thread(target=_copy, args=(outer, inner), daemon=True).start()
    _copy(inner, outer)


def _opens_tunnel(outer: socket.socket, port: int) -> bool:
    outer.sendall(f"CONNECT localhost:{port} HTTP/1.1\r\n\r\n".encode())
    answer = b""
    while not answer.endswith(b"\r\n\r\n"):
        byte = outer.recv(1)  # what follows belongs to the service
        if not byte:
            return False
        answer += byte
    return b" 200 " in answer


def _copy(source: socket.socket, target: socket.socket) -> None:
    """Copy one direction of a connection to its end."""
    with suppress(OSError):
        while data := source.recv(CHUNK):
            target.sendall(data)
    with suppress(OSError):
        target.shutdown(socket.SHUT_WR)


if __name__ == "__main__":
    os._exit(main())  # threads that wait for data must not delay the end
