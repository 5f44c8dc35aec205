// set_lookup.hpp: whether a table has the key of a row, and the rows of a set that come out.
//
// One entry of a key is enough, and it is the same for all rows with that key, however many entries
// it has.
#pragma once

#include <algorithm>
#include <cstddef>
#include <span>
#include <type_traits>
#include <vector>

#include "src/cpu/batch_writer.hpp"
#include "src/cpu/key_columns.hpp"
#include "src/cpu/key_hash.hpp"
#include "src/cpu/output_rows.hpp"
#include "src/cpu/partition_table.hpp"
#include "src/cpu/probe_partition.hpp"
#include "src/cpu/workers.hpp"

namespace gpujoin::cpu {

// Of rows whose entries hold their numbers in the low half, as those of hashed keys do. build: of
// the table's entry.
template <typename Key>
bool are_equal(std::span<const ComparedColumns> verified, Key build_rest, Key probe_rest) {
  auto const is_equal = [&](const ComparedColumns& column, auto zero) {
    using Value = decltype(zero);
    auto const value = [](const columns::ColumnView& view, Key rest) {
      return static_cast<const Value*>(view.data)[static_cast<uint32_t>(rest)];
    };
    return value(*column.build, build_rest) == value(*column.probe, probe_rest);
  };
  return std::all_of(verified.begin(), verified.end(), [&](const ComparedColumns& column) {
    return column.build->width == 4 ? is_equal(column, uint32_t{}) : is_equal(column, uint64_t{});
  });
}

// body(find), where find(row's entry) answers as TableView::find does. verified: as above, of keys
// that are hashes.
template <typename Key, typename Body>
void with_lookup(const PartitionTable<Key>& table, std::span<const ComparedColumns> verified,
                 const Body& body) {
  using Found = typename TableView<Key>::Found;
  TableView<Key> const view = table.view();
  if (table.has_groups()) {
    return body([&](const Entry<Key>& row) {
      Found found{0, 0};
      table.visit(row.key, [&](const Entry<Key>* entry, const Entry<Key>* last) {
        for (; found.entries == 0 && entry != last; ++entry) {
          if (entry->key != row.key || !are_equal(verified, entry->rest, row.rest)) continue;
          found = {entry->rest, 1};
        }
      });
      return found;
    });
  }
  auto const with_places = [&](auto two_places) {
    auto const find = [=](const Entry<Key>& row) {
      return view.template find<two_places()>(row.key, hash_of(row.key));
    };
    if (verified.empty()) return body(find);  // without a branch
    body([&](const Entry<Key>& row) {
      Found found = find(row);
      if (found.entries != 0 && !are_equal(verified, found.rest, row.rest)) found.entries = 0;
      return found;
    });
  };
  if (view.form == Form::kOnePlace) {
    with_places(std::false_type{});
  } else {
    with_places(std::true_type{});
  }
}

// Not thread-safe: one for each worker.
template <typename Key>
class SetWriter {
 public:
  // sources: of the rows' side, as the probe side.
  SetWriter(const std::vector<OutputSource>& sources, OutputRows& output)
      : writer_(sources, output) {}

  // Those of the rows of which is_found(entry) is what is wanted. side: as of MatchSink.
  template <typename IsFound>
  void write(Workers& workers, const ProbeRows& rows, const PartitionRows& side, bool wanted,
             const IsFound& is_found) {
    if (rows.are_entries<Key>()) {
      write_each<true>(workers, rows, side, wanted, is_found);
    } else {
      write_each<false>(workers, rows, side, wanted, is_found);
    }
  }

 private:
  template <bool kRowIsEntry, typename IsFound>
  void write_each(Workers& workers, const ProbeRows& rows, const PartitionRows& side, bool wanted,
                  const IsFound& is_found) {
    auto const flush = [&] {
      workers.poll();
      writer_.write(batch_, PartitionRows{}, side, SharedRows::kNone);
      batch_.rows = 0;
    };
    batch_.rows = 0;
    for (uint32_t row = rows.first; row < rows.last; ++row) {
      auto const entry = entry_at<Key, kRowIsEntry>(rows.rows, rows.row_bytes, row);
      batch_.keys[batch_.rows] = entry.key;
      batch_.probe[batch_.rows] = entry.rest;
      batch_.rows += is_found(entry) == wanted ? 1 : 0;
      if (batch_.rows == kBatchRows) flush();
    }
    if (batch_.rows != 0) flush();
  }

  MatchBatch<Key> batch_;
  BatchWriter<Key> writer_;
};

}  // namespace gpujoin::cpu
