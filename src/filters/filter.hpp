// filter.hpp: what is known of the keys of a finished build: which values they have between, and a
// bit for each value or for each hash of one. It says of a row that none of the build's keys equals
// its own, or that one may.
#pragma once

#include <cstdint>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "gpujoin.h"
#include "src/base/context.hpp"
#include "src/base/memory.hpp"
#include "src/columns/column.hpp"
#include "src/columns/result.hpp"
#include "src/filters/positions.hpp"

namespace gpujoin::filters {

enum class Kind : int32_t {
  kNone = GPUJOIN_KEY_FILTER_NONE,
  kMinMax = GPUJOIN_KEY_FILTER_MIN_MAX,
  kBitmap = GPUJOIN_KEY_FILTER_BITMAP,
  kBloom = GPUJOIN_KEY_FILTER_BLOOM,
};
// For example "bloom".
const char* to_text(Kind kind);

// What a filter is asked to be.
struct Wish {
  gpujoin_key_filter_kind kind = GPUJOIN_KEY_FILTER_AUTOMATIC;
  uint64_t largest_bytes = 0;      // 0: the library decides
  double false_positive_rate = 0;  // 0: the library decides

  bool operator==(const Wish&) const = default;
};

// Const once it is made, but for the copy of the bits that the device has.
struct Filter {
  std::shared_ptr<base::Context> context;
  std::vector<columns::ColumnView> keys;  // without data
  std::vector<gpujoin_type> key_types;    // of each
  std::vector<int32_t> key_flags;         // of each
  Kind kind = Kind::kNone;
  int64_t rows = 0;      // of the build
  int64_t distinct = 0;  // keys without those that equal nothing
  bool distinct_is_exact = false;
  bool has_null = false;  // a row of the build has a NULL in one of the keys
  double false_positive_rate = 0;

  // Of a lone key, where its type has an order and there is a value.
  bool has_extremes = false;
  std::string lowest;
  std::string highest;
  // Of a lone key that has positions; of kMinMax and kBitmap always. No value: first > last.
  PositionUnit unit;
  int64_t first_position = 0;
  int64_t last_position = -1;

  base::Buffer bits;   // host memory: see gpujoin.h for the layout
  uint64_t bytes = 0;  // of them

  // Rows with a NULL in a lone key pass.
  bool passes_null = false;

  // Of the device, once a batch of its memory was tested.
  mutable std::mutex device_mutex;
  mutable columns::Storage device_bits;
};

}  // namespace gpujoin::filters
