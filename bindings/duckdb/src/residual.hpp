// residual.hpp: what rows with equal keys have to fulfil besides, as a condition of the library.
#pragma once

#include <duckdb/planner/expression.hpp>
#include <string>
#include <vector>

#include "bindings/duckdb/src/join_layout.hpp"

namespace gpujoin_duckdb {

// The position of `expression`, over the rows of one side, among that side's columns, which it is
// added to where it is not there. Throws Declined for a type that the library does not take.
int32_t column_of(SideLayout& side, const duckdb::Expression& expression);

// "left comparison right" of two expressions over one side each, to be and-ed with what is there.
// Throws Declined.
void add_comparison(JoinLayout& layout, const duckdb::Expression& left,
                    const duckdb::Expression& right, duckdb::ExpressionType comparison);

// Any other predicate; columns of the right side are numbered from left_columns on. What reads one
// side alone becomes a column that DuckDB computes. Throws Declined where another function reads
// both.
void add_predicate(JoinLayout& layout, const duckdb::Expression& predicate, size_t left_columns);

}  // namespace gpujoin_duckdb
