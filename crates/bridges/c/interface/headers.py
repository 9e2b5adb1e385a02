"""Writes the C headers of the interface, from the definitions in the Rust sources.

usage: headers.py [--mpi] FOLDER     --mpi: for a library with the feature `mpi`, and programs that mpicc compiles

types.txt, constants.txt and versions.txt say what the Rust sources do not: names of enumerations and of their values, and which
of several versions a name means.
"""

import re
import sys
from pathlib import Path

from definitions import Reader, declare, safe

HERE = Path(__file__).resolve().parent
VERSION = (2, 2, 0)

# Structs of the sources whose C names differ.
STRUCTS = {
    ("h5z/foreign.rs", "Class1"): "H5Z_class1_t",
    ("h5z/foreign.rs", "Class2"): "H5Z_class2_t",
    ("h5fd/class.rs", "Class114"): "H5FD_class_t",
}
# Constants of the sources that give the sizes of arrays.
SIZES = {"RETRY_TYPES": "21", "NAME_BYTES": "1025"}
FAMILIES = {
    "H5": "H5public", "H5A": "H5Apublic", "H5AC": "H5ACpublic", "H5D": "H5Dpublic", "H5E": "H5Epublic", "H5ES": "H5ESpublic",
    "H5F": "H5Fpublic", "H5FD": "H5FDpublic", "H5G": "H5Gpublic", "H5I": "H5Ipublic", "H5L": "H5Lpublic", "H5M": "H5Mpublic",
    "H5MM": "H5MMpublic", "H5O": "H5Opublic", "H5P": "H5Ppublic", "H5PL": "H5PLpublic", "H5R": "H5Rpublic", "H5S": "H5Spublic",
    "H5T": "H5Tpublic", "H5VL": "H5VLpublic", "H5Z": "H5Zpublic",
}  # fmt: skip
# Headers of drivers that programs include by their names: everything is in H5FDpublic.h.
DRIVERS = ["H5FDcore", "H5FDdevelop", "H5FDdirect", "H5FDfamily", "H5FDlog", "H5FDmpi", "H5FDmpio", "H5FDmulti", "H5FDsec2", "H5FDstdio", "H5Zdevelop",
           "H5Idevelop", "H5Ldevelop", "H5Tdevelop", "H5TSdevelop", "H5ESdevelop", "H5VLnative", "H5VLconnector",
           "H5VLconnector_passthru"]  # fmt: skip
NOTICE = "/* Generated from the definitions of Hyperslab's C library: changes are lost. */\n"

PRELUDE = """
#include "H5pubconf.h"
#include "H5version.h"

#ifdef H5_HAVE_PARALLEL
#ifndef OMPI_SKIP_MPICXX
#define OMPI_SKIP_MPICXX 1
#endif
#ifndef MPICH_SKIP_MPICXX
#define MPICH_SKIP_MPICXX 1
#endif
#include <mpi.h>
#endif

#include <inttypes.h>
#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/types.h>
#include <time.h>

#define H5_DLL extern
#define H5_DLLVAR extern
/* For the headers of libhdf5's high-level library. */
#define H5HL_DLL extern
#define H5HL_DLLVAR extern

typedef int64_t hid_t;
typedef int herr_t;
typedef int htri_t;
typedef bool hbool_t;
typedef uint64_t hsize_t;
typedef int64_t hssize_t;
typedef uint64_t haddr_t;
typedef off_t HDoff_t;
typedef haddr_t hobj_ref_t;
typedef int H5Z_filter_t;
typedef int H5FD_class_value_t;
typedef int H5VL_class_value_t;
typedef hid_t H5E_major_t;
typedef hid_t H5E_minor_t;
typedef uint32_t H5O_msg_crt_idx_t;
#define PRIdHSIZE PRId64
#define PRIiHSIZE PRIi64
#define PRIoHSIZE PRIo64
#define PRIuHSIZE PRIu64
#define PRIxHSIZE PRIx64
#define PRIXHSIZE PRIX64
#define PRIdHADDR PRId64
#define PRIoHADDR PRIo64
#define PRIuHADDR PRIu64
#define PRIxHADDR PRIx64
#define PRIXHADDR PRIX64
#define PRIdHID PRId64
#define PRIoHID PRIo64
#define PRIxHID PRIx64
#define PRIXHID PRIX64
#define H5_PRINTF_HADDR_FMT "%" PRIuHADDR

#define HOFFSET(S, M) (offsetof(S, M))
#define H5OPEN H5open(),
#define H5CHECK H5check(),
#define H5check() H5check_version(H5_VERS_MAJOR, H5_VERS_MINOR, H5_VERS_RELEASE)

/* Memory of a reference, of one to a region in the old form, and of one in the new form. */
typedef struct { uint8_t __data[12]; } hdset_reg_ref_t;
typedef struct { union { uint8_t __data[64]; int64_t align; } u; } H5R_ref_t;
"""

TRY = """
/* What stands between these two prints no errors. */
#define H5E_BEGIN_TRY \\
    { \\
        H5E_auto2_t hyperslab_function_; \\
        void *hyperslab_data_; \\
        H5Eget_auto2(H5E_DEFAULT, &hyperslab_function_, &hyperslab_data_); \\
        H5Eset_auto2(H5E_DEFAULT, NULL, NULL);
#define H5E_END_TRY \\
        H5Eset_auto2(H5E_DEFAULT, hyperslab_function_, hyperslab_data_); \\
    }
#define H5Epush_sim(func, cls, maj, min, str) H5Epush2(H5E_DEFAULT, __FILE__, func, __LINE__, cls, maj, min, str)
#define H5Epush_ret(func, cls, maj, min, str, ret) \\
    do { H5Epush_sim(func, cls, maj, min, str); return (ret); } while (0)
#define H5Epush_goto(func, cls, maj, min, str, label) \\
    do { H5Epush_sim(func, cls, maj, min, str); goto label; } while (0)
"""

NATIVE = """
#define H5T_NATIVE_CHAR (CHAR_MIN ? H5T_NATIVE_SCHAR : H5T_NATIVE_UCHAR)
"""

VERSIONS = """
#define H5_VERS_MAJOR {0}
#define H5_VERS_MINOR {1}
#define H5_VERS_RELEASE {2}
#define H5_VERS_SUBRELEASE ""
#define H5_VERS_STR "{0}.{1}.{2}"
#define H5_VERS_INFO "HDF5 library version: {0}.{1}.{2}"
#define H5_VERSION_GE(major, minor, release) \\
    (H5_VERS_MAJOR * 1000000 + H5_VERS_MINOR * 1000 + H5_VERS_RELEASE >= (major) * 1000000 + (minor) * 1000 + (release))
#define H5_VERSION_LE(major, minor, release) \\
    (H5_VERS_MAJOR * 1000000 + H5_VERS_MINOR * 1000 + H5_VERS_RELEASE <= (major) * 1000000 + (minor) * 1000 + (release))
"""

CONFIGURATION = """
#define H5_VERSION "{0}.{1}.{2}"
#define H5_PACKAGE_VERSION "{0}.{1}.{2}"
#define H5_HAVE_FILTER_DEFLATE 1
#define H5_HAVE_THREADSAFE 1
#define H5_HAVE_MAP_API 1
#define H5_HAVE_COMPLEX_NUMBERS 1
#define H5_SIZEOF_FLOAT_COMPLEX 8
#define H5_SIZEOF_DOUBLE_COMPLEX 16
#define H5_SIZEOF_LONG_DOUBLE_COMPLEX 32
"""

PARALLEL = """
#define H5_HAVE_PARALLEL 1
#define H5_HAVE_PARALLEL_FILTERED_WRITES 1
"""


def lines_of(name):
    """Returns the lines of a data file that say something."""
    text = (HERE / name).read_text()
    return [line for line in text.splitlines() if line.strip() and not line.startswith("#")]


def typed(kind, name):
    """Writes a declaration with a C type that may be a pointer to a function or an array."""
    if "(*)" in kind:
        return kind.replace("(*)", f"(*{name})", 1)
    if found := re.fullmatch(r"(.*) (\[\w+\])", kind):
        return f"{found.group(1)} {name}{found.group(2)}"
    return f"{kind}{name}" if kind.endswith("*") else f"{kind} {name}"


class Headers:
    def __init__(self, is_parallel=False):
        self.is_parallel = is_parallel
        self.reader = Reader()
        self.interface = self.reader.read()
        self.sources = {source.name: source for source in self.reader.sources}
        rows = [line.split(" ", 1) for line in lines_of("types.txt")]
        self.types = {key: value.strip() for key, value in rows}
        self.callbacks = {}
        self.constants = [line.split(" ", 2) for line in lines_of("constants.txt")]

    # Types

    def enumerations(self):
        for what, name, values in self.constants:
            if what == "enum":
                items = ", ".join(value.replace("=", " = ") for value in values.split())
                yield f"typedef enum {name} {{ {items} }} {name};"
                if name == "H5F_mem_t":
                    yield "typedef H5F_mem_t H5FD_mem_t;"
                if name == "H5L_type_t":
                    yield "typedef H5L_type_t H5G_link_t;"

    def argument(self, function, name, kind):
        """Writes an argument or an answer; its C type, where it has a name, is checked to be of the same form."""
        given = self.types.get(f"{function.name}.{name}")
        if not given:
            return declare(kind, "" if name == "answer" else safe(name))
        base = given.removesuffix(" *").removeprefix("const ")
        inner = kind[2] if kind[0] == "pointer" and given.endswith("*") else kind
        if inner[0] == "function":
            known = self.callbacks.setdefault(base, inner)
            if known != inner:
                raise SyntaxError(f"{function.name}: {base} is another function elsewhere")
        return given if name == "answer" else typed(given, safe(name))

    def prototype(self, function):
        arguments = [self.argument(function, argument.name, argument.type) for argument in function.arguments]
        if function.is_variadic:
            arguments.append("...")
        answer = self.argument(function, "answer", function.answer)
        return typed(answer, f"{function.name}({', '.join(arguments) or 'void'})") + ";"

    def fields(self, struct, name):
        """Returns (path, declaration) of each field; structs that have no name in C dissolve."""
        source = self.sources[struct.source]
        for field, kind in struct.fields:
            inner = self.interface.structs.get((struct.source, kind))
            array = re.fullmatch(r"\[Unused; (\d+)\]", kind)
            if inner and not inner.name.startswith("H5"):
                if inner.keyword == "union":
                    items = "; ".join(text for _, text in self.fields(inner, inner.name))
                    yield field, f"union {{ {items}; }} {field}"
                else:
                    yield from self.fields(inner, name)
            elif field == "native":
                yield from self.fields(inner, name)
            elif array:
                yield from (self.field(name, f"{field}.{at}", None, source) for at in range(int(array.group(1))))
            else:
                yield self.field(name, field, kind, source)

    def field(self, struct, field, kind, source):
        path, _, given = self.types.get(f"{struct}.{field}", field).partition(" ")
        last = path.rsplit(".", 1)[-1]
        if given:
            if kind and "extern" in self.expanded(kind, source) and "(*)" not in given:
                self.callbacks.setdefault(given, self.reader.type(kind, source))
            return path, typed(given, last)
        return path, declare(self.reader.type(kind, source), last)

    @staticmethod
    def expanded(kind, source):
        return source.aliases.get(re.sub(r"Option<(\w+)>", r"\1", kind), kind)

    def struct(self, struct, name):
        body, group = [], None
        for path, text in self.fields(struct, name):
            prefix = path.rpartition(".")[0]
            if prefix != group:
                if group:
                    body.append(f"    }} {group};")
                if prefix:
                    body.append("    struct {")
                group = prefix or None
            body.append(("        " if group else "    ") + text + ";")
        if group:
            body.append(f"    }} {group};")
        text = "\n".join([f"struct {name} {{", *body, "};"])
        return re.sub(r"\[(\w+)\]", lambda found: f"[{SIZES.get(found.group(1), found.group(1))}]", text)

    def structs(self):
        """Structs after those that they contain."""
        texts = {}
        for key, struct in self.interface.structs.items():
            name = STRUCTS.get(key, struct.name)
            if struct.keyword == "struct" and (name.startswith("H5") or name == "hvl_t"):
                texts[name] = self.struct(struct, name)
        done = []
        while len(done) < len(texts):
            for name, text in texts.items():
                needed = {other for other in texts if other != name and re.search(rf"\b{other} \w", text)}
                if name not in done and needed <= set(done):
                    done.append(name)
        forward = [f"typedef struct {name} {name};" for name in done]
        return forward, [texts[name] for name in done]

    def callback_types(self):
        for name, kind in sorted(self.callbacks.items()):
            text = declare(kind, name)
            for wrong, right in CALLBACK_TYPES.get(name, []):
                text = text.replace(wrong, right, 1)
            yield f"typedef {text};"

    # Values

    def values(self, family):
        for what, name, value in self.constants:
            if what == "value" and header_of(name) == family:
                yield f"#define {name} {value}"

    def globals(self, family):
        """Global values under the names that programs use."""
        for name, kind in sorted(self.interface.globals.items()):
            if header_of(name) != family:
                continue
            kind = {"usize": "size_t", "AtomicBool": "bool"}.get(kind, kind)
            constant = "const " if kind == "H5O_token_t" else ""
            yield f"H5_DLLVAR {constant}{kind} {name};"
            if kind in ("hid_t", "H5O_token_t"):
                yield f"#define {macro_name(name)} (H5OPEN {name})" if kind == "hid_t" else f"#define {macro_name(name)} ({name})"

    def functions(self, family):
        for name, function in sorted(self.interface.functions.items()):
            if header_of(name) == family and name not in self.old_names():
                text = f"H5_DLL {self.prototype(function)}"
                # Communicators have their types from the header of the MPI library.
                yield f"#ifdef H5_HAVE_PARALLEL\n{text}\n#endif" if "MPI_" in text else text

    def old_names(self):
        """Names that programs for older versions import: in the headers they are macros."""
        return {line.split()[0] for line in lines_of("versions.txt")}

    def asynchronous(self, family):
        """Functions that are told where they are called from."""
        place = ["file", "function", "line"]
        for name, function in sorted(self.interface.functions.items()):
            first = [argument.name.replace("func", "function").replace("functiontion", "function") for argument in function.arguments[:3]]
            if name.endswith("_async") and first == place and header_of(name) == family:
                yield f"#define {name}(...) {name}(__FILE__, __func__, __LINE__, __VA_ARGS__)"

    # Files

    def family(self, family):
        extra = {"H5E": TRY, "H5T": NATIVE + "\n".join(other_machines()) + "\n", "H5O": TOKEN, "H5P": "#define H5P_NO_CLASS H5P_ROOT\n"}
        parts = [*self.values(family), *self.globals(family), extra.get(family, ""), BEGIN]
        return "\n".join([*parts, *self.functions(family), END, *self.asynchronous(family)])

    def types_file(self):
        # Prototypes and structs are written first: they say which names pointers to functions have.
        for function in self.interface.functions.values():
            self.prototype(function)
        forward, structs = self.structs()
        parts = [PRELUDE, *self.values("H5"), "#define H5I_INVALID_HID (-1)", *self.enumerations(), *forward]
        return "\n".join([*parts, *self.callback_types(), *structs])

    def files(self):
        types = self.types_file()
        for family, name in FAMILIES.items():
            body = self.family(family)
            first = types if family == "H5" else '#include "H5public.h"\n'
            yield f"{name}.h", guarded(name, first + "\n" + body)
        yield "H5version.h", guarded("H5version", "\n".join(versions()))
        yield "H5pubconf.h", guarded("H5pubconf", CONFIGURATION.format(*VERSION) + (PARALLEL if self.is_parallel else ""))
        for name in DRIVERS:
            family = re.match(r"H5(FD|VL|ES|[A-Z])", name).group(0)
            yield f"{name}.h", guarded(name, f'#include "{family}public.h"\n')
        yield "H5Cpublic.h", guarded("H5Cpublic", '#include "H5ACpublic.h"\n')
        yield "H5PLextern.h", guarded("H5PLextern", PLUGIN)
        everything = "\n".join(f'#include "{name}.h"' for name in FAMILIES.values())
        yield "hdf5.h", guarded("hdf5", everything + "\n")


# Arguments of callbacks that have C types of their own.
CALLBACK_TYPES = {
    "H5T_conv_except_func_t": [("int (*", "H5T_conv_ret_t (*"), ("(int,", "(H5T_conv_except_t,")],
    "H5Z_filter_func_t": [("int (*", "H5Z_cb_return_t (*"), ("(int,", "(H5Z_filter_t,")],
    "H5O_mcdt_search_cb_t": [("int (*", "H5O_mcdt_search_ret_t (*")],
    "H5ES_event_complete_func_t": [(", int,", ", H5ES_status_t,")],
}
BEGIN = "#ifdef __cplusplus\nextern \"C\" {\n#endif"
END = "#ifdef __cplusplus\n}\n#endif"
TOKEN = "#define H5O_IS_TOKEN_UNDEF(token) (!memcmp(&(token), &(H5O_TOKEN_UNDEF), sizeof(H5O_token_t)))\n"


PLUGIN = f"""#include "H5PLpublic.h"

/* What a plugin defines. */
{BEGIN}
H5PL_type_t H5PLget_plugin_type(void);
const void *H5PLget_plugin_info(void);
{END}
"""


def header_of(name):
    """Returns the family whose header has a name."""
    found = re.match(r"H5(AC|C_|ES|FD|MM|PL|TS|VL|[A-Z](?=[a-z_]))?", name)
    family = (found.group(0) if found else "H5").rstrip("_")
    return {"H5C": "H5AC", "H5TS": "H5"}.get(family, family)


def macro_name(name):
    """H5T_NATIVE_INT_g is H5T_NATIVE_INT to programs, H5P_CLS_FILE_ACCESS_ID_g is H5P_FILE_ACCESS."""
    if found := re.fullmatch(r"H5P_(CLS|LST)_(\w+)_ID_g", name):
        return f"H5P_{found.group(2)}" + ("_DEFAULT" if found.group(1) == "LST" else "")
    return name.removesuffix("_g").removesuffix("_id")


def other_machines():
    """Datatypes by the machines that have them."""
    for machine, order in (("INTEL", "LE"), ("ALPHA", "LE"), ("MIPS", "BE")):
        for letter in "IUB":
            for bits in (8, 16, 32, 64):
                yield f"#define H5T_{machine}_{letter}{bits} H5T_STD_{letter}{bits}{order}"
        for bits in (32, 64):
            yield f"#define H5T_{machine}_F{bits} H5T_IEEE_F{bits}{order}"


def versions():
    yield VERSIONS.format(*VERSION)
    for line in lines_of("versions.txt"):
        name, *meanings = line.split()
        pairs = [meaning.split("=") for meaning in meanings]
        newest = pairs[-1][1]
        yield f"#if !defined({name}_vers)"
        for at, (_, meaning) in enumerate(pairs[:-1]):
            until = int(pairs[at + 1][0])
            apis = [f"defined(H5_USE_{api}_API)" for api in (16, 18, 110, 112, 114, 200) if api < until]
            yield f"#{'if' if at == 0 else 'elif'} {' || '.join(apis)}"
            yield f"#define {name}_vers {number_of(meaning)}"
        yield f"#else\n#define {name}_vers {number_of(newest)}\n#endif\n#endif"
        for meaning in dict.fromkeys(meaning for _, meaning in pairs):
            yield f"#if {name}_vers == {number_of(meaning)}\n#define {name} {meaning}\n#endif"


def number_of(name):
    return re.search(r"(\d)(_t)?$", name).group(1)


def guarded(name, text):
    guard = f"HYPERSLAB_{name.upper()}_H"
    return f"{NOTICE}#ifndef {guard}\n#define {guard}\n{text}\n#endif\n"


def main():
    folder = Path(sys.argv[-1])
    folder.mkdir(parents=True, exist_ok=True)
    for name, text in Headers("--mpi" in sys.argv[1:-1]).files():
        (folder / name).write_text(text)


if __name__ == "__main__":
    main()
