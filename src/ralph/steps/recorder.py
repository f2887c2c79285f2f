"""Records the agent calls of a run, without secrets, so that the scripted agent can play them back."""

from __future__ import annotations

import base64
import json
import os
import re
import stat
import time
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import BinaryIO

from ralph import safe_files, validation
from ralph.agent.call import AgentCall, AgentResult, Stream
from ralph.agent.call import make as make_call
from ralph.agent.dialects import dialect_of
from ralph.checkout.commit_subject import subject_of
from ralph.checkout.working_copy import WorkingCopy
from ralph.config import NAME, Provider, parse
from ralph.errors import RalphError
from ralph.journal.encode import now
from ralph.process.redaction import Secrets
from ralph.process.spawn import finished
from ralph.protect.snapshot import below
from ralph.steps.base import Context
from ralph.stores import atomic
from ralph.testing.recording import RecordedCall, RecordedChunk, RecordedFile, RecordedProvider, RecordingHead
from ralph.testing.replay import CALLS, HEAD, OUTPUT, folder_of
from ralph.text import readable
from ralph.workspace import ANSWERS

MAX_FILE, MAX_FILES = 4 << 20, 32 << 20
MAX_OUTPUT = 32 << 20
SECRET_OPTION = re.compile(r"(--?[\w-]*(?:key|token|secret|password|auth)[\w-]*)(=.*)?", re.IGNORECASE)
HIDDEN = "[secret]"


def check_unused(folder: Path) -> None:
    """Raise an error if a recording could overwrite anything."""
    if folder.is_symlink() or (folder.exists() and not folder.is_dir()):
        raise RalphError(f"{folder} is not a folder.", remedy="Give --record the name of a new folder.")
    if folder.exists() and any(folder.iterdir()):
        raise RalphError(
            f"The folder {folder} is not empty, and Ralph never overwrites a recording.",
            remedy="Give --record the name of a new folder, or remove this one.",
        )


@dataclass
class Recorder:
    """A recording that is being made; its first call creates it."""

    folder: Path
    head: RecordingHead
    project: Path  # the folder of ralph.config.json
    secrets: Secrets = field(repr=False)
    _number: int = 0

    async def make(self, context: Context, request: AgentCall, step: str, role: str) -> AgentResult:
        """Make a call, and record it."""
        recorded = self._begin(context, request, step=step, role=role)
        heard = None
        try:
            heard = await make_call(replace(request, tap=recorded.hear))
        finally:
            await finished(recorded.end(heard))
        return heard

    def _begin(self, context: Context, call: AgentCall, *, step: str, role: str) -> CallRecorder:
        """Start to record a call, which has not begun yet."""
        self._number += 1
        if self._number == 1:
            self._create()
        folder = self.folder / CALLS / folder_of(context.work.id)
        folder.mkdir(parents=True, exist_ok=True)
        return CallRecorder(
            path=folder / f"{self._number:05}-{call.log.stem}.json",
            secrets=self.secrets,
            context=context,
            call=call,
            step=step,
            role=role,
            number=self._number,
        )

    def _create(self) -> None:
        check_unused(self.folder)
        self.folder.mkdir(parents=True, exist_ok=True)
        atomic.write(self.folder / HEAD, self.head.model_dump_json(indent=2).encode() + b"\n")
        atomic.write(self.folder / NAME, self._config())

    def _config(self) -> bytes:
        """Return the project's configuration with agents that play this recording back."""
        data = validation.read(self.project / NAME)
        config, document = parse(data), validation.parse_object(data, name=NAME)
        name = os.path.relpath(self.folder, self.project)
        name = self.folder.name if name.startswith("..") else name

        def playing(given: Provider) -> dict[str, object]:
            again = {"command": "ralph", "args": ["scripted", "--replay", name, "--"]}
            return {**again, "dialect": dialect_of(given).name, **({"model": given.model} if given.model else {})}

        program = Path(config.provider.command).name  # roles, races and tasks may name it so
        named = {program: config.provider, **config.providers}
        document["provider"] = playing(config.provider)
        document["providers"] = {name: playing(one) for name, one in named.items()}
        return json.dumps(self.secrets.clean(document), indent=2, ensure_ascii=False).encode() + b"\n"


@dataclass
class CallRecorder:
    """One call while it is recorded."""

    path: Path
    secrets: Secrets = field(repr=False)
    context: Context
    call: AgentCall
    step: str
    role: str
    number: int
    began: str = field(default_factory=now)
    _prompt: str = ""
    _start: float = field(default_factory=time.monotonic)
    _marks: dict[str, tuple[int, ...]] = field(default_factory=dict)
    _output: BinaryIO | None = None
    _chunks: int = 0
    _size: int = 0
    _is_cut: bool = False

    def __post_init__(self) -> None:
        self._prompt = self.call.prompt.read_text(encoding="utf-8")  # an agent may remove the file
        self._marks = self._seen()
        self._output = self.path.with_name(self.path.stem + OUTPUT).open("xb")

    @property
    def _copy(self) -> WorkingCopy | None:
        return self.context.copy

    @property
    def _top(self) -> Path:
        return self._copy.folder if self._copy else self.context.cwd

    def hear(self, to: Stream, data: bytes) -> None:
        """Write a piece of output, which has no secrets any more."""
        if not data or not self._output:
            return
        self._is_cut = self._is_cut or self._size + len(data) > MAX_OUTPUT
        if self._is_cut:
            return
        self._size += len(data)
        self._chunks += 1
        chunk = RecordedChunk(at=round(time.monotonic() - self._start, 3), to=to).model_copy(update=_content(data))
        self._output.write(chunk.model_dump_json(exclude_none=True).encode() + b"\n")

    async def end(self, result: AgentResult | None) -> None:
        """Write the call; None: it was stopped."""
        if self._output:
            self._output.close()
        context, call, copy = self.context, self.call, self._copy
        recorded = RecordedCall(
            number=self.number,
            work=context.work.id,
            kind=context.work.kind.value,
            attempt=context.attempt.number,
            step=self.step,
            turn=context.turn,
            role=self.role,
            provider=_provider(call.provider),
            folder="" if context.cwd == self._top else str(context.cwd.relative_to(self._top)),
            prompt=self._prompt,
            context=call.context,
            began=self.began,
            seconds=round(time.monotonic() - self._start, 3),
            how=result.ended.how.value if result else "stopped",
            code=result.ended.code if result else -15,
            chunks=self._chunks,
            output_cut=self._is_cut,
            subject=subject_of(copy.folder, context.base) if copy else "",
            files=await self._files(),
        )
        document = self.secrets.clean(recorded.model_dump(exclude_none=True))
        atomic.write(self.path, json.dumps(document, indent=2, ensure_ascii=False).encode(errors="replace") + b"\n")

    def _seen(self) -> dict[str, tuple[int, ...]]:
        """Return what tells each file from another, by path; without git's own and those that Ralph provided.

        Answers are among the provided files, because a clean-up must not remove them.
        """
        provided = tuple(f"{path.rstrip('/')}/" for path in self._copy.provided) if self._copy else ()
        found: dict[str, tuple[int, ...]] = {}
        with suppress(OSError):  # such as a path that is too long for the system
            for path in below(str(self._top), besides=frozenset({".git"})):
                name = os.path.relpath(path, self._top)
                if not f"{name}/".startswith(provided) or f"/{ANSWERS}/" in f"/{name}":
                    status = os.lstat(path)
                    mark = (status.st_ino, status.st_size, status.st_mtime_ns, status.st_ctime_ns, status.st_mode)
                    found[name] = mark
        return found

    async def _files(self) -> list[RecordedFile]:
        after, before = self._seen(), self._marks
        names = sorted(name for name in after.keys() | before.keys() if after.get(name) != before.get(name))
        files, size = [], 0
        for name in await self._not_ignored(names):
            file = self._file(name, is_new=name not in before, room=MAX_FILES - size)
            size += file.size if file.left_out is None else 0
            files.append(file)
        return files

    def _file(self, name: str, *, is_new: bool, room: int) -> RecordedFile:
        path = self._top / name
        if readable(name) != name:
            return RecordedFile(path=readable(name), change="changed", left_out="its name is not UTF-8")
        if not os.path.lexists(path):
            return RecordedFile(path=name, change="deleted")
        status = path.lstat()
        file = RecordedFile(
            path=name,
            change="added" if is_new else "changed",
            size=status.st_size,
            executable=stat.S_ISREG(status.st_mode) and bool(status.st_mode & stat.S_IXUSR),
        )
        why = ""
        if not stat.S_ISREG(status.st_mode):
            why = "it is a link" if path.is_symlink() else "it is not a plain file"
        elif status.st_size > min(MAX_FILE, room):
            why = "it is too large"
        data = None if why else safe_files.read(path, MAX_FILE)
        if data is None:
            return file.model_copy(update={"left_out": why or "it cannot be read"})
        return file.model_copy(update=_content(self.secrets.data(data)))

    async def _not_ignored(self, names: list[str]) -> list[str]:
        """Return the files that can become part of the work, or are Ralph's own, such as an answer."""
        copy = self._copy
        if not copy or not names:
            return names
        listed = b"".join(os.fsencode(name) + b"\0" for name in names)
        done = await copy.repo.ask(
            "check-ignore", "--no-index", "-z", "--stdin", stdin=listed, work_tree=copy.folder, literal=False
        )
        ignored = set(os.fsdecode(done.out).split("\0"))
        return [name for name in names if name not in ignored or name in copy.own or f"/{ANSWERS}/" in f"/{name}"]


def _content(data: bytes) -> dict[str, str]:
    try:
        return {"text": data.decode()}
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(data).decode()}


def _provider(provider: Provider) -> RecordedProvider:
    args: list[str] = []
    for arg in provider.args:
        option = SECRET_OPTION.fullmatch(arg)
        follows = bool(args) and SECRET_OPTION.fullmatch(args[-1]) is not None and not arg.startswith("-")
        args.append(f"{option[1]}={HIDDEN}" if option and option[2] else HIDDEN if follows else arg)
    return RecordedProvider(
        command=Path(provider.command).name, args=args, model=provider.model, dialect=dialect_of(provider).name
    )
