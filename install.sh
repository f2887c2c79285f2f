#!/bin/sh
# Installs Ralph with uv or pipx, whichever is here, and says what it runs. It downloads nothing itself.
#   ./install.sh              from the folder that this file is in
#   ./install.sh SOURCE       from a folder, a wheel, or an address that uv and pipx take
#   ./install.sh --dry-run    only say what would be run
# Running it again installs again, so that it is also an upgrade.
set -eu

PACKAGE=ralph-run
MIN_PYTHON=3.11

say() { printf 'install: %s\n' "$*"; }
stop() { printf 'install: %s\n' "$@" >&2; exit 1; }

dry_run=
source=
for argument in "$@"; do
    case $argument in
        --dry-run) dry_run=yes ;;
        -h | --help) sed -n '2,6s/^# *//p' "$0"; exit 0 ;;
        -*) stop "there is no option $argument; see --help" ;;
        *) [ -z "$source" ] || stop "one SOURCE is enough: $source or $argument"; source=$argument ;;
    esac
done
if [ -z "$source" ]; then
    source=$(cd "$(dirname "$0")" && pwd)
    grep -qs "^name = \"$PACKAGE\"\$" "$source/pyproject.toml" ||
        stop "$source is no clone of Ralph. Run this file in a clone, or name a SOURCE; see --help"
fi

if command -v uv >/dev/null 2>&1; then
    set -- uv tool install --force --reinstall --python ">=$MIN_PYTHON" "$source"
    add="uv tool update-shell"
    bin=$(uv tool dir --bin 2>/dev/null || printf '%s/.local/bin' "$HOME")
elif command -v pipx >/dev/null 2>&1; then
    set -- pipx install --force "$source"
    add="pipx ensurepath"
    bin=$(pipx environment --value PIPX_BIN_DIR 2>/dev/null || printf '%s/.local/bin' "$HOME")
else
    stop "neither uv nor pipx is here. Install one of them, then run this again:" \
        "  Debian, Ubuntu: apt install pipx     macOS: brew install uv     others: https://docs.astral.sh/uv/"
fi

say "$*"
[ -z "$dry_run" ] || exit 0
"$@"

"$bin/$PACKAGE" --version >/dev/null || stop "$bin/$PACKAGE does not start."
say "installed: $("$bin/$PACKAGE" --version) in $bin"
found=$(command -v ralph || true)
case $found in
    "$bin/ralph") say "next: ralph demo" ;;
    "") say "$bin is not on your PATH: \`$add\` adds it. Then: ralph demo" ;;
    *) say "\`ralph\` is another program here ($found); call this one \`$PACKAGE\`: $PACKAGE demo" ;;
esac
