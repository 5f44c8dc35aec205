#include "src/cpu/sets_in_place.hpp"

#include <algorithm>
#include <memory>

#include "src/base/status.hpp"
#include "src/base/streaming.hpp"
#include "src/cpu/partition_table.hpp"
#include "src/cpu/row_marks.hpp"
#include "src/cpu/set_lookup.hpp"
#include "src/cpu/streamed_blocks.hpp"

namespace gpujoin::cpu {

namespace {

// One for each worker, made by the first of its tasks.
template <typename Key>
class SetWriters {
 public:
  SetWriters(Workers& workers, const SetOfSide& set)
      : workers_(workers), set_(set), writers_(static_cast<size_t>(workers.threads())) {}

  template <typename IsFound>
  void write(int32_t worker, const ProbeRows& rows, const IsFound& is_found) {
    auto& writer = writers_[static_cast<size_t>(worker)];
    if (!writer) writer = std::make_unique<SetWriter<Key>>(set_.sources, set_.output);
    writer->write(workers_, rows, {&set_.side.layout, rows.rows}, set_.with_match, is_found);
    base::finish_streaming();
  }

 private:
  Workers& workers_;
  const SetOfSide& set_;
  std::vector<std::unique_ptr<SetWriter<Key>>> writers_;
};

template <typename Key>
PartitionTable<Key> table_of(base::Queue& queue, const PartitionedRows& side,
                             std::span<const ComparedColumns> verified) {
  PartitionTable<Key> table;
  table.build(queue.host_pool, side.rows_of(0), side.layout.row_bytes, side.rows_in(0), 0,
              verified.empty());
  return table;
}

// Asks for the rows of a side that is not moved.
template <typename Key, typename IsFound>
void write_streamed(base::Queue& queue, Workers& workers, const SetOfSide& set,
                    const IsFound& is_found) {
  SetWriters<Key> writers(workers, set);
  for_each_block<Key>(queue, workers, set.side, [&](const ProbeRows& rows, int32_t worker) {
    writers.write(worker, rows, is_found);
  });
}

template <typename Key>
void by_table_of_other(base::Queue& queue, Workers& workers, const SetOfSide& set,
                       const PartitionedRows& other, std::span<const ComparedColumns> verified) {
  if (other.rows_in(0) == 0) {
    if (!set.with_match) {
      write_streamed<Key>(queue, workers, set, [](const Entry<Key>&) { return false; });
    }
    return;
  }
  auto const table = table_of<Key>(queue, other, verified);
  with_lookup(table, verified, [&](const auto& find) {
    write_streamed<Key>(queue, workers, set,
                        [&](const Entry<Key>& row) { return find(row).entries != 0; });
  });
}

// Marks, by row number, the entries that rows of a block find.
template <typename Key, bool kRowIsEntry, typename Find>
void mark_found(Workers& workers, const ProbeRows& rows, const Find& find, uint8_t* marks) {
  uint32_t found[kProbeBlockRows];
  for (uint32_t first = rows.first; first < rows.last;) {
    workers.poll();
    uint32_t const end = first + std::min(kProbeBlockRows, rows.last - first);
    uint32_t count = 0;
    for (; first < end; ++first) {
      auto const of_row = find(entry_at<Key, kRowIsEntry>(rows.rows, rows.row_bytes, first));
      found[count] = static_cast<uint32_t>(of_row.rest);
      count += of_row.entries;
    }
    // The side that is marked is the smaller one.
    RowMarks::mark_in(marks, found, count, true);
  }
}

template <typename Key>
void by_own_table(base::Queue& queue, Workers& workers, const SetOfSide& set,
                  const PartitionedRows& other, std::span<const ComparedColumns> verified) {
  uint32_t const rows = set.side.rows_in(0);
  if (rows == 0) return;
  auto const all_rows = static_cast<uint32_t>(set.side.input_rows);
  base::Buffer const bytes = RowMarks::clear_bytes(queue, workers, all_rows);
  if (!bytes) {
    base::fail(GPUJOIN_ERROR_MEMORY_LIMIT, "no room for the marks of %u rows, a byte each",
               all_rows);
  }
  auto* const marks = bytes.as<uint8_t>();
  auto const table = table_of<Key>(queue, set.side, verified);
  with_lookup(table, verified, [&](const auto& find) {
    for_each_block<Key>(queue, workers, other, [&](const ProbeRows& block, int32_t) {
      if (block.are_entries<Key>()) {
        mark_found<Key, true>(workers, block, find, marks);
      } else {
        mark_found<Key, false>(workers, block, find, marks);
      }
    });
  });
  // Of its own keys: what stands for a row's key is an entry of the same side.
  std::vector<ComparedColumns> own(verified.begin(), verified.end());
  for (ComparedColumns& column : own) column.probe = column.build;
  SetWriters<Key> writers(workers, set);
  constexpr uint64_t kTaskRows = 4 * kBatchRows;
  auto const tasks = static_cast<int64_t>((rows + kTaskRows - 1) / kTaskRows);
  with_lookup(table, own, [&](const auto& find) {
    workers.for_each("match", tasks, [&](int64_t task, int32_t worker) {
      uint64_t const first = static_cast<uint64_t>(task) * kTaskRows;
      uint64_t const last = std::min<uint64_t>(first + kTaskRows, rows);
      ProbeRows const of_task{set.side.rows_of(0), set.side.layout.row_bytes,
                              static_cast<uint32_t>(first), static_cast<uint32_t>(last)};
      writers.write(worker, of_task, [&](const Entry<Key>& row) {
        return marks[static_cast<uint32_t>(find(row).rest)] != 0;
      });
    });
  });
}

// body(Key{}) of the side's keys.
template <typename Body>
void with_key_of(const SetOfSide& set, const Body& body) {
  if (set.side.layout.key_bytes == 4) {
    body(uint32_t{});
  } else {
    body(uint64_t{});
  }
}

}  // namespace

void set_by_table_of_other(base::Queue& queue, Workers& workers, const SetOfSide& set,
                           const PartitionedRows& other,
                           std::span<const ComparedColumns> verified) {
  with_key_of(set, [&](auto key) {
    by_table_of_other<decltype(key)>(queue, workers, set, other, verified);
  });
}

void set_by_bits_of_other(base::Queue& queue, Workers& workers, const SetOfSide& set,
                          const KeyBits& other) {
  with_key_of(set, [&](auto key) {
    using Key = decltype(key);
    write_streamed<Key>(queue, workers, set,
                        [&](const Entry<Key>& row) { return other.has(row.key); });
  });
}

void set_by_own_table(base::Queue& queue, Workers& workers, const SetOfSide& set,
                      const PartitionedRows& other, std::span<const ComparedColumns> verified) {
  with_key_of(set,
              [&](auto key) { by_own_table<decltype(key)>(queue, workers, set, other, verified); });
}

}  // namespace gpujoin::cpu
