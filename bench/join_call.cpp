#include "bench/join_call.hpp"

#include <algorithm>
#include <stdexcept>

namespace gpujoin::bench {

namespace {

constexpr int32_t kKeyColumn = 0;  // payloads follow

// Rows that are checked at one time, which bounds the memory that the check needs.
constexpr int64_t kPageRows = int64_t{1} << 25;

gpujoin_type type_of(int bytes) {
  switch (bytes) {
    case 1:
      return GPUJOIN_TYPE_INT8;
    case 2:
      return GPUJOIN_TYPE_INT16;
    case 4:
      return GPUJOIN_TYPE_INT32;
    case 8:
      return GPUJOIN_TYPE_INT64;
    default:
      return GPUJOIN_TYPE_BYTES16;
  }
}

gpujoin_fetch fetch_into(const Values& values, const Machine& machine, int32_t what) {
  gpujoin_fetch fetch = GPUJOIN_FETCH_INIT;
  fetch.what = what;
  fetch.data = values.data;
  fetch.memory = machine.memory();
  return fetch;
}

// Calls each_page(rows) for one page of the result after the other, fetched into the same buffers.
template <class EachPage>
void fetch_pages(gpujoin_result* result, std::vector<gpujoin_fetch>& fetches,
                 const EachPage& each_page) {
  gpujoin_page page = GPUJOIN_PAGE_INIT;
  page.max_rows = kPageRows;
  while (true) {
    call("fetch the result", gpujoin_result_fetch, result, &page, fetches.data(),
         static_cast<int32_t>(fetches.size()));
    if (page.rows == 0) return;
    for (const gpujoin_fetch& fetch : fetches) {
      if (fetch.null_count != 0) throw std::runtime_error("the result has NULLs");
    }
    each_page(static_cast<uint64_t>(page.rows));
  }
}

}  // namespace

JoinCall::JoinCall(gpujoin_context* context, const Machine& machine, const CellData& data)
    : context_(context),
      data_(data),
      build_(relate(machine, data.build, data.cell.build_rows)),
      probe_(relate(machine, data.probe, data.cell.probe_rows)) {
  if (data.cell.is_pairs) return;
  for (int32_t i = 1; i <= data.cell.build_payloads; ++i) build_columns_.push_back(i);
  probe_columns_.push_back(kKeyColumn);
  for (int32_t i = 1; i <= data.cell.probe_payloads; ++i) probe_columns_.push_back(i);
}

Relation JoinCall::relate(const Machine& machine, const Columns& columns, int64_t rows) const {
  std::vector<gpujoin_column> described;
  const auto describe = [&](const Values& values, const char* name) {
    gpujoin_column column = GPUJOIN_COLUMN_INIT;
    column.type = type_of(values.bytes);
    column.data = values.data;
    column.memory = machine.memory();
    column.name = name;
    described.push_back(column);
  };
  describe(columns.key, "key");
  for (int i = 0; i < columns.payload_count; ++i) describe(columns.payloads[i], "payload");

  gpujoin_relation* relation = nullptr;
  call("describe a relation", gpujoin_relation_create, context_, rows, described.data(),
       static_cast<int32_t>(described.size()), &relation);
  return Relation(relation);
}

Result JoinCall::join(const gpujoin_plan_options& options) const {
  gpujoin_join_spec spec = GPUJOIN_JOIN_SPEC_INIT;
  spec.kind = GPUJOIN_JOIN_INNER;
  spec.key_count = 1;
  spec.left_keys = spec.right_keys = &kKeyColumn;
  spec.output = data_.cell.is_pairs ? GPUJOIN_OUTPUT_PAIRS : GPUJOIN_OUTPUT_COLUMNS;
  spec.left_columns = build_columns_.data();
  spec.right_columns = probe_columns_.data();
  spec.left_column_count = static_cast<int32_t>(build_columns_.size());
  spec.right_column_count = static_cast<int32_t>(probe_columns_.size());

  gpujoin_result* result = nullptr;
  call("join", gpujoin_join, context_, build_.get(), probe_.get(), &spec, &options, &result);
  return Result(result);
}

Sums JoinCall::sum_columns(Machine& machine, gpujoin_result* result, int64_t rows) const {
  const Cell& cell = data_.cell;
  const int64_t page_rows = std::min(rows, kPageRows);
  std::vector<Memory> memory;
  const Columns probe = allocate_columns(machine, memory, page_rows, cell.key_bytes,
                                         cell.probe_payloads, cell.probe_payload_bytes);
  const Columns build = allocate_columns(machine, memory, page_rows, cell.key_bytes,
                                         cell.build_payloads, cell.build_payload_bytes);

  std::vector<gpujoin_fetch> fetches;
  const auto add = [&](const Values& values) {
    gpujoin_fetch fetch = fetch_into(values, machine, GPUJOIN_FETCH_COLUMN);
    fetch.column = static_cast<int32_t>(fetches.size());
    fetch.data_bytes = static_cast<uint64_t>(page_rows) * static_cast<uint64_t>(values.bytes);
    fetches.push_back(fetch);
  };
  for (int i = 0; i < build.payload_count; ++i) add(build.payloads[i]);
  add(probe.key);
  for (int i = 0; i < probe.payload_count; ++i) add(probe.payloads[i]);

  Sums sums;
  const CheckColumns check{data_.workload, build, probe};
  fetch_pages(result, fetches, [&](uint64_t fetched) { sums.add(machine.run(check, fetched)); });
  return sums;
}

Sums JoinCall::sum_pairs(Machine& machine, gpujoin_result* result, int64_t rows) const {
  const uint64_t bytes = static_cast<uint64_t>(std::min(rows, kPageRows)) * sizeof(uint32_t);
  const Memory left(machine, bytes), right(machine, bytes);
  std::vector<gpujoin_fetch> fetches = {
      fetch_into({left.data(), 4}, machine, GPUJOIN_FETCH_LEFT_INDEX),
      fetch_into({right.data(), 4}, machine, GPUJOIN_FETCH_RIGHT_INDEX)};
  for (gpujoin_fetch& fetch : fetches) {
    fetch.type = GPUJOIN_TYPE_UINT32;
    fetch.data_bytes = bytes;
  }

  Sums sums;
  const CheckPairs check{data_.build.key,
                         data_.probe.key,
                         static_cast<uint64_t>(data_.cell.build_rows),
                         static_cast<uint64_t>(data_.cell.probe_rows),
                         static_cast<const uint32_t*>(left.data()),
                         static_cast<const uint32_t*>(right.data())};
  fetch_pages(result, fetches, [&](uint64_t fetched) { sums.add(machine.run(check, fetched)); });
  return sums;
}

std::string JoinCall::find_fault(Machine& machine, gpujoin_result* result) const {
  int64_t rows = 0;
  call("count the result", gpujoin_result_get_rows, result, &rows);
  const auto expected_rows = data_.expected.rows;
  if (static_cast<uint64_t>(rows) != expected_rows) {
    return "WRONG RESULT: " + std::to_string(rows) + " rows instead of " +
           std::to_string(expected_rows);
  }
  const Sums sums =
      data_.cell.is_pairs ? sum_pairs(machine, result, rows) : sum_columns(machine, result, rows);
  if (sums.errors != 0) {
    return "WRONG RESULT: " + std::to_string(sums.errors) + " rows that do not belong together";
  }
  if (sums.rows != expected_rows || sums.hash != data_.expected.hash) {
    return "WRONG RESULT: rows are missing and others doubled, or paired wrongly";
  }
  return "";
}

}  // namespace gpujoin::bench
