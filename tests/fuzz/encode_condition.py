"""A condition as the C ABI takes it, with relations of its constants."""

from __future__ import annotations

import ctypes
from contextlib import ExitStack

from .case import Table
from .condition import Node
from .encode import Encoded
from .library import Handle, abi
from .way import Encoding


def residual_of(
    residual: Node, context: ctypes.c_void_p, stack: ExitStack
) -> tuple[ctypes.Structure, list[Handle]]:
    """The structure, and the relations that it names, which are closed with the stack at last."""
    nodes = list(residual.postfix())
    array = (abi.Node * len(nodes))()
    relations = []
    for node, given in zip(nodes, array):
        given.struct_size = ctypes.sizeof(abi.Node)
        given.operation = node.number
        given.argument_count = len(node.arguments)
        if node.side:
            given.side = abi.SIDES[node.side]
            given.column = node.column
        if node.values is not None:
            table = Table([node.values], len(node.values.values))
            form = "plain" if table.is_plain else "arrow"
            encoded = stack.enter_context(Encoded(context, table, Encoding(form)))
            relations.append(encoded.relation)
            given.values = encoded.relation.pointer
    described = abi.Condition(node_count=len(nodes), nodes=array)
    return described, relations
