#include "src/cpu/row_layout.hpp"

#include <algorithm>
#include <bit>

#include "src/base/streaming.hpp"

namespace gpujoin::cpu {

const CarriedColumn* RowLayout::find(const columns::ColumnView* column) const {
  for (CarriedColumn const& each : carried) {
    if (each.column == column) return &each;
  }
  return nullptr;
}

RowLayout layout_rows(const columns::Relation& relation, const columns::ColumnView& key,
                      const std::vector<int32_t>& output_columns, bool row_numbers,
                      plan::Gather gather) {
  RowLayout layout;
  layout.key = &key;
  layout.key_bytes = static_cast<uint32_t>(layout.key->width);

  // The key itself is at hand in every match: it is neither carried nor fetched.
  std::vector<const columns::ColumnView*> payloads;
  for (int32_t const number : output_columns) {
    columns::ColumnView const* column = &relation.columns[static_cast<size_t>(number)];
    bool const known = std::find(payloads.begin(), payloads.end(), column) != payloads.end();
    if (column != layout.key && !known) payloads.push_back(column);
  }
  bool const carries = gather == plan::Gather::kTransformed;

  uint32_t end = layout.key_bytes;
  if (row_numbers || (!carries && !payloads.empty())) {
    layout.has_row_number = true;
    layout.row_number_offset = end;
    end += static_cast<uint32_t>(sizeof(uint32_t));
  }
  if (carries) {
    std::stable_sort(payloads.begin(), payloads.end(),
                     [](auto const* a, auto const* b) { return a->width > b->width; });
    int32_t null_bits = 0;
    for (columns::ColumnView const* column : payloads) {
      layout.carried.push_back({column, end, column->validity != nullptr ? null_bits++ : -1});
      end += static_cast<uint32_t>(column->width);
    }
    layout.null_bits_offset = end;
    layout.null_bits_bytes = static_cast<uint32_t>(null_bits + 7) / 8;
    end += layout.null_bits_bytes;
  }

  uint32_t const least = std::max(end, 2 * layout.key_bytes);
  layout.row_bytes = least <= base::kLineBytes
                         ? std::bit_ceil(least)
                         : (least + base::kLineBytes - 1) / base::kLineBytes * base::kLineBytes;
  return layout;
}

}  // namespace gpujoin::cpu
