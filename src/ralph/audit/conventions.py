"""Which files are tests, by the conventions of the test runners."""

from __future__ import annotations

import re
import sys
from posixpath import basename

TEST_FILES = (
    ("pytest, unittest, Django", r"(?:test\w*|\w+_tests?)\.py"),
    ("jest, vitest, mocha, ava, node:test", r"[^/]*[.\-_](?:test|spec|cy|e2e)\.[cm]?[jt]sx?|tests?\.[cm]?[jt]s"),
    ("go", r"[^/_.][^/]*_test\.go"),
    ("rspec, minitest", r"\w+_(?:spec|test)\.rb|test_\w+\.rb"),
    ("JUnit, TestNG, Kotest, Spock", r"(?:Test\w+|\w+(?:Tests?|TestCase|IT|Spec))\.(?:java|kt|groovy|scala)"),
    ("xUnit, NUnit", r"\w+(?:Tests?|Specs?)\.cs"),
    ("PHPUnit, Pest", r"\w+Test\.php"),
    ("ExUnit", r"\w+_test\.exs"),
    ("bats, shunit2", r"[^/]+\.bats|(?:test[\w-]*|[\w-]+[_-]test)\.(?:sh|bash)"),
    ("Perl and git's own: t/", r"[^/]+\.t|t\d{4}-[^/]+\.sh"),
    ("dart, swift, C++", r"\w+_test\.(?:dart|cc|cpp|cxx)|\w+Tests\.swift"),
)
"""By runner: how the names of its test files look."""
TEST_FOLDERS = (
    ("jest", r"(?:.*/)?__tests__/(?:.*/)?[^/]+\.[cm]?[jt]sx?"),
    ("mocha, node:test", r"(?:.*/)?tests?/(?:.*/)?[^/]+\.[cm]?[jt]sx?"),
    ("cargo", r"(?:.*/)?tests/(?:[^/]+|[^/]+/main)\.rs"),
    (
        "Maven, Gradle",
        r"(?:.*/)?src/(?:test|integrationTest)/(?:java|kotlin|scala|groovy)/.+\.(?:java|kt|scala|groovy)",
    ),
    ("shell", r"(?:.*/)?(?:t|tests?|spec)/(?:.*/)?[^/]+\.(?:sh|bash|bats|t)"),
)
"""By runner: where every file is a test."""
_NAME = re.compile("|".join(pattern for _, pattern in TEST_FILES))
_PLACE = re.compile("|".join(pattern for _, pattern in TEST_FOLDERS))
_HELPER = re.compile(
    r"(?:conftest|test_?(?:helpers?|utils?|support))\.py|(?:setup|helpers?|utils|global)\.[cm]?[jt]s|.*\.d\.ts"
)
_UNCOLLECTED = re.compile(
    r"(?:^|/)(?:node_modules|\.[^/]+|build|dist|venv|vendor|testdata|_[^_/][^/]*|__mocks__|__fixtures__|fixtures)/"
)
"""Folders that runners leave out."""
_OTHER_SYSTEM = re.compile(
    r".*_(?P<system>aix|android|darwin|dragonfly|freebsd|illumos|ios|js|linux|nacl|netbsd|openbsd|plan9|solaris|wasip1|windows|zos)"
    r"(?:_\w+)?_test\.go"
)
_OF_TESTS = re.compile(r"(?:^|/)(?:tests?|spec|e2e|__tests__|__mocks__|__fixtures__|testdata)/")
_SNAPSHOT = re.compile(
    r"(?:^|/)(?:tests?|spec|t)/(?:.*/)?(?:expected|expectations|approved|baselines?)/[^/]+\.(?!py$|go$|rs$|sh$|[cm]?[jt]sx?$)\w+$"
    r"|(?:^|/)(?:tests?|spec|t)/(?:.*/)?(?:\w+[._-])?expected\.(?!py$|go$|rs$|sh$|[cm]?[jt]sx?$)\w+$|"
    r"(?:^|/)(?:__snapshots__|__image_snapshots__|snapshots|golden|goldens|testdata|cassettes)/"
    r"|\.snap$|\.approved\.[^/]+$|\.golden$|\.verified\.[^/]+$|-snapshots/|\.ambr$|\.(?:stdout|stderr|out)\.expected$"
)


def is_test_file(path: str) -> bool:
    """Return whether a test runner collects tests from a file of this name."""
    name = basename(path)
    if _UNCOLLECTED.search(path) or _HELPER.fullmatch(name) or is_snapshot(path):
        return False
    other = _OTHER_SYSTEM.fullmatch(name)
    if other and other["system"] != sys.platform.rstrip("0123456789"):
        return False  # go builds it on another system only
    return bool(_NAME.fullmatch(name) or _PLACE.fullmatch(path))


def belongs_to_tests(path: str) -> bool:
    """Return whether a file is a test, or exists for tests alone: helpers, data and results in a folder of tests."""
    name = basename(path)
    return is_test_file(path) or is_snapshot(path) or name == "conftest.py" or bool(_OF_TESTS.search(path))


def is_snapshot(path: str) -> bool:
    """Return whether a file holds results that tests compare with: snapshots, approved and golden files."""
    return bool(_SNAPSHOT.search(path))
