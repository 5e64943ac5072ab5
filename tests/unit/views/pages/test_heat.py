"""The map of failure: from masses or counts to a drawing that holds any names and numbers."""

import xml.etree.ElementTree as ET
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from failscape.kinds.t2i.page import ALL, heat_of_masses, mass_lists, overall
from failscape.kinds.t2i.survey.survey import Mass
from failscape.views.figures.heat import (
    NARROW,
    WIDE,
    FailureMap,
    HeatCell,
    HeatMap,
    MapCell,
    heat_legend,
    heat_map,
    heat_of_counts,
)
from failscape.views.read.hunt import ALONE


def mass(group, name, rate=0.25, images=40, nodes=10):
    return Mass(group, name, nodes, rate, (rate / 2, rate / 2 + 0.4), images)


CELLS = [
    mass("cell", "animals × Base: Colour", 0.5),
    mass("cell", "food × Base: Colour", 0.1),
    mass("cell", "animals × Image: Style", 0.2),
]


def test_cells_are_placed_by_kind_and_class():
    heat = heat_of_masses(CELLS)
    assert set(heat.rows) == {"Base: Colour", "Image: Style"}
    assert set(heat.columns) == {"animals", "food"}
    assert heat.patches["Base: Colour", "animals"].rate == 0.5
    assert ("Image: Style", "food") not in heat.patches
    assert not heat.totals


def test_a_patch_says_how_much_speaks_for_it():
    heat = heat_of_masses([Mass("cell", "animals × Base: Colour", 7, 0.5, (0.4, 0.6), 30)])
    assert heat.patches["Base: Colour", "animals"] == HeatCell(
        0.5, (0.4, 0.6), "30 pictures speak for 7 nodes"
    )


def test_totals_come_first_and_the_worst_after_them():
    totals = [
        mass("all", "", 0.3),
        mass("class", "food", 0.1),
        mass("class", "animals", 0.4),
        mass("kind", "Image: Style", 0.45),
        mass("kind", "Base: Colour", 0.3),
    ]
    heat = heat_of_masses([*CELLS, *totals])
    assert heat.columns == [ALL, "animals", "food"]
    assert heat.rows == [ALL, "Image: Style", "Base: Colour"]
    assert heat.patches[ALL, ALL].rate == 0.3
    assert heat.patches["Image: Style", ALL].rate == 0.45
    assert heat.totals


def test_a_map_without_pictures_is_no_map():
    assert heat_of_masses([]) is None
    assert heat_of_masses([mass("cell", "animals × Base: Colour", images=0)]) is None
    assert heat_of_masses([mass("class", "animals")]) is None
    assert heat_of_counts(FailureMap([], [], {}), "picture") is None


def test_large_maps_keep_what_holds_the_most_pictures():
    many = [mass("cell", f"class {n % 30} × kind {n // 30}", images=n + 1) for n in range(60 * 30)]
    many += [mass("kind", f"kind {n}", images=n + 1) for n in range(60)]
    many += [mass("class", f"class {n}", images=n + 1) for n in range(30)]
    heat = heat_of_masses(many)
    assert (len(heat.rows), len(heat.columns)) == (41, 11)
    assert "kind 59" in heat.rows
    assert "kind 0" not in heat.rows


def test_counts_give_cells_with_intervals():
    heat = heat_of_counts(
        FailureMap([ALONE], ["animals"], {(ALONE, "animals"): MapCell(3, 12, 2)}), "picture"
    )
    patch = heat.patches[ALONE, "animals"]
    assert patch.rate == 0.25
    assert patch.interval[0] < 0.25 < patch.interval[1]
    assert "3 of 12 trials" in patch.words


@pytest.mark.parametrize("shape", [WIDE, NARROW])
@given(
    rows=st.lists(
        st.text(st.characters(codec="utf-8", exclude_categories=("Cc", "Cs"))), unique=True, max_size=5
    ),
    rate=st.floats(0, 1),
)
def test_any_names_and_rates_give_a_drawing_within_its_bounds(shape, rows, rate):
    heat = HeatMap(
        rows,
        ["<b>", "a & b"],
        {(row, "<b>"): HeatCell(rate, (0.0, 1.0)) for row in rows} or {("", ""): HeatCell(0, None)},
    )
    svg = ET.fromstring(heat_map(heat, shape).replace("￾", "").replace("￿", ""))
    _, _, width, height = map(float, svg.get("viewBox").split())
    for box in svg.iter("rect"):
        assert 0 <= float(box.get("x")) <= width
        assert float(box.get("x")) + float(box.get("width")) <= width
        assert float(box.get("y")) + float(box.get("height")) <= height


def test_every_cell_says_its_rate_and_interval_in_words():
    svg = ET.fromstring(heat_map(heat_of_masses(CELLS), NARROW))
    titles = [title.text for title in svg.iter("title")]
    assert any("Base: Colour × animals: 50%, interval 25–65%; 40 pictures" in one for one in titles)


def test_the_scale_never_exaggerates_small_rates():
    heat = HeatMap(["r"], ["c"], {("r", "c"): HeatCell(0.01, None)})
    assert heat.top == 0.2
    assert "20%" in heat_legend(heat)


def test_more_failure_is_darker_and_the_worst_darkest():
    heat = HeatMap(["r"], ["c"], {("r", "c"): HeatCell(0.8, None)})
    shades = [heat.shade(rate) for rate in (-0.1, 0.0, 0.1, 0.4, 0.8, 1.0)]
    assert shades == sorted(shades)
    assert (shades[0], shades[-2], shades[-1]) == (0, 1, 1)


def test_cells_with_too_few_pictures_get_no_colour():
    heat = HeatMap(
        ["r"], ["c", "d"], {("r", "c"): HeatCell(0.9, (0.1, 1.0)), ("r", "d"): HeatCell(0.4, (0.3, 0.5))}
    )
    assert heat.top == 0.4
    groups = {group.get("class"): group for group in ET.fromstring(heat_map(heat, WIDE)) if group.tag == "g"}
    assert set(groups) == {"vague", "dark"}
    assert groups["vague"].get("style") == "--shade:0.000"
    assert "too few pictures" in heat_legend(heat)


def test_the_worst_is_not_hidden_for_want_of_pictures():
    things = [
        mass("entity", "a"),
        mass("entity", "b"),
        replace(mass("entity", "c", 0.9), interval=(0.2, 1.0)),
        replace(mass("entity", "lucky", 1.0), interval=(0.0, 1.0)),
    ]
    (by_thing,) = mass_lists(things)
    assert [line.name for line in by_thing.lines] == ["c", "a", "b", "lucky"]


def test_lists_are_ordered_and_bounded():
    things = [mass("entity", f"thing {n}", n / 100) for n in range(30)]
    layers = [mass("layer", "1", 0.1), mass("layer", "0", 0.05), mass("layer", "2", 0.3)]
    by_layer, by_thing = mass_lists([*things, *layers])
    assert [line.name for line in by_layer.lines] == ["the thing alone", "1 attribute", "2 attributes"]
    assert by_thing.lines[0].name == "thing 29"
    assert (len(by_thing.lines), len(by_thing.more)) == (8, 22)


def test_a_list_of_one_is_left_out():
    assert mass_lists([mass("entity", "cat")]) == []


def test_the_whole_space_has_one_number():
    line, nodes = overall([mass("all", "", 0.12, nodes=1000)])
    assert (line.rate, nodes) == (0.12, 1000)
    assert overall(CELLS) is None
