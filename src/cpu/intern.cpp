#include "src/cpu/intern.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>

#include "src/base/prefetch.hpp"
#include "src/cpu/bytes_layout.hpp"
#include "src/cpu/short_value.hpp"
#include "src/cpu/tagged_rows.hpp"
#include "src/keys/bytes_hash.hpp"

namespace gpujoin::cpu {

namespace {

using base::Memory;
using kernels::ByteSpan;
using kernels::LoadableBytes;

constexpr uint64_t kTaskRows = uint64_t{1} << 16;
// Rows whose reads are under way at once: a row waits for one line in each step.
constexpr uint64_t kGroupRows = 64;
constexpr uint64_t kGroupsBetweenPolls = 64;

void prefetch_ends(const LoadableBytes& value) {
  base::ask_for(value.data);
  base::ask_for(value.data + value.count - 1);
}

// What is compared of a value, half a cache line: of one of up to 24 bytes all of it. Of a longer
// one its hash, where it lies, and nothing.
struct alignas(32) Compared {
  uint64_t count;
  ShortValue value;

  bool is_long() const { return count > kMostShortBytes; }
  bool operator==(const Compared& other) const {
    if (is_long()) return count == other.count && value.words[0] == other.value.words[0];
    return count == other.count && value == other.value;
  }
};

// So many that a bucket of eight has five rows on average.
uint64_t buckets_for(uint64_t rows) { return rows / 5 + 1; }

// Rows by their values. The table's own are copied to where one read finds them, of whatever layout
// the column is, and take slots, one of those with a value.
class Values {
 public:
  Values(const base::Context& context, Workers& workers, const keys::ValueTable& table)
      : workers_(workers),
        side_(table.side),
        hash_(keys::bytes_hash(context)),
        short_hash_(context),
        bucket_count_(buckets_for(table.side.rows)),
        buckets_(table.slots.as<TaggedRows>()),
        compared_(table.compared.as<Compared>()) {}

  // Of the table's own side. Answers whether every code is its row's number.
  bool take_slots(uint32_t* codes) const {
    workers_.for_each_range("keys", bucket_count_, kTaskRows, [&](uint64_t first, uint64_t end) {
      std::memset(buckets_ + first, 0xff, (end - first) * sizeof(TaggedRows));
    });
    return with_layout(side_.values,
                       [&](const auto& value_at) { return take_slots(value_at, codes); });
  }

  void find_codes(const keys::InternedSide& side, uint32_t* codes) const {
    with_layout(side.values, [&](const auto& value_at) { find_codes(side, value_at, codes); });
  }

 private:
  struct Walk {
    const Compared* compared;
    uint64_t hash;
    uint64_t bucket;
    uint32_t row;
    uint32_t found;  // bits of slots of the bucket that have the tag
    uint32_t code;   // of the first of them; if there is none, of a value that is not there
  };
  struct Group {
    Compared compared[kGroupRows];
    Walk walks[kGroupRows];
    uint64_t started = 0;
  };

  template <typename ValueAt>
  bool take_slots(const ValueAt& value_at, uint32_t* codes) const {
    std::atomic<bool> are_rows{true};
    workers_.for_each_range("keys", side_.rows, kTaskRows, [&](uint64_t first, uint64_t end) {
      Walk walks[kGroupRows];
      bool are_own = true;
      for (uint64_t row = first; row < end; row += kGroupRows) {
        if (row / kGroupRows % kGroupsBetweenPolls == 0) workers_.poll();
        uint64_t const rows = std::min(end - row, kGroupRows);
        uint64_t const started =
            start(side_, value_at, row, row + rows, compared_ + row, codes, walks);
        are_own = are_own && started == rows;
        for (uint64_t i = 0; i < started; ++i) {
          uint32_t const code = take_slot(walks[i]);
          codes[walks[i].row] = code;
          are_own = are_own && code == walks[i].row;
        }
      }
      if (!are_own) are_rows.store(false, std::memory_order_relaxed);
    });
    return are_rows.load(std::memory_order_relaxed);
  }

  template <typename ValueAt>
  void find_codes(const keys::InternedSide& side, const ValueAt& value_at, uint32_t* codes) const {
    workers_.for_each_range("keys", side.rows, kTaskRows, [&](uint64_t first, uint64_t end) {
      // Each step reads what the step before asked for, of another group: by then it is there.
      Group groups[3];
      uint64_t const count = (end - first + kGroupRows - 1) / kGroupRows;
      for (uint64_t step = 0; step < count + 2; ++step) {
        if (step % kGroupsBetweenPolls == 0) workers_.poll();
        if (step < count) {
          Group& group = groups[step % 3];
          uint64_t const begin = first + step * kGroupRows;
          group.started = start(side, value_at, begin, std::min(end, begin + kGroupRows),
                                group.compared, codes, group.walks);
        }
        if (step >= 1 && step <= count) find_tags(&groups[(step - 1) % 3]);
        if (step >= 2) find_values(side, &groups[(step - 2) % 3], codes);
      }
    });
  }

  void compare(const LoadableBytes& value, Compared* of) const {
    of->count = value.count;
    if (value.count <= kMostShortBytes) {
      read_short_value(value, &of->value);
    } else {
      of->value = {{hash_.of(value), reinterpret_cast<uintptr_t>(value.data), 0}};
    }
  }

  // Walks of the rows that are not NULL; how many there are. compared: of the rows from `first` on.
  template <typename ValueAt>
  uint64_t start(const keys::InternedSide& side, const ValueAt& value_at, uint64_t first,
                 uint64_t end, Compared* compared, uint32_t* codes, Walk* walks) const {
    uint64_t started = 0;
    for (uint64_t row = first; row < end; ++row, ++compared) {
      if (!kernels::is_valid(side.validity, row)) {
        codes[row] = 0;
        continue;
      }
      compare(value_at(row), compared);
      Walk& walk = walks[started++];
      walk.compared = compared;
      walk.hash = compared->is_long() ? compared->value.words[0]
                                      : short_hash_.of(compared->value, compared->count);
      walk.bucket = kernels::first_slot(walk.hash, bucket_count_);
      walk.row = static_cast<uint32_t>(row);
      base::ask_for(&buckets_[walk.bucket]);
    }
    return started;
  }

  static LoadableBytes long_value(const keys::InternedSide& side, const Compared& of) {
    auto const* const data = reinterpret_cast<const uint8_t*>(of.value.words[1]);
    return kernels::loadable(side.values, ByteSpan{data, of.count});
  }
  bool has_value(const keys::InternedSide& side, const Compared& one, uint32_t row) const {
    Compared const& other = compared_[row];
    if (!(one == other)) return false;
    return !one.is_long() || kernels::are_equal(long_value(side, one), long_value(side_, other));
  }

  // The row that has the value: another one's that was here before, or its own. Who finds a slot
  // taken finds what is compared of the row that it names.
  uint32_t take_slot(const Walk& walk) const {
    uint64_t const own = TaggedRows::slot_of(walk.hash, walk.row);
    for (uint64_t bucket = walk.bucket;; bucket = kernels::slot_after(bucket, bucket_count_)) {
      for (uint64_t& place : buckets_[bucket].slots) {
        std::atomic_ref<uint64_t> const at(place);
        uint64_t slot = at.load(std::memory_order_acquire);
        if (slot == TaggedRows::kFree &&
            at.compare_exchange_strong(slot, own, std::memory_order_acq_rel,
                                       std::memory_order_acquire)) {
          return walk.row;
        }
        uint32_t const row = TaggedRows::row_of(slot);
        if (TaggedRows::have_one_tag(slot, own) && has_value(side_, *walk.compared, row))
          return row;
      }
    }
  }

  // Goes on to the next slot that has the tag, if there is one.
  void find_tag(Walk* walk) const {
    while (walk->found == 0 && buckets_[walk->bucket].is_full()) {
      walk->bucket = kernels::slot_after(walk->bucket, bucket_count_);
      walk->found = buckets_[walk->bucket].with_tag(walk->hash);
    }
    if (walk->found == 0) {
      walk->code = kernels::absent_code(walk->row, side_.rows);
    } else {
      auto const slot = static_cast<uint32_t>(std::countr_zero(walk->found));
      walk->code = TaggedRows::row_of(buckets_[walk->bucket].slots[slot]);
    }
  }

  void find_tags(Group* group) const {
    for (uint64_t i = 0; i < group->started; ++i) {
      Walk& walk = group->walks[i];
      walk.found = buckets_[walk.bucket].with_tag(walk.hash);
      find_tag(&walk);
      if (walk.found != 0) base::ask_for(&compared_[walk.code]);
    }
  }

  void find_values(const keys::InternedSide& side, Group* group, uint32_t* codes) const {
    for (uint64_t i = 0; i < group->started; ++i) {
      Walk const& walk = group->walks[i];
      if (!walk.compared->is_long() || walk.found == 0) continue;
      Compared const& there = compared_[walk.code];
      if (there.is_long()) prefetch_ends(long_value(side_, there));
    }
    for (uint64_t i = 0; i < group->started; ++i) {
      Walk& walk = group->walks[i];
      while (walk.found != 0 && !has_value(side, *walk.compared, walk.code)) {
        walk.found &= walk.found - 1;
        find_tag(&walk);
      }
      codes[walk.row] = walk.code;
    }
  }

  Workers& workers_;
  const keys::InternedSide& side_;
  kernels::BytesHash hash_;
  ShortHash short_hash_;
  uint64_t bucket_count_;
  TaggedRows* buckets_;
  Compared* compared_;
};

}  // namespace

keys::Interned intern(base::Queue& queue, Workers& workers, const keys::InternedSide& table) {
  base::Pool& pool = *queue.host_pool;
  keys::Interned made;
  made.codes = pool.allocate_rows<uint32_t>(Memory::kHost, table.rows, "codes of a key's values");
  made.table.side = table;
  made.table.slots = pool.allocate_rows<TaggedRows>(Memory::kHost, buckets_for(table.rows),
                                                    "table of a key's values");
  made.table.compared = pool.allocate_rows<Compared>(Memory::kHost, table.rows, "a key's values");
  Values const values(queue.context, workers, made.table);
  made.are_rows = values.take_slots(made.codes.as<uint32_t>());
  return made;
}

base::Buffer codes_by(base::Queue& queue, Workers& workers, const keys::ValueTable& table,
                      const keys::InternedSide& other) {
  base::Buffer codes = queue.host_pool->allocate_rows<uint32_t>(Memory::kHost, other.rows,
                                                                "codes of a key's values");
  Values(queue.context, workers, table).find_codes(other, codes.as<uint32_t>());
  return codes;
}

}  // namespace gpujoin::cpu
