"""R3.10: services for UI stories, started, restarted and always ended."""

from __future__ import annotations

import json
import socket
import subprocess
import sys

from tests.conftest import VERIFIED, Project, does, kill_with_warden, processes_in, wait_for

SERVER = """
import http.server, os, sys
open(os.path.join(os.path.dirname(__file__), "served.log"), "a").write(f"{os.getpid()}\\n")
if os.path.exists("broken"):
    sys.exit("server: cannot start, the code is broken")
class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *_): pass
http.server.HTTPServer(("127.0.0.1", int(sys.argv[1])), Quiet).serve_forever()
"""


def free_port() -> int:
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def answers(port: int) -> bool:
    with socket.socket() as client:
        return client.connect_ex(("127.0.0.1", port)) == 0


def prepare(project: Project, **service: object) -> int:
    port = free_port()
    (project.folder / "server.py").write_text(SERVER)
    start = f"{sys.executable} {project.folder}/server.py {port} & wait"
    full = {"name": "dev", "start": start, "ready": f"http://127.0.0.1:{port}/app.txt", "readyTimeout": 10, **service}
    full = {key: value for key, value in full.items() if value is not None}
    probe = f"{sys.executable} -c \"import urllib.request as u; u.urlopen('http://127.0.0.1:{port}/app.txt')\""
    project.config("true", services=[full], verify={"ui": [probe]}, browser={"enabled": False})
    return port


def starts(project: Project) -> list[str]:
    log = project.folder / "served.log"
    return log.read_text().split() if log.exists() else []


def test_a_ui_story_gets_a_fresh_service_and_everything_ends_with_the_run(project: Project) -> None:
    prepare(project)
    project.stories("Plain", {"title": "Page", "tags": ["ui"]})
    project.script(does("US-001", "one.txt"), does("US-002", "two.txt"), VERIFIED)

    done = project.ralph("run", "auth")

    assert "service dev answers at" in done.stdout
    assert len(starts(project)) == 2, "once for the story, once more, fresh, for the final verification"
    assert len(project.story("US-001")["lastResult"]["verify"]) == 1
    assert len(project.story("US-002")["lastResult"]["verify"]) == 2


def test_a_service_that_cannot_start_fails_the_story_with_its_last_output(project: Project) -> None:
    prepare(project)
    project.stories({"title": "Page", "tags": ["ui"]})
    project.script(
        does("US-001", "broken", times=1),
        {
            "match": "ID:.. US-001",
            "run": ["rm broken; echo x > page; git add -A; git commit -qm x"],
            "done": True,
        },
        VERIFIED,
    )

    project.ralph("run", "auth")

    assert "server: cannot start, the code is broken" in project.prompts()[1]


def test_side_by_side_each_check_asks_the_service_that_serves_its_own_commit(project: Project) -> None:
    """Only it is told the port: agents have no service, and other gates need none."""
    ask = (
        f'{sys.executable} -c "import os, urllib.request as u;'
        " p = os.environ['RALPH_PORT']; assert p == os.environ['RALPH_PORT_DEV'];"
        " names = [n for n in os.listdir() if n.startswith('page')];"
        " [u.urlopen(f'http://127.0.0.1:{p}/{n}') for n in names]; assert names\""
    )
    port = prepare(
        project,
        start=f"exec {sys.executable} {project.folder}/server.py $RALPH_PORT",
        ready="http://127.0.0.1:${RALPH_PORT}/app.txt",
    )
    config = json.loads(project.read("ralph.config.json"))
    config["verify"] = {"default": ['test -z "$RALPH_PORT$RALPH_ROOT$RALPH_TASK"'], "ui": [ask]}
    project.write("ralph.config.json", json.dumps(config))
    project.stories(*({"title": f"Page {number}", "tags": ["ui"]} for number in (1, 2)))
    told = f'echo "$RALPH_SLOT/$RALPH_PORT" >> {project.folder}/told'
    turns = [{**does(f"US-00{number}", f"page{number}.html"), "run": [told], "sleep": 0.3} for number in (1, 2)]
    project.script(*turns, VERIFIED)

    project.ralph("run", "auth", "--jobs", "2")

    assert sorted((project.folder / "told").read_text().split()) == ["1/", "2/"]
    assert {"page1.html", "page2.html"} <= set(project.files_in("ralph/auth"))
    assert not answers(port) and processes_in(project.folder) == []


def test_a_service_without_a_start_command_is_never_started_and_never_ended(project: Project) -> None:
    port = prepare(project, start=None)
    project.stories({"title": "Page", "tags": ["ui"]})
    project.script(does("US-001", "one.txt"), VERIFIED)
    mine = subprocess.Popen([sys.executable, "../server.py", str(port)], cwd=project.path)
    try:
        wait_for(lambda: answers(port))
        project.ralph("run", "auth")
        assert mine.poll() is None
        assert starts(project) == [str(mine.pid)]
    finally:
        mine.kill()
        mine.wait()

    project.ralph("retry", "auth", "US-001")
    project.script({"match": "ID:.. US-001", "write": {"two.txt": "2"}, "done": True})
    assert "you must start it yourself" in project.ralph("run", "auth", "--once", code=1).stderr


def test_a_service_that_outlived_ralph_and_its_warden_is_ended_by_the_next_run(project: Project) -> None:
    prepare(project)
    config = json.loads(project.read("ralph.config.json"))
    config["verify"]["ui"].insert(0, f"touch {project.folder}/up; sleep 60")
    project.write("ralph.config.json", json.dumps(config))
    project.stories({"title": "Page", "tags": ["ui"]})
    project.script(does("US-001", "one.txt"), VERIFIED)
    run = project.start("run", "auth")
    wait_for((project.folder / "up").exists)
    kill_with_warden(run)
    prepare(project)

    done = project.ralph("run", "auth")

    assert "Ralph ended the processes that it had left running" in done.stdout
    assert "The last run was killed" not in done.stderr, "the configuration is a person's"


def test_what_a_killed_verification_left_running_is_ended_by_the_next(project: Project) -> None:
    project.config(f"touch {project.folder}/begun; sleep 300")
    verifying = project.start("verify")
    wait_for((project.folder / "begun").exists)
    kill_with_warden(verifying)
    assert processes_in(project.path) != []

    project.config("true")
    project.ralph("verify")

    assert processes_in(project.path) == []
    assert list((project.path / ".ralph/run/verifying").iterdir()) == []
