"""One reader for every CSV table: what spreadsheets write is taken, and errors name file, line and fix."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from failscape.csv_tables import CsvTable, read_csv
from failscape.errors import AtlasError, ConfigError


def written(tmp_path: Path, text: str, name: str = "t.csv") -> Path:
    path = tmp_path / name
    path.write_bytes(text.encode())
    return path


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("t.csv", "Name,Count\ncat,1\n"),
        ("t.csv", "\ufeffname,count\r\ncat,1\r\n,\r\n\r\n"),
        ("t.csv", "name;COUNT\ncat;1\n"),
        ("t.csv", "name\tcount\ncat\t1"),
        ("t.tsv", "name\tcount\ncat\t1"),
        ("t.csv", "count, name ,\n1,cat,\n"),
    ],
)
def test_what_a_spreadsheet_writes_is_read(tmp_path: Path, name: str, text: str) -> None:
    table = read_csv(written(tmp_path, text, name))
    table.need_columns(("name", "count"))
    (row,) = table
    assert (row.text("name"), row.text("count")) == ("cat", "1")
    assert row.line == 2


def test_a_tab_file_may_have_commas_in_its_head(tmp_path: Path) -> None:
    table = read_csv(written(tmp_path, "a, b, c\td\n1\t2\n", "t.tsv"))
    assert table.columns == ("a, b, c", "d")


def test_quotes_hold_line_breaks_and_rows_know_their_line(tmp_path: Path) -> None:
    text = 'name,said\ncat,"one\ntwo\u2028three"\ndog,x\n'
    cat, dog = read_csv(written(tmp_path, text))
    assert cat.cells["said"] == "one\ntwo\u2028three"
    assert (cat.line, dog.line) == (3, 4)


def test_short_and_long_rows_keep_what_they_have(tmp_path: Path) -> None:
    short, long = read_csv(written(tmp_path, "name,said\ncat\ndog,a,b,c\n"))
    assert short.cells == {"name": "cat", "said": None}
    assert short.text("said") == ""
    assert long.surplus == ("b", "c")


def test_a_missing_column_is_named_with_those_that_are_there(tmp_path: Path) -> None:
    table = read_csv(written(tmp_path, "name,colour\ncat,red\n"))
    with pytest.raises(ConfigError, match=r"line 1: there is no column count \(columns: name, colour\)"):
        table.need_columns(("name", "count"))
    with pytest.raises(ConfigError, match=r"no column name \(columns: none\)"):
        read_csv(written(tmp_path, "")).need_columns(("name",))


def test_faults_name_file_line_and_fix(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="line 1: the column 'name' is there twice"):
        read_csv(written(tmp_path, "name,Name\ncat,cat\n"))
    with pytest.raises(ConfigError, match=r"line 2: not CSV \(field larger than field limit"):
        list(read_csv(written(tmp_path, f"name\n{'x' * 200_000}\n")))
    with pytest.raises(AtlasError, match="cannot be read"):
        read_csv(tmp_path / "none.csv", AtlasError)
    (tmp_path / "latin.csv").write_bytes("name\nkäse\n".encode("latin-1"))
    with pytest.raises(ConfigError, match="cannot be read"):
        read_csv(tmp_path / "latin.csv")


def test_lines_are_read_as_they_come() -> None:
    """A file of captions may be larger than memory."""
    taken: list[int] = []

    def lines() -> Iterator[str]:
        for number in range(1_000):
            taken.append(number)
            yield "caption\n" if number == 0 else f"cat {number}\n"

    rows = iter(CsvTable(lines(), "captions"))
    assert next(rows).text("caption") == "cat 1"
    assert len(taken) < 10
