"""Answers in another language: short ones are put into English, others are told apart. Pure.

Only the few words that closed questions are answered with are known: yes and no, numbers, colours, sides.
"""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence
from typing import Final

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
_LEAST_SMALL: Final = 2
"""So many small words of a language in one answer are no accident."""


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
