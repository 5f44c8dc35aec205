"""Conditions of tests/cases, read: see the README there."""

import re

from gpujoin._condition import Condition, Names, apply, constant

OPERATORS = {
    **{"=": "equal", "<>": "not_equal", "<": "less", "<=": "less_equal"},
    **{">": "greater", ">=": "greater_equal", "abs": "absolute"},
    **{"+": "add", "-": "subtract", "*": "multiply", "/": "divide", "//": "quotient"},
    "%": "modulo",
}
# A bracket, or a word, which may have the brackets of a type in it: "1.5:decimal64(3,2)".
TOKEN = re.compile(r"[()]|[^\s()]+(?:\([^)\s]*\))?")


def condition_of(text, schemas, array_of):
    """schemas   of both sides, whose columns are called "left.a"
    array_of  makes an array of words and the name of a type
    """
    names = Names(schemas["left"], schemas["right"])
    tokens = iter(TOKEN.findall(text))

    def expression(token):
        if token.startswith(("left.", "right.")):
            return names.alone(token)
        if token != "(":
            word, _, kind = token.rpartition(":")
            return constant(array_of([word], kind))
        name = next(tokens)
        if name == "in":
            value = expression(next(tokens))
            kind, *listed = iter(lambda: next(tokens), ")")
            return apply("in", value, values=array_of(listed, kind))
        arguments = [expression(token) for token in iter(lambda: next(tokens), ")")]
        return apply(OPERATORS.get(name, name), *arguments)

    nodes = expression(next(tokens))
    assert next(tokens, None) is None, text
    return Condition(nodes)
