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

std::vector<int32_t> widths_of(const PackedSide& side) {
  std::vector<int32_t> widths;
  for (cpu::KeySource const& column : side.columns) widths.push_back(column.width);
  return widths;
}

std::vector<keys::ColumnRange> ranges_of(base::Queue& queue, const PackedSide& side) {
  cpu::Workers workers(queue);
  std::vector<keys::ColumnRange> ranges;
  for (cpu::KeySource const& column : side.columns) {
    ranges.push_back(cpu::range_of(workers, column, side.rows));
  }
  return ranges;
}

std::optional<keys::KeyEncoding> find_encoding(base::Queue& queue, const PackedSide& left,
                                               const PackedSide& right) {
  bool const is_left_less = left.rows <= right.rows;
  PackedSide const& less = is_left_less ? left : right;
  PackedSide const& more = is_left_less ? right : left;
  Drawn const of_less = draw(less);
  Drawn const of_more = draw(more);
  std::vector<int32_t> const widths = widths_of(less);
  std::vector<keys::ColumnRange> drawn;
  for (size_t c = 0; c < less.columns.size(); ++c) {
    drawn.push_back(keys::united(of_less[c].range, of_more[c].range));
  }
  if (!is_worth_it(keys::pack(widths, drawn))) return std::nullopt;
  std::vector<keys::ColumnRange> ranges = ranges_of(queue, less);
  auto encoding = keys::pack(widths, ranges);
  if (is_worth_it(encoding) && may_have_others(*encoding, of_more)) return encoding;
  std::vector<keys::ColumnRange> const others = ranges_of(queue, more);
  for (size_t c = 0; c < ranges.size(); ++c) ranges[c] = keys::united(ranges[c], others[c]);
  encoding = keys::pack(widths, ranges);
  return is_worth_it(encoding) ? encoding : std::nullopt;
}

// A bit above all fields says of another side's value that it lies in none.
std::optional<keys::KeyEncoding> find_encoding(base::Queue& queue, const PackedSide& build) {
  std::vector<int32_t> const widths = widths_of(build);
  std::vector<keys::ColumnRange> drawn;
  for (cpu::DrawnValues const& of : draw(build)) drawn.push_back(of.range);
  if (!is_worth_it(keys::pack(widths, drawn))) return std::nullopt;
  auto encoding = keys::pack(widths, ranges_of(queue, build));
  if (!is_worth_it(encoding)) return std::nullopt;
  if (encoding->bits() == 8 * encoding->width) {
    if (encoding->width == 8) return std::nullopt;
    encoding->width = 8;
  }
  return encoding;
}

}  // namespace

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

std::optional<PackedBuild> pack_build(base::Queue& queue, const PackedSide& build) {
  if (build.columns.size() == 1 || build.rows == 0) return std::nullopt;
  auto const encoding = find_encoding(queue, build);
  if (!encoding) return std::nullopt;
  try {
    return PackedBuild{*encoding, codes_of(queue, build, *encoding)};
  } catch (const base::Error& error) {
    if (error.status() != GPUJOIN_ERROR_MEMORY_LIMIT) throw;
    return std::nullopt;
  }
}

}  // namespace gpujoin::execute
