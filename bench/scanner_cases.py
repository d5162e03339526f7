"""Other scanners' own test cases, read from a checkout at run time: none of their texts is kept
here.

Of gitleaks, what each rule in `cmd/generate/config/rules` must and must not find. Of trufflehog,
the inputs in `pkg/detectors/*/*_test.go` and what is wanted of each. Where a rule's case is drawn
from a pattern, so is ours.
"""

from __future__ import annotations

import base64
import hashlib
import random
import re
import re._constants as sre
import re._parser as parser
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from go_source import UNKNOWN, Source, sprintf
from regex_samples import sample, translated

SEED = 17
FORMAT = 3  # so many fixed characters in a row make a key known by itself


class Case(NamedTuple):
    """A text of a rule, the secrets in it, and whether these show by themselves what they are."""

    rule: str
    text: str
    secrets: tuple[str, ...]
    has_format: bool
    positive: bool = True


class _Pattern(NamedTuple):
    """What a rule looks for; `named` where a name has to stand before it."""

    text: str
    named: bool = False
    ignores_case: bool = False


def half_of(rule: str) -> int:
    """Which of the two halves a rule belongs to: 0 was looked at while the scanner was made, 1 was
    kept aside.
    """
    return hashlib.sha256(rule.encode()).digest()[0] % 2


def gitleaks_cases(checkout: Path) -> Iterator[Case]:
    """Every case of every rule of gitleaks that could be worked out."""
    generate = checkout / "cmd" / "generate" / "config"
    calls = _Gitleaks(generate).calls()
    for path in sorted((generate / "rules").glob("*.go")):
        yield from _rules_of(path.read_text("utf-8"), calls)


def trufflehog_cases(checkout: Path) -> Iterator[Case]:
    """Every case of every detector of trufflehog that could be worked out."""
    for path in sorted((checkout / "pkg" / "detectors").rglob("*_test.go")):
        if "integration" not in path.name:
            yield from _detector_cases(path)


class _Gitleaks:
    """The helpers with which gitleaks' rules write their cases; templates and alphabets come from
    its own files.
    """

    def __init__(self, generate: Path) -> None:
        helpers = (generate / "utils" / "generate.go").read_text("utf-8")
        self.templates: dict[str, str] = Source(helpers, {}).names["samples"]
        one = re.search(
            r"func GenerateSampleSecret\(.*?Sprintf\((\".*?[^\\]\"),", helpers, re.DOTALL
        )
        self.template = Source(f"x := {one[1]}", {}).names["x"] if one else "{0}={1}"
        alphabets = (generate / "utils" / "patterns.go").read_text("utf-8")
        self.alphabets = dict(
            re.findall(r"func (\w+)\(size string\).*?`([^`]*)`", alphabets, re.DOTALL)
        )
        self.fixed = dict(re.findall(r"func (\w+)\(\) string \{\s*return `([^`]*)`", alphabets))
        self.chance = random.Random(SEED)
        self.told: dict[str, str] = {}  # the secret in each text that was made of a template

    def calls(self) -> dict[str, Any]:
        calls: dict[str, Any] = {
            "regexp.MustCompile": _Pattern,
            "utils.GenerateSemiGenericRegex": lambda names, text, small: _Pattern(
                text, True, small
            ),
            "utils.GenerateUniqueTokenRegex": lambda text, small: _Pattern(text, False, small),
            "utils.MergeRegexps": lambda *all_: _Pattern("|".join(one.text for one in all_)),
            "secrets.NewSecret": self._new,
            "newPlausibleSecret": self._plausible,
            "utils.GenerateSampleSecret": self._sample,
            "utils.GenerateSampleSecrets": self._samples,
            "fmt.Sprintf": sprintf,
            "base64.StdEncoding.EncodeToString": lambda text: base64.b64encode(
                text.encode()
            ).decode(),
            "base64.RawURLEncoding.EncodeToString": lambda text: base64.urlsafe_b64encode(
                text.encode()
            ).decode(),
            "strings.ToUpper": lambda text: text.upper(),
            "told": self.told,
        }
        for name, form in self.alphabets.items():
            calls[f"utils.{name}"] = lambda size, form=form: form.replace("%s", size)
        for name, text in self.fixed.items():
            calls[f"utils.{name}"] = lambda text=text: text
        return calls

    def _new(self, pattern: str) -> str:
        return sample(pattern, self.chance)

    def _plausible(self, pattern: str) -> str:
        drawn = sample(pattern, self.chance)
        return drawn if re.search("[1-9]", drawn) else self._plausible(pattern)

    def _sample(self, name: str, secret: str) -> str:
        text = sprintf(self.template, name, secret)
        self.told[text] = secret
        return text

    def _samples(self, name: str, secret: str) -> list[str]:
        texts = []
        for template in self.templates.values():
            text = template.replace("{i}", name).replace("{I}", name.upper()).replace("{s}", secret)
            self.told[text] = secret
            texts.append(text)
        return texts


def _rules_of(text: str, calls: dict[str, Any]) -> Iterator[Case]:
    told = calls["told"]
    for name, arguments in Source(
        text, {key: call for key, call in calls.items() if callable(call)}
    ).called:
        if name not in ("utils.Validate", "utils.ValidateWithPaths") or not isinstance(
            arguments[0], dict
        ):
            continue
        rule, pattern = arguments[0], arguments[0].get("Regex", UNKNOWN)
        for positive, given in zip((True, False), arguments[1:3], strict=False):
            texts = (
                given.values()
                if isinstance(given, dict)
                else given
                if isinstance(given, list)
                else ()
            )
            for case in texts:
                if isinstance(case, str) and isinstance(pattern, _Pattern):
                    secrets = (
                        (told[case],)
                        if case in told
                        else _found(pattern, case, rule.get("SecretGroup"))
                    )
                    yield Case(rule["RuleID"], case, secrets, _has_format(pattern), positive)


def _found(pattern: _Pattern, text: str, group: Any) -> tuple[str, ...]:
    flags = re.IGNORECASE if pattern.ignores_case else re.NOFLAG
    try:
        if pattern.named:
            expression = re.compile(
                rf"(?<![A-Za-z0-9])(?:{translated(pattern.text)})(?![A-Za-z0-9])", flags
            )
            found = [match[0] for match in expression.finditer(text)]
            return (max(found, key=lambda one: sum(map(str.isdecimal, one))),) if found else ()
        match = re.search(translated(pattern.text), text, flags)
    except re.error:
        return ()
    if match is None:
        return ()
    if isinstance(group, int) and match[group]:
        return (match[group],)
    return (next((one for one in match.groups() if one), match[0]),)


def _has_format(pattern: _Pattern) -> bool:
    try:
        parsed: Any = parser.parse(translated(pattern.text))
    except re.error:
        return False
    groups = [value for kind, value in parsed if kind is sre.SUBPATTERN and value[0]]
    return _fixed_run(groups[0][3] if groups and not pattern.named else parsed) >= FORMAT


def _fixed_run(parsed: Any) -> int:
    """The longest run of characters that every match has."""
    longest = current = 0
    for kind, value in parsed:
        if kind is sre.LITERAL:
            current += 1
        elif kind is sre.SUBPATTERN:
            longest, current = max(longest, current, _fixed_run(value[3])), 0
        elif kind is sre.BRANCH:
            longest, current = max(longest, current, min(map(_fixed_run, value[1]))), 0
        elif kind is not sre.AT:
            longest, current = max(longest, current), 0
    return max(longest, current)


def _detector_cases(path: Path) -> Iterator[Case]:
    source = Source(path.read_text("utf-8"), {"fmt.Sprintf": sprintf})
    detector = "/".join(path.parent.parts[path.parent.parts.index("detectors") + 1 :])
    has_format = _is_known_by_itself(path.parent)
    for one in source.composites:
        wanted = one.get("want") if isinstance(one, dict) else None
        if (
            isinstance(one, dict)
            and isinstance(one.get("input"), str)
            and (wanted is None or isinstance(wanted, list))
        ):
            secrets = [
                part
                for want in wanted or ()
                if isinstance(want, str)
                for part in _parts(want, one["input"])
            ]
            if secrets or not wanted:
                yield Case(detector, one["input"], tuple(secrets), has_format, bool(wanted))


def _parts(want: str, text: str) -> list[str]:
    """What is wanted as it stands in the text: some detectors put two values together."""
    if want in text:
        return [want]
    halves = ((want[:cut], want[cut:].lstrip(":;")) for cut in range(8, len(want) - 7))
    return next(([a, b] for a, b in halves if a in text and b in text), [])


def _is_known_by_itself(folder: Path) -> bool:
    """Whether no pattern of the detector leans on a word before the key, and one has a fixed
    beginning.
    """
    text = "".join(
        path.read_text("utf-8")
        for path in folder.glob("*.go")
        if not path.name.endswith("_test.go")
    )
    if "PrefixRegex" in text:
        return False
    patterns = re.findall(r"MustCompile\(`([^`]*)`", text)
    return any(_has_format(_Pattern(pattern)) for pattern in patterns)
