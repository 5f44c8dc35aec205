//! Times of DataFusion's joins and of the library's, in turns: what the cost gate is made of. Of a
//! release build, on the threads of GPUJOIN_THREADS, by default 2; GPUJOIN_TURNS of each, by default
//! 5:
//!
//! cargo test --release -p gpujoin-datafusion --test joins -- --ignored --nocapture times_of

use std::sync::Arc;
use std::time::{Duration, Instant};

use datafusion::arrow::array::{ArrayRef, Int64Array, RecordBatch};
use datafusion::datasource::MemTable;
use datafusion::prelude::{SessionConfig, SessionContext};
use gpujoin_datafusion::GpuJoinRule;

use crate::sessions::{Random, answer, runtime, session, set, sorted_rows_of};
use crate::tpch_data::{queries, register};

const BATCH_ROWS: usize = 8192;
/// One key of so many numbers is there, and whether both sides lie in the order of their keys.
const WAYS: [(&str, i64, bool); 4] = [
    ("dense", 1, false),
    ("in order", 1, true),
    ("one of 4", 4, false),
    ("scattered", 1_000_003, false),
];
/// log2 of the rows of either side, and payload columns of each.
const SIZES: [(u32, u32, usize); 8] = [
    (10, 20, 1),
    (16, 20, 1),
    (18, 20, 1),
    (20, 20, 1),
    (20, 22, 1),
    (20, 22, 3),
    (20, 24, 1),
    (22, 24, 1),
];

fn number_of(variable: &str, default: usize) -> usize {
    std::env::var(variable).map_or(default, |number| number.parse().unwrap())
}

fn timed_session() -> (SessionContext, Arc<GpuJoinRule>) {
    let threads = number_of("GPUJOIN_THREADS", 2);
    session(SessionConfig::new().with_target_partitions(threads), runtime())
}

/// The least time of each mode.
async fn times(context: &SessionContext, sql: &str, modes: &[[(&str, &str); 2]]) -> Vec<Duration> {
    let mut least = vec![Duration::MAX; modes.len()];
    let mut expected = None;
    for _ in 0..number_of("GPUJOIN_TURNS", 5) {
        for (settings, least) in modes.iter().zip(&mut least) {
            for (name, value) in settings {
                set(context, name, value).await;
            }
            let started = Instant::now();
            let found = answer(context, sql).await.unwrap();
            *least = (*least).min(started.elapsed());
            let found = sorted_rows_of(&found);
            assert_eq!(expected.get_or_insert_with(|| found.clone()), &found);
        }
    }
    least
}

fn milliseconds(time: &Duration) -> f64 {
    time.as_secs_f64() * 1e3
}

const OFF: [(&str, &str); 2] = [("enable", "false"), ("force", "false")];
const GATE: [(&str, &str); 2] = [("enable", "true"), ("force", "false")];
const FORCED: [(&str, &str); 2] = [("enable", "true"), ("force", "true")];

#[tokio::test(flavor = "multi_thread", worker_threads = 16)]
#[ignore = "takes minutes, and tells nothing of a build that is not optimized"]
async fn times_of_queries() {
    let (context, rule) = timed_session();
    register(&context).await;
    let mut totals = [0.0; 3];
    for (number, sql) in queries() {
        let times = times(&context, &sql, &[OFF, GATE, FORCED]).await;
        for (total, time) in totals.iter_mut().zip(&times) {
            *total += milliseconds(time);
        }
        let mut taken = Vec::new();
        for force in ["true", "false"] {
            set(&context, "force", force).await;
            answer(&context, &format!("EXPLAIN {sql}")).await.unwrap();
            taken.push(rule.decisions().iter().filter(|decision| decision.taken).count());
        }
        let decisions = rule.decisions();
        println!(
            "query {number}: {:.0} ms, gate {:.0} with {} of {} joins, forced {:.0} with {}",
            milliseconds(&times[0]),
            milliseconds(&times[1]),
            taken[1],
            decisions.len(),
            milliseconds(&times[2]),
            taken[0]
        );
        for decision in decisions {
            println!("    {}: {}", decision.join, decision.reason);
        }
    }
    println!("all: {:.0} ms, gate {:.0}, forced {:.0}", totals[0], totals[1], totals[2]);
}

fn table(keys: &[i64], payloads: usize) -> MemTable {
    let names = ["k", "v0", "v1", "v2"];
    let batches: Vec<RecordBatch> = keys
        .chunks(BATCH_ROWS)
        .map(|keys| {
            let column: ArrayRef = Arc::new(Int64Array::from(keys.to_vec()));
            let columns = names[..=payloads].iter().map(|name| (*name, Arc::clone(&column)));
            RecordBatch::try_from_iter(columns).unwrap()
        })
        .collect();
    let half = batches.len().div_ceil(2);
    let partitions = batches.chunks(half).map(<[RecordBatch]>::to_vec).collect();
    MemTable::try_new(batches[0].schema(), partitions).unwrap()
}

#[tokio::test(flavor = "multi_thread", worker_threads = 16)]
#[ignore = "takes minutes, and tells nothing of a build that is not optimized"]
async fn times_of_joins() {
    let mut random = Random(1);
    for (build_bits, probe_bits, payloads) in SIZES {
        for (way, gap, is_in_order) in WAYS {
            let (context, rule) = timed_session();
            let mut build: Vec<i64> = (0..1 << build_bits).map(|key| key * gap).collect();
            for last in (1..build.len()).rev().filter(|_| !is_in_order) {
                build.swap(last, random.below(last + 1));
            }
            let mut probe: Vec<i64> =
                (0..1 << probe_bits).map(|_| build[random.below(build.len())]).collect();
            if is_in_order {
                probe.sort_unstable();
            }
            context.register_table("build", Arc::new(table(&build, payloads))).unwrap();
            context.register_table("probe", Arc::new(table(&probe, payloads))).unwrap();
            let sums: String =
                (0..payloads).map(|n| format!(", sum(build.v{n}), sum(probe.v{n})")).collect();
            let sql = format!("SELECT count(*){sums} FROM build JOIN probe ON build.k = probe.k");
            let times = times(&context, &sql, &[OFF, FORCED]).await;
            println!(
                "2^{build_bits} with 2^{probe_bits} rows, {payloads} payload columns, {way}: \
                 {:.1} ms, gpujoin {:.1}: {}",
                milliseconds(&times[0]),
                milliseconds(&times[1]),
                rule.decisions()[0].join
            );
        }
    }
}
