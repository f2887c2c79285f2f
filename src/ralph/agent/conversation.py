"""A call over the Agent Client Protocol: Ralph opens a session, sends the prompt and answers the agent's questions.

The library numbers the requests, finds the answers to them and makes the messages that Ralph sends. What the agent
sends is read by `AcpReader`, field by field and in bounded memory.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from acp import AGENT_METHODS, CLIENT_METHODS, PROTOCOL_VERSION, RequestError, text_block
from acp.connection import Connection
from acp.schema import (
    AllowedOutcome,
    CancelNotification,
    ClientCapabilities,
    DeniedOutcome,
    FileSystemCapabilities,
    Implementation,
    InitializeRequest,
    NewSessionRequest,
    PromptRequest,
    RequestPermissionResponse,
    SetSessionConfigOptionSelectRequest,
)
from pydantic import BaseModel

from ralph import __version__
from ralph.agent.dialects import takes_model
from ralph.agent.dialects.acp import AcpReader, rpc_failure
from ralph.agent.dialects.fields import Json, a_list, a_text, an_object
from ralph.agent.failure import CallFailure, FailureKind
from ralph.config import Provider
from ralph.process.child import Child

START = 120.0  # seconds until a program must have answered the first request
STOP = 2.0  # seconds that a cancelled turn may take to end
LEAVE = 1.0  # seconds that a program may take to exit at the end of its input; some never do
MAX_UNREAD = 16 << 20
ALLOW, REJECT = ("allow_once", "allow_always"), ("reject_once", "reject_always")
UNNAMED = ("", "default", "auto")  # choices that stand for a model that the program does not name
OUT = "→ ".encode()


class _ConversationStopped(Exception):
    """The conversation cannot continue."""

    def __init__(self, failure: CallFailure) -> None:
        super().__init__(failure.said)
        self.failure = failure


class _Wire:
    """Carries messages between the program and the library; drops what would break the library."""

    def __init__(self, child: Child, log: Callable[[bytes], None], break_off: Callable[[CallFailure], None]) -> None:
        assert child.input, "the program was started with an input to write to"
        self._input, self._log, self._break_off = child.input, log, break_off
        self._messages: asyncio.Queue[Json | None] = asyncio.Queue()

    def put(self, message: Json) -> None:
        sound = _sound(message)
        if sound:
            self._messages.put_nowait(sound)

    def end(self) -> None:
        self._messages.put_nowait(None)

    async def receive(self) -> dict[str, Any] | None:
        return await self._messages.get()

    async def send(self, message: dict[str, Any]) -> None:
        line = json.dumps(message).encode() + b"\n"
        self._log(OUT + line)
        self._input.write(line)
        if "method" not in message and self._input.waiting > MAX_UNREAD:
            self._break_off(CallFailure(kind=FailureKind.ERROR, said="it does not read the answers to its requests"))

    async def close(self) -> None:
        self.end()


def _sound(message: Json) -> Json | None:
    """Return a request or an answer of which the library can make use; None for anything else."""
    number, method = message.get("id"), message.get("method")
    if isinstance(number, bool) or not isinstance(number, int | str):
        return None
    if method is not None:
        return message if isinstance(method, str) else None
    if "error" in message:
        return {"id": number, "error": an_object(message["error"])}
    return {"id": number, "result": message["result"]} if "result" in message else None


class AcpConversation:
    """One turn of an agent."""

    def __init__(
        self, provider: Provider, prompt: str, cwd: Path, reader: AcpReader, log: Callable[[bytes], None]
    ) -> None:
        self._provider, self._prompt, self._cwd, self._reader, self._log = provider, prompt, cwd, reader, log
        self._session = ""
        self._greeted = False  # the program has shown that it speaks ACP
        self._cancelled = False  # Ralph itself ends the turn, so what the agent says about its end does not count

    def begin(self, child: Child) -> None:
        self._child = child
        self._wire = _Wire(child, self._log, self._break_off)
        self._connection = Connection(self._asked, self._wire)
        self._reader.receive = self._wire.put
        self._reader.break_off = self._break_off
        self._task = asyncio.create_task(self._talk())

    async def part(self) -> None:
        """End the conversation: let a running turn be cancelled, and let the program see the end of its input."""
        if not self._child.running():
            self._child.drain()  # the answer may be in its last output
            self._wire.end()
            await asyncio.wait({self._task}, timeout=STOP)
        elif not self._reader.complete:
            await self._cancel()
        self._task.cancel()
        await asyncio.wait({self._task})
        await self._connection.close()
        if self._child.input:
            self._child.input.end()
        if self._reader.complete:
            with suppress(TimeoutError):
                await asyncio.wait_for(self._child.exited(), LEAVE)
        elif self._child.code == 0:
            self._break_off(CallFailure(kind=FailureKind.CRASH, said="exit code 0 before it answered"))

    async def _cancel(self) -> None:
        if not self._greeted:
            self._break_off(_unanswered())
        self._cancelled = True
        if self._session:
            cancel = _as_json(CancelNotification(session_id=self._session))
            await self._connection.send_notification(AGENT_METHODS["session_cancel"], cancel)
            await asyncio.wait({self._task}, timeout=STOP)

    async def _talk(self) -> None:
        try:
            await self._initialize()
            await self._open()
            await self._ask_prompt()
            self._child.answered()
        except _ConversationStopped as stopped:
            self._break_off(stopped.failure)
        except RequestError as error:
            self._break_off(rpc_failure(error.code, str(error), error.data))
        except ConnectionError:
            pass  # the program has ended, and its exit code says more
        except Exception as error:  # a bug of our own is not hidden
            self._child.failure = error
            self._child.answered()

    async def _initialize(self) -> None:
        nothing = ClientCapabilities(
            fs=FileSystemCapabilities(read_text_file=False, write_text_file=False), terminal=False
        )
        request = InitializeRequest(
            protocol_version=PROTOCOL_VERSION,
            client_capabilities=nothing,
            client_info=Implementation(name="ralph", version=__version__),
        )
        try:
            async with asyncio.timeout(START):
                answer = await self._ask("initialize", request)
        except TimeoutError:
            raise _ConversationStopped(_unanswered()) from None
        except RequestError as error:
            failure = rpc_failure(error.code, str(error), error.data)
            kind = FailureKind.NOT_STARTED if failure.kind is FailureKind.ERROR else failure.kind
            raise _ConversationStopped(CallFailure(kind=kind, said=f"it does not speak ACP ({failure.said})")) from None
        version = answer.get("protocolVersion")
        if version != PROTOCOL_VERSION:
            said = f"it speaks version {version!r:.40} of ACP, and Ralph speaks version {PROTOCOL_VERSION}"
            raise _ConversationStopped(CallFailure(kind=FailureKind.NOT_STARTED, said=said))
        self._greeted = True

    async def _open(self) -> None:
        opened = await self._ask("session_new", NewSessionRequest(cwd=str(self._cwd.resolve()), mcp_servers=[]))
        session = a_text(opened.get("sessionId"))
        if not session:
            raise _ConversationStopped(CallFailure(kind=FailureKind.ERROR, said="it opened no session"))
        model = await self._choose_model(session, opened)
        self._reader.named(model if model not in UNNAMED else "")
        self._session = session

    async def _choose_model(self, session: str, opened: Json) -> str:
        """Return the model of the session, after setting the configured one, if it is an option of the protocol."""
        options = [an_object(option) for option in a_list(opened.get("configOptions"))]
        option = next((option for option in options if option.get("category") == "model"), {})
        wanted, name = self._provider.model, a_text(option.get("id"))
        if not wanted or takes_model(self._provider):
            return a_text(option.get("currentValue")) or _current_model(an_object(opened.get("models")))
        if not name:
            said = f"it offers no choice of models, but the model {wanted!r} is configured"
            raise _ConversationStopped(CallFailure(kind=FailureKind.UNUSABLE, said=said))
        request = SetSessionConfigOptionSelectRequest(config_id=name, session_id=session, value=wanted)
        try:
            await self._ask("session_set_config_option", request)
        except RequestError as error:
            said = rpc_failure(error.code, str(error), error.data).said
            raise _ConversationStopped(
                CallFailure(kind=FailureKind.UNUSABLE, said=f"it rejected the model {wanted!r} ({said})")
            ) from None
        return wanted

    async def _ask_prompt(self) -> None:
        request = PromptRequest(session_id=self._session, prompt=[text_block(self._prompt)])
        result = await self._ask("session_prompt", request)
        if self._cancelled:
            self._reader.take_usage(result)
        else:
            self._reader.end_turn(result)

    async def _ask(self, name: str, request: BaseModel) -> Json:
        return an_object(await self._connection.send_request(AGENT_METHODS[name], _as_json(request)))

    async def _asked(self, method: str, params: Any, is_notification: bool) -> BaseModel:
        """Answer a request of the agent; the only one that Ralph offers is for a permission."""
        if method != CLIENT_METHODS["session_request_permission"]:
            raise RequestError.method_not_found(method)
        return self._permit(an_object(params))

    def _permit(self, asked: Json) -> RequestPermissionResponse:
        """Answer by policy. Once is better than always, which some programs write into a person's settings."""
        tool = an_object(asked.get("toolCall"))
        options = [an_object(option) for option in a_list(asked.get("options"))]
        allows = self._provider.permissions == "allow" and not self._cancelled
        kinds = ALLOW if allows else REJECT
        chosen = next((option for kind in kinds for option in options if option.get("kind") == kind), {})
        name = a_text(chosen.get("optionId"))
        if allows and name:
            self._reader.tool_began(tool.get("toolCallId"))
        elif not self._cancelled:
            self._reader.refuse(a_text(tool.get("kind")) or a_text(tool.get("title")) or "a tool")
        if not name or self._cancelled:
            return RequestPermissionResponse(outcome=DeniedOutcome(outcome="cancelled"))
        return RequestPermissionResponse(outcome=AllowedOutcome(outcome="selected", option_id=name))

    def _break_off(self, failure: CallFailure) -> None:
        if not self._cancelled:
            self._reader.fail(failure)
            self._child.answered()


def _unanswered() -> CallFailure:
    return CallFailure(kind=FailureKind.NOT_STARTED, said="it did not answer the first ACP request")


def _as_json(request: BaseModel) -> dict[str, Any]:
    return request.model_dump(mode="json", by_alias=True, exclude_none=True)


def _current_model(models: Json) -> str:
    """Return the name of the current model, for programs that list their models beside the options."""
    current = a_text(models.get("currentModelId"))
    listed = [an_object(model) for model in a_list(models.get("availableModels"))]
    return next((a_text(model.get("name")) for model in listed if model.get("modelId") == current), current)
