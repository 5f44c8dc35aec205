#include "src/cpu/pick_rows.hpp"

#include <algorithm>
#include <atomic>
#include <bit>

#include "src/base/status.hpp"
#include "src/columns/validity_bits.hpp"
#include "src/cpu/gather_values.hpp"
#include "src/cpu/value_width.hpp"

namespace gpujoin::cpu {

namespace {

constexpr const char* kStage = "select";
constexpr uint64_t kTaskRows = uint64_t{1} << 15;  // whose row numbers stay in a core's cache
static_assert(kTaskRows % 64 == 0);

// Of 64 rows, fewer at the end.
uint64_t picked_bits(const RowBits& from, uint64_t row) {
  auto const first = static_cast<uint64_t>(from.first_bit);
  uint64_t const bits = columns::bits_of_64_rows(from.bits, first + row, first + from.rows);
  if (!from.are_unset) return bits;
  uint64_t const rows = from.rows - row;
  return ~bits & (rows < 64 ? (uint64_t{1} << rows) - 1 : ~uint64_t{0});
}

// Picked rows of each task, and before each.
std::vector<uint64_t> rows_before_tasks(Workers& workers, const RowBits& picked) {
  std::vector<uint64_t> before((picked.rows + kTaskRows - 1) / kTaskRows + 1, 0);
  workers.for_each_range(kStage, picked.rows, kTaskRows, [&](uint64_t first, uint64_t end) {
    uint64_t found = 0;
    for (uint64_t row = first; row < end; row += 64) {
      found += static_cast<uint64_t>(std::popcount(picked_bits(picked, row)));
    }
    before[first / kTaskRows + 1] = found;
  });
  for (size_t i = 1; i < before.size(); ++i) before[i] += before[i - 1];
  return before;
}

// Returns behind the last.
uint32_t* list_rows(const RowBits& picked, uint64_t first, uint64_t end, uint32_t* out) {
  for (uint64_t row = first; row < end; row += 64) {
    for (uint64_t bits = picked_bits(picked, row); bits != 0; bits &= bits - 1) {
      *out++ = static_cast<uint32_t>(row) + static_cast<uint32_t>(std::countr_zero(bits));
    }
  }
  return out;
}

}  // namespace

uint64_t count_picked(Workers& workers, const RowBits& picked) {
  return rows_before_tasks(workers, picked).back();
}

void pick_rows(Workers& workers, const RowBits& picked, uint64_t count,
               const std::vector<PickedColumn>& columns, uint32_t* numbers) {
  std::vector<uint64_t> const before = rows_before_tasks(workers, picked);
  std::atomic<bool> has_changed{before.back() != count};
  workers.for_each_range(kStage, picked.rows, kTaskRows, [&](uint64_t first, uint64_t end) {
    uint64_t const task = first / kTaskRows;
    uint64_t const place = before[task];
    auto const rows = static_cast<size_t>(before[task + 1] - place);
    if (rows == 0 || has_changed.load(std::memory_order_relaxed)) return;
    thread_local std::vector<uint32_t> kept(kTaskRows);
    uint32_t* const listed = kept.data();
    if (list_rows(picked, first, end, listed) != listed + rows) has_changed = true;
    if (numbers != nullptr) std::copy(listed, listed + rows, numbers + place);
    for (PickedColumn const& column : columns) {
      with_width(column.width, [&](auto zero) {
        using Value = decltype(zero);
        // Where one of ten is picked, hardware does not see in time which lines come next.
        gather_values<Value>(column.source, listed, rows,
                             static_cast<Value*>(column.target) + place);
      });
    }
  });
  if (has_changed) {
    base::fail(GPUJOIN_ERROR_INVALID_ARGUMENT,
               "a selection's bitmap has changed since its %llu rows were counted",
               static_cast<unsigned long long>(count));
  }
}

std::optional<uint64_t> find_wrong_number(Workers& workers, const void* numbers, int32_t width,
                                          uint64_t count, uint64_t rows, uint32_t* narrow) {
  std::atomic<uint64_t> lowest{UINT64_MAX};
  auto const check = [&](const auto* of, uint64_t first, uint64_t end) {
    uint64_t wrong = UINT64_MAX;
    for (uint64_t i = first; i < end; ++i) {
      // A negative number lies outside as any other that does.
      if (static_cast<uint64_t>(of[i]) >= rows) wrong = std::min(wrong, i);
      if (narrow != nullptr) narrow[i] = static_cast<uint32_t>(of[i]);
    }
    uint64_t seen = lowest.load();
    while (wrong < seen && !lowest.compare_exchange_weak(seen, wrong)) {
    }
  };
  workers.for_each_range(kStage, count, kTaskRows, [&](uint64_t first, uint64_t end) {
    if (width == 4) {
      check(static_cast<const uint32_t*>(numbers), first, end);
    } else {
      check(static_cast<const int64_t*>(numbers), first, end);
    }
  });
  uint64_t const found = lowest.load();
  return found == UINT64_MAX ? std::nullopt : std::optional(found);
}

base::Buffer mask_rows(base::Queue& queue, Workers& workers, const RowBits& picked,
                       const RowBits& valid) {
  base::Buffer made = queue.host_pool->allocate_rows<uint64_t>(
      base::Memory::kHost, (picked.rows + 63) / 64, "validity of picked rows");
  workers.for_each_range(kStage, picked.rows, kTaskRows, [&](uint64_t first, uint64_t end) {
    for (uint64_t row = first; row < end; row += 64) {
      uint64_t bits = picked_bits(picked, row);
      if (valid.bits != nullptr) bits &= picked_bits(valid, row);
      made.as<uint64_t>()[row / 64] = bits;
    }
  });
  return made;
}

}  // namespace gpujoin::cpu
