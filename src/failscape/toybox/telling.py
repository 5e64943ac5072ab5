"""What each form of toybox question is about, in words: for the sentences that name failure modes. Pure."""

from collections.abc import Sequence
from typing import Final, NamedTuple

from failscape.spaces.questions import Clause, Pattern
from failscape.spaces.wording import with_article
from failscape.toybox.questions import BY_KEY, SLOT_VALUES, word_question

#: What stands for anything in an example; other slots take their first value.
_EXAMPLES: Final = {"thing": "cow", "other": "fish", "another": "owl", "else": "blue", "far side": "right"}


#: Slot of a question → the marks by which a text below says it.
_MARKS: Final = {
    "thing": ("{thing}", "{bare}", "{the}", "{things}"),
    "other": ("{another}",),
    "relation": ("{relation}",),
    "size": ("{size}", "{sized}"),
    "colour": ("{colour}", "{tinted}"),
}


class FormWords(NamedTuple):
    """How a form is told: in general, and where a right "yes" or "no" is what it gets wrong."""

    plain: str
    yes: str = ""
    no: str = ""


FORMS: Final[dict[str, FormWords]] = {
    "exists": FormWords(
        "it gets wrong whether {thing} is there",
        "it denies {thing} that is there",
        "it sees {thing} that is not there",
    ),
    "absent": FormWords(
        "it gets wrong whether there is no {bare}",
        "it does not see that there is no {bare}",
        "it says that there is no {bare} when there is one",
    ),
    "colour": FormWords("it names the wrong colour of {the}"),
    "count": FormWords("it miscounts {things}"),
    "count all": FormWords("it miscounts all things of a picture"),
    "size": FormWords("it gets the size of {the} wrong"),
    "place": FormWords("it names the wrong place"),
    "relation": FormWords(
        "it gets wrong whether {the} is {relation} another",
        "it denies that {the} is {relation} another",
        "it says that {the} is {relation} another when it is not",
    ),
    "more": FormWords("it gets wrong whether there are more {things} than others"),
    "not size": FormWords("it miscounts the things that are not {size}"),
    "colour+thing": FormWords(
        "it gets wrong whether there is {colour} {bare}",
        "it denies {colour} {bare} that is there",
        "it sees {colour} {bare} that is not there",
    ),
    "size+thing": FormWords(
        "it gets wrong whether there is {sized} {bare}",
        "it denies {sized} {bare} that is there",
        "it sees {sized} {bare} that is not there",
    ),
    "size+colour": FormWords(
        "it gets wrong whether there is {sized} {tinted} thing",
        "it denies {sized} {tinted} thing that is there",
        "it sees {sized} {tinted} thing that is not there",
    ),
    "size+colour+thing": FormWords(
        "it gets wrong whether there is {sized} {tinted} {bare}",
        "it denies {sized} {tinted} {bare} that is there",
        "it sees {sized} {tinted} {bare} that is not there",
    ),
    "odd size": FormWords("it cannot tell which thing differs in size"),
    "odd colour": FormWords("it cannot tell which thing differs in colour"),
    "odd kind": FormWords("it cannot tell which thing differs in kind"),
    "hop thing": FormWords("it cannot tell which thing is {relation} {another}"),
    "hop colour": FormWords("it names the wrong colour of the thing {relation} {another}"),
    "hop size": FormWords("it gets the size of the thing {relation} {another} wrong"),
    "pair more": FormWords("it gets wrong which of two pictures has more {things}"),
    "pair place": FormWords("it gets wrong whether two pictures show the same place"),
    "pair difference": FormWords("it cannot tell which thing changed its colour between two pictures"),
}


def tell(pattern: Pattern, plurals: dict[str, str]) -> tuple[str, Sequence[Clause]] | None:
    """The main clause of a pattern, and the clauses that it does not say; None where there are no words."""
    words = FORMS.get(pattern.form)
    if words is None:
        return _tell_by_example(pattern)
    given = dict(pattern.clauses)
    text = {"yes": words.yes, "no": words.no}.get(given.get("answer", "")) or words.plain
    thing, other = given.get("thing", ""), given.get("other", "")
    slots = {
        "thing": with_article(thing) if thing else "a thing",
        "bare": thing or "thing",
        "the": f"the {thing}" if thing else "a thing",
        "things": plurals.get(thing, "things"),
        "relation": given.get("relation") or "beside",
        "size": given.get("size") or "of a size",
        "colour": with_article(given["colour"]) if "colour" in given else "a coloured",
        "tinted": given.get("colour") or "coloured",
        "sized": with_article(given["size"]) if "size" in given else "a small or large",
        "another": f"the {other}" if other else "another",
    }
    said = {name for name, marks in _MARKS.items() if any(mark in text for mark in marks)}

    if text in (words.yes, words.no):
        said.add("answer")
    return text.format(**slots), [clause for clause in pattern.clauses if clause[0] not in said]


def _tell_by_example(pattern: Pattern) -> tuple[str, Sequence[Clause]] | None:
    """A form put together from parts is told by a question of it, with the values that its clauses name."""
    form = BY_KEY.get(pattern.form)
    if form is None:
        return None
    slots = {name: _EXAMPLES.get(name, SLOT_VALUES[name][0]) for name in form.slots}
    slots |= {name: value for name, value in pattern.clauses if name in slots and value in SLOT_VALUES[name]}
    rest = [clause for clause in pattern.clauses if slots.get(clause[0]) != clause[1]]
    return f'it gets questions like "{word_question(form, slots)}" wrong', rest
