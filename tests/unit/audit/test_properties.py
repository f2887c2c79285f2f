"""What holds for every change: no exception, nothing about equal files, nothing about further tests; and bounds."""

from __future__ import annotations

import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph.audit.audit import MOST, audit
from ralph.audit.files import MAX_SIZE, ChangedFile, matches
from ralph.plan.model import Gate
from tests.unit.audit.projects import told
from tests.unit.audit.samples import BATS, CHECK, CLASSES, GO, JAVA, MAKE, PACKAGE, PY, PYPROJECT, RUBY, RUST, TS

SAMPLES = {
    "tests/test_shop.py": PY,
    "tests/test_cart.py": CLASSES,
    "src/login.test.ts": TS,
    "shop_test.go": GO,
    "src/lib.rs": RUST,
    "src/test/java/CartTest.java": JAVA,
    "spec/cart_spec.rb": RUBY,
    "test/shop.bats": BATS,
    "tests/run.sh": CHECK,
    "scripts/check.sh": CHECK,
    "package.json": PACKAGE,
    "pyproject.toml": PYPROJECT,
    "Makefile": MAKE,
    "conftest.py": "import pytest\n",
    "tests/__snapshots__/a.snap": "1\n",
    ".github/workflows/ci.yml": "on: push\n",
    "uv.lock": "a\n",
    "src/shop.py": "x = 1\n",
    "setup.cfg": "[tool:pytest]\naddopts = -q\n",
    ".eslintrc.json": "{}",
}
COMMANDS = ("pytest", "npm test", "make test", "./scripts/check.sh", "go test ./...", "cargo test", "tox", "eslint .")
GATES = [Gate(name=command, command=command, timeout=60) for command in COMMANDS]
FURTHER = {
    ".py": 'def test_further_{0}():\n    thing = further({0}, "{1}")\n    assert thing == {0}\n',
    ".ts": 'it("further {0}", () => {{\n  expect(further("{1}")).toBe({0});\n}});\n',
    ".go": 'func TestFurther{0}(t *testing.T) {{\n\tif Further("{1}") != {0} {{\n\t\tt.Fatal()\n\t}}\n}}\n',
    ".rs": '#[test]\nfn further_{0}() {{\n    assert_eq!(further("{1}"), {0});\n}}\n',
    ".rb": 'it "further {0}" do\n  expect(further("{1}")).to eq({0})\nend\n',
    ".bats": '@test "further {0}" {{\n  run further {1}\n  [ "$output" = "{0}" ]\n}}\n',
}
FURTHER_IN = {
    "tests/test_shop.py": "tests/test_further.py",
    "src/login.test.ts": "src/further.test.ts",
    "shop_test.go": "further_test.go",
    "src/lib.rs": "tests/further.rs",
    "spec/cart_spec.rb": "spec/further_spec.rb",
    "test/shop.bats": "test/further.bats",
}
"""A test file, and another one beside it."""
OTHER = b"def test_other():\n    assert other(77) == 78\n"
paths = st.sampled_from(sorted(SAMPLES))


def concerns(*changes: ChangedFile, gates: list[Gate] = GATES) -> list[str]:
    base = {path: text.encode() for path, text in SAMPLES.items()}
    return told(audit(changes, gates, read_base=base.get, list_base=lambda: list(base)))


def pieces(text: str) -> st.SearchStrategy[str]:
    """Texts that look like the sample, cut and put together anew."""
    return st.lists(st.sampled_from(text.splitlines(keepends=True) or ["\n"]), max_size=30).map("".join)


@given(path=paths, before=st.none() | st.binary(max_size=400), after=st.none() | st.binary(max_size=400))
def test_no_bytes_raise_an_exception(path: str, before: bytes | None, after: bytes | None) -> None:
    concerns(ChangedFile(path=path, before=before, after=after))


@given(data=st.data(), path=paths)
def test_no_mixture_of_lines_raises_an_exception(data: st.DataObject, path: str) -> None:
    text = SAMPLES[path]
    mixed = data.draw(pieces(text + "\n".join(SAMPLES.values())))
    for before, after in ((text, mixed), (mixed, text)):
        concerns(ChangedFile(path=path, before=before.encode(), after=after.encode()))


WORDS = "npm run test ; && | ( ) ' \" $( -c sh cd .. = PATH=. python -m make"


@given(command=st.text(max_size=80) | st.lists(st.sampled_from(WORDS.split(" ")), max_size=12).map(" ".join))
def test_no_command_raises_an_exception(command: str) -> None:
    gate = Gate(name="g", command=command, timeout=60)
    concerns(ChangedFile(path="package.json", before=b"{}", after=PACKAGE.encode()), gates=[gate])


@given(path=paths, content=st.binary(max_size=400))
def test_equal_files_raise_nothing(path: str, content: bytes) -> None:
    assert concerns(ChangedFile(path=path, before=content, after=content)) == []


@given(data=st.data(), numbers=st.lists(st.integers(10, 99), min_size=1, max_size=5, unique=True))
def test_further_tests_raise_nothing(data: st.DataObject, numbers: list[int]) -> None:
    path, beside = data.draw(st.sampled_from(sorted(FURTHER_IN.items())))
    text, form = SAMPLES[path], FURTHER[path[path.rindex(".") :]]
    added = "\n\n".join(form.format(number, data.draw(st.text("abc", min_size=1, max_size=5))) for number in numbers)
    assert concerns(ChangedFile(path=path, before=text.encode(), after=f"{text}\n\n{added}".encode())) == []
    assert concerns(ChangedFile(path=beside, before=None, after=added.encode())) == []


def test_nobody_gets_more_concerns_than_a_person_reads() -> None:
    names = [f"tests/test_{number}.py" for number in range(MOST + 50)]
    assert len(concerns(*(ChangedFile(path=name, before=OTHER, after=None) for name in names))) == MOST


def test_a_test_file_that_cannot_be_read_is_told() -> None:
    huge = b"def test_a(): assert a() == 1\n" * (MAX_SIZE // 20)
    path = "tests/test_huge.py"
    assert concerns(ChangedFile(path=path, before=huge, after=huge + b"\n")) == [
        f"assertions {path}: the test file changed, and is too large or not text: nothing in it could be compared"
    ]
    assert concerns(ChangedFile(path=path, before=huge, after=None)) == [f"vanished {path}: the test file is gone"]
    assert concerns(ChangedFile(path=path, before=OTHER, after=b"\0\xff"))[0].startswith(f"vanished {path}:1")
    assert concerns(ChangedFile(path=path, before=None, after=huge)) == []


HOSTILE = [
    '"',
    "/*",
    "(",
    "{\n",
    "`",
    "#[test]\n",
    "@a(",
    "it(",
    "[a]\n",
    "$(A)",
    "||",
    "def test_a\n",
    "<a, ",
    "if(0){",
    "if (x) {\n",
    "before(",
    "assert (a, ",
    "a == ",
    "a.b.",
]


@pytest.mark.parametrize("sign", HOSTILE)
def test_no_content_takes_more_than_its_size_explains(sign: str) -> None:
    """What takes the square of the size would take many seconds instead of half a second."""
    content = (sign * (20_000 // len(sign))).encode()
    began = time.process_time()
    for path, text in SAMPLES.items():
        concerns(ChangedFile(path=path, before=text.encode(), after=content))
    assert time.process_time() - began < 3


@pytest.mark.parametrize(
    ("path", "glob", "expected"),
    [
        ("tests/a/test_x.py", "tests/**", True),
        ("tests/test_x.py", "tests/**/test_*.py", True),
        ("tests/a/b/test_x.py", "tests/**/test_*.py", True),
        ("tests/a/test_x.py", "tests/*", False),
        ("tests/a/test_x.py", "tests", True),
        ("tests/a/test_x.py", "tests/", True),
        ("testsuite/a.py", "tests", False),
        ("a/tests/x.py", "**/tests/**", True),
        ("tests/x.py", "**/tests/**", True),
        ("package.json", "package.json", True),
        ("web/package.json", "package.json", False),
        ("web/package.json", "**/package.json", True),
        ("a", "**", True),
        ("a/" * 60 + "b", "**/" * 30 + "c", False),
        ("a" * 200, "a*" * 40 + "b", False),
    ],
)
def test_globs_are_those_of_git(path: str, glob: str, expected: bool) -> None:
    assert matches(path, [glob]) is expected
