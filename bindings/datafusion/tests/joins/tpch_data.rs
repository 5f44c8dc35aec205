//! The queries and the tables of TPC-H.
//!
//! GPUJOIN_TPCH_SCALE is the scale factor, by default 0.01; GPUJOIN_TPCH_FOLDER keeps the tables.

use std::path::{Path, PathBuf};
use std::process::Command;

use datafusion::prelude::{ParquetReadOptions, SessionContext};

const QUERIES: &str = include_str!("../../../duckdb/tests/tpch.sql");
const TABLES: [&str; 8] =
    ["customer", "lineitem", "nation", "orders", "part", "partsupp", "region", "supplier"];

/// Queries by number.
pub fn queries() -> Vec<(usize, String)> {
    let mut queries: Vec<(usize, String)> = Vec::new();
    for line in QUERIES.lines() {
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
        let mut folders = Path::new(env!("CARGO_MANIFEST_DIR")).ancestors();
        let generator = folders.find_map(|folder| {
            let path = folder.join(".venv/bin/tpcgen-cli");
            path.exists().then_some(path)
        });
        let output = format!("--output-dir={}", folder.display());
        let run = Command::new(generator.unwrap())
            .args(["tpch", "parquet", "-s", &scale, &output])
            .output();
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
