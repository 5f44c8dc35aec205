#include "bench/join_call.hpp"

#include <algorithm>
#include <stdexcept>

#include "bench/result_pages.hpp"

namespace gpujoin::bench {

namespace {

constexpr int32_t kKeyColumn = 0;  // payloads follow, then further key columns

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

// Where the call finds its inputs: a CPU has one memory, and a CPU plan wants the host's.
Residence residence_of(const Machine& machine, const Cell& cell, const gpujoin_plan_options& plan) {
  if (machine.device() == GPUJOIN_DEVICE_CPU) return Residence::kMachine;
  if (plan.device == GPUJOIN_DEVICE_CPU && cell.residence == Residence::kMachine) {
    return Residence::kPageable;
  }
  return cell.residence;
}

// Results of these lie in host memory already.
bool ends_on_host(const gpujoin_plan_options& plan) {
  return plan.device == GPUJOIN_DEVICE_CPU || plan.transfer == GPUJOIN_TRANSFER_PROBE_CHUNKS;
}

// On the CPU every host column is read in place.
bool is_in_place(const Machine& machine, const Cell& cell, const gpujoin_plan_options& plan) {
  if (machine.device() == GPUJOIN_DEVICE_CPU || plan.device == GPUJOIN_DEVICE_CPU) return true;
  return cell.residence == Residence::kMachine && !ends_on_host(plan);
}

std::vector<int32_t> key_columns(const Columns& columns) {
  std::vector<int32_t> keys = {kKeyColumn};
  for (int32_t i = 1; i <= columns.more_key_count; ++i) keys.push_back(columns.payload_count + i);
  return keys;
}

// Requests for the output: R's payloads, S's keys and payloads.
std::vector<gpujoin_fetch> column_fetches(const Columns& build, const Columns& probe, int64_t rows,
                                          gpujoin_memory memory) {
  std::vector<gpujoin_fetch> fetches;
  const auto add = [&](const Values& values) {
    gpujoin_fetch fetch = GPUJOIN_FETCH_INIT;
    fetch.what = GPUJOIN_FETCH_COLUMN;
    fetch.column = static_cast<int32_t>(fetches.size());
    fetch.data = values.data;
    fetch.data_bytes = static_cast<uint64_t>(rows) * static_cast<uint64_t>(values.bytes);
    fetch.memory = memory;
    fetches.push_back(fetch);
  };
  for (int i = 0; i < build.payload_count; ++i) add(build.payloads[i]);
  for (const Values& values : all_values(probe)) add(values);
  return fetches;
}

std::vector<gpujoin_fetch> pair_fetches(void* left, void* right, int64_t rows,
                                        gpujoin_memory memory) {
  std::vector<gpujoin_fetch> fetches(2, GPUJOIN_FETCH_INIT);
  fetches[0].what = GPUJOIN_FETCH_LEFT_INDEX;
  fetches[0].data = left;
  fetches[1].what = GPUJOIN_FETCH_RIGHT_INDEX;
  fetches[1].data = right;
  for (gpujoin_fetch& fetch : fetches) {
    fetch.type = GPUJOIN_TYPE_UINT32;
    fetch.data_bytes = static_cast<uint64_t>(rows) * sizeof(uint32_t);
    fetch.memory = memory;
  }
  return fetches;
}

}  // namespace

JoinCall::JoinCall(gpujoin_context* context, Machine& machine, CellDataSource& source,
                   const Cell& cell, const gpujoin_plan_options& options)
    : context_(context),
      machine_(machine),
      data_(source.data_of(cell)),
      options_(options),
      is_in_place_(is_in_place(machine, cell, options)),
      build_keys_(key_columns(data_.build)),
      probe_keys_(key_columns(data_.probe)) {
  const Residence residence = residence_of(machine, cell, options);
  const bool is_copied = residence != Residence::kMachine;
  const HostCopy* copy = is_copied ? &source.copy_of(cell, residence) : nullptr;
  const gpujoin_memory memory = machine.memory(residence);
  build_ = relate(is_copied ? copy->build : data_.build, data_.cell.build_rows, memory);
  probe_ = relate(is_copied ? copy->probe : data_.probe, data_.cell.probe_rows, memory);
  if (cell.is_fetched && !ends_on_host(options)) prepare_fetch();
  if (data_.cell.is_pairs) return;
  for (int32_t i = 1; i <= data_.cell.build_payloads; ++i) build_columns_.push_back(i);
  probe_columns_ = probe_keys_;
  for (int32_t i = 1; i <= data_.cell.probe_payloads; ++i) probe_columns_.push_back(i);
}

Relation JoinCall::relate(const Columns& columns, int64_t rows, gpujoin_memory memory) const {
  std::vector<gpujoin_column> described;
  const auto describe = [&](const Values& values, const char* name) {
    gpujoin_column column = GPUJOIN_COLUMN_INIT;
    column.type = type_of(values.bytes);
    column.data = values.data;
    column.memory = memory;
    column.name = name;
    described.push_back(column);
  };
  describe(columns.key, "key");
  described.back().validity = reinterpret_cast<const uint8_t*>(columns.key_bits);
  for (int i = 0; i < columns.payload_count; ++i) describe(columns.payloads[i], "payload");
  for (int i = 0; i < columns.more_key_count; ++i) describe(columns.more_keys[i], "key");

  gpujoin_relation* relation = nullptr;
  call("describe a relation", gpujoin_relation_create, context_, rows, described.data(),
       static_cast<int32_t>(described.size()), &relation);
  return Relation(relation);
}

void JoinCall::prepare_fetch() {
  const auto rows = static_cast<int64_t>(data_.expected.rows);
  const gpujoin_memory memory = machine_.memory(Residence::kPinned);
  if (data_.cell.is_pairs) {
    const uint64_t bytes = data_.expected.rows * sizeof(uint32_t);
    for (int i = 0; i < 2; ++i) fetched_.emplace_back(machine_, bytes, Residence::kPinned);
    fetches_ = pair_fetches(fetched_[0].data(), fetched_[1].data(), rows, memory);
    return;
  }
  const Columns to_build = allocate_columns(machine_, fetched_, rows,
                                            build_output_shape(data_.cell), Residence::kPinned);
  const Columns to_probe =
      allocate_columns(machine_, fetched_, rows, probe_shape(data_.cell), Residence::kPinned);
  fetches_ = column_fetches(to_build, to_probe, rows, memory);
}

Result JoinCall::call_library() const {
  gpujoin_join_spec spec = GPUJOIN_JOIN_SPEC_INIT;
  spec.kind = GPUJOIN_JOIN_INNER;
  spec.key_count = static_cast<int32_t>(build_keys_.size());
  spec.left_keys = build_keys_.data();
  spec.right_keys = probe_keys_.data();
  spec.output = data_.cell.is_pairs ? GPUJOIN_OUTPUT_PAIRS : GPUJOIN_OUTPUT_COLUMNS;
  spec.left_columns = build_columns_.data();
  spec.right_columns = probe_columns_.data();
  spec.left_column_count = static_cast<int32_t>(build_columns_.size());
  spec.right_column_count = static_cast<int32_t>(probe_columns_.size());

  gpujoin_result* result = nullptr;
  call("join", gpujoin_join, context_, build_.get(), probe_.get(), &spec, &options_, &result);
  return Result(result);
}

void JoinCall::fetch(gpujoin_result* result) const {
  if (fetches_.empty() || rows_of(result) != data_.expected.rows) return;
  std::vector<gpujoin_fetch> fetches = fetches_;
  call("fetch the result", gpujoin_result_fetch, result, nullptr, fetches.data(),
       static_cast<int32_t>(fetches.size()));
}

Sums JoinCall::sum_columns(gpujoin_result* result, int64_t rows) const {
  const int64_t page_rows = std::min(rows, kPageRows);
  std::vector<Memory> memory;
  const Columns probe = allocate_columns(machine_, memory, page_rows, probe_shape(data_.cell));
  const Columns build =
      allocate_columns(machine_, memory, page_rows, build_output_shape(data_.cell));
  std::vector<gpujoin_fetch> fetches = column_fetches(build, probe, page_rows, machine_.memory());

  Sums sums;
  const CheckColumns check{data_.workload, build, probe};
  fetch_pages(result, fetches, [&](uint64_t fetched) { sums.add(machine_.run(check, fetched)); });
  return sums;
}

Sums JoinCall::sum_pairs(gpujoin_result* result, int64_t rows) const {
  const int64_t page_rows = std::min(rows, kPageRows);
  const uint64_t bytes = static_cast<uint64_t>(page_rows) * sizeof(uint32_t);
  const Memory left(machine_, bytes), right(machine_, bytes);
  std::vector<gpujoin_fetch> fetches =
      pair_fetches(left.data(), right.data(), page_rows, machine_.memory());

  Sums sums;
  const CheckPairs check{data_.build.key,
                         data_.probe.key,
                         static_cast<uint64_t>(data_.cell.build_rows),
                         static_cast<uint64_t>(data_.cell.probe_rows),
                         static_cast<const uint32_t*>(left.data()),
                         static_cast<const uint32_t*>(right.data())};
  fetch_pages(result, fetches, [&](uint64_t fetched) { sums.add(machine_.run(check, fetched)); });
  return sums;
}

std::optional<uint64_t> JoinCall::output_row_bytes() const {
  if (!is_in_place_) return std::nullopt;
  if (data_.cell.is_pairs) return 2 * sizeof(uint32_t);
  uint64_t bytes = 0;
  for (int i = 0; i < data_.build.payload_count; ++i) {
    bytes += static_cast<uint64_t>(data_.build.payloads[i].bytes);
  }
  for (const Values& values : all_values(data_.probe)) bytes += static_cast<uint64_t>(values.bytes);
  return bytes;
}

std::string JoinCall::find_fault(gpujoin_result* result) const {
  const uint64_t rows = rows_of(result);
  const auto expected_rows = data_.expected.rows;
  if (rows != expected_rows) {
    return "WRONG RESULT: " + std::to_string(rows) + " rows instead of " +
           std::to_string(expected_rows);
  }
  const auto signed_rows = static_cast<int64_t>(rows);
  const Sums sums =
      data_.cell.is_pairs ? sum_pairs(result, signed_rows) : sum_columns(result, signed_rows);
  if (sums.errors != 0) {
    return "WRONG RESULT: " + std::to_string(sums.errors) + " rows that do not belong together";
  }
  if (sums.rows != expected_rows || sums.hash != data_.expected.hash) {
    return "WRONG RESULT: rows are missing and others doubled, or paired wrongly";
  }
  return "";
}

}  // namespace gpujoin::bench
