"""Pages are found in acceptance criteria as people write them."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ralph.verify.urls import Page, pages_in, slug


@pytest.mark.parametrize(
    ("criterion", "addresses"),
    [
        ("/login shows a form.", ["/login"]),
        ("Visiting /login: a form", ["/login"]),
        (
            "`/settings/profile` and '/settings/mail', (/settings/keys)",
            ["/settings/profile", "/settings/mail", "/settings/keys"],
        ),
        ("http://localhost:3000/a/b?x=1#top, then /c", ["http://localhost:3000/a/b?x=1#top", "/c"]),
        ("See https://example.org/terms.", ["https://example.org/terms"]),
        ("/search?q=bread&page=2 lists bread", ["/search?q=bread&page=2"]),
        ("/docs/ and /docs/index.html", ["/docs/", "/docs/index.html"]),
        ("GET /api/me answers", ["/api/me"]),
        ("`/` lists three posts", ["/"]),
        ("The home page at / lists three posts", ["/"]),
        ("/ still shows the shop", ["/"]),
        ("/twice and /twice", ["/twice"]),
        ("/de/straße is fine", ["/de/stra"]),
    ],
)
def test_what_can_be_opened_is_found(criterion: str, addresses: list[str]) -> None:
    assert [page.address for page in pages_in([criterion])] == addresses


@pytest.mark.parametrize(
    "criterion",
    [
        "Typecheck passes",
        "yes / no and/or, 1/2, w/o",
        "POST /api/login logs in",
        "DELETE `/api/users` is refused",
        "/users/:id, /users/{id}, /users/<id> and /users/[id] exist",
        "writes /etc/hosts, /tmp/x and /src/app.py",
        "The file /components/Cart.tsx exists",
        "it takes at / 5 minutes",
    ],
)
def test_what_cannot_be_opened_is_not(criterion: str) -> None:
    assert pages_in([criterion]) == ()


@pytest.mark.parametrize(
    ("criterion", "expected"),
    [
        ("/missing shows a 404 page", {404}),
        ("/me returns 401 without a session", {401}),
        ("/down answers with status 503", {503}),
        ("/x is 404 or 410.", {404, 410}),
        ("/items shows 500 items", set()),
        ("/price is 499.99", set()),
        ("http://localhost:500/ is up", set()),
    ],
)
def test_a_status_that_a_criterion_asks_for_is_expected(criterion: str, expected: set[int]) -> None:
    assert set(pages_in([criterion])[0].expected) == expected


def test_a_path_belongs_to_the_application_and_a_url_to_itself() -> None:
    assert Page("/login").resolve("http://localhost:3000/health") == "http://localhost:3000/login"
    assert Page("http://a.test/x").resolve("http://localhost:3000/") == "http://a.test/x"
    assert Page("/login").resolve("") == ""


@given(st.lists(st.text()))
def test_whatever_people_write_each_page_is_found_once_and_has_a_name_for_a_file(criteria: list[str]) -> None:
    pages = pages_in(criteria)

    assert len({page.address for page in pages}) == len(pages)
    for page in pages:
        assert page.address.startswith(("/", "http"))
        assert slug(page.address).replace("-", "").isalnum()
