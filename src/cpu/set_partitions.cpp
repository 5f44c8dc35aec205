#include "src/cpu/set_partitions.hpp"

#include <algorithm>
#include <memory>

#include "src/base/streaming.hpp"
#include "src/cpu/partition_table.hpp"
#include "src/cpu/probe_partition.hpp"
#include "src/cpu/set_lookup.hpp"

namespace gpujoin::cpu {

namespace {

// Probe rows of one task, as of match_partitions.
constexpr uint32_t kChunkRows = uint32_t{1} << 16;

template <typename Key>
struct Worker {
  Worker(const std::vector<OutputSource>& sources, OutputRows& output) : writer(sources, output) {}
  PartitionTable<Key> table;
  SetWriter<Key> writer;
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

  void look_up(uint32_t partition, const PartitionTable<Key>* table, uint32_t first, uint32_t last,
               Worker<Key>& state) {
    PartitionRows const of_side{&side_.layout, side_.rows_of(partition)};
    ProbeRows const rows{of_side.rows, side_.layout.row_bytes, first, last};
    auto const write = [&](const auto& is_found) {
      state.writer.write(workers_, rows, of_side, with_match_, is_found);
    };
    if (table == nullptr) {
      write([](const Entry<Key>&) { return false; });
    } else {
      with_lookup(*table, verified_, [&](const auto& find) {
        write([&](const Entry<Key>& row) { return find(row).entries != 0; });
      });
    }
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
