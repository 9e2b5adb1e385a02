"""Random changes of a tree: each is applied to the model as it is made."""

import kinds
import random_values
import values
from model import Model, count, selected
from random_values import Elements

LARGE = 70_000
# Datatypes that not every reader knows.
EXTRA = {"complex", "any", "time"}
CHANGES = {
    "group": 8, "dataset": 18, "type": 3, "attribute": 18, "hard": 3, "soft": 2, "external": 1, "comment": 2, "write": 14,
    "resize": 12, "write_attribute": 5, "replace_attribute": 4, "delete_attribute": 4, "rename_attribute": 3, "unlink": 6,
    "recreate": 3, "move": 4, "copy": 2, "flush": 1, "many_links": 1, "many_attributes": 1, "large_attribute": 1,
    "few_links": 1, "few_attributes": 1, "reopen": 3,
}  # fmt: skip


def is_undefined(create):
    """Whether nobody promises what unwritten elements hold."""
    fill, time = create["fill"][0], create["fill-time"][0]
    # Zeros that nobody asked for libhdf5 does not always write.
    is_forgotten = create["layout"][0] != "compact" and fill == "default" and time == "ifset"
    return fill == "undefined" or time == "never" or is_forgotten


class Changes:
    """`limits` says what the file's version cannot hold: a set of "complex", "any" (references), "time", "large", "lzf".
    "growth" is in it where elements that a dataset grows by are written at once: libhdf5 leaves what it likes in the
    part of a chunk that lies outside of the extent, and shows it when it grows the dataset itself. `is_theirs`: libhdf5 makes the changes."""

    def __init__(self, rng, model, limits=frozenset()):
        self.rng, self.model, self.limits, self.made = rng, model, limits, []
        self.is_theirs = False

    def make(self, number):
        """About so many changes; returns the script."""
        self.made = []
        names, weights = zip(*CHANGES.items())
        while len(self.made) < number:
            getattr(self, self.rng.choices(names, weights)[0])()
        return self.made

    def add(self, *operation):
        """Applies an operation to the model, and notes it with the paths of now."""
        paths = self.model.paths()
        resolve = lambda part: [values.resolved(e, paths.__getitem__) for e in part] if isinstance(part, list) else part
        self.made.append(tuple(map(resolve, operation)))
        self.model.apply(operation)
        if operation[0] in ("dataset", "write") and self.is_theirs:
            self.model.find(operation[1]).is_theirs = True

    # --- choosing ---

    def choose(self, kind=None):
        """Path and object."""
        found = self.objects(kind)
        return self.rng.choice(found) if found else (None, None)

    def objects(self, kind=None):
        """Paths and objects, by path."""
        found = [(path, each) for each, path in self.model.paths().items() if kind in (None, each.kind)]
        return sorted(found, key=lambda pair: pair[0])

    def fresh(self):
        """The path of a link that is not there yet."""
        path, group = self.choose("group")
        name = random_values.name(self.rng)
        while name in group.links:
            name += b"+"
        return path.rstrip(b"/") + b"/" + name

    def link(self):
        """A link: its path, or none."""
        found = [
            path.rstrip(b"/") + b"/" + name
            for path, group in self.objects("group")
            for name in sorted(group.links)
        ]
        return self.rng.choice(found) if found else None

    def survives(self, path, also=None):
        """Whether everything that references point to, and `also`, stays reachable without a link."""
        group, name = self.model.parent(path)
        before = set(self.model.paths())
        order = list(group.links.items())
        del group.links[name]
        after = set(self.model.paths())
        group.links.clear()
        group.links.update(order)
        return not any(each.wanted for each in before - after) and (also is None or also in after)

    def attribute_of(self):
        """Path and name of an attribute."""
        found = [(path, name) for path, each in self.objects() for name in sorted(each.attributes)]
        return self.rng.choice(found) if found else (None, None)

    # --- values ---

    def kind(self):
        return random_values.kind(self.rng, extra=EXTRA - self.limits)

    def typed(self):
        """A type, and where it is committed."""
        path, found = self.choose("type")
        if found is not None and self.rng.random() < 0.25:
            return found.type, path
        return self.kind(), "none"

    def elements(self, kind, number):
        targets = [each for _, each in self.objects()]
        datasets = [each for each in targets if each.kind == "dataset" and each.space[0] == "simple" and each.data]
        made = Elements(self.rng, targets, datasets).some(kind, number)
        for element in made:
            for reference in values.references(element):
                if reference.target is not None:
                    reference.target.wanted = True
        return made

    # --- objects ---

    def order(self):
        return self.rng.choice(("untracked", "untracked", "tracked", "indexed"))

    def group(self):
        order = self.rng.choice(("untracked", "untracked", "tracked", "indexed"))
        self.add("group", self.fresh(), order, self.order())

    def type(self):
        self.add("type", self.fresh(), random_values.kind(self.rng, references=False, extra={"time"} - self.limits), self.order())

    def dataset(self):
        kind, committed = self.typed()
        elements_max = self.rng.choice((20, 200, 200, 3000)) if not kinds.has_slots(kind) else 30
        space = random_values.space(self.rng, elements_max)
        self.new_dataset(self.fresh(), kind, committed, space)

    def new_dataset(self, path, kind, committed, space):
        create = self.create(kind, space)
        self.add("dataset", path, kind, committed, space, *create.items())
        if count(space) and (is_undefined(create) or self.rng.random() < 0.7):
            self.add("write", path, ("all",), self.elements(kind, count(space)))

    def create(self, kind, space):
        rng = self.rng
        layout = self.layout(kind, space)
        filters = self.filters(kind, layout) if layout[0] == "chunked" else ()
        fill = ("default",)
        if not kinds.has_slots(kind) and rng.random() < 0.35:
            fill = rng.choice((("value", self.elements(kind, 1)[0]), ("value", self.elements(kind, 1)[0]), ("undefined",)))
        fill_time = rng.choice(("ifset", "ifset", "alloc", "alloc", "alloc", "never"))
        if fill[0] == "undefined":
            fill_time = "ifset"
        if kinds.has_slots(kind):
            # libhdf5 makes it so for sequences, because nobody can read slots that were never written. For references it
            # does not, and then fails to give up what happens to stand there when they are written.
            fill_time = "alloc"
        alloc = {"compact": ("early",), "contiguous": ("late", "early", "incremental"), "chunked": ("incremental", "late", "early")}
        return {
            "attribute-order": self.order(),
            "layout": layout,
            "filters": filters,
            "fill": fill,
            "fill-time": (fill_time,),
            "alloc": (rng.choice(alloc[layout[0]]),),
        }

    def layout(self, kind, space):
        rng = self.rng
        if space[0] != "simple":
            return ("contiguous",) if space[0] == "null" else rng.choice((("contiguous",), ("compact",)))
        _, dims, maxima = space
        if dims != maxima or rng.random() < 0.5:
            if 0 not in maxima:
                tops = [9 if most == -1 else min(most, 9) for most in maxima]
                return ("chunked", tuple(rng.randint(1, rng.choice((2, top, top)) if top > 1 else 1) for top in tops))
        small = count(space) * kinds.memory_size(kind) < 60_000
        return ("compact",) if small and rng.random() < 0.4 else ("contiguous",)

    def filters(self, kind, layout):
        rng, found = self.rng, []
        if rng.random() < 0.4:
            return ()
        is_number = kind[0] == "int" and kind[4:] == (0, kind[1] * 8, 0, 0)
        if is_number and rng.random() < 0.25:
            elements = count(("simple", layout[1]))
            szip = ((("shuffle",), ("szip", 4, 4)), (("szip", 32, 8),)) if elements >= 8 else ()
            return rng.choice(((("nbit",),), (("scaleoffset", 2, 0),), *szip))
        if rng.random() < 0.5:
            found.append(("shuffle",))
        # libhdf5 refuses checksums of slots.
        if rng.random() < 0.2 and not kinds.has_slots(kind):
            found.append(("fletcher32",))
        packed = rng.choice(((("deflate", rng.randint(0, 9)),), (("lzf",),), ()))
        found += packed if packed != (("lzf",),) or "lzf" not in self.limits else ()
        if rng.random() < 0.2 and not kinds.has_slots(kind) and ("fletcher32",) not in found:
            found.append(("fletcher32",))
        return tuple(found)

    # --- elements ---

    def write(self):
        path, dataset = self.choose("dataset")
        if dataset is None or not dataset.data:
            return
        shape = dataset.space[1] if dataset.space[0] == "simple" else ()
        selection = random_values.selection(self.rng, shape)
        number = len(selected(selection, shape))
        self.add("write", path, selection, self.elements(dataset.type, number))

    def resize(self):
        rng = self.rng
        path, dataset = self.choose("dataset")
        if dataset is None or dataset.wanted or dataset.create["layout"][0] != "chunked":
            return
        if is_undefined(dataset.create):
            return
        _, dims, maxima = dataset.space
        far = (3, 9, 20, 400) if len(dims) == 1 else (3, 9, 20)
        tops = [max(d, rng.choice(far)) if most == -1 else most for d, most in zip(dims, maxima)]
        new = [rng.choice((d, d, rng.randint(0, top), rng.randint(1, max(1, top)))) for d, top in zip(dims, tops)]
        if count(("simple", new)) > 6000:
            return
        is_growing = any(now > before for now, before in zip(new, dims))
        self.add("resize", path, tuple(new))
        if is_growing and dataset.data and ("growth" in self.limits or (self.is_theirs and dataset.is_theirs)):
            self.add("write", path, ("all",), self.elements(dataset.type, len(dataset.data)))
        elif rng.random() < 0.5:
            self.write()

    # --- attributes ---

    def attribute(self, kind=None, space=None, path=None):
        if path is None:
            path, _ = self.choose()
        committed = "none"
        if kind is None:
            kind, committed = self.typed()
        space = space or random_values.space(self.rng, 12, resizable=False)
        found = self.model.find(path)
        name = random_values.name(self.rng)
        while name in found.attributes:
            name += b"+"
        self.add("attribute", path, name, kind, committed, space, self.elements(kind, count(space)))

    def many_attributes(self):
        path, _ = self.choose()
        for _ in range(self.rng.choice((8, 9, 12, 40))):
            self.attribute(self.rng.choice(random_values.COMMON), ("scalar",), path)

    def few_attributes(self):
        """All but some go, from where there are many: dense storage becomes compact again."""
        path, found = max(self.objects(), key=lambda pair: len(pair[1].attributes))
        names = sorted(found.attributes)
        for name in self.rng.sample(names, max(0, len(names) - self.rng.randrange(8))):
            self.add("delete-attribute", path, name)

    def large_attribute(self):
        if "large" not in self.limits:
            number = LARGE // 8 + self.rng.randrange(2000)
            self.attribute(kinds.ieee(8, "le"), ("simple", (number,), (number,)))

    def write_attribute(self):
        path, name = self.attribute_of()
        if path is not None:
            found = self.model.find(path).attributes[name]
            if found.data:
                self.add("write-attribute", path, name, self.elements(found.type, len(found.data)))

    def replace_attribute(self):
        path, name = self.attribute_of()
        if path is not None:
            self.add("delete-attribute", path, name)
            kind, committed = self.typed()
            space = random_values.space(self.rng, 12, resizable=False)
            self.add("attribute", path, name, kind, committed, space, self.elements(kind, count(space)))

    def delete_attribute(self):
        path, name = self.attribute_of()
        if path is not None:
            self.add("delete-attribute", path, name)

    def rename_attribute(self):
        path, name = self.attribute_of()
        if path is None:
            return
        new = random_values.name(self.rng)
        if new not in self.model.find(path).attributes:
            self.add("rename-attribute", path, name, new)

    def comment(self):
        path, _ = self.choose()
        self.add("comment", path, random_values.text(self.rng, 1, 40))

    # --- links ---

    def hard(self):
        self.add("hard", self.fresh(), self.choose()[0])

    def soft(self):
        target = self.choose()[0] if self.rng.random() < 0.5 else b"/no/" + random_values.name(self.rng)
        self.add("soft", self.fresh(), target)

    def external(self):
        self.add("external", self.fresh(), b"other file.h5", b"/" + random_values.name(self.rng))

    def many_links(self):
        path, group = self.choose("group")
        for n in range(self.rng.choice((8, 9, 9, 12, 12, 60, 60, 300))):
            name = b"link %d of many" % n
            if name in group.links:
                continue
            where = path.rstrip(b"/") + b"/" + name
            if self.rng.random() < 0.5:
                self.add("soft", where, b"/a/soft/link")
            else:
                self.add("group", where, "untracked", "untracked")

    def few_links(self):
        """All but some go, from where there are many."""
        path, found = max(self.objects("group"), key=lambda pair: len(pair[1].links))
        names = sorted(found.links)
        for name in self.rng.sample(names, max(0, len(names) - self.rng.randrange(8))):
            where = path.rstrip(b"/") + b"/" + name
            # What goes may hold the group itself.
            if self.survives(where, found):
                self.add("unlink", where)

    def unlink(self):
        path = self.link()
        if path is not None and self.survives(path):
            self.add("unlink", path)
            return path
        return None

    def recreate(self):
        path = self.unlink()
        if path is None:
            return
        kind = self.kind()
        space = random_values.space(self.rng, 20)
        parent = path.rpartition(b"/")[0] or b"/"
        if parent in [each for each, _ in self.objects("group")]:
            self.new_dataset(path, kind, "none", space)

    def move(self):
        path, to = self.link(), self.fresh()
        if path is not None and self.survives(path, self.model.parent(to)[0]):
            self.add("move", path, to)

    def copy(self):
        path, found = self.choose()
        if found is self.model.root or self.has_references(found, set()):
            return
        self.add("copy", path, self.fresh())

    def has_references(self, found, seen):
        """Whether anything below holds references or shares types, which copies treat in their own ways."""
        if found in seen:
            return False
        seen.add(found)
        users = [*found.attributes.values(), *([found] if found.kind == "dataset" else [])]
        if any(user.committed or kinds.contains(user.type, ("ref",)) for user in users):
            return True
        below = [link[1] for link in getattr(found, "links", {}).values() if link[0] == "hard"]
        return self.model.root in below or any(self.has_references(each, seen) for each in below)

    # --- the file ---

    def flush(self):
        self.add("flush")

    def reopen(self):
        self.add("reopen")
