"""The checks that come with a language's own tool: a table by the file that says which tool it is."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterator

from ralph.detect.found import Aspect, FoundGate, FoundIn
from ralph.detect.kinds import covers
from ralph.detect.project import Project

ROWS: tuple[tuple[tuple[str, ...], str, Aspect], ...] = (
    (("Cargo.toml",), "cargo test", ("rust", "test")),
    (("clippy.toml", ".clippy.toml"), "cargo clippy --all-targets -- -D warnings", ("rust", "lint")),
    (("rustfmt.toml", ".rustfmt.toml"), "cargo fmt --check", ("rust", "format")),
    (("go.mod",), "go test ./...", ("go", "test")),
    (("go.mod",), "go vet ./...", ("go", "lint")),
    ((".golangci.yml", ".golangci.yaml", ".golangci.toml"), "golangci-lint run", ("go", "lint")),
    (("gradlew",), "./gradlew check", ("jvm", "test")),
    (("build.gradle", "build.gradle.kts"), "gradle check", ("jvm", "test")),
    (("mvnw",), "./mvnw -q verify", ("jvm", "test")),
    (("pom.xml",), "mvn -q verify", ("jvm", "test")),
    (("build.sbt",), "sbt test", ("jvm", "test")),
    (("mix.exs",), "mix test", ("elixir", "test")),
    ((".credo.exs",), "mix credo", ("elixir", "lint")),
    ((".formatter.exs",), "mix format --check-formatted", ("elixir", "format")),
    ((".rspec", "spec/spec_helper.rb"), "bundle exec rspec", ("ruby", "test")),
    (("bin/rails",), "bin/rails test", ("ruby", "test")),
    (("Rakefile",), "bundle exec rake test", ("ruby", "test")),
    ((".rubocop.yml",), "bundle exec rubocop", ("ruby", "lint")),
    (("phpunit.xml", "phpunit.xml.dist"), "vendor/bin/phpunit", ("php", "test")),
    (("phpstan.neon", "phpstan.neon.dist"), "vendor/bin/phpstan analyse", ("php", "types")),
    (("*.sln", "*.slnx", "*.csproj", "*.fsproj"), "dotnet test", ("dotnet", "test")),
    (("Package.swift",), "swift test", ("swift", "test")),
    (("pubspec.yaml",), "dart test", ("dart", "test")),
    (("stack.yaml",), "stack test", ("haskell", "test")),
    (("cabal.project",), "cabal test all", ("haskell", "test")),
    (("build.zig",), "zig build test", ("c", "test")),
    (("biome.json", "biome.jsonc"), "npx biome ci .", ("js", "lint")),
    ((".pre-commit-config.yaml",), "pre-commit run --all-files", ("any", "lint")),
)


def gates(project: Project) -> Iterator[FoundGate]:
    for patterns, command, aspect in ROWS:
        path = next((one for pattern in patterns for one in _matching(project, pattern)), "")
        if not path or (command == "bundle exec rake test" and "test" not in project.text(path).lower()):
            continue
        started = project.python(command) if command.startswith("pre-commit") else command
        found = covers(project.tree, command) or frozenset({aspect})
        yield FoundGate(command=started, why=f"there is {path}", source=FoundIn.SETTINGS, covers=found | {aspect})


def _matching(project: Project, pattern: str) -> list[str]:
    if "*" not in pattern:
        return [pattern] if pattern in project.tree.paths else []
    return sorted(name for name in project.tree.paths if "/" not in name and fnmatch.fnmatchcase(name, pattern))
