"""The code in backticks of all messages of the library, read from its source."""

import ast
import re
from pathlib import Path

import calibrant

SOURCE = Path(calibrant.__file__).parent
CODE = re.compile(r"`([^`]+)`")
DOORS = ("lightning.py", "sklearn", "torch.py", "transformers.py")  # the command has none of them
NAMES = ("name", "option")  # what functions call an argument whose name they put into a message


def trees():
    """Return the syntax of every module whose messages are for users of Python, by its path."""
    paths = [path.relative_to(SOURCE) for path in sorted(SOURCE.rglob("*.py"))]
    return {
        path.as_posix(): ast.parse((SOURCE / path).read_text("utf-8"))
        for path in paths
        if path.parts[0] not in ("cli", "device", "engine", "explorer", "recalibration", *DOORS)
        or path.name == "threads.py"
    }


def written(tree):
    """Return the texts of a module that are no docstrings; what is filled in stays in braces."""
    skipped = {node.value for node in ast.walk(tree) if isinstance(node, ast.Expr)}  # docstrings
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            skipped |= set(node.values)
            yield "".join(
                part.value if isinstance(part, ast.Constant) else f"{{{ast.unparse(part.value)}}}"
                for part in node.values
            )
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in skipped:
            yield node.value


def naming(modules):
    """Return the functions that take the name of an argument, and at which place."""
    found = {}
    for tree in modules:
        for node in ast.walk(tree):
            if isinstance(node, ast.FunctionDef):
                order = [arg.arg for arg in (*node.args.args, *node.args.kwonlyargs)]
                order = [arg for arg in order if arg != "self"]
                for place, arg in enumerate(order):
                    if arg in NAMES:
                        found[node.name] = place
    return found


def named(tree, functions):
    """Return the names that are given to these functions, and those that they have as defaults."""
    for node in ast.walk(tree):
        given = []
        if isinstance(node, ast.FunctionDef) and node.name in functions:
            given = [*node.args.defaults, *node.args.kw_defaults]
        if isinstance(node, ast.Call):
            name = getattr(node.func, "attr", getattr(node.func, "id", ""))
            if name in functions:
                given = [word.value for word in node.keywords if word.arg in NAMES]
                given += node.args[functions[name] :][:1]
        for value in given:
            if isinstance(value, ast.Constant) and isinstance(value.value, str) and value.value:
                yield value.value


def codes():
    """Return every code in backticks, with a module where it is."""
    modules = trees()
    functions = naming(modules.values())
    found = {}
    for path, tree in modules.items():
        words = [word for text in written(tree) for word in CODE.findall(text)]
        words = [word for word in words if "{" not in word]
        found.update(dict.fromkeys([*words, *named(tree, functions)], path))
    return found
