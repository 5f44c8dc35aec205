//! Settings, what is shown, and what goes wrong.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::sync::Arc;
use std::time::Duration;

use datafusion::datasource::MemTable;
use datafusion::execution::memory_pool::GreedyMemoryPool;
use datafusion::execution::runtime_env::RuntimeEnvBuilder;
use datafusion::prelude::{SessionConfig, SessionContext, col};
use futures::StreamExt;
use gpujoin_datafusion::GpuJoinRule;

use crate::sessions::{answer, config, rows_of, runtime, session, set};

/// Two tables of numbers, `a` and `b`, of so many rows.
async fn with_tables(context: &SessionContext, rows: usize) {
    for (table, step) in [("a", 2), ("b", 3)] {
        let sql = format!(
            "CREATE TABLE {table} AS SELECT value * {step} AS k, value AS v, \
             repeat('x', 40) AS t FROM generate_series(1, {rows})"
        );
        answer(context, &sql).await.unwrap();
    }
}

const JOIN: &str = "SELECT count(*), sum(a.v), sum(b.v), min(a.t) FROM a JOIN b ON a.k = b.k";

async fn explained(context: &SessionContext, sql: &str) -> String {
    rows_of(&answer(context, &format!("EXPLAIN ANALYZE {sql}")).await.unwrap()).join("\n")
}

fn last(rule: &GpuJoinRule) -> (bool, String) {
    let decisions = rule.decisions();
    assert_eq!(decisions.len(), 1, "{decisions:?}");
    (decisions[0].taken, decisions[0].reason.clone())
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn settings_say_what_is_taken() {
    let (context, rule) = session(config(), runtime());
    with_tables(&context, 1000).await;
    let expected = rows_of(&answer(&context, JOIN).await.unwrap());
    let (is_taken, reason) = last(&rule);
    assert!(!is_taken && reason.contains("of HashJoinExec"), "{reason}");

    set(&context, "force", "true").await;
    assert_eq!(rows_of(&answer(&context, JOIN).await.unwrap()), expected);
    assert!(last(&rule).0);

    set(&context, "enable", "false").await;
    assert_eq!(rows_of(&answer(&context, JOIN).await.unwrap()), expected);
    assert_eq!(last(&rule), (false, String::from("gpujoin.enable is false")));
}

#[tokio::test]
async fn a_setting_that_means_nothing_is_an_error() {
    let (context, _) = session(config(), runtime());
    for setting in ["device = 'fpga'", "memory_limit = 'much'", "threads = '-1'", "color = 'red'"] {
        let error = answer(&context, &format!("SET gpujoin.{setting}")).await.unwrap_err();
        assert!(!error.to_string().is_empty());
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn explain_shows_how_it_joins() {
    let (context, _) = session(config(), runtime());
    with_tables(&context, 1000).await;
    set(&context, "force", "true").await;
    let plan = rows_of(&answer(&context, &format!("EXPLAIN {JOIN}")).await.unwrap()).join("\n");
    assert!(plan.contains("GpuJoinExec") && plan.contains("executor="), "{plan}");
    let plan = explained(&context, JOIN).await;
    for shown in ["executor=CPU", "plan=", "build_time=", "join_time=", "build_input_rows=1.00 K"] {
        assert!(plan.contains(shown), "{shown}: {plan}");
    }
}

#[tokio::test]
async fn without_a_device_joins_are_those_of_datafusion() {
    let (context, rule) = session(config(), runtime());
    with_tables(&context, 1000).await;
    let expected = rows_of(&answer(&context, JOIN).await.unwrap());
    set(&context, "force", "true").await;
    set(&context, "device", "cuda").await;
    assert_eq!(rows_of(&answer(&context, JOIN).await.unwrap()), expected);
    let (is_taken, reason) = last(&rule);
    assert!(is_taken || !reason.is_empty());
}

const WITH_OTHER_VERSION: &str = "GPUJOIN_TEST_OTHER_VERSION";

/// In a process of its own, which opens no other library.
#[test]
fn with_a_library_of_another_version_joins_are_those_of_datafusion() {
    if std::env::var_os(WITH_OTHER_VERSION).is_some() {
        return joins_of_another_version();
    }
    let library = library_of_version(100, Path::new(env!("CARGO_TARGET_TMPDIR")));
    let output = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", "--nocapture"])
        .arg("settings::with_a_library_of_another_version_joins_are_those_of_datafusion")
        .env(WITH_OTHER_VERSION, "1")
        .env("GPUJOIN_LIBRARY", library)
        .output()
        .unwrap();
    let said = String::from_utf8_lossy(&output.stdout);
    assert!(output.status.success() && said.contains("1 passed"), "{said}");
}

#[tokio::main]
async fn joins_of_another_version() {
    let (context, rule) = session(config(), runtime());
    with_tables(&context, 100).await;
    set(&context, "force", "true").await;
    assert_eq!(answer(&context, JOIN).await.unwrap()[0].num_rows(), 1);
    let (is_taken, reason) = last(&rule);
    assert!(!is_taken && reason.contains("has version number 100"), "{reason}");
}

/// One with all functions of the header, of which only that of the version can be called.
fn library_of_version(number: i32, folder: &Path) -> PathBuf {
    let header = concat!(env!("CARGO_MANIFEST_DIR"), "/../../include/gpujoin.h");
    let header = std::fs::read_to_string(header).unwrap();
    let functions = header.lines().filter(|line| line.starts_with("GPUJOIN_API ")).map(|line| {
        let name = line.split('(').next().unwrap().rsplit([' ', '*']).next().unwrap();
        match name {
            "gpujoin_version_number" => format!("int {name}(void) {{ return {number}; }}\n"),
            _ => format!("void {name}(void) {{ __builtin_trap(); }}\n"),
        }
    });
    let source = folder.join("other.c");
    std::fs::write(&source, functions.collect::<String>()).unwrap();
    let library = folder.join("libgpujoin.so.0");
    let mut compile = Command::new("cc");
    compile.args(["-shared", "-fPIC", "-o"]).args([&library, &source]);
    assert!(compile.status().unwrap().success());
    library
}

#[tokio::test]
async fn declined_joins_say_why() {
    let (context, rule) = session(config(), runtime());
    with_tables(&context, 100).await;
    set(&context, "force", "true").await;
    let declined = [
        ("SELECT a.l FROM (SELECT k, [v] AS l FROM a) a JOIN b ON a.k = b.k", "of type List"),
        (
            "SELECT a.v FROM a WHERE a.v < 3 OR \
             EXISTS (SELECT 1 FROM b WHERE a.k = b.k AND a.v + b.v > 50)",
            "looks at both sides",
        ),
        ("SELECT a.v FROM a LEFT JOIN b ON a.k = b.k AND a.v * random() > b.v", "each pair"),
    ];
    for (sql, why) in declined {
        answer(&context, sql).await.unwrap();
        let (is_taken, reason) = last(&rule);
        assert!(!is_taken && reason.contains(why), "{sql}: {reason}");
    }
}

/// Conditions that the library does not have, of joins whose rows come out without a match, too.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn datafusion_decides_which_pairs_match() {
    let (context, rule) = session(config(), runtime());
    with_tables(&context, 3000).await;
    let joins = [
        "SELECT a.v, b.v FROM a LEFT JOIN b ON a.k = b.k AND (a.v + b.v) % 3 = 0",
        "SELECT a.v, b.v, b.t FROM a RIGHT JOIN b ON a.k = b.k AND concat(a.t, a.v) > concat(b.t, b.v)",
        "SELECT a.v, b.v FROM a FULL JOIN b ON a.k = b.k AND 10000 / a.v > b.v AND a.v > 5",
        "SELECT a.v FROM a WHERE EXISTS (SELECT 1 FROM b WHERE a.k = b.k AND a.v * b.v % 7 < 3)",
        "SELECT a.v FROM a WHERE NOT EXISTS (SELECT 1 FROM b WHERE a.k = b.k AND a.v * b.v % 7 < 3)",
    ];
    for sql in joins {
        set(&context, "enable", "false").await;
        let mut expected = rows_of(&answer(&context, sql).await.unwrap());
        set(&context, "enable", "true").await;
        set(&context, "force", "true").await;
        let mut found = rows_of(&answer(&context, sql).await.unwrap());
        assert!(last(&rule).0, "{sql}: {:?}", rule.decisions());
        expected.sort_unstable();
        found.sort_unstable();
        assert!(!found.is_empty() && found == expected, "{sql}");
    }

    // What it fails with is DataFusion's own error.
    let sql = "SELECT a.v, b.v FROM a LEFT JOIN b ON a.k = b.k AND 10 / ((a.v + b.v) % 5) > 1";
    let error = answer(&context, sql).await.unwrap_err();
    assert!(last(&rule).0, "{:?}", rule.decisions());
    assert!(error.to_string().contains("Divide by zero"), "{error}");
    assert!(!error.to_string().contains("gpujoin"), "{error}");
}

/// A session with so much memory for DataFusion.
fn session_of(bytes: usize) -> (SessionContext, Arc<GpuJoinRule>) {
    let pool = Arc::new(GreedyMemoryPool::new(bytes));
    let runtime = RuntimeEnvBuilder::new().with_memory_pool(pool).build_arc().unwrap();
    session(config(), runtime)
}

/// The same tables, which say that their rows lie in the order of their keys.
async fn with_ordered_tables(context: &SessionContext, rows: usize) {
    with_tables(context, rows).await;
    for table in ["a", "b"] {
        let sorted = answer(context, &format!("SELECT * FROM {table} ORDER BY k")).await.unwrap();
        answer(context, &format!("DROP TABLE {table}")).await.unwrap();
        let table_of = MemTable::try_new(sorted[0].schema(), vec![sorted]).unwrap();
        let table_of = table_of.with_sort_order(vec![vec![col("k").sort(true, false)]]);
        context.register_table(table, Arc::new(table_of)).unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn joins_whose_order_the_plan_relies_on_are_left() {
    let (context, rule) = session(config().with_target_partitions(1), runtime());
    with_ordered_tables(&context, 4000).await;
    let queries = [
        (JOIN, true),
        ("SELECT a.v % 7, count(*) FROM a JOIN b ON a.k = b.k GROUP BY a.v % 7", true),
        ("SELECT a.v + b.v AS s FROM a JOIN b ON a.k = b.k ORDER BY s DESC", true),
        ("SELECT b.k, b.v, a.v FROM a JOIN b ON a.k = b.k ORDER BY b.k", false),
        ("SELECT b.k, count(*), max(a.v) FROM a JOIN b ON a.k = b.k GROUP BY b.k", false),
    ];
    for (sql, is_taken) in queries {
        set(&context, "enable", "false").await;
        let mut expected = rows_of(&answer(&context, sql).await.unwrap());
        set(&context, "enable", "true").await;
        set(&context, "force", "true").await;
        let mut found = rows_of(&answer(&context, sql).await.unwrap());
        let (taken, reason) = last(&rule);
        assert_eq!(taken, is_taken, "{sql}: {reason}");
        assert!(taken || reason.contains("order of its rows"), "{sql}: {reason}");
        if !sql.contains("ORDER BY") {
            expected.sort_unstable();
            found.sort_unstable();
        }
        assert!(!found.is_empty() && found == expected, "{sql}");
    }
}

/// A scan of the right side is told from where to where the keys of the left one are.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn scans_are_told_the_range_of_keys() {
    let folder = std::env::temp_dir().join(format!("gpujoin-ranges-{}", std::process::id()));
    let (context, rule) = session(config(), runtime());
    for table in ["few", "many"] {
        let file = folder.join(format!("{table}.parquet"));
        let rows = if table == "few" { "range(3000, 3010)" } else { "range(0, 20000)" };
        let sql = format!(
            "COPY (SELECT value AS k, arrow_cast(value, 'Date32') AS d, value % 7 AS v FROM {rows}) \
             TO '{0}' OPTIONS (max_row_group_size 1000); \
             CREATE EXTERNAL TABLE {table} STORED AS PARQUET LOCATION '{0}'",
            file.display()
        );
        for statement in sql.split("; ") {
            answer(&context, statement).await.unwrap();
        }
    }
    for (key, first) in [("k", "3000"), ("d", "1978-03-20")] {
        let sql =
            format!("SELECT count(*), sum(many.v) FROM few JOIN many ON few.{key} = many.{key}");
        set(&context, "force", "false").await;
        let expected = rows_of(&answer(&context, &sql).await.unwrap());
        set(&context, "force", "true").await;
        assert_eq!(rows_of(&answer(&context, &sql).await.unwrap()), expected);
        assert!(last(&rule).0);
        let plan = explained(&context, &sql).await;
        let scan = plan.lines().find(|line| line.contains("many.parquet")).unwrap();
        assert!(scan.contains(&format!(" >= {first} AND {key}@")), "{scan}");
        assert!(scan.contains("20 total → 1 matched"), "{scan}");
    }
    std::fs::remove_dir_all(folder).unwrap();
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn within_the_memory_of_the_pool_rows_go_to_files() {
    const ROWS: usize = 500_000;
    let (roomy, _) = session(config(), runtime());
    with_tables(&roomy, ROWS).await;
    let expected = rows_of(&answer(&roomy, JOIN).await.unwrap());

    // DataFusion's own join does not fit.
    let (context, _) = session_of(12 << 20);
    with_tables(&context, ROWS).await;
    set(&context, "enable", "false").await;
    let error = answer(&context, JOIN).await.unwrap_err();
    assert!(error.to_string().contains("Resources exhausted"), "{error}");

    set(&context, "enable", "true").await;
    set(&context, "force", "true").await;
    assert_eq!(rows_of(&answer(&context, JOIN).await.unwrap()), expected);
    let plan = explained(&context, JOIN).await;
    let join = plan.lines().find(|line| line.contains("GpuJoinExec")).unwrap();
    assert!(!join.contains("spilled_bytes=0.0 B"), "{join}");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn without_room_for_anything_joins_are_those_of_datafusion() {
    let (context, rule) = session(config(), runtime());
    with_tables(&context, 1000).await;
    let expected = rows_of(&answer(&context, JOIN).await.unwrap());
    set(&context, "force", "true").await;
    set(&context, "memory_limit", "16K").await;
    assert_eq!(rows_of(&answer(&context, JOIN).await.unwrap()), expected);
    assert!(last(&rule).0);
    let plan = explained(&context, JOIN).await;
    assert!(plan.contains("left to HashJoinExec: "), "{plan}");
}

/// A stream that goes away takes its join with it.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn dropped_joins_stop() {
    let config = SessionConfig::new().with_target_partitions(2);
    let (context, rule) = session(config, runtime());
    with_tables(&context, 4000).await;
    set(&context, "force", "true").await;
    // 16 million pairs.
    let sql = "SELECT a.v + b.v FROM (SELECT k - k AS z, v FROM a) a \
               JOIN (SELECT k - k AS z, v FROM b) b ON a.z = b.z";
    let mut rows = context.sql(sql).await.unwrap().execute_stream().await.unwrap();
    assert!(last(&rule).0);
    assert!(rows.next().await.unwrap().unwrap().num_rows() > 0);
    drop(rows);
    let waiting = context.sql(sql).await.unwrap().collect();
    assert!(tokio::time::timeout(Duration::from_millis(20), waiting).await.is_err());
    // The library is free for the next one.
    let next = tokio::time::timeout(Duration::from_secs(60), answer(&context, JOIN));
    assert!(next.await.is_ok());
}

/// Statistics tell that: large tables of other keys are worth it on the CPU.
#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_gate_knows_where_datafusion_has_an_array() {
    let folder = std::env::temp_dir().join(format!("gpujoin-arrays-{}", std::process::id()));
    let (context, rule) = session(config(), runtime());
    set(&context, "device", "cpu").await;
    let file = folder.join("numbers.parquet");
    let sql = format!(
        "COPY (SELECT value AS dense, value * 1000003 AS sparse FROM range(0, 2000000)) \
         TO '{0}'; CREATE EXTERNAL TABLE numbers STORED AS PARQUET LOCATION '{0}'",
        file.display()
    );
    for statement in sql.split("; ") {
        answer(&context, statement).await.unwrap();
    }
    for (key, expected) in [("sparse", true), ("dense", false)] {
        let sql = format!(
            "EXPLAIN SELECT sum(a.dense), sum(a.sparse), sum(b.dense), sum(b.sparse) \
             FROM numbers a JOIN numbers b ON a.{key} = b.{key}"
        );
        answer(&context, &sql).await.unwrap();
        let (is_taken, reason) = last(&rule);
        assert_eq!(is_taken, expected, "{key}: {reason}");
    }
    // Of many threads semi joins are DataFusion's, whatever is expected of them.
    answer(&context, "SET datafusion.execution.target_partitions = 16").await.unwrap();
    let sql = "EXPLAIN SELECT sum(dense) FROM numbers \
               WHERE sparse IN (SELECT sparse FROM numbers WHERE dense > 0)";
    for (force, expected) in [("false", "semi and anti joins"), ("true", "executor=CPU")] {
        set(&context, "force", force).await;
        answer(&context, sql).await.unwrap();
        let (is_taken, reason) = last(&rule);
        assert!(reason.contains(expected), "{reason}");
        assert_eq!(is_taken, force == "true", "{reason}");
    }
    std::fs::remove_dir_all(folder).unwrap();
}
