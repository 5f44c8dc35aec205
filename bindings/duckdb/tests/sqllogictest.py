"""Runs a test file of DuckDB's own (sqllogictest) on connections of somebody's making.

What a file asks for that is not here (extensions, other data, threads of its own) is a Skip; an
answer or an error that is not the expected one a Failure. What EXPLAIN shows is not compared.
"""

from __future__ import annotations

import decimal
import hashlib
import itertools
import math
import re

import duckdb

INTEGRAL = ["TINYINT", "SMALLINT", "INTEGER", "BIGINT", "HUGEINT", "UTINYINT", "USMALLINT",
            "UINTEGER", "UBIGINT", "UHUGEINT"]
SETS = {"<integral>": INTEGRAL, "<numeric>": [*INTEGRAL, "FLOAT", "DOUBLE"],
        "<signed>": INTEGRAL[:5], "<unsigned>": INTEGRAL[5:],
        "<alltypes>": [*INTEGRAL, "FLOAT", "DOUBLE", "BOOL", "INTERVAL", "VARCHAR"]}
# Of `require`: what every connection here has.
GIVEN = {"vector_size", "skip_reload", "no_alternative_verify", "parquet", "json", "64bit",
         "notmingw", "noforcestorage", "strinline", "core_functions", "no_vector_verification"}

LOOPS = ("loop", "foreach", "concurrentloop", "concurrentforeach")
# Commands of one line, whatever comes next.
ALONE = (*LOOPS, "endloop", "require", "mode", "load", "restart", "reconnect", "set", "tags", "halt")


class Skip(Exception):
    pass


class Failure(Exception):
    pass


def text_of(value) -> str:
    """As DuckDB writes it."""
    if value is None:
        return "NULL"
    if isinstance(value, bool):
        return str(int(value))
    if isinstance(value, float):
        return str(value)
    if isinstance(value, decimal.Decimal):
        return f"{value:f}"
    if isinstance(value, bytes):
        return "".join(chr(b) if 32 <= b < 127 and b != 92 else f"\\x{b:02X}" for b in value)
    if isinstance(value, list):
        return "[" + ", ".join(map(text_of, value)) + "]"
    if isinstance(value, dict):
        return "{" + ", ".join(f"'{key}': {text_of(of)}" for key, of in value.items()) + "}"
    return str(value).replace("\0", "\\0") or "(empty)"


def is_equal(got: str, expected: str) -> bool:
    if got == expected:
        return True
    for mark, is_match in (("<REGEX>:", True), ("<!REGEX>:", False)):
        if expected.startswith(mark):
            return (re.fullmatch(expected[len(mark):], got, re.S) is not None) == is_match
    if {got, expected.lower()} in ({"1", "true"}, {"0", "false"}):
        return True
    try:
        one, other = float(got), float(expected)
    except ValueError:
        return False
    return one == other or math.isclose(one, other, rel_tol=0.01) or one != one and other != other


class Runner:
    def __init__(self, connect, folder):
        self.connect = connect  # database file -> connection
        self.folder = folder
        self.variables = {"__TEST_DIR__": str(folder), "{TEST_DIR}": str(folder)}
        self.connections = {}
        self.labels = {}
        self.database = ":memory:"
        self.is_skipping = False
        self.checks = 0

    def close(self):
        for connection in reversed(self.connections.values()):
            connection.close()
        self.connections.clear()

    def connection(self, name):
        if not self.connections:
            self.connections["default"] = self.connect(self.database)
        if name not in self.connections:
            self.connections[name] = self.connect(self.connections["default"])
        return self.connections[name]

    def run(self, text: str) -> None:
        blocks, block = [], []
        for line in [*text.splitlines(), ""]:
            if line.startswith("#"):
                continue
            if line == "" or line == "endloop":
                blocks += [block] if block else []
                block = []
            if line != "":
                block.append(line)
            if len(block) == 1 and line.split()[0] in ALONE:
                blocks.append(block)
                block = []
        self.run_blocks(blocks)

    def run_blocks(self, blocks) -> None:
        at = 0
        while at < len(blocks):
            words = self.replaced(blocks[at][0]).split()
            if words[0] in LOOPS:
                end = self.end_of_loop(blocks, at)
                for value in self.values_of(words):
                    self.variables["${" + words[1] + "}"] = self.variables["{" + words[1] + "}"] = value
                    self.run_blocks(blocks[at + 1:end])
                at = end + 1
            else:
                self.run_block(blocks[at])
                at += 1

    @staticmethod
    def end_of_loop(blocks, at):
        depth = 0
        for i in range(at, len(blocks)):
            word = blocks[i][0].split()[0]
            depth += (word in LOOPS) - (word == "endloop")
            if depth == 0:
                return i
        raise Skip("a loop that does not end")

    def values_of(self, words):
        if words[0].startswith("concurrent"):
            raise Skip("threads of its own")
        if words[0] == "loop":
            return map(str, range(int(words[2]), int(words[3])))
        if words[2] == "<all_types_columns>":
            rows = self.connection("default").execute("DESCRIBE FROM test_all_types()").fetchall()
            return [row[0] for row in rows]
        values = list(itertools.chain.from_iterable(SETS.get(word, [word]) for word in words[2:]))
        dropped = {value[1:] for value in values if value.startswith("!")}
        return [value for value in values if value.lstrip("!") not in dropped]

    def replaced(self, line: str) -> str:
        for name, value in self.variables.items():
            line = line.replace(name, value)
        return line

    def run_block(self, block) -> None:
        block = [self.replaced(line) for line in block]
        while block and block[0].split()[0] in ("onlyif", "skipif"):
            words = block[0].split()
            if (words[0] == "onlyif") != (words[1] == "duckdb"):
                return
            block = block[1:]
        words = block[0].split()
        command = words[0]
        if command == "mode":
            self.is_skipping = {"skip": True, "unskip": False}.get(words[1], self.is_skipping)
        elif self.is_skipping or command in ("tags", "hash-threshold"):
            return
        elif command == "set":
            if words[1] == "seed":
                self.connection("default").execute(f"SELECT setseed({words[2]})").fetchall()
        elif command == "require":
            if words[1] not in GIVEN and words[1] != "ram":
                raise Skip("require " + words[1])
        elif command == "load":
            self.close()
            self.database = words[1] if len(words) > 1 else ":memory:"
        elif command in ("restart", "reconnect"):
            self.close()
        elif command == "statement":
            self.run_statement(words, block[1:])
        elif command == "query":
            self.run_query(words, block[1:])
        elif command == "halt":
            raise Skip("halt")
        else:
            raise Skip(command)

    def run_statement(self, words, lines) -> None:
        sql, expected = self.split(lines)
        connection = self.connection(words[2] if len(words) > 2 else "default")
        try:
            connection.execute(sql).fetchall()
            error = None
        except duckdb.Error as failed:
            error = str(failed)
        self.checks += 1
        if words[1] == "ok" and error is not None:
            raise Failure(f"{sql}\n{error}")
        if words[1] == "error":
            if error is None:
                raise Failure(f"{sql}\nno error")
            wanted = " ".join(expected or [])
            if not wanted.startswith("<") and wanted.lower() not in " ".join(error.split()).lower():
                raise Failure(f"{sql}\n{error}\nin place of {wanted}")

    def run_query(self, words, lines) -> None:
        sql, expected = self.split(lines)
        rest = words[2:]
        sort = rest.pop(0) if rest and rest[0] in ("nosort", "rowsort", "valuesort") else "nosort"
        label = rest.pop(0) if rest and not rest[0].startswith("con") else None
        connection = self.connection(rest[0] if rest else "default")
        try:
            answer = connection.execute(sql).fetchall()
        except duckdb.Error as failed:
            raise Failure(f"{sql}\n{failed}") from failed
        self.checks += 1
        if re.match(r"\s*(explain|pragma|describe)", sql, re.I):
            return
        rows = [[text_of(value) for value in row] for row in answer]
        if label is not None:
            kept = self.labels.setdefault(label, sorted(map(tuple, rows)))
            if kept != sorted(map(tuple, rows)):
                raise Failure(f"{sql}\nanother answer than the query before of {label}")
        if expected is not None:
            self.compare(sql, rows, expected, sort, len(words[1]))

    @staticmethod
    def split(lines):
        if "----" not in lines:
            return "\n".join(lines), None
        at = lines.index("----")
        return "\n".join(lines[:at]), lines[at + 1:]

    @staticmethod
    def compare(sql, rows, expected, sort, columns) -> None:
        if len(expected) == 1 and expected[0].startswith("<FILE>"):
            raise Skip("an answer in a file")
        values = [value for row in rows for value in row]
        if len(expected) == 1 and (hashed := re.match(r"(\d+) values hashing to (\w+)",
                                                      expected[0])):
            if sort == "rowsort":
                values = [value for row in sorted(rows) for value in row]
            elif sort == "valuesort":
                values.sort()
            digest = hashlib.md5("".join(value + "\n" for value in values).encode()).hexdigest()
            if (str(len(values)), digest) != hashed.groups():
                raise Failure(f"{sql}\n{len(values)} values hashing to {digest}")
            return
        if len(expected) == len(values) and columns != 1:
            wanted = [expected[i:i + columns] for i in range(0, len(expected), columns)]
        else:
            wanted = [line.split("\t") if columns != 1 else [line] for line in expected]
        got = rows
        if sort == "valuesort":
            got, wanted = [[value] for value in sorted(values)], sorted(
                [value] for row in wanted for value in row)
        for ordered in (False, True):
            one, other = (sorted(got), sorted(wanted)) if ordered or sort == "rowsort" else (
                got, wanted)
            if len(one) == len(other) and all(
                    len(a) == len(b) and all(map(is_equal, a, b)) for a, b in zip(one, other)):
                return
            if sort == "nosort" and re.search(r"\border\s+by\b", sql, re.I):
                break
        raise Failure(f"{sql}\n{got[:20]}\nin place of {wanted[:20]}")
