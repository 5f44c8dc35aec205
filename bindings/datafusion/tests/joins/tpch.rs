//! The 22 queries of TPC-H with unchanged SQL.
//!
//! GPUJOIN_TPCH_SCALE is the scale factor, by default 0.01; GPUJOIN_TPCH_FOLDER keeps the tables.

use std::path::{Path, PathBuf};
use std::process::Command;

use datafusion::prelude::{ParquetReadOptions, SessionContext};

use crate::sessions::{answer, config, rows_of, runtime, session, set};

const TABLES: [&str; 8] =
    ["customer", "lineitem", "nation", "orders", "part", "partsupp", "region", "supplier"];

/// Settings by name: what is tried is the same answer with each.
const MODES: [(&str, &[(&str, &str)]); 4] = [
    ("off", &[("enable", "false")]),
    ("on", &[]),
    ("forced", &[("force", "true")]),
    ("forced, little memory", &[("force", "true"), ("memory_limit", "64M")]),
];

/// Queries by number.
pub fn queries() -> Vec<(usize, String)> {
    let path = Path::new(env!("CARGO_MANIFEST_DIR")).join("../duckdb/tests/tpch.sql");
    let text = std::fs::read_to_string(path).unwrap();
    let mut queries: Vec<(usize, String)> = Vec::new();
    for line in text.lines() {
        match line.strip_prefix("-- ").and_then(|rest| rest.parse().ok()) {
            Some(number) => queries.push((number, String::new())),
            None if line.starts_with("--") => {}
            None => {
                if let Some((_, query)) = queries.last_mut() {
                    query.push_str(line);
                    query.push('\n');
                }
            }
        }
    }
    queries
}

pub fn tables() -> PathBuf {
    let scale = std::env::var("GPUJOIN_TPCH_SCALE").unwrap_or_else(|_| "0.01".into());
    let folder = match std::env::var("GPUJOIN_TPCH_FOLDER") {
        Ok(folder) => PathBuf::from(folder),
        Err(_) => Path::new(env!("CARGO_TARGET_TMPDIR")).join(format!("tpch-{scale}")),
    };
    if !folder.join("lineitem.parquet").exists() {
        let generator = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../.venv/bin/tpcgen-cli");
        let output = format!("--output-dir={}", folder.display());
        let run = Command::new(generator).args(["tpch", "parquet", "-s", &scale, &output]).output();
        assert!(run.unwrap().status.success());
    }
    folder
}

pub async fn register(context: &SessionContext) {
    let folder = tables();
    for table in TABLES {
        let path = folder.join(format!("{table}.parquet"));
        let options = ParquetReadOptions::default();
        context.register_parquet(table, path.to_str().unwrap(), options).await.unwrap();
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_query_has_the_same_answer_in_each_mode() {
    let (context, rule) = session(config(), runtime());
    register(&context).await;
    let queries = queries();
    assert_eq!(queries.len(), 22);
    let (mut taken, mut left) = (0, Vec::new());
    for (number, sql) in queries {
        let started = std::time::Instant::now();
        let mut expected = Vec::new();
        for (mode, settings) in MODES {
            set(&context, "enable", "true").await;
            set(&context, "force", "false").await;
            set(&context, "memory_limit", "0").await;
            for (setting, value) in settings {
                set(&context, setting, value).await;
            }
            let found = answer(&context, &sql).await;
            let found = rows_of(&found.unwrap_or_else(|error| panic!("{number} {mode}: {error}")));
            if mode == "off" {
                assert!(!found.is_empty(), "{number}");
                expected = found;
                continue;
            }
            assert_eq!(found, expected, "{number} {mode}: {:#?}", rule.decisions());
            if mode == "forced" {
                for decision in rule.decisions() {
                    if decision.taken {
                        taken += 1;
                    } else {
                        left.push(format!("{number}: {decision:?}"));
                    }
                }
            }
        }
        println!("query {number}: {:.1} s", started.elapsed().as_secs_f64());
    }
    println!("{taken} joins taken, {} left", left.len());
    assert!(left.is_empty(), "{left:#?}");
    assert!(taken >= 50, "{taken}");
}
