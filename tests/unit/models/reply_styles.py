"""How models write when they are asked for JSON: styles seen in the wild, honest ones and others.

`{json}` in a text is the answer asked for. Styles in `GIVEN` commit themselves to it: a reader may lose it,
but never read another one. Those in `NOT_GIVEN` decide nothing: an answer read from them was never given.
"""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class ReplyStyle:
    """`read` says whether the contracts read it: some honest styles are too loose, and are lost."""

    name: str
    text: str
    read: bool = True

    def write(self, answer: str, draft: str) -> str:
        """A reply in this style; both are JSON, and differ."""
        return self.text.replace("{draft}", draft).replace("{json}", answer)


GIVEN = (
    ReplyStyle("JSON alone", "{json}"),
    ReplyStyle("JSON alone, on lines around", "\n\n  {json}\n"),
    ReplyStyle("fenced", "```json\n{json}\n```"),
    ReplyStyle("fenced, no language", "```\n{json}\n```"),
    ReplyStyle("fenced, one line", "```{json}```"),
    ReplyStyle("lead-in, then JSON", "Here is the answer: {json}", read=False),
    ReplyStyle(
        "lead-in, then a fence", "Sure! Here's the JSON you asked for:\n\n```json\n{json}\n```", read=False
    ),
    ReplyStyle("lead-in in bold", "**Answer:** {json}", read=False),
    ReplyStyle("lead-in, German", "Hier ist die Antwort:\n{json}", read=False),
    ReplyStyle("lead-in, Chinese", "根据图片，答案如下：\n{json}", read=False),
    ReplyStyle("full stop after JSON", "{json}."),
    ReplyStyle(
        "prose, then JSON on its own line", "The animal is small and has whiskers.\n\n{json}", read=False
    ),
    ReplyStyle(
        "prose, then a fence", "1. It has fur.\n2. The coat is red.\n\n```json\n{json}\n```", read=False
    ),
    ReplyStyle("thoughts, then JSON", "<think>Is it a cat? It has whiskers.</think>\n\n{json}"),
    ReplyStyle("thoughts with a draft", "<think>Maybe {draft}. No.</think>{json}"),
    ReplyStyle("end of thoughts only", "It has whiskers, so yes.\n</think>\n\n{json}"),
    ReplyStyle("thoughts of Kimi", "◁think▷It has whiskers.◁/think▷{json}"),
    ReplyStyle("thoughts of Magistral", "[THINK]It has whiskers.[/THINK]{json}"),
    ReplyStyle("answer tags", "<think>It has whiskers.</think><answer>{json}</answer>"),
    ReplyStyle("answer tags around a fence", "<answer>\n```json\n{json}\n```\n</answer>"),
    ReplyStyle("boxed", "<|begin_of_box|>{json}<|end_of_box|>"),
    ReplyStyle("end tokens", "{json}<|im_end|>"),
    ReplyStyle("the same JSON twice", "```json\n{json}\n```\n\nFinal answer:\n{json}", read=False),
    ReplyStyle("JSON, then an explanation", "{json}\n\nThe animal has whiskers.", read=False),
    ReplyStyle(
        "fence, then an explanation", "```json\n{json}\n```\n\n**Explanation:** whiskers.", read=False
    ),
    ReplyStyle("JSON in a sentence", "I would say {json} for this one", read=False),
    ReplyStyle("other words before a colon", "Looking closely at the picture: {json}", read=False),
    ReplyStyle("corrects itself", "{draft}\n\nWait, I looked again. Final answer:\n{json}", read=False),
    ReplyStyle("doubt, then JSON", "I am not sure about all of it.\n{json}", read=False),
)
"""Replies that commit themselves to `{json}`; `{draft}` is another answer in the same form."""

NOT_GIVEN = tuple(
    ReplyStyle(name, text, read=False)
    for name, text in (
        ("example, then no answer", "Such as {json}: I do not know."),
        ("quotes the picture", "The sign reads {json}. I cannot decide."),
        ("quotes the picture at the end", "The picture has a sign which says: {json}"),
        ("quotes the picture on a line", "The poster in the back shows this text:\n{json}"),
        ("takes it back", "{json}\n\nActually, I cannot see the image at all."),
        ("example at the end", "I cannot see a picture. An answer is, for example:\n{json}"),
        ("refusal, then JSON", "I'm sorry, I can't help with that.\n{json}"),
        ("refusal, German", "Das kann ich nicht beurteilen.\n\n{json}"),
        ("refusal, French", "Je ne peux pas voir l'image.\n\n{json}"),
        ("refusal, Spanish", "Lo siento, no puedo ver la imagen.\n{json}"),
        ("refusal, Portuguese", "Desculpe, não consigo ver a imagem.\n{json}"),
        ("refusal, Italian", "Mi dispiace, non posso vedere l'immagine.\n{json}"),
        ("refusal, Russian", "Извините, я не могу открыть изображение.\n{json}"),
        ("refusal, Chinese", "抱歉，我无法查看图片。\n{json}"),
        ("refusal, Japanese", "申し訳ありませんが、判断できません。\n{json}"),
        ("refusal, Korean", "죄송합니다. 이미지를 알 수 없습니다.\n{json}"),
        ("refusal alone", "I'm sorry, but I can't assist with that."),
        ("nothing", ""),
        ("unfinished thought", "<think>Perhaps {json}"),
        ("answer, then an unfinished thought", "{json}\n<think>But is it"),
        ("answer before the thoughts", "{json}<think>No, that is wrong.</think>"),
        ("two that differ", "{json}\n{draft}"),
        ("two fences that differ", "```json\n{json}\n```\nor\n```json\n{draft}\n```"),
        ("JSON in a larger one", '{"draft": {json}, "final": null}'),
        ("JSON that breaks off", '{"note": {json}'),
        ("JSON as a string", '"{json}"'),
    )
)
"""Replies that decide nothing, whatever `{json}` is."""
