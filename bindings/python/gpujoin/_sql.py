"""Conditions written in SQL: a parser by precedence, straight to nodes in postfix order."""

from __future__ import annotations

from typing import Callable, NoReturn

import pyarrow as pa

from . import _sql_words as words
from ._condition import Names, Nodes, any_of, apply, constant, is_constant, is_in
from ._sql_words import RESERVED, Token, tokens_of, unquoted
from .errors import GpujoinError, InvalidArgument, Unsupported

_MOST_DEPTH = 100  # brackets in brackets: each is several calls of Python's stack

# How tightly operators bind, as PostgreSQL has it.
_OR, _AND, _NOT, _IS, _COMPARISON, _RANGE, _SUM, _PRODUCT, _SIGN = range(1, 10)
_COMPARISONS = {
    **{"=": "equal", "==": "equal", "<>": "not_equal", "!=": "not_equal"},
    **{"<": "less", "<=": "less_equal", ">": "greater", ">=": "greater_equal"},
}
_ARITHMETIC = {
    **{"+": ("add", _SUM), "-": ("subtract", _SUM)},
    **{"*": ("multiply", _PRODUCT), "/": ("divide", _PRODUCT)},
    **{"//": ("quotient", _PRODUCT), "%": ("modulo", _PRODUCT)},
}
# name: operator, least and most arguments
_FUNCTIONS = {
    "starts_with": ("starts_with", 2, 2),
    "coalesce": ("coalesce", 1, None),
    "abs": ("absolute", 1, 1),
}
_TYPED: dict[str, Callable[[str], pa.Array]] = {
    "date": words.date,
    "time": words.time,
    "timestamp": words.timestamp,
}
_WITHOUT = {
    "||": "text is not put together in a condition",
    "::": "there are no casts: values of different types are compared by value",
    "cast": "there are no casts: values of different types are compared by value",
    "interval": "there are no intervals: write the date or timestamp itself, or add days",
    "ilike": "ILIKE: text is compared by its bytes",
    "similar": "SIMILAR TO: only LIKE with a % at the end",
    "exists": "there are no subqueries: join with how='semi'",
    "select": "there are no subqueries: join with how='semi' or 'single'",
}


def nodes_of_text(source: str, names: Names) -> Nodes:
    """Errors: InvalidArgument, Unsupported, with the place in the text."""
    parser = _Parser(source, names)
    nodes = parser.expression(_OR)
    parser.expect_end()
    return nodes


class _Parser:
    def __init__(self, source: str, names: Names) -> None:
        self._source = source
        self._names = names
        self._tokens = tokens_of(source)
        self._place = 0
        self._depth = 0

    # Words.

    @property
    def _next(self) -> Token:
        return self._tokens[self._place]

    def _take(self) -> Token:
        token = self._next
        self._place += token.kind != "end"
        return token

    def _take_if(self, *wanted: str) -> bool:
        """Takes these words, if they all come next."""
        ahead = self._tokens[self._place : self._place + len(wanted)]
        if [token.word for token in ahead] != list(wanted):
            return False
        self._place += len(wanted)
        return True

    def _expect(self, wanted: str) -> None:
        if not self._take_if(wanted):
            self._fail(self._next, f"{wanted.upper()} should stand here")

    def expect_end(self) -> None:
        if self._next.kind != "end":
            self._unexpected(self._next)

    def _text_from(self, start: int) -> str:
        """What has been read since a token's number."""
        last = max(self._place - 1, start)
        return self._source[self._tokens[start].start : self._tokens[last].end]

    def _fail(
        self, token: Token, reason: str, error: type[GpujoinError] = InvalidArgument
    ) -> NoReturn:
        raise error(words.at_place(self._source, token.start, reason))

    def _unexpected(self, token: Token) -> NoReturn:
        if token.word in _WITHOUT:
            self._fail(token, _WITHOUT[token.word], Unsupported)
        if token.kind == "end":
            self._fail(token, "a value is missing")
        self._fail(token, f"{token.text!r} cannot stand here")

    def _of(self, token: Token, make: Callable[..., Nodes], *arguments: object) -> Nodes:
        """What make() gives, with the place of the token in its errors."""
        try:
            return make(*arguments)
        except (InvalidArgument, Unsupported) as error:
            self._fail(token, str(error), type(error))

    # Expressions.

    def expression(self, level: int) -> Nodes:
        """An expression of operators that bind as tightly as `level`, or more."""
        self._depth += 1
        if self._depth > _MOST_DEPTH:
            self._fail(self._next, f"more than {_MOST_DEPTH} brackets in one another", Unsupported)
        start = self._place
        nodes = self._prefix(level)
        most = _SIGN  # comparisons do not stand in a row: a < b < c
        while True:
            found = self._after(nodes, level, most, start)
            if found is None:
                self._depth -= 1
                return nodes
            nodes, most = found

    def _after(
        self, nodes: Nodes, level: int, most: int, start: int
    ) -> tuple[Nodes, int] | None:
        """An operator behind an expression, of those between two levels; and how tightly one after
        it may bind."""
        token = self._next
        word = token.word
        if word in ("and", "or"):
            of = _AND if word == "and" else _OR
            if level > of:
                return None
            arguments = [nodes]
            while self._take_if(word):
                arguments.append(self.expression(of + 1))
            return self._apply(word, start, *arguments), of
        if word in _ARITHMETIC:
            operator, of = _ARITHMETIC[word]
            if level > of:
                return None
            self._take()
            return self._apply(operator, start, nodes, self.expression(of + 1)), of
        if word in _COMPARISONS:
            if level <= _COMPARISON and most <= _COMPARISON:
                self._fail(token, "comparisons do not stand in a row: put AND between them")
            if level > _COMPARISON:
                return None
            self._take()
            right = self.expression(_COMPARISON + 1)
            return self._apply(_COMPARISONS[word], start, nodes, right), _COMPARISON
        if word == "is":
            if level > _IS:
                return None
            self._take()
            return self._is(nodes, start), _IS
        is_not = word == "not"
        what = self._tokens[self._place + 1].word if is_not else word
        if what in ("between", "in", "like") and level <= _RANGE:
            if most <= _RANGE:
                self._fail(token, f"{what.upper()} needs brackets around what stands before it")
            self._place += 2 if is_not else 1
            test = getattr(self, f"_{what}")(nodes, start)
            return (self._apply("not", start, test) if is_not else test), _RANGE
        return None

    def _apply(self, operator: str, start: int, *arguments: Nodes) -> Nodes:
        return apply(operator, *arguments, text=self._text_from(start))

    def _is(self, nodes: Nodes, start: int) -> Nodes:
        """Behind IS."""
        is_not = self._take_if("not")
        if self._take_if("distinct", "from"):
            operator = "not_distinct" if is_not else "distinct"
            return self._apply(operator, start, nodes, self.expression(_IS + 1))
        token = self._take()
        if token.word in ("null", "unknown"):
            return self._apply("is_not_null" if is_not else "is_null", start, nodes)
        if token.word not in ("true", "false"):
            self._fail(token, "behind IS stand [NOT] NULL, TRUE, FALSE or DISTINCT FROM")
        test = self._apply(f"is_{token.word}", start, nodes)
        return self._apply("not", start, test) if is_not else test

    def _between(self, nodes: Nodes, start: int) -> Nodes:
        if self._next.word in ("symmetric", "asymmetric"):
            self._fail(self._next, "BETWEEN SYMMETRIC", Unsupported)
        least = self.expression(_SUM)
        self._expect("and")
        return self._apply("between", start, nodes, least, self.expression(_SUM))

    def _in(self, nodes: Nodes, start: int) -> Nodes:
        token = self._next
        self._expect("(")
        items = self._list()
        text = self._text_from(start)
        constants = [item[0].values for item in items if is_constant(item)]
        tests = [self._of(token, is_in, nodes, constants, text)] if constants else []
        tests += [apply("equal", nodes, i, text=text) for i in items if not is_constant(i)]
        return any_of(*tests, text=text)

    def _like(self, nodes: Nodes, start: int) -> Nodes:
        token = self._take()
        if token.kind != "text":
            self._fail(token, "LIKE: the pattern must be a text in quotes", Unsupported)
        escape = None
        if self._take_if("escape"):
            escape = unquoted(self._take())
            if len(escape) != 1:
                self._fail(token, "ESCAPE: one character in quotes")
        prefix, goes_on = self._of(token, words.like_prefix, unquoted(token), escape)
        operator = "starts_with" if goes_on else "equal"
        return self._apply(operator, start, nodes, constant(pa.array([prefix], pa.string())))

    def _list(self) -> list[Nodes]:
        """Expressions between commas, up to a closing bracket."""
        items = [self.expression(_OR)]
        while self._take_if(","):
            items.append(self.expression(_OR))
        self._expect(")")
        return items

    # What stands before operators.

    def _prefix(self, level: int) -> Nodes:
        start = self._place
        token = self._take()
        if token.word == "not":
            if level > _NOT:
                self._fail(token, "NOT needs brackets here")
            return self._apply("not", start, self.expression(_NOT))
        if token.word in ("-", "+"):
            if self._next.kind == "number":
                number = self._take()
                return self._number(number, token.word == "-", start)
            nodes = self.expression(_SIGN)
            return self._apply("negate", start, nodes) if token.word == "-" else nodes
        if token.word == "(":
            nodes = self.expression(_OR)
            if self._next.word == ",":
                self._fail(self._next, "rows are not compared: write a = x AND b = y", Unsupported)
            self._expect(")")
            return nodes
        if token.word == "case":
            return self._case(start)
        return self._value(token, start)

    def _number(self, token: Token, negative: bool, start: int) -> Nodes:
        value = self._of(token, words.number, token.text, negative)
        return constant(value, self._text_from(start))

    def _value(self, token: Token, start: int) -> Nodes:
        """A literal, a column, or a function of values."""
        if token.kind == "number":
            return self._number(token, False, start)
        if token.kind == "text":
            return constant(pa.array([unquoted(token)], pa.string()), token.text)
        if token.kind == "bytes":
            return constant(self._of(token, words.binary, token.text), token.text)
        if token.word in ("true", "false"):
            return constant(pa.array([token.word == "true"]), token.text)
        if token.word == "null":
            return constant(pa.nulls(1), token.text)
        if token.word in _TYPED and self._next.kind == "text":
            value = self._take()
            array = self._of(value, _TYPED[token.word], unquoted(value))
            return constant(array, self._text_from(start))
        if self._next.word == "(" and token.kind == "word":
            return self._function(token, start)
        is_name = token.kind == "quoted" or (token.kind == "word" and token.word not in RESERVED)
        after = self._next
        is_alone = after.kind != "text" and (after.kind != "word" or after.word in RESERVED)
        if not is_name or (token.word in _WITHOUT and not is_alone):
            self._unexpected(token)
        return self._column(token)

    def _column(self, token: Token) -> Nodes:
        first = unquoted(token) if token.kind == "quoted" else token.text
        if not self._take_if("."):
            return self._of(token, self._names.alone, first)
        side = first.lower()
        if side not in ("left", "right"):
            self._fail(token, f"a column is left.NAME or right.NAME, not {first}.NAME")
        name = self._take()
        if name.kind not in ("word", "quoted"):
            self._fail(name, "the name of a column should stand here")
        written = unquoted(name) if name.kind == "quoted" else name.text
        nodes = self._of(token, self._names.of_side, side, written)
        if self._next.word == ".":
            self._fail(self._next, "fields of nested columns are not compared", Unsupported)
        return nodes

    def _function(self, token: Token, start: int) -> Nodes:
        if token.word not in _FUNCTIONS:
            if token.word in _WITHOUT:
                self._fail(token, _WITHOUT[token.word], Unsupported)
            known = ", ".join(_FUNCTIONS)
            self._fail(token, f"no function is called {token.text}; there are {known}", Unsupported)
        operator, least, most = _FUNCTIONS[token.word]
        self._take()
        if self._next.word == ")":
            self._fail(self._next, f"{token.word} needs a value")
        arguments = self._list()
        if len(arguments) < least or (most is not None and len(arguments) > most):
            count = len(arguments)
            self._fail(token, f"{token.word} has {count} values in its brackets, not {least}")
        return self._apply(operator, start, *arguments)

    def _case(self, start: int) -> Nodes:
        value = None if self._next.word == "when" else self.expression(_OR)
        branches = []
        while self._take_if("when"):
            when_start = self._place
            when = self.expression(_OR)
            if value is not None:
                when = self._apply("equal", when_start, value, when)
            self._expect("then")
            branches += [when, self.expression(_OR)]
        if not branches:
            self._fail(self._next, "WHEN should stand here")
        if self._take_if("else"):
            branches.append(self.expression(_OR))
        self._expect("end")
        return self._apply("case", start, *branches)
