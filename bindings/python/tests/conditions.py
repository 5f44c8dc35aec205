"""What the nodes of a condition answer for two rows, in plain Python; and conditions at random."""

import operator
from decimal import Decimal


class NoValue(ArithmeticError):
    """A division by zero."""


def _kleene(values, decides):
    """AND where False decides, OR where True does."""
    if decides in values:
        return decides
    return None if None in values else not decides


def _case(arguments):
    branches = list(zip(arguments[::2], arguments[1::2]))
    otherwise = arguments[-1] if len(arguments) % 2 else None
    return next((then for when, then in branches if when is True), otherwise)


def _quotient(a, b):
    if b == 0:
        raise NoValue
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def _number(value):
    """Floats and decimals as one kind of number."""
    return float(value) if isinstance(value, Decimal) else value


_NULL_IF_ONE_IS = {
    "equal": operator.eq,
    "not_equal": operator.ne,
    "less": operator.lt,
    "less_equal": operator.le,
    "greater": operator.gt,
    "greater_equal": operator.ge,
    "starts_with": lambda a, b: a.startswith(b),
    "add": operator.add,
    "subtract": operator.sub,
    "multiply": operator.mul,
    "divide": lambda a, b: float(a) / float(b) if b else _quotient(1, 0),
    "quotient": _quotient,
    "modulo": lambda a, b: a - b * _quotient(a, b),
    "negate": operator.neg,
    "absolute": abs,
}


def _apply(name, values, listed):
    if name in _NULL_IF_ONE_IS:
        return None if None in values else _NULL_IF_ONE_IS[name](*values)
    if name in ("and", "or"):
        return _kleene(values, name == "or")
    if name == "not":
        return None if values[0] is None else not values[0]
    if name == "between":
        x, least, most = values
        parts = [_apply("less_equal", pair, None) for pair in ((least, x), (x, most))]
        return _kleene(parts, False)
    if name == "in":
        return _kleene([_apply("equal", (values[0], each), None) for each in listed], True)
    if name == "coalesce":
        return next((value for value in values if value is not None), None)
    tests = {
        "is_null": lambda: values[0] is None,
        "is_not_null": lambda: values[0] is not None,
        "is_true": lambda: values[0] is True,
        "is_false": lambda: values[0] is False,
        "distinct": lambda: values[0] != values[1],
        "not_distinct": lambda: values[0] == values[1],
        "case": lambda: _case(values),
    }
    return tests[name]()


def evaluate(nodes, rows):
    """The answer of nodes in postfix order.

    rows  of each side the values of its columns
    """
    stack = []
    for node in nodes:
        if node.operator == "column":
            stack.append(_number(rows[node.side][node.column]))
        elif node.operator == "constant":
            stack.append(_number(node.values[0].as_py()))
        else:
            first = len(stack) - node.count
            listed = None if node.values is None else map(_number, node.values.to_pylist())
            stack[first:] = [_apply(node.operator, stack[first:], listed)]
    (answer,) = stack
    return answer


# How tightly SQL's operators bind; expressions of conditions at random have brackets where they
# are needed, and at times elsewhere.
_OR, _AND, _NOT, _IS, _COMPARISON, _RANGE, _SUM, _PRODUCT, _VALUE = range(9)


class Drawn:
    """Conditions as SQL. Columns: numbers, texts, truths and dates of each side."""

    def __init__(self, pick, columns):
        self._pick = pick
        self._columns = columns

    def condition(self, depth):
        return self._truth(depth)[0]

    def _in(self, level, drawn):
        """With brackets, where an operator binds more tightly than what it stands beside."""
        text, of = drawn
        return f"({text})" if of < level or self._pick.random() < 0.1 else text

    def _truth(self, depth):
        pick = self._pick
        if depth == 0:
            return pick.choice([*self._columns["truth"], "true", "false", "null"]), _VALUE
        make = pick.choice(
            [self._and_or, self._and_or, self._not, self._compare, self._compare, self._compare]
            + [self._is, self._is_distinct, self._between, self._one_of, self._starts, self._case]
        )
        return make(depth - 1)

    def _and_or(self, depth):
        word, of = self._pick.choice([("AND", _AND), ("or", _OR)])
        parts = [self._in(of + 1, self._truth(depth)) for _ in range(self._pick.choice([2, 2, 3]))]
        return f" {word} ".join(parts), of

    def _not(self, depth):
        return f"not {self._in(_NOT, self._truth(depth))}", _NOT

    def _compare(self, depth):
        sign = self._pick.choice(["=", "<>", "!=", "<", "<=", ">", ">="])
        one, other = (self._in(_RANGE, each) for each in self._two(depth))
        return f"{one} {sign} {other}", _COMPARISON

    def _two(self, depth):
        """Two values of one type."""
        kind = self._pick.choice(["number", "number", "text", "date", "truth"])
        return [self._value(kind, depth) for _ in range(2)]

    def _is(self, depth):
        word = self._pick.choice(["", "not "])
        if self._pick.random() < 0.5:
            what = self._pick.choice(["true", "FALSE"])
            return f"{self._in(_IS, self._truth(depth))} is {word}{what}", _IS
        kind = self._pick.choice(["number", "text", "truth"])
        return f"{self._in(_IS, self._value(kind, depth))} is {word}null", _IS

    def _is_distinct(self, depth):
        one, other = (self._in(_COMPARISON, each) for each in self._two(depth))
        return f"{one} is {self._pick.choice(['', 'not '])}distinct from {other}", _IS

    def _between(self, depth):
        kind = self._pick.choice(["number", "text", "date"])
        x, least, most = (self._in(_SUM, self._value(kind, depth)) for _ in range(3))
        return f"{x} {self._pick.choice(['', 'not '])}between {least} and {most}", _RANGE

    def _one_of(self, depth):
        kind = self._pick.choice(["number", "text", "date"])
        x = self._in(_SUM, self._value(kind, depth))
        items = [self._value(kind, self._pick.choice([0, 0, 1]))[0] for _ in range(3)]
        items += ["null"] * (self._pick.random() < 0.2)
        return f"{x} {self._pick.choice(['', 'not '])}in ({', '.join(items)})", _RANGE

    def _starts(self, depth):
        x = self._in(_SUM, self._value("text", 0))
        if self._pick.random() < 0.5:
            return f"starts_with({x}, {self._value('text', 0)[0]})", _VALUE
        word = self._pick.choice(["like 'b'", "like 'b%'", "not like 'b%'"])
        return f"{x} {word}", _RANGE

    def _case(self, depth):
        return self._case_of("truth", depth)

    def _case_of(self, kind, depth):
        if self._pick.random() < 0.3:
            return f"coalesce({', '.join(self._value(kind, depth)[0] for _ in range(2))})", _VALUE
        if self._pick.random() < 0.5:
            branches = [(self._truth(depth)[0], self._value(kind, depth)[0]) for _ in range(2)]
            start = "case"
        else:
            branches = [(self._value("text", 0)[0], self._value(kind, depth)[0]) for _ in range(2)]
            start = f"case {self._value('text', 0)[0]}"
        text = start + "".join(f" when {when} then {then}" for when, then in branches)
        if self._pick.random() < 0.7:
            text += f" else {self._value(kind, depth)[0]}"
        return text + " end", _VALUE

    def _value(self, kind, depth):
        pick = self._pick
        if kind == "truth":
            return self._truth(min(depth, 1))
        if depth and kind == "number" and pick.random() < 0.6:
            if pick.random() < 0.2:
                return f"abs({self._value(kind, depth - 1)[0]})", _VALUE
            if pick.random() < 0.2:
                return f"- {self._in(_VALUE, self._value(kind, depth - 1))}", _PRODUCT + 1
            sign, of = pick.choice([("+", _SUM), ("-", _SUM), ("*", _PRODUCT)])
            one = self._in(of, self._value(kind, depth - 1))
            return f"{one} {sign} {self._in(of + 1, self._value(kind, depth - 1))}", of
        if depth and pick.random() < 0.3:
            return self._case_of(kind, depth - 1)
        return pick.choice(self._columns[kind]), _VALUE
