//! Conditions of cases: `(and (< left.a (+ right.b 1:int32)) (in left.t utf8 x y NULL))`.

use std::collections::VecDeque;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{Field, Schema};
use gpujoin::{Context, Expr, Relation, left, right};

use crate::arrays::{array_of, type_of};

/// Brackets that stand by themselves; those of a type belong to its word.
fn tokens_of(text: &str) -> VecDeque<String> {
    let (mut tokens, mut word, mut depth) = (VecDeque::new(), String::new(), 0);
    for character in text.chars() {
        match character {
            '(' if !word.is_empty() => {
                depth += 1;
                word.push('(');
            }
            ')' if depth > 0 => {
                depth -= 1;
                word.push(')');
            }
            '(' | ')' | ' ' => {
                if !word.is_empty() {
                    tokens.push_back(std::mem::take(&mut word));
                }
                if character != ' ' {
                    tokens.push_back(character.into());
                }
            }
            other => word.push(other),
        }
    }
    if !word.is_empty() {
        tokens.push_back(word);
    }
    tokens
}

pub fn read(text: &str, context: &Context) -> Expr {
    let mut tokens = tokens_of(text);
    let condition = expression(&mut tokens, context);
    assert!(tokens.is_empty(), "{text}");
    condition
}

fn values(context: &Context, words: &[&str], kind: &str) -> Relation {
    let kind = type_of(kind);
    let column = array_of(words, &kind);
    let schema = Arc::new(Schema::new(vec![Field::new("value", kind, true)]));
    let batch = RecordBatch::try_new(schema, vec![column]).unwrap();
    Relation::from_batch(context, &batch).unwrap()
}

fn expression(tokens: &mut VecDeque<String>, context: &Context) -> Expr {
    let token = tokens.pop_front().unwrap();
    if let Some(name) = token.strip_prefix("left.") {
        return left(name);
    }
    if let Some(name) = token.strip_prefix("right.") {
        return right(name);
    }
    if token != "(" {
        let (word, kind) = token.rsplit_once(':').unwrap();
        return Expr::constant(&values(context, &[word], kind), 0usize);
    }
    let name = tokens.pop_front().unwrap();
    if name == "in" {
        let value = expression(tokens, context);
        let kind = tokens.pop_front().unwrap();
        let listed: Vec<String> =
            std::iter::from_fn(|| tokens.pop_front().filter(|token| token != ")")).collect();
        let listed: Vec<&str> = listed.iter().map(String::as_str).collect();
        return value.is_in(&values(context, &listed, &kind), "value");
    }
    let mut arguments = Vec::new();
    while tokens.front().is_some_and(|token| token != ")") {
        arguments.push(expression(tokens, context));
    }
    tokens.pop_front();
    apply(&name, arguments)
}

fn apply(name: &str, arguments: Vec<Expr>) -> Expr {
    match name {
        "case" => {
            let mut rest = arguments.into_iter();
            let (mut branches, mut otherwise) = (Vec::new(), None);
            while let Some(when) = rest.next() {
                match rest.next() {
                    Some(then) => branches.push((when, then)),
                    None => otherwise = Some(when),
                }
            }
            return Expr::case(branches, otherwise);
        }
        "coalesce" => return Expr::coalesce(arguments),
        "and" | "or" => {
            let is_and = name == "and";
            let both = |a: Expr, b: Expr| if is_and { a.and(b) } else { a.or(b) };
            return arguments.into_iter().reduce(both).unwrap();
        }
        _ => {}
    }
    let mut rest = arguments.into_iter();
    let first = rest.next().unwrap();
    let mut next = || rest.next().unwrap();
    match name {
        "=" => first.equal(next()),
        "<>" => first.not_equal(next()),
        "<" => first.less(next()),
        "<=" => first.less_equal(next()),
        ">" => first.greater(next()),
        ">=" => first.greater_equal(next()),
        "distinct" => first.distinct(next()),
        "not_distinct" => first.not_distinct(next()),
        "between" => first.between(next(), next()),
        "starts_with" => first.starts_with(next()),
        "+" => first + next(),
        "-" => first - next(),
        "*" => first * next(),
        "/" => first / next(),
        "//" => first.quotient(next()),
        "%" => first % next(),
        "not" => !first,
        "negate" => -first,
        "abs" => first.absolute(),
        "is_null" => first.is_null(),
        "is_not_null" => first.is_not_null(),
        "is_true" => first.is_true(),
        "is_false" => first.is_false(),
        other => panic!("operator {other}"),
    }
}
