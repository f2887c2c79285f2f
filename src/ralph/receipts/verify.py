"""Decides for each commit of a range whether it has a valid receipt."""

from __future__ import annotations

from collections.abc import Sequence
from enum import Enum

from ralph.frozen import Frozen
from ralph.receipts.dsse import UnreadableReceipt
from ralph.receipts.find import CommitToCheck, FoundReceipt, ReceiptFinder
from ralph.receipts.parse import ReadReceipt, read_receipts
from ralph.receipts.signatures import SignatureCheck, SignatureChecker, Standing
from ralph.workspace import PROGRESS, RALPH, SESSIONS, SPECS_PLAN

MAX_CHAIN = 1_000
ORDER = (Standing.VERIFIED, Standing.UNKNOWN_KEY, Standing.UNSIGNED, Standing.BAD)


class ReceiptState(Enum):
    """The result for one commit."""

    VALID = "valid"
    MISSING = "missing"
    INVALID = "invalid"


class Match(Enum):
    """How a receipt belongs to a commit."""

    COMMIT = "commit"
    TREE = "tree"  # another commit with exactly the same files, as after a squash


class ReceiptCheck(Frozen):
    """A commit and what was found for it."""

    commit: CommitToCheck
    state: ReceiptState
    problem: str = ""
    match: Match = Match.COMMIT
    receipt: ReadReceipt | None = None  # about the code, even if the commit itself changes only Ralph's own files
    is_state: bool = False  # the commit changes only Ralph's own files
    signature: SignatureCheck = SignatureCheck(standing=Standing.UNSIGNED)
    where: str = ""

    @property
    def is_valid(self) -> bool:
        return self.state is ReceiptState.VALID


class ReceiptVerifier(Frozen):
    """Checks receipts against commits and signatures."""

    finder: ReceiptFinder
    checker: SignatureChecker

    def check_all(self, commits: Sequence[CommitToCheck]) -> list[ReceiptCheck]:
        self.finder.read(name for commit in commits for name in (commit.commit, commit.tree))
        return [self.check(commit) for commit in commits]

    def check(self, commit: CommitToCheck) -> ReceiptCheck:
        """Return the best result among the receipts of a commit, and of its tree."""
        found = (*self.finder.receipts_of(commit.commit), *self.finder.receipts_of(commit.tree))
        checks: list[ReceiptCheck] = []
        for one in found:
            check = self._one(commit, one)
            if check.is_valid:
                return check
            checks.append(check)
        return checks[0] if checks else ReceiptCheck(commit=commit, state=ReceiptState.MISSING)

    def _one(self, commit: CommitToCheck, found: FoundReceipt) -> ReceiptCheck:
        try:
            receipt, match = _chosen(_readable(found), commit)
            signature = self._signature(receipt)
            code = receipt
            if receipt.base:
                code, signature = self._code_below(commit, receipt, match, signature)
        except UnreadableReceipt as error:
            return ReceiptCheck(commit=commit, state=ReceiptState.INVALID, problem=str(error), where=found.where)
        return ReceiptCheck(
            commit=commit,
            state=ReceiptState.VALID,
            match=match,
            receipt=code,
            is_state=receipt.base is not None and match is Match.COMMIT,
            signature=signature,
            where=found.where,
        )

    def _signature(self, receipt: ReadReceipt) -> SignatureCheck:
        """Return the worst standing of a receipt's envelopes; each of them counts."""
        checks = []
        for one in receipt.statements:  # the first that will not do decides: each check starts programs
            checks.append(self.checker.check(one.envelope))
            self._refuse(checks[-1])
        return max(checks, key=lambda check: ORDER.index(check.standing))

    def _refuse(self, check: SignatureCheck) -> None:
        """Raise an error if a signature does not fit, or is not one that the person asks for."""
        if check.standing is Standing.BAD:
            raise UnreadableReceipt(check.problem)
        if self.checker.only_these and check.standing is not Standing.VERIFIED:
            known = "it is unsigned" if check.standing is Standing.UNSIGNED else f"its key {check.key} is not allowed"
            raise UnreadableReceipt(f"{known}, and --signers asks for a signature of an allowed signer")

    def _code_below(
        self, commit: CommitToCheck, receipt: ReadReceipt, match: Match, signature: SignatureCheck
    ) -> tuple[ReadReceipt, SignatureCheck]:
        """Follow commits that change only Ralph's own files to the one that was verified with the same code.

        A commit that Ralph made itself needs no more than that its changes are only such files. For a squash, the
        receipts below are all that there is.
        """
        if match is Match.COMMIT:
            self._check_only_own(commit, receipt)
            return receipt, signature
        checks, code = [signature], receipt
        for _ in range(MAX_CHAIN):
            base = code.base
            if base is None:
                return code, max(checks, key=lambda check: ORDER.index(check.standing))
            code = self._receipt_of(base.commit, base.tree)
            checks.append(self._signature(code))
        raise UnreadableReceipt(f"more than {MAX_CHAIN} commits in a row change only Ralph's own files")

    def _receipt_of(self, commit: str, tree: str) -> ReadReceipt:
        for found in self.finder.receipts_of(commit):
            for receipt in _readable(found):
                if (receipt.subject.commit, receipt.subject.tree) == (commit, tree):
                    return receipt
        raise UnreadableReceipt(f"it only names {commit[:12]} as the commit with the same code, which has no receipt")

    def _check_only_own(self, commit: CommitToCheck, receipt: ReadReceipt) -> None:
        base = receipt.base
        if base is None or base.commit not in commit.parents:
            raise UnreadableReceipt("the commit that it names as its base is not a parent here (a shallow clone?)")
        changed = self.finder.paths_changed(base.commit, commit.commit)
        if changed is None:
            raise UnreadableReceipt("its base is not in this clone, so its changes cannot be checked")
        foreign = next((path for path in changed if not is_own(path)), None)
        if foreign is not None:
            raise UnreadableReceipt(f"it says that only Ralph's own files changed, but {foreign!r} did")


def is_own(path: str) -> bool:
    """Return whether a file is one of Ralph's own, wherever the project is in its repository."""
    *folders, name = path.split("/")
    return RALPH in folders or SESSIONS in folders or name in (SPECS_PLAN, PROGRESS)


def _readable(found: FoundReceipt) -> tuple[ReadReceipt, ...]:
    if found.problem:
        raise UnreadableReceipt(found.problem)
    return read_receipts(found.text)


def _chosen(receipts: tuple[ReadReceipt, ...], commit: CommitToCheck) -> tuple[ReadReceipt, Match]:
    """Return the receipt of this commit, or else one of its tree."""
    for receipt in receipts:
        if (receipt.subject.commit, receipt.subject.tree) == (commit.commit, commit.tree):
            return receipt, Match.COMMIT
    for receipt in receipts:
        if receipt.subject.tree == commit.tree:
            return receipt, Match.TREE
    other = receipts[0].subject.commit
    what = "another tree" if other == commit.commit else f"another commit ({other[:12]})"
    raise UnreadableReceipt(f"it is about {what}")
