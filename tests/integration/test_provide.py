"""Working copies have what their gates need: real environments, real links, real kills; the person's stay untouched."""

from __future__ import annotations

import asyncio
import json
import os
import shutil
import signal
import subprocess
import sys
import sysconfig
import venv
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from ralph.config import Worktrees
from ralph.errors import RalphError
from ralph.process.redaction import Secrets
from ralph.provision.destination import Destination
from ralph.provision.provide import ProvisionResult, forget, provide
from ralph.provision.restore import restore
from tests.conftest import Project, wait_for
from tests.integration.conftest import FOREVER, until

HATCH = """
[build-system]
requires = ["hatchling"]
build-backend = "hatchling.build"
[project]
name = "demo"
version = "1"
scripts = { demo-tool = "demo:main" }
[tool.hatch.build]
dev-mode-exact = %s
[tool.hatch.build.targets.wheel]
packages = ["src/demo"]
"""
SAYS = "def main():\n    print(%r)\n"


class Ground:
    """A person's project and a working copy of its commit, as Ralph lays it out."""

    def __init__(self, project: Project) -> None:
        self.project = project
        self.source = project.path
        self.top = project.path / ".ralph/worktrees/.slots/1"
        self.log = project.folder / "provide.log"

    def commit(self, **files: str) -> None:
        """Commit files (`__` in a name stands for a dot) with everything that is not ignored."""
        for name, text in files.items():
            self.project.write(name.replace("__", "."), text)
        self.project.git("add", "--all", ":!.ralph")
        self.project.git("commit", "-q", "-m", "More")

    def check_out(self) -> None:
        self.project.git("worktree", "add", "-q", "--detach", str(self.top))

    def copy(self, env: dict[str, str] | None = None, **settings: Any) -> Destination:
        return Destination(
            settings=Worktrees.read(settings),
            source=self.source,
            top=self.top,
            owner="test",
            log=self.log,
            env={**self.project.env, **(env or {})},
            secrets=Secrets.of(env or {}),
        )

    def provide(self, env: dict[str, str] | None = None, **settings: Any) -> ProvisionResult:
        return asyncio.run(provide(self.copy(env, **settings)))

    def refused(self, **settings: Any) -> RalphError:
        with pytest.raises(RalphError) as error:
            self.provide(**settings)
        return error.value

    def restore(self, **settings: Any) -> tuple[str, ...]:
        return asyncio.run(restore(self.copy(**settings)))

    def run(self, command: str, provided: ProvisionResult, folder: Path | None = None, **env: str) -> str:
        """What a gate prints in the working copy."""
        done = subprocess.run(
            ["/bin/sh", "-c", command],
            cwd=folder or self.top,
            env={**self.project.env, **env, **provided.variables},
            capture_output=True,
            text=True,
        )
        return (done.stdout + done.stderr).strip()


@pytest.fixture
def ground(project: Project) -> Iterator[Ground]:
    """When the test ends, the tracked files of the copy are those of its commit."""
    made = Ground(project)
    made.commit(__gitignore=".venv/\nnode_modules/\n.env*\n*.local\ntarget/\nvendor/\n.ralph/\n__pycache__/\n")
    yield made
    if made.top.exists():
        assert made.project.git("-C", str(made.top), "diff", "--name-only") == ""


def snapshot(folder: Path) -> dict[str, tuple[int, int, int]]:
    """Every file of a checkout, beside Ralph's and git's, by what a write would change."""
    found = {}
    for path in folder.rglob("*"):
        below = path.relative_to(folder)
        if below.parts[0] not in (".ralph", ".git") and "__pycache__" not in below.parts:
            status = path.lstat()
            found[str(below)] = (status.st_ino, status.st_mtime_ns, status.st_ctime_ns)
    return found


def new_venv(folder: Path) -> Path:
    venv.create(folder, with_pip=False, symlinks=True)
    return folder


def install_editable(env: Path, project: Path) -> None:
    """`pip install --editable` with the build tools of this test's own environment; nothing is downloaded."""
    tools = Path(sysconfig.get_path("purelib"))
    shutil.copytree(tools / "editables", next(env.glob("lib/python*/site-packages")) / "editables")
    done = subprocess.run(
        [env / "bin/python", "-m", "pip", "install", "--quiet", "--no-deps", "--no-build-isolation", "--editable", "."],
        cwd=project,
        env={**os.environ, "PYTHONPATH": str(tools), "PIP_DISABLE_PIP_VERSION_CHECK": "1"},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr


def python_project(ground: Ground, *, exact: bool) -> None:
    ground.project.write("src/demo/__init__.py", SAYS % "person")
    ground.commit(pyproject__toml=HATCH % str(exact).lower())
    ground.check_out()
    (ground.top / "src/demo/__init__.py").write_text(SAYS % "copy")
    ground.project.git("-C", str(ground.top), "commit", "-qam", "Says something else")


def inodes(folder: Path) -> dict[str, int]:
    return {str(path.relative_to(folder)): path.lstat().st_ino for path in (folder, *folder.rglob("*"))}


# Python


@pytest.mark.parametrize("exact", [False, True], ids=["path file", "finder"])
def test_an_environment_in_the_project_works_in_the_copy_with_the_copys_code(ground: Ground, exact: bool) -> None:
    python_project(ground, exact=exact)
    install_editable(new_venv(ground.source / ".venv"), ground.source)
    before = snapshot(ground.source)
    provided = ground.provide()
    assert provided.paths == {".venv"}
    assert provided.notes[0].startswith("copied .venv (")
    assert ground.run(".venv/bin/demo-tool", provided) == "copy"
    assert ground.run(". .venv/bin/activate && which demo-tool", provided) == str(ground.top / ".venv/bin/demo-tool")
    assert ground.run(".venv/bin/python -c 'import sys; print(sys.prefix)'", provided) == str(ground.top / ".venv")
    [direct] = (ground.top / ".venv").glob("lib/python*/site-packages/demo-1.dist-info/direct_url.json")
    assert json.loads(direct.read_text())["url"] == f"file://{ground.top}"
    assert snapshot(ground.source) == before
    assert ground.run(".venv/bin/demo-tool", provided, ground.source) == "person"


def test_an_active_environment_of_the_project_becomes_the_copys(ground: Ground) -> None:
    python_project(ground, exact=False)
    install_editable(new_venv(ground.source / ".venv"), ground.source)
    active = {"VIRTUAL_ENV": f"{ground.source}/.venv", "PATH": f"{ground.source}/.venv/bin:{os.environ['PATH']}"}
    provided = ground.provide(active)
    assert provided.variables["VIRTUAL_ENV"] == f"{ground.top}/.venv"
    assert ground.run("demo-tool", provided, **active) == "copy"
    assert ground.run("python -c 'import demo; demo.main()'", provided, **active) == "copy"


@pytest.mark.parametrize("exact", [False, True], ids=["path file", "finder"])
def test_an_environment_outside_of_the_project_imports_the_copys_code(ground: Ground, exact: bool) -> None:
    python_project(ground, exact=exact)
    outside = new_venv(ground.project.folder / "outside")
    install_editable(outside, ground.source)
    active = {"VIRTUAL_ENV": str(outside), "PATH": f"{outside}/bin:{os.environ['PATH']}"}
    provided = ground.provide(active)
    assert provided.variables == {"PYTHONPATH": f"{ground.top}/src"}
    assert ground.run("demo-tool", provided, **active) == "copy"
    on_path_only = ground.provide({"PATH": active["PATH"]})
    assert on_path_only.variables == provided.variables


def test_an_environment_too_large_to_copy_is_linked_and_imports_the_copys_code(ground: Ground) -> None:
    python_project(ground, exact=False)
    install_editable(new_venv(ground.source / ".venv"), ground.source)
    provided = asyncio.run(provide(replace(ground.copy(), largest=1000)))
    assert (ground.top / ".venv").readlink() == ground.source / ".venv"
    assert "too large to copy: linked to yours" in provided.notes[0]
    assert ground.run(".venv/bin/demo-tool", provided) == "copy"


@pytest.mark.skipif(not shutil.which("uv"), reason="uv is not installed")
def test_an_environment_that_uv_made_works_in_the_copy(ground: Ground) -> None:
    python_project(ground, exact=False)
    subprocess.run(["uv", "venv", "--offline", "--quiet", ".venv"], cwd=ground.source, check=True)
    install_editable(ground.source / ".venv", ground.source)
    assert ground.run(".venv/bin/demo-tool", ground.provide()) == "copy"


def test_an_installation_anew_is_copied_again_and_compiled_files_are_not(ground: Ground) -> None:
    ground.check_out()
    site = new_venv(ground.source / ".venv") / "lib" / f"python{sys.version_info.major}.{sys.version_info.minor}"
    package = site / "site-packages/first"
    package.mkdir()
    ground.provide()
    before = inodes(ground.top / ".venv")
    (package / "__pycache__").mkdir()
    (package.parent / "__pycache__").mkdir()
    assert ground.provide().notes == ()
    assert inodes(ground.top / ".venv") == before
    (package.parent / "second").mkdir()
    assert [note.partition(" (")[0] for note in ground.provide().notes] == ["copied .venv"]
    assert [path.name for path in (ground.top / ".venv").glob("lib/*/site-packages/second")] == ["second"]


# node_modules and others


def node_project(ground: Ground) -> None:
    ground.project.write("packages/a/package.json", '{"name": "a"}')
    ground.project.write("packages/a/say.sh", "#!/bin/sh\necho person\n").chmod(0o755)
    ground.commit(package__json="{}")
    ground.project.write("node_modules/tool/cli.sh", '#!/bin/sh\ncat "$(dirname "$0")/../a/say.sh" | sh\n').chmod(0o755)
    ground.project.write("node_modules/.bin/shim", f'#!/bin/sh\nls "{ground.source}/node_modules"\n').chmod(0o755)
    (ground.source / "node_modules/.bin/tool").symlink_to("../tool/cli.sh")
    (ground.source / "node_modules/a").symlink_to("../packages/a")
    (ground.source / "node_modules/b").symlink_to(ground.source / "packages/a")
    ground.project.write("packages/a/node_modules/dep/index.js", "1\n")


def test_node_modules_and_those_of_workspaces_are_copied_with_their_links(ground: Ground) -> None:
    node_project(ground)
    ground.check_out()
    before = snapshot(ground.source)
    provided = ground.provide()
    assert provided.paths == {"node_modules", "packages/a/node_modules"}
    (ground.top / "packages/a/say.sh").write_text("#!/bin/sh\necho copy\n")
    assert ground.run("node_modules/.bin/tool && sh node_modules/b/say.sh", provided) == "copy\ncopy"
    assert str(ground.top) in (ground.top / "node_modules/.bin/shim").read_text()
    assert (ground.top / "packages/a/node_modules/dep/index.js").read_text() == "1\n"
    assert snapshot(ground.source) == before
    ground.project.git("-C", str(ground.top), "checkout", "-q", ".")


def test_only_folders_that_hold_dependencies_are_taken(ground: Ground) -> None:
    ground.commit(__gitignore=".venv/\nvendor/\ntarget/\nenv/\nbuild/\n.gradle/\ndeps/\n.ralph/\n", Cargo__toml="")
    for name in ("vendor/x", "env/x", "build/x", ".gradle/x", "deps/x", ".venv/no-pyvenv-cfg", "target/debug/x"):
        ground.project.write(name, "x")
    ground.check_out()
    assert ground.provide().paths == {"target"}
    ground.project.write("composer.json", "{}")
    assert ground.provide().paths == {"target"}, "git is asked again when a folder comes or goes"
    shutil.rmtree(ground.source / "vendor")
    ground.provide()
    ground.project.write("vendor/x", "x")
    assert ground.provide().paths == {"target", "vendor"}
    shutil.rmtree(ground.source / "vendor")
    assert ground.provide().paths == {"target"}
    assert not (ground.top / "vendor").exists()


def test_a_build_folder_is_copied_once_for_each_lock_file(ground: Ground) -> None:
    ground.commit(Cargo__toml="", Cargo__lock="1")
    ground.project.write("target/debug/x", "x")
    ground.check_out()
    ground.provide()
    ground.project.write("target/debug/y", "y")
    ground.project.write("target/z", "z")
    assert ground.provide().notes == ()
    ground.project.write("Cargo.lock", "2")
    ground.provide()
    assert (ground.top / "target/debug/y").exists()


def test_a_folder_that_the_commit_has_itself_is_left_alone(ground: Ground) -> None:
    ground.commit(composer__json="{}")
    ground.project.write("vendor/x", "committed")
    ground.project.git("add", "--force", "vendor/x")
    ground.commit()
    ground.check_out()
    ground.project.git("rm", "-q", "--cached", "vendor/x")
    ground.project.write("vendor/x", "person's")
    provided = ground.provide()
    assert provided.paths == frozenset()
    assert provided.notes == ("skipped vendor: it is tracked by git",)
    assert (ground.top / "vendor/x").read_text() == "committed"
    assert ground.provide().notes == ()


def test_nothing_is_put_through_a_link_in_the_commit(ground: Ground) -> None:
    node_project(ground)
    ground.check_out()
    outside = ground.project.folder / "outside"
    outside.mkdir()
    shutil.rmtree(ground.top / "packages/a")
    (ground.top / "packages/a").symlink_to(outside)
    ground.project.git("-C", str(ground.top), "add", "--all")
    ground.project.git("-C", str(ground.top), "commit", "-q", "-m", "A link")
    provided = ground.provide()
    assert provided.paths == {"node_modules"}
    assert "skipped packages/a/node_modules: it leads through a link in the commit" in provided.notes
    assert list(outside.iterdir()) == []


def test_what_is_too_large_is_linked_made_by_its_tool_or_left_to_the_set_up(ground: Ground) -> None:
    ground.commit(package__json="{}", Cargo__toml="")
    ground.project.write("node_modules/x", "x" * 2000)
    ground.project.write("target/x", "x" * 2000)
    ground.check_out()
    provided = asyncio.run(provide(replace(ground.copy(), largest=1000)))
    assert provided.paths == {"node_modules"}
    assert (ground.top / "node_modules").is_symlink()
    assert "target (2 kB) is too large to copy: the build creates its own" in provided.notes
    assert any("`git add --all` would add it" in note for note in provided.notes), "node_modules/ ignores no link"
    prepared = asyncio.run(provide(replace(ground.copy(setup=["mkdir node_modules"]), largest=1000)))
    assert "node_modules (2 kB) is too large to copy: worktrees.setup must create it" in prepared.notes
    assert (ground.top / "node_modules").is_dir()
    assert not (ground.top / "node_modules").is_symlink()


@pytest.mark.skipif(not shutil.which("npm"), reason="npm is not installed")
def test_what_is_too_large_is_made_from_the_lock_file_if_that_needs_no_network(ground: Ground) -> None:
    ground.project.write("lib/package.json", '{"name": "lib", "version": "1.0.0"}')
    ground.project.write("package.json", '{"name": "demo", "version": "1.0.0", "dependencies": {"lib": "file:lib"}}')
    npm = {**ground.project.env, "npm_config_update_notifier": "false"}
    subprocess.run(["npm", "install", "--offline"], cwd=ground.source, env=npm, check=True, capture_output=True)
    ground.project.write("node_modules/large", "x" * 2000)
    ground.commit()
    ground.check_out()
    provided = asyncio.run(provide(replace(ground.copy(npm), largest=1000)))
    assert any("created with `npm ci --offline" in note for note in provided.notes), provided.notes
    assert (ground.top / "node_modules/lib").resolve() == ground.top / "lib"
    assert not (ground.top / "node_modules").is_symlink()


# settings


def test_links_are_made_and_made_again_if_they_are_wrong(ground: Ground) -> None:
    node_project(ground)
    ground.check_out()
    provided = ground.provide(link=["node_modules"])
    link = ground.top / "node_modules"
    assert provided.paths == {"node_modules", "packages/a/node_modules"}
    assert link.readlink() == ground.source / "node_modules"
    made = link.lstat().st_ctime_ns
    assert ground.provide(link=["node_modules"]).notes == ()
    assert link.lstat().st_ctime_ns == made
    link.unlink()
    link.symlink_to("/tmp")
    ground.provide(link=["node_modules"])
    assert link.readlink() == ground.source / "node_modules"
    link.unlink()
    (link / "mine").mkdir(parents=True)
    ground.provide(link=["node_modules"])
    assert link.readlink() == ground.source / "node_modules"
    ground.provide(auto=False)
    assert not os.path.lexists(link)
    assert (ground.source / "node_modules/tool/cli.sh").exists()


def test_named_files_globs_and_what_worktreeinclude_lists_are_copied(ground: Ground) -> None:
    for name in (".env", ".env.test", ".env.prod", "cfg/a.local", "cfg/b.local", "other.local"):
        ground.project.write(name, name)
    ground.project.write("cfg/tracked", "x")
    ground.commit(__worktreeinclude="cfg/*.local\n!cfg/b.local\ncfg/tracked\nunignored\n")
    ground.project.write("unignored", "x")
    ground.check_out()
    provided = ground.provide(copy=[".env.*"])
    assert provided.paths == {".env.test", ".env.prod", "cfg/a.local"}
    assert (ground.top / "cfg/a.local").read_text() == "cfg/a.local"
    assert not (ground.top / "unignored").exists()
    ground.project.write(".env.test", "changed")
    ground.project.write("cfg/c.local", "new")
    again = ground.provide(copy=[".env.*"])
    assert again.paths == {".env.test", ".env.prod", "cfg/a.local", "cfg/c.local"}
    assert (ground.top / ".env.test").read_text() == "changed"
    assert ground.provide().paths == {"cfg/a.local", "cfg/c.local"}
    assert not (ground.top / ".env.test").exists()


@pytest.mark.parametrize("key", ["link", "copy"])
def test_a_path_that_cannot_be_provided_is_refused_with_the_reason(ground: Ground, key: str) -> None:
    ground.project.write("node_modules/x", "x")
    ground.check_out()
    (ground.source / "way").symlink_to("/tmp")
    assert ground.refused(**{key: ["app.txt"]}).what == f"worktrees.{key}: app.txt is tracked by git."
    assert ground.refused(**{key: ["gone"]}).what == f"worktrees.{key}: gone does not exist in {ground.source}."
    assert ground.refused(**{key: ["way/out"]}).what.startswith(f"worktrees.{key}: way/out ")
    assert ground.refused(copy=["*.nothing"]).what == "worktrees.copy: nothing matches *.nothing."
    assert f"worktrees.{key}" in ground.refused(**{key: ["gone"]}).remedy
    assert (ground.top / "app.txt").read_text() == "app\n"


def test_a_project_below_the_top_of_its_repository_has_its_settings_there(ground: Ground) -> None:
    ground.project.write("sub/package.json", "{}")
    ground.project.write("sub/node_modules/x", "x")
    ground.project.write("sub/.env.test", "x")
    ground.commit()
    ground.check_out()
    copy = replace(ground.copy(copy=[".env.test"], setup=["pwd > where.local"]), prefix="sub/")
    assert asyncio.run(provide(copy)).paths == {"sub/node_modules", "sub/.env.test", "sub/where.local"}
    assert (ground.top / "sub/where.local").read_text().strip() == str(ground.top / "sub")


# set-up


def test_the_set_up_runs_once_and_again_when_a_lock_file_or_the_commands_change(ground: Ground) -> None:
    ground.commit(uv__lock="1")
    ground.check_out()
    counts = {"setup": ["echo ran >> count.local"]}
    provided = ground.provide(**counts)
    assert provided.paths == {"count.local"}
    assert provided.notes == ("set up with `echo ran >> count.local`",)
    count = ground.top / "count.local"
    ground.provide(**counts)
    assert count.read_text() == "ran\n"
    (ground.top / "uv.lock").write_text("2")
    ground.provide(**counts)
    assert count.read_text() == "ran\nran\n"
    assert ground.provide(setup=["echo other >> count.local"]).paths == {"count.local"}
    assert count.read_text() == "ran\nran\nother\n"
    (ground.top / "uv.lock").write_text("1")


def test_the_set_up_runs_again_in_a_copy_that_was_made_anew_or_cleaned(ground: Ground) -> None:
    ground.check_out()
    counts = {"setup": ["touch made.local", f"echo ran >> {ground.project.folder}/count"]}
    ground.provide(**counts)
    (ground.top / "made.local").unlink()
    ground.provide(**counts)
    ground.project.git("worktree", "remove", "--force", str(ground.top))
    ground.check_out()
    ground.provide(**counts)
    assert (ground.project.folder / "count").read_text() == "ran\n" * 3
    forget(ground.copy())
    assert [path.name for path in ground.top.parent.iterdir()] == ["1"]


def test_a_set_up_that_fails_is_told_with_its_last_lines_and_runs_again(ground: Ground) -> None:
    ground.commit(package__json="{}")
    ground.project.write("node_modules/x", "x")
    ground.check_out()
    broken = "seq 100; echo broken >&2; exit 3"
    error = ground.refused(setup=["true", broken])
    assert error.what == (f"The set-up command `{broken}` failed with exit code 3 in the working copy {ground.top}.")
    assert error.details[-2:] == ("100", "broken")
    assert "worktrees.setup[1]" in error.remedy
    assert "broken" in ground.log.read_text()
    copied = inodes(ground.top / "node_modules")
    assert ground.refused(setup=["true", broken]).what == error.what
    assert inodes(ground.top / "node_modules") == copied, "what was copied is not copied again"


def test_a_set_up_that_hangs_is_ended_with_all_that_it_started(ground: Ground, nobody_left: None) -> None:
    ground.check_out()
    error = ground.refused(setup=[f"sleep {FOREVER} & echo waiting; sleep {FOREVER}"], timeout=1.5)
    assert "within 1.5 s, so Ralph ended it" in error.what
    assert error.details[0] == "waiting"  # a shell may add that it was terminated
    assert "worktrees.timeout" in error.remedy


def test_a_set_up_that_asks_gets_no_answer_and_no_secret_reaches_the_log(ground: Ground) -> None:
    ground.check_out()
    secret = {"SOME_TOKEN": "verysecretvalue"}
    asks = ["echo $SOME_TOKEN; read answer && exit 1; echo nobody answered"]
    assert ground.provide(secret, setup=asks).notes
    assert "nobody answered" in ground.log.read_text()
    assert "verysecretvalue" not in ground.log.read_text()


def test_a_set_up_uses_what_was_copied_and_what_it_made_is_the_copys(ground: Ground) -> None:
    python_project(ground, exact=False)
    new_venv(ground.source / ".venv")
    active = {"VIRTUAL_ENV": f"{ground.source}/.venv", "PATH": f"{ground.source}/.venv/bin:{os.environ['PATH']}"}
    before = snapshot(ground.source)
    provided = ground.provide(active, setup=['touch "$VIRTUAL_ENV/installed" && command -v python > where.local'])
    assert (ground.top / ".venv/installed").exists()
    assert (ground.top / "where.local").read_text().strip() == str(ground.top / ".venv/bin/python")
    assert snapshot(ground.source) == before
    assert provided.paths == {".venv", "where.local"}
    assert ground.restore(setup=["x"]) == (), "what the set-up did belongs to what was provided"


def test_tracked_files_that_the_set_up_changes_are_told(ground: Ground) -> None:
    ground.check_out()
    assert "the set-up changed tracked files: app.txt" in ground.provide(setup=["echo x > app.txt"]).notes
    (ground.top / "app.txt").write_text("app\n")


# again, kills, repairs


def test_the_second_call_starts_no_program_and_copies_nothing(ground: Ground) -> None:
    node_project(ground)
    ground.project.write(".env.test", "x")
    ground.check_out()
    settings = {"copy": [".env.*"], "setup": ["touch made.local"]}
    first = ground.provide(**settings)
    before, stamp = inodes(ground.top), (ground.copy().records / "stamp.json").stat().st_mtime_ns
    second = ground.provide({"PATH": "/nowhere"}, **settings)
    assert (second.paths, second.notes) == (first.paths, ())
    assert inodes(ground.top) == before
    assert (ground.copy().records / "stamp.json").stat().st_mtime_ns == stamp


def test_a_kill_in_the_middle_of_a_copy_leaves_nothing_that_looks_whole(ground: Ground) -> None:
    """The disk is slow: a `cp` that copies one file of many and then waits; then Ralph is killed."""
    for number in range(10):
        ground.project.write(f"node_modules/p{number}/index.js", str(number))
    ground.commit(package__json="{}")
    ground.check_out()
    slow = ground.project.folder / "slow"
    slow.mkdir()
    (slow / "cp").write_text(
        '#!/bin/sh\nfor target; do :; done\nmkdir "$target" "$target/p0"\necho 0 > "$target/p0/index.js"\n'
        f"echo $$ > {slow}/pid.new; mv {slow}/pid.new {slow}/pid\nexec sleep {FOREVER}\n"
    )
    (slow / "cp").chmod(0o755)
    code = (
        "import asyncio, os; from pathlib import Path; from ralph.provision.provide import provide;"
        "from ralph.provision.destination import Destination; from ralph.config import Worktrees;"
        f"asyncio.run(provide(Destination(settings=Worktrees(), source=Path({str(ground.source)!r}),"
        f"top=Path({str(ground.top)!r}), owner='x', log=Path({str(ground.log)!r}), env=dict(os.environ))))"
    )
    env = {**ground.project.env, "PATH": f"{slow}:{ground.project.env['PATH']}"}
    ralph = subprocess.Popen([sys.executable, "-c", code], env=env)
    wait_for((slow / "pid").exists)
    ralph.kill()
    ralph.wait()
    os.kill(int((slow / "pid").read_text()), signal.SIGKILL)
    assert not (ground.top / "node_modules").exists()
    assert (ground.copy().records / "new/p0").exists(), "the copy was under way"
    ground.provide()
    assert len(list((ground.top / "node_modules").glob("p*/index.js"))) == 10
    assert not (ground.copy().records / "new").exists()
    assert ground.provide().notes == ()


def test_a_copy_that_fails_is_told_and_leaves_nothing(ground: Ground) -> None:
    ground.commit(package__json="{}")
    ground.project.write("node_modules/x", "x")
    ground.check_out()
    broken = ground.project.folder / "broken"
    broken.mkdir()
    (broken / "cp").write_text("#!/bin/sh\necho 'cp: No space left on device' >&2\nexit 1\n")
    (broken / "cp").chmod(0o755)
    with pytest.raises(RalphError) as error:
        ground.provide({"PATH": f"{broken}:{ground.project.env['PATH']}"})
    assert error.value.what == f"{ground.source}/node_modules could not be copied: `cp` failed with exit code 1."
    assert error.value.details == ("cp: No space left on device",)
    assert "worktrees.link" in error.value.remedy
    assert not (ground.top / "node_modules").exists()


def test_a_cp_that_does_not_know_shared_blocks_is_asked_plainly(ground: Ground) -> None:
    ground.commit(package__json="{}")
    ground.project.write("node_modules/x", "x")
    ground.check_out()
    other = ground.project.folder / "other"
    other.mkdir()
    (other / "cp").write_text(
        '#!/bin/sh\ncase "$*" in *reflink*|-ac*) echo "cp: unrecognized option" >&2; exit 1;; esac\nexec /bin/cp "$@"\n'
    )
    (other / "cp").chmod(0o755)
    assert ground.provide({"PATH": f"{other}:{ground.project.env['PATH']}"}).paths == {"node_modules"}
    assert (ground.top / "node_modules/x").read_text() == "x"


def damaged(ground: Ground, provided: ProvisionResult) -> tuple[Path, dict[str, tuple[str, int]]]:
    """A copied environment after everything that a gate's code could do to it, and what it was before."""
    env = ground.top / ".venv"
    before = contents(env)
    site = next(env.glob("lib/python*/site-packages"))
    status = (site / "pkg/a.py").stat()
    (site / "pkg/a.py").write_text("B = 1\n")  # as long as it was
    os.utime(site / "pkg/a.py", ns=(status.st_atime_ns, status.st_mtime_ns))
    (site / "pkg/b.py").unlink()
    (site / "sitecustomize.py").write_text("evil\n")
    (site / "__pycache__").mkdir()
    (site / "__pycache__/x.cpython-311.pyc").write_text("x")
    (env / "bin/tool").write_text("#!/bin/sh\necho green\n")
    (env / "bin/python").unlink()
    (env / "bin/python").symlink_to("/bin/true")
    shutil.rmtree(site / "folder")
    (site / "folder").symlink_to(ground.project.folder)
    (site / "pkg/data").chmod(0o500)
    assert contents(env) != before
    assert provided.paths == {".venv"}
    return env, before


def contents(folder: Path) -> dict[str, tuple[str, int]]:
    found = {}
    for path in folder.rglob("*"):
        text = str(path.readlink()) if path.is_symlink() else path.read_text() if path.is_file() else ""
        found[str(path.relative_to(folder))] = (text, path.lstat().st_mode)
    return found


def environment(ground: Ground) -> None:
    ground.check_out()
    site = next(new_venv(ground.source / ".venv").glob("lib/python*/site-packages"))
    for name, text in {"pkg/a.py": "A = 1\n", "pkg/b.py": "b\n", "folder/deep/c": "c\n", "pkg/data/d": "d\n"}.items():
        (site / name).parent.mkdir(parents=True, exist_ok=True)
        (site / name).write_text(text)
    (ground.source / ".venv/bin/tool").write_text(f"#!{ground.source}/.venv/bin/python\nprint(1)\n")
    (ground.source / ".venv/bin/tool").chmod(0o755)


def test_whatever_a_gate_did_to_a_copied_folder_is_undone_file_by_file(ground: Ground) -> None:
    environment(ground)
    env, before = damaged(ground, ground.provide())
    kept = env.stat().st_ino
    outside = {path.name for path in ground.project.folder.iterdir()}
    changed = {path.partition("site-packages/")[2] or path for path in ground.restore()}
    assert changed == {
        "pkg/a.py", "pkg/b.py", "pkg/data", "sitecustomize.py", "folder", "folder/deep", "folder/deep/c",
        ".venv/bin/tool", ".venv/bin/python",
    }  # fmt: skip
    assert contents(env) == before
    assert env.stat().st_ino == kept, "the folder was not copied again"
    assert {path.name for path in ground.project.folder.iterdir()} == outside
    assert ground.restore() == ()
    assert ground.provide().notes == ()
    (env / "bin/tool").write_text("again\n")
    assert ground.restore() == (".venv/bin/tool",)
    assert contents(env) == before


def test_a_repair_that_is_cancelled_has_ended_before_the_copy_is_used_again(ground: Ground) -> None:
    ground.check_out()
    folder, there = ground.source / "node_modules/many", ground.top / "node_modules/many"
    folder.mkdir(parents=True)
    names = [f"{number:04}.js" for number in range(3000)]
    for name in names:
        (folder / name).write_text("right")
    ground.provide()
    for name in names:
        (there / name).write_text("damaged")

    def whole(names: list[str] = names) -> int:
        return sum((there / name).is_file() and "right" in (there / name).read_text() for name in names)

    async def cancelled() -> int:
        repair = asyncio.create_task(restore(ground.copy()))
        await until(lambda: whole(names[:1]))
        repair.cancel()
        await asyncio.gather(repair, return_exceptions=True)
        assert repair.cancelled()
        at_its_end = whole()
        await asyncio.get_running_loop().shutdown_default_executor()
        return whole() - at_its_end

    assert asyncio.run(cancelled()) == 0, "nothing writes into the copy after that"


def test_compiled_files_are_removed_without_a_word(ground: Ground) -> None:
    environment(ground)
    ground.provide()
    package = next((ground.top / ".venv").glob("lib/python*/site-packages/pkg"))
    ground.run(".venv/bin/python -c 'import pkg.a'", ProvisionResult(paths=frozenset(), variables={}))
    assert (package / "__pycache__").is_dir()
    assert ground.restore() == ()
    assert not (package / "__pycache__").exists()


@pytest.mark.parametrize("loss", ["removed", "replaced", "no notes"])
def test_what_cannot_be_repaired_is_provided_again(ground: Ground, loss: str) -> None:
    environment(ground)
    ground.provide()
    env = ground.top / ".venv"
    before = contents(env)
    if loss == "no notes":
        (ground.copy().records / "manifest.json").unlink()
        (env / "evil").write_text("x")
    else:
        shutil.rmtree(env)
    if loss == "replaced":
        env.symlink_to(ground.project.folder)
    assert ground.restore()
    assert contents(env) == before
    assert not env.is_symlink()
    assert ground.restore() == ()


def test_a_damaged_file_that_the_person_has_changed_since_comes_with_all_of_the_new_folder(ground: Ground) -> None:
    environment(ground)
    ground.provide()
    theirs = next((ground.source / ".venv").glob("lib/python*/site-packages/pkg/a.py"))
    ours = ground.top / theirs.relative_to(ground.source)
    ours.write_text("damaged\n")
    theirs.write_text("NEW = 'longer than before'\n")
    assert ground.restore() == (str(ours.relative_to(ground.top)),)
    assert ours.read_text() == "NEW = 'longer than before'\n"
    assert ground.restore() == ()


def test_a_damaged_folder_that_the_set_up_made_is_made_again(ground: Ground) -> None:
    ground.check_out()
    settings = {"setup": ["mkdir -p node_modules/x && echo 1 > node_modules/x/index.js"]}
    ground.provide(**settings)
    (ground.top / "node_modules/x/index.js").write_text("2\n")
    assert ground.restore(**settings) == ("node_modules/x/index.js",)
    assert (ground.top / "node_modules/x/index.js").read_text() == "1\n"
    (ground.top / "node_modules/extra").write_text("x")
    assert ground.restore(**settings) == ("node_modules/extra",)
    assert not (ground.top / "node_modules/extra").exists()


def test_a_file_linked_from_a_store_may_be_linked_elsewhere_and_not_be_changed(ground: Ground) -> None:
    stored = ground.project.folder / "store.js"
    stored.write_text("1\n")
    ground.check_out()
    settings = {"setup": [f"mkdir -p node_modules && ln -f {stored} node_modules/x.js"]}
    ground.provide(**settings)
    installed = ground.top / "node_modules/x.js"
    before = installed.stat()

    (ground.project.folder / "elsewhere.js").hardlink_to(stored)
    assert installed.stat().st_ctime_ns != before.st_ctime_ns
    assert ground.restore(**settings) == ()
    assert installed.stat().st_ino == before.st_ino, "it was not made again"

    installed.write_text("2\n")
    os.utime(installed, ns=(before.st_atime_ns, before.st_mtime_ns))
    assert ground.restore(**settings) == ("node_modules/x.js",)


def test_other_lock_files_than_the_persons_are_told(ground: Ground) -> None:
    ground.commit(package__json="{}", yarn__lock="1")
    ground.project.write("node_modules/x", "x")
    ground.check_out()
    ground.project.write("yarn.lock", "2")
    assert "the lock files of this commit differ" in ground.provide().notes[-1]
