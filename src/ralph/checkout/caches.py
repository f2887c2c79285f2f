"""Names of files that tools leave in a checkout and recreate when needed."""

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
"""Names of caches and build output, which do not belong in a commit."""
CACHE_ENDINGS = (".pyc", ".pyo", ".egg-info", ".log", ".tmp", ".swp", ".o", ".tsbuildinfo")


def is_cache(path: str) -> bool:
    """Return whether a path looks like a cache or build output."""
    return any(part in CACHES or part.endswith(CACHE_ENDINGS) for part in path.split("/"))
