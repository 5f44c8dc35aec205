//! Joins on the library against those of DataFusion.

#[path = "../../../rust/gpujoin/tests/cases/arrays.rs"]
mod arrays;
mod cases;
mod random_joins;
mod sessions;
mod settings;
mod sqllogictests;
#[path = "../../../rust/gpujoin/tests/cases/text.rs"]
mod text;
mod times;
mod tpch;
mod tpch_data;
