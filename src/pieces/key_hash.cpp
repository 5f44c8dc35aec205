#include "src/pieces/key_hash.hpp"

#include <algorithm>

#include "src/keys/bytes_hash.hpp"
#include "src/pieces/key_words.hpp"
#include "src/plan/sample_rule.hpp"

namespace gpujoin::pieces {

namespace {

using kernels::Wide;
using plan::mix64;

// Rows are hashed so many at a time: their words stay in the first cache.
constexpr int64_t kBlockRows = 512;
static_assert(kBlockRows % 64 == 0);

// The secret numbers of one key of one seed, by which its values become words (key_words.hpp).
// SplitMix, as for the hash of columns.
class Secrets {
 public:
  explicit Secrets(uint64_t seed) : bytes_hash_(keys::bytes_hash(seed, 0)) {
    auto const next = [&] { return mix64(seed += 0x9e3779b97f4a7c15ULL); };
    factor_ = next() | 1;
    start_ = next();
    rest_factor_ = next() | 1;
    rest_start_ = next();
  }

  uint64_t factor() const { return factor_; }
  uint64_t start() const { return start_; }

  uint64_t null() const { return 0x9ae16a3b2f90404f; }
  uint64_t plain(uint64_t word) const { return word; }
  uint64_t large(uint64_t value) const {
    if (value % 10 != 0) return of(value, 0);  // in its form, as most are
    return of(exact_number(Wide{{value, 0, 0, 0}}, 0));
  }
  uint64_t bytes(const kernels::LoadableBytes& value) const { return bytes_hash_.of(value); }
  // A signed value of several words as one: the lowest where that is all there is to it, as it is
  // of a narrower type.
  uint64_t of(uint64_t low, uint64_t high) const { return low + with_rest(0, high ^ sign_of(low)); }
  uint64_t of(const ShortNumber& number) const {
    return with_exponent(static_cast<uint64_t>(number.mantissa), number.exponent);
  }
  uint64_t of(const LongNumber& number) const {
    Wide const& value = number.mantissa;
    uint64_t rest = 0;
    for (int i = 3; i > 0; --i) {
      rest = with_rest(rest, value.words[i] ^ sign_of(value.words[i - 1]));
    }
    return with_exponent(value.words[0] + rest, number.exponent);
  }

 private:
  uint64_t with_exponent(uint64_t word, int32_t exponent) const {
    constexpr uint64_t kMark = 0x452821e638d01377;  // no number begins like an exponent by chance
    if (exponent == 0) return word;
    return word + with_rest(0, static_cast<uint64_t>(int64_t{exponent}) ^ kMark);
  }
  uint64_t with_rest(uint64_t rest, uint64_t more) const {
    return (rest | more) == 0 ? 0 : mix64(more * rest_factor_ + rest + rest_start_);
  }
  static uint64_t sign_of(uint64_t word) {
    return static_cast<uint64_t>(static_cast<int64_t>(word) >> 63);
  }

  uint64_t factor_;  // odd
  uint64_t start_;
  uint64_t rest_factor_;  // odd
  uint64_t rest_start_;
  kernels::BytesHash bytes_hash_;
};

}  // namespace

void hash_keys(const columns::Relation& rows, std::span<const int32_t> keys,
               std::span<const int32_t> key_flags, int64_t first, int64_t count, uint64_t seed,
               uint64_t* hashes, uint8_t* has_null) {
  std::fill_n(has_null, count, uint8_t{0});
  if (keys.empty()) std::fill_n(hashes, count, mix64(seed));
  // A column at a time: what is known of it is found once, and its values are read in order.
  for (size_t i = 0; i < keys.size(); ++i) {
    columns::ColumnView const& column = rows.columns[static_cast<size_t>(keys[i])];
    auto const key = key_reader(column, rows.rows, Secrets(mix64(mix64(seed) + i)));
    int32_t const flags = key_flags.empty() ? 0 : key_flags[i];
    bool const is_unequal = (flags & columns::kNullEqual) == 0;
    uint64_t words[kBlockRows];
    for (int64_t done = 0; done < count; done += kBlockRows) {
      int64_t const now = std::min(kBlockRows, count - done);
      write_words(key, first + done, now, words, is_unequal ? has_null + done : nullptr);
      uint64_t* const made = hashes + done;
      // Of a key behind the first its place is the hash of those before.
      if (i == 0) std::fill_n(made, now, key.words.start());
      uint64_t const factor = key.words.factor();
      for (int64_t row = 0; row < now; ++row) {
        made[row] = mix64(words[row] * factor + made[row]);
      }
    }
  }
}

}  // namespace gpujoin::pieces
