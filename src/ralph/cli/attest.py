"""`ralph attest`: shows the receipts of commits, and verifies them in any clone."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import click

from ralph.errors import EXIT_UNFINISHED, RalphError
from ralph.git import read as git_read
from ralph.receipts.find import ReceiptFinder
from ralph.receipts.notes import REF
from ralph.receipts.parse import ReadReceipt
from ralph.receipts.signatures import SignatureCheck, SignatureChecker, Standing
from ralph.receipts.statement import ATTEMPT, PROPERTIES, SUMMARY, TEST_RESULT
from ralph.receipts.verify import Match, ReceiptCheck, ReceiptState, ReceiptVerifier
from ralph.text import one_line
from ralph.views import words
from ralph.views.lines import say, say_json, styled
from ralph.workspace import RALPH

MAX_WORDS, MAX_CONCERNS = 100, 10
ALLOWED = "gpg.ssh.allowedSignersFile"


@click.command(
    name="attest",
    epilog="""\b
Examples:
  ralph attest show                                  the receipt of the newest commit
  ralph attest show ralph/auth --json                its statements, as JSON
  ralph attest verify origin/main..HEAD              every commit of a branch
  ralph attest verify main..HEAD --signers FILE      each signed by someone whom FILE lists

\b
Receipts are in refs/notes/ralph, which git neither pushes nor fetches by itself:
  git push origin refs/notes/ralph
  git fetch origin refs/notes/ralph:refs/notes/ralph

\b
Exit codes: 0 every commit has a valid receipt, 3 not every one. Without --signers, an unsigned receipt is
valid, and the output says that it is unsigned.""",
)
@click.argument("what", metavar="show|verify", type=click.Choice(["show", "verify"]))
@click.argument("revisions", metavar="[RANGE]", default="HEAD")
@click.option(
    "--signers",
    multiple=True,
    type=click.Path(exists=True, dir_okay=False, path_type=Path),
    metavar="FILE",
    help="Who may sign: an allowed_signers file (ssh) or exported OpenPGP keys. Can be repeated.",
)
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def command(what: str, revisions: str, signers: tuple[Path, ...], as_json: bool) -> int:
    """Show or verify the receipts of a commit, or of all commits in RANGE (such as main..HEAD): which gates ran on
    it, what was verified, and who worked on it. This runs no gate, and needs no configuration of Ralph."""
    folder = Path.cwd()
    if git_read.top(folder) is None and not git_read.is_bare(folder):
        raise RalphError(f"{folder} is not in a git repository.", remedy="Change to a clone, or name it with -C DIR.")
    finder = ReceiptFinder(folder, copies=_copies(folder))
    configured = git_read.show(folder, "config", "--type=path", "--get", ALLOWED).strip()
    commits = finder.commits(revisions)
    with SignatureChecker.of(signers, configured).opened() as checker:
        checks = ReceiptVerifier(finder=finder, checker=checker).check_all(commits)
    if as_json:
        say_json([_entry(check, whole=what == "show") for check in checks])
    elif not checks:
        say(f"There is no commit in {revisions}.", fg="yellow")
    else:
        for check in checks:
            _print(check, whole=what == "show")
        _conclude(folder, checks)
    return 0 if checks and all(check.is_valid for check in checks) else EXIT_UNFINISHED


def short(text: object) -> str:
    """Return what anybody may have written as a short text without control characters."""
    return words.cut(one_line(str(text)[:1_000]), MAX_WORDS)


def _copies(folder: Path) -> Path | None:
    """Return the nearest `.ralph/receipts/`."""
    found = (above / RALPH / "receipts" for above in (folder, *folder.parents))
    return next((path for path in found if path.is_dir()), None)


def _print(check: ReceiptCheck, *, whole: bool) -> None:
    mark, colour = ("✓", "green") if check.is_valid else ("✗", "red")
    head = f" {check.commit.commit[:12]} {words.cut(short(check.commit.subject), 60)}"
    say(styled(mark, fg=colour), f"{head}\n    {_said(check)}", hang=4)
    if whole and check.receipt:
        for line in _details(check.receipt):
            say(f"    {line}", hang=4, dim=True)


def _said(check: ReceiptCheck) -> str:
    """Return the result for a commit on one line."""
    if check.state is ReceiptState.MISSING:
        return "no receipt"
    if not check.is_valid or check.receipt is None:
        return f"no valid receipt: {words.cut(one_line(check.problem), 300)}"
    what = "only Ralph's own files changed" if check.is_state else _verified(check.receipt)
    squash = f"matched by its tree ({check.receipt.subject.commit[:12]})" if check.match is Match.TREE else ""
    return " · ".join(filter(None, (what, squash, _signed(check.signature))))


def _verified(receipt: ReadReceipt) -> str:
    passed = sum(test["result"] == "PASSED" for test in receipt.of_kind(TEST_RESULT))
    evidence = dict.fromkeys(short(attempt["evidence"]) for attempt in receipt.of_kind(ATTEMPT))
    gates = f"{words.count(passed, 'gate')} passed" if passed else "no gate passed"
    return ", ".join((gates, *evidence))


def _signed(check: SignatureCheck) -> str:
    match check.standing:
        case Standing.VERIFIED:
            return f"signed by {short(check.by)}"
        case Standing.UNKNOWN_KEY:
            return f"signed by an unknown key ({short(check.key) or 'unnamed'})"
        case _:
            return "unsigned"


def _details(receipt: ReadReceipt) -> Iterator[str]:
    for test in receipt.of_kind(TEST_RESULT):
        gate = test["configuration"][0]
        notes = gate.get("annotations")
        command = notes.get("command", "") if isinstance(notes, dict) else ""
        yield f"gate {short(gate['name'])}: {test['result'].lower()}  {short(command)}"
    known = [PROPERTIES.get(name, short(name)) for name in receipt.properties]
    if receipt.of_kind(SUMMARY):
        yield f"verified: {words.cut(', '.join(known), 400) or 'nothing'}"
    for attempt in receipt.of_kind(ATTEMPT):
        yield ", ".join(filter(None, _attempt_words(attempt)))
        match attempt.get("concerns"):
            case list() as concerns:
                yield from (f"it may have weakened the checks: {short(one)}" for one in concerns[:MAX_CONCERNS])


def _attempt_words(attempt: dict[str, Any]) -> Iterator[str]:
    number = f"/{attempt['attempt']}" if "attempt" in attempt else ""
    yield short(f"{attempt['kind']} {attempt['work']}{number}")
    yield short(":".join(str(attempt[name]) for name in ("agent", "model") if name in attempt))
    match attempt.get("tokens"):
        case dict() as tokens:
            yield f"{sum(count for count in tokens.values() if isinstance(count, int)):,} tokens"
    match attempt.get("cost"):
        case {"usd": int() | float() as usd, "source": source}:
            yield short(f"${usd:.2f} ({source})")
    yield short(attempt["evidence"])


def _conclude(folder: Path, checks: list[ReceiptCheck]) -> None:
    valid = sum(check.is_valid for check in checks)
    what, all_valid = words.count(len(checks), "commit"), valid == len(checks)
    text = f"Every commit has a valid receipt ({what})." if all_valid else f"{valid} of {what} with a valid receipt."
    say(text, fg="green" if all_valid else "red", bold=True)
    if any(check.state is ReceiptState.MISSING for check in checks) and not git_read.head(folder, REF):
        say(f"→ There is no {REF} in this clone. To fetch it: git fetch origin {REF}:{REF}")
    unsure = [check for check in checks if check.is_valid and check.signature.standing is not Standing.VERIFIED]
    if unsure:
        text = f"! {words.count(len(unsure), 'receipt')} without a signature of a known key: anybody who can write to "
        say(f"{text}this repository could have written them. --signers FILE says who may sign.", fg="yellow")


def _entry(check: ReceiptCheck, *, whole: bool) -> dict[str, object]:
    receipt = check.receipt
    entry: dict[str, object] = {
        "commit": check.commit.commit,
        "tree": check.commit.tree,
        "subject": check.commit.subject,
        "receipt": check.state.value,
        "problem": check.problem,
        "matchedBy": check.match.value if check.is_valid else None,
        "stateOnly": check.is_state,
        "signature": check.signature.standing.value if check.is_valid else None,
        "signer": check.signature.by or None,
        "key": check.signature.key or None,
        "properties": list(receipt.properties) if receipt else [],
        "evidence": list(dict.fromkeys(one["evidence"] for one in receipt.of_kind(ATTEMPT))) if receipt else [],
        "where": check.where,
    }
    if whole and receipt:
        entry["statements"] = [{"predicateType": one.kind, "predicate": one.predicate} for one in receipt.statements]
    return entry
