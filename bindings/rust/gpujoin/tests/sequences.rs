//! Sequences of joins, against loops.

#![allow(missing_docs)]

mod tables;

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{ArrayRef, Int64Array, RecordBatch};
use gpujoin::{Context, Error, Kind, Materialize, NO_ROW, Relation, Sequence, Step};

use tables::{cpu, table};

fn sales(context: &Context) -> Relation {
    let column = |of: Vec<i64>| -> ArrayRef { Arc::new(Int64Array::from(of)) };
    let day = column((0..100).map(|row| row % 7).collect());
    let item = column((0..100).map(|row| row % 11).collect());
    let batch = RecordBatch::try_from_iter([("day", day), ("item", item)]).unwrap();
    Relation::from_batch(context, &batch).unwrap()
}

#[test]
fn steps_follow_each_other() {
    let context = cpu();
    let (days, items) = (table(&context, "id", 0..5), table(&context, "id", (3..9).rev()));
    for materialize in [Materialize::AsTheyCome, Materialize::AtTheEnd] {
        let result = Sequence::new()
            .step(Step::new(&days, "day", "id"))
            .step(Step::new(&items, "item", "id").kind(Kind::Left).columns(["id"]))
            .fact_columns(["item"])
            .materialize(materialize)
            .pairs()
            .run(&sales(&context))
            .unwrap();
        let fact = result.left_rows().unwrap();
        let (of_days, of_items) =
            (result.dimension_rows(0).unwrap(), result.dimension_rows(1).unwrap());
        let mut found: Vec<_> =
            (0..fact.len()).map(|row| (fact[row], of_days[row], of_items[row])).collect();
        found.sort_unstable();
        let expected: Vec<_> = (0..100u32)
            .filter(|row| row % 7 < 5)
            .map(|row| {
                let item = row % 11;
                (row, row % 7, if (3..9).contains(&item) { 8 - item } else { NO_ROW })
            })
            .collect();
        assert_eq!(found, expected);
        let batch: RecordBatch = result.to_batch().unwrap();
        let (item, id) = (batch.column(3), batch.column(4));
        let (item, id) = (item.as_primitive::<Int64Type>(), id.as_primitive::<Int64Type>());
        for (item, id) in item.iter().zip(id) {
            assert_eq!(id, item.filter(|item| (3..9).contains(item)));
        }
    }
}

#[test]
fn sequences_that_are_none() {
    let context = cpu();
    let (sales, days) = (sales(&context), table(&context, "id", 0..5));
    let run = |step: Step| Sequence::new().step(step).run(&sales);
    assert!(matches!(Sequence::new().run(&sales), Err(Error::InvalidArgument(_))));
    assert!(matches!(run(Step::new(&days, "x", "id")), Err(Error::InvalidArgument(_))));
    assert!(matches!(run(Step::new(&days, "day", "x")), Err(Error::InvalidArgument(_))));
    assert!(run(Step::new(&days, "day", "id").kind(Kind::Full)).is_err());
    let pairs = run(Step::new(&days, "day", "id")).unwrap();
    assert!(pairs.dimension_rows(1).is_err());
}
