"""Makes the pictures in docs/images/ from a real run: real git, real gates, a scripted agent, a real browser.

`make screenshots` runs it. `--all FOLDER` writes every page at three sizes, light and dark, to look at.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from ralph import config
from ralph.verify.browser import find_chromium

ROOT = Path(__file__).parents[1]
IMAGES = ROOT / "docs/images"
RALPH = [str(ROOT / ".venv/bin/ralph")]
SIZES = {"wide": (1440, 900), "middle": (900, 1000), "phone": (390, 844)}
PLAN = "/p/0/checkout"
PAGES = {
    "plans": "/", "board": PLAN, "timeline": f"{PLAN}/timeline", "cost": f"{PLAN}/cost", "graph": f"{PLAN}/graph",
    "activity": f"{PLAN}/activity", "task": f"{PLAN}/task/US-003", "first": f"{PLAN}/task/US-003/0",
    "compared": f"{PLAN}/task/US-003/1?with=0", "needs": f"{PLAN}/task/US-006",
}  # fmt: skip
STORIES: tuple[tuple[str, str, tuple[str, ...]], ...] = (
    ("Put things into a cart", "cart.py", ()),
    ("Take things out of the cart again", "remove.py", ("US-001",)),
    ("Ten percent off from 100 euros on", "discount.py", ("US-001",)),
    ("Say what the delivery costs", "delivery.py", ("US-001",)),
    ("Show the sum with tax", "tax.py", ("US-003", "US-004")),
    ("Send a receipt by mail", "receipt.py", ("US-005",)),
    ("Pay with a card", "card.py", ("US-005",)),
    ("Pay when it arrives", "later.py", ("US-005",)),
    ("Remember the address", "address.py", ("US-007", "US-008")),
)
SHOP = "import unittest\n\n\nclass Shop(unittest.TestCase):\n    def test_it(self) -> None: ...\n"
ONE_TEST = """import unittest

import NAME


class One(unittest.TestCase):
    def test_it(self) -> None:
        self.assertTrue(NAME.works())
"""
WRONG = "def discount(total: int) -> float:\n    return total * 0.9 if total > 100 else total\n"
RIGHT = "def discount(total: int) -> float:\n    return total * 0.9 if total >= 100 else total\n"
TEST = """import unittest

from discount import discount


class Discount(unittest.TestCase):
    def test_one_hundred_euros_are_enough(self) -> None:
        self.assertEqual(discount(100), 90)

    def test_less_is_not(self) -> None:
        self.assertEqual(discount(99), 99)
"""


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__)
    options.add_argument("--all", type=Path, metavar="FOLDER", help="write every page at every size there")
    every = options.parse_args().all
    with tempfile.TemporaryDirectory(prefix="ralph-screenshots-") as folder:
        project = _project(Path(folder))
        with _started(project, "run", "checkout", "--jobs", "3"), _dashboard(project) as link:
            _wait_for(project, 8)
            _take(link, every)


def _project(folder: Path) -> Path:
    """A shop whose plan is half done: one story was red first, one needs a person, two are being worked on."""
    project, agent = folder / "shop", folder / "agent"
    (project / ".ralph/2026-11-18-checkout").mkdir(parents=True)
    agent.mkdir()
    stories = [
        {"id": f"US-{number:03}", "title": title, "priority": number, "dependsOn": list(needs),
         "description": f"As a customer, I want this: {title.lower()}.",
         "acceptanceCriteria": [f"{title}, with a test"]}
        for number, (title, _, needs) in enumerate(STORIES, 1)
    ]  # fmt: skip
    document = {
        "schemaVersion": 2, "branchName": "ralph/checkout", "userStories": stories,
        "description": "A checkout that customers finish: cart, discount, delivery, payment",
    }  # fmt: skip
    (project / ".ralph/2026-11-18-checkout/prd.json").write_text(json.dumps(document, indent=2))
    (agent / "script.json").write_text(json.dumps({"turns": list(_turns(agent))}))
    program = agent / "scripted"  # its name is what the pictures show
    script = [sys.executable, "-m", "ralph", "scripted", str(agent / "script.json"), "--state", str(agent / "calls")]
    program.write_text(f"#!/bin/sh\nexec {shlex.join(script)}\n")
    program.chmod(0o755)
    provider = {
        "command": str(program),
        "env": ["PYTHON*"],
        "state": [str(agent)],
        "dialect": "claude",
        "isolate": False,
    }
    gates = [
        {"name": "tests", "command": "python3 -m unittest -q"},
        {"name": "types", "command": "python3 -m compileall -q ."},
    ]
    settings = {"provider": provider, "gates": gates, "maxRetries": 2}
    (project / "ralph.config.json").write_text(json.dumps(settings, indent=2))
    (project / "test_shop.py").write_text(
        "import unittest\n\n\nclass Shop(unittest.TestCase):\n    def test_it(self) -> None: ...\n"
    )
    (project / ".gitignore").write_text("__pycache__/\n")
    for args in (["init", "-q", "-b", "main"], ["add", "-A"], ["commit", "-qm", "A shop"]):
        who = ["-c", "user.name=You", "-c", "user.email=you@example.com"]
        subprocess.run(["git", *who, *args], cwd=project, check=True)
    return project


def _turns(agent: Path) -> Iterator[dict[str, Any]]:
    test = {"test_discount.py": TEST}
    yield _turn("US-003", "The boundary was wrong: 100 euros are enough.", {"discount.py": RIGHT, **test}, 1.1, 0.31,
                after="What Went Wrong Before")  # fmt: skip
    yield _turn(
        "US-003",
        "A discount from 100 euros on, with tests. All of them pass!",
        {"discount.py": WRONG, **test},
        1.6,
        0.42,
    )
    yield _turn(
        "US-006",
        "<ralph>BLOCKED:Which mail server may I use? There is no account in .env.</ralph>",
        {},
        0.7,
        0.11,
        says="",
    )
    for number, (_, file, _) in enumerate(STORIES, 1):
        if number not in (3, 6):
            name = file.removesuffix(".py")
            tests = ONE_TEST.replace("NAME", name)
            files = {file: "def works() -> bool:\n    return True\n", f"test_{name}.py": tests}
            seconds = 600.0 if number in (7, 8) else 0.9 + number % 3 * 0.5
            text = f"Reading the plan. I add `{file}` and its tests, then run them."
            yield _turn(f"US-{number:03}", text, files, seconds, 0.18 + number * 0.03)


def _turn(
    story: str, text: str, files: dict[str, str], seconds: float, cost: float, *, after: str = "", says: str = "DONE"
) -> dict[str, Any]:
    """A call of the scripted agent that prints what Claude Code prints, cost included."""
    end = [_assistant(f"<ralph>{says}</ralph>")] if says else []
    tokens = {
        "input_tokens": int(cost * 9_000),
        "output_tokens": int(cost * 6_000),
        "cache_read_input_tokens": int(cost * 400_000),
    }
    result = {
        "type": "result",
        "subtype": "success",
        "is_error": False,
        "total_cost_usd": cost,
        "usage": tokens,
        "result": "",
    }
    return {
        "match": rf"\*\*ID:\*\* {story}\b" + (rf"[\s\S]*{after}" if after else ""),
        "say": [json.dumps({"type": "system", "subtype": "init", "model": "claude-opus"}), _assistant(text)],
        "write": files,
        "sleep": seconds,
        "then": [*end, json.dumps(result)],
    }


def _assistant(text: str) -> str:
    content = [{"type": "text", "text": text}]
    return json.dumps({"type": "assistant", "message": {"role": "assistant", "content": content}})


def _environment(project: Path) -> dict[str, str]:
    home = project.parent / "home"
    home.mkdir(exist_ok=True)
    (home / ".gitconfig").write_text("[user]\n\tname = You\n\temail = you@example.com\n")
    return {**os.environ, "HOME": str(home), "XDG_CACHE_HOME": str(home / "cache"), "XDG_DATA_HOME": str(home / "data"),
            "RALPH_TRUST": "1", "RALPH_NO_PROBE": "1"}  # fmt: skip


@contextmanager
def _started(project: Path, *args: str, **more: Any) -> Iterator[subprocess.Popen[str]]:
    quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL, **more}
    with subprocess.Popen([*RALPH, *args], cwd=project, env=_environment(project), text=True, **quiet) as process:
        try:
            yield process
        finally:
            process.terminate()


@contextmanager
def _dashboard(project: Path) -> Iterator[str]:
    with _started(project, "ui", "--no-open", "--json", stdout=subprocess.PIPE) as process:
        assert process.stdout
        yield str(json.loads(process.stdout.readline())["url"])


def _wait_for(project: Path, number: int) -> None:
    """Wait until the last but one story is being worked on."""
    deadline = time.monotonic() + 120
    while time.monotonic() < deadline:
        journals = [path.read_text() for path in project.glob(".ralph/logs/*/journal.jsonl")]
        begun = f'"work": "US-{number:03}", "attempt": 1, "event": "agent_started"'
        if any(begun in text and '"task_blocked"' in text for text in journals):
            time.sleep(1.5)
            return
        time.sleep(0.1)
    raise SystemExit("The run did not come that far: look at .ralph/logs.")


def _take(link: str, every: Path | None) -> None:
    from playwright.sync_api import sync_playwright

    base = link.rpartition("/in/")[0]
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=find_chromium(config.BrowserSettings()), chromium_sandbox=False
        )
        context = browser.new_context(viewport={"width": 1160, "height": 780})
        page = context.new_page()
        page.goto(link)
        state: Any = context.storage_state()
        IMAGES.mkdir(exist_ok=True)
        for name, path in (("dashboard-board", PAGES["board"]), ("dashboard-task", PAGES["first"])):
            _open(page, base + path)
            page.screenshot(path=IMAGES / f"{name}.png")
        for size, (width, height) in SIZES.items() if every else ():
            for scheme in ("light", "dark"):
                shown: Any = {"viewport": {"width": width, "height": height}, "color_scheme": scheme}
                page = browser.new_context(storage_state=state, **shown).new_page()
                for name, path in PAGES.items():
                    _open(page, base + path)
                    page.screenshot(path=every / f"{name}-{size}-{scheme}.png", full_page=True)
        browser.close()


def _open(page: Any, address: str) -> None:
    page.goto(address)
    page.wait_for_selector("#live[data-state=on]")
    page.wait_for_timeout(400)  # animations


if __name__ == "__main__":
    main()
