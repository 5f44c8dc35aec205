#include "src/execute/packed_keys.hpp"

#include <algorithm>

#include "src/base/status.hpp"
#include "src/columns/result.hpp"
#include "src/cpu/valid_rows.hpp"
#include "src/execute/key_codes.hpp"

namespace gpujoin::execute {

namespace {

using columns::ColumnView;

// Fewer rows are hashed in the time of a look.
constexpr uint64_t kFewestRows = uint64_t{1} << 12;
// A lone key is shorter, and that is all: it has to be worth a look and a pass over the rows.
constexpr uint64_t kFewestRowsOfLoneKey = uint64_t{1} << 20;

bool has_nulls(const cpu::KeySource& column) { return column.validity.bits != nullptr; }

std::optional<keys::KeyEncoding> find_encoding(base::Queue& queue, const PackedSide& left,
                                               const PackedSide& right) {
  std::vector<int32_t> widths;
  std::vector<keys::ColumnRange> drawn;
  for (size_t c = 0; c < left.columns.size(); ++c) {
    widths.push_back(left.columns[c].width);
    drawn.push_back(keys::united(cpu::drawn_range_of(left.columns[c], left.rows),
                                 cpu::drawn_range_of(right.columns[c], right.rows)));
  }
  auto const is_worth_it = [](const std::optional<keys::KeyEncoding>& encoding) {
    return encoding && !encoding->is_plain();
  };
  if (!is_worth_it(keys::pack(widths, drawn))) return std::nullopt;
  cpu::Workers workers(queue);
  std::vector<keys::ColumnRange> ranges;
  for (size_t c = 0; c < left.columns.size(); ++c) {
    ranges.push_back(keys::united(cpu::range_of(workers, left.columns[c], left.rows),
                                  cpu::range_of(workers, right.columns[c], right.rows)));
  }
  auto const encoding = keys::pack(widths, ranges);
  return is_worth_it(encoding) ? encoding : std::nullopt;
}

ColumnView codes_of(base::Queue& queue, const PackedSide& side, const keys::KeyEncoding& encoding) {
  base::Pool& pool = *queue.host_pool;
  cpu::Workers workers(queue);
  base::Buffer codes = pool.allocate(
      base::Memory::kHost, base::checked_bytes(side.rows, static_cast<uint64_t>(encoding.width)),
      "codes of keys");
  cpu::pack_keys(workers, side.columns, encoding, side.rows, codes.data());
  ColumnView view = made_view(codes.data(), encoding.width, base::Memory::kHost);
  side.held->push_back(columns::make_storage(std::move(codes)));
  std::vector<kernels::ValidityBits> nullable;
  for (cpu::KeySource const& column : side.columns) {
    if (has_nulls(column)) nullable.push_back(column.validity);
  }
  if (nullable.size() == 1) {
    view.validity = nullable.front().bits;
    view.validity_bit_offset = nullable.front().offset;
  } else if (!nullable.empty()) {
    base::Buffer words = pool.allocate_rows<uint64_t>(base::Memory::kHost, (side.rows + 63) / 64,
                                                      "validity of keys");
    cpu::valid_in_all(workers, "keys", nullable, side.rows, words.as<uint64_t>());
    view.validity = words.as<uint8_t>();
    side.held->push_back(columns::make_storage(std::move(words)));
  }
  return view;
}

}  // namespace

bool PackedSide::has_nulls() const {
  return std::any_of(columns.begin(), columns.end(), execute::has_nulls);
}

std::optional<std::pair<ColumnView, ColumnView>> pack_keys(base::Queue& queue,
                                                           const PackedSide& left,
                                                           const PackedSide& right) {
  uint64_t const fewest = left.columns.size() == 1 ? kFewestRowsOfLoneKey : kFewestRows;
  if (left.rows + right.rows < fewest || left.rows == 0 || right.rows == 0) return std::nullopt;
  auto const encoding = find_encoding(queue, left, right);
  if (!encoding) return std::nullopt;
  try {
    ColumnView left_codes = codes_of(queue, left, *encoding);
    return std::pair{std::move(left_codes), codes_of(queue, right, *encoding)};
  } catch (const base::Error& error) {
    if (error.status() != GPUJOIN_ERROR_MEMORY_LIMIT) throw;
    return std::nullopt;
  }
}

}  // namespace gpujoin::execute
