"""Reads the C interface from the Rust sources of this crate: functions, callbacks, structs and global values.

Everything that is generated (the misuse test, the headers, the table of functions) comes from here, so that none of it can
differ from what the library exports. Rust types become a small tree:

    ("name", "hid_t")                      a type with a name
    ("pointer", is_const, inner)           a pointer
    ("function", answer, [argument, …])    a pointer to a function
    ("array", inner, count)                an array in a struct
"""

import re
from dataclasses import dataclass, field
from pathlib import Path

SOURCES = Path(__file__).resolve().parent.parent / "src"

# Types of arguments.rs that stand for pointers.
POINTERS = {"Out": False, "Values": True}
PLAIN = {
    "Text": ("pointer", True, ("name", "char")),
    "TextOut": ("pointer", False, ("name", "char")),
    "Bytes": ("pointer", False, ("name", "void")),
    "Opaque": ("pointer", False, ("name", "void")),
}
NAMES = {
    "c_void": "void", "c_char": "char", "c_int": "int", "c_uint": "unsigned int", "c_long": "long", "c_ulong": "unsigned long",
    "usize": "size_t", "isize": "ssize_t", "u8": "uint8_t", "u16": "uint16_t", "u32": "uint32_t", "u64": "uint64_t",
    "i8": "int8_t", "i16": "int16_t", "i32": "int32_t", "i64": "int64_t", "f32": "float", "f64": "double", "()": "void",
    "FILE": "FILE", "bool": "bool",
}  # fmt: skip


@dataclass
class Argument:
    name: str
    type: tuple


@dataclass
class Function:
    name: str
    arguments: list
    answer: tuple
    source: str
    about: str
    # Why it is refused, or None.
    refused: str = None
    is_variadic: bool = False

    @property
    def family(self):
        return family(self.name)


@dataclass
class Struct:
    name: str
    keyword: str
    fields: list
    source: str


@dataclass
class Interface:
    functions: dict = field(default_factory=dict)
    structs: dict = field(default_factory=dict)
    globals: dict = field(default_factory=dict)


def family(name):
    """H5FDopen is of H5FD, H5open of H5."""
    found = re.match(r"H5(AC|DO|ES|FD|PL|TS|VL|[A-Z](?=[a-z_]|$))?", name)
    return found.group(0)


def split(text, separator=","):
    """Splits at separators that are not within brackets."""
    parts, depth, part = [], 0, ""
    for at, letter in enumerate(text):
        if letter in "(<[{":
            depth += 1
        elif letter in ")]}" or (letter == ">" and text[at - 1] != "-"):
            depth -= 1
        if letter == separator and depth == 0:
            parts.append(part.strip())
            part = ""
        else:
            part += letter
    return [*parts, part.strip()] if part.strip() else parts


def closing(text, start):
    """Returns where the bracket at `start` is closed."""
    pairs = {"(": ")", "{": "}", "[": "]"}
    opened, close, depth = text[start], pairs[text[start]], 0
    for at in range(start, len(text)):
        if text[at] == opened:
            depth += 1
        elif text[at] == close:
            depth -= 1
            if depth == 0:
                return at
    raise SyntaxError("a bracket is not closed: " + text[start : start + 80])


def blank(text):
    """Replaces comments, strings and characters, which may hold brackets, with as many blanks."""
    pattern = r'//[^\n]*|"(?:[^"\\]|\\.)*"|' + r"b?'(?:[^'\\]|\\.)'"
    return re.sub(pattern, lambda found: re.sub(r"[^\n]", " ", found.group(0)), text)


class Source:
    """One Rust file."""

    def __init__(self, path):
        self.path = path
        self.name = str(path.relative_to(SOURCES))
        self.text = path.read_text()
        # Macros are read where they are used.
        self.code = self.without_macro_rules(blank(self.text))
        self.aliases = {}
        for found in re.finditer(r"\btype (\w+)(<T>)?\s*=\s*([^;]+);", self.code):
            self.aliases[found.group(1)] = " ".join(found.group(3).split())

    @staticmethod
    def without_macro_rules(code):
        while found := re.search(r"macro_rules!\s*\w+\s*\{", code):
            end = closing(code, found.end() - 1)
            code = code[: found.start()] + re.sub(r"[^\n]", " ", code[found.start() : end + 1]) + code[end + 1 :]
        return code

    def blocks(self, macro):
        """Returns what is in the braces of each use of a macro, and where it begins."""
        for found in re.finditer(rf"(?<![\w!])(?:crate::)?{macro}!\s*\{{", self.code):
            end = closing(self.code, found.end() - 1)
            yield found.end(), self.code[found.end() : end]

    def original(self, start, end):
        """Returns the text with its strings."""
        return self.text[start:end]


class Reader:
    def __init__(self):
        self.sources = [Source(path) for path in sorted(SOURCES.rglob("*.rs")) if path.name != "tests.rs"]
        self.interface = Interface()

    def alias(self, source, name):
        """Returns the definition of an alias, and the file that it is in."""
        if name in source.aliases:
            return source, source.aliases[name]
        found = [(other, other.aliases[name]) for other in self.sources if name in other.aliases]
        # Several modules have types of one name: the one that is imported from.
        imported = [pair for pair in found if self.imports(source, pair[0], name)]
        found = imported or found
        if len({definition for _, definition in found}) > 1:
            raise SyntaxError(f"{source.name}: which {name}?")
        return found[0] if found else None

    @staticmethod
    def imports(source, other, name):
        module = other.name.removesuffix(".rs").removesuffix("/mod").replace("/", "::")
        parent = module.rsplit("::", 1)[0]
        return any(
            re.search(rf"use (?:crate::|super::)?{re.escape(path)}(?:::\w+)?::(?:\{{[^}}]*)?\b{name}\b", source.code)
            for path in (module, parent, module.rsplit("::", 1)[-1])
        )

    def type(self, text, source, parameter=None):
        """Returns the tree of a Rust type."""
        text = " ".join(text.split()).removesuffix(",")
        if found := re.fullmatch(r"Option<(.*?),?\s*>", text):
            return self.type(found.group(1), source, parameter)
        # The "C" of `extern "C"` was blanked out.
        if found := re.fullmatch(r"(?:unsafe )?extern fn\((.*?)\)(?: -> (.*))?", text):
            return self.function_type(found, source, parameter)
        if found := re.fullmatch(r"\*(mut|const) (.*)", text):
            return ("pointer", found.group(1) == "const", self.type(found.group(2), source, parameter))
        if found := re.fullmatch(r"\[(.*); (\w+)\]", text):
            return ("array", self.type(found.group(1), source, parameter), found.group(2))
        if found := re.fullmatch(r"(\w+)<(.*)>", text):
            name, inner = found.groups()
            if name in POINTERS:
                return ("pointer", POINTERS[name], self.type(inner, source, parameter))
            where, definition = self.alias(source, name)
            return self.type(definition, where, self.type(inner, source, parameter))
        return self.named(text.rsplit("::", 1)[-1], source, parameter)

    def function_type(self, found, source, parameter):
        arguments = [argument.split(": ", 1)[-1] for argument in split(found.group(1))]
        answer = self.type(found.group(2) or "()", source, parameter)
        return ("function", answer, [self.type(argument, source, parameter) for argument in arguments])

    def named(self, name, source, parameter):
        if name == "T" and parameter:
            return parameter
        if name in PLAIN:
            return PLAIN[name]
        if name in NAMES:
            return ("name", NAMES[name])
        if re.match(r"(H5\w+_t|MPI_Comm|MPI_Info|hid_t|herr_t|htri_t|hsize_t|hssize_t|haddr_t|hvl_t|ssize_t|off_t|va_list)$", name):
            return ("name", name)
        found = self.alias(source, name)
        if not found:
            raise SyntaxError(f"{source.name}: unknown type {name}")
        return self.type(found[1], found[0])

    def arguments(self, text, source):
        found = [argument.split(":", 1) for argument in split(text)]
        return [Argument(name.strip().lstrip("_") or name.strip(), self.type(kind, source)) for name, kind in found]

    def add(self, function):
        if function.name in self.interface.functions:
            raise SyntaxError(f"{function.name} is defined twice")
        self.interface.functions[function.name] = function

    def read(self):
        for source in self.sources:
            self.read_functions(source)
            self.read_special(source)
            self.read_structs(source)
            self.read_globals(source)
        return self.interface

    def read_functions(self, source):
        """Functions that the macros of entry.rs define, and those that are written out."""
        if source.name == "entry.rs":
            return
        for macro in ("api", "api_on_stacks", "refused"):
            for start, block in source.blocks(macro):
                self.read_block(source, start, block, macro == "refused")
        pattern = r"#\[unsafe\(no_mangle\)\]\s*pub unsafe (?=extern)"
        for found in re.finditer(pattern, source.code):
            self.read_one(source, 0, source.code, found.start(), False)

    def read_block(self, source, start, block, is_refused):
        depth_at = 0
        for found in re.finditer(r"\bfn (H5\w+)\s*\(", block):
            if found.start() < depth_at:
                continue
            depth_at = self.read_one(source, start, block, found.start(), is_refused)

    def read_one(self, source, start, code, at, is_refused):
        found = re.compile(r"\bfn (H5\w+)\s*\(").search(code, at)
        end = closing(code, found.end() - 1)
        answer = re.compile(r"\)\s*(?:->\s*([^{;]+?))?\s*(?:,\s*or [\w:]+)?\s*([{;])").match(code, end)
        about = self.about(source, start + found.start())
        arguments = code[found.end() : end]
        # `H5Epush2` is naked: its arguments are what the trampoline passes on.
        is_variadic = found.group(1) == "H5Epush2"
        if is_variadic:
            arguments = (
                "stack: hid_t, file: Text, function: Text, line: c_uint, class: hid_t, major: hid_t, minor: hid_t, format: Text"
            )
        body_end = closing(code, answer.end() - 1) if answer.group(2) == "{" else answer.end()
        if refusal := self.refusal(source.original(start + answer.end(), start + body_end)):
            is_refused, about = True, refusal
        answer_type = "herr_t" if is_variadic else (answer.group(1) or "()")
        self.add(
            Function(
                found.group(1),
                self.arguments(arguments, source),
                self.type(answer_type, source),
                source.name,
                about,
                about if is_refused else None,
                is_variadic,
            )
        )
        return body_end

    @staticmethod
    def refusal(body):
        """Returns why a function always fails that is written out: all that it does is to check its arguments."""
        found = re.search(r'Err::<[^>]*>\(Failure::unsupported\("([^"]*)"\)\)\s*$', body)
        return found.group(1)[0].upper() + found.group(1)[1:] + "." if found else None

    @staticmethod
    def about(source, at):
        """Returns the doc comment before a function."""
        lines = source.text[:at].split("\n")[:-1]
        found = []
        while lines and re.match(r"\s*(///|#\[)", lines[-1]):
            line = lines.pop().strip()
            if line.startswith("///"):
                found.insert(0, line.removeprefix("///").strip())
        return " ".join(found).split("  ")[0]

    def read_special(self, source):
        """Functions that macros of one file define."""
        for start, block in source.blocks("field"):
            text = source.original(start, start + len(block))
            row = r'(H5P\w+), (H5P\w+), "(\w+)", \w+\s*:\s*([^;]+);'
            for setter, getter, name, kind in re.findall(row, text):
                value = self.type(kind, source)
                lists = Argument("fapl_id", ("name", "hid_t"))
                self.add(self.herr(setter, [lists, Argument("value", value)], source, f"Sets `{name}`."))
                pointer = ("pointer", False, value)
                self.add(self.herr(getter, [lists, Argument("value", pointer)], source, f"Returns `{name}`."))
        for start, block in source.blocks("absent_drivers"):
            text = source.original(start, start + len(block))
            for name, arguments, driver in re.findall(r'(H5P\w+)\(([^)]*)\) "(\w+)";', text):
                about = f"There is no driver `{driver}`."
                arguments = self.arguments("fapl_id: hid_t, " + arguments, source)
                self.add(self.herr(name, arguments, source, about, about))
        self.read_asynchronous(source)

    @staticmethod
    def herr(name, arguments, source, about, refused=None):
        return Function(name, arguments, ("name", "herr_t"), source.name, about, refused)

    def read_asynchronous(self, source):
        place = "file: Text, function: Text, line: c_uint, "
        for _, block in source.blocks("asynchronous"):
            row = r"(H5\w+) = ([\w:]+), \(([^;]*)\) -> (\w+);"
            for name, function, arguments, answer in re.findall(row, block):
                arguments = self.arguments(f"{place}{arguments}, es_id: hid_t", source)
                about = f"Runs `{function.rsplit('::')[-1]}` and inserts it into an event set."
                self.add(Function(name, arguments, self.type(answer, source), source.name, about))
        for _, block in source.blocks("asynchronous_answers"):
            row = r"(H5\w+) = ([\w:]+), \(([^;]*?)\), (\w+), \(([^;]*)\);"
            for name, function, arguments, exists, more in re.findall(row, block):
                more = more and f"{more}, "
                arguments = self.arguments(f"{place}{arguments}, {exists}: Out<bool>, {more}es_id: hid_t", source)
                about = f"Runs `{function.rsplit('::')[-1]}` and inserts it into an event set."
                self.add(self.herr(name, arguments, source, about))

    def read_structs(self, source):
        pattern = r"#\[repr\(C\)\]\s*(?:#\[[^\]]*\]\s*)*(?:pub(?:\(\w+\))? )?(struct|union) (\w+) \{"
        for found in re.finditer(pattern, source.code):
            end = closing(source.code, found.end() - 1)
            body = re.sub(r"#\[[^\]]*\]", "", source.code[found.end() : end])
            fields = [re.sub(r"^pub(\(\w+\))? ", "", item).split(":", 1) for item in split(body)]
            self.interface.structs[(source.name, found.group(2))] = Struct(
                found.group(2), found.group(1), [(name.strip(), kind.strip()) for name, kind in fields], source.name
            )

    def read_globals(self, source):
        found = re.findall(r"#\[unsafe\(no_mangle\)\]\s*pub static (H5\w+): ([\w:]+)", source.code)
        for name, kind in found:
            kind = kind.rsplit("::", 1)[-1]
            self.interface.globals[name] = "hid_t" if kind == "GlobalId" else kind
        for macro, kind in (("predefined", "hid_t"), ("alignments", "size_t")):
            for _, block in source.blocks(macro):
                self.interface.globals.update(dict.fromkeys(re.findall(r"\b(H5T_\w+_g)\s*=", block), kind))
        for macro in ("export", "export_absent", "codes"):
            for start, block in source.blocks(macro):
                text = source.original(start, start + len(block))
                self.interface.globals.update(dict.fromkeys(re.findall(r"\bH5\w+_g\b", text), "hid_t"))


def read():
    return Reader().read()


# Words that C++ keeps for itself.
KEYWORDS = {"class", "default", "delete", "export", "new", "operator", "private", "public", "this"}


def safe(name):
    """Returns a name for an argument that both C and C++ accept."""
    return f"{name}_" if name in KEYWORDS else name


def declare(kind, name=""):
    """Writes a declaration in C."""
    if kind[0] == "name":
        return f"{kind[1]} {name}".rstrip()
    if kind[0] == "array":
        return declare(kind[1], f"{name}[{kind[2]}]")
    if kind[0] == "pointer":
        _, is_const, inner = kind
        if inner[0] == "function":
            return declare(inner, f"*{name}")
        text = f"*{name}"
        if is_const and inner[0] == "pointer":
            return declare(inner, f"const {text}")
        return ("const " if is_const else "") + declare(inner, text)
    _, answer, arguments = kind
    return declare(answer, f"(*{name})({', '.join(declare(argument) for argument in arguments) or 'void'})")


def prototype(function):
    arguments = [declare(argument.type, safe(argument.name)) for argument in function.arguments]
    if function.is_variadic:
        arguments.append("...")
    return declare(function.answer, f"{function.name}({', '.join(arguments) or 'void'})")


if __name__ == "__main__":
    for function in read().functions.values():
        print(prototype(function) + ";", "// refused" if function.refused else "")
