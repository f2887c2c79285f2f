"""What tools leave behind in a checkout, and make again when it is gone."""

from __future__ import annotations

CACHES = frozenset(
    [
        "__pycache__",
        ".pytest_cache",
        ".mypy_cache",
        ".ruff_cache",
        ".hypothesis",
        ".tox",
        ".nox",
        ".cache",
        ".coverage",
        "htmlcov",
        "coverage",
        "node_modules",
        ".venv",
        "venv",
        "env",
        "target",
        "dist",
        "build",
        "out",
        ".next",
        ".nuxt",
        ".turbo",
        ".gradle",
        ".idea",
        ".vscode",
        ".DS_Store",
        "tmp",
        ".eggs",
        ".parcel-cache",
    ]
)
"""Names of what tools leave behind: nobody misses them in a commit."""
CACHE_ENDINGS = (".pyc", ".pyo", ".egg-info", ".log", ".tmp", ".swp", ".o", ".tsbuildinfo")


def is_cache(path: str) -> bool:
    """Whether tools leave such a path behind, and make it again when it is gone."""
    return any(part in CACHES or part.endswith(CACHE_ENDINGS) for part in path.split("/"))
