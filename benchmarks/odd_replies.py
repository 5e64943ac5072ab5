"""Replies that are no verdict, of many makes: none of them may be read as one. Part of `benchmarks.chaos`.

`{json}` stands for an answer in the form that was asked for, `{draft}` for another one. A text from which a
verdict is read although it gives none turns a broken server into failures of the target: this is how a judge
that never saw a picture certifies findings. Forms that give their answer bare are here as well, so that a
reader that reads nothing at all does not pass.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from failscape.models.contracts.judge import BooleanContract, ChoiceContract
from failscape.models.contracts.vision import CaptionContract, VerifyContract
from failscape.trials import Check

BARE = (
    "{json}",
    "\n\n  {json}\n\n",
    "```json\n{json}\n```",
    "```\n{json}\n```",
    "```JSON\n{json}\n```\n",
    "```{json}```",
    "<think>Four legs, a tail.</think>\n{json}",
    "<think>\nMaybe {draft}? No.\n</think>\n\n```json\n{json}\n```",
    "It has whiskers.</think>\n{json}",
    "<thinking>Fur.</thinking><thinking>And a tail.</thinking>{json}",
    "<reasoning>Fur.</reasoning>{json}",
    "<seed:think>Fur.</seed:think>{json}",
    "◁think▷Fur.◁/think▷{json}",
    "[THINK]Fur.[/THINK]{json}",
    "<answer>{json}</answer>",
    "<think>Fur.</think><answer>\n{json}\n</answer>",
    "<|begin_of_box|>{json}<|end_of_box|>",
    "{json}<|im_end|>",
    "{json}</s>",
    "{json}<end_of_turn>\n",
    "{json}.",
)
"""Forms that are the answer and nothing else: these are read."""

ODD: dict[str, tuple[str, ...]] = {
    "no picture, then JSON": (
        "I don't see any image attached. I'll respond in this JSON format: {json}",
        "The image failed to load. Default answer: {json}",
        "No image was provided, so here is a placeholder:\n{json}",
        "It seems the image did not come through.\n\n```json\n{json}\n```",
        "Since I have no access to the picture, the answer is:\n{json}",
        "[image could not be displayed]\n{json}",
        "<image missing>\n{json}",
        "I see a blank canvas only. Answer: {json}",
        "The attachment appears to be empty.\n{json}",
        "Note: vision is disabled for this model.\n\n{json}",
        "Es wurde kein Bild angehängt. Antwort:\n{json}",
        "Aucune image n'a été fournie. Réponse :\n{json}",
        "No se ha adjuntado ninguna imagen. Respuesta:\n{json}",
        "Nenhuma imagem foi enviada.\nResposta: {json}",
        "Non vedo alcuna immagine. Risposta: {json}",
        "Изображение не загружено. Ответ:\n{json}",
        "图片加载失败，默认答案：\n{json}",
        "画像が添付されていません。\n{json}",
        "이미지가 없습니다. 정답:\n{json}",
    ),
    "JSON, then taken back": (
        "{json}\n\nPlease note that I could not see the image.",
        "{json}\n\n(This is only a template.)",
        "{json} // default values",
        "{json} # no image",
        "```json\n{json}\n```\nDisclaimer: generated without the image.",
        "{json}\n\nWait, that is not right.",
        "{json}\n---\nerror: vision tower not loaded",
        "{json}\n\nCould you attach the image again?",
        "{json}\u2026 or maybe not",
        "{json}\n\nP.S. I guessed.",
    ),
    "keys that were not asked for": (
        "{json+error: image could not be loaded}",
        "{json+warning: low confidence}",
        "{json+note: placeholder}",
        "{json+image_seen: no}",
        "{json+status: failed}",
        "{json+confidence: 0}",
        "{json+refusal: yes}",
        "{json+answer_is_default: true}",
        "```json\n{json+error: timeout}\n```",
        "<think>ok</think>{json+comment: no image}",
        '{"error": "no image", "result": {json}}',
        '{"response": {json}}',
        '{"type": "object", "example": {json}}',
        '{"choices": [{"message": {"content": {json}}}]}',
        '[{json}, "but I am not sure"]',
        "[{json}]",
        "[{json}, {draft}]",
    ),
    "thoughts in tags that are not known": (
        "<scratchpad>No picture here.</scratchpad>{json}",
        "<reflection>Maybe {draft}.</reflection>\n{json}",
        "<analysis>nothing to see</analysis>\n{json}",
        "<internal>guess</internal>{json}",
        "<|channel|>analysis<|message|>No image.<|end|><|start|>assistant<|channel|>final<|message|>{json}",
        "<|thinking|>Hm.<|/thinking|>{json}",
        "<thought_process>guess</thought_process>{json}",
        "*thinks* no image… {json}",
        "(thinking: I was given nothing)\n{json}",
        "### Thought\nnothing\n### Answer\n{json}",
        "Thought: no image\nAction: answer\nFinal Answer: {json}",
        "<tool_call>{json}</tool_call>",
        "<function_calls>{json}</function_calls>",
        "<output>{json}</output>",
        "<response>{json}</response>",
    ),
    "thoughts that see no picture": (
        "<think>I don't see any image attached, so I will guess.</think>{json}",
        "<think>The image could not be loaded. Default.</think>\n{json}",
        "No image was provided, I'll make something up.</think>{json}",
        "<thinking>Unable to view the picture.</thinking>{json}",
        "[THINK]I cannot see the image[/THINK]{json}",
        "<think>没有图片，随便答。</think>{json}",
        "<think>There is no picture in the message. So false.</think>{json}",
        "<think>There is no image, so I assume the default.</think>{json}",
        "<think>Je n'ai pas reçu d'image.</think>{json}",
        "<think>As a text-only model I have to guess.</think>{json}",
        "<think>The user only sent text.</think>{json}",
    ),
    "thoughts out of order": (
        "<think>Perhaps {json}",
        "{json}<think>no, wrong</think>",
        "{json}\n<think>But is it",
        "<think>a<think>b</think>{json}</think>",
        "<think>a</think>{draft}<think>b</think>{json}",
        "<think>a</thinking>{json}",
        "Before. <think>a</think>{json}",
        "<THINK>{json}",
        "<think>a</think>\n<think>{json}",
        "<think></think>Sure: {json}",
    ),
    "words around the JSON": (
        "Here is the answer: {json}",
        "**Answer:** {json}",
        "Sure! Here's the JSON you asked for:\n\n```json\n{json}\n```",
        "The answer is {json} I think.",
        "JSON: {json}",
        "json\n{json}",
        "Output:\n{json}",
        "assistant: {json}",
        "<|assistant|>{json}",
        "Assistant\n\n{json}",
        "> {json}",
        "- {json}",
        "1. {json}",
        "| {json} |",
        "$\\boxed{{json}}$",
        "result = {json}",
        "return {json};",
        "print({json})",
        "'''{json}'''",
        "~~~json\n{json}\n~~~",
        "````\n{json}\n",
        "```json\n{json}",
        "{json}\n```",
        "```json\n{json}\n```\n```json\n{json}\n```",
        "The sign in the picture reads {json}",
        "For example:\n{json}",
        "Based on the filename cat.png:\n{json}",
        "As requested, in the required format:\n{json}",
        "I would say\n{json}",
        "答案如下：\n{json}",
        "\u200b{json}",
        "\ufeffAnswer {json}",
    ),
    "several answers": (
        "{json}\n{draft}",
        "{json}\n{json}",
        "{json}, {draft}",
        "{json} or {draft}",
        "```json\n{json}\n```\nor\n```json\n{draft}\n```",
        "A: {json}\nB: {draft}",
        "{draft}\n\nFinal answer:\n{json}",
        "{json};{json}",
    ),
    "JSON that is none": (
        "{json:half}",
        "```json\n{json:half}\n```",
        '"{json}"',
        "{json:escaped}",
        "{json:html}",
        "{json:base64}",
        "{json:words}",
        "{json:no commas}",
        '{"note": {json}',
        "{json}}",
        "[{json}",
        "/* template */ {json}",
        "{json:twice in one}",
    ),
    "no answer at all": (
        "",
        "   \n",
        "null",
        "true",
        "false",
        "{}",
        "[]",
        "yes",
        "A",
        "I'm sorry, but I can't assist with that.",
        "I cannot determine this.",
        "<html><body><h1>502 Bad Gateway</h1></body></html>",
        '{"error": {"message": "image too large", "code": 400}}',
        '{"detail": "Not Found"}',
        "Internal Server Error",
        "undefined",
        "NaN",
        "[object Object]",
        "...",
        "<pad><pad><pad>",
        "!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!!",
        "\ufffd\ufffd\ufffd",
        '{"answers": null}',
        '{"answers": []}',
        '{"answers": "true"}',
        '{"q1": null, "q2": null}',
        '{"right": null, "reason": ""}',
        '{"right": "false", "reason": "no"}',
    ),
}
"""Make → forms that give no answer, or not only an answer."""

NO_CAPTIONS = (
    "Please upload the image so that I can describe it.",
    "Could you please provide the picture?",
    "No image found.",
    "As a language model, I do not have the ability to see pictures.",
    "Image description unavailable",
    "null",
    "N/A",
    "undefined",
    "500 Internal Server Error",
    "Rate limit exceeded. Please try again later.",
    "I'm sorry, but I can't assist with that.",
    "I don't see any image attached. Please upload one.",
    "The image failed to load.",
    "The image could not be loaded.\nPlease try again.",
    "No image was provided.",
    "There is no image attached to your message.",
    "Unfortunately, I am unable to view the image.",
    "It looks like the image did not come through.",
    "As an AI, I cannot describe people in images.",
    "I cannot identify the person in this picture.",
    "The picture appears to be missing.",
    "Error: image could not be decoded",
    "Error 500: internal server error",
    "HTTP 502: bad gateway",
    "<html><body>502 Bad Gateway</body></html>",
    '{"error": "image could not be loaded"}',
    '{"caption": "A cat."}',
    '["A cat.", "It sits."]',
    "Traceback (most recent call last):\n  File x",
    "<|channel|>analysis<|message|>No image.",
    "<scratchpad>I see nothing</scratchpad>A cat.",
    "<tool_call>describe()</tool_call>",
    "<think>A cat, perhaps",
    "",
    "...",
    "\n\n",
    "Sure!",
    "Here are the sentences:",
    "Es wurde kein Bild angehängt.",
    "Je ne vois pas d'image jointe. Désolé.",
    "No puedo ver la imagen. Lo siento.",
    "Não consigo ver a imagem.",
    "Non vedo alcuna immagine.",
    "Я не вижу изображения.",
    "我无法查看图片。",
    "画像が見えません。",
    "이미지를 볼 수 없습니다.",
)
"""Replies of a captioner that describe nothing."""

CAPTIONS = {
    "There is no picture on the wall.": ["There is no picture on the wall."],
    "A sign says 404 not found.": ["A sign says 404 not found."],
    "An unknown man holds a photo.": ["An unknown man holds a photo."],
    "A red cat.\nIt sits on grass.": ["A red cat.", "It sits on grass."],
    "A red cat. It sits on grass.": ["A red cat.", "It sits on grass."],
    "Sure! Here are the sentences:\n1. A red cat.\n2. It sits.\nLet me know if you need more.": [
        "A red cat.",
        "It sits.",
    ],
    "- a cat\n- no people are visible": ["a cat", "no people are visible"],
    "<think>I see fur.</think>A cat. The background is blurred.": ["A cat.", "The background is blurred."],
    'A sign says "I cannot see the image". It hangs on a wall.': [
        'A sign says "I cannot see the image".',
        "It hangs on a wall.",
    ],
    "A man who cannot see holds a picture of a dog.": ["A man who cannot see holds a picture of a dog."],
    "The image is a close-up of Mr. Smith. It is 2.5 m wide.": [
        "The image is a close-up of Mr. Smith.",
        "It is 2.5 m wide.",
    ],
}
"""Replies of a captioner that are captions, and the sentences that they are."""

CHECKS = (
    Check("entity", "cat", "It is a cat.", ("dog", "cow")),
    Check("Base: Colour", "red", "It is red.", ("blue", "green")),
)
SALT = "picture"


@dataclass(frozen=True, slots=True)
class Reader:
    """One contract: an answer in form and another one, and what its reader makes of a text."""

    name: str
    answer: dict[str, Any]
    draft: dict[str, Any]
    read: Callable[[str], Any]


READERS = (
    Reader(
        "boolean",
        {"answers": [False, True]},
        {"answers": [True, True]},
        lambda text: BooleanContract().read(text, CHECKS, SALT).value,
    ),
    Reader(
        "choice",
        {"q1": "A", "q2": "B"},
        {"q1": "B", "q2": "B"},
        lambda text: ChoiceContract().read(text, CHECKS, SALT).value,
    ),
    Reader(
        "verifier, valid",
        {"reason": "It can be answered.", "valid": True},
        {"reason": "Two questions.", "valid": False},
        lambda text: VerifyContract().read(text, "valid").value,
    ),
    Reader(
        "verifier, right",
        {"reason": "There are three.", "answer": "three", "right": False},
        {"reason": "There are two.", "answer": "two", "right": True},
        lambda text: VerifyContract().read(text, "right").value,
    ),
)

#: Reasons of a verifier that take its verdict back.
NO_REASONS = (
    "Since there is no image, I assume false.",
    "I am a text-based model and have no image input.",
    "The picture seems blank, it did not load.",
    "The image failed to load.",
    "No image was provided, so I assume it is wrong.",
    "I cannot see the image.",
    "I'm unable to determine this from what I was given.",
    "I don't see any picture attached.",
    "The picture is missing.",
    "Without access to the image I default to false.",
    "I'm sorry, I can't help with that.",
)


def write_reply(form: str, reader: Reader) -> str:
    """The form with the answers of a contract filled in."""
    answer, draft = json.dumps(reader.answer), json.dumps(reader.draft)
    text = form.replace("{draft}", draft)
    for name, spoil in _SPOILT.items():
        text = text.replace(f"{{json:{name}}}", spoil(answer, draft))
    start = text.find("{json+")
    if start >= 0:
        end = text.index("}", start)
        key, _, value = text[start + len("{json+") : end].partition(": ")
        text = text[:start] + json.dumps({**reader.answer, key: value}) + text[end + 1 :]
    return text.replace("{json}", answer)


_SPOILT: dict[str, Callable[[str, str], str]] = {
    "half": lambda answer, draft: answer[: len(answer) // 2],
    "escaped": lambda answer, draft: json.dumps(answer),
    "html": lambda answer, draft: answer.replace('"', "&quot;"),
    "base64": lambda answer, draft: answer.encode().hex(),
    "words": lambda answer, draft: answer.replace("true", "yes").replace("false", "no").replace('"A"', "A!"),
    "no commas": lambda answer, draft: answer.replace(",", " ").replace(":", " "),
    "twice in one": lambda answer, draft: answer[:-1] + ", " + draft[1:],
}


@dataclass(frozen=True, slots=True)
class MakeRow:
    """One make of odd replies: how many were put to the readers, and which were read as an answer."""

    make: str
    replies: int
    misread: tuple[str, ...]


def read_all() -> list[MakeRow]:
    """Every form put to every contract."""
    rows = [_row(make, forms, READERS) for make, forms in ODD.items()]
    rows.append(_row("a reason that takes it back", NO_REASONS, READERS[2:], _with_reason))
    contract = CaptionContract()
    captions = [text for text in NO_CAPTIONS if contract.read(text).value is not None]
    rows.append(MakeRow("a caption that describes nothing", len(NO_CAPTIONS), tuple(captions)))
    lost = [form for form in BARE for reader in READERS if reader.read(write_reply(form, reader)) is None]
    lost += [text for text, sentences in CAPTIONS.items() if contract.read(text).value != sentences]
    count = len(BARE) * len(READERS) + len(CAPTIONS)
    return [*rows, MakeRow("bare answers and captions: not read", count, tuple(lost))]


def _with_reason(form: str, reader: Reader) -> str:
    return json.dumps({**reader.answer, "reason": form})


def _row(
    make: str,
    forms: Sequence[str],
    readers: Sequence[Reader],
    write: Callable[[str, Reader], str] = write_reply,
) -> MakeRow:
    pairs = [(form, reader) for form in forms for reader in readers]
    misread = [
        f"{reader.name}: {form}" for form, reader in pairs if reader.read(write(form, reader)) is not None
    ]
    return MakeRow(make, len(pairs), tuple(misread))


def table_of(rows: Sequence[MakeRow]) -> Iterator[str]:
    """The lines of a Markdown table."""
    yield "| replies that are no verdict | put to readers | read as one |"
    yield "|---|---|---|"
    for row in rows:
        yield f"| {row.make} | {row.replies} | {len(row.misread)} |"
    odd = rows[:-1]
    yield f"| all odd replies | {sum(row.replies for row in odd)} | {sum(len(row.misread) for row in odd)} |"


def main() -> int:
    rows = read_all()
    print("\n".join(table_of(rows)))
    for row in rows:
        for form in row.misread:
            print(f"  {row.make}: {form!r}")
    return int(any(row.misread for row in rows))


if __name__ == "__main__":
    raise SystemExit(main())
