"""How calibration works: what a lesson says is what its rows show."""

import re
from html import unescape

import pytest
from explorer.opened import QUICK, explorer, get, text

import calibrant as cal
from calibrant.explorer.lessons import LESSONS, SEED, N, address

DRAWS = {**QUICK, "rng": 0}
KEPT = {1: True, 2: False, 3: True, 4: True, 5: True, 6: False, 7: True, 8: False}


@pytest.fixture(scope="module")
def page():
    """Open any data; lessons bring their own."""
    found = explorer([0.2, 0.8] * 20, labels=[0, 1] * 20)
    yield found
    found.close()


@pytest.mark.parametrize("number", range(1, len(LESSONS) + 1))
def test_a_lesson_shows_what_it_says(page, number):
    """Lessons say of each model and lens whether it is calibrated, and the verdict agrees."""
    shown = text(page, f"panel/verdict{address(number)}")
    assert ("No evidence" in shown) == KEPT[number]
    assert LESSONS[number - 1].title in unescape(text(page, address(number)))


def test_all_classes_of_example_1_look_calibrated(page):
    for lens in ("top", "class:1", "class:2", "class:3"):
        assert "No evidence" in text(page, f"panel/verdict?lesson=6&lens={lens}")


def test_numbers_of_a_lesson_are_those_of_the_library(page):
    data = cal.datasets.gaussian_mixture(N, 0.5, -1.25, rng=SEED)
    diagram = cal.reliability_diagram(data, **DRAWS)
    truth = cal.datasets.gaussian_mixture_truth(0.5, -1.25)
    where = "lesson=2&beta0=0.5&beta1=-1.25"
    assert diagram.sentence in unescape(text(page, f"panel/diagram?{where}"))
    assert text(page, f"figure.svg?{where}") == diagram.figure(truth=truth).svg


@pytest.mark.parametrize("query", ["?lesson=2&beta0=0.5&beta1=-1.25", "?lesson=6"])
def test_the_program_of_a_lesson_reproduces_it(page, query, capsys):
    shown = text(page, f"panel/below{query}&tab=code")
    program = unescape(re.search(r'id="python">(.*?)</pre>', shown, re.S)[1])
    exec(compile(program, "program", "exec"), {})
    sentence, verdict, *_ = capsys.readouterr().out.splitlines()
    assert sentence in unescape(text(page, f"panel/diagram{query}"))
    assert verdict in unescape(text(page, f"panel/verdict{query}"))


def test_a_lesson_works_without_a_script(page):
    found = text(page, address(2))
    assert 'name="beta0" min="-4" max="4"' in found
    assert '<input type="hidden" name="lesson" value="2">' in found
    assert "href=&#34;" not in found
    assert f'href="{address(3)}"'.replace("&", "&amp;") in found
    assert f'href="{address(1)}"'.replace("&", "&amp;") in text(page)
    assert "complete=1" in found
    whole = text(page, f"{address(2)}&complete=1")
    assert '<p class="verdict' in whole
    assert '"Bins' in whole
    assert "complete=1" not in whole


@pytest.mark.parametrize(
    ("query", "told"),
    [
        ("lesson=9", "lesson must be at most 8; found 9"),
        ("lesson=-1", "lesson must be between 0 and"),
        ("lesson=2&beta0=5", "beta0 must be between -4 and 4"),
        ("lesson=2&beta1=nan", "beta1 must be between -4 and 4"),
    ],
)
def test_what_is_no_lesson_is_refused(page, query, told):
    status, _, body = get(page, f"panel/diagram?{query}")
    assert status == 400
    assert told in body.decode()
