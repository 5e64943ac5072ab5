"""Providers `exact` and `panel`: verifiers without a model of their own.

`exact` compares an answer with the right one that the probe brings along. No model, no guess. Short answers
are compared as they are. In a long one the right answer is looked for; where it is there beside another
answer of its kind ("yes and no", "two or three"), or the text avoids it, nothing is decided. What is denied
("it is not a cat") is not said.

`panel` asks several verifiers, each once or more; the majority decides. `params` holds `members` (the
settings of each model) and `repeats`. A tie, or a panel of which fewer than half commit themselves, decides
nothing. How many agree is kept with every verification.
"""

import asyncio
import re
import unicodedata
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import reduce
from typing import Final, cast

from failscape.config import ModelConfig
from failscape.errors import ConfigError
from failscape.models.contracts.asking import replies_as_text
from failscape.models.in_process import Unloaded
from failscape.models.registry import create_model
from failscape.models.roles import AnswerToVerify, Identity, Model, Reply, Usage, Verification, Verifier

_IN_ENGLISH: Final = (
    "yes no zero one two three four five six seven eight nine ten red green blue yellow black white brown"
    " purple pink left right"
)
_ENGLISH: Final = tuple(_IN_ENGLISH.split())
_WORDS: Final = {
    "German": "ja nein null eins zwei drei vier fünf sechs sieben acht neun zehn rot grün blau gelb schwarz"
    " weiß braun lila rosa links rechts",
    "French": "oui non zéro un deux trois quatre cinq six sept huit neuf dix rouge vert bleu jaune noir"
    " blanc marron violet rose gauche droite",
    "Spanish": "sí no cero uno dos tres cuatro cinco seis siete ocho nueve diez rojo verde azul amarillo"
    " negro blanco marrón morado rosa izquierda derecha",
    "Italian": "sì no zero uno due tre quattro cinque sei sette otto nove dieci rosso verde blu giallo nero"
    " bianco marrone viola rosa sinistra destra",
    "Portuguese": "sim não zero um dois três quatro cinco seis sete oito nove dez vermelho verde azul amarelo"
    " preto branco castanho roxo rosa esquerda direita",
    "Chinese": "是 否 零 一 二 三 四 五 六 七 八 九 十 红色 绿色 蓝色 黄色 黑色 白色 棕色 紫色 粉色 左 右",
    "Japanese": "はい いいえ ゼロ 一つ 二つ 三つ 四つ 五つ 六つ 七つ 八つ 九つ 十"
    " 赤 緑 青 黄色 黒 白 茶色 紫 ピンク 左 右",
    "Russian": "да нет ноль один два три четыре пять шесть семь восемь девять десять красный зелёный синий"
    " жёлтый чёрный белый коричневый фиолетовый розовый слева справа",
}
_KNOWN: Final = {
    word: (language, english)
    for language, words in reversed(_WORDS.items())
    for word, english in zip(words.split(), _ENGLISH, strict=True)
    if word not in _ENGLISH
}
_SMALL: Final = {
    "German": "der die das ist ein eine es und auf dem den sind im",
    "French": "le la les est une il elle des dans sur c y et sont",
    "Spanish": "el los las es una hay en está son del y",
    "Italian": "il lo gli è una ci sono nella della e",
    "Portuguese": "o os uma há na está são da e",
}
_SMALL_WORDS: Final = {name: frozenset(words.split()) for name, words in _SMALL.items()}
#: So many small words of a language in one answer are no accident.
_LEAST_SMALL: Final = 2


def into_english(words: Sequence[str]) -> tuple[list[str], str]:
    """The words with those put into English that are known, and the language where all of the rest is small.

    Where nothing had to be put into English the language is empty.
    """
    found = [_KNOWN[word][0] for word in words if word in _KNOWN]
    if not found:
        return list(words), ""
    language = max(set(found), key=found.count)
    small = _SMALL_WORDS.get(language, frozenset())
    if any(word not in _KNOWN and word not in small and word not in _ENGLISH for word in words):
        return list(words), ""
    return [_KNOWN[word][1] if word in _KNOWN else word for word in words if word not in small], language


def language_of(words: Sequence[str]) -> str:
    """Another language than English that an answer is surely in, or its letters; else empty."""
    for letter in "".join(words):
        name = unicodedata.name(letter, "").split(" ")[0]
        if letter.isalpha() and name not in ("LATIN", "FEMININE", "MASCULINE", "MICRO"):
            return f"{name.split('-')[0].title()} letters"
    counts = {name: len(small & set(words)) for name, small in _SMALL_WORDS.items()}
    best = max(counts, key=lambda name: counts[name])
    return best if counts[best] >= _LEAST_SMALL else ""


#: Part of the identity. Raise it with the rules: answers compared by others must not be mixed.
LABEL = "exact/3"

NUMBERS = ("zero", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten")
#: Answers of so many words, articles not counted, are taken at their word.
SHORT = 3

_YES_NO = frozenset({"yes", "no"})
_SIDES = frozenset({"left", "right"})
_KINDS = (_YES_NO, frozenset(NUMBERS))
_SKIPPED = frozenset({"a", "an", "the", "it", "is", "are", "there", "its"})
_SPELLED = {"gray": "grey", "color": "colour"}
#: Where a number is asked for, these are zero.
_NONE = frozenset({"no", "none", "nothing", "nobody"})

_NEGATIONS = frozenset({"not", "no", "never", "without", "neither", "nor"})
_HEDGES = frozenset({"sure", "certain", "clear", "know", "tell", "say", "decide", "determine"})
_CLAUSES = re.compile(r"[,.;:!?\n]|\bbut\b|\brather\b")


def plain_words(text: str) -> list[str]:
    """Lower case, digits as words, British spelling, "not" for n't, no marks and articles."""
    text = re.sub(r"n[’']t\b|\bcannot\b", " not", text.lower())
    found = re.findall(r"[^\W\d_]+|\d+", text)
    named = [NUMBERS[int(word)] if word.isdecimal() and int(word) < len(NUMBERS) else word for word in found]
    return [_SPELLED.get(word, word) for word in named if word not in _SKIPPED]


def compare(answer: str, truth: str) -> Verification:
    """Is it right? `None` when the answer does not commit itself."""
    right = plain_words(truth)
    if not right:
        return Verification(None, None, "the exact verifier needs a known right answer")
    clauses = [plain_words(part) for part in _CLAUSES.split(answer)]
    plain = [word for clause in clauses for word in clause]
    english, language = into_english(plain)
    if language and not same(plain, right):
        decided = compare(" ".join(english), truth)
        reason = f"{answer!r} is {language} for {' '.join(english)}; {decided.reason or f'right: {truth}'}"
        return replace(decided, reason=reason)
    clauses = _as_said(clauses, right)
    said = [word for clause in clauses for word in clause]
    if not said:
        return Verification(None, None, "the answer is empty")
    if same(said, right):
        return Verification(True, True)
    if other := language_of(said):
        return Verification(None, None, f"the answer is not in English ({other}): {answer[:80]!r}")
    wrong = Verification(True, False, f"the right answer is {truth}")
    found = {_denied(clause, right) for clause in clauses if _places(clause, right)}
    if "doubted" in found or len(found) > 1:
        return Verification(None, None, "the answer does not commit itself")
    if "denied" in found or (not found and len(said) <= SHORT):
        return wrong
    kind = next((kind for kind in _KINDS if right[0] in kind), frozenset())
    others = [word for word in said if word in kind and word != right[0]]
    if found and not others and (len(said) > SHORT or _NEGATIONS & set(said)):
        return Verification(True, True)
    if others and not found:
        return wrong
    return wrong if len(said) <= SHORT else Verification(None, None, "the answer does not commit itself")


def changed(before: str, answer: str, change: str) -> list[bool | str | None]:
    """Whether an answer is another one than before, as facts: valid, right, reason."""
    first, second = (_gist(plain_words(text)) for text in (before, answer))
    if not first or not second:
        return [None, None, "the answer is empty"]
    alike = set(first) <= set(second) or set(second) <= set(first)
    return [True, not alike, f"it says {answer!r} as before, although {change}" if alike else ""]


def _gist(words: list[str]) -> list[str]:
    """The one word that decides, where there is just one: yes or no, a number, a side."""
    for kind in (*_KINDS, _SIDES):
        found = {word for word in words if word in kind}
        if len(found) == 1:
            return list(found)
    return words


def _as_said(clauses: list[list[str]], right: Sequence[str]) -> list[list[str]]:
    """The words in the terms of the right answer: "none" is zero, "it is not" is no."""
    terms: dict[str, str] = {}
    if right[0] in NUMBERS:
        terms = dict.fromkeys(_NONE, "zero")
    elif right[0] in _YES_NO and not any(_YES_NO & set(words) for words in clauses):
        terms = {"not": "no"}
    return [[terms.get(word, word) for word in words] for words in clauses]


def _denied(clause: Sequence[str], right: Sequence[str]) -> str:
    """Whether a clause that holds the right answer says it, denies it ("not a cat") or doubts it."""
    before = clause[: _places(clause, right)[0]]
    if not any(word in _NEGATIONS and word not in right for word in before):
        return "said"
    return "doubted" if _HEDGES & set(before) else "denied"


def same(said: Sequence[str], right: Sequence[str]) -> bool:
    return len(said) == len(right) and all(_alike(*pair) for pair in zip(said, right, strict=True))


def _alike(first: str, second: str) -> bool:
    """Equal but for a plural's ending."""
    return first == second or first in (f"{second}s", f"{second}es") or second in (f"{first}s", f"{first}es")


def _places(said: Sequence[str], right: Sequence[str]) -> list[int]:
    """Where the right answer begins in what was said."""
    size = len(right)
    return [at for at in range(len(said) - size + 1) if same(said[at : at + size], right)]


class ExactVerifier(Unloaded):
    batch = 64

    def __init__(self) -> None:
        self.identity = Identity("verifier", "exact", LABEL)

    async def verify(self, answers: Sequence[AnswerToVerify]) -> list[Reply[Verification]]:
        return [Reply(compare(given.answer, given.truth), usage=Usage(requests=0)) for given in answers]


def create(role: str, config: ModelConfig) -> Model:
    if config.params:
        raise ConfigError(f"the exact verifier takes no params, but got {config.params}", "remove `params`")
    return ExactVerifier()


Vote = tuple[bool, bool | None]


def decide(said: Sequence[Verification | None]) -> Verification:
    """The majority's word, with the share of the whole panel that gave it. `None`: no usable reply."""
    votes: Counter[Vote] = Counter()
    reasons: dict[Vote, str] = {}
    for one in said:
        if one is not None and one.valid is not None and (one.right is not None or not one.valid):
            vote = (one.valid, one.right if one.valid else None)
            votes[vote] += 1
            reasons.setdefault(vote, one.reason)
    ranked = votes.most_common(2)
    tied = len(ranked) == 2 and ranked[0][1] == ranked[1][1]
    if not ranked or tied or votes.total() * 2 < len(said):
        agreed = ranked[0][1] / len(said) if ranked else 0.0
        return Verification(None, None, f"the panel did not agree: {_told(votes, len(said))}", agreed)
    vote, number = ranked[0]
    like_minded = [one for one in said if one is not None and (one.valid, one.right) == vote]
    answer, share = common_answer([one.answer for one in like_minded], len(said))
    return Verification(*vote, reasons[vote], number / len(said), answer, share)


def common_answer(answers: Sequence[str], members: int) -> tuple[str, float]:
    """The right answer that most name, in the words of the first, and the share of the panel that does.

    Empty at a tie: two answers that are named equally often are no consensus.
    """
    named = [(answer, " ".join(plain_words(answer))) for answer in answers if answer]
    ranked = Counter(plain for _, plain in named).most_common(2)
    if not ranked or (len(ranked) == 2 and ranked[0][1] == ranked[1][1]):
        return "", 1.0
    common, number = ranked[0]
    return next(answer for answer, plain in named if plain == common), number / members


def _told(votes: Counter[Vote], members: int) -> str:
    names = {(True, True): "right", (True, False): "wrong", (False, None): "no valid question"}
    parts = [f"{number} say {names[vote]}" for vote, number in sorted(votes.items(), key=str)]
    silent = members - votes.total()
    return ", ".join([*parts, f"{silent} do not commit"] if silent else parts)


class VerifierPanel:
    batch = 1
    parallel = 1

    def __init__(self, members: Sequence[Verifier], repeats: int) -> None:
        self._members = members
        self._repeats = repeats
        settings = {"members": [member.identity.data for member in members], "repeats": repeats}
        self.identity = Identity("verifier", "panel", f"{len(members)} verifiers", settings)

    async def start(self) -> None:
        for member in self._members:
            await member.start()

    async def close(self) -> None:
        for member in self._members:
            await member.close()

    async def verify(self, answers: Sequence[AnswerToVerify]) -> list[Reply[Verification]]:
        return [await self._verify(given) for given in answers]

    async def _verify(self, given: AnswerToVerify) -> Reply[Verification]:
        asked = [member for member in self._members for _ in range(self._repeats)]
        replies = [row[0] for row in await asyncio.gather(*(member.verify([given]) for member in asked))]
        spent = reduce(Usage.__add__, (reply.usage for reply in replies), Usage(requests=0))
        raw = replies_as_text([reply.raw for reply in replies])
        return Reply(decide([reply.value for reply in replies]), raw=raw, usage=spent)


def create_panel(role: str, config: ModelConfig) -> Model:
    members = config.params.get("members") or ()
    if not members:
        raise ConfigError("a panel needs members", "list models under `verifier:`")
    made = [cast(Verifier, create_model(role, ModelConfig.model_validate(one))) for one in members]
    return VerifierPanel(made, int(config.params.get("repeats", 1)))
