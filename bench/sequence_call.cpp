#include "bench/sequence_call.hpp"

#include <algorithm>

#include "bench/result_pages.hpp"

namespace gpujoin::bench {

namespace {

constexpr int kBytes = 4;  // of every column
constexpr uint64_t kDimensionSeed = 0x9b05688c2b3e6c1f;

constexpr int32_t kKeyColumn = 0;
constexpr int32_t kPayloadColumn = 1;
constexpr int32_t kIdColumn = 0;

int32_t foreign_key_column(int join) { return join + 1; }

}  // namespace

SequenceCall::SequenceCall(gpujoin_context* context, Machine& machine, const Sequence& sequence,
                           int joins, const gpujoin_plan_options& options)
    : context_(context), machine_(machine), sequence_(sequence), joins_(joins), options_(options) {
  make_fact();
  for (int join = 0; join < joins_; ++join) make_dimension(join);
}

Values SequenceCall::allocate(uint64_t rows) {
  memory_.emplace_back(machine_, rows * kBytes);
  return {memory_.back().data(), kBytes};
}

Relation SequenceCall::describe_relation(const std::vector<Values>& columns, uint64_t rows) const {
  std::vector<gpujoin_column> described;
  for (const Values& values : columns) {
    gpujoin_column column = GPUJOIN_COLUMN_INIT;
    column.type = GPUJOIN_TYPE_INT32;
    column.data = values.data;
    column.memory = machine_.memory();
    described.push_back(column);
  }
  gpujoin_relation* relation = nullptr;
  call("describe a relation", gpujoin_relation_create, context_, static_cast<int64_t>(rows),
       described.data(), static_cast<int32_t>(described.size()), &relation);
  return Relation(relation);
}

void SequenceCall::make_fact() {
  FillFact fill{sequence_, joins_, allocate(sequence_.fact_rows), {}};
  std::vector<Values> columns = {fill.id};
  for (int join = 0; join < joins_; ++join) {
    fill.foreign_keys[join] = allocate(sequence_.fact_rows);
    columns.push_back(fill.foreign_keys[join]);
  }
  expected_hash_ = machine_.run(fill, sequence_.fact_rows).hash;
  fact_ = describe_relation(columns, sequence_.fact_rows);
}

void SequenceCall::make_dimension(int join) {
  const uint64_t rows = sequence_.dimension_rows;
  const FillDimension fill{Permutation(rows, kDimensionSeed + static_cast<uint64_t>(join)), join,
                           allocate(rows), allocate(rows)};
  machine_.run(fill, rows);
  dimensions_.push_back(describe_relation({fill.key, fill.payload}, rows));
}

Result SequenceCall::call_library() const {
  std::vector<int32_t> foreign_keys;
  for (int join = 0; join < joins_; ++join) foreign_keys.push_back(foreign_key_column(join));
  std::vector<gpujoin_sequence_step> steps;
  for (int join = 0; join < joins_; ++join) {
    gpujoin_sequence_step step = GPUJOIN_SEQUENCE_STEP_INIT;
    step.key_count = 1;
    step.dimension = dimensions_[static_cast<size_t>(join)].get();
    step.fact_keys = &foreign_keys[static_cast<size_t>(join)];
    step.dimension_keys = &kKeyColumn;
    step.dimension_columns = &kPayloadColumn;
    step.dimension_column_count = 1;
    steps.push_back(step);
  }
  gpujoin_sequence_spec spec = GPUJOIN_SEQUENCE_SPEC_INIT;
  spec.step_count = joins_;
  spec.steps = steps.data();
  spec.fact_columns = &kIdColumn;
  spec.fact_column_count = 1;
  spec.output = GPUJOIN_OUTPUT_COLUMNS;
  // As the paper does it, unless all is the library's choice.
  spec.materialize = options_.algorithm == GPUJOIN_ALGORITHM_AUTOMATIC
                         ? GPUJOIN_MATERIALIZE_AUTOMATIC
                         : GPUJOIN_MATERIALIZE_AS_THEY_COME;

  gpujoin_result* result = nullptr;
  call("join a sequence", gpujoin_join_sequence, context_, fact_.get(), &spec, &options_, &result);
  return Result(result);
}

std::string SequenceCall::find_fault(gpujoin_result* result) const {
  const uint64_t rows = rows_of(result);
  if (rows != sequence_.fact_rows) {
    return "WRONG RESULT: " + std::to_string(rows) + " rows instead of " +
           std::to_string(sequence_.fact_rows);
  }
  const uint64_t page_rows = std::min<uint64_t>(rows, kPageRows);
  std::vector<Memory> memory;
  std::vector<gpujoin_fetch> fetches;
  const auto page_column = [&] {
    memory.emplace_back(machine_, page_rows * kBytes);
    gpujoin_fetch fetch = GPUJOIN_FETCH_INIT;
    fetch.what = GPUJOIN_FETCH_COLUMN;
    fetch.column = static_cast<int32_t>(fetches.size());
    fetch.data = memory.back().data();
    fetch.data_bytes = page_rows * kBytes;
    fetch.memory = machine_.memory();
    fetches.push_back(fetch);
    return Values{memory.back().data(), kBytes};
  };
  CheckSequence check{sequence_, joins_, page_column(), {}};
  for (int join = 0; join < joins_; ++join) check.payloads[join] = page_column();

  Sums sums;
  fetch_pages(result, fetches, [&](uint64_t fetched) { sums.add(machine_.run(check, fetched)); });
  if (sums.errors != 0) {
    return "WRONG RESULT: " + std::to_string(sums.errors) + " rows that do not belong together";
  }
  return sums.hash == expected_hash_ ? "" : "WRONG RESULT: rows are missing and others doubled";
}

int64_t SequenceCall::input_rows() const {
  return static_cast<int64_t>(sequence_.fact_rows +
                              static_cast<uint64_t>(joins_) * sequence_.dimension_rows);
}

int64_t SequenceCall::largest_input() const {
  return static_cast<int64_t>(std::max(sequence_.fact_rows, sequence_.dimension_rows));
}

}  // namespace gpujoin::bench
