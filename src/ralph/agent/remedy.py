"""What a person does about a failed call of an agent."""

from __future__ import annotations

from ralph.agent.dialects import is_permitted, known
from ralph.agent.failure import CallFailure, FailureKind
from ralph.config import Provider


def remedy_of(failed: CallFailure, provider: Provider) -> str:
    """Return what a person does about a failure; "" if Ralph does not know."""
    agent = known(provider)
    if failed.kind is FailureKind.AUTHENTICATION:
        return agent.login if agent else ""
    if failed.kind is FailureKind.UNUSABLE and "root" in failed.said:
        return agent.as_root if agent else ""
    if failed.kind in (FailureKind.NO_WRITE_PERMISSION, FailureKind.PERMISSION_REFUSED):
        return permission_hint(provider) or "Allow it in the agent's own settings."
    return ""


def permission_hint(provider: Provider) -> str:
    """Return what to add to a known agent's arguments so that it may work unattended; "" if nothing is missing."""
    agent = known(provider)
    if provider.protocol == "acp":
        return "" if is_permitted(provider) else 'Set provider.permissions to "allow" in ralph.config.json.'
    if agent is None or is_permitted(provider):
        return ""
    return f"Add {' '.join(agent.permission)} to provider.args in ralph.config.json."
