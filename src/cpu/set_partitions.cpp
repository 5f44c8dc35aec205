#include "src/cpu/set_partitions.hpp"

#include <algorithm>
#include <memory>
#include <type_traits>

#include "src/base/streaming.hpp"
#include "src/cpu/partition_table.hpp"
#include "src/cpu/probe_partition.hpp"

namespace gpujoin::cpu {

namespace {

// Probe rows of one task, as of match_partitions.
constexpr uint32_t kChunkRows = uint32_t{1} << 16;

// Whether an entry of the table has the key of a probe row: is_equal(its rest) of those with the
// same one.
template <typename Key, typename IsEqual>
bool has_match(const PartitionTable<Key>& table, Key key, const IsEqual& is_equal) {
  bool found = false;
  table.visit(key, [&](const Entry<Key>* first, const Entry<Key>* last) {
    for (; !found && first != last; ++first) found = first->key == key && is_equal(first->rest);
  });
  return found;
}

template <typename Key>
struct Worker {
  Worker(const std::vector<OutputSource>& sources, OutputRows& output) : writer(sources, output) {}
  PartitionTable<Key> table;
  MatchBatch<Key> batch;
  BatchWriter<Key> writer;
};

template <typename Key>
class Sets {
 public:
  Sets(base::Queue& queue, Workers& workers, bool with_match, const PartitionedRows& other,
       const PartitionedRows& side, std::span<const ComparedColumns> verified,
       const std::vector<OutputSource>& sources, OutputRows& output)
      : queue_(queue),
        workers_(workers),
        with_match_(with_match),
        other_(other),
        side_(side),
        verified_(verified),
        sources_(sources),
        output_(output),
        states_(static_cast<size_t>(workers.threads())) {}

  void run() {
    workers_.for_each("match", other_.partitions(), [&](int64_t item, int32_t number) {
      auto const partition = static_cast<uint32_t>(item);
      uint32_t const rows = side_.rows_in(partition);
      bool const has_other = other_.rows_in(partition) != 0;
      if (rows == 0 || (with_match_ && !has_other)) return;
      PartitionTable<Key>* const table = has_other ? &state_of(number).table : nullptr;
      if (has_other) {
        table->build(queue_.host_pool, other_.rows_of(partition), other_.layout.row_bytes,
                     other_.rows_in(partition), other_.radix_bits, verified_.empty());
      }
      uint32_t const chunks = rows <= 2 * kChunkRows ? 1 : (rows + kChunkRows - 1) / kChunkRows;
      auto const run_chunk = [&](int64_t chunk, int32_t by) {
        auto const first = static_cast<uint32_t>(chunk) * kChunkRows;
        uint32_t const last = chunks == 1 ? rows : std::min(first + kChunkRows, rows);
        look_up(partition, table, first, last, state_of(by));
      };
      if (chunks == 1) {
        run_chunk(0, number);
      } else {
        workers_.for_each_inside(chunks, run_chunk);
      }
    });
  }

 private:
  Worker<Key>& state_of(int32_t worker) {
    auto& state = states_[static_cast<size_t>(worker)];
    if (!state) state = std::make_unique<Worker<Key>>(sources_, output_);
    return *state;
  }

  // Row numbers are the entries' low halves where keys are hashes.
  bool is_equal(Key other_rest, Key side_rest) const {
    return std::all_of(verified_.begin(), verified_.end(), [&](const ComparedColumns& column) {
      auto const width = static_cast<uint64_t>(column.build->width);
      auto const value = [&](const columns::ColumnView& view, Key rest) {
        return static_cast<const std::byte*>(view.data) + static_cast<uint32_t>(rest) * width;
      };
      return std::memcmp(value(*column.build, other_rest), value(*column.probe, side_rest),
                         width) == 0;
    });
  }

  void look_up(uint32_t partition, const PartitionTable<Key>* table, uint32_t first, uint32_t last,
               Worker<Key>& state) {
    if (side_.layout.row_is_entry()) {
      look_up<true>(partition, table, first, last, state);
    } else {
      look_up<false>(partition, table, first, last, state);
    }
  }

  template <bool kRowIsEntry>
  void look_up(uint32_t partition, const PartitionTable<Key>* table, uint32_t first, uint32_t last,
               Worker<Key>& state) {
    PartitionRows const of_other{&other_.layout, nullptr};
    PartitionRows const of_side{&side_.layout, side_.rows_of(partition)};
    MatchBatch<Key>& batch = state.batch;
    auto const flush = [&] {
      workers_.poll();
      state.writer.write(batch, of_other, of_side, SharedRows::kNone);
      batch.rows = 0;
    };
    batch.rows = 0;
    auto const look_up_each = [&](const auto& is_found) {
      for (uint32_t row = first; row < last; ++row) {
        auto const entry = entry_at<Key, kRowIsEntry>(of_side.rows, side_.layout.row_bytes, row);
        batch.keys[batch.rows] = entry.key;
        batch.probe[batch.rows] = entry.rest;
        batch.rows += is_found(entry) == with_match_ ? 1 : 0;
        if (batch.rows == kBatchRows) flush();
      }
    };
    if (table == nullptr) {
      look_up_each([](const Entry<Key>&) { return false; });
    } else if (table->has_groups() || !verified_.empty()) {
      look_up_each([&](const Entry<Key>& entry) {
        return has_match(*table, entry.key, [&](Key rest) { return is_equal(rest, entry.rest); });
      });
    } else {
      // Without a branch.
      TableView<Key> const view = table->view();
      auto const has_place = [&](const Entry<Key>& entry, auto two_places) {
        constexpr bool kTwoPlaces = decltype(two_places)::value;
        return view.template find<kTwoPlaces>(entry.key, hash_of(entry.key)).entries != 0;
      };
      if (view.form == Form::kOnePlace) {
        look_up_each([&](const auto& entry) { return has_place(entry, std::false_type{}); });
      } else {
        look_up_each([&](const auto& entry) { return has_place(entry, std::true_type{}); });
      }
    }
    if (batch.rows != 0) flush();
    base::finish_streaming();
  }

  base::Queue& queue_;
  Workers& workers_;
  bool with_match_;
  const PartitionedRows& other_;
  const PartitionedRows& side_;
  std::span<const ComparedColumns> verified_;
  const std::vector<OutputSource>& sources_;
  OutputRows& output_;
  std::vector<std::unique_ptr<Worker<Key>>> states_;
};

}  // namespace

void set_partitions(base::Queue& queue, Workers& workers, bool with_match,
                    const PartitionedRows& other, const PartitionedRows& side,
                    std::span<const ComparedColumns> verified,
                    const std::vector<OutputSource>& sources, OutputRows& output) {
  if (side.layout.key_bytes == 4) {
    Sets<uint32_t>(queue, workers, with_match, other, side, verified, sources, output).run();
  } else {
    Sets<uint64_t>(queue, workers, with_match, other, side, verified, sources, output).run();
  }
}

}  // namespace gpujoin::cpu
