"""What a receipt costs beside the landing of its commit, which moves the notes and the branch at once."""

from __future__ import annotations

import asyncio
import shutil
import subprocess
import time
from dataclasses import replace
from pathlib import Path
from statistics import median
from tempfile import TemporaryDirectory

from bench.measure import folder, seconds
from bench.table import Row
from ralph.git.repo import Repo, open_repo
from ralph.plan.evidence import Evidence
from ralph.plan.model import GateResult
from ralph.plan.usage import Usage
from ralph.receipts.statement import AttemptFacts, Subject, WorkFacts
from ralph.receipts.writer import ReceiptWriter

BEFORE, ROUNDS = 1_000, 50
GATES = ("ruff check", "mypy --strict", "pytest -q")
FACTS = WorkFacts(
    gates=tuple(GateResult(name=name, command=f"uv run {name}", passed=True, seconds=1.0) for name in GATES),
    attempts=(
        AttemptFacts(
            work="US-001",
            kind="task",
            number=1,
            run="20260101-000000-00000000",
            agent="claude",
            model="opus",
            prompt="ab" * 32,
            usage=Usage(input_tokens=100_000, output_tokens=5_000, cost_usd=1.0, calls=1),
            evidence=Evidence.REGRESSION_ONLY,
            base="b" * 40,
            ref="refs/ralph/attempts/auth/US-001/1",
            journal=("cd" * 32, 123_456),
        ),
    ),
    policies={"ralph.config.json": b"{}" * 1_000, "protect": b"tests/**"},
    at="2026-01-01T00:00:00Z",
    ralph="1.0",
)


def rows() -> list[Row]:
    with folder() as place:
        subprocess.run(["git", "init", "-q", str(place / "project")], check=True)
        if shutil.which("ssh-keygen"):
            subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", str(place / "key")], check=True)
        return asyncio.run(_measure(place))


async def _measure(place: Path) -> list[Row]:
    """The best of each: what disturbs one only ever makes it longer."""
    unsigned = await open_repo(place / "project")
    for _ in range(BEFORE):
        await _write(unsigned, place)
    has_key = (place / "key").exists()
    signed = replace(unsigned, signing={"user.signingkey": str(place / "key"), "gpg.format": "ssh"})
    times: dict[str, list[float]] = {"unsigned": [], "signed": [], "ssh-keygen": []}
    for _ in range(ROUNDS):
        times["unsigned"].append(await _write(unsigned, place))
        if has_key:
            times["signed"].append(await _write(signed, place))
            times["ssh-keygen"].append(1000 * seconds(lambda: _bare(place)))
    best = {name: min(all_of) for name, all_of in times.items() if all_of}
    rows = [_row("written without a key", best["unsigned"], {"median": median(times["unsigned"])})]
    if has_key:
        rows.append(_row("signed, beyond ssh-keygen itself", best["signed"] - best["ssh-keygen"], best))
    return rows


def _row(what: str, measured: float, parts: dict[str, float]) -> Row:
    return Row(group="receipts", what=f"receipt of a task: {what}", measured=measured, unit="ms", limit=10, parts=parts)


async def _write(repo: Repo, place: Path) -> float:
    """The milliseconds that one takes."""
    writer = ReceiptWriter(repo=repo, folder=place / "project/.ralph/receipts")
    subject = Subject(branch="ralph/auth", commit=_name(), tree=_name())
    began = time.perf_counter()
    moves = await writer.work(subject, FACTS)
    taken = 1000 * (time.perf_counter() - began)
    for ref, commit, _ in moves:
        path = repo.git_dir / ref
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(f"{commit}\n")  # as git does with the move of the branch, without another process
    return taken


def _bare(place: Path) -> None:
    """Sign as many files of that size with one call of ssh-keygen."""
    with TemporaryDirectory(dir=place) as name:
        files = [Path(name, str(number)) for number in range(len(GATES) + 2)]
        for file in files:
            file.write_bytes(b"x" * 1_000)
        command = ["ssh-keygen", "-Y", "sign", "-q", "-n", "in-toto", "-f", str(place / "key"), *map(str, files)]
        subprocess.run(command, check=True, capture_output=True)


_names = iter(range(1 << 60))


def _name() -> str:
    """The name of an object that does not exist, spread as real names are."""
    return f"{(next(_names) * 0x9E3779B97F4A7C15) % (1 << 64):016x}".ljust(40, "0")
