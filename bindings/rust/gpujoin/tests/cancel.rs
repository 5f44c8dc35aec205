//! Cancels, deadlines, callbacks.

#![allow(missing_docs)]

mod tables;

use std::ops::ControlFlow;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::thread;
use std::time::Duration;

use gpujoin::{
    Aggregate, Build, Context, Device, Error, Join, OperationOptions, PlanOptions, Relation,
};

use tables::{cpu, table};

/// A join that takes long and holds little: each row with each, counted.
fn long_join(context: &Context) -> (Join, Relation, Relation) {
    let condition = (gpujoin::left("a") * gpujoin::right("b") % 7i64).equal(3i64);
    let join = Join::inner().condition(condition).aggregate(Aggregate::count_rows());
    (join, table(context, "a", 0..400_000), table(context, "b", 0..400_000))
}

#[test]
fn a_cancel_of_the_context_is_spent_by_one_join() {
    let context = cpu();
    let (left, right) = (table(&context, "a", 0..10), table(&context, "b", 5..15));
    let join = Join::inner().on("a", "b");
    context.cancel().unwrap();
    assert!(matches!(join.run(&left, &right), Err(Error::Cancelled(_))));
    assert_eq!(join.run(&left, &right).unwrap().rows(), 5);
}

#[test]
fn another_thread_cancels_a_plan() {
    let context = cpu();
    let (join, left, right) = long_join(&context);
    let plan = join.plan(&left, &right, &PlanOptions::default()).unwrap();
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        scope.spawn(|| {
            while !is_over.load(Ordering::Relaxed) {
                plan.cancel().unwrap();
                thread::sleep(Duration::from_millis(5));
            }
        });
        let answer = plan.execute();
        is_over.store(true, Ordering::Relaxed);
        assert!(matches!(answer, Err(Error::Cancelled(_))), "{answer:?}");
    });
    assert_eq!(context.info().unwrap().device, Device::Cpu);
}

#[test]
fn a_timeout_ends_a_join() {
    let context = cpu();
    let (join, left, right) = long_join(&context);
    let options = PlanOptions::default().timeout(Duration::from_millis(20));
    let answer = join.run_with(&left, &right, &options);
    assert!(matches!(answer, Err(Error::Deadline(_))), "{answer:?}");
}

#[test]
fn an_operation_is_cancelled_alone() {
    let context = cpu();
    let keys = table(&context, "key", 0..1000);
    let build = Build::builder().key("key").create(&keys).unwrap();
    build.append(&keys).unwrap();
    build.finish().unwrap();
    let join = Join::inner().on("key", "key").left_columns(["key"]);
    let operations: Vec<_> = (0..2)
        .map(|_| build.operation(&keys, &join, OperationOptions::default()).unwrap())
        .collect();
    let probes: Vec<_> = operations.iter().map(|operation| operation.probe().unwrap()).collect();
    operations[0].cancel().unwrap();
    let answer = probes[0].append(&keys);
    assert!(matches!(answer, Err(Error::Cancelled(_))), "{answer:?}");
    assert!(matches!(operations[0].next_result(), Err(Error::Cancelled(_))));
    let _ = probes[1].append(&keys).unwrap();
    probes[1].finish().unwrap();
    let rows: u64 = probes[1].results().map(|result| result.unwrap().rows()).sum();
    assert_eq!(rows, 1000);
}

#[test]
fn a_build_is_cancelled() {
    let context = cpu();
    let keys = table(&context, "key", 0..1000);
    let build = Build::builder().key("key").create(&keys).unwrap();
    build.cancel().unwrap();
    assert!(matches!(build.append(&keys), Err(Error::Cancelled(_))));
    assert!(matches!(build.finish(), Err(Error::Cancelled(_))));
}

#[test]
fn progress_is_reported_and_cancels() {
    let stages = Arc::new(Mutex::new(Vec::new()));
    let (seen, breaks) = (stages.clone(), Arc::new(AtomicBool::new(false)));
    let is_breaking = breaks.clone();
    let context = Context::builder()
        .device(Device::Cpu)
        .progress(move |stage, done, total| {
            assert!(done <= total);
            seen.lock().unwrap().push(String::from(stage));
            if is_breaking.load(Ordering::Relaxed) {
                ControlFlow::Break(())
            } else {
                ControlFlow::Continue(())
            }
        })
        .create()
        .unwrap();
    let (left, right) = (table(&context, "a", 0..10), table(&context, "b", 5..15));
    let join = Join::inner().on("a", "b");
    assert_eq!(join.run(&left, &right).unwrap().rows(), 5);
    assert!(stages.lock().unwrap().iter().any(|stage| stage == "match"));
    breaks.store(true, Ordering::Relaxed);
    assert!(matches!(join.run(&left, &right), Err(Error::Cancelled(_))));
}

#[test]
fn a_panic_of_a_callback_stays_in_it() {
    let lines = Arc::new(AtomicUsize::new(0));
    let seen = lines.clone();
    let context = Context::builder()
        .device(Device::Cpu)
        .log(move |_, line| {
            assert!(!line.is_empty());
            seen.fetch_add(1, Ordering::Relaxed);
            panic!("of the log, which this test expects");
        })
        .progress(|_, _, _| panic!("of the progress, which this test expects"))
        .create()
        .unwrap();
    let (left, right) = (table(&context, "a", 0..10), table(&context, "b", 5..15));
    let answer = Join::inner().on("a", "b").run(&left, &right);
    assert!(matches!(answer, Err(Error::Cancelled(_))), "{answer:?}");
    assert!(lines.load(Ordering::Relaxed) > 0);
}
