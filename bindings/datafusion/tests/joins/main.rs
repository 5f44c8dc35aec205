//! Joins on the library against those of DataFusion.

mod random_joins;
mod sessions;
mod settings;
mod tpch;
