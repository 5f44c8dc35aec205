#include "src/cpu/ordered_keys.hpp"

#include <mutex>

#include "src/base/memory.hpp"
#include "src/cpu/merge_sort.hpp"

namespace gpujoin::cpu {

namespace {

using kernels::OrderedForm;
using kernels::OrderedKey;

constexpr uint64_t kTaskRows = uint64_t{1} << 16;

// With the form and the width known to the loop: asked for each row they take longer than the rest.
template <OrderedForm kForm, int32_t kWidth>
void order(Workers& workers, const OrderedKey& key, uint64_t rows, uint64_t* codes) {
  workers.for_each_range("keys", rows, kTaskRows, [key, codes](uint64_t first, uint64_t end) {
    OrderedKey known = key;
    known.form = kForm;
    known.width = kWidth;
    for (uint64_t row = first; row < end; ++row) codes[row] = kernels::ordered_code(known, row);
  });
}

template <OrderedForm kForm>
void order_by_width(Workers& workers, const OrderedKey& key, uint64_t rows, uint64_t* codes) {
  switch (key.width) {
    case 1:
      return order<kForm, 1>(workers, key, rows, codes);
    case 2:
      return order<kForm, 2>(workers, key, rows, codes);
    case 4:
      return order<kForm, 4>(workers, key, rows, codes);
    default:
      return order<kForm, 8>(workers, key, rows, codes);
  }
}

}  // namespace

void order_keys(Workers& workers, const OrderedKey& key, uint64_t rows, uint64_t* codes) {
  switch (key.form) {
    case OrderedForm::kSigned:
      return order_by_width<OrderedForm::kSigned>(workers, key, rows, codes);
    case OrderedForm::kUnsigned:
      return order_by_width<OrderedForm::kUnsigned>(workers, key, rows, codes);
    case OrderedForm::kFloat:
      return order_by_width<OrderedForm::kFloat>(workers, key, rows, codes);
    case OrderedForm::kBit:
      return order<OrderedForm::kBit, 0>(workers, key, rows, codes);
    case OrderedForm::kLong:
      workers.for_each_range("keys", rows, kTaskRows, [&](uint64_t first, uint64_t end) {
        for (uint64_t row = first; row < end; ++row) codes[row] = kernels::code_of_long(key, row);
      });
  }
}

keys::Extremes extremes(Workers& workers, const OrderedKey& key, uint64_t rows) {
  keys::Extremes all;
  std::mutex mutex;
  workers.for_each_range("keys", rows, kTaskRows, [&](uint64_t first, uint64_t end) {
    keys::Extremes found;
    for (uint64_t row = first; row < end; ++row) {
      if (kernels::is_valid(key.valid, row)) found.add(kernels::long_value(key, row));
    }
    std::scoped_lock const lock(mutex);
    all.add(found);
  });
  return all;
}

keys::Ranks rank_keys(base::Queue& queue, Workers& workers, const OrderedKey& left,
                      uint64_t left_rows, const OrderedKey& right, uint64_t right_rows) {
  base::Pool& pool = *queue.host_pool;
  auto const allocate = [&](uint64_t rows, const char* what) {
    return pool.allocate_rows<uint64_t>(base::Memory::kHost, rows, what);
  };
  keys::Ranks made;
  made.left = allocate(left_rows, "ranks of a key's values");
  made.right = allocate(right_rows, "ranks of a key's values");
  kernels::BothOrdered const both{left, right, left_rows};
  uint64_t const rows = left_rows + right_rows;
  base::Buffer const sorted = allocate(rows, "rows by their key");
  auto* const order = sorted.as<uint64_t>();
  workers.for_each_range("keys", rows, kTaskRows, [&](uint64_t first, uint64_t end) {
    for (uint64_t row = first; row < end; ++row) order[row] = row;
  });
  {
    base::Buffer const scratch = allocate(rows, "rows by their key");
    merge_sort(workers, "keys", order, scratch.as<uint64_t>(), rows, both);
  }
  uint64_t distinct = 0;
  for (uint64_t i = 0; i < rows; ++i) {
    uint64_t const row = order[i];
    bool const is_value = both.has_value(row);
    if (is_value && (i == 0 || both(order[i - 1], row))) ++distinct;
    uint64_t* const ranks =
        both.is_left(row) ? made.left.as<uint64_t>() : made.right.as<uint64_t>();
    ranks[both.is_left(row) ? row : row - left_rows] = is_value ? distinct - 1 : 0;
  }
  made.values = pool.allocate_rows<kernels::LongNumber>(base::Memory::kHost, distinct,
                                                        "values by their rank");
  auto* const values = made.values.as<kernels::LongNumber>();
  uint64_t const* rank_of_left = made.left.as<uint64_t>();
  uint64_t const* rank_of_right = made.right.as<uint64_t>();
  for (uint64_t i = 0; i < rows && both.has_value(order[i]); ++i) {
    uint64_t const row = order[i];
    values[both.is_left(row) ? rank_of_left[row] : rank_of_right[row - left_rows]] =
        both.value(row);
  }
  return made;
}

}  // namespace gpujoin::cpu
