"""The type stubs speak of what is there, and of all that is public."""

import ast
from collections.abc import MutableMapping
from pathlib import Path

import hyperslab
from hyperslab import datasets, dims

STUB = ast.parse((Path(hyperslab.__file__).parent / "__init__.pyi").read_text(encoding="utf-8"))
# Classes that are not names of the package.
OTHERS = {"_View": datasets.AsTypeView, "DimensionProxy": dims.DimensionProxy, "DimensionManager": dims.DimensionManager}


def names(body):
    """Return the names that statements define or import."""
    for node in body:
        if isinstance(node, (ast.ClassDef, ast.FunctionDef, ast.AsyncFunctionDef)):
            yield node.name
        elif isinstance(node, ast.AnnAssign):
            yield node.target.id
        elif isinstance(node, (ast.Import, ast.ImportFrom)):
            yield from (alias.asname or alias.name for alias in node.names)


def classes():
    """Return the classes of the stubs, each with the one that it describes."""
    for node in STUB.body:
        owner = isinstance(node, ast.ClassDef) and (OTHERS.get(node.name) or getattr(hyperslab, node.name, None))
        if owner:
            yield node, owner


def is_there(owner, name):
    """Return whether a class has an attribute, or gives it to its instances."""
    return hasattr(owner, name) or name in owner.__init__.__code__.co_names


def public(owner):
    """Return the public names of a class that this package defines."""
    ours = [base for base in owner.__mro__ if base.__module__.startswith("hyperslab")]
    return {name for base in ours for name in vars(base) if not name.startswith("_")}


def typed(node):
    """Return the names that a class of the stubs has, with those of its bases."""
    bases = [base.id for base in node.bases if isinstance(base, ast.Name)]
    inherited = [typed(other) for other, _ in classes() if other.name in bases]
    return set(names(node.body)).union(dir(MutableMapping), *inherited)


def test_every_public_name_has_a_type():
    assert set(hyperslab.__all__) <= set(names(STUB.body))


def test_every_method_of_the_stubs_exists():
    for node, owner in classes():
        missing = [name for name in names(node.body) if not is_there(owner, name)]
        assert not missing, (node.name, missing)


def test_everything_public_of_a_class_has_a_type():
    for node, owner in classes():
        missing = public(owner) - typed(node)
        assert not missing, (node.name, missing)
