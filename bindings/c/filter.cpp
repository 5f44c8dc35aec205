// filter.cpp: gpujoin.h section 10: filters of builds.
#include <algorithm>
#include <memory>
#include <utility>
#include <vector>

#include "bindings/c/arguments.hpp"
#include "bindings/c/filter.hpp"
#include "bindings/c/finished_build.hpp"
#include "bindings/c/guard.hpp"
#include "bindings/c/handles.hpp"
#include "bindings/c/join_spec.hpp"
#include "src/base/copy.hpp"
#include "src/base/queue.hpp"
#include "src/columns/validity_bits.hpp"
#include "src/filters/test_rows.hpp"

namespace gpujoin::shim {

namespace {

filters::Wish checked_wish(const gpujoin_key_filter_options* given) {
  gpujoin_key_filter_options options = GPUJOIN_KEY_FILTER_OPTIONS_INIT;
  if (given != nullptr) options = read_struct(given, "options");
  check_range(options.kind, GPUJOIN_KEY_FILTER_AUTOMATIC, GPUJOIN_KEY_FILTER_BLOOM, "options.kind");
  if (options.kind == GPUJOIN_KEY_FILTER_NONE) {
    base::fail(GPUJOIN_ERROR_INVALID_ARGUMENT, "options.kind is NONE, which nobody need make");
  }
  double const rate = options.false_positive_rate;
  if (!(rate >= 0 && rate < 1)) {
    base::fail(GPUJOIN_ERROR_INVALID_ARGUMENT,
               "options.false_positive_rate is %g; allowed are 0 and what lies between 0 and 1",
               rate);
  }
  filters::Wish wish;
  wish.kind = options.kind;
  wish.largest_bytes = options.largest_bytes;
  wish.false_positive_rate = rate;
  return wish;
}

int32_t checked_key(const pieces::Build& build, int32_t key) {
  auto const keys = static_cast<int32_t>(build.shape().keys.size());
  if (keys == 0) base::fail(GPUJOIN_ERROR_INVALID_ARGUMENT, "key: the build has none");
  check_range(key, -1, keys - 1, "key");
  // The lone key is all of them.
  return keys == 1 ? 0 : key;
}

gpujoin_key_filter_info info_of(const filters::Filter& filter) {
  gpujoin_key_filter_info info = GPUJOIN_KEY_FILTER_INFO_INIT;
  info.kind = static_cast<gpujoin_key_filter_kind>(filter.kind);
  info.key_count = static_cast<int32_t>(filter.key_types.size());
  info.key_types = filter.key_types.data();
  info.has_null = filter.has_null ? 1 : 0;
  info.rows = filter.rows;
  info.distinct = filter.distinct;
  info.distinct_is_exact = filter.distinct_is_exact ? 1 : 0;
  info.passes_null = filter.passes_null ? 1 : 0;
  info.false_positive_rate = filter.false_positive_rate;
  if (filter.has_extremes) {
    info.min_value = filter.lowest.data();
    info.max_value = filter.highest.data();
    info.value_bytes[0] = filter.lowest.size();
    info.value_bytes[1] = filter.highest.size();
  }
  bool const has_range =
      filter.kind == filters::Kind::kMinMax || filter.kind == filters::Kind::kBitmap;
  if (has_range) {
    info.first_value = filter.first_position;
    info.last_value = filter.last_position;
  }
  info.bits = filter.bits.data();
  info.bytes = filter.bytes;
  return info;
}

}  // namespace

std::vector<int32_t> checked_filter_columns(const filters::Filter& filter,
                                            const columns::Relation& relation,
                                            const int32_t* columns, int32_t count,
                                            const char* argument) {
  auto const keys = static_cast<int64_t>(filter.keys.size());
  check_range(count, keys, keys, (std::string(argument) + "'s count").c_str());
  check_list(columns, argument);
  std::vector<int32_t> const checked(columns, columns + count);
  for (int32_t i = 0; i < count; ++i) {
    std::string const name = std::string(argument) + "[" + std::to_string(i) + "]";
    checked_column(relation, checked[static_cast<size_t>(i)], name.c_str());
  }
  filters::check_columns(filter, relation, checked, argument);
  return checked;
}

}  // namespace gpujoin::shim

using namespace gpujoin::shim;

gpujoin_status gpujoin_build_get_filter(gpujoin_build* build, int32_t key,
                                        const gpujoin_key_filter_options* options,
                                        gpujoin_key_filter** out, gpujoin_error* error) {
  if (out != nullptr) *out = nullptr;
  auto const held = object_of(build);
  return guard(context_of(held), error, [&] {
    check_finished(held.get(), build);
    check_given(out, "out");
    auto const wish = checked_wish(options);
    int32_t const checked = checked_key(*held, key);
    NewHandle<gpujoin_key_filter> handle;
    *out = handle.give(held->filter(checked, wish, held->end()));
  });
}

gpujoin_status gpujoin_key_filter_get_info(const gpujoin_key_filter* filter,
                                           gpujoin_key_filter_info* info, gpujoin_error* error) {
  return guard(nullptr, error, [&] {
    auto const held = checked_object(filter, "filter");
    read_struct(info, "info");
    check_same_process(*held->context);
    write_struct(info_of(*held), info);
  });
}

gpujoin_status gpujoin_key_filter_test(const gpujoin_key_filter* filter,
                                       const gpujoin_relation* relation, const int32_t* columns,
                                       int32_t column_count, void* bits, gpujoin_memory memory,
                                       int64_t* passing, gpujoin_error* error) {
  auto const held = object_of(filter);
  return guard(context_of(held), error, [&] {
    namespace base = gpujoin::base;
    check_found(held.get(), filter, "filter");
    base::Context& context = *held->context;
    context.check_usable();
    auto const rows = checked_relation(context, relation, "relation");
    auto const checked = checked_filter_columns(*held, *gpujoin::columns::as_registered(rows),
                                                columns, column_count, "columns");
    check_range(memory, GPUJOIN_MEMORY_AUTOMATIC, GPUJOIN_MEMORY_PINNED, "memory");
    base::Memory target = base::Memory::kHost;
    if (rows->rows != 0) {
      check_given(bits, "bits");
      target = base::memory_of(context, bits, memory, "bits");
    }
    base::LeasedQueue const queue(context);
    auto const tested = gpujoin::filters::test_rows(*queue, *held, rows, checked);
    if (rows->rows != 0) {
      base::copy(*queue, bits, target, tested.bits.data(), tested.memory,
                 gpujoin::columns::bitmap_bytes(rows->rows));
      base::finish(*queue);
    }
    if (passing != nullptr) *passing = tested.passing;
  });
}

void gpujoin_key_filter_destroy(gpujoin_key_filter* filter) { destroy_handle(filter); }
