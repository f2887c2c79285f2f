"""`python -m bench [GROUP …] [--json FILE] [--check]`, and `python -m bench integrity`."""

from __future__ import annotations

import argparse
import json
import os
import sys
from pathlib import Path

from bench import (
    audit,
    browser,
    dashboard,
    dialects,
    guard,
    iteration,
    journal,
    output,
    parallel,
    probe,
    receipts,
    sandbox,
    size,
    start,
    table,
    train,
    verification,
    waiting,
    watch,
)
from bench.integrity import command as integrity
from bench.measure import CannotRun

GROUPS = {
    "iteration": iteration.rows,
    "start": start.rows,
    "size": size.rows,
    "output": output.rows,
    "dialects": dialects.rows,
    "parallel": parallel.rows,
    "train": train.rows,
    "probe": probe.rows,
    "waiting": waiting.rows,
    "verification": verification.rows,
    "browser": browser.rows,
    "dashboard": dashboard.rows,
    "journal": journal.rows,
    "watch": watch.rows,
    "receipts": receipts.rows,
    "audit": audit.rows,
    "guard": guard.rows,
    "sandbox": sandbox.rows,
}

INTEGRITY = "`python -m bench integrity --help`: the integrity benchmark, which measures verdicts and not times."


def main() -> int:
    if sys.argv[1:2] == ["integrity"]:
        return integrity.main(sys.argv[2:])
    options = _options()
    _warn_if_busy()
    rows: list[table.Row] = []
    left_out, failed = [], []
    for name in options.group or GROUPS:
        print(f"measuring: {name}", file=sys.stderr)
        try:
            rows += GROUPS[name]()
        except CannotRun as reason:
            left_out.append(f"left out: {name}: {reason}")
        except Exception as error:  # whatever it is, it is no reason to lose the other rows
            failed.append(f"failed: {name}: {type(error).__name__}: {error}")
    print("\n".join((table.render(rows), *left_out, *failed)))
    if options.json:
        options.json.write_text(json.dumps([row.as_json() for row in rows], indent=2) + "\n")
    return int(bool(failed) or (options.check and not all(row.ok for row in rows)))


def _warn_if_busy() -> None:
    load, processors = os.getloadavg()[0], os.cpu_count() or 1
    if load > processors / 2:
        print(f"the machine is busy (load {load:.1f} on {processors} processors): times are too long", file=sys.stderr)


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m bench", description="Measure what Ralph costs.", epilog=INTEGRITY)
    parser.add_argument("group", nargs="*", help=f"one of {', '.join(GROUPS)}; without any: all of them")
    parser.add_argument("--json", type=Path, metavar="FILE", help="write the numbers to FILE as well")
    parser.add_argument("--check", action="store_true", help="exit with 1 if a row is over its limit")
    options = parser.parse_args()
    for name in options.group:
        if name not in GROUPS:
            parser.error(f"there is no group {name!r}: choose from {', '.join(GROUPS)}")
    return options


if __name__ == "__main__":
    sys.exit(main())
