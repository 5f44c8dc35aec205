//! Builds and probes of many threads, against a hash table of the standard library.

#![allow(missing_docs)]

mod tables;

use std::collections::HashMap;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc;
use std::thread;

use arrow_array::RecordBatch;
use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use gpujoin::{
    Appended, Build, Context, Device, FilterKind, FilterOptions, Join, JoinResult, Kind, Next,
    Operation, OperationOptions, Relation,
};

use tables::{cpu, table};

/// Numbers that look drawn, the same each time.
fn drawn(seed: u64, count: usize, below: i64) -> Vec<i64> {
    let mut state = seed.wrapping_mul(0x9e37_79b9_7f4a_7c15) | 1;
    let mut next = || {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        (state % below as u64) as i64
    };
    (0..count).map(|_| next()).collect()
}

fn build_of(context: &Context, batches: &[Vec<i64>]) -> Build {
    let like = table(context, "key", []);
    let build = Build::builder().key("key").row_numbers().create(&like).unwrap();
    let mut first = 0;
    thread::scope(|scope| {
        for keys in batches {
            let build = build.clone();
            let number = first;
            first += keys.len() as i64;
            scope.spawn(move || {
                let batch = table(context, "key", keys.iter().copied());
                build.append_from(&batch, number).unwrap();
            });
        }
    });
    build.finish().unwrap();
    build
}

/// Left and right row of each output row.
fn pairs_of(result: &JoinResult) -> Vec<(i64, i64)> {
    let left = result.left_row_numbers().unwrap();
    left.into_iter().zip(result.right_row_numbers().unwrap()).collect()
}

fn probe_all(operation: &Operation, batches: &[(Relation, i64)], mut take: impl FnMut(JoinResult)) {
    let probe = operation.probe().unwrap();
    for (batch, first) in batches {
        while probe.append_from(batch, *first).unwrap() == Appended::Full {
            probe.results().for_each(|result| take(result.unwrap()));
        }
    }
    probe.finish().unwrap();
    probe.results().for_each(|result| take(result.unwrap()));
}

#[test]
fn eight_threads_probe_one_build() {
    const THREADS: u64 = 8;
    const PROBES: u64 = 150;
    let context = cpu();
    let batches: Vec<Vec<i64>> = (0..4).map(|seed| drawn(seed + 1, 2000, 3000)).collect();
    let build = build_of(&context, &batches);
    assert_eq!(build.info().unwrap().rows, 8000);
    let mut rows_of_key: HashMap<i64, Vec<i64>> = HashMap::new();
    for (row, key) in batches.iter().flatten().enumerate() {
        rows_of_key.entry(*key).or_default().push(row as i64);
    }

    let like = table(&context, "number", []);
    let join = Join::inner().on("number", "key").pairs();
    let options = OperationOptions::default().row_numbers();
    let operation = build.operation(&like, &join, options).unwrap();
    let rows = AtomicU64::new(0);
    thread::scope(|scope| {
        for thread in 0..THREADS {
            let (context, operation, rows) = (&context, &operation, &rows);
            let rows_of_key = &rows_of_key;
            scope.spawn(move || {
                for probe in 0..PROBES {
                    let seed = thread * PROBES + probe + 100;
                    let numbers = drawn(seed, 100 + seed as usize % 400, 4000);
                    let first = (1 << 32) + 1_000_000 * thread as i64;
                    let batch = table(context, "number", numbers.iter().copied());
                    let mut found = Vec::new();
                    probe_all(operation, &[(batch, first)], |result| {
                        found.extend(pairs_of(&result));
                    });
                    let mut expected = Vec::new();
                    for (row, number) in numbers.iter().enumerate() {
                        for other in rows_of_key.get(number).into_iter().flatten() {
                            expected.push((first + row as i64, *other));
                        }
                    }
                    found.sort_unstable();
                    expected.sort_unstable();
                    assert_eq!(found, expected);
                    rows.fetch_add(found.len() as u64, Ordering::Relaxed);
                }
            });
        }
    });
    operation.close().unwrap();
    assert!(matches!(operation.next_result().unwrap(), Next::Finished));
    assert_eq!(operation.progress().unwrap().rows_out, rows.into_inner());
    assert!(operation.explain().unwrap().contains("build"));
}

#[test]
fn rows_of_the_build_without_a_match_come_out_at_the_end() {
    let context = cpu();
    let build = build_of(&context, &[(0..1000).collect()]);
    let like = table(&context, "number", []);
    let join = Join::new(Kind::RightAnti).on("number", "key").right_columns(["key"]);
    let (sender, ready) = mpsc::channel();
    let options = OperationOptions::default().on_ready(move || sender.send(()).unwrap());
    let operation = build.operation(&like, &join, options).unwrap();
    thread::scope(|scope| {
        for thread in 0..4 {
            let (context, operation) = (&context, &operation);
            scope.spawn(move || {
                let numbers = (0..900).filter(|number| number % 4 == thread);
                let batch = table(context, "number", numbers);
                probe_all(operation, &[(batch, 0)], |result| assert_eq!(result.rows(), 0));
            });
        }
    });
    assert!(ready.try_recv().is_err());
    operation.close().unwrap();
    ready.recv().unwrap();
    let mut found = Vec::new();
    while let Next::Ready(result) = operation.next_result().unwrap() {
        let batch: RecordBatch = result.to_batch().unwrap();
        found.extend(batch.column(0).as_primitive::<Int64Type>().values().iter().copied());
    }
    found.sort_unstable();
    assert_eq!(found, (900..1000).collect::<Vec<i64>>());
}

#[test]
fn more_than_the_limit_goes_to_files() {
    let folder = std::env::temp_dir();
    let context = Context::builder()
        .device(Device::Cpu)
        .cpu_threads(2)
        .memory_limit(4 << 20)
        .spill(folder, 0)
        .create()
        .unwrap();
    let like = table(&context, "key", []);
    let build = Build::builder().key("key").create(&like).unwrap();
    for part in 0..40 {
        build.append(&table(&context, "key", part * 5000..(part + 1) * 5000)).unwrap();
    }
    build.finish().unwrap();
    let info = build.info().unwrap();
    assert!(!info.is_whole && info.partitions > 1, "{info:?}");
    let join = Join::inner().on("key", "key").left_columns(["key"]);
    let operation = build.operation(&like, &join, OperationOptions::default()).unwrap();
    let mut rows = 0;
    let batches: Vec<_> = (0..100)
        .map(|part| (table(&context, "key", (part * 3000..(part + 1) * 3000).rev()), 0))
        .collect();
    probe_all(&operation, &batches, |result| rows += result.rows());
    operation.close().unwrap();
    while let Next::Ready(result) = operation.next_result().unwrap() {
        rows += result.rows();
    }
    assert_eq!(rows, 200_000);
    assert!(context.info().unwrap().spill_peak > 0);
}

#[test]
fn filters_drop_rows_without_a_match() {
    let context = cpu();
    let even = build_of(&context, &[(0..2000).step_by(2).collect()]);
    let filter = even.filter(None, FilterOptions::default()).unwrap();
    drop(even);
    let info = filter.info().unwrap();
    assert_eq!((info.kind, info.rows, info.distinct), (FilterKind::Bitmap, 1000, 1000));
    assert_eq!(info.min_value, Some(&0i64.to_ne_bytes()[..]));
    assert_eq!(info.max_value, Some(&1998i64.to_ne_bytes()[..]));
    assert_eq!(info.bits[0], 0b0101_0101);

    let all = table(&context, "number", 0..3000);
    let passing = filter.test(&all, ["number"]).unwrap();
    assert_eq!(passing.rows, 1000);
    assert_eq!(passing.bits.len(), 375);
    assert!(filter.test(&all, ["number", "number"]).is_err());

    let build = build_of(&context, &[(0..1000).collect()]);
    let join = Join::inner().on("number", "key").left_columns(["number"]);
    let options = OperationOptions::default().filter(&filter, ["number"]);
    let operation = build.operation(&all, &join, options).unwrap();
    let mut rows = 0;
    probe_all(&operation, &[(all, 0)], |result| rows += result.rows());
    assert_eq!(rows, 500);
    assert_eq!(operation.progress().unwrap().rows_dropped, 2000);

    let bloom = FilterOptions::default().kind(FilterKind::Bloom).false_positive_rate(0.001);
    let info = build.filter(Some(0), bloom).unwrap();
    assert_eq!(info.info().unwrap().kind, FilterKind::Bloom);
}

/// Nothing that an object needs goes away with the handles that are dropped.
#[test]
fn objects_keep_what_they_need() {
    let context = cpu();
    let plan = {
        let whole = table(&context, "a", 0..100);
        let picked = whole.select_rows((50..60).collect::<Vec<u32>>()).unwrap();
        let twice = picked.select_bits(vec![0xff, 0x01]).unwrap();
        let condition = gpujoin::left("a").less(55i64).and(!gpujoin::right("b").is_null());
        let join = Join::inner().on("a", "b").condition(condition).pairs();
        join.plan(&twice, &table(&context, "b", 0..100), &Default::default()).unwrap()
    };
    let result = plan.execute().unwrap();
    drop((plan, context));
    let mut rows = result.left_rows().unwrap();
    rows.sort_unstable();
    assert_eq!(rows, [50, 51, 52, 53, 54]);
    let batch: RecordBatch = result.to_batch().unwrap();
    drop(result);
    assert_eq!(batch.num_rows(), 5);

    let probe = {
        let context = cpu();
        let build = build_of(&context, &[(0..10).collect()]);
        let like = table(&context, "a", []);
        let join = Join::inner().on("a", "key").left_columns(["a"]);
        build.operation(&like, &join, OperationOptions::default()).unwrap().probe().unwrap()
    };
    assert!(probe.append(&table(&cpu(), "a", 0..5)).is_err()); // of another context
}
