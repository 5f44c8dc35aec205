#include "src/cpu/intern.hpp"

#include <algorithm>
#include <atomic>
#include <cstring>

#include "src/keys/bytes_hash.hpp"

namespace gpujoin::cpu {

namespace {

using base::Memory;
using kernels::BytesColumn;
using kernels::BytesLayout;
using kernels::LoadableBytes;

constexpr uint64_t kTaskRows = uint64_t{1} << 16;
constexpr uint64_t kRowsBetweenPolls = uint64_t{1} << 12;
// Rows whose reads are under way at once: a core has a dozen cache lines on their way, and a row
// waits for one of them in each phase.
constexpr uint64_t kGroupRows = 32;

// What a value's bytes are found by, or of fixed width they.
void prefetch_place(const BytesColumn& column, uint64_t row) {
  auto const* const places = static_cast<const uint8_t*>(column.places);
  switch (column.layout) {
    case BytesLayout::kOffsets32:
      return __builtin_prefetch(places + row * sizeof(int32_t));
    case BytesLayout::kOffsets64:
      return __builtin_prefetch(places + row * sizeof(int64_t));
    case BytesLayout::kViews:
      return __builtin_prefetch(places + row * 16);
    case BytesLayout::kFixed:
      return __builtin_prefetch(column.bytes + row * static_cast<uint64_t>(column.width));
  }
}

void prefetch_ends(const LoadableBytes& value) {
  if (value.count == 0) return;
  __builtin_prefetch(value.data);
  __builtin_prefetch(value.data + value.count - 1);
}

// See kernels/keys/bytes_hash.hpp for its slots. They are read and swapped without an order: what a
// slot names is the caller's column, which was there before.
class ValueTable {
 public:
  ValueTable(base::Queue& queue, Workers& workers, const keys::InternedSide& side)
      : workers_(workers),
        side_(side),
        hash_(keys::bytes_hash(queue.context)),
        slot_count_(kernels::slots_for(side.rows)),
        buffer_(queue.host_pool->allocate_rows<uint64_t>(Memory::kHost, slot_count_,
                                                         "table of a key's values")),
        slots_(buffer_.as<uint64_t>()) {
    workers.for_each_range("keys", slot_count_, kTaskRows, [&](uint64_t first, uint64_t end) {
      std::fill(slots_ + first, slots_ + end, kernels::kFreeSlot);
    });
  }

  // kTakes: of the table's own side, whose rows take slots.
  template <bool kTakes>
  void find_codes(const keys::InternedSide& side, uint32_t* codes) const {
    workers_.for_each_range("keys", side.rows, kTaskRows, [&](uint64_t first, uint64_t end) {
      for (uint64_t row = first; row < end; row += kGroupRows) {
        if (row % kRowsBetweenPolls == 0) workers_.poll();
        find_group<kTakes>(side, row, std::min(end, row + kGroupRows), codes);
      }
    });
  }

 private:
  struct Walk {
    LoadableBytes value;
    uint64_t hash;
    uint64_t place;
    uint32_t row;
    uint32_t code;
  };

  // Walks on to a slot with the value's tag: `code` is its row, which may have the value. False:
  // to a free slot, and the code is right.
  template <bool kTakes>
  bool finds_tag(Walk* walk) const {
    while (true) {
      std::atomic_ref<uint64_t> const at(slots_[walk->place]);
      uint64_t slot = at.load(std::memory_order_relaxed);
      if (slot == kernels::kFreeSlot) {
        walk->code = kTakes ? walk->row : kernels::absent_code(walk->row, side_.rows);
        if (!kTakes || at.compare_exchange_strong(slot, kernels::filled_slot(walk->hash, walk->row),
                                                  std::memory_order_relaxed)) {
          return false;
        }
      }
      walk->code = kernels::row_of_slot(slot);
      if (kernels::has_tag_of(slot, walk->hash)) return true;
      walk->place = kernels::slot_after(walk->place, slot_count_);
    }
  }

  // Each phase reads what the phase before asked for.
  template <bool kTakes>
  void find_group(const keys::InternedSide& side, uint64_t first, uint64_t end,
                  uint32_t* codes) const {
    Walk walks[kGroupRows];
    uint64_t started = 0;
    for (uint64_t row = first; row < end; ++row) {
      codes[row] = 0;
      if (!kernels::is_valid(side.validity, row)) continue;
      Walk& walk = walks[started++];
      walk.value = kernels::loadable_at(side.values, row);
      walk.hash = hash_.of(walk.value);
      walk.place = kernels::first_slot(walk.hash, slot_count_);
      walk.row = static_cast<uint32_t>(row);
      __builtin_prefetch(&slots_[walk.place], kTakes ? 1 : 0);
    }
    Walk* unsure[kGroupRows];
    uint64_t unsure_count = 0;
    for (uint64_t i = 0; i < started; ++i) {
      Walk& walk = walks[i];
      if (finds_tag<kTakes>(&walk)) {
        prefetch_place(side_.values, walk.code);
        unsure[unsure_count++] = &walk;
      } else {
        codes[walk.row] = walk.code;
      }
    }
    LoadableBytes there[kGroupRows];
    for (uint64_t i = 0; i < unsure_count; ++i) {
      there[i] = kernels::loadable_at(side_.values, unsure[i]->code);
      prefetch_ends(there[i]);
    }
    for (uint64_t i = 0; i < unsure_count; ++i) {
      Walk& walk = *unsure[i];
      while (!kernels::are_equal(walk.value, there[i])) {
        walk.place = kernels::slot_after(walk.place, slot_count_);
        if (!finds_tag<kTakes>(&walk)) break;
        there[i] = kernels::loadable_at(side_.values, walk.code);
      }
      codes[walk.row] = walk.code;
    }
  }

  Workers& workers_;
  const keys::InternedSide& side_;
  kernels::BytesHash hash_;
  uint64_t slot_count_;
  base::Buffer buffer_;
  uint64_t* slots_;
};

}  // namespace

keys::Codes intern(base::Queue& queue, Workers& workers, const keys::InternedSide& table,
                   const keys::InternedSide& other) {
  base::Pool& pool = *queue.host_pool;
  keys::Codes codes;
  codes.of_table =
      pool.allocate_rows<uint32_t>(Memory::kHost, table.rows, "codes of a key's values");
  codes.of_other =
      pool.allocate_rows<uint32_t>(Memory::kHost, other.rows, "codes of a key's values");
  ValueTable const values(queue, workers, table);
  values.find_codes<true>(table, codes.of_table.as<uint32_t>());
  values.find_codes<false>(other, codes.of_other.as<uint32_t>());
  return codes;
}

}  // namespace gpujoin::cpu
