"""The git-commit step: the project's commit hooks judge the work, as they judge a person's."""

from __future__ import annotations

from dataclasses import replace

from ralph.checkout.hooks import commit_with_hooks
from ralph.checkout.leaks import told
from ralph.checkout.working_copy import WorkingCopy
from ralph.plan.attempt import StepResult
from ralph.steps.base import Context, Step
from ralph.verify.gates import gate_environment

MAX_OUTPUT = 4_000


class GitCommitStep(Step):
    repeatable = True

    async def run(self, context: Context) -> StepResult:
        """Make the commit once with the hooks, which may refuse or change it; the commit that lands is Ralph's own."""
        copy, host = context.copy, context.host
        assert copy is not None, "work that commits has a working copy"
        commit, base = await context.work_commit(), await host.commit_base(context.attempt)
        said = next((result.summary for result in context.record.steps if result.summary), "")
        message = context.attempt.commit_message
        passed = replace(self.passed(), commit=commit, summary=said or message.split("\n", 1)[0])
        if not copy.repo.hooks() or commit == base:
            return passed
        # reset before the guard starts, so that it sees only what hooks change
        await copy.reset(base, await copy.repo.tree_of(commit))
        undone = host.logs / f"{context.label}-undone-by-hooks"
        with host.temporary() as temporary:
            variables = {**host.variables, **copy.repo.ident.variables, "TMPDIR": str(temporary)}
            environment = gate_environment(host.config, variables)
            async with host.protect(replace(context.work, claimable="")).until_end(undone) as protection:
                owner = context.attempt.run
                within = host.enclose_hooks(temporary)
                made = await commit_with_hooks(
                    copy, base, commit, said or message, environment, owner=owner, within=within
                )
        if made.refused:
            output = host.secrets.text(made.output).strip()[-MAX_OUTPUT:]
            return self.failed(f"The commit failed in a git hook ({made.refused}):\n\n{output}")
        if made.leaked:
            return self.failed(f"A git hook wrote {told(made.leaked)}.")
        reason = protection.violations.reason("A git hook") or await self._touched_protected(
            context, copy, base, made.commit
        )
        if reason:
            return self.failed(reason)
        return replace(passed, commit=made.commit, hooked_subject=made.subject, trailers=made.trailers)

    async def _touched_protected(self, context: Context, copy: WorkingCopy, base: str, commit: str) -> str:
        """Return a reason if hooks changed protected files; hooks may format any others."""
        globs = context.attempt.protect
        if not globs:
            return ""
        found = await copy.repo.between(base, commit, *(copy.repo.prefix + glob for glob in globs))
        return f"A git hook broke the rules: it changed protected files ({', '.join(found)})." if found else ""
