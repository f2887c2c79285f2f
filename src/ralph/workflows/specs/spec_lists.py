"""The lists in a spec's Markdown, and what the headings above them say about them."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ralph.frozen import Frozen
from ralph.workflows.specs.spec_headings import HeadingRole, role_of

if TYPE_CHECKING:
    from markdown_it import MarkdownIt
    from markdown_it.token import Token
    from markdown_it.tree import SyntaxTreeNode

BOX = re.compile(r"\[(?:\s?|(?P<ticked>[xX]))\](?:\s+|$)")
LISTS = ("bullet_list", "ordered_list")
BREAKS = ("softbreak", "hardbreak")
BOLD_LINE, LINE_WITH_COLON = 7, 8  # used instead of a heading, and below every heading


class ListEntry(Frozen):
    """One item of a list: its text without Markdown's marks."""

    text: str
    line: int
    done: bool


class ListItem(Frozen):
    """A listed item with the headings above it."""

    listed: ListEntry
    has_box: bool
    role: HeadingRole | None = None


@dataclass
class Outline:
    """A text's headings and the items below them."""

    headings: list[tuple[int, str]] = field(default_factory=list)
    items: list[ListItem] = field(default_factory=list)

    @property
    def title(self) -> str:
        first = min(self.headings, key=lambda heading: heading[0] != 1, default=(0, ""))
        return first[1]


def outline(text: str) -> Outline:
    """Read the Markdown `text`, without quotations, comments and code."""
    from markdown_it import MarkdownIt
    from markdown_it.tree import SyntaxTreeNode

    # `_tokens` reads the words of a line separately: marks can be nested too deeply for walking a tree of them.
    reader = _Reader(MarkdownIt("commonmark").enable("strikethrough").disable("inline"))
    blocks = SyntaxTreeNode(reader.markdown.parse(_without_front_matter(text), reader.references)).children
    levels = [int(block.tag[1:]) for block in blocks if block.type == "heading"]
    has_title = levels.count(1) == 1 and len(levels) > 1
    found = Outline()
    above: list[tuple[int, HeadingRole | None]] = []
    for block in blocks:
        if block.type in LISTS:
            found.items += _placed(reader.items(block), above)
        elif heading := reader.heading(block):
            level, words = heading
            above = [outer for outer in above if outer[0] < level]
            # A title says what the spec is about ("Notes app"), not what its lists are.
            above.append((level, None if has_title and level == 1 else role_of(words)))
            if level < BOLD_LINE:
                found.headings.append(heading)
        elif block.type == "paragraph":
            above = [outer for outer in above if outer[0] < LINE_WITH_COLON]
    return found


def _placed(items: Iterable[ListItem], above: list[tuple[int, HeadingRole | None]]) -> Iterator[ListItem]:
    """The items with the role that the nearest heading gives them; notes among tasks are tasks only with a box."""
    roles = [role for _, role in reversed(above) if role]
    role = next((role for role in roles if role in (HeadingRole.TASKS, HeadingRole.CRITERIA)), None)
    is_aside = HeadingRole.ASIDE in (roles[: roles.index(role)] if role else roles)
    for item in items:
        if is_aside and not (role and item.has_box):
            yield ListItem(listed=item.listed, has_box=item.has_box, role=HeadingRole.ASIDE)
        else:
            yield ListItem(
                listed=item.listed, has_box=item.has_box, role=role or (HeadingRole.STEPS if roles else None)
            )


@dataclass
class _Reader:
    """Markdown's rules, and the links that one text defines."""

    markdown: MarkdownIt
    references: dict[str, object] = field(default_factory=dict)

    def heading(self, block: SyntaxTreeNode) -> tuple[int, str] | None:
        """A heading's level and words; a bold line or a line that ends with a colon also counts as a heading."""
        if block.type not in ("heading", "paragraph"):
            return None
        tokens = self._tokens(block.children[0].content)
        words = _on_one_line(_visible(tokens))
        if block.type == "heading" or not words:
            return (int(block.tag[1:]), words) if words else None
        if any(token.type in BREAKS for token in tokens):
            return None
        if not _visible(tokens, without="strong").strip(" :"):
            return BOLD_LINE, words
        return (LINE_WITH_COLON, words) if words.endswith(":") else None

    def items(self, block: SyntaxTreeNode, *, nested: bool = False) -> list[ListItem]:
        """A list's items in order; one without a box belongs to the item it is nested in, or names its boxes."""
        found: list[ListItem] = []
        for entry in block.children:
            inner = [item for part in entry.children if part.type in LISTS for item in self.items(part, nested=True)]
            own = self._item(entry)
            if own and (own.has_box or not (nested or inner)):
                found.append(own)
            found += inner
        return found

    def _item(self, entry: SyntaxTreeNode) -> ListItem | None:
        first = entry.children[0] if entry.children else None
        if first is None or first.type not in ("paragraph", "heading"):
            return None
        source = first.children[0].content
        box = BOX.match(source)
        seen = _visible(self._tokens(source[box.end() :] if box else source))
        before = (box[0] if box else "") + seen[: len(seen) - len(seen.lstrip())]
        assert first.map, "every block knows its lines"
        line = first.map[0] + 1 + before.count("\n")
        listed = ListEntry(text=_on_one_line(seen), line=line, done=bool(box and box["ticked"]))
        return ListItem(listed=listed, has_box=bool(box)) if listed.text else None

    def _tokens(self, source: str) -> list[Token]:
        tokens: list[Token] = []
        self.markdown.inline.parse(source, self.markdown, self.references, tokens)
        return tokens


def _visible(tokens: Iterable[Token], *, without: str = "s") -> str:
    """The visible text, with the line ends of what is left out; struck-out text counts as withdrawn."""
    seen: list[str] = []
    depth = 0
    for token in tokens:
        if token.type in (f"{without}_open", f"{without}_close"):
            depth += token.nesting
        elif token.type in BREAKS:
            seen.append("\n")
        elif depth or (token.type == "html_inline" and token.content.startswith("<!--")):
            seen.append("\n" * token.content.count("\n"))
        else:
            seen.append(token.content)
    return "".join(seen)


def _on_one_line(text: str) -> str:
    return " ".join(text.split())


def _without_front_matter(text: str) -> str:
    """Blank out the front matter that some tools keep at a file's top: Markdown would read it as a heading."""
    lines = text.split("\n")
    if lines[0].rstrip() != "---" or len(lines) < 2 or ":" not in lines[1]:
        return text
    end = next((at for at, line in enumerate(lines[1:], 1) if line.rstrip() in ("---", "...")), 0)
    return "\n".join([""] * (end + 1) + lines[end + 1 :]) if end else text
