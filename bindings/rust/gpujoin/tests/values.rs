//! Constants of conditions, of each type.

#![allow(missing_docs)]

mod tables;

use std::sync::Arc;

use arrow_array::{
    ArrayRef, BinaryArray, BooleanArray, Date32Array, Decimal128Array, Float32Array, Float64Array,
    Int32Array, Int64Array, RecordBatch, StringArray, TimestampMicrosecondArray, UInt64Array,
};
use gpujoin::{Expr, Join, Kind, Relation, Value, left, value};

use tables::{cpu, table};

/// Left rows whose value equals the constant.
fn equal_rows(column: ArrayRef, constant: Value) -> Vec<u32> {
    let context = cpu();
    let batch = RecordBatch::try_from_iter([("a", column)]).unwrap();
    let rows = Relation::from_batch(&context, &batch).unwrap();
    let join = Join::new(Kind::LeftSemi).condition(left("a").equal(constant));
    let mut rows = join.run(&rows, &table(&context, "b", [0])).unwrap().left_rows().unwrap();
    rows.sort_unstable();
    rows
}

#[test]
fn constants_of_each_type_equal_their_rows() {
    let decimal = Decimal128Array::from(vec![150, -150, 15]);
    let decimal: ArrayRef = Arc::new(decimal.with_precision_and_scale(9, 2).unwrap());
    let columns: [(ArrayRef, Value); 11] = [
        (Arc::new(BooleanArray::from(vec![false, true, false])), true.into()),
        (Arc::new(Int32Array::from(vec![1, -2, 3])), (-2i32).into()),
        (Arc::new(Int64Array::from(vec![1, i64::MIN, 3])), i64::MIN.into()),
        (Arc::new(UInt64Array::from(vec![1, u64::MAX, 3])), u64::MAX.into()),
        (Arc::new(Float32Array::from(vec![1.0, -0.5, 3.0])), (-0.5f32).into()),
        (Arc::new(Float64Array::from(vec![1.0, f64::NAN, 3.0])), f64::NAN.into()),
        (Arc::new(StringArray::from(vec!["", "a text of more than 16 bytes", "a"])), {
            "a text of more than 16 bytes".into()
        }),
        (Arc::new(BinaryArray::from_vec(vec![b"x", b"\0\xff", b"y"])), vec![0, 255].into()),
        (Arc::new(Date32Array::from(vec![1, 20_000, 3])), Value::Date32(20_000)),
        (Arc::new(TimestampMicrosecondArray::from(vec![1, -7, 3])), {
            Value::TimestampMicroseconds(-7)
        }),
        (decimal, Value::Decimal128 { unscaled: -15, precision: 4, scale: 1 }),
    ];
    for (column, constant) in columns {
        assert_eq!(equal_rows(column, constant.clone()), [1], "{constant:?}");
    }
    let texts: ArrayRef = Arc::new(StringArray::from(vec!["", "a"]));
    assert_eq!(equal_rows(texts, "".into()), [0]);
    let numbers: ArrayRef = Arc::new(Int32Array::from(vec![None, Some(1)]));
    assert_eq!(equal_rows(numbers, Value::Null), []);
}

#[test]
fn operators_are_what_their_names_say() {
    let context = cpu();
    let (one, six) = (table(&context, "a", [6]), table(&context, "b", [4]));
    let holds = |condition: Expr| {
        let join = Join::inner().condition(condition);
        join.run(&one, &six).unwrap().rows() == 1
    };
    let (a, b) = (|| left("a"), || gpujoin::right("b"));
    assert!(holds((a() + b()).equal(10i64)) && holds((a() - b()).equal(2i64)));
    assert!(holds((a() * b()).equal(24i64)) && holds((a() / b()).equal(1.5)));
    assert!(holds(a().quotient(b()).equal(1i64)) && holds((a() % b()).equal(2i64)));
    assert!(holds((-a()).equal(-6i64)) && holds((b() - a()).absolute().equal(2i64)));
    assert!(holds(a().greater(b()).and(!a().less(b()))) && !holds(a().is_null()));
    assert!(holds(a().less(b()).or(a().between(b(), 6i64))));
    assert!(
        holds(value("prefix").starts_with("pre")) && !holds(value("pre").starts_with("prefix"))
    );
    assert!(holds(Expr::coalesce([value(Value::Null), a()]).equal(6i64)));
    let case = |otherwise| Expr::case([(a().less(b()), value(1i64))], otherwise);
    assert!(holds(case(None).is_null()) && holds(case(Some(value(2i64))).equal(2i64)));
    assert!(holds(a().is_in(&table(&context, "x", [5, 6]), "x")));
    assert!(!holds(a().is_in(&table(&context, "x", []), "x")));
    assert!(holds(a().is_null().is_false()) && holds(a().is_not_null().is_true()));
    assert!(holds(a().distinct(b())) && holds(value(Value::Null).not_distinct(Value::Null)));
}
