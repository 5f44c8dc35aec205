#include "src/pieces/key_hash.hpp"

#include <algorithm>

#include "src/keys/bytes_hash.hpp"
#include "src/keys/value_kinds.hpp"
#include "src/pieces/key_words.hpp"

namespace gpujoin::pieces {

namespace {

using kernels::mixed_word;
using kernels::Wide;

// Rows are hashed so many at a time: their words stay in the first cache.
constexpr int64_t kBlockRows = 512;
static_assert(kBlockRows % 64 == 0);

uint64_t seed_of_key(uint64_t seed, size_t i) { return mixed_word(mixed_word(seed) + i); }

// The secret numbers of key number i of one seed. SplitMix, as for the hash of columns.
kernels::ValueHash hash_of_key(uint64_t seed, size_t i) {
  seed = seed_of_key(seed, i);
  auto const next = [&] { return mixed_word(seed += 0x9e3779b97f4a7c15ULL); };
  kernels::ValueHash hash;
  hash.factor = next() | 1;
  hash.start = next();
  hash.rest_factor = next() | 1;
  hash.rest_start = next();
  return hash;
}

// What values of one key become words by (key_words.hpp).
class HashWords {
 public:
  HashWords(uint64_t seed, size_t i)
      : hash_(hash_of_key(seed, i)), bytes_hash_(keys::bytes_hash(seed_of_key(seed, i), 0)) {}

  const kernels::ValueHash& hash() const { return hash_; }

  uint64_t null() const { return kernels::ValueHash::kNull; }
  uint64_t plain(uint64_t word) const { return word; }
  uint64_t large(uint64_t value) const {
    if (value % 10 != 0) return of(value, 0);  // in its form, as most are
    return of(exact_number(Wide{{value, 0, 0, 0}}, 0));
  }
  uint64_t bytes(const kernels::LoadableBytes& value) const { return bytes_hash_.of(value); }
  uint64_t of(uint64_t low, uint64_t high) const { return hash_.word_of(low, high); }
  uint64_t of(const ShortNumber& number) const {
    return hash_.with_exponent(static_cast<uint64_t>(number.mantissa), number.exponent);
  }
  uint64_t of(const LongNumber& number) const {
    Wide const& value = number.mantissa;
    uint64_t rest = 0;
    for (int i = 3; i > 0; --i) {
      rest = hash_.with_rest(rest, value.words[i] ^ hash_.sign_of(value.words[i - 1]));
    }
    return hash_.with_exponent(value.words[0] + rest, number.exponent);
  }

 private:
  kernels::ValueHash hash_;
  kernels::BytesHash bytes_hash_;
};

}  // namespace

void hash_keys(const columns::Relation& rows, std::span<const int32_t> keys,
               std::span<const int32_t> key_flags, int64_t first, int64_t count, uint64_t seed,
               uint64_t* hashes, uint8_t* has_null) {
  std::fill_n(has_null, count, uint8_t{0});
  if (keys.empty()) std::fill_n(hashes, count, mixed_word(seed));
  // A column at a time: what is known of it is found once, and its values are read in order.
  for (size_t i = 0; i < keys.size(); ++i) {
    columns::ColumnView const& column = rows.columns[static_cast<size_t>(keys[i])];
    auto const key = key_reader(column, rows.rows, HashWords(seed, i));
    int32_t const flags = key_flags.empty() ? 0 : key_flags[i];
    bool const is_unequal = (flags & columns::kNullEqual) == 0;
    uint64_t words[kBlockRows];
    for (int64_t done = 0; done < count; done += kBlockRows) {
      int64_t const now = std::min(kBlockRows, count - done);
      write_words(key, first + done, now, words, is_unequal ? has_null + done : nullptr);
      uint64_t* const made = hashes + done;
      // Of a key behind the first its place is the hash of those before.
      kernels::ValueHash const hash = key.words.hash();
      if (i == 0) std::fill_n(made, now, hash.start);
      for (int64_t row = 0; row < now; ++row) made[row] = hash.add(words[row], made[row]);
    }
  }
}

std::optional<kernels::HashedColumn> hashed_column(const columns::ColumnView& key, int32_t flags,
                                                   uint64_t seed, size_t i) {
  using kernels::WordOp;
  if (key.layout != columns::Layout::kValues || key.width > 8) return std::nullopt;
  kernels::HashedColumn made;
  made.value.width = key.width;
  made.is_null_equal = (flags & columns::kNullEqual) != 0;
  made.hash = hash_of_key(seed, i);
  if (keys::is_signed(key.type)) {
    made.op = WordOp::kSigned;
  } else if (keys::is_unsigned(key.type)) {
    made.op = WordOp::kUnsigned;
  } else if (keys::is_decimal(key)) {
    made.op = WordOp::kDecimal;
    made.scale = keys::scale_of(key);
  } else if (keys::is_float(key.type)) {
    made.op = WordOp::kFloat;
  } else if (keys::TimeUnit const unit = keys::unit_of(key); unit.clock != keys::Clock::kNone) {
    made.op = WordOp::kTime;
    made.nanoseconds = unit.nanoseconds;
  } else {
    return std::nullopt;
  }
  return made;
}

}  // namespace gpujoin::pieces
