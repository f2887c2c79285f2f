"""What keeps a person's own settings, hooks, memory and tool servers out of each program."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field

from ralph.frozen import Frozen


class SettingsFile(Frozen):
    """A settings file of which a private one is made: only the keys that choose and reach the model are in it."""

    name: str  # JSON with comments, TOML or YAML, as its ending says
    keep: tuple[str, ...]  # the keys at its top, or patterns
    defaults: Mapping[str, object] = field(default_factory=dict)  # `{above}`: once for each folder above the copy
    always: bool = False  # it is made even if the person has none


class StateFolder(Frozen):
    """A folder in which a program keeps its state. Each call gets a private one, with the login linked into it."""

    variable: str  # names it; the person's own value leads to their folder
    usual: str  # the program's own folder if the variable is not set, below the home folder
    inside: str = ""  # the program's own folder, below the one that the variable names
    login: tuple[str, ...] = ()  # linked, so that a login that the program renews is renewed for the person too
    settings: tuple[SettingsFile, ...] = ()
    shared: bool = False  # other programs use the folder that the variable names: the rest of it is linked
    replaced: bool = True  # the variable names the private folder; False: only its settings are used


class ProjectFile(Frozen):
    """A file or folder of the project that has to be named, because the program no longer looks for it."""

    names: tuple[str, ...]  # the first one that exists
    args: tuple[str, ...]  # `{file}` is its path


class Isolation(Frozen):
    """How a program is started so that it sees the project, the login and the model, and nothing else of a person's.

    `{private}` in arguments and variables is the call's private folder.
    """

    args: tuple[tuple[str, ...], ...] = ()  # options with their values; one that the configuration has is left out
    env: Mapping[str, str] = field(default_factory=dict)
    folders: tuple[StateFolder, ...] = ()
    project: tuple[ProjectFile, ...] = ()


CODEX_KEYS = (
    *("model", "model_provider*", "model_reasoning_*", "model_verbosity", "model_context_window", "model_max_*"),
    *("model_supports_*", "model_catalog*", "openai_*", "chatgpt_*", "oss_*", "forced_*", "profile*", "service_tier"),
    *("cli_auth_credentials_store", "preferred_auth_method", "disable_response_storage"),
)
OPENCODE_KEYS = ("$schema", "provider", "model", "small_model", "*_providers", "enterprise", "autoupdate", "share")
GEMINI_KEYS = ("security", "selectedAuthType", "model", "modelConfigs", "general", "privacy", "telemetry", "advanced")

CLAUDE = Isolation(
    args=(
        ("--setting-sources", "project,local"),
        ("--strict-mcp-config",),
        ("--settings", "{private}/claude_config_dir/settings.json"),
    ),
    env={"CLAUDE_CODE_DISABLE_AUTO_MEMORY": "1"},
    folders=(
        StateFolder(
            variable="CLAUDE_CONFIG_DIR",
            usual=".claude",
            replaced=False,  # on macOS the login in the keychain belongs to the folder
            settings=(
                SettingsFile(
                    name="settings.json",
                    keep=("env", "apiKeyHelper", "aws*", "gcp*", "model", "modelOverrides", "forceLogin*"),
                    defaults={
                        "claudeMdExcludes": [
                            *("{above}/CLAUDE.md", "{above}/CLAUDE.local.md", "{above}/AGENTS.md"),
                            *("{above}/.claude/CLAUDE.md", "{above}/.claude/rules/**"),
                        ]
                    },
                    always=True,
                ),
            ),
        ),
    ),
    project=(ProjectFile(names=(".mcp.json",), args=("--mcp-config", "{file}")),),
)
CODEX = Isolation(
    folders=(
        StateFolder(
            variable="CODEX_HOME",
            usual=".codex",
            login=("auth.json", "installation_id", "models_cache.json"),
            settings=(
                SettingsFile(name="config.toml", keep=CODEX_KEYS),
                SettingsFile(name="*.config.toml", keep=CODEX_KEYS),
            ),
        ),
    ),
)
OPENCODE = Isolation(
    # its data folder stays: the login is there, and other programs' data
    env={"OPENCODE_TEST_HOME": "{private}/home", "OPENCODE_DB": "{private}/opencode.db"},
    folders=(
        StateFolder(
            variable="XDG_CONFIG_HOME",
            usual=".config/opencode",
            inside="opencode",
            shared=True,
            settings=(
                SettingsFile(name="opencode.json", keep=OPENCODE_KEYS, defaults={"snapshot": False}, always=True),
                SettingsFile(name="opencode.jsonc", keep=OPENCODE_KEYS),
                SettingsFile(name="config.json", keep=OPENCODE_KEYS),
            ),
        ),
        StateFolder(variable="XDG_STATE_HOME", usual=".local/state/opencode", inside="opencode", shared=True),
    ),
)
GEMINI = Isolation(
    folders=(
        StateFolder(
            variable="GEMINI_CLI_HOME",
            usual=".gemini",
            inside=".gemini",
            login=("oauth_creds.json", "google_accounts.json", "gemini-credentials.json", "installation_id", ".env"),
            settings=(
                SettingsFile(
                    name="settings.json",
                    keep=(*GEMINI_KEYS, "billing"),
                    defaults={"general": {"maxAttempts": 3}},  # of a request; 10 take minutes
                    always=True,
                ),
            ),
        ),
    ),
)
QWEN = Isolation(
    folders=(
        StateFolder(
            variable="QWEN_HOME",
            usual=".qwen",
            login=("oauth_creds.json", "installation_id", ".env"),
            settings=(SettingsFile(name="settings.json", keep=(*GEMINI_KEYS, "modelProviders", "env")),),
        ),
    ),
)
COPILOT = Isolation(
    folders=(
        StateFolder(
            variable="COPILOT_HOME",
            usual=".copilot",
            login=("config.json",),
            settings=(SettingsFile(name="settings.json", keep=("model", "storeTokenPlaintext")),),
        ),
    ),
)
GOOSE = Isolation(
    folders=(
        StateFolder(
            variable="GOOSE_PATH_ROOT",
            usual=".config/goose",
            inside="config",
            login=("secrets.yaml", "custom_providers", "databricks", "githubcopilot", "chatgpt_codex"),
            settings=(SettingsFile(name="config.yaml", keep=("[A-Z]*",)),),  # not its extensions
        ),
    ),
)
PI = Isolation(
    # it looks in every folder above the working copy otherwise
    args=(("--no-context-files",), ("--no-skills",)),
    folders=(
        StateFolder(
            variable="PI_CODING_AGENT_DIR",
            usual=".pi/agent",
            login=("auth.json", "models.json"),
            settings=(
                SettingsFile(
                    name="settings.json",
                    keep=("defaultProvider", "defaultModel", "defaultThinkingLevel", "transport", "httpProxy"),
                    defaults={"retry": {"maxRetries": 1}},
                    always=True,
                ),
            ),
        ),
    ),
    project=(
        ProjectFile(names=("AGENTS.md", "CLAUDE.md"), args=("--append-system-prompt", "{file}")),
        ProjectFile(names=(".pi/skills",), args=("--skill", "{file}")),
        ProjectFile(names=(".agents/skills",), args=("--skill", "{file}")),
    ),
)
