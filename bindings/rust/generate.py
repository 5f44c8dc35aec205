#!/usr/bin/env python3
"""Writes gpujoin-sys/src/bindings.rs and gpujoin-sys/tests/fields/mod.rs from include/gpujoin.h.

    bindings/rust/generate.py            writes both
    bindings/rust/generate.py --check    changes nothing; exits 1 where either is not the header's

The header is C99 of few forms, which is what makes this short: numbers by #define, typedefs of
int32_t, structs, opaque structs, callback types, functions. What has another form is an error, not
left out.
"""

import re
import sys
import textwrap
from pathlib import Path

HERE = Path(__file__).resolve().parent
HEADER = HERE.parents[1] / "include" / "gpujoin.h"
BINDINGS = HERE / "gpujoin-sys" / "src" / "bindings.rs"
FIELDS = HERE / "gpujoin-sys" / "tests" / "fields" / "mod.rs"

TYPES = {
    **{f"int{bits}_t": f"i{bits}" for bits in (8, 16, 32, 64)},
    **{f"uint{bits}_t": f"u{bits}" for bits in (8, 16, 32, 64)},
    **{"void": "c_void", "char": "c_char", "size_t": "usize", "double": "f64"},
}
KEYWORDS = {"match": "r#match", "type": "r#type"}
# The parts of the header, each with the comments before it as its first group.
COMMENT = r"((?:/\*(?:[^*]|\*(?!/))*\*/\s*)*)"
ITEM = re.compile(
    COMMENT
    + r"(?:"
    r"#define (?P<number>\w+) (?P<value>[^\n\\]+)\n"
    r"|typedef struct (?P<opaque>\w+) (?P=opaque);"
    r"|typedef (?P<alias_of>\w+) (?P<alias>\w+);"
    r"|typedef (?P<returns>\w+) \(\*(?P<callback>\w+)\)\((?P<arguments>[^;]*)\);"
    r"|(?:typedef )?struct (?P<struct>\w+) \{(?P<body>.*?)\n\}(?: \w+)?;"
    r"|GPUJOIN_API (?P<answer>[\w ]+?)(?P<pointer>\*?) (?P<function>gpujoin_\w+)\("
    r"(?P<parameters>[^;]*)\);"
    r"|(?P<forward>struct \w+;)"
    r"|(?P<left_out>#(?:define \w+(?:_INIT|_H|_API|_INTERFACE)|define \w+ \\|ifn?def|if|elif|else|endif"
    r"|include)[^\n]*(?:(?<=\\)\n[^\n]*)*|extern \"C\" \{|\})"
    r")",
    re.DOTALL,
)
FIELD = re.compile(
    COMMENT
    + r"(?:(?P<type>(?:const )?(?:struct )?\w+)(?P<stars>\**) (?P<name>\w+)(?:\[(?P<length>\d+)\])?;"
    r"|(?P<returns>\w+)(?P<pointer>\*?) \(\*(?P<callback>\w+)\)\((?P<arguments>[^;]*)\);)"
)


def text_of(comments):
    """The last comment before an item, as lines."""
    found = re.findall(r"/\*(.*?)\*/", comments, re.DOTALL)
    if not found:
        return []
    lines = [re.sub(r"^\s*\* ?", "", line).rstrip() for line in found[-1].split("\n")]
    lines[0] = found[-1].split("\n")[0].strip()
    if len(lines) > 1 and re.fullmatch(r"-{5,}", lines[1]):
        lines = lines[2:]  # the title of a section, which is no item's
    while lines and not lines[-1]:
        lines.pop()
    return lines


def documented(comments, indent="", fallback=None):
    lines = text_of(comments) or ([fallback] if fallback else [])
    if any(line.startswith("  ") or not line for line in lines):
        lines = ["```text", *lines, "```"]
    else:
        lines = [re.sub(r"([\[\]<>])", r"\\\1", line) for line in lines]
        lines = textwrap.wrap(" ".join(lines), 96 - len(indent), break_on_hyphens=False)
    return "".join(f"{indent}/// {line}".rstrip() + "\n" for line in lines)


def rust_type(c_type, stars):
    c_type = c_type.replace("struct ", "")
    is_const = c_type.startswith("const ")
    name = c_type.removeprefix("const ")
    name = TYPES.get(name, name)
    for depth in range(len(stars)):
        name = f"*{'const' if is_const and depth == 0 else 'mut'} {name}"
    return name


def parameters_of(text):
    """[(name, type)] of the parameters of a function or a callback."""
    found = []
    for part in re.sub(r"\s+", " ", text).split(", "):
        if part == "void":
            continue
        match = re.fullmatch(r"((?:const )?(?:struct )?\w+)(\**)(?: (\w+))?", part.strip())
        if match is None:
            raise SystemExit(f"{HEADER.name}: cannot read the parameter {part!r}")
        found.append((match[3] or "argument", rust_type(match[1], match[2])))
    return found


def callback_type(returns, stars, arguments):
    listed = ", ".join(f"{name}: {kind}" for name, kind in parameters_of(arguments))
    answer = rust_type(returns, stars)
    arrow = "" if answer == "c_void" else f" -> {answer}"
    return f"Option<unsafe extern \"C\" fn({listed}){arrow}>"


def wrapped(line, indent):
    """A declaration of more than 100 columns with its arguments on lines of their own."""
    if len(line) + len(indent) <= 100:
        return indent + line
    head, _, rest = line.partition("fn")
    before, _, rest = rest.partition("(")
    arguments, _, tail = rest.rpartition(")")
    kept = arguments.replace(" ", "\0").replace(",\0", ", ")  # breaks are between arguments alone
    lines = textwrap.wrap(kept, 96 - len(indent), break_on_hyphens=False)
    inner = "\n".join(f"{indent}    {part}" for part in lines).replace("\0", " ")
    return f"{indent}{head}fn{before}(\n{inner}\n{indent}){tail}"


def value_of(text):
    text = text.strip().strip("()") if re.fullmatch(r"\(-?\d+\)", text.strip()) else text.strip()
    return text.replace("UINT32_MAX", "u32::MAX")


def struct_of(match, layouts):
    name, fields = match["struct"], []
    rest = match["body"]
    position = 0
    while rest[position:].strip():
        field = FIELD.match(rest, position + len(rest[position:]) - len(rest[position:].lstrip()))
        if field is None:
            raise SystemExit(f"{HEADER.name}: cannot read a field of {name}: {rest[position:]!r}")
        position = field.end()
        if field["callback"]:
            label = field["callback"]
            kind = callback_type(field["returns"], field["pointer"], field["arguments"])
        else:
            label = field["name"]
            kind = rust_type(field["type"], field["stars"])
            if field["length"]:
                kind = f"[{kind}; {field['length']}]"
        fields.append((label, kind, field[1]))
    lines = documented(match[1], fallback=f"`struct {name}` of the header.")
    lines += f"#[repr(C)]\n#[derive(Clone, Copy)]\npub struct {name} {{\n"
    for label, kind, comments in fields:
        described = documented(comments, "    ") or f"    /// `{label}` of the C struct.\n"
        lines += described + wrapped(f"pub {KEYWORDS.get(label, label)}: {kind},", "    ") + "\n"
    lines += "}\n\n"
    sized = "struct_size" in [label for label, _, _ in fields]
    size = f"\n        value.struct_size = size_of::<{name}>() as u32;" if sized else ""
    what = "Its `_INIT` macro: zero, but for `struct_size`." if sized else "All zero."
    lines += (
        f"impl {name} {{\n    /// {what}\n    pub const INIT: Self = {{\n"
        f"        // SAFETY: integers, floats, pointers and optional functions may all be zero.\n"
        f"        let {'mut ' if sized else ''}value: Self = unsafe {{ std::mem::zeroed() }};{size}\n"
        f"        value\n    }};\n}}\n\n"
    )
    layouts.append((name, [label for label, _, _ in fields]))
    return lines


def generate(header):
    header = header[header.index("#ifndef GPUJOIN_H") :]
    parts, functions, layouts, position = [], [], [], 0
    while header[position:].strip():
        start = position + len(header[position:]) - len(header[position:].lstrip())
        match = ITEM.match(header, start)
        if match is None:
            if re.fullmatch(COMMENT + r"\s*", header[start:]):
                break
            raise SystemExit(f"{HEADER.name}: cannot read: {header[start : start + 200]!r}")
        position = match.end()
        if match["number"]:
            name, value = match["number"], value_of(match["value"])
            if name.endswith(("_INIT", "_INTERFACE", "_API")):
                continue
            kind = "u32" if value == "u32::MAX" else "i64" if "INT64" in name and value == "-1" else "i32"
            described = documented(match[1], fallback=f"`{name}` of the header.")
            parts.append(f"{described}pub const {name}: {kind} = {value};\n")
        elif match["opaque"]:
            name = match["opaque"]
            described = documented(match[1], fallback=f"A handle: `{name}*` of the header.")
            parts.append(f"{described}#[repr(C)]\npub struct {name} {{\n    _private: [u8; 0],\n}}\n\n")
        elif match["alias"]:
            described = documented(match[1], fallback=f"`{match['alias']}` of the header.")
            parts.append(f"{described}pub type {match['alias']} = {rust_type(match['alias_of'], '')};\n")
        elif match["callback"]:
            kind = callback_type(match["returns"], "", match["arguments"])
            declared = wrapped(f"pub type {match['callback']} = {kind};", "")
            parts.append(f"{documented(match[1])}{declared}\n")
        elif match["struct"]:
            parts.append(struct_of(match, layouts))
        elif match["function"]:
            answer = rust_type(match["answer"].strip(), match["pointer"])
            functions.append((match["function"], parameters_of(match["parameters"]), answer,
                              documented(match[1], "    ")))
    head = (
        "// Written by bindings/rust/generate.py from include/gpujoin.h: change that, and run it.\n\n"
        "use std::ffi::{c_char, c_void};\n\n"
    )
    return head + "".join(parts) + functions_of(functions), fields_of(layouts)


def functions_of(functions):
    """One list of declarations; `functions!` says what they are, linked or looked up."""
    lines = "\nfunctions! {\n"
    for name, parameters, answer, described in functions:
        listed = ", ".join(f"{label}: {kind}" for label, kind in parameters)
        arrow = "" if answer == "c_void" else f" -> {answer}"
        lines += described + wrapped(f"pub fn {name}({listed}){arrow};", "    ") + "\n"
    return lines + "}\n"


def fields_of(layouts):
    lines = (
        "// Written by bindings/rust/generate.py from include/gpujoin.h: change that, and run it.\n\n"
        "use super::*;\n\n"
        "/// Name and size of a struct, and the place of each of its fields.\n"
        "type Layout = (&'static str, usize, Vec<(&'static str, usize)>);\n\n"
        "pub fn layouts() -> Vec<Layout> {\n    vec![\n"
    )
    for name, fields in layouts:
        places = [f'("{field}", offset_of!({name}, {KEYWORDS.get(field, field)})),' for field in fields]
        listed = "".join(f"                {place}\n" for place in places)
        lines += f'        ("{name}", size_of::<{name}>(), vec![\n{listed}        ]),\n'
    return lines + "    ]\n}\n"


def main():
    bindings, fields = generate(HEADER.read_text())
    if sys.argv[1:] == ["--check"]:
        stale = [path for path, text in ((BINDINGS, bindings), (FIELDS, fields))
                 if not path.exists() or path.read_text() != text]
        for path in stale:
            print(f"{path.relative_to(HERE)}: is not that of include/gpujoin.h; run generate.py")
        return 1 if stale else 0
    BINDINGS.write_text(bindings)
    FIELDS.write_text(fields)
    return 0


if __name__ == "__main__":
    sys.exit(main())
