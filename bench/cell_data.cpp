#include "bench/cell_data.hpp"

#include <stdexcept>

namespace gpujoin::bench {

namespace {

Values allocate_values(Machine& machine, std::vector<Memory>& memory, int64_t rows, int bytes) {
  memory.emplace_back(machine, static_cast<uint64_t>(rows) * static_cast<uint64_t>(bytes));
  return {memory.back().data(), bytes};
}

Sums expect(Machine& machine, const CellData& data) {
  const uint64_t distinct = data.workload.distinct;
  const Memory counts(machine, distinct * sizeof(uint32_t));
  const Memory weights(machine, distinct * sizeof(uint64_t));
  machine.zero(counts.data(), distinct * sizeof(uint32_t));
  machine.zero(weights.data(), distinct * sizeof(uint64_t));
  auto* count = static_cast<uint32_t*>(counts.data());
  auto* weight = static_cast<uint64_t*>(weights.data());

  const bool is_pairs = data.cell.is_pairs;
  const Sums built = machine.run(CountBuild{data.workload, data.build, is_pairs, count, weight},
                                 static_cast<uint64_t>(data.cell.build_rows));
  const Sums sums = machine.run(ExpectProbe{data.workload, data.probe, is_pairs, count, weight},
                                static_cast<uint64_t>(data.cell.probe_rows));
  if (built.errors + sums.errors != 0) throw std::logic_error("generated a key out of range");
  return sums;
}

}  // namespace

Columns allocate_columns(Machine& machine, std::vector<Memory>& memory, int64_t rows, int key_bytes,
                         int payload_count, int payload_bytes) {
  Columns columns;
  columns.key = allocate_values(machine, memory, rows, key_bytes);
  columns.payload_count = payload_count;
  for (int column = 0; column < payload_count; ++column) {
    columns.payloads[column] = allocate_values(machine, memory, rows, payload_bytes);
  }
  return columns;
}

CellData::CellData(Machine& machine, const Cell& cell_) : cell(cell_), workload(cell_) {
  build = allocate_columns(machine, memory, cell.build_rows, cell.key_bytes, cell.build_payloads,
                           cell.build_payload_bytes);
  probe = allocate_columns(machine, memory, cell.probe_rows, cell.key_bytes, cell.probe_payloads,
                           cell.probe_payload_bytes);
  machine.run(FillBuild{workload, build}, static_cast<uint64_t>(cell.build_rows));
  machine.run(FillProbe{workload, probe}, static_cast<uint64_t>(cell.probe_rows));
  expected = expect(machine, *this);
}

}  // namespace gpujoin::bench
