"""Compares the specs on disk with implementation.json; cheap enough for every command."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from pathlib import Path

from ralph.plan.model import Plan, TaskState
from ralph.workflows.specs.spec_files import spec_paths


def gone(root: Path, plan: Plan) -> list[str]:
    """Files of specs that have open tasks but no longer exist."""
    wanted = {task.spec for task in plan if task.state is TaskState.PENDING}
    return [spec.file for spec in plan.specs if spec.id in wanted and not (root / spec.file).is_file()]


def outdated(root: Path, plan: bytes | None) -> Iterator[str]:
    """What has changed in the specs since they were planned."""
    specs = json.loads(plan or b'{"specs": []}')["specs"]
    planned = {str(entry["file"]): str(entry.get("specHash", "")) for entry in specs}
    for file in spec_paths(root):
        if file not in planned:
            yield f"{file} is not in the plan yet"
        elif planned[file] and planned[file] != _fingerprint_of(root / file):
            yield f"{file} has changed since it was planned"


def _fingerprint_of(path: Path) -> str:
    try:
        return fingerprint(path.read_bytes())
    except OSError:
        return ""  # such as a broken link: plan mode reports it


def fingerprint(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()
