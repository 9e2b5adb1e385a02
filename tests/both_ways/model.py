"""What a file should hold: the script's operations on plain objects, and their description."""

import itertools

import values
import words


class Object:
    def __init__(self, kind, attribute_order):
        self.kind, self.attribute_order = kind, attribute_order
        self.references, self.comment, self.attributes = 0, None, {}
        # Pointed to by references: such objects stay, and keep their shape.
        self.wanted = False


class Group(Object):
    def __init__(self, link_order="untracked", attribute_order="untracked"):
        super().__init__("group", attribute_order)
        self.link_order, self.links = link_order, {}


class Type(Object):
    def __init__(self, kind, attribute_order):
        super().__init__("type", attribute_order)
        self.type = kind


class Dataset(Object):
    """`space` is ("null",), ("scalar",) or ("simple", dims, maxima); a maximum of -1 is unlimited."""

    def __init__(self, kind, committed, space, create):
        super().__init__("dataset", create["attribute-order"])
        self.type, self.committed, self.space, self.create = kind, committed, space, create
        fill = create["fill"]
        self.fill = fill[1] if fill[0] == "value" else values.zero(kind)
        self.data = [self.fill] * count(space)
        # Whether libhdf5 wrote some of it.
        self.is_theirs = False


class Attribute:
    def __init__(self, kind, committed, space, data):
        self.type, self.committed, self.space, self.data = kind, committed, space, data


def count(space):
    if space[0] != "simple":
        return int(space[0] == "scalar")
    number = 1
    for dim in space[1]:
        number *= dim
    return number


def selected(selection, dims):
    """Places of the selected elements in C order of the extent, in the order of the selection."""
    if selection[0] == "all":
        number = 1
        for dim in dims:
            number *= dim
        return range(number)
    if selection[0] == "points":
        points = selection[1]
    else:
        points = itertools.product(*[axis(*each) for each in zip(*selection[1:])])
    return [place(point, dims) for point in points]


def axis(start, stride, number, block):
    return [start + n * stride + b for n in range(number) for b in range(block)]


def place(point, dims):
    at = 0
    for coordinate, dim in zip(point, dims):
        at = at * dim + coordinate
    return at


class Model:
    def __init__(self, root_order, root_attribute_order):
        self.root = Group(root_order, root_attribute_order)
        self.root.references = 1

    # --- finding ---

    def paths(self):
        """The path of every object: the first one in a walk, level by level, by the bytes of names."""
        found, queue = {self.root: b"/"}, [self.root]
        for group in queue:
            base = found[group].rstrip(b"/")
            for name in sorted(group.links):
                kind, target = group.links[name][:2]
                if kind == "hard" and target not in found:
                    found[target] = base + b"/" + name
                    if target.kind == "group":
                        queue.append(target)
        return found

    def find(self, path):
        found = self.root
        for name in path.split(b"/"):
            if name:
                found = found.links[name][1]
        return found

    def parent(self, path):
        group, _, name = path.rpartition(b"/")
        return self.find(group), name

    # --- changing ---

    def apply(self, operation):
        getattr(self, "do_" + operation[0].replace("-", "_"))(*operation[1:])

    def add(self, path, found):
        group, name = self.parent(path)
        assert name not in group.links
        group.links[name] = ("hard", found)
        found.references += 1

    def drop(self, found):
        found.references -= 1
        if found.references > 0:
            return
        for attribute in found.attributes.values():
            self.let_go(attribute)
        if found.kind == "dataset":
            self.let_go(found)
        if found.kind == "group":
            links, found.links = found.links, {}
            for kind, target, *_ in links.values():
                if kind == "hard":
                    self.drop(target)

    def let_go(self, user):
        if user.committed is not None:
            self.drop(user.committed)

    def committed(self, path):
        if path == "none":
            return None
        found = self.find(path)
        found.references += 1
        return found

    def do_group(self, path, link_order, attribute_order):
        self.add(path, Group(link_order, attribute_order))

    def do_type(self, path, kind, attribute_order):
        self.add(path, Type(kind, attribute_order))

    def do_dataset(self, path, kind, committed, space, *create):
        self.add(path, Dataset(kind, self.committed(committed), space, dict(create)))

    def do_write(self, path, selection, elements):
        found = self.find(path)
        dims = found.space[1] if found.space[0] == "simple" else ()
        for at, element in zip(selected(selection, dims), elements, strict=True):
            found.data[at] = element

    def do_resize(self, path, dims):
        found = self.find(path)
        old, (_, _, maxima) = found.space[1], found.space
        kept = dict(zip(itertools.product(*map(range, old)), found.data))
        found.space = ("simple", dims, maxima)
        found.data = [kept.get(point, found.fill) for point in itertools.product(*map(range, dims))]

    def do_attribute(self, path, name, kind, committed, space, elements):
        found = self.find(path)
        assert name not in found.attributes
        found.attributes[name] = Attribute(kind, self.committed(committed), space, list(elements))

    def do_write_attribute(self, path, name, elements):
        self.find(path).attributes[name].data = list(elements)

    def do_delete_attribute(self, path, name):
        self.let_go(self.find(path).attributes.pop(name))

    def do_rename_attribute(self, path, old, new):
        found = self.find(path)
        found.attributes = {new if name == old else name: each for name, each in found.attributes.items()}

    def do_comment(self, path, comment):
        self.find(path).comment = comment or None

    def do_hard(self, path, target):
        self.add(path, self.find(target))

    def do_soft(self, path, target):
        group, name = self.parent(path)
        group.links[name] = ("soft", target)

    def do_external(self, path, file, target):
        group, name = self.parent(path)
        group.links[name] = ("external", file, target)

    def do_unlink(self, path):
        group, name = self.parent(path)
        kind, target, *_ = group.links.pop(name)
        if kind == "hard":
            self.drop(target)

    def do_move(self, path, to):
        (group, name), (other, new) = self.parent(path), self.parent(to)
        other.links[new] = group.links[name]
        del group.links[name]

    def do_copy(self, path, to):
        self.add(to, self.copied(self.find(path), {}))

    def copied(self, source, made):
        if source in made:
            return made[source]
        copy = made[source] = source.__class__.__new__(source.__class__)
        copy.__dict__.update(source.__dict__)
        copy.references, copy.wanted = 0, False
        copy.attributes = {name: Attribute(a.type, None, a.space, list(a.data)) for name, a in source.attributes.items()}
        if source.kind == "dataset":
            copy.data = list(source.data)
        if source.kind == "group":
            copy.links = {}
            for name, (kind, target, *rest) in source.links.items():
                if kind == "hard":
                    target = self.copied(target, made)
                    target.references += 1
                copy.links[name] = (kind, target, *rest)
        return copy

    def do_reopen(self):
        pass

    def do_flush(self):
        pass

    # --- describing ---

    def describe(self):
        paths = self.paths()
        lines = set()
        for found, path in paths.items():
            lines.add(words.text(("object", path, found.kind, found.references, found.comment or b"")))
            lines.update(self.describe_attributes(found, path, paths))
            lines.update(getattr(self, "describe_" + found.kind)(found, path, paths))
        return lines

    def describe_attributes(self, found, path, paths):
        for name, each in found.attributes.items():
            what = (each.type, sharing(each.committed, paths), each.space, joined(each.data, paths))
            yield words.text(("attribute", path, name, *what))
        order = found.attribute_order
        yield words.text(("attribute-order", path, order, *(found.attributes if order != "untracked" else ())))

    def describe_group(self, found, path, paths):
        for name, (kind, target, *rest) in found.links.items():
            yield words.text(("link", path, name, kind, paths[target] if kind == "hard" else target, *rest))
        order = found.link_order
        yield words.text(("link-order", path, order, *(found.links if order != "untracked" else ())))

    def describe_type(self, found, path, paths):
        yield words.text(("type", path, found.type))

    def describe_dataset(self, found, path, paths):
        yield words.text(("dataset", path, found.type, sharing(found.committed, paths), found.space))
        yield words.text(("elements", path, joined(found.data, paths)))
        yield words.text(("filters", path, *map(shown_filter, found.create["filters"])))
        for name in ("layout", "fill", "fill-time", "alloc"):
            yield words.text((name, path, *found.create[name]))


def shown_filter(each):
    """Parameters of other filters depend on type and chunk."""
    return each if each[0] == "deflate" else each[:1]


def sharing(committed, paths):
    return "none" if committed is None else paths.get(committed, "unlinked")


def joined(elements, paths):
    return b"".join(values.resolved(element, paths.__getitem__) for element in elements)
