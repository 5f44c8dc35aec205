#include "src/cpu/sample.hpp"

#include <algorithm>
#include <cstring>
#include <mutex>
#include <vector>

#include "src/cpu/pack_rows.hpp"
#include "src/cpu/workers.hpp"

namespace gpujoin::cpu {

namespace {

constexpr int64_t kTilesOfTask = 16;
constexpr int64_t kRowsOfTask = kTilesOfTask * plan::kSampleTileRows;

template <typename Key>
struct KeyAt {
  const columns::ColumnView& column;
  bool operator()(int64_t row, uint64_t* key) const {
    if (!is_valid(column, static_cast<uint64_t>(row))) return false;
    *key = static_cast<const Key*>(column.data)[row];
    return true;
  }
  void ask_for(int64_t row) const {
    __builtin_prefetch(static_cast<const Key*>(column.data) + row);
  }
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
plan::SampleFindings sample(base::Queue& queue, const columns::Relation& build,
                            const KeyAt<Key>& build_key_at, const columns::Relation& probe,
                            const KeyAt<Key>& probe_key_at) {
  plan::SampleFindings found;
  Workers workers(queue);
  plan::SampleTable drawn(sizeof(Key));
  plan::SampleTable table(sizeof(Key));
  workers.for_each("sample", 2, [&](int64_t side, int32_t) {
    auto const& key_at = side == 0 ? build_key_at : probe_key_at;
    (side == 0 ? drawn : table) =
        plan::draw_keys((side == 0 ? build : probe).rows, key_at,
                        [&](int64_t row) { key_at.ask_for(row); }, sizeof(Key));
  });
  found.build = drawn.drawn();
  found.probe = table.drawn();
  plan::TileCounts total;
  std::mutex adding;
  int64_t const tiles = plan::sample_tiles(build.rows, plan::kFewestSampleTilesOfCpu);
  workers.for_each("sample", (tiles + kTilesOfTask - 1) / kTilesOfTask, [&](int64_t task, int32_t) {
    int64_t const begin = task * kTilesOfTask;
    plan::TileCounts const counts =
        plan::count_tiles(table, begin, std::min(begin + kTilesOfTask, tiles), build.rows,
                          build_key_at, plan::kFewestSampleTilesOfCpu);
    std::lock_guard const lock(adding);
    total.add(counts);
  });
  plan::HotTable const hot(drawn, build.rows, table, probe.rows);
  found.hot = hot.finish(count_hot_rows(workers, hot, build.rows, build_key_at),
                         count_hot_rows(workers, hot, probe.rows, probe_key_at), &total);
  table.finish(total, plan::scanned_rows(build.rows, plan::kFewestSampleTilesOfCpu), &found);
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
