"""Tells what a command checks: a table of programs, followed through scripts, targets and wrappers."""

from __future__ import annotations

import re
from posixpath import basename

from ralph.audit.commands import Call, calls
from ralph.audit.files import Tree
from ralph.audit.reached import reach
from ralph.detect.found import Aspect
from ralph.detect.project import is_plain

TABLE = """
python test    pytest | py.test | unittest | nose2 | behave | stestr | tox | nox | manage.py test | green | ward
python lint    ruff check | flake8 | pylint | bandit | lint-imports | vulture | codespell | pydocstyle | semgrep
python format  ruff format --check | black --check | isort --check | isort --check-only | isort -c | ruff format --diff
python types   mypy | pyright | basedpyright | ty check | pyre | pytype
js test        jest | vitest | mocha | _mocha | ava | node:test | playwright test | cypress run | karma start | tap
js test        bun test | deno test | ng test | jasmine | uvu | wtr | web-test-runner | react-scripts test | qunit
js lint        eslint | stylelint | biome check | biome ci | biome lint | oxlint | xo | standard | deno lint | ng lint
js lint        next lint | tslint | knip
js format      prettier --check | prettier -c | prettier --list-different | prettier -l | deno fmt --check
js types       tsc | vue-tsc | svelte-check | tsgo | deno check | astro check | flow check
js build       vite build | next build | webpack | rollup | tsup | esbuild | nuxt build | astro build | ng build
rust test      cargo test | cargo nextest
rust lint      cargo clippy | cargo deny | cargo audit
rust format    cargo fmt --check | rustfmt --check
rust build     cargo check | cargo build
go test        go test | gotestsum | ginkgo
go lint        go vet | golangci-lint run | staticcheck | revive
go build       go build
jvm test       gradle test | gradle check | gradle build | mvn test | mvn verify | mvn package | mvn install
jvm test       sbt test | lein test | ant test | mill test | clojure test
jvm lint       gradle ktlintCheck | gradle detekt | gradle spotlessCheck | gradle lint | mvn checkstyle:check
elixir test    mix test
elixir lint    mix credo | mix compile --warnings-as-errors
elixir format  mix format --check-formatted
elixir types   mix dialyzer
ruby test      rspec | rake test | rake spec | rails test | minitest | cucumber
ruby lint      rubocop | standardrb | brakeman
php test       phpunit | pest | codecept run | artisan test
php lint       phpcs | php-cs-fixer check | php-cs-fixer --dry-run | pint --test | ecs check
php types      phpstan | psalm
dotnet test    dotnet test
dotnet build   dotnet build
dotnet format  dotnet format --verify-no-changes
c test         ctest | meson test | bazel test | bazelisk test | zig test | cmake test
swift test     swift test | xcodebuild test
dart test      dart test | flutter test
dart lint      dart analyze | flutter analyze
haskell test   cabal test | stack test
shell test     bats | shellspec
shell lint     shellcheck
any lint       pre-commit run | prek run | prek | actionlint | yamllint | hadolint | markdownlint | markdownlint-cli2
"""
MUTATES = frozenset({"--fix", "--write", "--update", "-u", "--watch", "-w", "--updateSnapshot", "-i"})
NEUTRAL = frozenset({"coverage", "c8", "nyc", "set", "true", "time"})
_CONTAINER_NAMES = """
    make gmake npm yarn pnpm bun just task go-task poe poethepoet composer invoke inv turbo nx lerna hatch pdm mise
    rake tox nox npm-run-all npm-run-all2 run-s run-p concurrently wireit deno
"""
CONTAINERS = frozenset(_CONTAINER_NAMES.split())
"""Programs that start what a name stands for."""
INSTALLS = re.compile(
    r"(?:python\S* -m )?(?:pip|pip3|uv pip|uv|poetry|pdm|pipenv|npm|pnpm|yarn|bun|bundle|composer|cargo|go|mix|dotnet"
    r"|corepack|gem|conda|apt-get|apt|brew|sudo apt-get|sudo apt)"
    r"(?: (?:ci|install|sync|i|restore|update|download|mod download|deps\.get|enable|fetch|local\.\S+)\b.*)?"
)
NAMES = (
    ("format", re.compile(r"(?:^|[:_-])(?:format|fmt|prettier|style)[:_-]?check|check[:_-](?:format|fmt|style)")),
    ("types", re.compile(r"^(?:type-?check|types|check[:_-]types|tsc|mypy|typing|ts[:_-]check)$")),
    ("lint", re.compile(r"^(?:lint|eslint|ruff|flake8|clippy|check[:_-]lint|lint[:_-](?:all|check|ci))$")),
    ("test", re.compile(r"^(?:tests?|check|checks|ci|verify|validate|spec|tests?[:_-](?:unit|ci|all|run))$")),
)
_UNSAFE = re.compile(r"[`$<>;|\\\n{]|(?<!&)&(?!&)")


def _rows() -> dict[str, list[tuple[tuple[str, ...], Aspect]]]:
    found: dict[str, list[tuple[tuple[str, ...], Aspect]]] = {}
    for line in TABLE.strip().splitlines():
        ecosystem, kind, programs = line.split(None, 2)
        for program in programs.split(" | "):
            name, *arguments = program.split()
            found.setdefault(name, []).append((tuple(arguments), (ecosystem, kind)))
    return found


_ROWS = _rows()
_SPELLINGS = {"gradlew": "gradle", "mvnw": "mvn", "phpunit.phar": "phpunit", "golangci-lint-v2": "golangci-lint"}


def aspect_of(call: Call) -> Aspect | None:
    """Return what one program checks; None if it checks nothing, or changes files instead."""
    name = basename(call.program)
    rows = _ROWS.get(_SPELLINGS.get(name, name), [])
    if not rows or MUTATES.intersection(call.arguments):
        return None
    if name in ("tox", "nox") and (kind := named(call.named("-e", "-s", "--session", "--sessions"))):
        return "python", kind
    words = {word.split(":")[-1] if word.startswith(":") else word for word in call.arguments}
    words |= {word.partition("=")[0] for word in call.arguments if word.startswith("--")}
    return next((aspect for needed, aspect in rows if words.issuperset(needed)), None)


def named(name: str) -> str:
    """Return what kind of check a script or target of this name is, by its name alone."""
    return next((kind for kind, pattern in NAMES if pattern.search(name)), "")


def covers(tree: Tree, command: str, ecosystem: str = "any") -> frozenset[Aspect]:
    """Return what a command checks, wherever it leads."""
    found = {aspect for call in reach(tree, [command]).calls if (aspect := aspect_of(call))}
    if not found:
        for call in calls(command):
            names = call.arguments if basename(call.program) in CONTAINERS else (_stem(call.program),)
            found |= {(ecosystem, kind) for name in names if (kind := named(name))}
    return frozenset(found)


def _is_check_script(call: Call, tree: Tree) -> bool:
    """Whether a call starts a script of the project whose name says that it checks."""
    return call.is_file and call.program in tree.paths and bool(named(_stem(call.program)))


def _stem(path: str) -> str:
    return basename(path).rpartition(".")[0] or basename(path)


def checks_in(command: str, tree: Tree) -> str:
    """Return the part of a command of CI that checks something and does nothing else; empty if there is none."""
    kept = []
    for segment in (part.strip() for part in command.split("&&")):
        if not segment or _UNSAFE.search(segment) or not is_plain(segment):
            return ""
        if INSTALLS.fullmatch(segment):
            continue
        if not re.fullmatch(r"cd [\w./-]+", segment) and not _is_check(segment, tree):
            return ""
        kept.append(segment)
    while kept and kept[-1].startswith("cd "):
        kept.pop()
    return " && ".join(kept)


def _is_check(segment: str, tree: Tree) -> bool:
    """Whether each program of a simple command is a check, or starts a name that stands for one."""
    found = False
    for call in calls(segment):
        name = basename(call.program)
        is_container = name in CONTAINERS and covers(tree, call.words)
        if aspect_of(call) or is_container or _is_check_script(call, tree):
            found = True
        elif name not in NEUTRAL:
            return False
    return found
