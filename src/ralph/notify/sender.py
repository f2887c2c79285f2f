"""A program of its own that sends one message over the network, so that nothing a server does can reach the run.

It reads an order as JSON from its standard input, and prints the answer as JSON. Neither the address nor any part of
the answer's text is ever printed: both may contain secrets.
"""

from __future__ import annotations

import base64
import http.client
import json
import socket
import ssl
import sys
from collections.abc import Callable
from http import HTTPStatus
from urllib import request
from urllib.error import URLError
from urllib.parse import quote, unquote, urlsplit, urlunsplit

Json = dict[str, object]
PATIENCE = 30.0  # of one operation; whoever started this program ends it earlier
AGENT = "ralph"


class NotSentError(Exception):
    """Why a message was not delivered, in words that contain no secret."""


def main() -> None:
    """Send the message of standard input."""
    try:
        said = deliver(json.loads(sys.stdin.buffer.read()))
        answer: Json = {"ok": True, "said": said}
    except NotSentError as error:
        answer = {"ok": False, "said": str(error)}
    sys.stdout.write(json.dumps(answer) + "\n")


def deliver(order: Json) -> str:
    """Send what an order says; return the answer in a few words."""
    url, message = str(order["url"]), order["message"]
    assert isinstance(message, dict)
    return WAYS[str(order["to"])](url, message)


def _webhook(url: str, message: Json) -> str:
    return _post(url, message)


def _ntfy(url: str, message: Json) -> str:
    """Publish as JSON, which needs no encoding of headers: the topic then goes into the message."""
    parts = urlsplit(url)
    before, _, topic = parts.path.rstrip("/").rpartition("/")
    if not topic:
        raise NotSentError("the address has no topic, as in https://ntfy.sh/TOPIC")
    address = urlunsplit((parts.scheme, parts.netloc, f"{before}/", parts.query, ""))
    return _post(address, {"topic": unquote(topic), **message})


def _apprise(url: str, message: Json) -> str:
    try:
        import apprise
    except ImportError:
        raise NotSentError("Apprise is not installed") from None
    outlets = apprise.Apprise()
    if not outlets.add(url):
        raise NotSentError("Apprise does not know such an address")
    if not outlets.notify(title=str(message["title"]), body=str(message["text"])):
        raise NotSentError("Apprise could not deliver it")
    return "delivered by Apprise"


WAYS: dict[str, Callable[[str, Json], str]] = {"webhook": _webhook, "ntfy": _ntfy, "apprise": _apprise}


def _post(url: str, body: Json) -> str:
    """Post JSON. A redirect is not followed, and of the answer nothing but its status is read."""
    try:
        with _opener().open(_request(url, body), timeout=PATIENCE) as answer:
            code = int(answer.status)
    except (URLError, OSError, http.client.HTTPException, ValueError) as error:
        raise NotSentError(_in_words(error)) from None
    said = f"HTTP {code}{_phrase(code)}"
    if 300 <= code < 400:
        raise NotSentError(f"{said}: it redirects, which Ralph does not follow; configure the final address")
    if not 200 <= code < 300:
        raise NotSentError(said)
    return said


def _opener() -> request.OpenerDirector:
    """Return what opens http and https, through the person's proxy, and follows nothing."""
    opener = request.OpenerDirector()
    for handler in (request.ProxyHandler(), request.HTTPHandler(), request.HTTPSHandler(), request.UnknownHandler()):
        opener.add_handler(handler)
    return opener


def _request(url: str, body: Json) -> request.Request:
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise NotSentError("the address does not begin with https:// or http://")
    user, found, host = parts.netloc.rpartition("@")
    path, query = quote(parts.path, safe="/%:@!$&'()*+,;=~"), quote(parts.query, safe="/?%:@!$&'()*+,;=~")
    headers = {"Content-Type": "application/json", "User-Agent": AGENT}
    if found:
        name, _, password = user.partition(":")
        credentials = base64.b64encode(f"{unquote(name)}:{unquote(password)}".encode()).decode()
        headers["Authorization"] = f"Basic {credentials}"
    address = urlunsplit((parts.scheme, host, path, query, ""))
    return request.Request(address, json.dumps(body).encode(), headers, method="POST")


def _in_words(error: Exception) -> str:
    cause = error.reason if isinstance(error, URLError) and isinstance(error.reason, Exception) else error
    match cause:
        case ssl.SSLCertVerificationError():
            return "its TLS certificate is not valid"
        case ssl.SSLError():
            return "it does not speak TLS"
        case socket.gaierror():
            return "its host was not found"
        case TimeoutError():
            return "it did not answer in time"
        case http.client.RemoteDisconnected():
            return "it closed the connection without an answer"
        case OSError() if cause.strerror:
            return f"{cause.strerror[0].lower()}{cause.strerror[1:]}"
        case http.client.HTTPException():
            return "its answer is not HTTP"
        case _:
            return "the address is not valid"


def _phrase(code: int) -> str:
    try:
        return f" {HTTPStatus(code).phrase}"
    except ValueError:
        return ""


if __name__ == "__main__":
    main()
