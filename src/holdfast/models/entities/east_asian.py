"""Names in Japanese, Chinese and Korean, recognised by the words next to them.

Examples: 田中さん, 王先生, 株式会社, 김민수 씨.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache

from .base import EntityMatch, EntityType, compiled
from .gazetteer import listed

# Confidence: of an honorific, an introduction or a legal form, of a phrase about a place, and of a
# place on a list.
TOLD = 0.8
PHRASED = 0.7
LISTED = 0.6

_KANA = "[\u3041-\u30ff]"
_HAN = "\u3400-\u4dbf\u4e00-\u9fff々"
_KATAKANA = "\u30a1-\u30fa\u30fc・"

_JAPANESE_PERSON = (
    rf"(?<![おご])([{_HAN}]{{1,6}}+|[{_KATAKANA}]{{2,12}}+)"
    r"(?:さん|さま|様|くん|君|ちゃん|先生|氏(?!名)|先輩|部長|課長|社長)"
)
_JAPANESE_COMPANY = (
    rf"(?:株式会社|有限会社|合同会社)([{_HAN}{_KATAKANA}A-Za-z0-9&]{{2,20}}+)|"
    rf"([{_HAN}{_KATAKANA}A-Za-z0-9&]{{2,20}})(?:株式会社|有限会社|合同会社)"
)
# 娘はつむぎっていうんだ, タマという猫. Particles end what stands before the name.
_NAME_KANA = f"(?![はがのをにで])[\u3041-\u3093{_KATAKANA}]"
_JAPANESE_CALLED = (
    rf"(?<![^\s。、！？「はがのをに])(?:((?:{_NAME_KANA}){{2,6}})(?:って|と)いう(?:んだ|んです)"
    rf"|((?:{_NAME_KANA}|[{_HAN}]){{2,6}})(?:って|と)いう(?:名前|子|犬|猫))"
)
_JAPANESE_PLACE = rf"([{_HAN}]{{2,5}}|[{_KATAKANA}]{{2,10}})(?:に住|在住|出身|へ引っ越|に引っ越)"
# Words that take an honorific but are not names.
_NOBODY_JA = (
    "客|皆|神|王|奥|殿|娘|息子|母|父|兄|姉|弟|妹|祖父|祖母|子供|学生|看護師|隣|担当"
    "|何|誰|嬢|坊|旦那|新人|.*[屋者員]"
)
_HONORIFICS = (
    "先生|女士|小姐|太太|老师|老師|教授|医生|醫生|经理|經理|博士|同学|同學|律师|律師|主任|师傅"
)
_CHINESE_COMPANY = (
    rf"([{_HAN}A-Za-z]{{2,14}}?(?:股份)?(?:有限(?:责任|責任)?公司|集团|集團|科技公司))"
)
_BEFORE_COMPANY = "^.*[在是给給为為去到从從和与與跟了入我他她你的]"
_END = r"(?=[，。、！？,.!?\s]|$|[的了在是住和上市]|工作)"
# A name of two equal characters, as children and pets have it: 叫糖糖.
_CHINESE_CHILD = rf"叫(([{_HAN}])\2){_END}"
_CHINESE_CALLED = "[我他她名夫妻友子儿女妹弟哥姐侄孙]叫|名字[是叫]|我是"
_CHINESE_PLACE = rf"(?:住在|搬到了?|出生在|来自|來自|去过|去過)([{_HAN}]{{2,4}}?){_END}"
_KOREAN_PERSON = (
    "(?<![가-힣])([김이박최정강조윤장임한오서신권황안송류전홍고문양손배백허남심노하곽성차주우구민유진나엄채원천방공현][가-힣]{1,2})"
    " ?(?:씨|선생님|교수님|대표님|과장님|부장님|팀장님)"
)
_KOREAN_COMPANY = (
    r"(?:주식회사|\(주\)|㈜) ?([가-힣A-Za-z0-9]{2,20})|([가-힣A-Za-z0-9]{2,20}) ?주식회사(?! )"
)
_TITLE = "[《『]([^《》『』\\n]{1,40})[》』]"
# Particles that are attached to the noun.
_KOREAN_PARTICLE = "(?<=..)(?:에서|으로|[에은는을를의와과로])$"


def east_asian_names(text: str) -> Iterator[EntityMatch]:
    """Yield names that the words around them identify; without such words a name looks like any
    other word.
    """
    # Cheap test first: below this code point there is neither kana nor Han nor Hangul.
    if not text or max(text) < "\u3040":
        return
    yield from _titles(text)
    if compiled(_KANA).search(text):
        yield from _japanese(text)
    elif compiled(f"[{_HAN}]").search(text):
        yield from _chinese(text)
    for match in compiled(_KOREAN_PERSON).finditer(text):
        yield _found(match, 1, "person", TOLD)
    for match in compiled(_KOREAN_COMPANY).finditer(text):
        name = compiled(_KOREAN_PARTICLE).sub("", match[1]) if match[1] else match[2]
        end = match.start(1) + len(name) if match[1] else match.end()
        yield EntityMatch(
            name,
            "organization",
            match.start(),
            end,
            TOLD,
            text[match.start() : end],
        )


def _titles(text: str) -> Iterator[EntityMatch]:
    """Yield works: 《活着》, 『こころ』."""
    for match in compiled(_TITLE).finditer(text):
        yield EntityMatch(match[1], "other", match.start(1), match.end(1), TOLD, match[1])


def _listed_places(text: str, section: str) -> Iterator[EntityMatch]:
    for match in compiled(_any_of(section)).finditer(text):
        yield EntityMatch(
            match.group(), "location", match.start(), match.end(), LISTED, match.group()
        )


@cache
def _any_of(section: str) -> str:
    return "|".join(sorted(listed(section).sure, key=len, reverse=True))


def _japanese(text: str) -> Iterator[EntityMatch]:
    yield from _listed_places(text, "places ja")
    for match in compiled(_JAPANESE_PERSON).finditer(text):
        name = _surname(match[1])
        if not compiled(_NOBODY_JA).fullmatch(name):
            start = match.end(1) - len(name)
            yield _honoured(name, start, text[start : match.end()])
    for match in compiled(_JAPANESE_COMPANY).finditer(text):
        yield _found(match, 1 if match[1] else 2, "organization", TOLD)
    for match in compiled(_JAPANESE_CALLED).finditer(text):
        name = match[1] or match[2]
        start = match.start(match.lastindex or 0)
        yield EntityMatch(name, "person", start, start + len(name), PHRASED, name)
    for match in compiled(_JAPANESE_PLACE).finditer(text):
        yield _named(match, "location", PHRASED)


def _surname(run: str) -> str:
    """Return the name at the end of a run that may start with other words: 昨日田中 is 田中."""
    known = listed("surnames ja").sure
    for start in range(len(run)):
        if run[start:] in known:
            return run[start:]
    # Most surnames have two characters; a run of up to four may be a full name.
    if len(run) <= 4:
        return run
    return run[-2:]


def _chinese(text: str) -> Iterator[EntityMatch]:
    yield from _listed_places(text, "places zh")
    honoured, introduced = _chinese_people()
    for match in compiled(honoured).finditer(text):
        yield _honoured(match[1], match.start(), match.group())
    for match in (
        *compiled(introduced).finditer(text),
        *compiled(_CHINESE_CHILD).finditer(text),
    ):
        yield _named(match, "person", TOLD)
    for match in compiled(_CHINESE_COMPANY).finditer(text):
        name = compiled(_BEFORE_COMPANY).sub("", match[1])
        if len(name) > 4:
            yield EntityMatch(
                name, "organization", match.end() - len(name), match.end(), TOLD, name
            )
    for match in compiled(_CHINESE_PLACE).finditer(text):
        yield _named(match, "location", PHRASED)


@cache
def _chinese_people() -> tuple[str, str]:
    """Return patterns for names with an honorific, and for names that are introduced."""
    surname = "|".join(sorted(listed("surnames zh").sure, key=len, reverse=True))
    honoured = rf"((?:{surname})[{_HAN}]{{0,2}}?)(?:{_HONORIFICS})"
    introduced = rf"(?:{_CHINESE_CALLED})((?:{surname})[{_HAN}]{{1,2}}?){_END}"
    return honoured, introduced


def _honoured(
    name: str,
    start: int,
    raw: str,
) -> EntityMatch:
    """Return a person with an honorific, which is part of a one-character name: 张先生, 林さん."""
    return EntityMatch(
        name if len(name) > 1 else raw,
        "person",
        start,
        start + len(raw),
        TOLD,
        raw,
    )


def _found(
    match: re.Match[str],
    group: int,
    type_: EntityType,
    sure: float,
) -> EntityMatch:
    """Return the name in a group of a match, with the whole match as another spelling."""
    return EntityMatch(
        match[group],
        type_,
        match.start(),
        match.end(),
        sure,
        match.group(),
    )


def _named(
    match: re.Match[str],
    type_: EntityType,
    sure: float,
) -> EntityMatch:
    """Return the name in the first group of a match, without the words that identify it."""
    return EntityMatch(
        match[1],
        type_,
        match.start(1),
        match.end(1),
        sure,
        match[1],
    )
