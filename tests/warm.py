"""`ralph` as a process of its own, without paying for its imports each time.

One helper for each test worker has imported Ralph and forks for every call. What comes of it is a real process: its
own number, folder, environment, descriptors and exit code; signals and `kill -9` reach it, and what it starts are its
children. Only the exec is missing, so `test_installed.py` runs every command as it is installed, and whatever depends
on how Python itself starts is started that way here too.
"""

from __future__ import annotations

import atexit
import gc
import json
import os
import select
import signal
import socket
import struct
import subprocess
import sys
import threading
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

RALPH = Path(sys.executable).parent / "ralph"
AT_START = {"LANG": "C.UTF-8"}
"""What the helper is started with; a call that wants anything of this kind to differ gets a process from scratch."""
NUMBER = struct.Struct("=i")


def needs_an_exec(env: dict[str, str]) -> bool:
    """Whether a variable says how Python starts, or is looked for in what the kernel shows of a process."""
    told = {name: value for name, value in env.items() if name.startswith(("PYTHON", "LC_", "LANG", "LD_", "_"))}
    return not sys.platform.startswith("linux") or told != AT_START


def popen(
    args: list[str], *, env: dict[str, str], before: str = "", installed: bool = False, **more: Any
) -> subprocess.Popen[str]:
    """Start `ralph`, as it is `installed` or by a fork; `before` is code that runs in it first."""
    if installed or needs_an_exec(env):
        code = f"import sys; from ralph.cli.entry import main\n{before}\nsys.exit(main())"
        command = [sys.executable, "-c", code] if before else [str(RALPH)]
        return subprocess.Popen([*command, *args], env=env, text=True, **more)
    return Forked([before, *args], env=env, text=True, **more)


class Forked(subprocess.Popen[str]):
    """A process that the helper forks for us: it is the helper that learns how it ended, and tells us."""

    def _execute_child(  # type: ignore[override]
        self, args, executable, preexec_fn, close_fds, pass_fds, cwd, env, startupinfo, creationflags, shell,
        p2cread, p2cwrite, c2pread, c2pwrite, errread, errwrite, *more,
    ) -> None:  # fmt: skip
        try:
            self._news, theirs = socket.socketpair()
            given = [p2cread, c2pwrite, errwrite]
            descriptors = [standard if fd == -1 else fd for standard, fd in enumerate(given)]
            body = json.dumps({"before": args[0], "args": args[1:], "cwd": os.fspath(cwd or "."), "env": env}).encode()
            with theirs, _lock:
                calls, _ = _helper()
                socket.send_fds(calls, [NUMBER.pack(len(body))], [*descriptors, theirs.fileno()])
                calls.sendall(body)
            self.pid = NUMBER.unpack(self._news.recv(NUMBER.size))[0]
            self._child_created = True
        except (OSError, struct.error):
            raise RuntimeError("The helper has ended; `python tests/warm.py` shows what it could not import.") from None
        finally:
            self._close_pipe_fds(p2cread, p2cwrite, c2pread, c2pwrite, errread, errwrite)

    def _internal_poll(self, *_: object, **__: object) -> int | None:  # type: ignore[override]
        try:
            return self._wait(0)
        except subprocess.TimeoutExpired:
            return None

    def _wait(self, timeout: float | None) -> int:  # type: ignore[override]
        with self._waitpid_lock:  # type: ignore[attr-defined]
            if self.returncode is None:
                if not select.select([self._news], [], [], timeout)[0]:
                    raise subprocess.TimeoutExpired(self.args, timeout or 0)
                self.returncode = NUMBER.unpack(self._news.recv(NUMBER.size))[0]
                self._news.close()
        return self.returncode


_lock = threading.RLock()


@cache
def _helper() -> tuple[socket.socket, subprocess.Popen[bytes]]:
    ours, theirs = socket.socketpair()
    with theirs:
        return ours, subprocess.Popen(
            [sys.executable, __file__, str(theirs.fileno())],
            cwd="/",
            env={"PATH": os.environ["PATH"], **AT_START},
            stdin=subprocess.DEVNULL,
            pass_fds=[theirs.fileno()],
        )


def rest() -> None:
    """End the helper until it is needed again: a test of processes wants no children but its own."""
    if _helper.cache_info().currsize:
        calls, process = _helper()
        calls.close()
        process.wait()
        _helper.cache_clear()


atexit.register(rest)


# The helper


def serve(calls: socket.socket) -> dict[str, Any]:
    """Fork for every call, and say how each ended; returns in each fork, with what it is to do."""
    poll = select.poll()
    poll.register(calls, select.POLLIN)
    living: dict[int, tuple[int, int]] = {}  # by the descriptor that becomes readable when a process ends
    while True:
        for fd, _ in poll.poll():
            if fd != calls.fileno():
                poll.unregister(fd)
                pid, news = living.pop(fd)
                tell(news, os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]))
                os.close(news)
                os.close(fd)
                continue
            head, descriptors, _, _ = socket.recv_fds(calls, NUMBER.size, 4)
            if not head:
                os._exit(0)
            body = calls.recv(NUMBER.unpack(head)[0], socket.MSG_WAITALL)
            pid = os.fork()
            if not pid:
                calls.close()
                return {**json.loads(body), "descriptors": descriptors[:3]}
            tell(descriptors[3], pid)
            ended = os.pidfd_open(pid)
            poll.register(ended, select.POLLIN)
            living[ended] = pid, descriptors.pop()
            for descriptor in descriptors:
                os.close(descriptor)


def tell(news: int, number: int) -> None:
    try:
        os.write(news, NUMBER.pack(number))
    except OSError:
        pass  # the test is over


def become(call: dict[str, Any]) -> None:
    """Make this process what an exec of `ralph` would have made."""
    for standard, descriptor in enumerate(call["descriptors"]):
        os.dup2(descriptor, standard)
    os.closerange(3, os.sysconf("SC_OPEN_MAX"))
    os.chdir(call["cwd"])
    os.environ.clear()
    os.environ.update(call["env"])
    sys.argv = [str(RALPH), *call["args"]]
    for descriptor, (name, mode, errors) in enumerate(
        [("stdin", "r", "surrogateescape"), ("stdout", "w", "surrogateescape"), ("stderr", "w", "backslashreplace")]
    ):
        stream = open(descriptor, mode, encoding="utf-8", errors=errors, closefd=False)  # noqa: SIM115
        stream.reconfigure(line_buffering=name == "stderr" or os.isatty(descriptor))
        setattr(sys, name, stream)
        setattr(sys, f"__{name}__", stream)
    exec(call["before"], {"__name__": "before"})  # noqa: S102


def warm() -> None:
    """Import all that a command imports at some time, read its prompts, and make what it makes on first use."""
    import importlib
    import pkgutil

    from pydantic import BaseModel

    import ralph
    from ralph import prompts
    from ralph.config import Config
    from ralph.journal import decode, events
    from ralph.stores import records
    from ralph.stores.task_codec import Format
    from ralph.workflows import formats

    sys.path[0] = str(RALPH.parent)
    skipped = ("ralph.__main__", "ralph.demo.project")
    for module in pkgutil.walk_packages(ralph.__path__, "ralph."):
        if not module.name.startswith(skipped):
            importlib.import_module(module.name)
    encodings = ("encodings.ascii", "encodings.unicode_escape", "encodings.utf_8_sig")
    for name in ("concurrent.futures.thread", "ctypes", *encodings):  # what a run imports on its way
        importlib.import_module(name)
    for name in prompts.NAMES:
        prompts._checked(name, prompts.BUILT_IN / f"{name}.md", prompts.built_in(name))
    records._adapter()
    for model in below(BaseModel):
        if model.__module__.startswith("ralph."):
            model.model_rebuild()
    for event in events.EVENTS.values():
        if event.kept:
            decode._readers(event)
    for found in filter(lambda value: isinstance(value, Format), vars(formats).values()):
        for checked in (False, True):
            found.codec._reader(found.part, checked)
    Config.read({"provider": {"command": "x"}, "verify": {"default": []}})
    sys.path.append(str(Path(__file__).parent.parent))
    importlib.import_module("tests.alike")  # runs that are recorded or resumed call it
    sys.path.pop()
    gc.collect()
    gc.freeze()


def below(kind: type[Any]) -> Iterator[type[Any]]:
    for one in kind.__subclasses__():
        yield one
        yield from below(one)


def leave(code: object) -> None:
    """Exit as Python does, but for taking apart every module: the longest part of a short call."""
    gc.collect()  # whatever complains when it is thrown away does so now
    if threading.active_count() == 1 and isinstance(code, int | None):
        atexit._run_exitfuncs()
        try:
            sys.stdout.flush()
            sys.stderr.flush()
        except OSError:
            pass  # Python has its own way of saying so
        else:
            os._exit(code or 0)
    sys.exit(code)


if __name__ == "__main__":
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # the tests' own Ctrl-C: we go when they go
    warm()
    call = serve(socket.socket(fileno=int(sys.argv[1]))) if sys.argv[1:] else sys.exit("Everything can be imported.")
    signal.signal(signal.SIGINT, signal.default_int_handler)
    become(call)
    from ralph.cli.entry import main

    try:
        main()
    except SystemExit as ended:
        leave(ended.code)
    leave(0)
