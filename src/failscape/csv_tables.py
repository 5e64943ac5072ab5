"""The one reader of CSV tables: labels, counts, captions, results and lists for a corpus.

People make these files with spreadsheets, so it takes what spreadsheets write: a byte order mark, commas,
semicolons or tabs, line breaks inside quotes, names of columns in any case, blank lines at the end. What it
cannot take is an error that names the file, the line and the fix.
"""

import csv
import io
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from failscape.errors import ConfigError, FailscapeError

#: What may stand between cells. The one that the first line has most of is taken.
DELIMITERS = ",;\t"
TAB_SUFFIX = ".tsv"


@dataclass(frozen=True, slots=True)
class CsvRow:
    """One row of a table.

    Attributes:
        line: The line of the file on which the row ends.
        cells: By name of the column; `None` where the row ends before the column. Columns without a name
            are left out.
        surplus: The cells after the last column, as where a text with a comma has no quotes.
    """

    line: int
    cells: dict[str, str | None]
    surplus: tuple[str, ...] = ()

    def text(self, column: str) -> str:
        """The cell without spaces around it; `""` where there is none."""
        return (self.cells.get(column) or "").strip()


class CsvTable:
    """The columns of a table, and its rows as they are read. Iterate over it once.

    Args:
        lines: The lines of the file, or pieces of text that end where lines end.
        source: What the lines are from, for errors.
        delimiter: What stands between cells; `None` to go by the first line.
        error: The class of the errors that are raised.
    """

    def __init__(
        self,
        lines: Iterable[str],
        source: str,
        delimiter: str | None = None,
        error: type[FailscapeError] = ConfigError,
    ) -> None:
        self.source = source
        self._error = error
        stream = iter(lines)
        head = next(stream, "")
        between = delimiter or max(DELIMITERS, key=head.count)
        self._reader = csv.reader(_with_first(head, stream), delimiter=between)
        self.columns = self._read_columns()

    def _read_columns(self) -> tuple[str, ...]:
        columns = tuple(name.strip() for name in self._next_cells() or ())
        named = [name.lower() for name in columns if name]
        for name in named:
            if named.count(name) > 1:
                raise self.fault(f"the column {name!r} is there twice", "rename or remove one", line=1)
        return columns

    def _next_cells(self) -> list[str] | None:
        """The next row that is not blank; `None` at the end."""
        try:
            for cells in self._reader:
                if any(cell.strip() for cell in cells):
                    return cells
        except csv.Error as error:
            raise self.fault(f"not CSV ({error})", "save it as CSV again", self._reader.line_num) from None
        return None

    def __iter__(self) -> Iterator[CsvRow]:
        width = len(self.columns)
        while (cells := self._next_cells()) is not None:
            padded = [*cells, *[None] * (width - len(cells))]
            named = {name: cell for name, cell in zip(self.columns, padded, strict=False) if name}
            yield CsvRow(self._reader.line_num, named, tuple(cells[width:]))

    def column(self, *names: str) -> str | None:
        """The first of the names that is a column, as it is written there; case does not matter."""
        written = {name.lower(): name for name in self.columns}
        return next((written[name.lower()] for name in names if name.lower() in written), None)

    def need_columns(self, needed: Sequence[str], optional: Sequence[str] = ()) -> None:
        """Spell the columns as these names from here on; raises where the table lacks a needed one."""
        missing = [name for name in needed if self.column(name) is None]
        if missing:
            have = ", ".join(filter(None, self.columns)) or "none"
            rule = f"there is no column {', '.join(missing)} (columns: {have:.200})"
            raise self.fault(rule, f"its first line must name {', '.join(needed)}", line=1)
        spelled = {name.lower(): name for name in (*needed, *optional)}
        self.columns = tuple(spelled.get(name.lower(), name) for name in self.columns)

    def fault(self, message: str, fix: str, line: int | None = None) -> FailscapeError:
        """An error about this table, at a line where one is known."""
        where = f"{self.source}, line {line}" if line else self.source
        return self._error(f"{where}: {message}", fix)


def read_csv(path: Path, error: type[FailscapeError] = ConfigError) -> CsvTable:
    """The table in a file of UTF-8 text; tabs stand between its cells where its name ends in `.tsv`.

    Raises:
        FailscapeError: the file cannot be read; of the class that is given.
    """
    try:
        with path.open(encoding="utf-8-sig", newline="") as file:
            text = file.read()
    except (OSError, UnicodeDecodeError) as fault:
        raise error(f"{path}: cannot be read ({fault})", "save it as CSV in UTF-8") from None
    return csv_of_text(text, path, error)


def csv_of_text(text: str, path: Path, error: type[FailscapeError] = ConfigError) -> CsvTable:
    """The table in a text that was read from `path`."""
    delimiter = "\t" if path.suffix.lower() == TAB_SUFFIX else None
    return CsvTable(io.StringIO(text, newline=""), str(path), delimiter, error)


def _with_first(first: str, rest: Iterator[str]) -> Iterator[str]:
    yield first
    yield from rest
