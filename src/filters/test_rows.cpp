#include "src/filters/test_rows.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "src/base/copy.hpp"
#include "src/base/status.hpp"
#include "src/columns/selection.hpp"
#include "src/execute/row_picker.hpp"
#include "src/keys/derived_key.hpp"
#include "src/pieces/brought_rows.hpp"
#include "src/pieces/gathered_rows.hpp"

namespace gpujoin::filters {

namespace {

using base::Memory;
using columns::ColumnView;
using columns::Layout;
using columns::Relation;

// Rows that are gathered at a time, where a column's values lie elsewhere.
constexpr int64_t kGatheredRows = int64_t{1} << 14;

bool is_plain(const ColumnView& column) {
  switch (column.layout) {
    case Layout::kValues:
    case Layout::kWide:
    case Layout::kBits:
    case Layout::kText:
    case Layout::kNulls:
      return true;
    default:
      return false;
  }
}

int64_t count_bits(const uint64_t* words, int64_t rows) {
  int64_t count = 0;
  for (int64_t i = 0; i < (rows + 63) / 64; ++i) count += std::popcount(words[i]);
  return count;
}

// numbers: the rows that are tested; null: all.
void test_gathered(base::Queue& queue, const Filter& filter, const Relation& keys,
                   const uint32_t* numbers, int64_t count, uint64_t* words) {
  auto const schema = pieces::make_row_schema(keys, false);
  for (int64_t first = 0; first < count; first += kGatheredRows) {
    queue.check_cancelled();
    int64_t const now = std::min(kGatheredRows, count - first);
    pieces::GatheredRows rows(schema, {queue.host_pool, Memory::kHost});
    if (numbers == nullptr) {
      rows.append(keys, first, now, std::nullopt);
    } else {
      rows.append_rows(keys, {numbers + first, static_cast<size_t>(now)}, std::nullopt);
    }
    Relation const gathered = rows.view(nullptr);
    test_in_host(filter, gathered.columns, now, 0, now, words + first / 64);
  }
}

}  // namespace

void check_columns(const Filter& filter, const Relation& relation, std::span<const int32_t> columns,
                   const char* argument) {
  for (size_t i = 0; i < columns.size(); ++i) {
    ColumnView const& column = relation.columns[static_cast<size_t>(columns[i])];
    ColumnView const& values = keys::values_of(column);
    ColumnView const& key = filter.keys[i];
    if (values.layout == Layout::kOther) {
      base::fail(GPUJOIN_ERROR_UNSUPPORTED, "%s[%zu]: column %d \"%s\" has values of a nested type",
                 argument, i, columns[i], column.name.c_str());
    }
    if (keys::compare_by(key, column, filter.key_flags[i])) continue;
    base::fail(GPUJOIN_ERROR_TYPE,
               "%s[%zu]: column %d \"%s\" of type %s does not compare with the filter's key of "
               "type %s",
               argument, i, columns[i], column.name.c_str(), columns::name_of(values.type),
               columns::name_of(key.type));
  }
}

bool is_tested_on_device(const Filter& filter, const ColumnView& column) {
  if (filter.kind == Kind::kNone || filter.distinct == 0 || filter.keys.size() != 1) return false;
  if (column.memory != Memory::kDevice || column.validity != nullptr) return false;
  return filter.kind == Kind::kBloom ? lies_as_hashed(column)
                                     : lie_as_positions(column, filter.unit);
}

TestedRows test_rows(base::Queue& queue, const Filter& filter,
                     const std::shared_ptr<const Relation>& relation,
                     const std::vector<int32_t>& columns) {
  auto const registered = columns::as_registered(relation);
  auto keys = pieces::only_columns(registered, columns);
  bool const is_selected = relation->selection != nullptr;
#if GPUJOIN_WITH_CUDA
  if (!is_selected && relation->rows != 0 && is_tested_on_device(filter, keys->columns.front())) {
    if (keys->ready_event != nullptr) {
      execute::column_work_on_gpu(queue)->await(keys->ready_event);
    }
    return test_on_device(queue, filter, keys->columns.front(), relation->rows);
  }
#endif
  if (relation->rows == 0) return {};
  bool const is_elsewhere =
      std::any_of(keys->columns.begin(), keys->columns.end(),
                  [](ColumnView const& column) { return execute::is_device(column.memory); });
  if (is_elsewhere) {
    keys = pieces::brought(queue, keys, Memory::kHost);
    base::finish(queue);
  }
  TestedRows made;
  auto const words = static_cast<uint64_t>((relation->rows + 63) / 64);
  made.bits = queue.host_pool->allocate_rows<uint64_t>(Memory::kHost, words, "bits of rows");
  auto* const bits = made.bits.as<uint64_t>();
  if (is_selected) {
    execute::RowPicker picker(queue, Memory::kHost, *relation);
    test_gathered(queue, filter, *keys, static_cast<const uint32_t*>(picker.numbers().get()),
                  relation->rows, bits);
  } else if (!std::all_of(keys->columns.begin(), keys->columns.end(), is_plain)) {
    test_gathered(queue, filter, *keys, nullptr, relation->rows, bits);
  } else {
    constexpr int64_t kBetweenChecks = int64_t{1} << 20;
    for (int64_t first = 0; first < relation->rows; first += kBetweenChecks) {
      queue.check_cancelled();
      test_in_host(filter, keys->columns, relation->rows, first,
                   std::min(kBetweenChecks, relation->rows - first), bits + first / 64);
    }
  }
  made.passing = count_bits(bits, relation->rows);
  return made;
}

}  // namespace gpujoin::filters
