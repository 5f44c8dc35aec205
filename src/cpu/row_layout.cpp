#include "src/cpu/row_layout.hpp"

#include <algorithm>
#include <bit>
#include <utility>

#include "src/base/streaming.hpp"

namespace gpujoin::cpu {

const CarriedColumn* RowLayout::find(const columns::ColumnView* column) const {
  for (CarriedColumn const& each : carried) {
    if (each.column == column) return &each;
  }
  return nullptr;
}

namespace {

// Other columns than the key, which is at hand in every match: it is neither carried nor fetched.
std::vector<const columns::ColumnView*> payloads_of(const columns::Relation& relation,
                                                    const columns::ColumnView& key,
                                                    const std::vector<int32_t>& output_columns) {
  std::vector<const columns::ColumnView*> payloads;
  for (int32_t const number : output_columns) {
    columns::ColumnView const* column = &relation.columns[static_cast<size_t>(number)];
    bool const known = std::find(payloads.begin(), payloads.end(), column) != payloads.end();
    if (column != &key && !known) payloads.push_back(column);
  }
  return payloads;
}

// Behind what the row has already, which ends at `end`. Answers the new end.
uint32_t add_row_number(uint32_t end, RowLayout* layout) {
  layout->has_row_number = true;
  layout->row_number_offset = end;
  return end + static_cast<uint32_t>(sizeof(uint32_t));
}

uint32_t add_payloads(std::vector<const columns::ColumnView*> payloads, uint32_t end,
                      RowLayout* layout) {
  std::stable_sort(payloads.begin(), payloads.end(),
                   [](auto const* a, auto const* b) { return a->width > b->width; });
  int32_t null_bits = 0;
  for (columns::ColumnView const* column : payloads) {
    layout->carried.push_back({column, end, column->validity != nullptr ? null_bits++ : -1});
    end += static_cast<uint32_t>(column->width);
  }
  layout->null_bits_offset = end;
  layout->null_bits_bytes = static_cast<uint32_t>(null_bits + 7) / 8;
  return end + layout->null_bits_bytes;
}

uint32_t padded(uint32_t bytes) {
  return bytes <= base::kLineBytes
             ? std::bit_ceil(bytes)
             : (bytes + base::kLineBytes - 1) / base::kLineBytes * base::kLineBytes;
}

}  // namespace

RowLayout layout_rows(const columns::Relation& relation, const columns::ColumnView& key,
                      const std::vector<int32_t>& output_columns, bool row_numbers,
                      plan::Gather gather) {
  RowLayout layout;
  layout.key = &key;
  layout.key_bytes = static_cast<uint32_t>(layout.key->width);
  std::vector<const columns::ColumnView*> payloads = payloads_of(relation, key, output_columns);
  bool const carries = gather == plan::Gather::kTransformed;
  uint32_t end = layout.key_bytes;
  if (row_numbers || (!carries && !payloads.empty())) end = add_row_number(end, &layout);
  if (carries) end = add_payloads(std::move(payloads), end, &layout);
  layout.row_bytes = padded(std::max(end, 2 * layout.key_bytes));
  return layout;
}

void add_carried(const std::vector<const columns::ColumnView*>& columns, RowLayout* layout) {
  uint32_t const end = layout->row_number_offset + static_cast<uint32_t>(sizeof(uint32_t));
  layout->row_bytes = padded(add_payloads(columns, end, layout));
}

RowLayout layout_places(const columns::Relation& relation, const columns::ColumnView& key,
                        const std::vector<int32_t>& output_columns, bool row_numbers) {
  RowLayout layout;
  layout.key = &key;
  uint32_t const end = add_payloads(payloads_of(relation, key, output_columns),
                                    row_numbers ? add_row_number(0, &layout) : 0, &layout);
  bool const is_one_field =
      layout.carried.size() + (row_numbers ? 1 : 0) + layout.null_bits_bytes == 1;
  // Of several fields 8 bytes are read at a time.
  layout.row_bytes = padded(is_one_field ? end : std::max<uint32_t>(end, 8));
  return layout;
}

}  // namespace gpujoin::cpu
