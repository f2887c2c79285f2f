"""Caches of package managers and compilers: programs in a sandbox share them with the person."""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import suppress
from pathlib import Path

from ralph.frozen import Frozen
from ralph.process.environment import in_home


class Cache(Frozen):
    """One program's cache."""

    program: str
    usual: tuple[str, ...]  # below the home folder
    variable: str = ""  # names another folder


CACHES = (
    Cache(program="npm", usual=(".npm",), variable="npm_config_cache"),
    Cache(program="node", usual=(".cache/node", ".cache/node-gyp")),
    Cache(program="yarn", usual=(".cache/yarn",), variable="YARN_CACHE_FOLDER"),
    Cache(program="pnpm", usual=(".local/share/pnpm/store", ".cache/pnpm")),
    Cache(program="bun", usual=(".bun/install/cache",)),
    Cache(program="deno", usual=(".cache/deno",), variable="DENO_DIR"),
    Cache(program="pip", usual=(".cache/pip",), variable="PIP_CACHE_DIR"),
    Cache(program="uv", usual=(".cache/uv",), variable="UV_CACHE_DIR"),
    Cache(program="poetry", usual=(".cache/pypoetry",), variable="POETRY_CACHE_DIR"),
    Cache(program="pre-commit", usual=(".cache/pre-commit",), variable="PRE_COMMIT_HOME"),
    Cache(program="go", usual=(".cache/go-build",), variable="GOCACHE"),
    Cache(program="go", usual=("go/pkg/mod",), variable="GOMODCACHE"),
    Cache(program="go", usual=("go/pkg/sumdb",)),
    Cache(program="cargo", usual=(".cargo/registry", ".cargo/git")),
    Cache(program="mvn", usual=(".m2/repository",)),
    Cache(program="gradle", usual=tuple(f".gradle/{name}" for name in ("caches", "daemon", "native", "wrapper"))),
    Cache(program="dotnet", usual=(".nuget/packages", ".local/share/NuGet")),
    Cache(program="bundle", usual=(".bundle/cache",)),
    Cache(program="composer", usual=(".cache/composer",), variable="COMPOSER_CACHE_DIR"),
    Cache(program="bazel", usual=(".cache/bazel",)),
    Cache(program="ccache", usual=(".cache/ccache",), variable="CCACHE_DIR"),
)


def known_caches(env: Mapping[str, str]) -> tuple[Path, ...]:
    """Return the caches of the programs on PATH; create those that the programs would create themselves."""
    return tuple(folder for cache in CACHES for folder in _folders(cache, env))


def _folders(cache: Cache, env: Mapping[str, str]) -> Iterator[Path]:
    named = Path(env.get(cache.variable, "")) if cache.variable else Path()
    for folder in (named,) if named.is_absolute() else (in_home(name, env) for name in cache.usual):
        if folder.is_dir() or (shutil.which(cache.program, path=env.get("PATH")) and _made(folder)):
            yield folder


def _made(folder: Path) -> bool:
    with suppress(OSError):
        folder.mkdir(parents=True, exist_ok=True)
    return os.access(folder, os.W_OK)
