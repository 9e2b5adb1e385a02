"""Scripts and descriptions as text: words and lists in parentheses.

A value is an int, a word, bytes (written as `x` and hexadecimal digits) or a tuple of values. Names and paths are
bytes, so that nothing needs quoting.
"""


def text(value):
    if isinstance(value, tuple):
        return "(" + " ".join(text(part) for part in value) + ")"
    if isinstance(value, bytes):
        return "x" + value.hex()
    return str(value)


def readable(line):
    """A line for people: names as text where they are text."""
    out = []
    for word in line.replace("(", "( ").replace(")", " )").split():
        if word.startswith("x") and len(word) % 2 == 1:
            try:
                raw = bytes.fromhex(word[1:])
                shown = raw.decode()
                out.append(repr(shown) if shown.isprintable() and raw else word)
                continue
            except ValueError:
                pass
        out.append(word)
    shown = " ".join(out)
    return shown if len(shown) <= 1500 else f"{shown[:1500]}… ({len(shown)} characters)"
