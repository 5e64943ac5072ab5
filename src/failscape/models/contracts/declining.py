"""How models say that they do not decide: that no picture reached them, or that they decline.

A phrase list never finds all of them. It is a second line behind the rule that a verdict is a bare answer,
for places where words belong: the reason of a verifier, a caption, and the thoughts before an answer.
"""

import re

_PICTURE = r"(?:image|picture|photo|photograph|attachment|file|screenshot)s?"
_ANY = r"(?:(?:the|this|that|any|an|a|your|actual|attached|uploaded|provided|visual|such)\s+){0,3}"
_NOT = (
    r"(?:can ?not|can[’']?t|could ?n[o’']t|do(?:es)? ?n[o’']t|did ?n[o’']t|unable to|not able to|failed to)"
)
_HAVE = r"(?:see|view|access|open|load|display|process|retrieve|fetch|download|find|receive|have|decode|read)"
#: How models say that no picture reached them, in the languages that they have been seen to fall into.
_SAW_NOTHING = re.compile(
    rf"\b{_NOT}\s+(?:\w+\s+){{0,2}}{_HAVE}\s+(?:access\s+to\s+)?{_ANY}{_PICTURE}\b(?!\s+of\b)"
    rf"|\bno\s+(?:\w+\s+)?{_PICTURE}\s+(?:(?:was|were|is|are|has|have|been|seems?|appears?|to|be)\s+){{0,3}}"
    r"(?:attached|provided|included|uploaded|shared|given|supplied|sent|available|visible|loaded|received)"
    rf"|\b{_PICTURE}\s+(?:\w+\s+)?"
    r"(?:is|was|were|are|has|have|had|could|can|did|does|failed|seems?|appears?)?\s*(?:to\s+)?"
    r"(?:not|n[o’']t|cannot|never|failed to|unable to|missing|broken|corrupted|empty|blank)"
    r"(?:\s+(?:be|been|have|properly|correctly))*"
    r"(?:\s+(?:load|loaded|loading|attached|provided|included|uploaded|displayed|rendered|available|visible"
    r"|received|decoded|opened|processed|come|came|arrive|sent|through|found))"
    rf"|\b{_PICTURE}\s+(?:is|was|seems|appears)\s+(?:to be\s+)?(?:missing|broken|corrupt(?:ed)?|unreadable)"
    rf"|\bwithout\s+(?:seeing|access\s+to|being\s+able\s+to\s+see)\s+{_ANY}{_PICTURE}"
    r"|\b(?:error|failure)\s+(?:while\s+|when\s+|in\s+)?"
    rf"(?:loading|opening|reading|decoding|processing|fetching)\s+{_ANY}{_PICTURE}"
    r"|\bthere(?:[’']s| is| was)\s+no\s+(?:image\b(?=\s*(?:[,.;:!]|\Z))"
    r"|(?:image|picture|photo|attachment)\s+(?:in|with)\s+(?:the|this|your)\s+"
    r"(?:message|prompt|request|conversation|input|chat|context))"
    rf"|\bno\s+{_PICTURE}\s+(?:input|data|upload|attachment|found|detected|to\s+(?:describe|look at|judge))\b"
    r"|\btext[- ](?:only|based)\s+(?:language\s+)?(?:model|assistant|AI|system)\b"
    r"|\bonly\s+(?:sent|received|provided|gave|got)\s+(?:me\s+)?text\b"
    r"|\b(?:did|does|would)(?: not|n[’']t)\s+(?:load|come through)\b"
    r"|\bn[’'](?:ai|y a)\s+(?:pas|aucune)\b[^.\n]{0,15}\b(?:image|photo)"
    r"|\b(?:kein|keine)\s+Bild\s+(?:\w+\s+)?(?:angehängt|vorhanden|erhalten|sehen|erkennen)"
    r"|\bBild\s+(?:\w+\s+){0,2}nicht\s+(?:sehen|laden|öffnen|geladen|anzeigen)"
    r"|\baucune image\b|\bne (?:peux|vois|parviens)\b[^.\n]{0,25}\b(?:image|photo)"
    r"|\bno (?:puedo|veo|hay|se ha)\b[^.\n]{0,25}\b(?:imagen|foto)"
    r"|\bnão (?:posso|consigo|vejo|há)\b[^.\n]{0,25}\b(?:imagem|foto)"
    r"|\bnon (?:posso|vedo|riesco)\b[^.\n]{0,25}\b(?:immagine|foto)"
    r"|(?:не вижу|не могу|нет)[^.\n]{0,25}(?:изображени|картинк|фото)"
    r"|(?:无法|不能|没有|未能|看不到)[^。\n]{0,8}(?:图|照片)|(?:图片|图像|照片)[^。\n]{0,6}(?:失败|无法|没有|缺失)"
    r"|画像[^。\n]{0,10}(?:ません|ない|失敗)|(?:이미지|사진)[^.\n]{0,14}(?:없|못|않)",
    re.IGNORECASE,
)
#: How models decline in their own name.
_DECLINES = re.compile(
    r"\bI(?:[’']m| am)?\s+(?:(?:really|very|so|afraid|sorry|but|I)[,\s]+){0,4}"
    r"(?:can ?not|can[’']?t|won[’']?t|unable to|not able to|not allowed to|must decline|have to decline)"
    r"\s+(?:\w+\s+){0,2}(?:determine|decide|tell|judge|assess|evaluate|verify|answer|respond|assist|help"
    r"|process|access|view|open|analy[sz]e|describe|identify|comply|provide|see|do|fulfil|continue|engage)\b"
    r"|\b(?:I[’']m|I am) (?:sorry|afraid)\b|\bAs an? (?:AI|(?:large )?language model)\b"
    r"|\bagainst my (?:policy|policies|guidelines)\b"
    r"|\bI do(?: not|n[’']?t) have (?:the|any) (?:ability|capability)\b"
    r"|\bcontent policy\b|\bI do(?: not|n[’']?t) know\b|\bI(?:[’']m| am) not (?:sure|certain)\b"
    r"|\b(?:tut mir leid|es tut mir|leider kann ich)\b|\b(?:désolée?|je ne (?:peux|sais|suis))\b"
    r"|\b(?:lo siento|desculpe|mi dispiace)\b|извините"
    r"|抱歉|对不起|无法(?:判断|确定|回答|提供)|申し訳|できません|わかりません|죄송",
    re.IGNORECASE,
)
#: Marks of quotation, each with the one that closes it.
_QUOTES = {'"': '"', "“": "”", "‘": "’", "`": "`", "«": "»", "'": "'"}
_OPENING_QUOTE = re.compile("[\"“‘`«]|(?<!\\w)'")


def _without_quotes(text: str) -> str:
    return "\n".join(_line_without_quotes(line) for line in text.split("\n"))


def _line_without_quotes(line: str) -> str:
    """Each quotation becomes a blank. A mark that nothing closes is looked for once, not at each place."""
    kept: list[str] = []
    unclosed = set[str]()
    done = at = 0
    while opening := _OPENING_QUOTE.search(line, at):
        at = opening.end()
        mark = opening.group()
        end = -1 if mark in unclosed else line.find(_QUOTES[mark], at)
        if end < 0:
            unclosed.add(mark)
        elif mark != "'" or not re.match(r"\w", line[end + 1 : end + 2]):  # else it is an apostrophe
            kept += [line[done : opening.start()], " "]
            done = at = end + 1
    return "".join([*kept, line[done:]])


def saw_no_picture(text: str) -> bool:
    """Whether the words say that no picture reached the model. Words in quotes are somebody else's."""
    return _SAW_NOTHING.search(_without_quotes(text)) is not None


def declines(text: str) -> bool:
    """Whether the words say, in the model's own name, that it does not decide or saw nothing."""
    own_words = _without_quotes(text)
    return _SAW_NOTHING.search(own_words) is not None or _DECLINES.search(own_words) is not None
