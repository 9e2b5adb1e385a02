"""The type stubs speak of what is there."""

import ast
from pathlib import Path

import hyperslab

STUB = ast.parse((Path(hyperslab.__file__).parent / "__init__.pyi").read_text(encoding="utf-8"))


def names(body):
    """Return the names that statements define or import."""
    for node in body:
        if isinstance(node, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            yield node.name
        elif isinstance(node, ast.AnnAssign):
            yield node.target.id
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            yield from (alias.asname or alias.name for alias in node.names)


def test_every_public_name_has_a_type():
    assert set(hyperslab.__all__) <= set(names(STUB.body))


def test_every_method_of_the_stubs_exists():
    for node in STUB.body:
        owner = isinstance(node, ast.ClassDef) and getattr(hyperslab, node.name, None)
        if owner:
            missing = [name for name in names(node.body) if not hasattr(owner, name) and name not in ("shape", "size")]
            assert not missing, (node.name, missing)
