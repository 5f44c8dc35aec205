#include "bench/cell_data.hpp"

#include <stdexcept>

namespace gpujoin::bench {

namespace {

uint64_t bytes_of(const Values& values, int64_t rows) {
  return static_cast<uint64_t>(rows) * static_cast<uint64_t>(values.bytes);
}

Columns shape_of(const Cell& cell, int payloads, int key_payloads, int payload_bytes) {
  Columns shape;
  shape.key.bytes = cell.key_bytes;
  shape.more_key_count = cell.key_columns - 1;
  for (Values& values : shape.more_keys) values.bytes = cell.key_bytes;
  shape.payload_count = payloads;
  for (int i = 0; i < payloads; ++i) {
    shape.payloads[i].bytes = i < key_payloads ? cell.key_bytes : payload_bytes;
  }
  return shape;
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

Columns build_shape(const Cell& cell) {
  return shape_of(cell, cell.build_payloads, cell.build_key_payloads, cell.build_payload_bytes);
}

Columns probe_shape(const Cell& cell) {
  return shape_of(cell, cell.probe_payloads, cell.probe_key_payloads, cell.probe_payload_bytes);
}

Columns build_output_shape(const Cell& cell) {
  Columns shape = build_shape(cell);
  shape.key.bytes = 0;
  shape.more_key_count = 0;
  return shape;
}

std::vector<Values> all_values(const Columns& columns) {
  std::vector<Values> all = {columns.key};
  all.insert(all.end(), columns.more_keys, columns.more_keys + columns.more_key_count);
  all.insert(all.end(), columns.payloads, columns.payloads + columns.payload_count);
  return all;
}

Columns allocate_columns(Machine& machine, std::vector<Memory>& memory, int64_t rows,
                         const Columns& shape, Residence residence) {
  Columns columns = shape;
  columns.key_bits = nullptr;
  const auto allocate = [&](Values& values) {
    memory.emplace_back(machine, bytes_of(values, rows), residence);
    values.data = memory.back().data();
  };
  allocate(columns.key);
  for (int i = 0; i < columns.more_key_count; ++i) allocate(columns.more_keys[i]);
  for (int i = 0; i < columns.payload_count; ++i) allocate(columns.payloads[i]);
  return columns;
}

void add_key_bits(Machine& machine, std::vector<Memory>& memory, int64_t rows, Columns& columns,
                  Residence residence) {
  memory.emplace_back(machine, key_bits_bytes(rows), residence);
  columns.key_bits = static_cast<uint32_t*>(memory.back().data());
}

CellData::CellData(Machine& machine, const Cell& cell_) : cell(cell_), workload(cell_) {
  build = allocate_columns(machine, memory, cell.build_rows, build_shape(cell));
  probe = allocate_columns(machine, memory, cell.probe_rows, probe_shape(cell));
  if (cell.nulls > 0) {
    add_key_bits(machine, memory, cell.build_rows, build, Residence::kMachine);
    add_key_bits(machine, memory, cell.probe_rows, probe, Residence::kMachine);
    machine.zero(build.key_bits, key_bits_bytes(cell.build_rows));
    machine.zero(probe.key_bits, key_bits_bytes(cell.probe_rows));
  }
  machine.run(FillBuild{workload, build}, static_cast<uint64_t>(cell.build_rows));
  machine.run(FillProbe{workload, probe}, static_cast<uint64_t>(cell.probe_rows));
  expected = expect(machine, *this);
}

HostCopy::HostCopy(Machine& machine, const CellData& data, Residence residence) {
  const auto copy = [&](const Columns& columns, int64_t rows) {
    Columns copied = allocate_columns(machine, memory, rows, columns, residence);
    const std::vector<Values> from = all_values(columns), to = all_values(copied);
    for (size_t i = 0; i < from.size(); ++i) {
      machine.copy_to_host(to[i].data, from[i].data, bytes_of(from[i], rows));
    }
    if (columns.key_bits != nullptr) {
      add_key_bits(machine, memory, rows, copied, residence);
      machine.copy_to_host(copied.key_bits, columns.key_bits, key_bits_bytes(rows));
    }
    return copied;
  };
  build = copy(data.build, data.cell.build_rows);
  probe = copy(data.probe, data.cell.probe_rows);
}

const CellData& CellDataSource::data_of(const Cell& cell) {
  if (!data_ || !share_data(data_->cell, cell)) {
    copies_.clear();
    data_.reset();
    data_.emplace(machine_, cell);
  }
  return *data_;
}

const HostCopy& CellDataSource::copy_of(const Cell& cell, Residence residence) {
  const CellData& data = data_of(cell);
  return copies_.try_emplace(residence, machine_, data, residence).first->second;
}

}  // namespace gpujoin::bench
