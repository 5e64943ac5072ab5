"""Counts files of every form, and errors that say file, line, field and fix."""

import gzip
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from failscape.cli.attribute import toybox_counts, toybox_subjects
from failscape.errors import ConfigError
from failscape.spaces import Lattice, load_corpus
from failscape.toybox import painter
from failscape.views.attribution.counts import count_captions, counts_of, key_of, read_captions, read_counts

SUBJECTS = {"cat": 40, "cat; Base: colour=red": 3, "cat; Base: colour=red; Background: place=beach": 0}


def write(path, text):
    data = text.encode()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return path


FORMS = {
    "counts.json": json.dumps(SUBJECTS),
    "counts.json.gz": json.dumps(SUBJECTS),
    "whole.json": json.dumps({"captions": 99, "seed": 1, "counts": SUBJECTS}),
    "counts.csv": "\ufeffsubject,count\r\n" + "".join(f'"{name}",{n}\r\n' for name, n in SUBJECTS.items()),
    "more.csv.gz": "Count,other,Subject\n" + "".join(f"{n}.0,x,{name}\n" for name, n in SUBJECTS.items()),
}


@pytest.mark.parametrize("name", FORMS)
def test_every_form_reads_the_same(tmp_path, name):
    counts = read_counts(write(tmp_path / name, FORMS[name]))
    assert {subject: counts.of(subject) for subject in SUBJECTS} == SUBJECTS
    assert counts.captions == (99 if name == "whole.json" else None)
    assert counts.of("dog") == 0
    assert counts.of("cat; A: b=c; D: e=f; G: h=i") is None, "nothing of that depth was counted"


def test_case_and_order_of_values_do_not_matter(tmp_path):
    counts = read_counts(write(tmp_path / "c.json", '{"Cat; Background: Place=beach; Base: Colour=Red": 5}'))
    assert counts.of("cat; Base: colour=red; Background: place=beach") == 5


@given(st.lists(st.sampled_from(["Base: a=1", "Image: b=2", "Base: c=3"]), unique=True), st.randoms())
def test_keys_know_no_order(labels, random):
    shuffled = random.sample(labels, len(labels))
    assert key_of("; ".join(["cat", *labels])) == key_of("; ".join(["CAT", *shuffled]))


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("c.json", '{\n "cat": 1,\n "dog": 0.3\n}', r"line 3: field count of 'dog' .* but is 0.3"),
        ("c.json", '{\n "cat": -1}', "line 2: field count of 'cat'"),
        ("c.json", '{"cat": true}', "whole number"),
        ("c.json", '{"cat": 1,\n "cat": 2}', "line 2: the subject 'cat' is given twice"),
        ("c.json", '{"cat": 1,\n "CAT": 2}', "line 2: the subject 'CAT' is given twice"),
        ("c.json", '{"cat": 1,\n dog}', "line 2: not JSON"),
        ("c.json", "[1]", "must hold an object, but holds a list"),
        ("c.json", "{}", "holds no counts"),
        ("c.csv", "name,count\ncat,1\n", r"line 1: there is no column subject \(columns: name, count\)"),
        ("c.csv", "subject,count\ncat,1\ndog,many\n", "line 3: field count of 'dog' .* but is 'many'"),
        ("c.csv", "subject,count\ncat\n", "line 2: field count of 'cat' .* None"),
        ("c.csv", "", "no column subject, count"),
        ("c.parquet", "", r"ends in \.json or \.csv"),
    ],
)
def test_errors_say_where_and_what(tmp_path, name, text, message):
    with pytest.raises(ConfigError, match=message) as caught:
        read_counts(write(tmp_path / name, text))
    assert name in caught.value.message
    assert caught.value.fix


def test_files_that_cannot_be_read_are_explained(tmp_path):
    with pytest.raises(ConfigError, match=r"none\.json: cannot be read"):
        read_counts(tmp_path / "none.json")
    (tmp_path / "c.json.gz").write_bytes(b"no gzip")
    with pytest.raises(ConfigError, match="cannot be read"):
        read_counts(tmp_path / "c.json.gz")
    (tmp_path / "cut.json.gz").write_bytes(gzip.compress(b'{"cat": 1}' * 999)[:-20])
    with pytest.raises(ConfigError, match="cannot be read"):
        read_counts(tmp_path / "cut.json.gz")
    (tmp_path / "latin.csv").write_bytes("subject,count\nkäse,1".encode("latin-1"))
    with pytest.raises(ConfigError, match="not UTF-8"):
        read_counts(tmp_path / "latin.csv")


@pytest.mark.parametrize(
    ("name", "text"),
    [
        ("c.txt", "a red cat\n\na dog"),
        ("c.txt.gz", "a red cat\r\na dog\r\n"),
        ("c.jsonl", '"a red cat"\n{"id": 1, "text": "a dog"}\n'),
        ("c.jsonl.gz", '{"caption": "a red cat", "text": "x"}\n\n{"prompt": "a dog"}'),
        ("c.csv", "id,Text\n1,a red cat\n2,\n3,a dog\n"),
    ],
)
def test_captions_come_from_text_jsonl_and_csv(tmp_path, name, text):
    captions = list(read_captions(write(tmp_path / name, text)))
    assert [caption.strip() for caption in captions] == ["a red cat", "a dog"]


@pytest.mark.parametrize(
    ("name", "text", "field", "message"),
    [
        ("c.jsonl", '"a"\n{"text": 3}', None, "line 2: field text must be a text, but is 3"),
        (
            "c.jsonl",
            '{"alt": "a"}',
            None,
            r"line 1: there is no field caption, text or prompt \(fields: alt\)",
        ),
        ("c.jsonl", '{"text": "a"}', "alt", "no field alt"),
        ("c.jsonl", "{", None, "line 1: not JSON"),
        ("c.csv", "a", None, r"no column caption or text or prompt \(columns: a\)"),
    ],
)
def test_errors_in_captions_say_where_and_what(tmp_path, name, text, field, message):
    with pytest.raises(ConfigError, match=message):
        list(read_captions(write(tmp_path / name, text), field))


def test_captions_are_counted_for_subjects(tmp_path):
    corpus = load_corpus("toybox")
    red = "cow; Base: colour=red"
    path = write(tmp_path / "c.txt", "a red cow\nred cows at night\na blue cow and a camel\nnothing\n")
    counts = count_captions(path, corpus, ["cow", red, "camel"])
    assert [counts.of(subject) for subject in ("cow", red, "camel")] == [3, 2, 1]
    assert counts.captions == 4
    with pytest.raises(ConfigError, match="'unicorn' is not in corpus"):
        count_captions(path, corpus, ["unicorn"])
    with pytest.raises(ConfigError, match="holds no captions"):
        count_captions(write(tmp_path / "empty.txt", "\n"), corpus, ["cow"])


def test_the_names_of_the_toybox_counts_are_subjects_of_its_corpus():
    lattice = Lattice(load_corpus("toybox"), depth=2)
    names = {"cow": 9, "cow + colour=red": 3, "cow + colour=red + place=brick wall": 1}
    counts = counts_of(toybox_subjects(names), "toybox")
    known = {key_of(lattice.subject(node)) for layer in range(3) for node in lattice.nodes(layer)}
    assert set(counts.numbers) <= known
    assert counts.of("cow; Base: colour=red; Background: place=brick wall") == 1
    assert counts.deepest == 2


def test_all_shipped_toybox_counts_are_subjects():
    counts = toybox_counts()
    lattice = Lattice(load_corpus("toybox"), depth=2)
    known = {key_of(lattice.subject(node)) for layer in range(3) for node in lattice.nodes(layer)}
    assert set(counts.numbers) <= known


def test_missing_toybox_counts_are_explained(monkeypatch):
    def gone():
        raise FileNotFoundError(2, "No such file", "painter_counts.json.gz")

    monkeypatch.setattr(painter, "training_counts", gone)
    with pytest.raises(ConfigError, match="not installed"):
        toybox_counts()
