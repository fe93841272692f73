"""Sentences of the library in the words of the command line."""

import warnings

import messages
import pytest
import typer

from calibrant.cli import app
from calibrant.cli.errors import ON_THE_COMMAND_LINE, one_sentence_errors, translated

# Code in messages that no file and no option of the command can cause.
PYTHON_ONLY = {
    *("estimator", "methods", "sample_weight", "lens", "lenses", "partition", "partitions"),
    *(
        "distance",
        "distances",
        "progress",
        "resampler",
        "rho",
        "draws",
        "level",
        "alpha",
        "mu",
        "psi",
        "outcomes",
        "name_cells",
    ),
    *("min_size", "other", "counts", "about", "ax", "truth", "plot()", "step"),
    *("frame", "backend", "name", "n", "m", "beta0", "beta1", "predicted", "temperature"),
    *("record(step, data)", "Predictions.from_logits", "distributions", "calibration_test"),
    *("Cox().fit", "Cox()(data)", "exact_pvalue", "unbiased", "rank", "seed"),
    *("confidence", "summary", "not significant", "title", "score", "brier_score", "log_score"),
    *("decompose", "least", "alternatives", "join", "rows", "update", "paired"),
    *("logits", "values"),
    *("bins", "n_bins", "ece", "mce", "ace", "rms", "classwise_ece"),
    *("norm", "measure", "ECE", "smECE", "|Intercept|", "Hosmer-Lemeshow"),
    *("strategy", "split_strategy", "below", "thresholds"),
    *(
        "cal.slices(data, by=…)",
        "cal.compare(frame, model=…, id=…)",
        "cal.load_models(frame, model=…)",
        "cal.scan",
    ),
    *("ids", "others", "lead", "Monitor", "Monitor.to_dict", "search"),
}


def test_every_code_of_a_message_can_be_translated():
    found = messages.codes()
    assert len(found) > 40
    unknown = {code: place for code, place in found.items() if code not in ON_THE_COMMAND_LINE}
    assert {code: unknown[code] for code in set(unknown) - PYTHON_ONLY} == {}


def test_nothing_is_translated_that_no_message_has():
    assert set(ON_THE_COMMAND_LINE) - set(messages.codes()) == set()
    assert not set(ON_THE_COMMAND_LINE) & PYTHON_ONLY


def test_translations_name_options_that_there_are():
    commands = typer.main.get_command(app).commands.values()
    options = {name for command in commands for one in command.params for name in one.opts}
    for written in ON_THE_COMMAND_LINE.values():
        for word in written.split():
            assert not word.startswith("--") or word in options, word


@pytest.mark.parametrize(
    ("sentence", "shown"),
    [
        ("`where` must keep a row.", "--region must keep a row."),
        ("Use `Canonical()` or `TopK(2)`.", "Use --lens canonical or --lens top:2."),
        ("where labels and probs stand", "where labels and probs stand"),
        ("class 'a`b`c' and `unknown`", "class 'a`b`c' and `unknown`"),
    ],
)
def test_only_code_is_translated(sentence, shown):
    assert translated(sentence) == shown


def test_letters_that_a_font_does_not_have_are_no_warning(recwarn):
    with one_sentence_errors():
        warnings.warn("Glyph 20013 missing from font(s) DejaVu Sans.", UserWarning, stacklevel=1)
    assert not recwarn.list
    with pytest.warns(UserWarning, match="other"), one_sentence_errors():
        warnings.warn("other", UserWarning, stacklevel=1)
