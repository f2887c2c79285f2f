"""What a program in a sandbox can write, read, signal and talk to: real programs in real sandboxes."""

from __future__ import annotations

import asyncio
import os
import pwd
import re
import shutil
import signal
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread

import pytest

from ralph.config import BrowserSettings, Config
from ralph.errors import RalphError
from ralph.process import spawn
from ralph.process.spawn import Limits, ProcessEnd
from ralph.sandbox.backends import BACKENDS, choose, problem
from ralph.sandbox.capabilities import KEPT_BY_ROOT
from ralph.sandbox.sandbox import Sandbox, SandboxedProgram, opened
from ralph.verify.browser import Browser, find_chromium
from ralph.workspace import Workspace
from tests.conftest import wait_for
from tests.integration.conftest import reap

pytestmark = pytest.mark.usefixtures("nobody_left")
NO_LIMITS = Limits()
WORKING = [backend.name for backend in BACKENDS if not problem(backend)]
each = pytest.mark.parametrize("kind", WORKING)
bubblewrap = pytest.mark.skipif("bubblewrap" not in WORKING, reason="bubblewrap does not work here")


def configured(**sandbox: object) -> Config:
    return Config.read({"provider": {"command": "sh"}, "sandbox": sandbox})


class Box:
    """A project with a working copy, a home folder with secrets, and programs in a sandbox."""

    def __init__(self, folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        self.home, self.root = folder / "home", folder / "project"
        self.copy, self.temporary = self.root / ".ralph/worktrees/.slots/1", folder / "temporary"
        for made in (self.copy, self.temporary, self.home / ".ssh", self.home / ".agent", self.root / ".git/hooks"):
            made.mkdir(parents=True)
        (self.home / ".ssh/id_ed25519").write_text("PRIVATE KEY")
        (self.home / ".netrc").write_text("machine example.com password hunter2")
        (self.home / ".bashrc").write_text("# mine\n")
        self.refused: list[str] = []
        self.told = lambda _, host: self.refused.append(host)
        monkeypatch.setenv("HOME", str(self.home))
        monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
        monkeypatch.delenv("RALPH_SANDBOX", raising=False)
        for name in ("HTTPS_PROXY", "https_proxy"):
            monkeypatch.delenv(name, raising=False)

    def run(self, kind: str, command: str, **settings: object) -> str:
        """What a shell command prints as an agent in the working copy."""

        async def within() -> str:
            wanted = configured(use=kind, **settings)
            async with opened(wanted, Workspace(root=self.root), (self.home / ".agent",), self.told) as box:
                return (await self.started(self.agent(box), command))[1]

        return asyncio.run(within())

    def agent(self, box: Sandbox) -> SandboxedProgram:
        made = box.around_agent(self.copy, temporary=self.temporary, state=())
        assert made
        return made

    def gate(self, kind: str, command: str, services: tuple[int, ...] = (), **settings: object) -> str:
        """What a shell command prints as a gate in the working copy."""

        async def within() -> str:
            wanted = configured(use=kind, **settings)
            async with opened(wanted, Workspace(root=self.root), (), self.told) as box:
                made = box.around_gate(self.copy, temporary=self.temporary, services=services)
                assert made
                return (await self.started(made, command))[1]

        return asyncio.run(within())

    async def started(
        self, within: SandboxedProgram, command: str, limits: Limits = NO_LIMITS
    ) -> tuple[ProcessEnd, str]:
        said = bytearray()
        ended = await spawn.run(
            ["/bin/sh", "-c", command],
            cwd=self.copy,
            env=dict(os.environ),
            owner="test",
            out=said.extend,
            limits=limits,
            within=within,
        )
        return ended, said.decode()


@pytest.fixture
def box(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Box]:
    yield Box(tmp_path, monkeypatch)
    reap()  # trying out a kind of sandbox leaves a process that has ended


@contextmanager
def served() -> Iterator[int]:
    """A web server on loopback, and its port."""

    class Hello(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_response(200)
            self.send_header("Content-Length", "5")
            self.end_headers()
            self.wfile.write(b"hello")

        def log_message(self, *_: object) -> None: ...

    server = ThreadingHTTPServer(("127.0.0.1", 0), Hello)
    thread = Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server.server_port
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@each
def test_a_program_writes_its_copy_and_its_temporary_folder(box: Box, kind: str) -> None:
    temporary = "/tmp" if kind == "bubblewrap" else box.temporary  # the others cannot give it a /tmp of its own

    said = box.run(kind, f"echo work > work.txt; echo t > {temporary}/t; git init -q . && echo made")

    assert said == "made\n"
    assert (box.copy / "work.txt").read_text() == "work\n"
    assert (box.temporary / "t").read_text() == "t\n"


@each
@pytest.mark.parametrize(
    "target",
    ["~/.bashrc", "~/.ssh/authorized_keys", "~/new", "{root}/.git/hooks/pre-commit", "{root}/app.txt", "/etc/x",
     "{root}/.ralph/run/record.json", "{root}/.ralph/worktrees/.slots/2/x", "~/.agent/x"],
)  # fmt: skip
def test_a_program_cannot_write_anywhere_else(box: Box, kind: str, target: str) -> None:
    path = Path(target.replace("~", str(box.home)).format(root=box.root))

    said = box.run(kind, f"mkdir -p {path.parent} 2>&1; echo bad > {path} && echo wrote")

    assert "wrote" not in said or not path.exists()
    assert not path.exists() or path.read_text() == "# mine\n"


@each
def test_nothing_that_belongs_to_the_machine_can_be_written(box: Box, kind: str) -> None:
    """Also as root: a kernel's setting that names a program would lead out of any sandbox."""
    places = "/proc/sys /proc/acpi /proc/irq /proc/mtrr /sys/kernel /etc /run /usr/local /var"
    opened = "while read -r file; do (: >> $file) 2>/dev/null && echo $file; done"  # which writes nothing

    said = box.run(kind, f"find {places} -maxdepth 3 -type f -writable ! -path '/var/tmp*' 2>/dev/null | {opened}")

    own = re.compile(r"/proc/sys/(fs/mqueue/.*|kernel/(shm.*|msg.*|sem.*|auto_msgmni|pid_max|ns_last_pid))")  # its own
    assert [line for line in said.splitlines() if kind != "bubblewrap" or not own.fullmatch(line)] == []


@bubblewrap
def test_a_program_cannot_ask_another_one_in_the_home_folder_to_act_for_it(box: Box) -> None:
    """Docker Desktop, for one, listens there, and is root on the machine."""
    with socket.socket(socket.AF_UNIX) as outside, socket.socket(socket.AF_UNIX) as projects:
        for each_one, path in ((outside, box.home / "s"), (projects, box.root / "s")):
            each_one.bind(str(path))
            each_one.listen()
        asks = "import socket, sys; socket.socket(socket.AF_UNIX).connect(sys.argv[1]); print('reached')"
        said = [box.run("bubblewrap", f'python3 -c "{asks}" {path} 2>&1') for path in (box.home / "s", box.root / "s")]

    assert "reached" not in said[0] and "ConnectionRefused" in said[0]
    assert said[1] == "reached\n", "a database of the project's"


@each
def test_no_disk_and_no_console_can_be_opened(box: Box, kind: str) -> None:
    """A disk has every file in it, a console is the screen of somebody, and root may open both."""
    disks = [path for path in Path("/dev").iterdir() if path.is_block_device()]
    names = " ".join(map(str, [*disks, *(Path("/dev", name) for name in ("mem", "kmsg", "console", "tty0", "tty1"))]))
    tries = "(: < $name) && echo $name; dd if=/dev/null of=$name conv=nocreat,notrunc && echo $name"

    said = box.run(kind, f"for name in {names}; do {{ {tries}; }} 2>/dev/null; done; echo x > /dev/null && echo works")

    assert said == "works\n"


@each
@pytest.mark.skipif(os.geteuid() != 0, reason="an ordinary user has no capabilities")
def test_root_keeps_only_the_capabilities_that_lead_nowhere(box: Box, kind: str) -> None:
    asks = "/bin/sh -c 'grep -E \"^Cap(Prm|Eff)\" /proc/self/status'"

    said = box.run(
        kind, f"{asks}; touch mine && chown 1 mine && echo gave; hostname {socket.gethostname()} || echo not"
    )

    kept = sum(1 << bit for bit in KEPT_BY_ROOT.values())
    assert {int(line.split()[1], 16) & ~kept for line in said.splitlines()[:2]} == {0}
    assert "gave\n" in said and said.endswith("not\n")


@each
@pytest.mark.parametrize("entry", ["/" + "x" * 300, "/proc/1/root/x", "relative/bin", ""])
def test_a_folder_on_path_that_leads_nowhere_does_no_harm(
    box: Box, kind: str, entry: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As after `su`, which keeps root's PATH with folders that the new user may not enter."""
    monkeypatch.setenv("PATH", f"{entry}:{os.environ['PATH']}")

    assert box.run(kind, "echo works") == "works\n"


@each
def test_credentials_and_what_ralph_keeps_from_agents_cannot_be_read(box: Box, kind: str) -> None:
    held_out = box.home / ".local/share/ralph/held-out/x"
    held_out.parent.mkdir(parents=True)
    held_out.write_text("HIDDEN TEST")
    (box.home / ".agent/login").write_text("TOKEN")

    said = box.run(kind, f"cd ~; cat .ssh/id_ed25519 .netrc .agent/login {held_out}; cat .bashrc")

    assert "PRIVATE" not in said and "hunter2" not in said and "HIDDEN" not in said and "TOKEN" not in said
    assert said.endswith("# mine\n"), "everything else can be read"


@each
def test_what_the_configuration_shows_can_be_read(box: Box, kind: str) -> None:
    assert "hunter2" in box.run(kind, "cat ~/.netrc", readable=["~/.netrc"])


@each
def test_a_program_cannot_signal_ralph(box: Box, kind: str) -> None:
    said = box.run(kind, f"kill -0 {os.getpid()} && echo reached; kill -0 {os.getppid()} && echo reached")

    assert "reached" not in said


@each
def test_agents_that_share_a_machine_have_the_caches_of_package_managers(box: Box, kind: str) -> None:
    box.run(kind, "mkdir -p ~/.npm/_cacache; echo x > ~/.npm/_cacache/x")

    assert (box.home / ".npm/_cacache/x").exists() == bool(shutil.which("npm"))


@each
def test_a_network_that_is_closed_reaches_nobody(box: Box, kind: str) -> None:
    with served() as port:
        asked = f"curl -sS --noproxy '*' -m 5 http://127.0.0.1:{port}/ 2>&1"
        assert box.run(kind, asked) == "hello"
        assert "hello" not in box.run(kind, asked, network="none")


@each
def test_an_allow_list_reaches_the_named_hosts_only_and_says_what_it_refused(box: Box, kind: str) -> None:
    with served() as port, served() as other:
        allowed = [f"localhost:{port}"]
        asked = f"curl -sS -m 5 http://localhost:{port}/; curl -sS -m 5 http://localhost:{other}/; "
        asked += "curl -sS -m 5 http://elsewhere.example/x; curl -sS -m 5 -p https://tunnel.example/ 2>&1; "
        said = box.run(kind, asked + f"curl -sS -m 5 --noproxy '*' http://127.0.0.1:{other}/ 2>&1", network=allowed)

    assert said.startswith("hello") and said.count("hello") == 1
    assert "Ralph's sandbox does not allow elsewhere.example" in said
    assert box.refused == ["localhost", "elsewhere.example", "tunnel.example"]


@each
def test_a_gate_without_network_reaches_the_services_of_the_run(box: Box, kind: str) -> None:
    with served() as port, served() as other:
        asked = f"curl -sS -m 5 http://127.0.0.1:{port}/ 2>&1; curl -sS -m 5 http://127.0.0.1:{other}/ 2>&1"
        said = box.gate(kind, asked, services=(port,), gateNetwork="none")

    assert said.startswith("hello") and said.count("hello") == 1
    assert not box.refused, "it had nobody to ask"


@each
def test_agents_and_gates_can_have_different_networks(box: Box, kind: str) -> None:
    with served() as port:
        asked = f"curl -sS -m 5 --noproxy '*' http://127.0.0.1:{port}/ 2>&1"
        assert "hello" not in box.run(kind, asked, network="none")
        assert box.gate(kind, asked, network="none") == "hello"


@bubblewrap
@pytest.mark.skipif(not find_chromium(BrowserSettings()), reason="there is no Chrome or Chromium here")
def test_the_browser_opens_pages_of_this_machine_and_reads_no_credentials(box: Box) -> None:
    async def opens(url: str) -> str:
        async with (
            opened(configured(use="bubblewrap"), Workspace(root=box.root), (), box.told) as made,
            Browser(BrowserSettings(), "test", enclose=made.around_browser) as browser,
        ):
            await browser.ensure()
            page = await (await browser.context()).new_page()
            await page.goto(url)
            return await page.inner_text("body")

    with served() as port:
        assert asyncio.run(opens(f"http://127.0.0.1:{port}/")) == "hello"
    assert asyncio.run(opens(f"file://{box.home}/.bashrc")).strip() == "# mine"
    with pytest.raises(Exception, match="ERR_FILE_NOT_FOUND"):
        asyncio.run(opens(f"file://{box.home}/.ssh/id_ed25519"))


@bubblewrap
def test_a_program_that_signals_its_own_group_does_not_end_the_sandbox(box: Box) -> None:
    assert box.run("bubblewrap", "trap 'echo cleaned' TERM; kill 0; echo after") == "cleaned\nafter\n"


@bubblewrap
def test_the_signal_that_ends_a_program_is_what_ended_it(box: Box) -> None:
    async def ended() -> ProcessEnd:
        async with opened(configured(use="bubblewrap"), Workspace(root=box.root), (), box.told) as made:
            return (await box.started(box.agent(made), "kill -SEGV $$"))[0]

    assert asyncio.run(ended()).code == -signal.SIGSEGV


@bubblewrap
def test_everything_in_the_sandbox_ends_with_its_first_program(box: Box) -> None:
    escape = "env -i setsid sh -c 'touch begun; exec sleep 1234.5' >/dev/null 2>&1 & until [ -e begun ]; do :; done"

    box.run("bubblewrap", escape)

    assert (box.copy / "begun").exists()
    assert subprocess.run(["pgrep", "-f", "sleep 1234.5"], capture_output=True).stdout == b""


@bubblewrap
def test_a_program_gets_its_time_to_end_before_its_sandbox_is_killed(box: Box) -> None:
    command = "trap 'echo saved > saved.txt; exit 3' TERM; touch ready; while :; do sleep 0.05; done"

    async def ended() -> ProcessEnd:
        settings = configured(use="bubblewrap")
        async with opened(settings, Workspace(root=box.root), (), box.told) as made:
            return (await box.started(box.agent(made), command, Limits(total=1.5, grace=5)))[0]

    asyncio.run(ended())

    assert (box.copy / "saved.txt").read_text() == "saved\n"


@bubblewrap
def test_the_sandbox_dies_with_the_process_that_started_it(box: Box) -> None:
    """Even if Ralph is killed, nothing in it runs on."""

    async def argv() -> list[str]:
        settings = configured(use="bubblewrap")
        async with opened(settings, Workspace(root=box.root), (), box.told) as made:
            return box.agent(made).command(["/bin/sh", "-c", "touch begun; exec sleep 4321.5"], box.copy)

    started = asyncio.run(argv())
    parent = subprocess.Popen(["/bin/sh", "-c", '"$@" & wait', "sh", *started])
    wait_for((box.copy / "begun").exists)
    parent.send_signal(signal.SIGKILL)
    parent.wait()
    reap()  # it returns when all of them have ended

    assert not subprocess.run(["pgrep", "-f", "sleep 4321.5"], capture_output=True).stdout


@bubblewrap
@pytest.mark.skipif(os.geteuid() != 0, reason="only root can become somebody else")
def test_it_works_for_an_ordinary_user(box: Box) -> None:
    async def argv() -> list[str]:
        settings = configured(use="bubblewrap")
        async with opened(settings, Workspace(root=box.root), (), box.told) as made:
            line = box.agent(made).command(["/bin/sh", "-c", "id -u; echo x > /etc/x || echo refused"], Path("/"))
            return [word for word in line if not word.startswith("CAP_") and word not in ("--cap-add", "--cap-drop")]

    line = [word for word in asyncio.run(argv()) if word != "ALL"]
    for folder in (box.copy, *box.copy.parents):
        folder.chmod(folder.stat().st_mode | 0o055)
    os.chown(box.temporary, pwd.getpwnam("nobody").pw_uid, -1)
    done = subprocess.run(line, user="nobody", group="nogroup", extra_groups=[], capture_output=True, text=True)
    reap()

    assert done.stdout == "65534\nrefused\n", done.stderr


def test_a_kind_that_is_not_there_is_refused_with_a_remedy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("RALPH_SANDBOX", raising=False)
    with pytest.raises(RalphError, match="'seatbelt' does not work here: it is not on this machine") as caught:
        choose("seatbelt")
    assert 'Set "sandbox" to' in (caught.value.remedy or "")


def test_an_unknown_kind_in_the_environment_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("RALPH_SANDBOX", "bubbles")
    with pytest.raises(RalphError, match="'bubbles' is not a kind of sandbox"):
        choose("auto")


def test_a_sandbox_that_is_switched_off_encloses_nothing(box: Box) -> None:
    async def none() -> Sandbox:
        async with opened(configured(use="none"), Workspace(root=box.root), (), box.told) as made:
            return made

    assert asyncio.run(none()).around_gate(box.copy, temporary=None) is None


@pytest.mark.parametrize(
    ("caches", "why"),
    [("~/.ssh", "reaches .*ssh"), ("/", "contains your home folder"), ("~/.config", "reaches"),
     ("~/.bashrc", "reaches"), ("~/.local/share/ralph", "only Ralph and you"), ("{root}", "only Ralph and you"),
     ("/etc/cron.d", "reaches /etc"), ("~/tools", "reaches .*tools/bin, which is on your PATH")],
)  # fmt: skip
def test_a_cache_that_reaches_too_far_is_refused(
    box: Box, caches: str, why: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", f"{box.home}/tools/bin:{os.environ['PATH']}")
    with pytest.raises(RalphError, match=rf"sandbox\.caches\[0\]: .*{why}"):
        box.run(WORKING[0], "true", caches=[caches.format(root=box.root)])


def test_what_ralph_keeps_from_agents_cannot_be_shown_to_them(box: Box) -> None:
    with pytest.raises(RalphError, match=r"sandbox\.readable\[0\]: .* where Ralph keeps what agents must not see"):
        box.run(WORKING[0], "true", readable=["~/.local/share/ralph/key"])


def test_a_name_that_does_not_resolve_is_refused(box: Box) -> None:
    with pytest.raises(RalphError, match=r"sandbox\.network\[0\]: 'no\.such\.host\.invalid' does not resolve"):
        box.run(WORKING[0], "true", network=["no.such.host.invalid"])
