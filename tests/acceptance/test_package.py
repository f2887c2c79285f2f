"""What people install: the wheel and the sdist, both commands, completion, the manual page, and the installer."""

from __future__ import annotations

import email
import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from pathlib import Path

import pytest

from ralph import installation
from ralph.cli.app import COMMANDS
from tests.conftest import RALPH, Project

ROOT = Path(__file__).parents[2]
ASKS = """
source ~/.bashrc
for name in ralph ralph-run; do
    function=$(complete -p $name | sed 's/.*-F //; s/ .*//')
    COMP_WORDS=($name hold) COMP_CWORD=1 COMPREPLY=()
    $function $name hold
    echo $name ${COMPREPLY[@]}
done
"""
"""What bash does when a person presses Tab after `ralph hold`."""
PLACEHOLDER = re.compile(r"example\.(com|org)|OWNER|TODO|FIXME|your-?name|/USER/", re.IGNORECASE)


@pytest.fixture(scope="session")
def dist(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Both files, built once, without the network: from a copy, because building writes beside the sources."""
    folder = tmp_path_factory.mktemp("dist")
    argv = [sys.executable, "-m", "hatchling", "build", "-d", str(folder)]
    subprocess.run(argv, cwd=ROOT, check=True, capture_output=True)
    return folder


@pytest.fixture(scope="session")
def wheel(dist: Path) -> zipfile.ZipFile:
    return zipfile.ZipFile(next(dist.glob("*.whl")))


def metadata(wheel: zipfile.ZipFile) -> email.message.Message:
    name = next(name for name in wheel.namelist() if name.endswith(".dist-info/METADATA"))
    return email.message_from_bytes(wheel.read(name))


def test_the_wheel_has_every_file_of_the_package_and_nothing_else(wheel: zipfile.ZipFile) -> None:
    source = ROOT / "src"
    tracked = subprocess.run(["git", "ls-files", "src"], cwd=ROOT, capture_output=True, text=True).stdout.split("\n")
    files = [path for path in source.rglob("*") if path.is_file() and "__pycache__" not in path.parts]
    expected = {name.removeprefix("src/") for name in tracked if name} or {
        str(path.relative_to(source)) for path in files
    }
    found = {name for name in wheel.namelist() if ".dist-info/" not in name}
    assert expected <= found
    assert {name.partition("/")[0] for name in found} == {"ralph"}
    assert not [name for name in found if "__pycache__" in name]


def test_the_sdist_can_be_built_and_tested_from(dist: Path) -> None:
    with tarfile.open(next(dist.glob("*.tar.gz"))) as archive:
        names = archive.getnames()
    tops = {name.split("/")[1] for name in names if "/" in name}
    named = {"src", "tests", "docs", "scripts", "requirements", "bench", "chaos", "Makefile", "pyproject.toml"}
    texts = {"README.md", "LICENSE", "CHANGELOG.md", "CONTRIBUTING.md", "install.sh"}
    assert named | texts <= tops
    assert tops - named <= {
        "README.md",
        "LICENSE",
        "CHANGELOG.md",
        "CONTRIBUTING.md",
        "install.sh",
        "PKG-INFO",
        ".gitignore",
    }
    assert {name.split("/")[0] for name in names} == {f"ralph_run-{names[0].partition('-')[2].partition('/')[0]}"}


def test_the_metadata_promises_only_what_is_true(wheel: zipfile.ZipFile) -> None:
    found = metadata(wheel)
    assert found["Name"] == "ralph-run" and found["License-Expression"] == "MIT"
    pythons = [line.rpartition(" ")[2] for line in found.get_all("Classifier", []) if "Python :: 3." in line]
    assert found["Requires-Python"] == f">={min(pythons, key=lambda one: int(one.partition('.')[2]))}"
    assert f"{sys.version_info.major}.{sys.version_info.minor}" in pythons
    for line in (*found.get_all("Project-URL", []), found["Home-page"] or "", found["Author-email"] or ""):
        assert not PLACEHOLDER.search(line), line
    assert found["Description-Content-Type"] == "text/markdown"


@pytest.mark.long
def test_the_installed_wheel_has_two_commands_and_plays_the_demo(dist: Path, tmp_path: Path) -> None:
    """The wheel's own files, in an environment that has only what they need besides from here."""
    place = tmp_path / "env"
    target = ["--target", str(place), "--no-deps", "--no-index", "--quiet", "--disable-pip-version-check"]
    argv = [sys.executable, "-m", "pip", "install", *target, str(next(dist.glob("*.whl")))]
    subprocess.run(argv, check=True, capture_output=True)
    env = {
        "PATH": f"{place}/bin:{os.environ['PATH']}", "HOME": str(tmp_path), "PYTHONPATH": str(place),
        "LANG": "C.UTF-8", "RALPH_SANDBOX": "none",
    }  # fmt: skip
    for command in ("ralph", "ralph-run"):
        where = "import sys, ralph; print(ralph.__file__)"
        assert Path(
            subprocess.run([sys.executable, "-c", where], env=env, capture_output=True, text=True).stdout
        ).is_relative_to(place)
        done = subprocess.run([f"{place}/bin/{command}", "next", "-h"], env=env, capture_output=True, text=True)
        assert f"Usage: {command} next" in done.stdout
    done = subprocess.run(
        [f"{place}/bin/ralph-run", "demo", "--into", str(tmp_path / "demo")], env=env, capture_output=True, text=True
    )
    assert "complete · all gates green · final verification agreed" in done.stdout, done.stdout + done.stderr


def test_doctor_notices_another_program_that_is_called_ralph(project: Project) -> None:
    project.config("true")
    checks = json.loads(project.ralph("doctor", "--json", code=None).stdout)
    assert not [one for one in checks if "another program" in one["what"]]
    other = project.folder / "other"
    other.mkdir()
    (other / "ralph").write_text("#!/usr/bin/env python3\nfrom somebody.else import main\nmain()\n")
    (other / "ralph").chmod(0o755)
    env = {"PATH": f"{other}:{project.env['PATH']}"}
    checks = json.loads(project.ralph("doctor", "--json", code=None, env=env).stdout)
    (found,) = [one for one in checks if "another program" in one["what"]]
    assert found["state"] == "note" and str(other / "ralph") in found["what"] and "`ralph-run`" in found["remedy"]
    assert Path(installation.scripts(), "ralph-run").exists()


# Completion and the manual page


def installed(project: Project, *args: str, **env: str) -> str:
    return project.ralph(*args, env=env).stdout


def test_completion_is_installed_by_one_command_and_only_once(project: Project) -> None:
    start = project.home / ".bashrc"
    start.write_text("PS1='$ '")
    assert "reads it now" in installed(project, "completion", "--install", SHELL="/usr/bin/bash")
    assert "reads it already" in installed(project, "completion", "bash", "--install")
    assert start.read_text().startswith("PS1='$ '\n") and start.read_text().count("# ralph completion\n") == 1
    bin_folder = RALPH.parent
    env = {**project.env, "PATH": f"{bin_folder}:{project.env['PATH']}"}
    shown = subprocess.run(["bash", "--norc", "-c", ASKS], cwd=project.path, env=env, capture_output=True, text=True)
    assert shown.stdout.splitlines() == ["ralph hold-out", "ralph-run hold-out"], shown.stderr


def test_a_start_file_that_is_a_link_stays_one_and_keeps_its_mode(project: Project) -> None:
    real = project.folder / "dotfiles/bashrc"
    real.parent.mkdir()
    real.write_text("# mine\n")
    real.chmod(0o600)
    (project.home / ".bashrc").symlink_to(real)
    installed(project, "completion", "bash", "--install")
    assert (project.home / ".bashrc").is_symlink()
    assert real.read_text().startswith("# mine\n[ -r ") and real.stat().st_mode & 0o777 == 0o600


def test_fish_and_zsh_have_their_own_places(project: Project) -> None:
    installed(project, "completion", "fish", "--install")
    for name in ("ralph", "ralph-run"):  # fish reads the file with the command's name
        script = (project.home / f".config/fish/completions/{name}.fish").read_text()
        assert f"--command {name} " in script
    zdotdir = project.folder / "zsh"
    zdotdir.mkdir()
    installed(project, "completion", "zsh", "--install", ZDOTDIR=str(zdotdir))
    assert "completion.zsh" in (zdotdir / ".zshrc").read_text()
    assert "compinit" in (project.home / ".local/share/ralph/completion.zsh").read_text()
    assert not (project.home / ".bashrc").exists() and not (project.home / ".zshrc").exists()


def test_without_a_known_shell_completion_asks_for_one(project: Project) -> None:
    done = project.ralph("completion", code=1, env={"SHELL": "/bin/tcsh"})
    assert "Which shell?" in done.stderr and "bash|zsh|fish" in done.stderr


def test_the_manual_page_has_every_command_and_no_stray_request(project: Project) -> None:
    page = project.ralph("man").stdout
    for name in COMMANDS:
        assert f"\n.SS ralph {name} ".replace("-", "\\-") in f"{page} ", name
    assert ".SS ralph notify test" in page, "commands inside of commands too"
    known = {".TH", ".SH", ".SS", ".TP", ".B", ".I", ".PP", ".nf", ".fi", ".ad"}
    assert {line.split()[0] for line in page.splitlines() if line.startswith((".", "'"))} <= known
    written = project.ralph("man", "--install").stdout
    path = project.home / ".local/share/man/man1/ralph.1"
    assert str(path) in written and path.read_text() == page


@pytest.mark.skipif(not shutil.which("groff"), reason="groff is not installed")
def test_the_manual_page_can_be_read(project: Project) -> None:
    page = project.ralph("man").stdout
    shown = subprocess.run(
        ["groff", "-man", "-Tutf8", "-Kutf8", "-ww"], input=page, env=project.env, capture_output=True, text=True
    )
    assert shown.returncode == 0 and shown.stderr == "", shown.stderr
    text = re.sub(r"\x1b\[[0-9;]*m|.\x08", "", shown.stdout)
    for said in ("ralph run auth --race claude,codex", "'", "--no-baseline", "`ralph schema config`"):
        assert said in text, said


# The installer


@pytest.fixture
def tools(tmp_path: Path) -> Path:
    """A folder for a fake uv or pipx, with what the script itself needs."""
    folder = tmp_path / "bin"
    folder.mkdir()
    for name in ("sh", "sed", "grep", "dirname", "cat", "chmod", "mkdir"):
        (folder / name).symlink_to(shutil.which(name) or "")
    return folder


def tool(folder: Path, name: str, place: Path) -> None:
    """A program that notes how it was called, and installs what answers to --version."""
    commands = f"""#!/bin/sh
case "$*" in
    "tool dir --bin" | "environment --value PIPX_BIN_DIR") echo {place} ;;
    *) echo "{name} $*" >> {folder}/calls
       mkdir -p {place}
       printf '#!/bin/sh\\necho ralph 9.9\\n' > {place}/ralph-run
       cat {place}/ralph-run > {place}/ralph
       chmod +x {place}/ralph {place}/ralph-run ;;
esac
"""
    (folder / name).write_text(commands)
    (folder / name).chmod(0o755)


def install(folder: Path, *args: str, path: str = "") -> subprocess.CompletedProcess[str]:
    env = {"PATH": f"{path}{folder}", "HOME": str(folder.parent)}
    return subprocess.run(
        [str(folder / "sh"), str(ROOT / "install.sh"), *args], env=env, capture_output=True, text=True
    )


@pytest.mark.parametrize(
    ("name", "call"),
    [
        ("uv", f"uv tool install --force --reinstall --python >=3.11 {ROOT}"),
        ("pipx", f"pipx install --force {ROOT}"),
    ],
)
def test_the_installer_calls_the_one_tool_that_is_here(tools: Path, name: str, call: str) -> None:
    place = tools.parent / "commands"
    tool(tools, name, place)
    dry = install(tools, "--dry-run")
    assert (dry.returncode, dry.stdout) == (0, f"install: {call}\n") and not (tools / "calls").exists()
    for _ in range(2):
        done = install(tools, path=f"{place}:")
        assert done.returncode == 0 and f"install: {call}\n" in done.stdout
        assert f"installed: ralph 9.9 in {place}" in done.stdout and "next: ralph demo" in done.stdout
    assert (tools / "calls").read_text().splitlines() == [call, call]
    assert "is not on your PATH" in install(tools).stdout
    (tools / "ralph").write_text("#!/bin/sh\n")
    (tools / "ralph").chmod(0o755)
    assert "call this one `ralph-run`" in install(tools, "/some/where").stdout


def test_uv_comes_before_pipx_and_without_both_nothing_happens(tools: Path) -> None:
    failed = install(tools)
    assert failed.returncode == 1 and "apt install pipx" in failed.stderr and failed.stdout == ""
    tool(tools, "uv", tools.parent / "a")
    tool(tools, "pipx", tools.parent / "b")
    install(tools)
    assert [line.split()[0] for line in (tools / "calls").read_text().splitlines()] == ["uv"]


def test_the_installer_refuses_what_it_does_not_know(tools: Path) -> None:
    tool(tools, "uv", tools.parent / "a")
    assert "there is no option --nonsense" in install(tools, "--nonsense").stderr
    assert "one SOURCE is enough" in install(tools, "a", "b").stderr
    assert "--dry-run" in install(tools, "--help").stdout
    shutil.copy(ROOT / "install.sh", tools.parent / "install.sh")
    alone = subprocess.run(
        [str(tools / "sh"), str(tools.parent / "install.sh")], env={"PATH": str(tools)}, capture_output=True, text=True
    )
    assert alone.returncode == 1 and "is no clone of Ralph" in alone.stderr
    assert not (tools / "calls").exists()


def test_the_installer_fetches_nothing_by_itself() -> None:
    text = (ROOT / "install.sh").read_text()
    code = "\n".join(line for line in text.splitlines() if not line.lstrip().startswith("#"))
    assert not re.search(r"\b(curl|wget|fetch|nc|git|pip3?|sudo|eval)\b", code)


# The bill of materials


def test_the_bill_of_materials_names_what_the_wheel_needs_and_no_more(wheel: zipfile.ZipFile) -> None:
    argv = [sys.executable, str(ROOT / "scripts/sbom")]
    made = [subprocess.run(argv, capture_output=True, text=True, check=True).stdout for _ in range(2)]
    assert made[0] == made[1], "the same lock gives the same bill"
    bill = json.loads(made[0])
    assert (bill["bomFormat"], bill["specVersion"]) == ("CycloneDX", "1.6")
    assert bill["metadata"]["component"]["version"] == metadata(wheel)["Version"]
    needs = [
        re.split(r"[<>=!~; ]", line)[0] for line in metadata(wheel).get_all("Requires-Dist", []) if "extra" not in line
    ]
    needed = {line["ref"]: line["dependsOn"] for line in bill["dependencies"]}
    own = bill["metadata"]["component"]["bom-ref"]
    assert [ref.partition("@")[0] for ref in needed[own]] == sorted(f"pkg:pypi/{name}" for name in needs)
    known = {one["bom-ref"] for one in bill["components"]}
    assert known == needed.keys() - {own} and {ref for refs in needed.values() for ref in refs} == known
    names = {one["name"] for one in bill["components"]}
    groups = tomllib.loads((ROOT / "pyproject.toml").read_text())["dependency-groups"]["run"]
    assert not names & {line.partition(">")[0] for line in groups}, "what only installs a clone is no part of the wheel"
    for one in bill["components"]:
        (source,) = one["externalReferences"]
        lock = (ROOT / "requirements/run.txt").read_text()
        assert f"{one['name']}=={one['version']}" in lock
        assert source["hashes"] and all(digest["content"] in lock for digest in source["hashes"])
