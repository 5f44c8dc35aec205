//! A scheduler and two executors, each a process of its own, against DataFusion in this one.

mod joins;
mod lost_executor;
mod processes;
#[allow(dead_code)] // The tests of the DataFusion host use the rest.
#[path = "../../../tests/joins/sessions.rs"]
mod sessions;
mod tpch;
#[path = "../../../tests/joins/tpch_data.rs"]
mod tpch_data;
