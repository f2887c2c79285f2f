"""Writing a plan back into the document it was read from: what we do not know stays as it is."""

from __future__ import annotations

from ralph.validation import Json


def update(known: Json, new: Json) -> None:
    """Write what is ours into what is there; fields inside of it that we do not know survive."""
    for key, value in new.items():
        known[key] = _joined(known.get(key), value)


def _joined(known: object, new: object) -> object:
    if isinstance(known, dict) and isinstance(new, dict):
        update(known, new)
        return known
    if isinstance(known, list) and isinstance(new, list) and len(known) == len(new):
        return [_joined(old, fresh) for old, fresh in zip(known, new, strict=True)]
    return new
