"""Which plans a command without a name means."""

from __future__ import annotations

import json
from pathlib import Path

from ralph.protect import crash_copies
from ralph.workflows.registry import only_target, unfinished
from ralph.workspace import Workspace


def test_a_finished_plan_whose_run_was_killed_is_the_one_to_run(tmp_path: Path) -> None:
    workspace = Workspace(root=tmp_path)
    for name in ("auth", "mail"):
        folder = tmp_path / f".ralph/2026-01-01-{name}"
        folder.mkdir(parents=True)
        story = {"id": "US-001", "title": "One", "priority": 1, "acceptanceCriteria": ["It works"], "passes": True}
        plan = {"schemaVersion": 2, "branchName": f"ralph/{name}", "description": "d", "userStories": [story]}
        plan["run"] = {"verification": {"verifiedAt": "2026-01-01T00:00:00Z"}}
        (folder / "prd.json").write_text(json.dumps(plan))
    assert unfinished(workspace) == []

    crash_copies.keep(workspace, "mail", [], tip="abc")

    assert [target.name for target in unfinished(workspace)] == ["mail"]
    assert only_target(workspace).name == "mail"
