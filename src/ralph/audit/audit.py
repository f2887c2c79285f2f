"""Audits the difference between base and work: what of it weakens the checks."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from ralph.audit.absorbed import compare
from ralph.audit.assertions import loosened
from ralph.audit.beside_tests import beside_tests
from ralph.audit.collected import Collected
from ralph.audit.conventions import is_test_file
from ralph.audit.definitions import redefined
from ralph.audit.files import ChangedFile, ReadAll, matches, trees
from ralph.audit.observed import Observed, stopped
from ralph.audit.reached import reach
from ralph.audit.shadowing import shadowed
from ralph.audit.skipped import skipped
from ralph.audit.thresholds import lowered
from ralph.audit.vanished import vanished
from ralph.plan.evidence import Concern, ConcernKind
from ralph.plan.model import Gate

MOST = 200  # concerns; nobody reads more


def audit(
    changes: Sequence[ChangedFile],
    gates: Sequence[Gate],
    *,
    read_base: Callable[[str], bytes | None],
    list_base: Callable[[], Sequence[str]],
    read_all: ReadAll | None = None,
    may: Sequence[str] = (),
    observed: Observed | None = None,
) -> tuple[Concern, ...]:
    """Return what may have weakened the checks, by path and line; `may` are the globs that the task may change.

    `read_all` reads many files of the base at once, if `read_base` is slow.
    `observed` is what the gates said about the tests that ran; None if they have not run.
    """
    no_programs = [one for one in changes if one.stopped_running and is_test_file(one.path)]
    changes = [change for change in changes if change.before != change.after]
    by_path = {change.path: change for change in changes}
    base, work = trees(changes, read_base, list_base, read_all)
    before, after = (reach(tree, [gate.command for gate in gates]) for tree in (base, work))
    calls = [*before.calls, *after.calls]
    collected = Collected.of(before.calls, base)
    compared = compare(changes, collected.includes, base)
    found = [
        *vanished(compared, by_path, collected),
        *skipped(compared),
        *(
            Concern(kind=ConcernKind.SKIPPED, path=one.path, text="the test file can no longer be run as a program")
            for one in no_programs
        ),
        *loosened(compared),
        *lowered(changes),
        *beside_tests(changes),
        *(redefined(by_path, before, after) if gates else ()),
        *shadowed(by_path, calls, work),
    ]
    if observed:
        found += stopped(observed, compared, found, base, work)
    allowed = [concern for concern in dict.fromkeys(found) if not matches(concern.path, may)]
    order = list(ConcernKind)
    return tuple(sorted(allowed, key=lambda one: (order.index(one.kind), one.path, one.line or 0))[:MOST])
