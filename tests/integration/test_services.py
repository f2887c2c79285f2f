"""Services are up and fresh when UI work is checked, a person's own are left alone, and ours always end."""

from __future__ import annotations

import asyncio
import json
import os
import shlex
import shutil
import signal
import socket
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ralph.config import Service
from ralph.process.redaction import Secrets
from ralph.verify.ready import is_ready
from ralph.verify.services import ServiceFailure, Services
from tests.conftest import wait_for
from tests.integration.conftest import FOREVER, alive, in_the_background, numbers, until

pytestmark = pytest.mark.usefixtures("nobody_left")

SERVER = f"""
import os, socket, ssl, subprocess, sys
port, answer, *rest = sys.argv[1:]
server = socket.create_server(("127.0.0.1", int(port)))
if "tls" in rest:
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain("cert.pem", "key.pem")
    server = context.wrap_socket(server, server_side=True)
if "child" in rest:
    child = subprocess.Popen(["sleep", "{FOREVER}"], start_new_session=True)
    open("children", "a").write(f"{{child.pid}}\\n")
print("serving as", os.getpid(), flush=True)
while True:
    try:
        client, _ = server.accept()
        with client:
            request = client.recv(10_000)
            open("requests", "ab").write(request.split(b"\\r\\n")[0] + b"\\n")
            body = str(os.getpid()).encode()
            head = f"HTTP/1.1 {{answer}}\\r\\nLocation: /there\\r\\nContent-Length: {{len(body)}}\\r\\n\\r\\n"
            client.sendall((head if answer[0].isdigit() else answer).encode() + body)
    except OSError:
        pass
"""
"""A small HTTP server that always gives the same answer, with its own process number as the body."""


class Web:
    """A web service of a project: its port, its command, its configuration."""

    def __init__(self, folder: Path, answer: str = "200 OK", *rest: str) -> None:
        self.folder = folder
        with socket.create_server(("127.0.0.1", 0)) as free:
            self.port = free.getsockname()[1]
        self.url = f"http://127.0.0.1:{self.port}/"
        (folder / "server.py").write_text(SERVER)
        self.argv = (sys.executable, "server.py", str(self.port), answer, *rest)
        self.command = f"exec {shlex.join(self.argv)}"

    def service(self, **more: Any) -> Service:
        return Service(**{"name": "web", "start": self.command, "ready": self.url, **more})

    def pid(self) -> int:
        """Who answers."""
        with urllib.request.urlopen(self.url, timeout=10) as response:
            return int(response.read())

    @contextmanager
    def started_by_a_person(self) -> Iterator[int]:
        with in_the_background(*self.argv, cwd=self.folder) as process:
            wait_for(lambda: asyncio.run(is_ready(self.url)), what="the person's server is up")
            yield process.pid


@pytest.fixture
def web(tmp_path: Path) -> Web:
    return Web(tmp_path)


class Told:
    """What a person would be told of services."""

    def __init__(self) -> None:
        self.ready: list[str] = []
        self.notes: list[str] = []

    def services(self, folder: Path, *services: Service) -> Services:
        return Services(
            services=services,
            cwd=folder,
            logs=folder,
            owner="test",
            secrets=Secrets.of(os.environ),
            started=lambda service, seconds: self.ready.append(service.name),
            noted=self.notes.append,
        )


def failure(folder: Path, *services: Service) -> str:
    """Why the services are not up."""

    async def prepare() -> str:
        async with Told().services(folder, *services) as running:
            with pytest.raises(ServiceFailure) as caught:
                await running.prepare()
        return str(caught.value)

    return asyncio.run(prepare())


def beside(web: Web, service: Service, checks: int = 2) -> dict[str, Any]:
    """Check in a process of its own, as a run does, with servers around that are not its children."""
    code = f"""
import asyncio, json, sys
from pathlib import Path
from ralph.config import Service
from ralph.process import tree
from ralph.process.redaction import Secrets
from ralph.verify.services import ServiceFailure, Services
async def main():
    tree.adopt_orphans()
    told = {{"ready": 0, "problem": ""}}
    def ready(*_):
        told["ready"] += 1
    service = Service.read(json.loads(sys.argv[1]))
    try:
        here = Path.cwd()
        async with Services((service,), cwd=here, logs=here, owner="t", started=ready, secrets=Secrets()) as services:
            for _ in range({checks}):
                await services.prepare()
                services.check_alive()
    except ServiceFailure as failure:
        told["problem"] = str(failure)
    print(json.dumps(told))
asyncio.run(main())
"""
    done = subprocess.run(
        [sys.executable, "-c", code, json.dumps(service.document())],
        cwd=web.folder,
        capture_output=True,
        text=True,
        check=True,
        timeout=60,
    )
    return dict(json.loads(done.stdout))


# ours


def test_a_service_is_started_and_ready(web: Web) -> None:
    told = Told()

    async def check() -> int:
        async with told.services(web.folder, web.service()) as services:
            await services.prepare()
            services.check_alive()
            return web.pid()

    pid = asyncio.run(check())

    assert told.ready == ["web"]
    assert not alive(pid), "it ended with the block"
    assert f"serving as {pid}" in (web.folder / "service-web-1.log").read_text()


def test_a_service_is_fresh_before_each_check(web: Web) -> None:
    told = Told()

    async def check() -> tuple[int, int]:
        async with told.services(web.folder, web.service()) as services:
            await services.prepare()
            first = web.pid()
            await services.prepare()
            assert not alive(first)
            return first, web.pid()

    first, second = asyncio.run(check())

    assert first != second
    assert told.ready == ["web", "web"]


def test_a_service_that_is_to_keep_running_is_not_started_anew(web: Web) -> None:
    async def check() -> tuple[int, int]:
        async with Told().services(web.folder, web.service(restart_before_verify=False)) as services:
            await services.prepare()
            first = web.pid()
            await services.prepare()
            return first, web.pid()

    first, second = asyncio.run(check())

    assert first == second
    assert not alive(first)


def test_a_service_that_is_to_keep_running_and_died_is_started_again(web: Web) -> None:
    told = Told()

    async def check() -> tuple[int, int]:
        async with told.services(web.folder, web.service(restart_before_verify=False)) as services:
            await services.prepare()
            first = web.pid()
            os.kill(first, signal.SIGKILL)
            await until(lambda: _noticed(services))
            await services.prepare()
            services.check_alive()
            return first, web.pid()

    first, second = asyncio.run(check())

    assert first != second
    assert told.notes == ["The service 'web' died after its last check (signal 9). Ralph starts it again."]


def test_several_services_are_all_up_and_all_ended(tmp_path: Path) -> None:
    one, two = Web(tmp_path), Web(tmp_path)
    told = Told()

    async def check() -> list[int]:
        wanted = one.service(name="one"), two.service(name="two")
        async with told.services(tmp_path, *wanted) as services:
            await services.prepare()
            return [one.pid(), two.pid()]

    pids = asyncio.run(check())

    assert told.ready == ["one", "two"]
    assert not [pid for pid in pids if alive(pid)]


def test_what_a_service_started_ends_with_it(tmp_path: Path) -> None:
    web = Web(tmp_path, "200 OK", "child")

    async def check() -> None:
        async with Told().services(tmp_path, web.service(start=f"({web.command}) & wait")) as services:
            await services.prepare()
            await services.prepare()
            first, second = numbers((tmp_path / "children").read_text())
            assert not alive(first)
            assert alive(second)

    asyncio.run(check())

    assert not [pid for pid in numbers((tmp_path / "children").read_text()) if alive(pid)]
    assert not asyncio.run(is_ready(web.url))


def test_services_end_also_when_a_check_goes_wrong(web: Web) -> None:
    seen: list[int] = []

    async def check() -> None:
        async with Told().services(web.folder, web.service()) as services:
            await services.prepare()
            seen.append(web.pid())
            raise KeyError("something unforeseen")

    with pytest.raises(KeyError):
        asyncio.run(check())

    assert not alive(seen[0])


def test_services_end_also_when_a_check_is_cancelled(web: Web) -> None:
    seen: list[int] = []

    async def check() -> None:
        async with Told().services(web.folder, web.service()) as services:
            await services.prepare()
            seen.append(web.pid())
            await asyncio.sleep(FOREVER)

    async def cancelled() -> None:
        task = asyncio.create_task(check())
        await until(lambda: seen)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(cancelled())

    assert not alive(seen[0])


def test_a_secret_a_service_prints_is_not_in_its_log(web: Web, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SESSION_SECRET", "s3ssion-0123456789")

    text = failure(web.folder, web.service(start='echo "error: $SESSION_SECRET is too old"; exit 1'))

    assert "error: [secret] is too old" in text
    assert "s3ssion" not in (web.folder / "service-web-1.log").read_text()


# trouble


def test_a_service_that_crashes_at_its_start_is_told_with_its_last_words(web: Web) -> None:
    text = failure(web.folder, web.service(start="echo starting; echo 'error: no database' >&2; exit 3"))

    assert text.startswith("The service 'web' ended with exit code 3 before it was ready.")
    assert text.endswith("starting\nerror: no database")


def test_a_service_whose_command_is_missing_is_told(web: Web) -> None:
    text = failure(web.folder, web.service(start="no-such-server --port 80"))

    assert "exit code 127" in text
    assert "no-such-server" in text


def test_a_service_that_is_never_ready_is_told_and_ended(web: Web) -> None:
    command = f"echo $$; echo still compiling; exec sleep {FOREVER}"
    began = time.monotonic()

    text = failure(web.folder, web.service(start=command, ready_timeout=0.7))

    assert f"did not respond at {web.url} within 0.7 s" in text
    assert "still compiling" in text
    assert time.monotonic() - began < 20
    assert not alive(numbers((web.folder / "service-web-1.log").read_text())[0])


def test_a_service_that_died_during_the_checks_is_noticed(web: Web) -> None:
    async def check() -> str:
        async with Told().services(web.folder, web.service()) as services:
            await services.prepare()
            services.check_alive()
            os.kill(web.pid(), signal.SIGKILL)
            await until(lambda: _noticed(services))
            return _noticed(services)

    text = asyncio.run(check())

    assert text.startswith("The service 'web' died during the checks (signal 9).")
    assert "serving as" in text


def _noticed(services: Services) -> str:
    try:
        services.check_alive()
    except ServiceFailure as failure:
        return str(failure)
    return ""


# whose port it is


def test_a_port_that_somebody_else_holds_is_said_and_by_which_process(web: Web, tmp_path: Path) -> None:
    wrong = Web(tmp_path, "404 Not Found")
    with in_the_background(*wrong.argv, cwd=tmp_path) as process:
        wait_for(lambda: _listens(wrong.port))

        text = failure(tmp_path, wrong.service())

    assert text.startswith("The service 'web' cannot start: python")
    assert text.endswith(f"port {wrong.port}.")
    assert f"(process {process.pid})" in text
    assert not (tmp_path / "service-web-1.log").exists(), "nothing was started"


def test_where_only_the_copy_s_own_service_may_answer_a_person_s_is_not_taken_for_it(web: Web) -> None:
    """It serves other files, and an agent could have left one there that is always fine."""

    async def check() -> str:
        async with replace(Told().services(web.folder, web.service()), borrows=False) as services:
            with pytest.raises(ServiceFailure) as failed:
                await services.prepare()
            return str(failed.value)

    with web.started_by_a_person() as pid:
        assert f"is using port {web.port}" in (text := asyncio.run(check())) and f"python (process {pid})" in text


def test_whose_service_is_used_is_said_once(web: Web) -> None:
    told = Told()

    async def check() -> None:
        async with told.services(web.folder, web.service()) as services:
            await services.prepare()
            await services.prepare()

    with web.started_by_a_person() as pid:
        asyncio.run(check())

    assert len(told.notes) == 1
    assert told.notes[0].startswith(f"The service 'web' is already running at {web.url}, from python")
    assert f"(process {pid}). Ralph uses it as it is" in told.notes[0]


def test_services_that_ask_for_a_port_get_a_free_one_each_and_know_one_another_s(tmp_path: Path) -> None:
    (tmp_path / "server.py").write_text(SERVER)
    start = (
        f"echo $RALPH_PORT $RALPH_PORT_ONE $RALPH_PORT_THE_OTHER; exec {sys.executable} server.py $RALPH_PORT '200 OK'"
    )
    wanted = [Service(name=name, start=start, ready="http://127.0.0.1:${RALPH_PORT}/") for name in ("one", "the-other")]

    async def check() -> tuple[dict[str, str], list[str]]:
        async with Told().services(tmp_path, *wanted) as services:
            await services.prepare()
            services.check_alive()
            return services.variables, [service.ready for service in services.services]

    variables, ready = asyncio.run(check())

    one, other = variables["RALPH_PORT_ONE"], variables["RALPH_PORT_THE_OTHER"]
    assert one != other
    assert variables["RALPH_PORT"] == one
    assert ready == [f"http://127.0.0.1:{one}/", f"http://127.0.0.1:{other}/"]
    said = [(tmp_path / f"service-{name}.log").read_text().splitlines()[0] for name in ("one-1", "the-other-2")]
    assert said == [f"{one} {one} {other}", f"{other} {one} {other}"]


# a person's


def test_a_service_without_a_start_command_is_a_person_s_to_start(web: Web) -> None:
    text = failure(web.folder, web.service(start=None))

    assert text == (
        f"The service 'web' does not respond at {web.url}. It has no start command, so you must start it yourself."
    )
    assert not (web.folder / "service-web-1.log").exists()


def test_a_person_s_service_without_a_start_command_is_used_and_left_alone(web: Web) -> None:
    with web.started_by_a_person() as pid:
        told = beside(web, web.service(start=None))

        assert told == {"ready": 0, "problem": ""}
        assert web.pid() == pid


def test_a_service_that_a_person_has_already_started_is_used_and_left_alone(web: Web) -> None:
    with web.started_by_a_person() as pid:
        told = beside(web, web.service())

        assert told == {"ready": 0, "problem": ""}
        assert web.pid() == pid
        assert not (web.folder / "service-web-1.log").exists()


def test_ours_is_used_and_ended_while_a_person_s_other_one_goes_on(tmp_path: Path) -> None:
    theirs, ours = Web(tmp_path), Web(tmp_path)

    with theirs.started_by_a_person() as pid:
        told = beside(ours, ours.service())

        assert told == {"ready": 2, "problem": ""}
        assert theirs.pid() == pid
        assert not asyncio.run(is_ready(ours.url))


# what counts as ready


def test_a_service_can_be_ready_by_its_port(tmp_path: Path) -> None:
    web = Web(tmp_path, "500 Internal Server Error")
    told = Told()

    async def check() -> None:
        async with told.services(tmp_path, web.service(ready=f"tcp://127.0.0.1:{web.port}")) as services:
            await services.prepare()

    asyncio.run(check())

    assert told.ready == ["web"]


def test_a_service_can_be_ready_by_a_line_of_its_output(tmp_path: Path) -> None:
    told = Told()
    start = "printf 'compiling\\n\\033[32mserv'; sleep 0.1; printf 'ing\\033[0m on port 80'; exec sleep 300"
    service = Service(name="web", start=start, ready="log:^serving on port \\d+$")

    async def check() -> None:
        async with told.services(tmp_path, service) as services:
            await services.prepare()
            await services.prepare()

    asyncio.run(check())

    assert told.ready == ["web", "web"], "each time anew"


def test_a_service_that_never_says_so_is_told_with_what_it_said_instead(tmp_path: Path) -> None:
    service = Service(name="web", start=f"echo compiling; exec sleep {FOREVER}", ready="log:ready", ready_timeout=0.5)

    text = failure(tmp_path, service)

    assert text == "The service 'web' did not print 'ready' within 0.5 s.\n\ncompiling"


def test_services_are_started_in_order_each_when_the_one_before_is_ready(tmp_path: Path) -> None:
    first = Service(name="one", start="sleep 0.3; touch one; echo up; exec sleep 300", ready="log:up")
    second = Service(name="two", start="test -f one && echo up && exec sleep 300", ready="log:up")
    told = Told()

    async def check() -> None:
        async with told.services(tmp_path, first, second) as services:
            await services.prepare()

    asyncio.run(check())

    assert told.ready == ["one", "two"]


@pytest.mark.parametrize(
    ("answer", "ready"),
    [
        ("200 OK", True),
        ("204 No Content", True),
        ("301 Moved Permanently", True),
        ("302 Found", True),
        ("404 Not Found", False),
        ("500 Internal Server Error", False),
        ("503 Service Unavailable", False),
        ("SSH-2.0-not-the-web\r\n", False),
    ],
)
def test_success_and_redirects_mean_ready_and_errors_do_not(tmp_path: Path, answer: str, ready: bool) -> None:
    web = Web(tmp_path, answer)
    with in_the_background(*web.argv, cwd=tmp_path):
        wait_for(lambda: _listens(web.port))

        assert asyncio.run(is_ready(web.url)) is ready
        assert asyncio.run(is_ready(f"http://localhost:{web.port}/")) is ready


def test_a_service_that_answers_with_errors_only_is_never_ready(tmp_path: Path) -> None:
    text = failure(tmp_path, Web(tmp_path, "500 Internal Server Error").service(ready_timeout=0.7))

    assert "did not respond at" in text


def test_the_whole_address_is_asked_for(tmp_path: Path) -> None:
    web = Web(tmp_path)
    with in_the_background(*web.argv, cwd=tmp_path):
        wait_for(lambda: _listens(web.port))
        assert asyncio.run(is_ready(f"{web.url}health/ready?deep=1&x=2#part"))
        assert asyncio.run(is_ready(web.url.rstrip("/")))

    assert "GET /health/ready?deep=1&x=2 HTTP/1.1\nGET / HTTP/1.1\n" in (tmp_path / "requests").read_text()


def test_nobody_there_is_not_ready(web: Web) -> None:
    assert not asyncio.run(is_ready(web.url))
    assert not asyncio.run(is_ready("http://no-such-host.invalid/"))
    assert not asyncio.run(is_ready("http://127.0.0.1:99999/"))


def test_a_certificate_of_one_s_own_is_fine_on_this_machine(tmp_path: Path) -> None:
    openssl = shutil.which("openssl")
    if openssl is None:
        pytest.skip("there is no openssl to make a certificate with")
    wanted = "req -x509 -newkey rsa:2048 -nodes -keyout key.pem -out cert.pem -subj /CN=not-this-host -days 2"
    subprocess.run([openssl, *wanted.split()], cwd=tmp_path, check=True, capture_output=True)
    web = Web(tmp_path, "200 OK", "tls")
    with in_the_background(*web.argv, cwd=tmp_path):
        wait_for(lambda: _listens(web.port))

        assert asyncio.run(is_ready(f"https://localhost:{web.port}/"))
        assert not asyncio.run(is_ready(f"http://localhost:{web.port}/")), "it speaks TLS only"


def _listens(port: int) -> bool:
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) == 0
