"""The programs that Ralph knows: one row for each, with all that a call of it needs."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field
from typing import Literal

from ralph.agent.dialects import isolation
from ralph.agent.dialects.isolation import Isolation
from ralph.frozen import Frozen

ALL_ALLOWED = "it runs every command and changes every file without asking"
MODEL_KEYS = ("ANTHROPIC_*", "OPENAI_*", "GEMINI_*", "GOOGLE_*", "OPENROUTER_*", "AZURE_*", "AWS_*", "OLLAMA_*")
MODEL_ARGS = ("--model", "{model}")
QUIET_LITELLM = {"LITELLM_LOCAL_MODEL_COST_MAP": "True"}  # it fetches a price list otherwise


class AcpProgram(Frozen):
    """How an agent speaks the Agent Client Protocol: its own program, or an adapter for it."""

    command: str
    args: tuple[str, ...] = ()
    install: str = ""  # empty: it comes with the agent
    model_args: tuple[str, ...] = ()  # empty: the model is an option of the protocol
    notices: str = ""  # whole messages that match are remarks of the program, not words of the agent
    errors: str = ""  # a last message that matches is an error of the program; group 1 is kept
    counts_last_answer: bool = False  # the tokens that it reports are those of the last answer only


class KnownAgent(Frozen):
    """An agent for which Ralph can write a configuration."""

    name: str
    title: str
    command: str
    args: tuple[str, ...]
    install: str
    login: str = ""  # what a person does when it may not use its model
    as_root: str = ""  # what a person does when it does not work as root
    env: tuple[str, ...] = ()  # the variables of the person's environment that it gets
    settings: Mapping[str, str] = field(default_factory=dict)  # variables it gets unless the person has set them
    model_args: tuple[str, ...] = MODEL_ARGS
    models: Mapping[str, str] = field(default_factory=dict)  # the models that a new configuration names for each role
    context_args: tuple[str, ...] = ()  # how to pass system text ({context:json}: quoted); empty: not supported
    tools_args: tuple[str, ...] = ()  # how to restrict its tools; empty: not supported
    permission: tuple[str, ...] = ()  # the arguments without which it cannot work unattended
    permission_note: str = ALL_ALLOWED  # what they mean
    structured: tuple[str, ...] = ()  # arguments with which its output is structured
    dialect: str = "text"
    tokens: bool = True  # whether its structured output says what it used
    cost: Literal["reported", "estimated"] = "estimated"
    names_model: bool = True  # whether its structured output names the model
    state: tuple[str, ...] = ()  # where it keeps its own state, below the home folder
    fixed: tuple[str, ...] = ()  # below that: what names programs for later calls, so no call may change it
    isolation: Isolation = field(default_factory=Isolation)  # keeps the person's own settings and memory out
    acp: AcpProgram | None = None


ROWS = (
    KnownAgent(
        name="claude",
        title="Claude Code",
        command="claude",
        args=("-p", "--output-format", "stream-json", "--verbose", "--dangerously-skip-permissions"),
        install="npm install -g @anthropic-ai/claude-code",
        login="Run `claude` once and log in, or set ANTHROPIC_API_KEY.",
        as_root="Run Ralph as another user. In a container you can set IS_SANDBOX=1 instead.",
        env=("ANTHROPIC_*", "CLAUDE_*", "DISABLE_*", "AWS_*", "GOOGLE_*", "CLOUD_ML_REGION"),
        # nothing may wake up after its last word; Ralph waits better than ten retries of its own do
        settings={"CLAUDE_CODE_DISABLE_CRON": "1", "CLAUDE_CODE_MAX_RETRIES": "2"},
        models={"planner": "opus", "executor": "sonnet"},
        context_args=("--append-system-prompt", "{context}"),
        tools_args=("--tools", "{tools}"),  # --allowedTools only avoids permission questions, which are off here
        permission=("--dangerously-skip-permissions",),
        structured=("stream-json",),
        dialect="claude",
        cost="reported",
        state=(".claude", ".claude.json"),
        fixed=(
            *(".claude/settings.json", ".claude/settings.local.json", ".claude/CLAUDE.md", ".claude/commands"),
            *(".claude/agents", ".claude/skills", ".claude/hooks", ".claude/plugins", ".claude/output-styles"),
        ),
        isolation=isolation.CLAUDE,
        acp=AcpProgram(command="claude-agent-acp", install="npm install -g @agentclientprotocol/claude-agent-acp"),
    ),
    KnownAgent(
        name="codex",
        title="Codex",
        command="codex",
        args=(
            *("exec", "--json", "--ephemeral", "--skip-git-repo-check"),
            *("--dangerously-bypass-approvals-and-sandbox", "-"),
        ),
        install="npm install -g @openai/codex",
        login="Run `codex login`, or set CODEX_API_KEY.",
        env=("OPENAI_*", "CODEX_*", "AZURE_*"),
        context_args=("-c", "developer_instructions={context:json}"),
        permission=("--dangerously-bypass-approvals-and-sandbox",),
        permission_note=f"{ALL_ALLOWED}, and outside its sandbox",
        structured=("--json",),
        dialect="codex",
        names_model=False,
        state=(".codex",),
        isolation=isolation.CODEX,
        acp=AcpProgram(
            command="codex-acp",
            args=("-c", 'sandbox_mode="danger-full-access"'),
            install="npm install -g @zed-industries/codex-acp",
            notices=r"Model metadata for .* not found\..*",
        ),
    ),
    KnownAgent(
        name="opencode",
        title="OpenCode",
        command="opencode",
        args=("run", "--format", "json"),
        install="npm install -g opencode-ai",
        login="Run `opencode auth login`, or set the key of your model's provider.",
        env=("OPENCODE_*", *MODEL_KEYS),
        settings={
            "OPENCODE_DISABLE_AUTOUPDATE": "1",
            "OPENCODE_PERMISSION": '{"edit":"allow","bash":"allow","external_directory":"allow"}',
        },
        permission_note=f"OPENCODE_PERMISSION allows edits and commands: {ALL_ALLOWED}",
        structured=("--format", "json"),
        dialect="opencode",
        cost="reported",
        state=(".local/share/opencode", ".local/state/opencode", ".config/opencode", ".cache/opencode"),
        isolation=isolation.OPENCODE,
        acp=AcpProgram(command="opencode", args=("acp",), counts_last_answer=True),
    ),
    KnownAgent(
        name="gemini",
        title="Gemini CLI",
        command="gemini",
        args=("--output-format", "stream-json", "--yolo", "--skip-trust"),
        install="npm install -g @google/gemini-cli",
        login="Run `gemini` once and log in, or set GEMINI_API_KEY.",
        env=("GEMINI_*", "GOOGLE_*"),
        permission=("--yolo",),
        structured=("stream-json",),
        dialect="gemini",
        state=(".gemini",),
        isolation=isolation.GEMINI,
        acp=AcpProgram(command="gemini", args=("--acp", "--skip-trust"), model_args=MODEL_ARGS),
    ),
    KnownAgent(
        name="qwen",
        title="Qwen Code",
        command="qwen",
        args=("--output-format", "stream-json", "--yolo", "--chat-recording", "false"),
        install="npm install -g @qwen-code/qwen-code",
        login="Run `qwen` once and log in, or set OPENAI_API_KEY and OPENAI_BASE_URL.",
        env=("QWEN_*", "OPENAI_*", "DASHSCOPE_*", "BAILIAN_*"),
        context_args=("--append-system-prompt", "{context}"),
        permission=("--yolo",),
        structured=("stream-json",),
        dialect="qwen",
        state=(".qwen",),
        isolation=isolation.QWEN,
        acp=AcpProgram(command="qwen", args=("--acp",), model_args=MODEL_ARGS),
    ),
    KnownAgent(
        name="copilot",
        title="GitHub Copilot CLI",
        command="copilot",
        args=("--output-format", "json", "--allow-all-tools", "--no-auto-update"),
        install="npm install -g @github/copilot",
        login="Run `copilot` once and log in, or set GH_TOKEN or COPILOT_PROVIDER_API_KEY.",
        env=("COPILOT_*", "GH_TOKEN", "GITHUB_TOKEN"),
        permission=("--allow-all-tools",),
        structured=("--output-format", "json"),
        dialect="copilot",
        tokens=False,
        state=(".copilot",),
        isolation=isolation.COPILOT,
        acp=AcpProgram(
            command="copilot",
            args=("--acp", "--no-auto-update"),
            model_args=MODEL_ARGS,
            notices=r"Info: .*",
            errors=r"Error: ((?:Authentication failed with|Failed to get response from|The provider rejected) .*)",
        ),
    ),
    KnownAgent(
        name="goose",
        title="Goose",
        command="goose",
        args=("run", "--no-session", "--output-format", "stream-json", "-i", "-"),
        install="see https://github.com/aaif-goose/goose",
        login="Run `goose configure`, or set GOOSE_PROVIDER and the key of that provider.",
        env=("GOOSE_*", *MODEL_KEYS),
        settings={"GOOSE_MODE": "auto", "GOOSE_TELEMETRY_ENABLED": "false"},
        permission_note=f"GOOSE_MODE=auto: {ALL_ALLOWED}",
        structured=("stream-json",),
        dialect="goose",
        names_model=False,
        state=(".config/goose", ".local/share/goose", ".local/state/goose"),
        isolation=isolation.GOOSE,
        acp=AcpProgram(
            command="goose",
            args=("acp",),
            errors=r"(?:Ran into this error(?: trying to compact)?|Network error): (.*?)\s*(?:\n\nPlease .*)?",
            counts_last_answer=True,
        ),
    ),
    KnownAgent(
        name="pi",
        title="Pi",
        command="pi",
        args=("--mode", "json", "--no-session", "-p"),
        install="npm install -g @mariozechner/pi-coding-agent",
        login="Run `pi` once and use /login, or set the key of your model's provider.",
        env=("PI_*", *MODEL_KEYS),
        settings={"PI_SKIP_VERSION_CHECK": "1"},
        context_args=("--append-system-prompt", "{context}"),
        permission_note=f"it has no permission prompts: {ALL_ALLOWED}",
        structured=("--mode", "json"),
        dialect="pi",
        cost="reported",
        state=(".pi",),
        isolation=isolation.PI,
    ),
    KnownAgent(
        name="aider",
        title="Aider",
        command="aider",
        args=(
            *("--yes-always", "--no-git", "--no-auto-commits", "--no-check-update", "--no-analytics", "--no-stream"),
            *("--no-pretty", "--no-fancy-input", "--no-show-model-warnings", "--chat-history-file", "/dev/null"),
            *("--input-history-file", "/dev/null", "--message-file", "/dev/stdin"),
        ),
        install="python -m pip install aider-chat",
        login="Set the key of your model's provider, such as OPENAI_API_KEY.",
        env=("AIDER_*", *MODEL_KEYS),
        settings=QUIET_LITELLM,
        permission=("--yes-always",),
        permission_note="it answers yes to each of its own questions",
        dialect="aider",
        state=(".aider",),
    ),
    KnownAgent(
        name="mini",
        title="mini-swe-agent",
        command="mini",
        args=("-y", "--exit-immediately", "-t", "{prompt}"),
        install="python -m pip install mini-swe-agent mcp",
        login="Set the key of your model's provider, such as OPENAI_API_KEY.",
        env=("MSWEA_*", *MODEL_KEYS),
        settings={
            **QUIET_LITELLM,
            **{"MSWEA_CONFIGURED": "true", "MSWEA_SILENT_STARTUP": "1"},
            "MSWEA_MODEL_RETRY_STOP_AFTER_ATTEMPT": "3",  # 10 take six minutes
            "COLUMNS": "2000",  # it divides a longer line, and a marker on it
        },
        model_args=("-m", "{model}"),
        permission=("-y",),
        dialect="mini",
        state=(".config/mini-swe-agent",),
    ),
    KnownAgent(
        name="amp",
        title="Amp",
        command="amp",
        args=("--dangerously-allow-all", "-x"),
        install="npm install -g @sourcegraph/amp",
        login="Run `amp login`, or set AMP_API_KEY.",
        env=("AMP_*",),
        model_args=(),
        permission=("--dangerously-allow-all",),
        state=(".config/amp", ".local/share/amp", ".cache/amp"),
    ),
    KnownAgent(
        name="cursor",
        title="Cursor",
        command="cursor-agent",
        args=("-p", "--force", "--trust"),
        install="see https://cursor.com/cli",
        login="Run `cursor-agent login`, or set CURSOR_API_KEY.",
        env=("CURSOR_*",),
        permission=("--force",),
        state=(".cursor", ".config/cursor", ".local/share/cursor-agent"),
    ),
    KnownAgent(
        name="droid",
        title="Droid",
        command="droid",
        args=("exec", "--auto", "high"),
        install="see https://docs.factory.ai",
        login="Run `droid` once and log in, or set FACTORY_API_KEY.",
        env=("FACTORY_*",),
        permission=("--auto",),
        permission_note="--auto high: it changes files and runs commands, including risky ones, without asking",
        state=(".factory",),
    ),
    KnownAgent(
        name="kimi",
        title="Kimi Code",
        command="kimi",
        args=("-p", "{prompt}"),
        install="see https://github.com/MoonshotAI/kimi-cli",
        login="Run `kimi` once and use /login.",
        env=("KIMI_*", "MOONSHOT_*"),
        permission_note=f"-p implies it: {ALL_ALLOWED}",
        state=(".kimi",),
    ),
    KnownAgent(
        name="scripted",
        title="the scripted agent",
        command="ralph",
        args=("scripted", "agent.json"),
        install="it comes with Ralph",
        env=("PYTHON*",),
        model_args=(),
        permission_note="it does what its script says",
        state=(".cache/ralph/scripted",),
    ),
)
AGENTS = {agent.name: agent for agent in ROWS}
