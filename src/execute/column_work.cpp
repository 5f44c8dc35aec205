#include "src/execute/column_work.hpp"

#include <algorithm>
#include <utility>

#include "src/base/copy.hpp"
#include "src/base/status.hpp"
#include "src/base/without_cuda.hpp"
#include "src/columns/validity_bits.hpp"
#include "src/cpu/derive_keys.hpp"
#include "src/cpu/gather_bits.hpp"
#include "src/cpu/gather_bytes.hpp"
#include "src/cpu/intern.hpp"
#include "src/cpu/ordered_keys.hpp"
#include "src/cpu/pack_values.hpp"
#include "src/cpu/pick_rows.hpp"
#include "src/cpu/positions.hpp"
#include "src/cpu/sorted_rows.hpp"
#include "src/cpu/text_bytes.hpp"
#include "src/cpu/workers.hpp"
#include "src/keys/column_positions.hpp"

namespace gpujoin::execute {

namespace {

using base::Memory;
using columns::ColumnParts;
using columns::ColumnView;
using columns::Layout;
using columns::Storage;

class OnCpu final : public ColumnWork {
 public:
  explicit OnCpu(base::Queue& queue) : ColumnWork(queue, Memory::kHost), workers_(queue) {}

  // Contexts on the CPU import no array with an event.
  void await(void*) override {}
  void derive(const kernels::DerivedKey& key, int32_t width, uint64_t rows, uint64_t stride,
              void* values) override {
    cpu::derive_key(workers_, key, width, rows, stride, values);
  }
  Storage positions(const kernels::Indices& source, uint64_t rows) override {
    return columns::make_storage(cpu::positions(queue_, workers_, source, rows));
  }
  Storage positions(const kernels::Runs& source, uint64_t rows) override {
    return columns::make_storage(cpu::positions(queue_, workers_, source, rows));
  }
  Storage positions(const kernels::Composed& source, uint64_t rows) override {
    return columns::make_storage(cpu::positions(queue_, workers_, source, rows));
  }
  columns::Gathered gather(const columns::GatherSource& source, const uint32_t* rows,
                           uint64_t count) override {
    return cpu::gather_bytes(queue_, workers_, "materialize", source, rows, count);
  }
  columns::Gathered gather(const columns::BitsSource& source, const uint32_t* rows,
                           uint64_t count) override {
    return cpu::gather_bits(queue_, workers_, "materialize", source, rows, count);
  }
  uint64_t text_bytes(const columns::GatherSource& source, const uint32_t* rows,
                      uint64_t count) override {
    return cpu::text_bytes(workers_, source, rows, count);
  }
  keys::Interned intern(const keys::InternedSide& table) override {
    return cpu::intern(queue_, workers_, table);
  }
  base::Buffer codes_by(const keys::ValueTable& table, const keys::InternedSide& other) override {
    return cpu::codes_by(queue_, workers_, table, other);
  }
  void order(const kernels::OrderedKey& key, uint64_t rows, uint64_t* codes) override {
    cpu::order_keys(workers_, key, rows, codes);
  }
  keys::Extremes extremes(const kernels::OrderedKey& key, uint64_t rows) override {
    return cpu::extremes(workers_, key, rows);
  }
  keys::Ranks rank(const kernels::OrderedKey& left, uint64_t left_rows,
                   const kernels::OrderedKey& right, uint64_t right_rows) override {
    return cpu::rank_keys(queue_, workers_, left, left_rows, right, right_rows);
  }
  columns::PickedCount count_picked(const columns::RowBits& picked) override {
    return {cpu::count_picked(workers_, picked), nullptr};
  }
  void pick_rows(const columns::RowBits& picked, uint64_t count,
                 const std::vector<columns::PickedColumn>& columns, uint32_t* numbers) override {
    cpu::pick_rows(workers_, picked, count, columns, numbers);
  }
  std::optional<uint64_t> find_wrong_number(const void* numbers, int32_t width, uint64_t count,
                                            uint64_t rows, uint32_t* narrow) override {
    return cpu::find_wrong_number(workers_, numbers, width, count, rows, narrow);
  }
  Storage mask_rows(const columns::RowBits& picked, const columns::RowBits& valid) override {
    return columns::make_storage(cpu::mask_rows(queue_, workers_, picked, valid));
  }
  keys::SortedFindings find_steps(const kernels::SortedColumns& columns, uint64_t rows) override {
    return cpu::find_steps(workers_, columns, rows);
  }
  PackedValues pack_values(const keys::InternedSide& left, const keys::InternedSide& right,
                           bool may_fill_words, bool may_share) override {
    cpu::PackedValues packed =
        cpu::pack_values(queue_, workers_, left, right, may_fill_words, may_share);
    if (!packed.of_left) return {};
    return {columns::make_storage(std::move(packed.of_left)),
            columns::make_storage(std::move(packed.of_right))};
  }
  bool are_positions(const kernels::Indices& source, uint64_t rows) override {
    return cpu::are_positions(workers_, source, rows);
  }

 private:
  cpu::Workers workers_;
};

bool is_there(const ColumnWork& work, Memory memory) {
  return (memory == Memory::kDevice) == (work.memory() == Memory::kDevice);
}

// A copy of what a view points to, kept.
const void* copied(ColumnWork& work, const void* source, Memory memory, uint64_t bytes,
                   Held* held) {
  if (source == nullptr || bytes == 0) return nullptr;
  Storage copy = work.copy(source, memory, bytes, "the copy of a column");
  const void* const lies = copy.get();
  held->push_back(std::move(copy));
  return lies;
}

void bring_parts(base::Queue& queue, ColumnWork& work, const ColumnView& column, int64_t rows,
                 ColumnView* view, Held* held) {
  auto parts = std::make_shared<ColumnParts>(*column.parts);
  switch (column.layout) {
    case Layout::kText: {
      auto const [first, last] = text_bounds(queue, column, rows);
      auto const width = static_cast<uint64_t>(parts->offset_width);
      parts->offsets = copied(work, parts->offsets, column.memory,
                              base::checked_bytes(static_cast<uint64_t>(rows) + 1, width), held);
      if (last < first) base::fail(GPUJOIN_ERROR_INVALID_ARGUMENT, "offsets of text go back");
      auto const* const bytes = static_cast<const uint8_t*>(
          copied(work, static_cast<const std::byte*>(column.data) + first, column.memory,
                 static_cast<uint64_t>(last - first), held));
      view->data = bytes == nullptr ? nullptr : bytes - first;
      break;
    }
    case Layout::kViews:
      for (size_t i = 0; i < parts->buffers.size(); ++i) {
        parts->buffers[i] = copied(work, parts->buffers[i], column.memory,
                                   static_cast<uint64_t>(parts->buffer_bytes[i]), held);
      }
      break;
    case Layout::kIndices:
    case Layout::kRuns:
      parts->values = std::make_shared<ColumnView>(
          copy_column(queue, work, *parts->values, parts->value_rows, held));
      break;
    default:
      break;
  }
  view->parts = std::move(parts);
}

columns::RowBits copy_bits(ColumnWork& work, const uint8_t* bits, int64_t first_bit, Memory memory,
                           int64_t rows, Held* held) {
  columns::RowBits made{nullptr, first_bit % 8, static_cast<uint64_t>(rows)};
  made.bits = static_cast<const uint8_t*>(copied(
      work, bits + first_bit / 8, memory, columns::bitmap_bytes(made.first_bit + rows), held));
  return made;
}

// Bytes of the column's own buffer, from `first` on, which becomes the row's first.
uint64_t data_bytes(const ColumnView& column, int64_t rows) {
  auto const width = static_cast<uint64_t>(column.width);
  if (column.layout == Layout::kRuns) {
    return base::checked_bytes(static_cast<uint64_t>(column.parts->value_rows), width);
  }
  return base::checked_bytes(static_cast<uint64_t>(rows), width);
}

}  // namespace

#if !GPUJOIN_WITH_CUDA
std::unique_ptr<ColumnWork> column_work_on_gpu(base::Queue&) { base::fail_without_cuda(); }
#endif

std::unique_ptr<ColumnWork> column_work_on_cpu(base::Queue& queue) {
  return std::make_unique<OnCpu>(queue);
}

std::unique_ptr<ColumnWork> make_column_work(base::Queue& queue, Memory memory) {
  return memory == Memory::kDevice ? column_work_on_gpu(queue) : column_work_on_cpu(queue);
}

Storage ColumnWork::allocate(uint64_t bytes, const char* what) {
  base::Pool& pool = memory_ == Memory::kDevice ? *queue_.device_pool : *queue_.host_pool;
  return columns::make_storage(pool.allocate(memory_, bytes, what));
}

Storage ColumnWork::copy(const void* source, Memory source_memory, uint64_t bytes,
                         const char* what) {
  Storage target = allocate(bytes, what);
  base::copy(queue_, const_cast<void*>(target.get()), memory_, source, source_memory, bytes);
  return target;
}

columns::RowBits bring_bits(ColumnWork& work, const uint8_t* bits, int64_t first_bit, Memory memory,
                            int64_t rows, Held* held) {
  if (is_there(work, memory)) return {bits, first_bit, static_cast<uint64_t>(rows)};
  return copy_bits(work, bits, first_bit, memory, rows, held);
}

std::pair<int64_t, int64_t> text_bounds(base::Queue& queue, const ColumnView& column,
                                        int64_t rows) {
  ColumnParts const& parts = *column.parts;
  if (column.memory != Memory::kDevice) return columns::first_and_last_offset(parts, rows);
  auto const width = static_cast<uint64_t>(parts.offset_width);
  int64_t ends[2] = {};
  for (int i = 0; i < 2; ++i) {
    auto const* const source =
        static_cast<const std::byte*>(parts.offsets) + (i == 0 ? 0 : rows) * parts.offset_width;
    base::copy(queue, &ends[i], Memory::kHost, source, Memory::kDevice, width);
  }
  base::finish(queue);
  // Of 4 bytes the upper half stayed 0; offsets are not negative.
  return {ends[0], ends[1]};
}

ColumnView bring_column(base::Queue& queue, ColumnWork& work, const ColumnView& column,
                        int64_t rows, Held* held) {
  return is_there(work, column.memory) ? column : copy_column(queue, work, column, rows, held);
}

ColumnView copy_column(base::Queue& queue, ColumnWork& work, const ColumnView& column, int64_t rows,
                       Held* held) {
  if (rows == 0 || column.layout == Layout::kNulls) return column;
  ColumnView view = column;
  view.memory = work.memory();
  if (column.layout == Layout::kBits) {
    int64_t const first = column.parts->first_bit;
    auto parts = std::make_shared<ColumnParts>(*column.parts);
    parts->first_bit = first % 8;
    view.data = copied(work, static_cast<const uint8_t*>(column.data) + first / 8, column.memory,
                       columns::bitmap_bytes(parts->first_bit + rows), held);
    view.parts = std::move(parts);
  } else if (column.layout != Layout::kText) {
    view.data = copied(work, column.data, column.memory, data_bytes(column, rows), held);
  }
  if (column.parts != nullptr && column.layout != Layout::kBits) {
    bring_parts(queue, work, column, rows, &view, held);
  }
  if (column.validity != nullptr) {
    columns::RowBits const valid =
        copy_bits(work, column.validity, column.validity_bit_offset, column.memory, rows, held);
    view.validity = valid.bits;
    view.validity_bit_offset = valid.first_bit;
  }
  // The caller's memory is not read behind this.
  base::finish(queue);
  return view;
}

kernels::BytesColumn bytes_of(base::Queue& queue, ColumnWork& work, const ColumnView& column,
                              int64_t rows, Held* held) {
  kernels::BytesColumn bytes;
  auto const* const data = static_cast<const uint8_t*>(column.data);
  if (column.layout == Layout::kText) {
    bool const is_wide = column.parts->offset_width == 8;
    bytes.layout = is_wide ? kernels::BytesLayout::kOffsets64 : kernels::BytesLayout::kOffsets32;
    bytes.bytes = data;
    bytes.places = column.parts->offsets;
    if (rows == 0 || data == nullptr) return bytes;
    auto const [first, last] = text_bounds(queue, column, rows);
    bytes.first = data + first;
    bytes.end = data + std::max(first, last);
  } else if (column.layout == Layout::kViews) {
    bytes.layout = kernels::BytesLayout::kViews;
    bytes.places = data;
    std::vector<const void*> const& buffers = column.parts->buffers;
    bytes.buffers = static_cast<const uint8_t* const*>(
        copied(work, buffers.data(), Memory::kHost, buffers.size() * sizeof(void*), held));
    // The list may be gone behind this.
    base::finish(queue);
  } else {
    bytes.layout = kernels::BytesLayout::kFixed;
    bytes.width = column.width;
    bytes.bytes = bytes.first = data;
    if (data != nullptr) bytes.end = data + rows * column.width;
  }
  return bytes;
}

Storage run_positions(ColumnWork& work, const ColumnView& column, int64_t rows) {
  return work.positions(keys::runs_of(column), static_cast<uint64_t>(rows));
}

Storage positions_in(ColumnWork& work, const ColumnView& column, int64_t rows) {
  auto const count = static_cast<uint64_t>(rows);
  if (column.layout != Layout::kIndices && column.layout != Layout::kRuns) return nullptr;
  Storage found;
  if (column.layout == Layout::kIndices) {
    found = work.positions(keys::indices_of(column), count);
  } else {
    found = run_positions(work, column, rows);
  }
  // Of no rows nothing was brought, whatever the values' own positions are.
  if (rows == 0) return found;
  Storage const inside = positions_in(work, *column.parts->values, column.parts->value_rows);
  if (inside == nullptr) return found;
  kernels::Composed composed;
  composed.rows = static_cast<const uint32_t*>(found.get());
  composed.positions = static_cast<const uint32_t*>(inside.get());
  return work.positions(composed, count);
}

}  // namespace gpujoin::execute
