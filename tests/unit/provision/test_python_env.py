"""Which variables let a working copy's own code be imported, found out from files alone."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from ralph.provision.python_env import editable_folders, sites, variables
from ralph.provision.relocate import Relocation

FINDER = """
from __future__ import annotations
MAPPING: dict[str, str] = {"demo": "%(root)s/src/demo", "single": "%(root)s/lib/single.py", "other": "%(root)s/renamed"}
NAMESPACES: dict[str, list[str]] = {}
"""


@pytest.fixture
def places(tmp_path: Path) -> Relocation:
    for name in ("src/demo", "lib", "bin"):
        (tmp_path / "project" / name).mkdir(parents=True)
        (tmp_path / "copy" / name).mkdir(parents=True)
    return Relocation(tmp_path / "project", tmp_path / "copy")


@pytest.fixture
def site(tmp_path: Path) -> Path:
    """The packages of an environment outside of the project."""
    folder = tmp_path / "outside/lib/python3.12/site-packages"
    folder.mkdir(parents=True)
    (tmp_path / "outside/pyvenv.cfg").write_text("home = /usr/bin\n")
    return folder


def active(site: Path) -> dict[str, str]:
    return {"VIRTUAL_ENV": str(site.parents[2]), "PATH": "/nowhere"}


def test_without_editable_installs_nothing_changes(places: Relocation, site: Path) -> None:
    (site / "other.pth").write_text("/somewhere/else\nimport os\n")
    assert variables({**active(site), "PYTHONPATH": "/x:/y"}, places, ()) == {}


def _path_file(site: Path, root: Path) -> None:
    (site / "__editable__.demo.pth").write_text(f"# comment\n{root}/src\n{root}-2/src\n")


def _setuptools_finder(site: Path, root: Path) -> None:
    (site / "__editable___demo_1_finder.py").write_text(FINDER % {"root": root})


def _hatch_finder(site: Path, root: Path) -> None:
    text = f"F.map_module('demo', '{root}/src/demo/__init__.py')\nF.map_module('single', '{root}/lib/single.py')\n"
    (site / "_editable_impl_demo.py").write_text(text)


@pytest.mark.parametrize(
    ("install", "folders"),
    [(_path_file, ["src"]), (_setuptools_finder, ["src", "lib"]), (_hatch_finder, ["src", "lib"])],
)
def test_editable_installs_outside_of_the_project_are_found_by_their_files(
    places: Relocation, site: Path, install: Callable[[Path, Path], None], folders: list[str]
) -> None:
    install(site, places.source)
    expected = ":".join(str(places.top / folder) for folder in folders)
    assert variables(active(site), places, ()) == {"PYTHONPATH": expected}
    assert variables({**active(site), "PYTHONPATH": "/mine"}, places, ()) == {"PYTHONPATH": f"{expected}:/mine"}


def test_what_a_person_set_to_the_checkout_leads_to_the_copy_where_it_has_the_folder(places: Relocation) -> None:
    source, top = places.source, places.top
    (source / "only-there").mkdir()
    env = {"PATH": f"{source}/bin:{source}/only-there:/usr/bin", "PYTHONPATH": f"{source}/src"}
    assert variables(env, places, ()) == {
        "PATH": f"{top}/bin:{source}/only-there:/usr/bin",
        "PYTHONPATH": f"{top}/src",
    }


def test_an_active_environment_that_was_copied_is_the_copys(places: Relocation) -> None:
    for top in (places.source, places.top):
        (top / ".venv/bin").mkdir(parents=True)
    env = {"VIRTUAL_ENV": f"{places.source}/.venv", "PATH": f"{places.source}/.venv/bin:/usr/bin"}
    changed = variables(env, places, [".venv"])
    assert changed == {"VIRTUAL_ENV": f"{places.top}/.venv", "PATH": f"{places.top}/.venv/bin:/usr/bin"}


def test_an_environment_that_is_only_linked_imports_the_copys_code(places: Relocation) -> None:
    linked = places.source / ".venv"
    (linked / "lib/python3.12/site-packages").mkdir(parents=True)
    _path_file(linked / "lib/python3.12/site-packages", places.source)
    assert variables({"PATH": "/nowhere"}, places, (), [linked]) == {"PYTHONPATH": f"{places.top}/src"}


def test_packages_of_the_python_on_the_path_behind_a_shim_and_of_the_base_are_looked_at(tmp_path: Path) -> None:
    def python(folder: str) -> Path:
        (tmp_path / folder / "bin").mkdir(parents=True, exist_ok=True)
        program = tmp_path / folder / "bin/python3"
        program.write_text("#!/bin/sh\n")
        program.chmod(0o755)
        found = tmp_path / folder / "lib/python3.12/site-packages"
        found.mkdir(parents=True)
        return found

    base, plain, managed = python("base"), python("plain"), python("pyenv/versions/3.12.1")
    venv = python("venv")
    config = f"home = {tmp_path}/base/bin\ninclude-system-site-packages = true\n"
    (tmp_path / "venv/pyvenv.cfg").write_text(config)
    (tmp_path / "pyenv/shims").mkdir()
    (tmp_path / "pyenv/shims/python3").symlink_to(tmp_path / "plain/bin/python3")

    def found(folder: str) -> set[Path]:
        return set(sites({"PATH": str(tmp_path / folder)}))

    assert found("plain/bin") == {plain}
    assert found("venv/bin") == {venv, base}
    assert found("pyenv/shims") == {managed}
    (tmp_path / "venv/pyvenv.cfg").write_text(config.replace("true", "false"))
    assert found("venv/bin") == {venv}


def test_a_finder_that_nobody_can_read_is_no_error(site: Path) -> None:
    (site / "__editable___x_finder.py").write_text("MAPPING = {broken\nMAPPING = {1 + x: 2}\n")
    (site / "dangling.pth").symlink_to("/nowhere")
    assert list(editable_folders(site)) == []
