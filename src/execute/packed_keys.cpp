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

bool is_worth_it(const std::optional<keys::KeyEncoding>& encoding) {
  return encoding && !encoding->is_plain();
}

using Drawn = std::vector<cpu::DrawnValues>;

Drawn draw(const PackedSide& side) {
  Drawn drawn;
  for (cpu::KeySource const& column : side.columns) {
    drawn.push_back(cpu::draw_values(column, side.rows));
  }
  return drawn;
}

// Whether rows of the other side need no look: one that has a value out of the ranges equals no row
// of this side, and a bit more says so. Where one column makes the code alone, codes are in the
// order of its values, and if the other side's may ascend they shall.
bool may_have_others(const keys::KeyEncoding& encoding, const Drawn& others) {
  size_t varying = 0;
  bool ascend = true;
  for (size_t c = 0; c < encoding.fields.size(); ++c) {
    if (encoding.fields[c].bits == 0) continue;
    ++varying;
    ascend = ascend && others[c].ascend;
  }
  return encoding.bits() < 8 * encoding.width && (varying > 1 || !ascend);
}

std::optional<keys::KeyEncoding> find_encoding(base::Queue& queue, const PackedSide& left,
                                               const PackedSide& right) {
  bool const is_left_less = left.rows <= right.rows;
  PackedSide const& less = is_left_less ? left : right;
  PackedSide const& more = is_left_less ? right : left;
  Drawn const of_less = draw(less);
  Drawn const of_more = draw(more);
  std::vector<int32_t> widths;
  std::vector<keys::ColumnRange> drawn;
  for (size_t c = 0; c < less.columns.size(); ++c) {
    widths.push_back(less.columns[c].width);
    drawn.push_back(keys::united(of_less[c].range, of_more[c].range));
  }
  if (!is_worth_it(keys::pack(widths, drawn))) return std::nullopt;
  cpu::Workers workers(queue);
  std::vector<keys::ColumnRange> ranges;
  for (cpu::KeySource const& column : less.columns) {
    ranges.push_back(cpu::range_of(workers, column, less.rows));
  }
  auto encoding = keys::pack(widths, ranges);
  if (is_worth_it(encoding) && may_have_others(*encoding, of_more)) return encoding;
  for (size_t c = 0; c < ranges.size(); ++c) {
    ranges[c] = keys::united(ranges[c], cpu::range_of(workers, more.columns[c], more.rows));
  }
  encoding = keys::pack(widths, ranges);
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
