"""How large files, functions and lists of parameters may be; and a class name means one thing."""

import ast
from collections import Counter
from pathlib import Path

import pytest
from radon.complexity import cc_visit

import calibrant

SOURCE = Path(calibrant.__file__).parent
LINES_OF_A_FILE = 420
LINES_OF_A_FUNCTION = 40  # of its body, without the docstring
PARAMETERS = 8  # without self and cls
COMPLEXITY = 8  # as radon counts it

LOOPS = ("engine/",)  # kernels, which a call in the innermost loop would slow down
OPTIONS = ("cli/commands/",)  # one parameter for each option of a command
KERNELS = ("device/kernels.py",)  # Triton takes pointers one by one

TWINS = {  # class names that two modules have
    "CalibrationCallback",  # of Lightning and of transformers: one name, whatever the framework
    "CalibrationError",  # of torchmetrics, which calls its own so, beside the statistic
    "Chain",  # of lenses, and of calibrators: public, and both are what `>>` makes
}


def offences(path, text):
    """Yield what is too large in a module: a path below the package, and its text."""
    length = len(text.splitlines())
    if length > LINES_OF_A_FILE:
        yield f"{path}: has {length} lines"
    for node in ast.walk(ast.parse(text)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            yield from _of_function(path, node)
    if not path.startswith(LOOPS):
        for block in cc_visit(text):
            yield from _complexities(path, block)


def _of_function(path, node):
    body = node.body[ast.get_docstring(node) is not None :] or node.body
    length = node.end_lineno - body[0].lineno + 1
    if length > LINES_OF_A_FUNCTION:
        yield f"{path}: {node.name} has {length} lines"
    given = node.args
    names = [one.arg for one in (*given.posonlyargs, *given.args, *given.kwonlyargs)]
    count = len(names) - (names[:1] in (["self"], ["cls"]))
    if count > PARAMETERS and not path.startswith((*OPTIONS, *KERNELS)):
        yield f"{path}: {node.name} has {count} parameters"


def _complexities(path, block):
    for inner in (*getattr(block, "methods", ()), *getattr(block, "closures", ())):
        yield from _complexities(path, inner)
    if block.letter != "C" and block.complexity > COMPLEXITY:
        yield f"{path}: {block.name} has complexity {block.complexity}"


def test_everything_is_small():
    modules = {file.relative_to(SOURCE).as_posix(): file for file in SOURCE.rglob("*.py")}
    assert len(modules) > 100
    found = {one for path, file in modules.items() for one in offences(path, file.read_text())}
    assert sorted(found) == []


def twins(texts):
    """Return the class names that more than one module defines."""
    names = Counter()
    for text in texts:
        classes = (node for node in ast.walk(ast.parse(text)) if isinstance(node, ast.ClassDef))
        names.update({node.name for node in classes})
    return {name for name, count in names.items() if count > 1}


def test_a_class_name_means_one_thing():
    assert twins(file.read_text() for file in SOURCE.rglob("*.py")) == TWINS
    assert twins(["class A: ...\nclass B: ...", "class B: ..."]) == {"B"}


SEVEN = "".join(f"    if x == {i}:\n        return {i}\n" for i in range(7))
BRANCHES = f"{SEVEN}    if x:\n        return 7\n"
NAMES = ", ".join("abcdefghi")
LARGE = {
    "file": ("x = 1\n" * 421, ["x.py: has 421 lines"]),
    "function": ("def f():\n" + "    x = 1\n" * 41, ["x.py: f has 41 lines"]),
    "parameters": (f"def f({NAMES}): ...", ["x.py: f has 9 parameters"]),
    "keywords": (f"def f(*, {NAMES}): ...", ["x.py: f has 9 parameters"]),
    "method": (f"class A:\n  def f(self, {NAMES}): ...", ["x.py: f has 9 parameters"]),
    "branches": (f"def f(x):\n{BRANCHES}", ["x.py: f has complexity 9"]),
    "inside": (
        "def f(x):\n" + "  def g(x):\n" + BRANCHES.replace("    ", "      ") + "  return g",
        ["x.py: g has complexity 9"],
    ),
}


@pytest.mark.parametrize(("text", "sentences"), LARGE.values(), ids=LARGE)
def test_what_is_too_large_is_found(text, sentences):
    assert list(offences("x.py", text)) == sentences


def test_what_is_just_small_enough_and_what_may_be_larger():
    text = 'def f(a, b, c, d, e, f, g, h):\n    """Say\n\n    what."""\n' + "    x = 1\n" * 40
    assert not list(offences("x.py", text))
    assert not list(offences("x.py", "class A:\n  def f(self, a, b, c, d, e, f, g, h): ..."))
    assert not list(offences("x.py", f"def f(x):\n{SEVEN}"))
    assert not list(offences("engine/x.py", f"def f(x):\n{BRANCHES}"))
    assert not list(offences("cli/commands/x.py", LARGE["parameters"][0]))
