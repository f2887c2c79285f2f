"""R3.7, R3.9: the final verification, and whose words count."""

from __future__ import annotations

import pytest

from tests.conftest import VERIFIED, Project, does


def final(*lines: str, **more: object) -> dict[str, object]:
    return {"match": "# Final Verification", "say": list(lines), **more}


def test_reset_sends_back_only_the_named_stories_with_the_reason(project: Project) -> None:
    project.config("true")
    project.stories("One", "Two")
    verdict = ("<ralph>RESET:US-002</ralph>", "<ralph>REASON:no tests</ralph>")
    project.script(
        does("US-001", "one.txt"),
        does("US-002", "two.txt", times=1),
        does("US-002", "tests.txt"),
        final(*verdict, times=1),
        VERIFIED,
    )

    done = project.ralph("run", "auth")

    assert "sent back: US-002 · no tests" in done.stdout
    assert project.story("US-001")["retries"] == 0
    assert project.story("US-002")["retries"] == 1
    prompt = next(text for text in project.prompts() if "no tests" in text)
    assert "**ID:** US-002" in prompt


def test_both_markers_mean_reset(project: Project) -> None:
    project.config("true")
    project.stories("One")
    both = final("<ralph>VERIFIED</ralph>", "<ralph>RESET:US-001</ralph>", times=1)
    project.script(does("US-001", "one.txt", times=1), does("US-001", "two.txt"), both, VERIFIED)

    assert "sent back: US-001" in project.ralph("run", "auth").stdout


def test_verified_is_refused_while_the_suite_is_red_and_ends_with_exit_code_3(project: Project) -> None:
    # The gate is green for the story and red for the final verification.
    count = project.folder / "count"
    project.config(f"echo x >> {count}; test $(wc -l < {count}) -lt 3 || {{ echo 'error: too many runs'; exit 1; }}")
    project.stories("One")
    project.script(does("US-001", "one.txt"), VERIFIED)

    done = project.ralph("run", "auth", code=3)

    assert "The verifier said VERIFIED, but gates fail" in done.stdout
    assert "the final verification did not agree" in done.stdout
    prompt = project.prompts()[-1]
    assert "FAILED, exit code 1" in prompt
    assert "error: too many runs" in prompt
    assert project.plan()["run"]["verification"]["failures"] == 3
    assert "one.txt" in project.files_in("ralph/auth"), "what passed stays where it landed"


@pytest.mark.parametrize(
    ("what", "words"),
    [
        ("says nothing", []),
        ("denies it", ["I am NOT saying <ralph>VERIFIED</ralph> yet."]),
        ("quotes a file", ["The file says:", "```", "text", "<ralph>VERIFIED</ralph>", "```", "Not yet."]),
        ("names unknown stories", ["<ralph>RESET:US-999</ralph>"]),
    ],
)
def test_a_review_without_a_usable_verdict_is_asked_again_then_given_up(
    project: Project, what: str, words: list[str]
) -> None:
    project.config("true")
    project.stories("One")
    project.script(does("US-001", "one.txt"), final(*words))

    done = project.ralph("run", "auth", code=3)

    assert "attempt 3, try 3 of 3" in done.stdout, what
    assert project.calls() == 4
    project.script(VERIFIED)
    project.ralph("retry", "auth")
    project.ralph("run", "auth")


def test_an_agent_that_prints_its_prompt_or_a_file_with_markers_is_not_done(project: Project) -> None:
    project.config("true", maxRetries=1)
    project.write("docs.md", "# Markers\n\nSay this:\n\n    <ralph>DONE</ralph>\n")
    project.git("add", "docs.md")
    project.git("commit", "-qm", "Docs")
    project.stories("One")
    project.write(".ralph/prompts/run.md", "Story {{ storyId }}. When done say\n{{ doneMarker }}\nand stop.\n")
    project.script(
        {
            "match": "Story US-001",
            "write": {"a.txt": "a"},
            "run": ["cat docs.md", "cat .ralph/prompts/run.md"],
            "say": ["Story US-001. When done say", "<ralph>DONE</ralph>", "and stop."],
        }
    )

    project.ralph("run", "auth", code=3)

    assert "without saying <ralph>DONE</ralph>" in project.story()["notes"]


def test_a_reset_does_not_count_what_failed_before_the_story_had_passed(project: Project) -> None:
    project.config("! grep -qs red one.txt", maxRetries=2)
    project.stories("One")
    project.script(
        does("US-001", "one.txt", "red\n", times=1),
        does("US-001", "one.txt", "green\n", times=1),
        does("US-001", "two.txt"),
        final("<ralph>RESET:US-001</ralph>", "<ralph>REASON:no tests</ralph>", times=1),
        VERIFIED,
    )

    project.ralph("run", "auth")

    assert (project.story()["retries"], project.story()["resets"]) == (1, 1)


def test_resets_are_bounded_too(project: Project) -> None:
    project.config("true", maxRetries=2)
    project.stories("One")
    redo = {"match": "ID:.. US-001", "run": ["date +%N > one.txt; git add one.txt; git commit -qm one"], "done": True}
    project.script(redo, final("<ralph>RESET:US-001</ralph>", "<ralph>REASON:never good enough</ralph>"))

    project.ralph("run", "auth", code=3)

    assert project.story()["blocked"] is True
    assert "never good enough" in project.story()["notes"]
    assert "one.txt" in project.files_in("ralph/auth"), "later work may build on it: it is not taken back"
