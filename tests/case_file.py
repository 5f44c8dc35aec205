"""The sections of a file of tests/cases: see the README there."""

from __future__ import annotations

from pathlib import Path

Lines = list[list[str]]  # of words
_SECTIONS = ("left", "right", "join", "expect")


def read_case(path: Path) -> tuple[Lines, Lines, list[tuple[Lines, Lines]]]:
    """The lines of the two tables, and of each join with its answer. Errors: ValueError."""
    sections: list[tuple[str, Lines]] = []
    for line in path.read_text().splitlines():
        words = line.split()
        if not words or words[0].startswith("#"):
            continue
        if len(words) == 1 and words[0] in _SECTIONS:
            sections.append((words[0], []))
        elif sections:
            sections[-1][1].append(words)
        else:
            raise ValueError(f"{path}: a line before the first section: {line}")
    names = [name for name, _ in sections]
    if names != ["left", "right", *["join", "expect"] * (len(names) // 2 - 1)]:
        raise ValueError(f"{path}: sections in another order: {' '.join(names)}")
    left, right, *rest = [lines for _, lines in sections]
    return left, right, list(zip(rest[::2], rest[1::2], strict=True))
