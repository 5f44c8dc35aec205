//! Conditions of both rows.

use std::fmt;
use std::ops;

use gpujoin_sys as sys;

use crate::context::Context;
use crate::error::{Result, count};
use crate::number::Side;
use crate::relation::{Column, Relation};
use crate::value::Value;

/// An expression over a left and a right row, of which conditions are made.
///
/// ```
/// use gpujoin::{Join, Kind, left, right};
///
/// let join = Join::new(Kind::Left)
///     .on("order", "order")
///     .condition(left("quantity").greater(right("least") * 2).and(right("most").is_not_null()));
/// # let _ = join;
/// ```
///
/// Values are compared as keys are, integers and decimals with floats as float64; NULL is unknown,
/// as SQL has it. What a type does not hold, and a division by zero, ends the join with
/// [`Error::Evaluation`](crate::Error::Evaluation) where an answer depends on it. Section 6 of
/// `gpujoin.h` says more, `docs/semantics.md` has examples of each operator.
#[derive(Clone)]
pub struct Expr {
    // In postfix order, as the library has them: nothing recurses, however deep it is.
    nodes: Vec<Node>,
}

#[derive(Clone)]
enum Node {
    Column(Side, Column),
    Value(Value),
    /// The first row of a column, or with IN all of its rows.
    Listed {
        operation: i32,
        values: Relation,
        column: Column,
    },
    Apply {
        operation: i32,
        arguments: usize,
    },
}

/// The value of a column in the left row.
pub fn left(column: impl Into<Column>) -> Expr {
    Expr { nodes: vec![Node::Column(Side::Left, column.into())] }
}

/// The value of a column in the right row.
pub fn right(column: impl Into<Column>) -> Expr {
    Expr { nodes: vec![Node::Column(Side::Right, column.into())] }
}

/// A constant.
pub fn value(value: impl Into<Value>) -> Expr {
    Expr { nodes: vec![Node::Value(value.into())] }
}

impl<V: Into<Value>> From<V> for Expr {
    fn from(constant: V) -> Self {
        value(constant)
    }
}

macro_rules! operators {
    ($($(#[$text:meta])* $name:ident = $operator:ident($($argument:ident),*);)*) => {
        impl Expr {
            $($(#[$text])*
            pub fn $name(self, $($argument: impl Into<Expr>),*) -> Expr {
                apply(sys::$operator, [self, $($argument.into()),*])
            })*
        }
    };
}

operators! {
    /// `=`
    equal = GPUJOIN_OPERATOR_EQUAL(other);
    /// `<>`
    not_equal = GPUJOIN_OPERATOR_NOT_EQUAL(other);
    /// `<`
    less = GPUJOIN_OPERATOR_LESS(other);
    /// `<=`
    less_equal = GPUJOIN_OPERATOR_LESS_EQUAL(other);
    /// `>`
    greater = GPUJOIN_OPERATOR_GREATER(other);
    /// `>=`
    greater_equal = GPUJOIN_OPERATOR_GREATER_EQUAL(other);
    /// `IS DISTINCT FROM`: never NULL.
    distinct = GPUJOIN_OPERATOR_DISTINCT(other);
    /// `IS NOT DISTINCT FROM`: never NULL.
    not_distinct = GPUJOIN_OPERATOR_NOT_DISTINCT(other);
    /// `low <= self AND self <= high`
    between = GPUJOIN_OPERATOR_BETWEEN(low, high);
    /// Three-valued AND.
    and = GPUJOIN_OPERATOR_AND(other);
    /// Three-valued OR.
    or = GPUJOIN_OPERATOR_OR(other);
    /// Whether it is NULL.
    is_null = GPUJOIN_OPERATOR_IS_NULL();
    /// Whether it is not NULL.
    is_not_null = GPUJOIN_OPERATOR_IS_NOT_NULL();
    /// Whether a truth value is true, and not NULL.
    is_true = GPUJOIN_OPERATOR_IS_TRUE();
    /// Whether a truth value is false, and not NULL.
    is_false = GPUJOIN_OPERATOR_IS_FALSE();
    /// Whether text begins with the bytes of another: `LIKE 'prefix%'`.
    starts_with = GPUJOIN_OPERATOR_STARTS_WITH(prefix);
    /// A quotient of integers, towards zero; `/` is of float64, whatever the arguments are.
    quotient = GPUJOIN_OPERATOR_QUOTIENT(divisor);
    /// The absolute value.
    absolute = GPUJOIN_OPERATOR_ABSOLUTE();
}

impl Expr {
    /// `IN` all values of a column of a relation in host memory of the same context.
    pub fn is_in(mut self, values: &Relation, column: impl Into<Column>) -> Expr {
        let (values, column) = (values.clone(), column.into());
        self.nodes.push(Node::Listed { operation: sys::GPUJOIN_OPERATOR_IN, values, column });
        self
    }

    /// The first row of a column of a relation in host memory of the same context: a constant of
    /// any type.
    pub fn constant(values: &Relation, column: impl Into<Column>) -> Expr {
        let (operation, column) = (sys::GPUJOIN_OPERATOR_CONSTANT, column.into());
        Expr { nodes: vec![Node::Listed { operation, values: values.clone(), column }] }
    }

    /// The value behind the first condition that is true, else `otherwise`.
    pub fn case<C, V>(branches: impl IntoIterator<Item = (C, V)>, otherwise: Option<Expr>) -> Expr
    where
        C: Into<Expr>,
        V: Into<Expr>,
    {
        let branches = branches.into_iter().flat_map(|(when, then)| [when.into(), then.into()]);
        apply(sys::GPUJOIN_OPERATOR_CASE, branches.chain(otherwise))
    }

    /// The first that is not NULL.
    pub fn coalesce<V: Into<Expr>>(values: impl IntoIterator<Item = V>) -> Expr {
        apply(sys::GPUJOIN_OPERATOR_COALESCE, values.into_iter().map(Into::into))
    }

    /// The whole condition, evaluated by the caller: the join's result is then its candidates, for
    /// [`JoinResult::decide`](crate::JoinResult::decide). An operation asks
    /// [`OperationOptions::decide`](crate::OperationOptions::decide).
    pub fn of_caller() -> Expr {
        apply(sys::GPUJOIN_OPERATOR_CALLER, [])
    }
}

fn apply(operation: i32, arguments: impl IntoIterator<Item = Expr>) -> Expr {
    let (mut nodes, mut count) = (Vec::new(), 0);
    for argument in arguments {
        count += 1;
        if nodes.is_empty() {
            nodes = argument.nodes;
        } else {
            nodes.extend(argument.nodes);
        }
    }
    nodes.push(Node::Apply { operation, arguments: count });
    Expr { nodes }
}

macro_rules! operator_traits {
    ($($of:ident::$method:ident = $operator:ident;)*) => {
        $(impl<V: Into<Expr>> ops::$of<V> for Expr {
            type Output = Expr;

            fn $method(self, other: V) -> Expr {
                apply(sys::$operator, [self, other.into()])
            }
        })*
    };
}

operator_traits! {
    Add::add = GPUJOIN_OPERATOR_ADD;
    Sub::sub = GPUJOIN_OPERATOR_SUBTRACT;
    Mul::mul = GPUJOIN_OPERATOR_MULTIPLY;
    Div::div = GPUJOIN_OPERATOR_DIVIDE;
    Rem::rem = GPUJOIN_OPERATOR_MODULO;
}

impl ops::Neg for Expr {
    type Output = Expr;

    fn neg(self) -> Expr {
        apply(sys::GPUJOIN_OPERATOR_NEGATE, [self])
    }
}

impl ops::Not for Expr {
    type Output = Expr;

    fn not(self) -> Expr {
        apply(sys::GPUJOIN_OPERATOR_NOT, [self])
    }
}

impl fmt::Debug for Expr {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Expr").field("nodes", &self.nodes.len()).finish()
    }
}

/// A condition as the library takes it, with what it points to.
pub(crate) struct Program {
    nodes: Vec<sys::gpujoin_node>,
    /// Relations of constants, for as long as a plan may look at them.
    pub(crate) values: Vec<Relation>,
}

impl Program {
    pub(crate) fn of(
        condition: &Expr,
        left: &[String],
        right: &[String],
        context: &Context,
    ) -> Result<Self> {
        let mut program = Program { nodes: Vec::new(), values: Vec::new() };
        for node in &condition.nodes {
            let mut raw = sys::gpujoin_node::INIT;
            match node {
                Node::Column(side, column) => {
                    let names = if *side == Side::Left { left } else { right };
                    raw.operation = sys::GPUJOIN_OPERATOR_COLUMN;
                    raw.side = side.number();
                    raw.column = column.position("condition", names)?;
                }
                Node::Value(value) => {
                    let values = value.as_relation(context)?;
                    raw.operation = sys::GPUJOIN_OPERATOR_CONSTANT;
                    raw.values = values.handle();
                    program.values.push(values);
                }
                Node::Listed { operation, values, column } => {
                    raw.operation = *operation;
                    raw.argument_count = i32::from(*operation == sys::GPUJOIN_OPERATOR_IN);
                    raw.column = column.position("values of the condition", values.names())?;
                    raw.values = values.handle();
                    program.values.push(values.clone());
                }
                Node::Apply { operation, arguments } => {
                    raw.operation = *operation;
                    raw.argument_count = count("arguments of the condition", *arguments as u64)?;
                }
            }
            program.nodes.push(raw);
        }
        Ok(program)
    }

    /// Points into the program.
    pub(crate) fn raw(&self) -> Result<sys::gpujoin_condition> {
        Ok(sys::gpujoin_condition {
            node_count: count("nodes of the condition", self.nodes.len() as u64)?,
            nodes: self.nodes.as_ptr(),
            ..sys::gpujoin_condition::INIT
        })
    }
}
