#include "src/execute/cpu_side.hpp"

#include <algorithm>
#include <utility>

#include "src/cpu/key_filter.hpp"
#include "src/cpu/key_places.hpp"
#include "src/cpu/streamed_probe.hpp"

namespace gpujoin::execute {

CpuSide::CpuSide(base::Queue& queue, cpu::Workers& workers, const columns::Relation& relation,
                 const std::vector<int32_t>& keys, const std::vector<int32_t>& output_columns)
    : queue_(queue),
      workers_(workers),
      relation_(relation),
      keys_(keys),
      output_columns_(output_columns) {}

void CpuSide::lay_out(plan::Gather gather, bool row_numbers) {
  if (is_hashed()) hashed_ = cpu::hash_keys(queue_, workers_, relation_, keys_);
  // Several keys are verified by row number.
  rows_.layout = cpu::layout_rows(relation_, is_hashed() ? hashed_.view : key(0), output_columns_,
                                  row_numbers || is_hashed(), gather);
  rows_.input_rows = static_cast<uint64_t>(relation_.rows);
}

void CpuSide::carry_keys() { rows_.layout = layout_with_keys(); }

uint64_t CpuSide::row_bytes_with_keys() const { return layout_with_keys().row_bytes; }

cpu::RowLayout CpuSide::layout_with_keys() const {
  std::vector<const columns::ColumnView*> columns;
  for (int32_t const number : keys_) columns.push_back(&column(number));
  cpu::RowLayout layout = rows_.layout;
  cpu::add_carried(columns, &layout);
  return layout;
}

bool CpuSide::leave_out_unmatched(const CpuSide& other) {
  cpu::RowLayout& layout = rows_.layout;
  moved_bits_ = cpu::rows_that_may_match(queue_, workers_, *layout.key, input_rows(),
                                         *other.rows_.layout.key, other.input_rows());
  if (!moved_bits_) return false;
  moved_key_ = *layout.key;
  moved_key_.validity = moved_bits_.as<uint8_t>();
  moved_key_.validity_bit_offset = 0;
  layout.moved = &moved_key_;
  return true;
}

void CpuSide::partition(std::span<CpuSide* const> sides, uint32_t radix_bits) {
  std::vector<cpu::PartitionedRows> rows;
  for (CpuSide* side : sides) {
    rows.push_back(std::move(side->rows_));
    rows.back().radix_bits = radix_bits;
  }
  CpuSide const& first = *sides.front();
  cpu::partition_rows(first.queue_, first.workers_, rows);
  for (size_t i = 0; i < sides.size(); ++i) {
    sides[i]->rows_ = std::move(rows[i]);
    sides[i]->rows_.layout.moved = nullptr;
    sides[i]->moved_bits_ = {};
    sides[i]->hashed_ = {};
  }
}

void CpuSide::pack() {
  cpu::pack_side(queue_, rows_);
  hashed_ = {};
}

bool CpuSide::keep_key_bits(bool with_rows, bool may_be_large) {
  key_bits_ =
      cpu::KeyBits::of_unique(queue_, workers_, key(0), input_rows(), with_rows, may_be_large);
  return key_bits_.has_value();
}

bool CpuSide::place_rows(bool row_numbers, uint64_t most_bytes) {
  cpu::RowLayout layout = cpu::layout_places(relation_, key(0), output_columns_, row_numbers);
  key_bits_ = cpu::KeyBits::of_places(queue_, workers_, key(0), input_rows(),
                                      most_bytes / layout.row_bytes);
  if (!key_bits_) return false;
  rows_.rows = cpu::place_rows(queue_, workers_, *key_bits_, layout, input_rows());
  if (!rows_.rows) {
    key_bits_.reset();
    return false;
  }
  rows_.layout = std::move(layout);
  rows_.input_rows = input_rows();
  return true;
}

uint64_t CpuSide::place_bytes(bool row_numbers) const {
  return cpu::layout_places(relation_, key(0), output_columns_, row_numbers).row_bytes;
}

uint64_t CpuSide::moved_bytes(bool row_numbers) const {
  return input_rows() * cpu::layout_rows(relation_, key(0), output_columns_, row_numbers,
                                         plan::Gather::kTransformed)
                            .row_bytes;
}

bool CpuSide::puts_out_others() const {
  return std::any_of(output_columns_.begin(), output_columns_.end(),
                     [&](int32_t number) { return &column(number) != &key(0); });
}

bool CpuSide::keep_set_bits() {
  key_bits_ = cpu::KeyBits::of_any(queue_, workers_, key(0), input_rows());
  return key_bits_.has_value();
}

bool CpuSide::find_key_order(const CpuSide& probe) {
  key_order_ =
      cpu::find_key_order(workers_, key(0), input_rows(), probe.key(0), probe.input_rows());
  return key_order_.has_value();
}

void CpuSide::make_tables() { tables_ = cpu::keep_tables(queue_, workers_, rows_); }

void CpuSide::stream() {
  rows_.is_streamed = true;
  rows_.begin = {0, static_cast<uint32_t>(rows_.input_rows)};
}

uint64_t CpuSide::bytes_read() const {
  uint64_t bytes = sizeof(uint32_t);
  for (int32_t const number : output_columns_) {
    if (std::find(keys_.begin(), keys_.end(), number) != keys_.end()) continue;
    bytes += static_cast<uint64_t>(column(number).width);
  }
  return bytes;
}

bool CpuSide::may_drop_rows() const {
  return std::any_of(keys_.begin(), keys_.end(),
                     [&](int32_t key) { return column(key).validity != nullptr; });
}

void CpuSide::let_go_of_rows() {
  rows_.rows = {};
  rows_.begin.clear();
  rows_.is_streamed = false;
  hashed_ = {};
  key_bits_.reset();
  key_order_.reset();
}

cpu::OutputSource CpuSide::row_numbers_source(bool is_build) const {
  cpu::OutputSource source;
  source.source = cpu::Source::kRowNumber;
  source.from_build = is_build;
  source.width = sizeof(uint32_t);
  source.offset = rows_.layout.row_number_offset;
  return source;
}

void CpuSide::add_column_sources(bool is_build, std::vector<cpu::OutputSource>* sources) const {
  for (int32_t const number : output_columns_) {
    cpu::OutputSource source;
    source.column = &column(number);
    source.from_build = is_build;
    source.width = static_cast<uint32_t>(source.column->width);
    if (source.column == rows_.layout.key) {
      source.source = cpu::Source::kKey;
    } else if (cpu::CarriedColumn const* carried = rows_.layout.find(source.column)) {
      source.source = cpu::Source::kCarried;
      source.offset = carried->offset;
      source.null_bit = carried->null_bit;
    } else {
      source.source = cpu::Source::kFetched;
    }
    sources->push_back(source);
  }
}

std::vector<cpu::ComparedColumns> columns_to_verify(const CpuSide& build, const CpuSide& probe) {
  std::vector<cpu::ComparedColumns> columns;
  if (!build.is_hashed()) return columns;
  for (size_t i = 0; i < build.key_count(); ++i) columns.push_back({&build.key(i), &probe.key(i)});
  return columns;
}

}  // namespace gpujoin::execute
