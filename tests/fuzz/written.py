"""Cases of files, in text or JSON."""

from __future__ import annotations

from pathlib import Path

from .json_case import WrittenJoin, read_json
from .text_case import read_cases


def read_joins(path: Path) -> list[WrittenJoin]:
    """Errors: ValueError."""
    return [read_json(path.read_text())] if path.suffix == ".json" else read_cases(path)
