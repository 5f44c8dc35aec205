// duckdb_versions.hpp: what the versions of DuckDB that the extension is built for call
// differently, under one name for each.
#pragma once

#if GPUJOIN_DUCKDB_MAJOR >= 2
#include "bindings/duckdb/src/duckdb_2.hpp"
#else
#include "bindings/duckdb/src/duckdb_1.hpp"
#endif
