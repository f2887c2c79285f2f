"""Acceptance tests in a run: what a tester left, whether it fails without the work, and who sees it."""

from __future__ import annotations

import asyncio
import stat
from collections.abc import Iterable
from dataclasses import replace
from typing import TYPE_CHECKING

from ralph import safe_files
from ralph.audit.conventions import is_test_file
from ralph.audit.files import matches
from ralph.checkout.changed_files import changed_files
from ralph.engine.integrity import weakened_by
from ralph.git.objects import TreeEntry, blob_id, write_object
from ralph.git.repo import Repo
from ralph.git.trees import entries_at, with_entries
from ralph.journal.events import Noted
from ralph.plan.acceptance_tests import ACCEPTANCE, AcceptanceFile, AcceptanceTests, wish_of
from ralph.plan.attempt import Attempt, GivenTests
from ralph.plan.model import Gate, GateResult, HeldOut, Task, TaskState, Tells
from ralph.stores.acceptance_tests import AcceptanceStore
from ralph.stores.held_out import HeldOutFile
from ralph.verify.gate_list import UNNAMED
from ralph.verify.red_check import compare

if TYPE_CHECKING:
    from ralph.checkout.working_copy import WorkingCopy
    from ralph.engine.run import Run

EARLIER = "earlier acceptance tests"
MAX_FILE, MAX_FILES = 1_000_000, 200


class AcceptanceDesk:
    """The acceptance tests of a run. They are read once, so that nothing on the disk changes them during the run."""

    def __init__(self, run: Run) -> None:
        self._run = run
        self._store = AcceptanceStore.of(run.workspace, run.plan.target)
        self._kept: dict[str, AcceptanceTests | None] = {}
        self._turns: dict[str, asyncio.Lock] = {}

    def turn(self, task: str) -> asyncio.Lock:
        """Serialize attempts at the same task: only the first calls the tester."""
        return self._turns.setdefault(task, asyncio.Lock())

    async def known(self, attempt: Attempt) -> AcceptanceTests:
        """Return the tests of a task; without files if they must be written because it or its base has changed."""
        task = _task(attempt)
        found, wish = self._of(task.id), wish_of(self._run.plan, task)
        if found and found.wish == wish and await self._fit(found, attempt.base):
            return found
        former = (*found.former, *found.paths) if found else ()
        return AcceptanceTests(task=task.id, wish=wish, former=tuple(dict.fromkeys(former)))

    async def collect(
        self, attempt: Attempt, copy: WorkingCopy, before: AcceptanceTests, tester: str, mistake: str
    ) -> AcceptanceTests:
        """Keep what a tester left in its copy, and what is wrong with it; `mistake` is known already."""
        changed = await changed_files(copy)
        base = await entries_at(self._repo, await self._repo.tree_of(attempt.base), changed)
        files, mistakes = self._sorted(copy, changed, base)
        if mistake:
            mistakes = [mistake, *mistakes]
        if not files and not mistakes:
            mistakes = ["there is no new or changed test file"]
        kept = {file.path for file in files}
        former = tuple(path for path in dict.fromkeys((*before.former, *before.paths)) if path not in kept)
        made = replace(before, files=tuple(files), tester=tester, former=former, base=attempt.base)
        made = replace(made, is_checked=False, red=(), gates=())
        weaker = () if mistakes else await weakened_by(self._run, attempt, files)
        return self._keep(replace(made, mistakes=(*mistakes, *map(str, weaker))))

    async def check(self, attempt: Attempt, tests: AcceptanceTests) -> AcceptanceTests:
        """Run the gates on the base with the tests in it: something must fail that did not fail before."""
        run, runners = self._run, self._runners(_task(attempt))
        before = await self._results(attempt, runners)
        if self._hidden:
            laid = tuple(self._held_out(gate, ACCEPTANCE, (tests.task,)) for gate in runners)
            after = await run.verifier.quietly(attempt.base, laid, f"{attempt.label}-tests")
        else:
            commit = await self._commit(attempt.base, tests)
            after = await run.verifier.quietly(commit, runners, f"{attempt.label}-tests")
            run.before[await self._repo.tree_of(commit)] = after
        found = compare(before, after)
        if found.unclear and not found.red:
            names = ", ".join(f"`{name}`" for name in found.unclear)
            text = f"{names} failed before too, so nothing shows that the acceptance tests fail without the work."
            run.emit(Noted(text=text, warning=True, work=attempt.work.id, attempt=attempt.number))
        mistakes = (found.mistake,) if found.mistake else ()
        gates = found.gates or found.unclear
        return self._keep(replace(tests, is_checked=not mistakes, mistakes=mistakes, red=found.red, gates=gates))

    def ask_again(self, attempt: Attempt, reason: str) -> None:
        """Have the tester write the tests again, because a reviewer found them wrong."""
        found = self._of(_task(attempt).id)
        assert found, "they were disputed"
        mistakes = (f"A reviewer found the tests wrong: {reason}",)
        self._keep(replace(found, wrong=reason, mistakes=mistakes, is_checked=False))

    async def give(self, attempt: Attempt, copy: WorkingCopy) -> None:
        """Put a task's tests into the working copy of its agent, in place of earlier versions."""
        tests = await self.known(attempt)
        given = await self._given(attempt, tests)
        await copy.checkout(attempt.base, self._named(path for path in tests.former if path not in tests.paths))
        if given:
            paths = self._named(given.paths)
            await copy.checkout(given.commit, paths)
            entries = await entries_at(self._repo, await self._repo.tree_of(given.commit), paths)
            copy.start = await with_entries(self._repo, await self._repo.tree_of(copy.start), entries)

    async def take_away(self, attempt: Attempt, copy: WorkingCopy) -> None:
        """Remove a task's tests from the working copy: nobody requires them any more."""
        found = self._of(_task(attempt).id)
        if found and not self._hidden:
            await copy.checkout(attempt.base, self._named((*found.former, *found.paths)))

    async def prepared(self, attempt: Attempt) -> Attempt:
        """Return an attempt with the acceptance tests that its task has now."""
        task = attempt.task
        tests = self._of(task.id) if task else None
        if not task or not tests or not _is_in_force(task, tests):
            return attempt
        return replace(attempt, gates=self._run.gates(task), acceptance=await self._given(attempt, tests))

    def gates(self, task: Task | None) -> tuple[Gate, ...]:
        """Return the gates that run held-out acceptance tests: those of a task, and of all that have passed."""
        if not self._hidden:
            return ()
        passed = [one for one in self._run.plan if one.state is TaskState.PASSED and not one.acceptance and one != task]
        sets = [(ACCEPTANCE, self._in_force([task] if task else [])), (EARLIER, self._in_force(passed))]
        return tuple(
            self._held_out(gate, name, tuple(one.task for one in tests if gate.name in one.gates))
            for name, tests in sets
            for gate in self._runners(task)
            if any(gate.name in one.gates for one in tests)
        )

    def files_of(self, tasks: Iterable[str]) -> tuple[HeldOutFile, ...]:
        """Return the files of held-out acceptance tests."""
        kept = [found for task in tasks if (found := self._of(task))]
        return tuple(
            HeldOutFile(path=file.path, data=file.text.encode(), executable=file.executable)
            for tests in kept
            for file in tests.files
        )

    @property
    def _repo(self) -> Repo:
        assert self._run.branch, "work that is tested is on a branch"
        return self._run.branch.repo

    @property
    def _hidden(self) -> bool:
        return self._run.config.acceptance.held_out

    def _of(self, task: str) -> AcceptanceTests | None:
        if task not in self._kept:
            self._kept[task] = self._store.load(task)
        return self._kept[task]

    def _keep(self, tests: AcceptanceTests) -> AcceptanceTests:
        self._kept[tests.task] = self._store.save(tests)
        return tests

    def _in_force(self, tasks: Iterable[Task]) -> list[AcceptanceTests]:
        found = ((task, self._of(task.id)) for task in tasks)
        return [tests for task, tests in found if tests and _is_in_force(task, tests)]

    def _named(self, paths: Iterable[str]) -> list[str]:
        """Return paths of the project as the repository names them."""
        return [f"{self._repo.prefix}{path}" for path in paths]

    async def _fit(self, tests: AcceptanceTests, base: str) -> bool:
        """Return whether the base still has at each path what it had before, or the tests themselves."""
        if not await self._repo.exists(tests.base):  # the project was made anew
            return False
        entries = await entries_at(self._repo, await self._repo.tree_of(base), self._named(tests.paths))
        return all(
            (entry.name if entry else "") in (file.before, blob_id(file.text.encode(), self._repo.algorithm))
            for file, entry in zip(tests.files, entries.values(), strict=True)
        )

    def _sorted(
        self, copy: WorkingCopy, changed: tuple[str, ...], base: dict[str, TreeEntry | None]
    ) -> tuple[list[AcceptanceFile], list[str]]:
        """Sort what a tester changed into test files and mistakes."""
        files: list[AcceptanceFile] = []
        mistakes: list[str] = []
        for path in changed:
            name = path.removeprefix(self._repo.prefix)
            where, entry = copy.folder / path, base[path]
            text = _text(safe_files.read(where, MAX_FILE))
            is_marker = entry is None and where.name == "__init__.py" and text is not None and not text.strip()
            if not where.exists() and not where.is_symlink():
                mistakes.append(f"{name} is gone, but the tester may not delete files")
            elif not (is_test_file(name) or is_marker or matches(name, self._run.config.acceptance.files)):
                mistakes.append(f"{name} is not a test file; the tester writes tests only")
            elif text is None:
                mistakes.append(f"{name} is not a text file of at most {MAX_FILE // 1_000_000} MB")
            elif self._run.secrets.data(data := text.encode()) != data:
                mistakes.append(f"{name} has a secret in it; use another value")
            elif not is_marker and (owner := self._owner_of(name)):
                mistakes.append(f"{name} has the held-out tests of {owner}; use another file")
            else:
                executable = bool(where.stat().st_mode & stat.S_IXUSR)
                before = entry.name if entry else ""
                files.append(AcceptanceFile(path=name, text=text, executable=executable, before=before))
        if len(files) > MAX_FILES:
            mistakes.append(f"there are {len(files)} files; at most {MAX_FILES} are kept")
        return files, mistakes[:MAX_FILES]

    def _owner_of(self, path: str) -> str:
        """Return the passed task whose held-out tests are at this path; "" if there is none."""
        passed = self._in_force(one for one in self._run.plan if one.state is TaskState.PASSED) if self._hidden else ()
        return next((tests.task for tests in passed if path in tests.paths), "")

    def _runners(self, task: Task | None) -> tuple[Gate, ...]:
        """Return the gates that run tests: those that the person named, or that write a report, or else all."""
        run, named = self._run, self._run.config.acceptance.gates
        gates = [gate for gate in run.workflow.gates(task) if gate.applies(run.plan, task) and not gate.held_out]
        gates = [gate for gate in gates if gate.required]
        return tuple([gate for gate in gates if gate.name in named or (gate.report and not named)] or gates)

    async def _results(self, attempt: Attempt, gates: tuple[Gate, ...]) -> tuple[GateResult, ...]:
        """Return what these gates say about the base; run those about which nothing is known."""
        run, tree = self._run, await self._repo.tree_of(attempt.base)
        known = {result.name: result for result in run.known_results(tree)}
        missing = tuple(gate for gate in gates if gate.name not in known)
        if missing:
            made = await run.verifier.quietly(attempt.base, missing, f"{attempt.label}-base")
            known |= {result.name: result for result in made}
            run.before[tree] = (*run.before.get(tree, ()), *made)
        return tuple(known[gate.name] for gate in gates)

    async def _given(self, attempt: Attempt, tests: AcceptanceTests) -> GivenTests | None:
        """Return the tests as the agent sees them; None if they are held out."""
        if self._hidden:
            return None
        commit = await self._commit(attempt.base, tests)
        return GivenTests(commit=commit, paths=tests.paths, gates=frozenset(tests.gates))

    async def _commit(self, base: str, tests: AcceptanceTests) -> str:
        """Write the base with the tests in it as a commit that nothing names."""
        repo = self._repo
        entries: dict[str, TreeEntry | None] = {}
        for file in tests.files:
            blob = write_object(repo.git_dir, "blob", file.text.encode(), repo.algorithm)
            entries[f"{repo.prefix}{file.path}"] = TreeEntry("100755" if file.executable else "100644", blob)
        tree = await with_entries(repo, await repo.tree_of(base), entries)
        return repo.write_commit(tree, (base,), f"{tests.task}: the base with its acceptance tests")

    def _held_out(self, gate: Gate, name: str, tasks: tuple[str, ...]) -> Gate:
        """Return a gate that does the same with the held-out tests of these tasks."""
        tells = Tells(self._run.config.held_out.tells)
        told = UNNAMED if tells is Tells.NOTHING else name
        held_out = HeldOut(name=f"{name} ({gate.name})", command=gate.command, tells=tells, tests_of=tasks)
        return replace(gate, name=told, command=told, tasks=(), held_out=held_out)


def _task(attempt: Attempt) -> Task:
    assert attempt.task, "only tasks have acceptance tests"
    return attempt.task


def _is_in_force(task: Task, tests: AcceptanceTests) -> bool:
    return tests.is_checked and ACCEPTANCE not in task.waived


def _text(data: bytes | None) -> str | None:
    try:
        return None if data is None or b"\0" in data else data.decode()
    except UnicodeDecodeError:
        return None
