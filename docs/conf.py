"""The documentation site: `make docs` writes build/docs/index.html, which works offline."""

import os
import re
import tempfile
from pathlib import Path

from docutils import nodes
from docutils.utils.math import latex2mathml
from numpy.typing import ArrayLike
from sphinx.util.typing import stringify_annotation

import calibrant

os.environ.pop("MPLBACKEND", None)  # another one would leave out the pictures of notebooks

project = "calibrant"
author = "The calibrant developers"
copyright = "The calibrant developers"
version = release = calibrant.__version__

extensions = [
    "myst_nb",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
]
exclude_patterns = ["**sg_execution_times.rst", "gallery/*.ipynb", "gallery/*.zip"]
suppress_warnings = [
    "config.cache",  # a function cannot be stored
    "myst.xref_missing",  # files beside docs/, which are links in the repository
    "ref.python",  # a word in backticks may be an attribute of several classes
]

highlight_language = "none"  # of commands, which are no Python

html_theme = "pydata_sphinx_theme"
html_title = f"calibrant {version}"
html_theme_options = {
    "navigation_with_keys": False,
    "show_prev_next": False,
    "secondary_sidebar_items": ["page-toc"],
    "footer_start": ["copyright"],
    "footer_end": [],
    "pygments_light_style": "a11y-high-contrast-light",
    "pygments_dark_style": "a11y-high-contrast-dark",
}
html_sidebars = {page: [] for page in ("start", "recipes", "cli", "questions")}  # nothing below
templates_path = ["_templates"]
html_static_path = ["_static"]
html_css_files = ["site.css"]
html_search_scorer = str(Path(__file__).with_name("scorer.js"))
html_sourcelink_suffix = ""
html_math_renderer = "mathml"  # which browsers draw by themselves: nothing is fetched
copybutton_prompt_text = r">>> |\.\.\. "
copybutton_prompt_is_regexp = True

myst_heading_anchors = 3
myst_enable_extensions = ["dollarmath"]
nb_execution_mode = "force"
nb_execution_raise_on_error = True
nb_execution_timeout = 300

default_role = "py:obj"
autodoc_typehints = "signature"
INTERNAL = "trusted, know_top, induced_top, induced_on_device, on_device, ranked"  # of Predictions
autodoc_default_options = {"exclude-members": f"set_fit_request, set_score_request, {INTERNAL}"}
autodoc_member_order = "groupwise"
autosummary_generate = True
numpydoc_show_class_members = True
numpydoc_class_members_toctree = False
numpydoc_show_inherited_class_members = False

PICTURES = [
    "familiar",
    "gaussian_mixture",
    "several_models",
    "predicted_classes",
    "toy_example",
    "triangle",
    "tetrahedron",
    "curves",
    "score_plane",
]
sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "gallery",
    "filename_pattern": "/(" + "|".join(PICTURES) + r")\.py$",
    "ignore_pattern": r"(?:^|/)(?!(?:" + "|".join(PICTURES) + r")\.py$)[^/]+\.py$",
    "within_subsection_order": "ExampleTitleSortKey",
    "download_all_examples": False,
    "show_signature": False,
    "show_memory": False,
    "min_reported_time": 1e9,
    "abort_on_example_error": True,
    "reset_argv": lambda _conf, _vars: [tempfile.gettempdir()],  # where scripts write pictures
    "remove_config_comments": True,
}


def visit_math(translator, node):
    """Write a formula as MathML."""
    block = isinstance(node, nodes.math_block)
    text = re.sub(r"\\[Bb]igg?[lr]?\b", "", node.astext())  # browsers choose sizes themselves
    formula = str(latex2mathml.tex2mathml(text, as_block=block))
    translator.body.append(f'<div class="formula">{formula}</div>' if block else formula)
    raise nodes.SkipNode


def tidy_examples(_app, doctree):
    """Take the last empty line off examples, and wrap their sentences, but not their tables."""
    for block in doctree.findall(nodes.literal_block):
        text = block.astext()
        if text.startswith(">>> "):
            block.rawsource = text.rstrip()
            block[:] = [nodes.Text(block.rawsource)]
            if "---" not in text:
                block["classes"].append("wrapped")


def name_arrays(_app, _what, _name, _object, _options, signature, returned):
    """Write the type of arrays by its name, not by what numpy makes of it."""
    spelled_out = stringify_annotation(ArrayLike, "smart")
    return signature and signature.replace(spelled_out, "ArrayLike"), returned


def setup(app):
    """Let browsers draw formulas, and read examples."""
    app.add_html_math_renderer("mathml", (visit_math, None), (visit_math, None))
    app.connect("doctree-read", tidy_examples)
    app.connect("autodoc-process-signature", name_arrays)
