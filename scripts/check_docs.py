#!/usr/bin/env python3
"""Holds the documents against the code. Prints what does not fit; exits 1 if anything does not.

README.md         its C example is the one of tests/abi/example_join.c
docs/papers.md    names every file of kernels/
docs/decisions/   numbered 0001, 0002 ... without gaps, each with its number and name in its title and
                  listed in the folder's README.md; "decision 7" anywhere names a page that is there
README.md, ARCHITECTURE.md, docs/papers.md, docs/performance.md, docs/decisions/
                  every file and folder of the project that they name exists; so does every link
every *.md        prose has lines of 100 columns at most. Not counted: tables, code, URLs and the
                  targets of links, and what scripts/results.py writes
"""

import re
import subprocess
import sys
from pathlib import Path

EXAMPLE = "tests/abi/example_join.c"
PAPERS = "docs/papers.md"
DECISIONS = "docs/decisions"
INDEX = f"{DECISIONS}/README.md"
CHECKED = ["README.md", "ARCHITECTURE.md", PAPERS, "docs/performance.md"]
MOST_COLUMNS = 100

EXCERPT = re.compile(r"/\* example-begin \*/\n(.*?)/\* example-end \*/", re.DOTALL)
C_BLOCK = re.compile(r"^```c\n(.*?)^```$", re.DOTALL | re.MULTILINE)
TOP_FOLDERS = "bench|bindings|cmake|docs|include|kernels|pkgconfig|scripts|src|tests"
NAMED = re.compile(rf"`((?:{TOP_FOLDERS})/[\w./-]*)`")  # patterns and placeholders are left out
LINK = re.compile(r"\]\((?!https?:)([^)#\s]+)(?:#[^)]*)?\)")
CITED = re.compile(r"\b[Dd]ecisions?\s+(\d+)(?:(?:,|\s+and)\s+(\d+))*")
TARGET = re.compile(r"(?<=\])\([^)\s]*\)|https?://\S+")
MADE = "docs/results.md"
MADE_PARTS = re.compile(r"<!-- (cells|cpu)-begin -->.*?<!-- \1-end -->", re.DOTALL)


def tracked(*patterns):
    listed = subprocess.run(["git", "ls-files", *patterns], capture_output=True, text=True, check=True)
    return [path for path in listed.stdout.splitlines() if Path(path).exists()]


def check_example():
    excerpt = EXCERPT.search(Path(EXAMPLE).read_text())
    if excerpt is None:
        yield f"{EXAMPLE}: has no part between its two marks"
    elif excerpt.group(1) not in C_BLOCK.findall(Path("README.md").read_text()):
        yield f"README.md: no C block is the part of {EXAMPLE} between its marks"


def check_papers():
    named = set(NAMED.findall(Path(PAPERS).read_text()))
    for path in tracked("kernels"):
        if path not in named:
            yield f"{PAPERS}: does not name {path}"


def line_of(text, match):
    return text.count("\n", 0, match.start()) + 1


def check_names(document):
    text = Path(document).read_text()
    for pattern, base in ((NAMED, Path()), (LINK, Path(document).parent)):
        for match in pattern.finditer(text):
            if not (base / match.group(1)).exists():
                yield f"{document}:{line_of(text, match)}: there is no {match.group(1)}"


def pages():
    return sorted(path for path in Path(DECISIONS).glob("*.md") if path != Path(INDEX))


def check_decisions():
    index = Path(INDEX).read_text()
    for number, path in enumerate(pages(), 1):
        if not re.fullmatch(rf"{number:04}-[a-z0-9-]+\.md", path.name):
            yield f"{path}: number {number:04} is expected here"
        elif not path.read_text().startswith(f"# {number}. "):
            yield f"{path}: the title is '# {number}. ...'"
        if f"[{number}]({path.name})" not in index:
            yield f"{INDEX}: does not list {path.name}"
    if not pages():
        yield f"{DECISIONS}: there are none"


def check_citations():
    last = len(pages())
    for path in tracked("*.md", "*.py", "*.h", "*.hpp", "*.cuh", "*.c", "*.cpp", "*.cu"):
        text = Path(path).read_text()
        for match in CITED.finditer(text):
            for number in re.findall(r"\d+", match.group()):
                if not 1 <= int(number) <= last:
                    yield f"{path}:{line_of(text, match)}: there is no decision {number}"


def check_columns(document):
    text = Path(document).read_text()
    text = MADE_PARTS.sub(lambda part: "\n" * part.group().count("\n"), text)
    is_code = False
    for number, line in enumerate(text.splitlines(), 1):
        if line.lstrip().startswith("```"):
            is_code = not is_code
        elif not is_code and not line.startswith(("|", "    ")):
            columns = len(TARGET.sub("", line))
            if columns > MOST_COLUMNS:
                yield f"{document}:{number}: {columns} columns of prose, {MOST_COLUMNS} at most"


def main():
    found = [*check_example(), *check_papers(), *check_decisions(), *check_citations()]
    for document in [*CHECKED, INDEX, *pages()]:
        found += check_names(document)
    for document in tracked("*.md"):
        if document != MADE:
            found += check_columns(document)
    print("\n".join(found), end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
