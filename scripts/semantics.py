#!/usr/bin/env python3
"""Writes docs/semantics.md from the joins of tests/cases, which every binding runs.

    scripts/semantics.py [--check]

--check: writes nothing, and exits with 1 where the document is not what would be written.
"""

import pathlib
import sys
import textwrap

WIDTH = 100  # columns of prose
ROOT = pathlib.Path(__file__).resolve().parents[1]
CASES = ROOT / "tests" / "cases"
DOCUMENT = ROOT / "docs" / "semantics.md"
SECTIONS = ("left", "right", "join", "expect")

HEAD = """# What a join answers

Written by `scripts/semantics.py` from `tests/cases`, whose joins run in C and in Python, on the CPU
and, where there is one, on a GPU, by every algorithm and with either side as the build side. The
order of rows is not specified.

- A row matches one of the other side when all keys are equal. A comparison with NULL is unknown:
  such rows do not match.
- `left`, `right`, `full`: the pairs, and once each row of that side without a match; the other
  side's columns are NULL and its row number is `GPUJOIN_NO_ROW`.
- `left_semi`, `right_semi`: rows of that side with a match, once each. `left_anti`, `right_anti`:
  those without one.
- `left_mark`, `right_mark`: all rows of that side, with the truth of `key IN (keys of the other
  side)`: true where there is a match, else NULL where a comparison is unknown, else false. With
  several keys a comparison is false as soon as one pair of columns differs. In nothing, everything
  is false.
- `left_not_in`, `right_not_in`: rows whose mark is false.
- `left_single`, `right_single`: as `left` and `right`; a row with two matches is an error.
- `cross`: each row with each.

In the tables `#` is a row number.
"""


def read(path):
    """A comment, the two tables, and of each join its lines and its rows."""
    comment, tables, joins, lines = [], {}, [], None
    for text in path.read_text().splitlines():
        words = text.split()
        if text.startswith("#"):
            comment.append(text[1:].strip())
        elif len(words) == 1 and words[0] in SECTIONS:
            lines = []
            if words[0] == "join":
                joins.append({"join": lines})
            elif words[0] == "expect":
                joins[-1]["expect"] = lines
            else:
                tables[words[0]] = lines
        elif words:
            lines.append(words)
    return " ".join(comment), tables, joins


def table(header, rows):
    """A table in Markdown."""
    lines = ["| " + " | ".join(cells) + " |" for cells in [header, ["---"] * len(header), *rows]]
    return "\n".join(lines)


def header_of(join):
    """The columns of an answer."""
    words = {line[0]: line[1:] for line in join["join"]}
    output = words.get("output", [])
    kind = words.get("kind", ["inner"])[0]
    alone = kind.split("_", 1)[1] in ("semi", "anti", "mark", "not_in") if "_" in kind else False
    sides = [kind.split("_")[0]] if alone else ["left", "right"]
    return kind, ([f"{side} #" for side in sides] if "pairs" in words else []) + output


def section(path):
    """One file: its tables side by side with each join's answer below."""
    comment, tables, joins = read(path)
    parts = [f"## {path.stem.replace('_', ' ')}", textwrap.fill(comment, WIDTH)]
    for side in ("left", "right"):
        names, *rows = tables[side]
        numbered = [[str(number), *row] for number, row in enumerate(rows)]
        parts.append(f"`{side}`\n\n" + table(["#", *names], numbered))
    for join in joins:
        kind, header = header_of(join)
        keys = " and ".join(f"{left} = {right}" for word, left, right in on(join))
        title = f"`{kind}`" + (f" on {keys}" if keys else "")
        answer = table(header, join["expect"]) if join["expect"] else "no row"
        parts.append(f"{title}\n\n{answer}")
    return "\n\n".join(parts)


def on(join):
    return [line for line in join["join"] if line[0] == "on"]


def main():
    files = sorted(CASES.glob("*.txt"), key=lambda path: (not path.stem.startswith("kinds"), path))
    text = "\n".join([HEAD, *(section(path) + "\n" for path in files)])
    if "--check" in sys.argv[1:]:
        if not DOCUMENT.exists() or DOCUMENT.read_text() != text:
            sys.exit("docs/semantics.md is not what scripts/semantics.py writes")
        return
    DOCUMENT.write_text(text)


if __name__ == "__main__":
    main()
