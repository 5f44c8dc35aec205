#include "bindings/c/join_spec.hpp"

#include <string>
#include <vector>

#include "bindings/c/aggregates.hpp"
#include "bindings/c/arguments.hpp"
#include "bindings/c/asof.hpp"
#include "bindings/c/condition.hpp"
#include "bindings/c/handles.hpp"
#include "src/base/status.hpp"
#include "src/execute/derive_keys.hpp"
#include "src/execute/late_columns.hpp"

namespace gpujoin::shim {

namespace {

using base::fail;
using columns::ColumnView;
using columns::Relation;

// name: makes the argument's name, which takes longer than everything else here.
template <typename Name>
const ColumnView& column_of(const Relation& relation, int32_t index, Name name) {
  if (index < 0 || static_cast<size_t>(index) >= relation.columns.size()) {
    fail(GPUJOIN_ERROR_INVALID_ARGUMENT, "%s is %d and the relation has %zu columns",
         name().c_str(), index, relation.columns.size());
  }
  return relation.columns[static_cast<size_t>(index)];
}

std::string element(const std::string& argument, size_t index) {
  return argument + "[" + std::to_string(index) + "]";
}

void check_side_comes_out(columns::JoinKind kind, columns::RowsOfSide rows,
                          const std::vector<int32_t>& output_columns, const char* side) {
  if (rows != columns::RowsOfSide::kNone || output_columns.empty()) return;
  fail(GPUJOIN_ERROR_INVALID_ARGUMENT,
       "spec.%s_column_count is %zu and a %s join puts out no %s row", side, output_columns.size(),
       columns::to_text(kind), side);
}

columns::Bounds checked_bounds(const gpujoin_join_spec& known, bool has_no_keys) {
  constexpr int32_t kOfKeys = GPUJOIN_PROMISE_LEFT_UNIQUE | GPUJOIN_PROMISE_RIGHT_UNIQUE |
                              GPUJOIN_PROMISE_LEFT_SORTED | GPUJOIN_PROMISE_RIGHT_SORTED;
  columns::Bounds bounds;
  bounds.promises = known.promises;
  bounds.promised_rows = known.promised_rows;
  bounds.row_limit = known.row_limit;
  bounds.byte_limit = known.byte_limit;
  check_range(known.promises, 0, kOfKeys | GPUJOIN_PROMISE_ROWS, "spec.promises");
  check_range(known.promised_rows, 0, INT64_MAX, "spec.promised_rows");
  check_range(known.row_limit, 0, INT64_MAX, "spec.row_limit");
  if (has_no_keys && (known.promises & kOfKeys) != 0) {
    fail(GPUJOIN_ERROR_INVALID_ARGUMENT, "spec.promises: of keys, and the join has none");
  }
  if (known.promised_rows != 0 && (known.promises & GPUJOIN_PROMISE_ROWS) == 0) {
    fail(GPUJOIN_ERROR_INVALID_ARGUMENT,
         "spec.promised_rows is %lld and spec.promises lacks GPUJOIN_PROMISE_ROWS",
         static_cast<long long>(known.promised_rows));
  }
  return bounds;
}

}  // namespace

std::string describe(const ColumnView& column, int32_t index, const std::string& argument) {
  std::string text = argument + ": column " + std::to_string(index) + " \"" + column.name + "\"";
  bool const is_plain = column.arrow_format == columns::arrow_format_of(column.type);
  std::string const format = is_plain ? "" : " (\"" + column.arrow_format + "\")";
  if (column.type != 0) return text + " of type " + columns::name_of(column.type) + format;
  return text + " of Arrow format \"" + column.arrow_format + "\"";
}

const ColumnView& checked_column(const Relation& relation, int32_t index, const char* argument) {
  return column_of(relation, index, [&] { return std::string(argument); });
}

std::vector<int32_t> checked_keys(const Relation& relation, const int32_t* keys, int32_t count,
                                  const char* argument) {
  check_list(keys, argument);
  std::vector<int32_t> checked(keys, keys + count);
  for (size_t i = 0; i < checked.size(); ++i) {
    auto const name = [&] { return element(argument, i); };
    const ColumnView& key = column_of(relation, checked[i], name);
    if (execute::do_compare(key, key)) continue;
    fail(GPUJOIN_ERROR_TYPE, "%s cannot be a key: keys are of the types of section 5",
         describe(key, checked[i], name()).c_str());
  }
  return checked;
}

std::vector<int32_t> checked_key_flags(const int32_t* flags, int32_t count, const char* argument) {
  if (flags == nullptr) return {};
  check_list(flags, argument);
  std::vector<int32_t> checked(flags, flags + count);
  for (size_t i = 0; i < checked.size(); ++i) {
    check_range(checked[i], 0, GPUJOIN_KEY_NULL_EQUAL | GPUJOIN_KEY_IEEE_FLOAT,
                element(argument, i).c_str());
  }
  return checked;
}

void check_key_types(const Relation& left, const std::vector<int32_t>& left_keys,
                     const char* left_argument, const Relation& right,
                     const std::vector<int32_t>& right_keys, const char* right_argument) {
  for (size_t i = 0; i < left_keys.size(); ++i) {
    const ColumnView& left_key = left.columns[static_cast<size_t>(left_keys[i])];
    const ColumnView& right_key = right.columns[static_cast<size_t>(right_keys[i])];
    if (execute::do_compare(left_key, right_key)) continue;
    fail(GPUJOIN_ERROR_TYPE, "the key types do not compare: %s, %s",
         describe(left_key, left_keys[i], element(left_argument, i)).c_str(),
         describe(right_key, right_keys[i], element(right_argument, i)).c_str());
  }
}

std::vector<int32_t> checked_columns(const Relation& relation, const int32_t* indices,
                                     int32_t count, const std::string& side) {
  if (count == 0) return {};
  std::string const argument = side + "_columns";
  check_range(count, 0, INT32_MAX, (side + "_column_count").c_str());
  check_list(indices, argument.c_str());
  std::vector<int32_t> checked;
  checked.reserve(static_cast<size_t>(count));
  for (int32_t i = 0; i < count; ++i) {
    auto const name = [&] { return element(argument, static_cast<size_t>(i)); };
    const ColumnView& column = column_of(relation, indices[i], name);
    if (!execute::is_put_out(column)) {
      fail(GPUJOIN_ERROR_TYPE,
           "%s cannot be materialized: values of nested types come out by row number",
           describe(column, indices[i], name()).c_str());
    }
    checked.push_back(indices[i]);
  }
  return checked;
}

std::shared_ptr<const Relation> checked_relation(const base::Context& context,
                                                 const gpujoin_relation* handle, const char* name) {
  auto relation = checked_object(handle, name);
  if (relation->context.get() != &context) {
    fail(GPUJOIN_ERROR_INVALID_ARGUMENT, "%s was made from another context", name);
  }
  return relation;
}

namespace {

// The condition is one node: the caller's.
bool is_of_caller(const gpujoin_condition& condition) {
  return condition.node_count == 1 && condition.nodes != nullptr &&
         read_struct(condition.nodes, "spec.residual.nodes[0]").operation ==
             GPUJOIN_OPERATOR_CALLER;
}

void read_residual(const gpujoin_condition* given, const base::Context& context,
                   const Relation& left, const Relation& right, int32_t key_count,
                   columns::JoinSpec* spec) {
  if (spec->kind == columns::JoinKind::kCross) {
    fail(GPUJOIN_ERROR_INVALID_ARGUMENT,
         "spec.residual: a cross join has none; another kind without keys is a join by it");
  }
  spec->caller_decides = is_of_caller(read_struct(given, "spec.residual"));
  if (!spec->caller_decides) {
    spec->residual = std::make_shared<const columns::Condition>(
        checked_condition(given, context, left, right, "spec.residual"));
    return;
  }
  for (bool const of_left : {true, false}) {
    auto const rows = rows_of(spec->kind, of_left);
    if (rows != columns::RowsOfSide::kMarked && rows != columns::RowsOfSide::kNotIn) continue;
    fail(GPUJOIN_ERROR_UNSUPPORTED,
         "spec.residual: the caller cannot decide a %s join, which knows of unknown comparisons",
         columns::to_text(spec->kind));
  }
  if (key_count == 0) {
    fail(GPUJOIN_ERROR_UNSUPPORTED, "spec.residual: the caller cannot decide a join without keys");
  }
}

}  // namespace

columns::JoinSpec checked_spec(const gpujoin_join_spec* given, const Relation& left,
                               const Relation& right) {
  gpujoin_join_spec const known = read_struct(given, "spec");
  // Larger numbers may mean something to a later version; what is below means nothing to any.
  if (known.kind > static_cast<int32_t>(columns::kLastJoinKind)) {
    fail(GPUJOIN_ERROR_UNSUPPORTED, "spec.kind: %d; this version knows 1 to %d", known.kind,
         static_cast<int32_t>(columns::kLastJoinKind));
  }
  check_range(known.kind, GPUJOIN_JOIN_INNER, GPUJOIN_JOIN_CROSS, "spec.kind");
  columns::JoinSpec spec;
  spec.kind = static_cast<columns::JoinKind>(known.kind);
  bool const is_cross = spec.kind == columns::JoinKind::kCross;
  spec.asof = checked_asof(known, left, right);
  // A left row has one match at most.
  if (spec.asof && spec.kind == columns::JoinKind::kLeftSingle) {
    spec.kind = columns::JoinKind::kLeft;
  }
  if (known.key_count > columns::kMostKeys) {
    fail(GPUJOIN_ERROR_UNSUPPORTED, "spec.key_count: %d; this version joins on 1 to %d key columns",
         known.key_count, columns::kMostKeys);
  }
  // The relations of an estimate have no context.
  if (known.residual != nullptr) {
    read_residual(known.residual, *left.context, left, right, known.key_count, &spec);
  }
  bool const may_lack_keys = spec.residual != nullptr || spec.asof;
  bool const has_keys = !is_cross && !(may_lack_keys && known.key_count == 0);
  if (is_cross) check_range(known.key_count, 0, 0, "spec.key_count of a cross join");
  if (has_keys) check_range(known.key_count, 1, columns::kMostKeys, "spec.key_count");
  if (!has_keys) {
    spec.left_keys.clear();
    spec.right_keys.clear();
  }
  check_range(known.output, 0, GPUJOIN_OUTPUT_COLUMNS | GPUJOIN_OUTPUT_PAIRS, "spec.output");

  if (has_keys) {
    spec.left_keys = checked_keys(left, known.left_keys, known.key_count, "spec.left_keys");
    spec.right_keys = checked_keys(right, known.right_keys, known.key_count, "spec.right_keys");
    check_key_types(left, spec.left_keys, "spec.left_keys", right, spec.right_keys,
                    "spec.right_keys");
  }
  if (known.key_flags != nullptr && has_keys) {
    spec.key_flags = checked_key_flags(known.key_flags, known.key_count, "spec.key_flags");
  }
  spec.left_columns =
      checked_columns(left, known.left_columns, known.left_column_count, "spec.left");
  spec.right_columns =
      checked_columns(right, known.right_columns, known.right_column_count, "spec.right");

  check_range(known.order, GPUJOIN_ORDER_NONE, GPUJOIN_ORDER_RIGHT, "spec.order");
  spec.order = static_cast<columns::RowOrder>(known.order);
  spec.bounds = checked_bounds(known, spec.left_keys.empty());

  check_side_comes_out(spec.kind, rows_of(spec.kind, true), spec.left_columns, "left");
  check_side_comes_out(spec.kind, rows_of(spec.kind, false), spec.right_columns, "right");
  bool const named = !spec.left_columns.empty() || !spec.right_columns.empty();
  spec.pairs = known.output == 0 ? !named : (known.output & GPUJOIN_OUTPUT_PAIRS) != 0;
  spec.materialize = known.output == 0 ? named : (known.output & GPUJOIN_OUTPUT_COLUMNS) != 0;
  if (named && !spec.materialize) {
    fail(GPUJOIN_ERROR_INVALID_ARGUMENT,
         "spec.output lacks GPUJOIN_OUTPUT_COLUMNS and output columns are named");
  }
  take_aggregates(known, left, right, &spec);
  return spec;
}

gpujoin_plan_options checked_options(const gpujoin_plan_options* given,
                                     const base::Context& context) {
  if (given == nullptr) return GPUJOIN_PLAN_OPTIONS_INIT;
  gpujoin_plan_options const options = read_struct(given, "options");
  check_range(options.algorithm, GPUJOIN_ALGORITHM_AUTOMATIC, GPUJOIN_ALGORITHM_PDJ_CARRIED,
              "options.algorithm");
  check_range(options.transform, 0, GPUJOIN_TRANSFORM_WRITE_COMBINED, "options.transform");
  check_range(options.match, 0, GPUJOIN_MATCH_MERGE_TILES, "options.match");
  check_range(options.gather, 0, GPUJOIN_GATHER_CARRIED_ROWS, "options.gather");
  check_range(options.build_side, 0, GPUJOIN_SIDE_RIGHT, "options.build_side");
  check_range(options.radix_bits, 0, 16, "options.radix_bits");
  check_range(options.transfer, 0, GPUJOIN_TRANSFER_PROBE_CHUNKS, "options.transfer");
  check_range(options.skew, 0, GPUJOIN_SKEW_CHILD_KERNELS, "options.skew");
  check_range(options.output, 0, GPUJOIN_OUTPUT_ESTIMATED_GROUPS, "options.output");
  check_range(options.passes, 0, 2, "options.passes");
  check_range(options.page_pairs, 0, 1 << 20, "options.page_pairs");
  check_range(options.filter, 0, GPUJOIN_FILTER_KEY_HASHES, "options.filter");
  check_range(options.probe_chunk_rows, 0, UINT32_MAX - 1, "options.probe_chunk_rows");
  check_range(options.timeout_milliseconds, 0, INT64_MAX, "options.timeout_milliseconds");
  is_on_gpu(options.device, context);
  return options;
}

bool is_on_gpu(gpujoin_device device, const base::Context& context) {
  check_range(device, GPUJOIN_DEVICE_AUTOMATIC, GPUJOIN_DEVICE_CPU, "options.device");
  if (device == GPUJOIN_DEVICE_CUDA && !context.is_cuda()) {
    fail(GPUJOIN_ERROR_NO_DEVICE, "options.device is CUDA and the context runs on the CPU: %s",
         context.reason.c_str());
  }
  return context.is_cuda() && device != GPUJOIN_DEVICE_CPU;
}

}  // namespace gpujoin::shim
