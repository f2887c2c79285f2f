"""Where the dashboard can be reached, and which requests come from its own pages."""

from __future__ import annotations

import ipaddress
import socket
from urllib.parse import urlsplit

from ralph.errors import RalphError
from ralph.frozen import Frozen

PORT = 4747


class Address(Frozen):
    """What a person asked for."""

    host: str = "127.0.0.1"
    port: int | None = None  # None: the usual one, or any that is free
    cert: str = ""
    key: str = ""
    proxy: str = ""  # the origin of the proxy in front of it, such as https://ralph.example.com

    @property
    def scheme(self) -> str:
        return "https" if self.cert else "http"

    @property
    def is_secure(self) -> bool:
        """Whether browsers reach it by https only."""
        return bool(self.cert) or self.proxy.startswith("https:")


def check(address: Address) -> None:
    """Refuse what would let others read along."""
    if bool(address.cert) != bool(address.key):
        raise RalphError("--cert and --key belong together.", remedy="Give both, or neither.")
    if address.proxy:
        parts = urlsplit(address.proxy)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.path not in ("", "/") or parts.query:
            raise RalphError(
                f"{address.proxy!r} is not the address of a proxy.",
                remedy="Give what the browser shows, without a path: --behind-proxy https://ralph.example.com",
            )
    if not is_loopback(address.host) and not address.cert and not address.proxy:
        raise RalphError(
            f"{address.host} can be reached from other machines, and without TLS everyone on the way can read the "
            "dashboard and act in your name.",
            remedy="Add --cert FILE --key FILE, or put a proxy with TLS in front and add --behind-proxy URL. "
            "Or leave --host out, and use an SSH tunnel: ssh -L 4747:127.0.0.1:4747 HOST",
        )


def check_certificate(address: Address) -> None:
    """Refuse a certificate that cannot be used, before anything listens."""
    if not address.cert:
        return
    import ssl

    try:
        ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER).load_cert_chain(address.cert, address.key, password=_no_password)
    except (OSError, ValueError) as error:
        why = getattr(error, "strerror", None) or getattr(error, "reason", None) or str(error)
        raise RalphError(
            f"The certificate {address.cert} cannot be used: {why}.",
            remedy="Give --cert the certificate and --key its key without a password, both as PEM files.",
        ) from None


def _no_password() -> str:
    raise ValueError("its key has a password")


def is_loopback(host: str) -> bool:
    """Return whether only this machine reaches an address; a name counts only if all that it stands for does."""
    try:
        found = {entry[4][0] for entry in socket.getaddrinfo(host, None, type=socket.SOCK_STREAM)}
        return bool(found) and all(ipaddress.ip_address(str(one).partition("%")[0]).is_loopback for one in found)
    except (OSError, ValueError, UnicodeError):
        return False


def listen(address: Address) -> socket.socket:
    """Return a listening socket; without a port of the person's, the usual one or the next that is free."""
    last: OSError | None = None
    ports = range(PORT, PORT + 20) if address.port is None else (address.port,)
    for port in (*ports, *((0,) if address.port is None else ())):
        try:
            return _bound(address.host, port)
        except (OSError, OverflowError) as error:
            last = error if isinstance(error, OSError) else OSError(str(error))
            if last.errno not in (None, 98, 48):  # not merely taken
                break
    why = (last.strerror or str(last)) if last else "no port is free"
    remedy = "Choose another port with --port." if address.port else "Choose another --host."
    raise RalphError(f"{address.host}:{address.port or PORT} cannot be used: {why}.", remedy=remedy)


def _bound(host: str, port: int) -> socket.socket:
    family, kind, protocol, _, where = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
    made = socket.socket(family, kind, protocol)
    try:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        made.bind(where)
        made.listen(256)
    except BaseException:
        made.close()
        raise
    return made


class Origins:
    """Which `Host` and `Origin` belong to this dashboard: with any other, a page of somebody else leads here."""

    def __init__(self, address: Address, port: int) -> None:
        self._port = port
        self._proxy = address.proxy.rstrip("/").lower()
        self._scheme = address.scheme
        self._default = 443 if address.cert else 80
        names = {address.host.lower(), "localhost"}
        if not is_loopback(address.host):
            names |= {socket.gethostname().lower(), socket.getfqdn().lower()}
        self._names = names
        self._is_local = is_loopback(address.host)

    @property
    def proxied(self) -> str:
        """The host that a proxy passes on; empty without a proxy."""
        return urlsplit(self._proxy).netloc

    def knows_host(self, host: str) -> bool:
        """Return whether a request meant this dashboard: only names that are ours, and literal addresses.

        A name of somebody else that leads here (DNS rebinding) is neither.
        """
        host = host.lower()
        if self._proxy and host == self.proxied:
            return True
        try:
            parts = urlsplit(f"//{host}")
            name, port = parts.hostname or "", parts.port or self._default
        except ValueError:
            return False
        if port != self._port or parts.username is not None or parts.path:
            return False
        return name in self._names or self._is_address(name)

    def knows_origin(self, origin: str, host: str) -> bool:
        """Return whether a request that changes something comes from a page of this dashboard."""
        origin, host = origin.lower(), host.lower()
        if self._proxy and (origin == self._proxy or host == self.proxied):
            return origin == self._proxy and self.knows_host(host)
        return origin == f"{self._scheme}://{host}"

    def _is_address(self, name: str) -> bool:
        try:
            found = ipaddress.ip_address(name)
        except ValueError:
            return False
        return found.is_loopback or not self._is_local
