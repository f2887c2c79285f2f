"""Whatever agents, gates and hooks print, no secret is in anything that Ralph writes."""

from __future__ import annotations

import base64
import json
import shlex
from urllib.parse import quote

from tests.conftest import VERIFIED, Project

OWN = 'Zk4v/Q81"mTr0x+Wn5b'  # in Ralph's environment, and no agent or gate is given it
DOTENV = "hunter-of-the-env-file"
IN_ADDRESS = "p4ssw0rd-in-the-address"
KEY_LINE = "MIIEvgIBADANBgkqhkiG9w0BAQEFAASCBKgwggSkAgEAAoIBAQC7"
SHAPES = {
    "claude": "sk-ant-api03-" + "aB3_" * 10,
    "github": "ghp_" + "aB3d" * 9,
    "aws": "AKIAIOSFODNN7EXAMPLE",
    "jwt": "eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.dozjgNryP4J3jVmNHl0w5N_XgL0n3I9PlFUP0THsR8U",
    "address": "https://bob:hunter2@example.com",
}
ENCODED = {
    "base64": base64.b64encode(OWN.encode()).decode(),
    "base64 inside": base64.b64encode(f"user:{DOTENV}:".encode()).decode(),
    "percent": quote(OWN, safe=""),
    "JSON": json.dumps(OWN)[1:-1],
    "hex": IN_ADDRESS.encode().hex(),
}
PLANTED = {"own": OWN, "dotenv": DOTENV, "password": IN_ADDRESS, **SHAPES, **ENCODED}
STORY = r"\*\*ID:\*\* US-001"
TELLING = [*PLANTED.values(), "bob:hunter2@", KEY_LINE, DOTENV[8:], OWN[9:]]
"""What must be nowhere; of a value that was split, its second half."""


def leaking(project: Project) -> str:
    """A command that prints every secret, some of them in parts."""
    lines = [f"{name}: {text}" for name, text in PLANTED.items()]
    lines += ["-----BEGIN RSA PRIVATE KEY-----", KEY_LINE, KEY_LINE, "-----END RSA PRIVATE KEY-----"]
    lines += [f"coloured: \x1b[31m{DOTENV[:8]}\x1b[1m{DOTENV[8:]}\x1b[0m", f"wrapped: {OWN[:9]}", OWN[9:]]
    text = project.folder / "leaks.txt"
    text.write_text("\n".join(lines) + "\n")
    script = project.folder / "leak.sh"
    split = f"printf %s {shlex.quote(DOTENV[:8])}; sleep 0.05; printf '%s\\n' {shlex.quote(DOTENV[8:])}"
    script.write_text(f"cat {text}; {split}; cat {text} >&2\n")
    return f"sh {script}"


def everything_written(project: Project) -> dict[str, str]:
    files = {
        str(path.relative_to(project.path)): path.read_bytes().decode(errors="replace")
        for path in (project.path / ".ralph").rglob("*")
        if path.is_file() and not path.is_symlink()
    }
    refs = project.git("for-each-ref", "--format=%(refname) %(subject)")
    return {**files, "commits": project.git("log", "--all", "-p", "--format=fuller"), "refs": refs}


def test_no_secret_is_in_anything_that_ralph_writes(project: Project) -> None:
    project.write(".gitignore", ".env\n")
    project.git("add", ".gitignore")
    project.git("commit", "-qm", "Ignore")
    project.write(".env", f"# local\nexport SERVICE_TOKEN='{DOTENV}'\n")
    leak = leaking(project)
    gate = f"echo {SHAPES['github']}; test -f ok.txt || {{ {leak}; false; }}"
    project.config(gate, worktrees={"auto": False, "setup": [f"echo {SHAPES['github']}; {leak}"]})
    project.stories({"title": f"One, with {SHAPES['claude']}", "acceptanceCriteria": [f"It uses {SHAPES['jwt']}"]})
    telling = [f"<ralph>LEARNING:{name} is {text}</ralph>" for name, text in PLANTED.items()]
    subject = shlex.quote(f"feat: {OWN} {DOTENV} {SHAPES['github']} {ENCODED['base64']}")
    commit = ["echo x >> one.txt; git add one.txt", f"git commit -qm {subject}"]
    project.script(
        {"match": STORY, "times": 1, "run": [leak, *commit], "say": telling, "done": True},
        {
            "match": STORY,
            "times": 1,
            "say": [f"<ralph>REASON:{OWN} {SHAPES['jwt']}</ralph>"],
            "exit": 3,
            "run": [leak],
        },
        {"match": STORY, "run": [leak, "touch ok.txt; git add ok.txt", *commit], "say": telling, "done": True},
        VERIFIED,
    )

    done = project.ralph(
        "run", "auth", env={"MY_API_KEY": OWN, "DATABASE_URL": f"postgres://me:{quote(IN_ADDRESS)}@db/app"}
    )

    written = {**everything_written(project), "stdout": done.stdout, "stderr": done.stderr}
    plan = written.pop("commits")
    for name, text in written.items():
        is_persons = name.endswith(("prd.json", "config.json"))  # a person wrote a token into the plan
        leaked = [secret for secret in TELLING if secret in text and not (is_persons and secret in SHAPES.values())]
        assert not leaked, (name, leaked)
    theirs = (SHAPES["claude"], SHAPES["jwt"])
    assert not [secret for secret in TELLING if secret not in theirs and secret in plan]
    messages = project.git("log", "--all", "--format=%B")
    assert not [secret for secret in TELLING if secret in messages]
    assert "feat: [secret] [secret] [secret] [secret]" in project.subjects()
    assert "own is [secret]" in project.truth("auth", ".ralph/2026-01-01-auth/prd.json")
    logs = {path.name: path.read_text() for path in project.path.glob(".ralph/logs/*/*") if path.is_file()}
    for name in ("US-001-1.agent.log", "US-001-1.agent.words.txt", "US-001-2.agent.prompt.md", "journal.jsonl"):
        assert "[secret]" in logs[name], name
    assert any("[secret]" in text for name, text in logs.items() if name.startswith("setup-"))
    assert any("[secret]" in text for name, text in logs.items() if "-gate1-" in name)


def test_a_secret_in_a_file_costs_the_attempt_and_is_in_no_commit(project: Project) -> None:
    project.write(".gitignore", ".env\n")
    project.git("add", ".gitignore")
    project.git("commit", "-qm", "Ignore")
    project.write(".env", f"PAYMENT_KEY={OWN}\n")
    project.config("test -f one.txt")
    project.stories("One")
    project.script(
        {"match": STORY, "times": 1, "run": ["touch one.txt", f"echo {shlex.quote(OWN)} > settings.py"], "done": True},
        {"match": STORY, "run": ["echo 'import os' > settings.py"], "done": True},
        VERIFIED,
    )
    done = project.ralph("run", "auth")

    assert done.returncode == 0, done.stdout
    why = "it wrote secrets into files (settings.py: line 1 has the value of PAYMENT_KEY). Each is now `[secret]`"
    assert why in done.stdout
    (folder,) = project.path.glob(".ralph/logs/*/")
    assert why in (folder / "US-001-2.agent.prompt.md").read_text()
    kept = project.git("show", "refs/ralph/attempts/auth/US-001/1:settings.py")
    assert kept == "[secret]"
    assert OWN not in project.git("log", "--all", "-p")
