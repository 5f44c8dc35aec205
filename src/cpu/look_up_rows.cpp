#include "src/cpu/look_up_rows.hpp"

#include <algorithm>
#include <atomic>
#include <memory>

#include "src/base/streaming.hpp"
#include "src/cpu/batch_writer.hpp"

namespace gpujoin::cpu {

namespace {

constexpr uint64_t kTaskRows = 16 * kBatchRows;

// Not thread-safe: one for each worker.
template <typename Key>
class RowLookup {
 public:
  RowLookup(const KeyBits& keys, const RowLayout& build, const std::vector<OutputSource>& sources,
            OutputRows& output)
      : keys_(keys), build_{&build, nullptr}, output_(output), writer_(sources, output) {}

  // False: one of them has no match, and nothing is written.
  bool write(const Key* probe, uint64_t first, uint32_t rows) {
    bool const all = keys_.has_all(probe, rows, found_);
    if (!all || !keys_.keeps_rows()) return all;
    keys_.to_rows(found_, rows);
    SideMatches<Key> const matches{&build_, found_, rows};
    writer_.write_at(output_.at(first, rows), probe, matches, matches);
    return true;
  }

 private:
  const KeyBits& keys_;
  PartitionRows build_;
  OutputRows& output_;
  Key found_[kBatchRows];
  BatchWriter<Key> writer_;
};

template <typename Key>
bool write_all(Workers& workers, const KeyBits& keys, const RowLayout& build, const Key* probe,
               uint64_t rows, const std::vector<OutputSource>& sources, OutputRows& output) {
  std::vector<std::unique_ptr<RowLookup<Key>>> lookups(static_cast<size_t>(workers.threads()));
  std::atomic<bool> all{true};
  auto const tasks = static_cast<int64_t>((rows + kTaskRows - 1) / kTaskRows);
  workers.for_each("match", tasks, [&](int64_t task, int32_t worker) {
    auto& lookup = lookups[static_cast<size_t>(worker)];
    if (!lookup) lookup = std::make_unique<RowLookup<Key>>(keys, build, sources, output);
    uint64_t const first = static_cast<uint64_t>(task) * kTaskRows;
    uint64_t const end = std::min(first + kTaskRows, rows);
    for (uint64_t row = first; row < end && all.load(std::memory_order_relaxed);) {
      auto const count = static_cast<uint32_t>(std::min<uint64_t>(end - row, kBatchRows));
      if (!lookup->write(probe + row, row, count)) all.store(false, std::memory_order_relaxed);
      row += count;
    }
    base::finish_streaming();
  });
  return all.load();
}

}  // namespace

bool look_up_rows(Workers& workers, const KeyBits& keys, const RowLayout& build,
                  const columns::ColumnView& probe, uint64_t rows,
                  const std::vector<OutputSource>& sources, OutputRows& output) {
  auto const write = [&](const auto* probe_keys) {
    return write_all(workers, keys, build, probe_keys, rows, sources, output);
  };
  return probe.width == 4 ? write(static_cast<const uint32_t*>(probe.data))
                          : write(static_cast<const uint64_t*>(probe.data));
}

}  // namespace gpujoin::cpu
