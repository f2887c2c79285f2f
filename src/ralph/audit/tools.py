"""The table of tools: which files, and which parts of them, decide what a tool does."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cache


@dataclass(frozen=True)
class Tool:
    """A program that gates run, and the files that steer it."""

    programs: tuple[str, ...]
    files: tuple[str, ...] = ()  # globs of names; the whole file steers it
    parts: dict[str, tuple[str, ...]] = field(default_factory=dict)  # by name of a shared file: its sections
    also: tuple[str, ...] = ()  # other programs that it runs or reads the settings of
    below: bool = False  # files in folders below count too


TOOLS = (
    Tool(
        ("pytest", "py.test"),
        ("pytest.ini", ".pytest.ini", "pytest.toml", ".pytest.toml"),
        {
            "pyproject.toml": (
                "tool.pytest",
                "tool.pytest-asyncio",
                "tool.pytest-env",
                "project.entry-points.pytest11",
            ),
            "tox.ini": ("pytest",),
            "setup.cfg": ("tool:pytest", "pytest"),
        },
        also=("python", "coverage"),
    ),
    Tool(
        ("unittest", "manage.py", "nose2", "stestr", "behave"),
        ("unittest.cfg", ".stestr.conf", "behave.ini"),
        also=("python", "coverage"),
    ),
    Tool(("python",), (".python-version", "pyvenv.cfg")),
    Tool(
        ("coverage",),
        (".coveragerc",),
        {"pyproject.toml": ("tool.coverage",), "setup.cfg": ("coverage:",), "tox.ini": ("coverage:",)},
    ),
    Tool(("ruff",), ("ruff.toml", ".ruff.toml"), {"pyproject.toml": ("tool.ruff",)}, below=True),
    Tool(("mypy", "dmypy"), ("mypy.ini", ".mypy.ini"), {"pyproject.toml": ("tool.mypy",), "setup.cfg": ("mypy",)}),
    Tool(
        ("pyright", "basedpyright"), ("pyrightconfig.json",), {"pyproject.toml": ("tool.pyright", "tool.basedpyright")}
    ),
    Tool(("flake8",), (".flake8",), {"setup.cfg": ("flake8",), "tox.ini": ("flake8",)}),
    Tool(("pylint",), (".pylintrc", "pylintrc"), {"pyproject.toml": ("tool.pylint",), "setup.cfg": ("pylint",)}),
    Tool(("black",), (), {"pyproject.toml": ("tool.black",)}),
    Tool(("isort",), (".isort.cfg",), {"pyproject.toml": ("tool.isort",), "setup.cfg": ("isort",)}),
    Tool(("bandit",), (".bandit",), {"pyproject.toml": ("tool.bandit",)}),
    Tool(
        ("lint-imports",),
        (".importlinter",),
        {"pyproject.toml": ("tool.importlinter",), "setup.cfg": ("importlinter",)},
    ),
    Tool(
        ("tox",),
        ("toxfile.py",),
        {"pyproject.toml": ("tool.tox",), "tox.ini": ("",), "setup.cfg": ("tox",)},
        also=("pytest",),
    ),
    Tool(("nox",), ("noxfile.py",), also=("pytest",)),
    Tool(("pre-commit", "prek"), (".pre-commit-config.yaml",), also=("ruff", "mypy", "flake8", "black")),
    Tool(
        ("npm", "yarn", "pnpm", "bun", "npx"),
        (".npmrc", ".yarnrc", ".yarnrc.yml", "bunfig.toml", ".nvmrc", ".node-version", "pnpmfile.cjs", ".pnpmfile.cjs"),
    ),
    Tool(
        ("jest",),
        ("jest.config.*", "jest.setup.*", "babel.config.*", ".babelrc*", ".swcrc"),
        {"package.json": ("jest", "babel")},
    ),
    Tool(
        ("vitest",),
        ("vitest.config.*", "vite.config.*", "vitest.workspace.*", "vitest.setup.*"),
        {"package.json": ("vitest",)},
    ),
    Tool(("mocha", "_mocha"), (".mocharc*", "mocha.opts"), {"package.json": ("mocha",)}, below=True),
    Tool(("ava",), ("ava.config.*",), {"package.json": ("ava",)}),
    Tool(("nyc", "c8"), (".nycrc*", ".c8rc*", "nyc.config.*"), {"package.json": ("nyc", "c8")}),
    Tool(("playwright",), ("playwright.config.*",)),
    Tool(("cypress",), ("cypress.config.*", "cypress.json")),
    Tool(("karma", "ng"), ("karma.conf.*", "angular.json")),
    Tool(
        ("eslint",),
        (".eslintrc*", "eslint.config.*", ".eslintignore"),
        {"package.json": ("eslintConfig", "eslintIgnore")},
        below=True,
    ),
    Tool(("prettier",), (".prettierrc*", "prettier.config.*", ".prettierignore"), {"package.json": ("prettier",)}),
    Tool(("biome",), ("biome.json", "biome.jsonc")),
    Tool(("stylelint",), (".stylelintrc*",), {"package.json": ("stylelint",)}),
    Tool(("tsc", "vue-tsc", "ts-jest"), ("tsconfig*.json",)),
    Tool(("turbo", "nx", "lerna"), ("turbo.json", "nx.json", "lerna.json", "project.json")),
    Tool(("node:test",), (), {"package.json": ("imports",)}),
    Tool(
        ("cargo",),
        ("config.toml", "config", "rust-toolchain*", "clippy.toml", ".clippy.toml", "nextest.toml"),
        {
            "Cargo.toml": (
                "lib",
                "bin",
                "test",
                "bench",
                "profile",
                "lints",
                "package.autotests",
                "workspace.lints",
                "workspace.members",
                "workspace.exclude",
            )
        },
    ),
    Tool(("go", "gotestsum"), ("go.work", ".golangci.*")),
    Tool(("golangci-lint",), (".golangci.*",)),
    Tool(("mvn", "mvnw"), ("pom.xml", "maven.config", "settings.xml", "jvm.config"), below=True),
    Tool(
        ("gradle", "gradlew"), ("build.gradle", "build.gradle.kts", "settings.gradle*", "gradle.properties"), below=True
    ),
    Tool(("rspec",), (".rspec", ".rspec-local")),
    Tool(("rake", "rails"), ("Rakefile",)),
    Tool(("rubocop",), (".rubocop.yml", ".rubocop_todo.yml")),
    Tool(("phpunit", "pest"), ("phpunit.xml", "phpunit.xml.dist")),
    Tool(("just",), ("justfile", "Justfile", ".justfile")),
    Tool(("task", "go-task"), ("Taskfile.*",)),
    Tool(("bats",), ("setup_suite.bash",), below=True),
    Tool(("shellcheck",), (".shellcheckrc",)),
    Tool(("dotnet",), ("Directory.Build.*", "global.json", "*.runsettings")),
    Tool(("composer",), (), {"composer.json": ("scripts", "scripts-aliases")}),
    Tool(("deno",), (), {"deno.json": ("tasks", "test", "lint"), "deno.jsonc": ("tasks", "test", "lint")}),
    Tool(("invoke", "inv"), ("tasks.py", "invoke.yaml")),
    Tool(("poe", "poethepoet"), ("poe_tasks.*",), {"pyproject.toml": ("tool.poe",)}),
    Tool(("pdm",), ("pdm.toml",), {"pyproject.toml": ("tool.pdm.scripts",)}),
    Tool(("hatch",), ("hatch.toml",), {"pyproject.toml": ("tool.hatch.envs",)}),
    Tool(("ctest",), ("CTestConfig.cmake", "CTestCustom.cmake")),
    Tool(("mix",), ("mix.exs", ".formatter.exs")),
)
_BY_PROGRAM = {program: tool for tool in TOOLS for program in tool.programs}


def tools_of(program: str) -> list[Tool]:
    """Return the tool of this name, with the tools whose settings count too.

    A program that the table does not have is steered by the files that are named after it.
    """
    if program not in _BY_PROGRAM and re.fullmatch(r"[a-z][\w-]*", program) and program not in _WITHOUT_SETTINGS:
        return [_named_after(program)]
    found: list[Tool] = [_named_after(program)] if program in _BY_PROGRAM and program not in _MANAGERS else []
    names = [program]
    while names:
        tool = _BY_PROGRAM.get(names.pop())
        if tool and tool not in found:
            found.append(tool)
            names += tool.also
    return found


@cache
def _named_after(program: str) -> Tool:
    kinds = ("toml", "yml", "yaml", "ini", "cfg", "neon", "neon.dist")  # the others are also what programs write
    hidden = (f".{program}.{kind}" for kind in (*kinds, "json", "jsonc"))
    seen = (f"{program}.{kind}" for kind in kinds)
    files = (f".{program}rc*", f"{program}.config.*", f".{program}ignore", *hidden, *seen)
    parts: dict[str, tuple[str, ...]] = {
        "pyproject.toml": (f"tool.{program}",),
        "package.json": (program,),
        "setup.cfg": (program,),
    }
    return Tool((program,), files, parts)


_WITHOUT_SETTINGS_WORDS = """
    test cat echo printf grep egrep fgrep true false diff cmp sort head tail sed awk find ls wc tr cut cp mv rm mkdir
    touch chmod ln sleep date export set cd git make gmake node sh bash docker podman curl wget tar jq
"""
_MANAGERS = frozenset({"npm", "yarn", "pnpm", "bun", "npx", "cargo", "go", "python", "mix"})
_WITHOUT_SETTINGS = frozenset(_WITHOUT_SETTINGS_WORDS.split())
"""Programs that take no settings from the project, or none that make a check weaker."""

_HARMLESS_WORDS = """
    markers log_cli log_level log_format log_file junit_family console_output_style cache_dir minversion
    tmp_path_retention_policy asyncio_default_fixture_loop_scope line-length target-version src show_error_codes
    python_version pretty color indent-width
"""
HARMLESS = frozenset(_HARMLESS_WORDS.split())
"""Settings that make no check weaker."""
MORE_IS_STRICTER = frozenset(
    {
        "select",
        "extend-select",
        "testpaths",
        "enable",
        "plugins",
        "files",
        "packages",
        "include",
        "source",
        "members",
        "envlist",
    }
)
LESS_IS_STRICTER = frozenset(
    {"ignore", "extend-ignore", "exclude", "extend-exclude", "omit", "disable", "per-file-ignores", "norecursedirs"}
)
_STRICT_WORDS = """
    strict warn_unused_ignores warn_return_any disallow_untyped_defs no_implicit_optional check_untyped_defs branch
    xfail_strict warn_unreachable disallow_any_generics noImplicitAny strictNullChecks noUnusedLocals noUnusedParameters
    noImplicitReturns noUncheckedIndexedAccess noFallthroughCasesInSwitch exactOptionalPropertyTypes
"""
STRICT = frozenset(_STRICT_WORDS.split())
"""Settings that are strict when they are true."""
