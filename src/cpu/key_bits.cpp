#include "src/cpu/key_bits.hpp"

#include <algorithm>
#include <bit>
#include <functional>
#include <limits>
#include <type_traits>
#include <vector>

#include "src/cpu/key_spans.hpp"
#include "src/cpu/marked_keys.hpp"

namespace gpujoin::cpu {

namespace {

constexpr const char* kStage = "transform";
constexpr uint64_t kTaskRows = uint64_t{1} << 16;
// 2 MiB of bits: for one probe side, with keys in any order, more are made slower than partitions.
constexpr uint64_t kMostSpan = uint64_t{1} << 24;
// Where large ones are worth it: 16 MiB of bits; of a list of rows, mostly read at random, 128 MiB.
constexpr uint64_t kMostKeptSpan = uint64_t{1} << 27;
constexpr uint64_t kMostListedSpan = uint64_t{1} << 25;
// Numbers for a key: clearing them is to cost no more than looking at the keys.
constexpr uint64_t kMostNumbersAKey = 8;

template <typename Key>
struct Bounds {
  Key low = std::numeric_limits<Key>::max();
  Key high = std::numeric_limits<Key>::min();
  bool ascend = true;  // each row's is above that of the row before
};

template <typename Key>
Bounds<Key> bounds_of(Workers& workers, const columns::ColumnView& key, uint64_t rows) {
  std::vector<Bounds<Key>> of_tasks((rows + kTaskRows - 1) / kTaskRows);
  workers.for_each_range(kStage, rows, kTaskRows, [&](uint64_t first, uint64_t end) {
    Bounds<Key> found;
    for_each_key<Key>(key, first, end, [&](Key one, uint64_t) {
      found.low = std::min(found.low, one);
      found.high = std::max(found.high, one);
    });
    auto const* const keys = static_cast<const Key*>(key.data);
    found.ascend = key.validity == nullptr &&
                   std::adjacent_find(keys + (first == 0 ? 0 : first - 1), keys + end,
                                      std::greater_equal<>()) == keys + end;
    of_tasks[first / kTaskRows] = found;
  });
  Bounds<Key> all;
  for (Bounds<Key> const& of_task : of_tasks) {
    all.low = std::min(all.low, of_task.low);
    all.high = std::max(all.high, of_task.high);
    all.ascend = all.ascend && of_task.ascend;
  }
  return all;
}

// Of each word of bits: how many are 1 in those before.
std::shared_ptr<const base::Buffer> counts_before(base::Queue& queue, const uint32_t* words,
                                                  uint64_t count) {
  base::Buffer counts = queue.host_pool->try_allocate(base::Memory::kHost, count * 4);
  if (!counts) return nullptr;
  auto* const before = counts.as<uint32_t>();
  uint32_t sum = 0;
  for (uint64_t word = 0; word < count; ++word) {
    before[word] = sum;
    sum += static_cast<uint32_t>(std::popcount(words[word]));
  }
  return std::make_shared<const base::Buffer>(std::move(counts));
}

}  // namespace

template <typename Key>
std::optional<KeyBits> KeyBits::of_keys(base::Queue& queue, Workers& workers,
                                        const columns::ColumnView& key, uint64_t rows,
                                        Wanted wanted) {
  if (drawn_span(key, rows) > std::min(wanted.most_span, kMostNumbersAKey * rows)) {
    return std::nullopt;
  }
  // Numbers around 0 are neighbours.
  Bounds<Key> const bounds = bounds_of<Key>(workers, key, rows);
  if (bounds.low > bounds.high) return std::nullopt;
  using Bits = std::make_unsigned_t<Key>;
  auto const low = static_cast<Bits>(bounds.low);
  uint64_t const widest = static_cast<Bits>(static_cast<Bits>(bounds.high) - low);
  bool const lists_rows = wanted.rows == Rows::kListed && !bounds.ascend;
  uint64_t const of_large = lists_rows ? kMostListedSpan : kMostKeptSpan;
  uint64_t const most = wanted.may_be_large ? of_large : kMostSpan;
  if (widest >= std::min({most, wanted.most_span, kMostNumbersAKey * rows})) return std::nullopt;
  auto const span = static_cast<uint32_t>(widest + 1);
  base::Buffer row_of_key;
  if (lists_rows) {
    row_of_key = queue.host_pool->try_allocate(base::Memory::kHost, uint64_t{span} * 4);
    if (!row_of_key) return std::nullopt;
  }
  MarkedKeys<Key> marked{workers, key, rows, low, span, row_of_key.as<uint32_t>()};
  base::Buffer bits = marked.mark(queue);
  if (!bits || (!wanted.may_repeat && marked.repeat())) return std::nullopt;
  KeyBits made(std::make_shared<const base::Buffer>(std::move(bits)), low, span);
  if (lists_rows) made.rows_ = std::make_shared<const base::Buffer>(std::move(row_of_key));
  made.are_places_ = wanted.rows == Rows::kPlaced;
  if (wanted.rows != Rows::kListed || lists_rows) return made;
  made.before_ = counts_before(queue, made.words_, uint64_t{span} / 32 + 1);
  if (made.before_ == nullptr) return std::nullopt;
  return made;
}

std::optional<KeyBits> KeyBits::of_column(base::Queue& queue, Workers& workers,
                                          const columns::ColumnView& key, uint64_t rows,
                                          Wanted wanted) {
  return key.width == 4 ? of_keys<int32_t>(queue, workers, key, rows, wanted)
                        : of_keys<int64_t>(queue, workers, key, rows, wanted);
}

std::optional<KeyBits> KeyBits::of_unique(base::Queue& queue, Workers& workers,
                                          const columns::ColumnView& key, uint64_t rows,
                                          bool keeps_rows, bool may_be_large) {
  return of_column(
      queue, workers, key, rows,
      {.rows = keeps_rows ? Rows::kListed : Rows::kNone, .may_be_large = may_be_large});
}

std::optional<KeyBits> KeyBits::of_places(base::Queue& queue, Workers& workers,
                                          const columns::ColumnView& key, uint64_t rows,
                                          uint64_t most_span) {
  return of_column(queue, workers, key, rows,
                   {.rows = Rows::kPlaced, .may_be_large = true, .most_span = most_span});
}

std::optional<KeyBits> KeyBits::of_any(base::Queue& queue, Workers& workers,
                                       const columns::ColumnView& key, uint64_t rows) {
  return of_column(queue, workers, key, rows, {.may_repeat = true});
}

}  // namespace gpujoin::cpu
