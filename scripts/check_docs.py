#!/usr/bin/env python3
"""Holds the documents against the code. Prints what does not fit; exits 1 if anything does not.

README.md         its C example is the one of tests/abi/example_join.c
docs/papers.md    names every file of kernels/
docs/decisions/   numbered 0001, 0002 ... without gaps, each with its number and name in its title
README.md, ARCHITECTURE.md, docs/papers.md
                  every file and folder of the project that they name exists; so does every link
"""

import re
import subprocess
import sys
from pathlib import Path

EXAMPLE = "tests/abi/example_join.c"
PAPERS = "docs/papers.md"
DECISIONS = "docs/decisions"
CHECKED = ["README.md", "ARCHITECTURE.md", PAPERS]

EXCERPT = re.compile(r"/\* example-begin \*/\n(.*?)/\* example-end \*/", re.DOTALL)
C_BLOCK = re.compile(r"^```c\n(.*?)^```$", re.DOTALL | re.MULTILINE)
TOP_FOLDERS = "bench|bindings|cmake|docs|include|kernels|pkgconfig|scripts|src|tests"
NAMED = re.compile(rf"`((?:{TOP_FOLDERS})/[\w./-]*)`")  # patterns and placeholders are left out
LINK = re.compile(r"\]\((?!https?:)([^)#\s]+)(?:#[^)]*)?\)")


def check_example():
    excerpt = EXCERPT.search(Path(EXAMPLE).read_text())
    if excerpt is None:
        yield f"{EXAMPLE}: has no part between its two marks"
    elif excerpt.group(1) not in C_BLOCK.findall(Path("README.md").read_text()):
        yield f"README.md: no C block is the part of {EXAMPLE} between its marks"


def check_papers():
    tracked = subprocess.run(["git", "ls-files", "kernels"], capture_output=True, text=True, check=True)
    named = set(NAMED.findall(Path(PAPERS).read_text()))
    for path in tracked.stdout.splitlines():
        if Path(path).exists() and path not in named:
            yield f"{PAPERS}: does not name {path}"


def check_names(document):
    text = Path(document).read_text()
    for pattern, base in ((NAMED, Path()), (LINK, Path(document).parent)):
        for match in pattern.finditer(text):
            if not (base / match.group(1)).exists():
                line = text.count("\n", 0, match.start()) + 1
                yield f"{document}:{line}: there is no {match.group(1)}"


def check_decisions():
    files = sorted(Path(DECISIONS).glob("*.md"))
    for number, path in enumerate(files, 1):
        if not re.fullmatch(rf"{number:04}-[a-z0-9-]+\.md", path.name):
            yield f"{path}: number {number:04} is expected here"
        elif not path.read_text().startswith(f"# {number}. "):
            yield f"{path}: the title is '# {number}. ...'"
    if not files:
        yield f"{DECISIONS}: there are none"


def main():
    found = [*check_example(), *check_papers(), *check_decisions()]
    for document in CHECKED:
        found += check_names(document)
    print("\n".join(found), end="\n" if found else "")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
