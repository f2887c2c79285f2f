"""An agent that speaks the Agent Client Protocol as a test tells it to: `agent` writes a program of these lines."""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import Any

WORDS = '''
import json, os, sys, time

def put(message):
    print(json.dumps({"jsonrpc": "2.0", **message}), flush=True)

def get():
    line = sys.stdin.readline()
    if not line:
        sys.exit(0)
    return json.loads(line)

def reply(request, **more):
    put({"id": request["id"], **more})

def tell(**update):
    put({"method": "session/update", "params": {"sessionId": "s1", "update": update}})

def say(text, **more):
    tell(sessionUpdate="agent_message_chunk", content={"type": "text", "text": text}, **more)

def ask(method="session/request_permission", kind="edit", options=("allow_always", "allow_once", "reject_once")):
    options = [{"optionId": f"my-{name}", "name": name, "kind": name} for name in options]
    tool = {"toolCallId": "t1", "title": "Write a.txt", "kind": kind}
    put({"id": "q1", "method": method, "params": {"sessionId": "s1", "toolCall": tool, "options": options}})
    return get()

def opened(**session):
    """Answer until the prompt comes."""
    while True:
        request = get()
        if request["method"] == "initialize":
            reply(request, result={"protocolVersion": 1})
        elif request["method"] == "session/prompt":
            return request
        elif request["method"] == "session/new":
            reply(request, result={"sessionId": "s1", **session})
        else:
            reply(request, result={})

def stop(request, reason="end_turn", **more):
    reply(request, result={"stopReason": reason, **more})
    sys.stdin.read()
'''


def program(path: Path, lines: str) -> Path:
    """Write a program that can use all of `WORDS`."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!{sys.executable} -IS\n{WORDS}\n{lines}\n")
    path.chmod(0o755)
    return path


def exchanged(log: Path) -> tuple[list[dict[str, Any]], list[dict[str, Any]]]:
    """Return what the agent sent and what Ralph sent, as a log has it."""
    lines = log.read_text().splitlines()
    received = [json.loads(line) for line in lines if line.startswith("{")]
    return received, [json.loads(line[2:]) for line in lines if line.startswith("→ ")]
