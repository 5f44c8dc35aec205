#include "src/cpu/sample.hpp"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <vector>

#include "src/base/prefetch.hpp"
#include "src/cpu/pack_rows.hpp"
#include "src/cpu/workers.hpp"

namespace gpujoin::cpu {

namespace {

constexpr int64_t kRowsOfTask = 16 * plan::kSampleTileRows;

template <typename Key>
struct KeyAt {
  const columns::ColumnView& column;
  bool operator()(int64_t row, uint64_t* key) const {
    if (!is_valid(column, static_cast<uint64_t>(row))) return false;
    *key = static_cast<const Key*>(column.data)[row];
    return true;
  }
  void ask_for(int64_t row) const { base::ask_for(static_cast<const Key*>(column.data) + row); }
};

template <typename Key>
std::vector<int64_t> count_hot_rows(Workers& workers, const plan::HotTable& hot, int64_t side_rows,
                                    const KeyAt<Key>& key_at) {
  if (hot.is_empty()) return {};
  std::vector<int64_t> total;
  std::mutex adding;
  int64_t const tasks = (side_rows + kRowsOfTask - 1) / kRowsOfTask;
  workers.for_each("sample", tasks, [&](int64_t task, int32_t) {
    int64_t const begin = task * kRowsOfTask;
    std::vector<int64_t> rows;
    hot.count(begin, std::min(begin + kRowsOfTask, side_rows), key_at, &rows);
    std::lock_guard const lock(adding);
    total.resize(rows.size(), 0);
    for (size_t i = 0; i < rows.size(); ++i) total[i] += rows[i];
  });
  return total;
}

template <typename Key>
struct Side {
  int64_t rows;
  const KeyAt<Key>& key_at;
  plan::SampleTable table{sizeof(Key)};
  std::vector<plan::DrawnRow> drawn{static_cast<size_t>(plan::sample_positions(rows))};
};

// Rows are read by all threads, since each waits for memory, and then each side's put in its table.
template <typename Key>
void draw(Workers& workers, Side<Key> (&sides)[2]) {
  constexpr int32_t kAtOnce = plan::kPositionsAtOnce;
  constexpr int64_t kTasks = plan::kSamplePositions / kAtOnce;
  workers.for_each("sample", 2 * kTasks, [&](int64_t task, int32_t) {
    Side<Key>& side = sides[task / kTasks];
    auto const begin = static_cast<int32_t>(task % kTasks) * kAtOnce;
    int32_t const end = std::min(begin + kAtOnce, static_cast<int32_t>(side.drawn.size()));
    if (begin >= end) return;
    plan::read_positions(
        begin, end, side.rows, side.key_at, [&](int64_t row) { side.key_at.ask_for(row); },
        sizeof(Key), side.drawn.data() + begin);
  });
  workers.for_each("sample", 2, [&](int64_t number, int32_t) {
    Side<Key>& side = sides[number];
    for (plan::DrawnRow const& row : side.drawn) side.table.draw(row);
  });
}

template <typename Key>
plan::SampleFindings sample(base::Queue& queue, const columns::Relation& build,
                            const KeyAt<Key>& build_key_at, const columns::Relation& probe,
                            const KeyAt<Key>& probe_key_at) {
  plan::SampleFindings found;
  Workers workers(queue);
  Side<Key> sides[] = {{build.rows, build_key_at}, {probe.rows, probe_key_at}};
  draw(workers, sides);
  plan::SampleTable const& drawn = sides[0].table;
  plan::SampleTable const& table = sides[1].table;
  found.build = drawn.drawn();
  found.probe = table.drawn();
  constexpr int64_t kFewest = plan::kFewestSampleTilesOfCpu;
  std::vector<plan::TileCounts> scans(static_cast<size_t>(workers.threads()));
  int64_t const tiles = plan::sample_tiles(build.rows, kFewest);
  workers.for_each("sample", tiles, [&](int64_t tile, int32_t worker) {
    plan::count_tiles(
        table, tile, tile + 1, build.rows, build_key_at,
        [&](int64_t row) { build_key_at.ask_for(row); }, &scans[static_cast<size_t>(worker)],
        kFewest);
  });
  plan::TileCounts total;
  for (plan::TileCounts const& scan : scans) total.add(scan);
  plan::HotTable const hot(drawn, build.rows, table, probe.rows);
  found.hot = hot.finish(count_hot_rows(workers, hot, build.rows, build_key_at),
                         count_hot_rows(workers, hot, probe.rows, probe_key_at), &total);
  table.finish(total, plan::scanned_rows(build.rows, kFewest), &found);
  return found;
}

}  // namespace

plan::SampleFindings sample_keys(base::Queue& queue, const columns::Relation& build,
                                 int32_t build_key, const columns::Relation& probe,
                                 int32_t probe_key) {
  columns::ColumnView const& build_column = build.columns[static_cast<size_t>(build_key)];
  columns::ColumnView const& probe_column = probe.columns[static_cast<size_t>(probe_key)];
  if (build_column.width == 4) {
    return sample(queue, build, KeyAt<uint32_t>{build_column}, probe,
                  KeyAt<uint32_t>{probe_column});
  }
  return sample(queue, build, KeyAt<uint64_t>{build_column}, probe, KeyAt<uint64_t>{probe_column});
}

}  // namespace gpujoin::cpu
