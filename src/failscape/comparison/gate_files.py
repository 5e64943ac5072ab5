"""What a gate writes for others: JUnit XML, a Markdown summary of bounded size. Pure but for the writing."""

import re
from pathlib import Path
from xml.sax.saxutils import escape, quoteattr

from failscape.atlas.files import write_whole
from failscape.comparison.gate_result import GateResult, GateRow
from failscape.comparison.harm import GateVerdict

#: Comments of common forges are cut at 64 kB.
MOST_BYTES = 60_000

#: Signs that XML does not allow.
_UNFIT = re.compile("[^\t\n\r\x20-\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")


def write_junit(result: GateResult, path: Path) -> None:
    """One test for the whole, one for each subject that is proven worse."""
    cases = [_case("overall harm", _overall_body(result))]
    cases += [
        _case(row.subject, f"<failure message={_attribute(_row_words(row))}/>") for row in result.harmed
    ]
    failures = len(result.harmed) + (result.verdict is GateVerdict.FAILED)
    skipped = int(result.verdict is GateVerdict.OPEN)
    text = (
        '<?xml version="1.0" encoding="UTF-8"?>\n'
        f'<testsuites><testsuite name="failscape gate" tests="{len(cases)}" failures="{failures}" '
        f'errors="0" skipped="{skipped}">\n' + "\n".join(cases) + f"\n<system-out>{_text(_lines(result))}"
        "</system-out>\n</testsuite></testsuites>\n"
    )
    write_whole(path, text.encode())


def _case(name: str, body: str) -> str:
    return f'<testcase classname="failscape.gate" name={_attribute(name)}>{body}</testcase>'


def _overall_body(result: GateResult) -> str:
    words = _attribute(result.sentence)
    if result.verdict is GateVerdict.FAILED:
        return f"<failure message={words}/>"
    return f"<skipped message={words}/>" if result.verdict is GateVerdict.OPEN else ""


def _lines(result: GateResult) -> str:
    return "\n".join([result.sentence, result.power.sentence, *result.notes])


def _attribute(text: str) -> str:
    return quoteattr(_UNFIT.sub("?", text))


def _text(text: str) -> str:
    return escape(_UNFIT.sub("?", text))


def write_summary(result: GateResult, path: Path) -> None:
    write_whole(path, markdown(result).encode())


def markdown(result: GateResult) -> str:
    """Never longer than `MOST_BYTES`, whatever the subjects are called."""
    head = [f"## Failscape gate: {result.verdict.value}", "", _cell(result.sentence) + ".", ""]
    tail = ["", f"Power: {result.power.sentence}.", *(f"Note: {note}." for note in result.notes), ""]
    rows = result.harmed or [row for row in result.rows if row.counts.pairs][:20]
    title = "Proven worse" if result.harmed else "Nearest to harm, not proven"
    table = [f"| {title} | before | now | difference | pairs |", "|---|---|---|---|---|"]
    size = len("\n".join([*head, *table, *tail]).encode()) + 100
    lines: list[str] = []
    for row in rows:
        line = _row_line(row)
        size += len(line.encode()) + 1
        if size > MOST_BYTES:
            break
        lines.append(line)
    left = len(rows) - len(lines)
    more = [f"and {left:,} more"] if left else []
    return "\n".join([*head, *(table if lines else []), *lines, *more, *tail])


def _row_line(row: GateRow) -> str:
    data = row.as_data()
    low, high = row.interval
    before, now = data["rates"]
    return (
        f"| {_cell(row.subject)} | {before:.0%} | {now:.0%} | {100 * data['difference']:+.0f} "
        f"({100 * low:+.0f} to {100 * high:+.0f}) | {row.counts.pairs} |"
    )


def _row_words(row: GateRow) -> str:
    data = row.as_data()
    low, high = row.interval
    return (
        f"fails {data['rates'][1]:.0%} of {row.counts.pairs} cases, before {data['rates'][0]:.0%} "
        f"(difference {100 * low:+.0f} to {100 * high:+.0f} points)"
    )


def _cell(text: str) -> str:
    """Text that neither ends a cell nor becomes markup."""
    flat = " ".join(text.split())[:300]
    return re.sub(r"([\\`*_{}\[\]<>|#@])", r"\\\1", flat)
