"""The real agents that end-to-end tests drive, each installed once into a cache of the project."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
import subprocess
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

CACHE = Path(__file__).parents[2] / ".cache" / "agents"
API_KEY = "sk-ant-not-a-real-key-0123456789"
MODEL = "mock-model"
INSTALL_SECONDS = 600


class NotAvailable(Exception):
    """An agent cannot be had here; says why."""


@dataclass(frozen=True, kw_only=True)
class RealAgent:
    """A program from the npm registry, and how it is pointed to a model on loopback."""

    name: str
    package: str
    version: str
    after_install: str = ""  # a script of the package: newer npm versions leave install scripts out
    env: Callable[[str], Mapping[str, str]]
    files: Callable[[str], Mapping[str, str]] = field(default=lambda url: {})  # in the home folder
    model: str = MODEL  # as its output names it; "" if it does not
    seconds: int = 25  # enough for one answer of the model, also on a busy machine
    adapts: str = ""  # it only speaks ACP, for the agent of this name; such a program does not tell its version
    runs: bool = True  # False: only the files that Ralph installs for it are tested

    @property
    def folder(self) -> Path:
        return CACHE / self.name

    @property
    def program(self) -> Path:
        return self.folder / "node_modules" / ".bin" / self.name


def _claude_env(url: str) -> Mapping[str, str]:
    return {
        "ANTHROPIC_API_KEY": API_KEY,
        "ANTHROPIC_BASE_URL": url,
        "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1",
        "CLAUDE_CODE_MAX_RETRIES": "1",
        "DISABLE_AUTOUPDATER": "1",
        "DISABLE_ERROR_REPORTING": "1",
        "DISABLE_TELEMETRY": "1",
        "IS_SANDBOX": "1",  # it refuses to skip its permissions as root otherwise
    }


def _codex_files(url: str) -> Mapping[str, str]:
    lines = (
        f'model = "{MODEL}"',
        'model_provider = "mock"',
        "[model_providers.mock]",
        'name = "mock"',
        f'base_url = "{url}/v1"',
        'env_key = "OPENAI_API_KEY"',
        'wire_api = "responses"',
        "request_max_retries = 1",
        "stream_max_retries = 1",
    )
    return {".codex/config.toml": "\n".join(lines) + "\n"}


def _opencode_files(url: str) -> Mapping[str, str]:
    model = {"name": "Mock", "cost": {"input": 1, "output": 5}, "limit": {"context": 200_000, "output": 8000}}
    provider = {
        "npm": "@ai-sdk/openai-compatible",
        "name": "Mock",
        "options": {"baseURL": f"{url}/v1", "apiKey": API_KEY},
        "models": {MODEL: model},
    }
    names = {"model": f"mock/{MODEL}", "small_model": f"mock/{MODEL}"}
    document = {"autoupdate": False, "share": "disabled", "provider": {"mock": provider}, **names}
    return {".config/opencode/opencode.json": json.dumps(document)}


def _pi_files(url: str) -> Mapping[str, str]:
    model = {"id": MODEL, "cost": {"input": 1, "output": 5, "cacheRead": 0.1, "cacheWrite": 1}}
    mock = {"baseUrl": f"{url}/v1", "apiKey": API_KEY, "api": "openai-completions", "models": [model]}
    settings = {"defaultProvider": "mock", "defaultModel": MODEL}
    return {
        ".pi/agent/models.json": json.dumps({"providers": {"mock": mock}}),
        ".pi/agent/settings.json": json.dumps(settings),
    }


def _gemini_files(url: str) -> Mapping[str, str]:
    document = {
        "general": {"enableAutoUpdate": False, "disableAutoUpdate": True},
        "privacy": {"usageStatisticsEnabled": False},
        "telemetry": {"enabled": False},
        "security": {"auth": {"selectedType": "gemini-api-key"}, "folderTrust": {"enabled": False}},
    }
    return {".gemini/settings.json": json.dumps(document)}


AGENTS = {
    agent.name: agent
    for agent in (
        RealAgent(
            name="claude",
            package="@anthropic-ai/claude-code",
            version="2.1.325",
            after_install="install.cjs",
            env=_claude_env,
            seconds=12,
        ),
        RealAgent(
            name="codex",
            package="@openai/codex",
            version="0.166.0",
            env=lambda url: {"OPENAI_API_KEY": API_KEY},
            files=_codex_files,
            model="",
            seconds=12,
        ),
        RealAgent(
            name="opencode",
            package="opencode-ai",
            version="1.18.33",
            after_install="postinstall.mjs",
            env=lambda url: {"OPENCODE_DISABLE_MODELS_FETCH": "1"},
            files=_opencode_files,
            model="",
        ),
        RealAgent(
            name="pi",
            package="@mariozechner/pi-coding-agent",
            version="0.73.1",
            env=lambda url: {"PI_OFFLINE": "1"},
            files=_pi_files,
        ),
        RealAgent(
            name="gemini",
            package="@google/gemini-cli",
            version="0.61.0",
            env=lambda url: {
                "GEMINI_API_KEY": API_KEY,
                "GEMINI_MODEL": "gemini-2.5-flash",
                "GOOGLE_GEMINI_BASE_URL": url,
            },
            files=_gemini_files,
            model="gemini-2.5-flash",
        ),
        RealAgent(
            name="copilot",
            package="@github/copilot",
            version="1.0.102",
            env=lambda url: {
                "COPILOT_AUTO_UPDATE": "false",
                "COPILOT_MODEL": MODEL,
                "COPILOT_OFFLINE": "true",
                "COPILOT_PROVIDER_API_KEY": API_KEY,
                "COPILOT_PROVIDER_BASE_URL": f"{url}/v1",
            },
            runs=False,
        ),
        RealAgent(
            name="claude-agent-acp",
            package="@agentclientprotocol/claude-agent-acp",
            version="0.49.0",
            env=_claude_env,
            model="",
            adapts="claude",
        ),
        RealAgent(
            name="codex-acp",
            package="@zed-industries/codex-acp",
            version="0.16.0",
            env=lambda url: {"OPENAI_API_KEY": API_KEY},
            files=_codex_files,
            adapts="codex",
        ),
    )
}

WANTED = os.environ.get("RALPH_TEST_AGENTS", "claude,codex")
"""The agents to test: names, or `all`. Two are part of every test run, because they start in a second."""
NAMES = list(AGENTS) if WANTED == "all" else [name for name in AGENTS if name in WANTED.split(",")]
TESTED = [name for name in NAMES if AGENTS[name].runs and not AGENTS[name].adapts]
OVER_ACP = [name for name in NAMES if AGENTS[name].adapts or (name == "gemini" and WANTED == "all")]
"""Two adapters, and a program that speaks ACP itself."""


def installed(agent: RealAgent) -> Path:
    """The pinned program, installed by whichever test worker comes first."""
    agent.folder.mkdir(parents=True, exist_ok=True)
    with _one_at_a_time(agent.folder):
        if not _is_ready(agent):
            _install_once(agent)
        if not _is_ready(agent):
            raise NotAvailable(f"{agent.program} was installed, but does not start")
    return agent.program


def _is_ready(agent: RealAgent) -> bool:
    ready = agent.folder / "ready"
    if ready.exists() and ready.read_text() == agent.version:
        return True
    try:
        found = _version(agent)
    except (NotAvailable, OSError):
        return False
    if agent.version in found:
        ready.write_text(agent.version)
    return agent.version in found


def _version(agent: RealAgent) -> str:
    if agent.adapts:
        return (agent.folder / "node_modules" / agent.package / "package.json").read_text()
    return _run([str(agent.program), "--version"], agent.folder, 120)


def _install_once(agent: RealAgent) -> None:
    """Install it, unless another worker of this test run has just failed to."""
    run = os.environ.get("PYTEST_XDIST_TESTRUNUID", "")
    failed = agent.folder / "failed"
    if run and failed.exists() and failed.read_text().startswith(run):
        raise NotAvailable(failed.read_text().removeprefix(run).strip())
    try:
        _install(agent)
    except NotAvailable as reason:
        failed.write_text(f"{run}\n{reason}\n")
        raise
    failed.unlink(missing_ok=True)


def _install(agent: RealAgent) -> None:
    npm, node = shutil.which("npm"), shutil.which("node")
    if not npm or not node:
        raise NotAvailable("npm is not installed")
    package = f"{agent.package}@{agent.version}"
    options = ("--ignore-scripts", "--no-audit", "--no-fund", "--prefix", str(agent.folder))
    _run([npm, "install", *options, package], agent.folder)
    if agent.after_install:
        _run([node, str(agent.folder / "node_modules" / agent.package / agent.after_install)], agent.folder)


def _run(command: list[str], folder: Path, seconds: float = INSTALL_SECONDS) -> str:
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, timeout=seconds)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise NotAvailable(str(error)) from None
    if done.returncode:
        raise NotAvailable(f"{' '.join(command)} ended with {done.returncode}: {done.stderr.strip()[-500:]}")
    return f"{done.stdout}{done.stderr}".strip()


@contextmanager
def _one_at_a_time(folder: Path) -> Iterator[None]:
    with (folder / "lock").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield
