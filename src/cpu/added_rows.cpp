#include "src/cpu/added_rows.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cstring>
#include <type_traits>

#include "src/base/prefetch.hpp"

namespace gpujoin::cpu {

namespace {

using kernels::GroupState;
using kernels::NumberForm;
using kernels::StateKind;

using Word = std::atomic_ref<uint64_t>;

template <bool kShared, typename Change>
void change(uint64_t* word, const Change& changed) {
  if constexpr (kShared) {
    Word shared(*word);
    uint64_t before = shared.load(std::memory_order_relaxed);
    for (uint64_t after = changed(before);
         after != before && !shared.compare_exchange_weak(before, after, std::memory_order_relaxed);
         after = changed(before)) {
    }
  } else {
    *word = changed(*word);
  }
}

// sum += value, both of `words` words. Each word's carry goes to the next one, in any order.
template <bool kShared>
void add_words(uint64_t* sum, const uint64_t* value, int words) {
  uint64_t carry = 0;
  for (int i = 0; i < words; ++i) {
    uint64_t const with_carry = value[i] + carry;
    carry = carry != 0 && with_carry == 0 ? 1 : 0;
    uint64_t before = sum[i];
    if constexpr (kShared) {
      if (with_carry == 0) continue;
      before = Word(sum[i]).fetch_add(with_carry, std::memory_order_relaxed);
    } else {
      sum[i] = before + with_carry;
    }
    carry |= static_cast<uint64_t>(before + with_carry < before);
  }
}

template <int kBytes, NumberForm kForm>
struct ValueOf {
  static uint64_t word(const std::byte* values, uint32_t row) {
    return kernels::word_of(reinterpret_cast<const uint8_t*>(values) + uint64_t{row} * kBytes,
                            kBytes, kForm);
  }
};

// what(Value) for the form and width of numbers of up to 8 bytes.
template <typename What>
void with_numbers(const kernels::Numbers& numbers, const What& what) {
  auto const with_form = [&]<int kBytes>(std::integral_constant<int, kBytes>) {
    switch (numbers.form) {
      case NumberForm::kSigned:
        return what(ValueOf<kBytes, NumberForm::kSigned>{});
      case NumberForm::kUnsigned:
        return what(ValueOf<kBytes, NumberForm::kUnsigned>{});
      case NumberForm::kFloat:
        return what(ValueOf<kBytes, NumberForm::kFloat>{});
    }
  };
  switch (numbers.width) {
    case 1:
      return with_form(std::integral_constant<int, 1>{});
    case 2:
      return with_form(std::integral_constant<int, 2>{});
    case 4:
      return with_form(std::integral_constant<int, 4>{});
    default:
      return with_form(std::integral_constant<int, 8>{});
  }
}

// add(row, the group's words) for the rows that have a value.
template <typename Add>
void each_valid(const GroupState& state, const AddedRows& added, const Add& add) {
  auto const words = static_cast<uint64_t>(state.words);
  for (uint32_t row = 0; row < added.rows; ++row) {
    if (added.groups != nullptr && row + base::kRowsAhead < added.rows) {
      base::ask_for(state.values + added.groups[row + base::kRowsAhead] * words);
    }
    if (!is_set(added.valid, row)) continue;
    add(row, state.values + (added.groups == nullptr ? 0 : added.groups[row] * words));
  }
}

uint64_t count_set(const AddedRows& added) {
  if (added.valid == nullptr) return added.rows;
  uint64_t count = 0;
  for (uint32_t row = 0; row < added.rows; row += 64) {
    uint64_t word = added.valid[row / 64];
    if (added.rows - row < 64) word &= (uint64_t{1} << (added.rows - row)) - 1;
    count += static_cast<uint64_t>(std::popcount(word));
  }
  return count;
}

template <bool kShared>
void count_rows(const GroupState& state, const AddedRows& added) {
  if (added.groups == nullptr) {
    uint64_t const value = count_set(added);
    return add_words<kShared>(state.values, &value, 1);
  }
  uint64_t const one = 1;
  each_valid(state, added, [&](uint32_t, uint64_t* group) { add_words<kShared>(group, &one, 1); });
}

template <bool kShared>
void add_wide(const GroupState& state, const AddedRows& added) {
  auto const bytes = static_cast<uint64_t>(state.numbers.width);
  each_valid(state, added, [&](uint32_t row, uint64_t* group) {
    uint64_t value[kernels::kMostSumWords];
    std::memcpy(value, added.values + row * bytes, bytes);
    value[state.words - 1] =
        static_cast<uint64_t>(static_cast<int64_t>(value[state.words - 2]) >> 63);
    add_words<kShared>(group, value, state.words);
  });
}

template <bool kShared>
void add_sum(const GroupState& state, const AddedRows& added) {
  if (state.numbers.width > 8) return add_wide<kShared>(state, added);
  bool const is_signed = state.numbers.form == NumberForm::kSigned;
  auto const upper = [&](uint64_t word) {
    return is_signed ? static_cast<uint64_t>(static_cast<int64_t>(word) >> 63) : 0;
  };
  with_numbers(state.numbers, [&]<typename Value>(Value) {
    if (added.groups != nullptr) {
      return each_valid(state, added, [&](uint32_t row, uint64_t* group) {
        uint64_t const word = Value::word(added.values, row);
        uint64_t const value[2] = {word, upper(word)};
        add_words<kShared>(group, value, 2);
      });
    }
    if (state.numbers.width <= 4 && added.valid == nullptr) {
      // So many of 4 bytes fit 8, of either sign.
      uint64_t sum = 0;
      for (uint32_t row = 0; row < added.rows; ++row) sum += Value::word(added.values, row);
      uint64_t const value[2] = {sum, upper(sum)};
      return add_words<kShared>(state.values, value, 2);
    }
    uint64_t sum[2] = {};
    for (uint32_t row = 0; row < added.rows; ++row) {
      uint64_t const word = is_set(added.valid, row) ? Value::word(added.values, row) : 0;
      sum[0] += word;
      sum[1] += upper(word) + static_cast<uint64_t>(sum[0] < word);
    }
    add_words<kShared>(state.values, sum, 2);
  });
}

template <bool kShared>
void add_floats(const GroupState& state, const AddedRows& added) {
  auto const add = [](uint64_t* word, double value) {
    change<kShared>(word, [&](uint64_t before) {
      return kernels::bits_of_double(kernels::double_of_bits(before) + value);
    });
  };
  auto const bytes = static_cast<uint64_t>(state.numbers.width);
  auto const value_at = [&](uint32_t row) {
    auto const* const value = reinterpret_cast<const uint8_t*>(added.values) + row * bytes;
    return kernels::double_of(kernels::word_of(value, state.numbers.width, NumberForm::kFloat),
                              state.numbers.width);
  };
  if (added.groups != nullptr) {
    return each_valid(state, added,
                      [&](uint32_t row, uint64_t* group) { add(group, value_at(row)); });
  }
  double sum = 0;
  for (uint32_t row = 0; row < added.rows; ++row) {
    if (is_set(added.valid, row)) sum += value_at(row);
  }
  add(state.values, sum);
}

template <bool kShared>
void keep_ordinal(const GroupState& state, const AddedRows& added) {
  bool const is_least = state.kind == StateKind::kLeast;
  with_numbers(state.numbers, [&]<typename Value>(Value) {
    each_valid(state, added, [&](uint32_t row, uint64_t* group) {
      uint64_t const ordinal = kernels::ordinal_of(Value::word(added.values, row),
                                                   state.numbers.width, state.numbers.form);
      change<kShared>(group, [&](uint64_t before) {
        return is_least ? std::min(before, ordinal) : std::max(before, ordinal);
      });
    });
  });
}

uint64_t better_row(const GroupState& state, uint64_t before, uint64_t row) {
  if (before == kernels::kNoGroupRow) return row;
  if (row == kernels::kNoGroupRow || state.kind == StateKind::kAnyRow) return before;
  int const order = kernels::compare_rows(state.ordered, row, before);
  return (state.kind == StateKind::kLeastRow ? order < 0 : order > 0) ? row : before;
}

template <bool kShared>
void keep_row(const GroupState& state, const AddedRows& added) {
  each_valid(state, added, [&](uint32_t at, uint64_t* group) {
    uint32_t row = 0;
    std::memcpy(&row, added.values + uint64_t{at} * sizeof(row), sizeof(row));
    change<kShared>(group, [&](uint64_t before) { return better_row(state, before, row); });
  });
}

template <bool kShared>
void add(const GroupState& state, const AddedRows& added) {
  switch (state.kind) {
    case StateKind::kRows:
      return count_rows<kShared>(state, added);
    case StateKind::kSum:
      return add_sum<kShared>(state, added);
    case StateKind::kFloatSum:
      return add_floats<kShared>(state, added);
    case StateKind::kLeast:
    case StateKind::kGreatest:
      return keep_ordinal<kShared>(state, added);
    default:
      return keep_row<kShared>(state, added);
  }
}

}  // namespace

void add_rows(const GroupState& state, const AddedRows& added, bool is_shared) {
  if (state.is_null || added.rows == 0) return;
  return is_shared ? add<true>(state, added) : add<false>(state, added);
}

void merge_group(const GroupState& state, uint64_t* group, const uint64_t* other) {
  switch (state.kind) {
    case StateKind::kRows:
    case StateKind::kSum:
      return add_words<false>(group, other, state.words);
    case StateKind::kFloatSum:
      *group = kernels::bits_of_double(kernels::double_of_bits(*group) +
                                       kernels::double_of_bits(*other));
      return;
    case StateKind::kLeast:
      *group = std::min(*group, *other);
      return;
    case StateKind::kGreatest:
      *group = std::max(*group, *other);
      return;
    default:
      *group = better_row(state, *group, *other);
  }
}

}  // namespace gpujoin::cpu
