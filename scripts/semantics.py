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
sys.path.append(str(ROOT / "tests"))
from case_file import read_case  # noqa: E402: where it lies is known only now

CASES = ROOT / "tests" / "cases"
DOCUMENT = ROOT / "docs" / "semantics.md"

GROUPS = {
    "Kinds": """kinds_one_key kinds_two_keys kinds_single kinds_cross kinds_no_nulls
        kinds_nulls_left kinds_nulls_right kinds_empty_left kinds_empty_right""",
    "NULLs in keys": """null_keys only_null_keys three_keys_nulls keys_null_equal
        keys_null_equal_two keys_null_columns""",
    "Keys that are numbers": """keys_small_integers keys_mixed_integers keys_signed_unsigned_64
        unsigned_keys negative_keys eight_byte_keys extreme_keys keys_decimals
        keys_decimals_of_all_widths keys_floats keys_ieee keys_bool""",
    "Keys that are text or bytes": """keys_text keys_text_of_nothing keys_binary
        keys_binary_of_a_width keys_of_16_bytes""",
    "Keys that are dates or times": """dates timestamps keys_dates_with_timestamps keys_times
        keys_time_units""",
    "The next row in order": "asof_ticks asof_without_keys asof_floats asof_units",
    "Aggregates": """aggregates_of_all_rows aggregates_of_groups aggregates_of_nothing
        aggregates_of_types""",
    "Several keys": "two_keys five_keys keys_sixteen",
    "Conditions": """conditions_comparisons conditions_truth conditions_nulls conditions_choices
        conditions_numbers conditions_decimals conditions_floats conditions_text
        conditions_dates conditions_no_value conditions_kinds conditions_marks
        conditions_marks_decimals conditions_without_keys""",
    "Rows": """inner_unique duplicates_both_sides all_keys_equal no_match empty_left empty_right
        empty_both""",
    "Some of the rows, and promises": "selected_rows promises",
    "Output columns": """payload_types payload_types_wide payload_widths null_payloads
        repeated_columns pairs_only""",
    "Order": "order",
}
OTHERS = "Others"

HEAD = """# What a join answers

Written by `scripts/semantics.py` from `tests/cases`, whose joins run in C and in Python, on the CPU
and, where there is one, on a GPU, by every algorithm and with either side as the build side. In
Python text also comes as views and as dictionaries, and integers as dictionaries and as runs. The
order of rows is not specified, unless a join names one: then it is that of the table.

## Which rows come out

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
- With `asof` a left row matches one right row at most, of those with equal keys, or of all where
  there are no keys: the one next to it in a column of either side whose values have an order.
  `backward`: the last one at or before it, of several at the same place the last row. `forward`:
  the first one at or after it, of several the first row. `nearest`: the nearer of both, `backward`
  where they are equally near. `strict`: not at the same place. `within`: no farther away. A row
  with NULL or NaN there has no match. The kinds are inner, left, right, full, left_single, and semi
  and anti of either side, by this match.

## Aggregates

- In the place of rows, over the rows that would come out: all of them are one group, which is there
  where there is no row too, or those of each row of a side (`by`), whose columns come first.
- Of an inner join a row of that side without a match is no group; of an outer join of that side it
  is one: its own row counts, `exists` is false, and the other side's columns are NULL.
- `count`: rows; of a column, values that are not NULL. The others leave NULLs out too, and are NULL
  where nothing is left.
- `sum` is exact: INT64 of integers, UINT64 of unsigned ones, decimals of 38 digits and the column's
  scale, FLOAT64 of floats. A total that the type does not hold is an error; what is added before it
  may be larger. `avg` is a FLOAT64: of integers and decimals the exact quotient, rounded once.
- `min`, `max`: of the column's type. Text and binary values by their bytes, false before true, NaN
  above all else. `any`: one of the values, of any type.

## When keys are equal

Values are compared, not types; no value is rounded, and what the other side's type cannot hold
matches nothing there. There are 1 to 16 keys, each of its own types and options. Types of different
lines below do not compare (`GPUJOIN_ERROR_TYPE`).

- Integers of any width and sign, and decimals of any width and scale, a negative one too: by value,
  with each other.
- Floats of any width: by value; -0.0 equals 0.0, and NaN equals NaN. A key with `ieee`
  (`GPUJOIN_KEY_IEEE_FLOAT`): NaN equals nothing. That is false, not unknown.
- Truth values: with each other.
- Text: byte by byte, whether its offsets have 32 or 64 bits or it lies in views. There is no
  collation: upper case, accents and blanks make a difference. An empty text is not NULL.
- Binary values: the same, with or without a width.
- Dates and timestamps without a zone, of any units: as moments, a date as the midnight that its day
  begins with.
- Timestamps with a zone: as instants, whatever their zones and units; not with those without one.
- Times of the day, of any units; durations, of any units.
- Intervals: with their own type, all parts equal.
- Dictionaries and runs: as their values.
- Columns of type null: with every type; all their rows are NULL.

An order have integers and decimals, floats, dates and timestamps, times, durations, of any widths,
signs, scales and units, as they compare with each other.

A key with `null_equal` (`GPUJOIN_KEY_NULL_EQUAL`, IS NOT DISTINCT FROM): NULL equals NULL and
differs from everything else; no comparison is unknown.

## What a condition answers

With a condition (`residual`) rows match when their keys are equal and it is true; rows of which it
is false or NULL are without that match, and come out of outer and anti joins. A mark is true if
keys equal AND condition is true for some row, else NULL if that is NULL for some, else false.

- Operators answer NULL where an argument is NULL, but for `distinct`, `not_distinct` and the tests
  (`is_null` ...), which never do; AND, OR, NOT are three-valued.
- Values are compared as keys are, whatever the types, and integers and decimals with floats as
  FLOAT64; text and binary from the first byte on; false before true.
- Integers are calculated in the wider type of both, decimals in 38 digits, floats as FLOAT64; `/`
  is of FLOAT64, `//` of integers towards zero, and `%` has the sign of its first argument. Dates
  and timestamps move by integers (days, units), and the difference of two is one.
- What a type does not hold, and a division by zero, is no value. False AND no value is false, true
  OR no value is true, a CASE looks at the branch that it takes. Where an answer depends on it the
  join ends with `GPUJOIN_ERROR_EVALUATION`.

In the tables `#` is a row number, and `""` an empty text.
"""


def read(path):
    """A comment, the two tables, and of each join its lines and its rows."""
    comments = [line[1:].strip() for line in path.read_text().splitlines() if line.startswith("#")]
    left, right, joins = read_case(path)
    return (
        " ".join(comments),
        {"left": left, "right": right},
        [{"join": join, "expect": expect} for join, expect in joins],
    )


def table(header, rows):
    """A table in Markdown."""
    lines = [header, ["---"] * len(header), *rows]
    return "\n".join("| " + " | ".join(cells) + " |" for cells in lines)


def header_of(join):
    """The columns of an answer."""
    words = {line[0]: line[1:] for line in join["join"]}
    output = words.get("output", []) + words.get("aggregates", [])
    by = words.get("by")
    kind = words.get("kind", ["inner"])[0]
    alone = kind.split("_", 1)[1] in ("semi", "anti", "mark", "not_in") if "_" in kind else False
    sides = [kind.split("_")[0]] if alone else ["left", "right"]
    sides = by or sides
    return kind, ([f"{side} #" for side in sides] if "pairs" in words else []) + output


def section(path):
    """One file: its tables side by side with each join's answer below."""
    comment, tables, joins = read(path)
    parts = [f"### {path.stem.replace('_', ' ')}", textwrap.fill(comment, WIDTH)]
    for side in ("left", "right"):
        names, *rows = tables[side]
        numbered = [[str(number), *row] for number, row in enumerate(rows)]
        parts.append(f"`{side}`\n\n" + table(["#", *names], numbered))
    for join in joins:
        kind, header = header_of(join)
        keys = " and ".join(
            " ".join([left, "=", right, *(f"`{option}`" for option in options)])
            for _, left, right, *options in on(join)
        )
        by = next((f", a group for each {side} row" for side in said(join, "by")), "")
        title = f"`{kind}`" + (f" on {keys}" if keys else "") + asof_of(join) + by
        title = textwrap.fill(title, WIDTH)
        title += "".join(f"\\\nresidual `{text}`" for text in said(join, "residual"))
        title += "".join(f"\\\norder `{side}`" for side in said(join, "order"))
        for word in ("left_rows", "left_bits", "right_rows", "right_bits", "promise"):
            title += "".join(f"\\\n{word} `{text}`" for text in said(join, word))
        answer = table(header, join["expect"]) if join["expect"] else "no row"
        answer = "".join(f"GPUJOIN_ERROR_{e.upper()}" for e in said(join, "error")) or answer
        parts.append(f"{title}\n\n{answer}")
    return "\n\n".join(parts)


def said(join, word):
    """What stands behind a word, where it stands."""
    return [" ".join(line[1:]) for line in join["join"] if line[0] == word]


def asof_of(join):
    """What an ASOF join says besides."""
    for word, *words in join["join"]:
        if word == "asof":
            left, right, *options = words
            return f", asof {left}, {right} `{' '.join(options)}`"
    return ""


def on(join):
    return [line for line in join["join"] if line[0] == "on"]


def document():
    """All of it. Files that no group names come last."""
    files = {path.stem: path for path in sorted(CASES.glob("*.txt"))}
    parts = [HEAD]
    groups = {title: stems.split() for title, stems in GROUPS.items()}
    named = [stem for stems in groups.values() for stem in stems]
    groups[OTHERS] = [stem for stem in files if stem not in named]
    for title, stems in groups.items():
        if stems:
            parts.append(f"## {title}\n")
        parts += (section(files[stem]) + "\n" for stem in stems)
    return "\n".join(parts)


def main():
    text = document()
    if "--check" in sys.argv[1:]:
        if not DOCUMENT.exists() or DOCUMENT.read_text() != text:
            sys.exit("docs/semantics.md is not what scripts/semantics.py writes")
        return
    DOCUMENT.write_text(text)


if __name__ == "__main__":
    main()
