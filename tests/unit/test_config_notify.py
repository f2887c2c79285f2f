"""The section `notify`: what it may say, and that no address is ever shown."""

from __future__ import annotations

import json
from typing import Any

import pytest

from ralph import config as configuration
from ralph import config_notify
from ralph.config import Config
from ralph.config_notify import KINDS, expanded, shown, without_addresses
from ralph.errors import RalphError
from ralph.validation import Mistakes

HOOK = "https://hooks.example.com/services/T0AAAAAAA/B0BBBBBBB/zX8yW7vU6tS5rQ4p"


def parsed(*ways: dict[str, Any]) -> Config:
    least = {"provider": {"command": "claude"}, "verify": {"default": ["make test"]}, "notify": ways}
    return configuration.parse(json.dumps(least).encode())


def test_nobody_is_told_anything_by_default_and_everything_once_there_is_a_way() -> None:
    assert configuration.parse(b'{"provider": {"command": "x"}, "verify": {"default": []}}').notify == ()
    (one,) = parsed({"to": "desktop"}).notify
    assert one.on == KINDS == ("finished", "blocked", "needs-you", "limit", "budget")


@pytest.mark.parametrize(
    ("way", "mistake"),
    [
        ({"to": "webhook"}, "notify[0].url: missing, and 'webhook' needs it"),
        ({"to": "command"}, "notify[0].command: missing, and 'command' needs it"),
        ({"to": "desktop", "url": HOOK}, "notify[0].url: has no meaning with 'desktop'"),
        ({"to": "webhook", "url": HOOK, "command": "x"}, "notify[0].command: has no meaning with 'webhook'"),
        ({"to": "webhook", "url": HOOK, "ui": "http://a"}, "notify[0].ui: has no meaning without 'ntfy'"),
        ({"to": "webhook", "url": "hooks.example.com"}, "notify[0].url: does not begin with https:// or http://"),
        ({"to": "webhook", "url": "file:///etc/passwd"}, "notify[0].url: does not begin with https:// or http://"),
        ({"to": "ntfy", "url": "https://ntfy.sh/"}, "notify[0].url: has no topic, as in https://ntfy.sh/TOPIC"),
        (
            {"to": "webhook", "url": "https://x.example/${A B}"},
            "notify[0].url: a variable is written ${NAME}, with letters, digits and _",
        ),
    ],
)
def test_mistakes_name_the_setting_and_never_the_address(way: dict[str, Any], mistake: str) -> None:
    with pytest.raises(Mistakes) as found:
        parsed(way)
    assert found.value.mistakes == [mistake]
    assert HOOK not in str(found.value) + "".join(found.value.details)


def test_unknown_ways_events_and_keys_are_refused_without_showing_the_address() -> None:
    with pytest.raises(Mistakes) as found:
        parsed({"to": "pigeon", "url": HOOK}, {"to": "desktop", "on": ["nothing"]}, {"to": "desktop", "urls": HOOK})
    said = "\n".join(found.value.mistakes)
    assert "notify[0].to" in said and "notify[1].on[0]" in said and "notify[2].urls" in said
    assert "zX8yW7vU6tS5rQ4p" not in said


@pytest.mark.parametrize(
    ("url", "text"),
    [
        (HOOK, "https://hooks.example.com/…"),
        ("https://me:hunter22@ntfy.example:8443/topic?auth=x", "https://ntfy.example:8443/…"),
        ("https://ntfy.sh?token=abc", "https://ntfy.sh/…"),
        ("tgram://123456:ABCDEF/42", "tgram://…"),
        ("https://${HOST}/${PATH}", "https://${HOST}/…"),
        ("${WHOLE_ADDRESS}", "${WHOLE_ADDRESS}"),
        ("no address at all", "…"),
    ],
)
def test_only_the_host_of_an_address_is_shown(url: str, text: str) -> None:
    assert shown(url) == text


def test_variables_are_replaced_when_a_message_is_sent_and_a_missing_one_is_named() -> None:
    assert expanded("https://a.example/${ONE}/${TWO}", {"ONE": "1\n", "TWO": "2"}) == "https://a.example/1/2"
    with pytest.raises(RalphError, match="The variable TWO is not set") as found:
        expanded("https://a.example/secret-path/${TWO}", {"TWO": ""})
    assert "secret-path" not in f"{found.value.what} {found.value.remedy}"


def test_what_an_address_hides_is_secret_for_the_whole_run() -> None:
    config = parsed(
        {"to": "webhook", "url": HOOK},
        {"to": "ntfy", "url": "https://user:p%40ssw0rd99@ntfy.example/${TOPIC}"},
        {"to": "webhook", "url": "${WHOLE}"},
        {"to": "webhook", "url": "https://a.example/${MISSING}"},
    )
    environment = {"TOPIC": "my-own-topic", "WHOLE": "https://b.example/hook/9f8e7d6c5b4a39281706"}
    found = config_notify.secrets(config.notify, environment)
    assert found["zX8yW7vU6tS5rQ4p"] == "notify[0].url"
    assert found["p@ssw0rd99"] == found["p%40ssw0rd99"] == "notify[1].url"
    assert found["my-own-topic"] == "TOPIC"
    assert found["9f8e7d6c5b4a39281706"] == "notify[2].url"
    assert not {"services", "hooks.example.com", "ntfy.example", "b.example"} & found.keys(), "words of ordinary text"


def test_a_line_of_the_configuration_is_shown_without_its_address() -> None:
    line = f'+      "url": "{HOOK}",'
    assert without_addresses(line) == '+      "url": "https://hooks.example.com/…",'
    assert without_addresses('+  "command": "curl https://a.example/x"') == '+  "command": "curl https://a.example/x"'
