// table_columns.cu: host side of the join by a table whose probe rows write the output columns.
#include "src/match/table_columns.hpp"

#include <algorithm>
#include <utility>

#include "kernels/limits.hpp"
#include "kernels/match/direct_table.cuh"
#include "kernels/match/pair_slots.cuh"
#include "kernels/match/place_columns.cuh"
#include "kernels/match/place_few.cuh"
#include "kernels/match/row_slots.cuh"
#include "kernels/match/table_columns.cuh"
#include "src/base/device.hpp"
#include "src/base/launch.hpp"
#include "src/base/traffic.hpp"
#include "src/match/packed_row.hpp"
#include "src/match/place_rows.hpp"
#include "src/match/table_probes.cuh"
#include "src/transform/key_range.hpp"

namespace gpujoin::match {

namespace {

using base::check;
using base::Memory;
using base::stream_of;
using kernels::kStreamThreads;
using kernels::kStreamTile;
using plan::PlacesOfNeighbours;

using Columns = std::vector<TableColumn>;

// 0 before a build.
base::Buffer duplicates_flag(base::Queue& queue) {
  base::Buffer flag =
      queue.device_pool->allocate_rows<uint32_t>(Memory::kDevice, 1, "the duplicates flag");
  check(cudaMemsetAsync(flag.data(), 0, flag.bytes(), stream_of(queue)),
        "clearing the duplicates flag");
  return flag;
}

[[noreturn]] void fail_to_mark() {
  base::fail(GPUJOIN_ERROR_INTERNAL, "marks by a table that was not made for any row");
}

// Of no build rows.
class NoTable final : public ColumnTable {
 public:
  std::optional<ProbedRows> probe(base::Queue&, int64_t, const TableSide&, Outputs,
                                  ProbeRows wanted) const override {
    if (wanted == ProbeRows::kUnmatched) {
      base::fail(GPUJOIN_ERROR_INTERNAL, "rows without a match in no table");
    }
    return ProbedRows{};
  }
  base::Buffer mark_probe(base::Queue&, const TableSide&) const override { fail_to_mark(); }
  base::Buffer mark_build(base::Queue&, const TableSide&, const TableSide&) const override {
    fail_to_mark();
  }
  bool asks_in_one_launch(uint64_t) const override { return true; }
  std::optional<WrittenRows> look_up(base::Queue&, const TableSide&, Outputs) const override {
    return std::nullopt;
  }
};

// Of more build rows than there are keys between the lowest and the highest: some repeat.
class RepeatedKeys final : public ColumnTable {
 public:
  std::optional<ProbedRows> probe(base::Queue&, int64_t, const TableSide&, Outputs,
                                  ProbeRows) const override {
    return std::nullopt;
  }
  base::Buffer mark_probe(base::Queue&, const TableSide&) const override { fail_to_mark(); }
  base::Buffer mark_build(base::Queue&, const TableSide&, const TableSide&) const override {
    fail_to_mark();
  }
  bool asks_in_one_launch(uint64_t) const override { return false; }
  std::optional<WrittenRows> look_up(base::Queue&, const TableSide&, Outputs) const override {
    return std::nullopt;
  }
};

std::vector<const void*> sources_of(const Columns& columns) {
  std::vector<const void*> sources;
  for (TableColumn const& column : columns) sources.push_back(column.source);
  return sources;
}

// A build column of 4 bytes that is the only one: slots name its values in the place of rows, and
// the probe writes what they name. Else null.
const uint32_t* take_lone_value(Columns* columns) {
  if (columns->size() != 1 || columns->front().width != sizeof(uint32_t)) return nullptr;
  return static_cast<const uint32_t*>(std::exchange(columns->front().source, nullptr));
}

// Bytes of a build row that are read at random beside its slot.
template <typename Key>
uint64_t read_bytes(const Columns& columns) {
  uint64_t bytes = sizeof(Key) > sizeof(uint32_t) ? sizeof(Key) : 0;
  for (TableColumn const& column : columns) {
    bytes += column.source != nullptr ? static_cast<uint64_t>(column.width) : 0;
  }
  return bytes;
}

using TablePointer = std::unique_ptr<const ColumnTable>;

template <typename Key>
TablePointer hashed_table(base::Queue& queue, const TableSide& build, Columns columns,
                          RowsOfKey key_rows) {
  using Finder = kernels::FindPairRows<Key>;
  auto made = std::make_unique<TableOf<Finder, kernels::NoRow>>();
  const uint32_t* const values = sizeof(Key) == 4 ? take_lone_value(&columns) : nullptr;
  made->sources = sources_of(columns);
  uint64_t const slots = base::traffic::pair_table_slots(build.rows, read_bytes<Key>(columns));
  base::Buffer table = queue.device_pool->allocate_rows<unsigned long long>(Memory::kDevice, slots,
                                                                            "the hash table");
  made->has_duplicates = duplicates_flag(queue);
  check(cudaMemsetAsync(table.data(), 0xff, table.bytes(), stream_of(queue)),
        "clearing the hash table");
  made->finder = {{table.as<unsigned long long>(), static_cast<uint32_t>(slots - 1),
                   static_cast<const Key*>(build.keys)}};
  made->any_row = key_rows != RowsOfKey::kOnlyOne;
  auto const kernel = !made->any_row ? kernels::build_pair_table_kernel<Key, false, false>
                      : key_rows == RowsOfKey::kAny
                          ? kernels::build_pair_table_kernel<Key, true, false>
                          : kernels::build_pair_table_kernel<Key, true, true>;
  kernel<<<base::grid_of(build.rows, kStreamTile), kStreamThreads, 0, stream_of(queue)>>>(
      made->finder.table, values, build.rows, made->has_duplicates.template as<uint32_t>());
  check(cudaGetLastError(), "building a hash table");
  made->memory.push_back(std::move(table));
  return made;
}

template <typename Table>
void place_columns(base::Queue& queue, const Table& table, uint32_t slice, const TableSide& build,
                   const kernels::PlacedColumns& placed, const base::Buffer& has_duplicates) {
  kernels::place_columns_kernel<Table>
      <<<base::grid_of(build.rows, kStreamTile), kStreamThreads, 0, stream_of(queue)>>>(
          table, slice, static_cast<const typename Table::Key*>(build.keys), build.rows, placed,
          has_duplicates.as<uint32_t>());
  check(cudaGetLastError(), "placing build rows");
}

static_assert(kernels::kRowSlotBytes == base::traffic::kRowSlotBytes);

// The columns of a row beside its key.
template <typename Key>
TablePointer row_slot_table(base::Queue& queue, const TableSide& build, const Columns& columns,
                            const PackedRow& packed) {
  using Finder = kernels::FindRowSlots<Key>;
  auto made = std::make_unique<TableOf<Finder, uint4>>();
  made->sources = sources_of(columns);
  made->packed = packed;
  uint64_t const slots = base::traffic::row_slots(build.rows);
  base::Buffer table = queue.device_pool->allocate(
      Memory::kDevice, base::checked_bytes(slots, kernels::kRowSlotBytes), "the hash table");
  made->has_duplicates = duplicates_flag(queue);
  check(cudaMemsetAsync(table.data(), 0xff, table.bytes(), stream_of(queue)),
        "clearing the hash table");
  kernels::PlacedColumns placed{};
  placed.row_width = kernels::kRowSlotBytes;
  for (size_t i = 0; i < columns.size(); ++i) {
    placed.columns[placed.count++] = {
        columns[i].source, table.as<unsigned char>() + packed.bytes[i], columns[i].width};
  }
  made->finder = {{table.as<unsigned char>(), static_cast<uint32_t>(slots - 1)}};
  place_columns(queue, made->finder.table, 0, build, placed, made->has_duplicates);
  made->packed_rows = table.data();
  made->memory.push_back(std::move(table));
  return made;
}

// Build columns in the order of dense keys, apart or side by side.
struct Places {
  std::vector<base::Buffer> memory;
  std::vector<const void*> sources;
  kernels::PlacedColumns placed{};
  PackedRow packed;

  Places(base::Pool& pool, uint64_t places, uint32_t build_rows, const Columns& columns) {
    if (columns.size() > std::size(placed.columns)) {
      base::fail(GPUJOIN_ERROR_INTERNAL, "%zu columns to place at once", columns.size());
    }
    if (columns.size() > 1) packed = packed_row(columns, 0, build_rows);
    placed.row_width = packed.width;
    auto const place_column = [&](int32_t width) {
      memory.push_back(pool.allocate(Memory::kDevice,
                                     base::checked_bytes(places, static_cast<uint64_t>(width)),
                                     "build columns in the order of dense keys"));
      return memory.back().as<unsigned char>();
    };
    unsigned char* const rows = packed.width != 0 ? place_column(packed.width) : nullptr;
    for (size_t i = 0; i < columns.size(); ++i) {
      unsigned char* const target =
          rows != nullptr ? rows + packed.bytes[i] : place_column(columns[i].width);
      placed.columns[placed.count++] = {columns[i].source, target, columns[i].width};
      sources.push_back(target);
    }
  }

  uint64_t bytes() const {
    uint64_t all = 0;
    for (base::Buffer const& column : memory) all += column.bytes();
    return all;
  }
};

// Of so many bytes. near: rows near each other have places near each other.
uint64_t slices_of(uint64_t bytes, bool near) {
  constexpr uint64_t kSlice = kernels::kDirectSliceBytes;
  return near ? 1 : std::max<uint64_t>(1, (bytes + kSlice - 1) / kSlice);
}

template <typename Key>
kernels::FindPlaces<Key> find_places(const transform::KeyPlaces& range, bool is_full,
                                     uint32_t* present, uint64_t slices, bool near) {
  uint64_t const slice_places = (range.places + slices - 1) / slices;
  return {{static_cast<Key>(range.low), range.shift, static_cast<uint32_t>(range.places), present,
           is_full, static_cast<uint32_t>(slice_places), near, false, false, nullptr},
          static_cast<uint32_t>((range.places + slice_places - 1) / slice_places)};
}

// Rows that lie in the order of their places stay where they are.
template <typename Key>
TablePointer unplaced_table(base::Queue& queue, const transform::KeyPlaces& range,
                            const Columns& columns, const plan::JoinPlan& plan) {
  bool const near = plan.neighbours != PlacesOfNeighbours::kAnywhere;
  auto made = std::make_unique<TableOf<kernels::FindPlaces<Key>, kernels::NoRow>>();
  uint64_t width = 0;
  for (TableColumn const& column : columns) width += static_cast<uint64_t>(column.width);
  made->sources = sources_of(columns);
  made->has_duplicates = duplicates_flag(queue);
  made->asked_bytes = range.places * width;
  made->asks_near = plan.asks_near;
  made->finder = find_places<Key>(range, true, nullptr, slices_of(made->asked_bytes, near), near);
  return made;
}

// 128 places have their bits in each.
uint64_t vectors_of(uint64_t places) { return (places + 127) / 128; }

// By bits that are 0 already. False, and nothing is queued: there are more.
template <typename Key>
bool place_few(base::Queue& queue, const kernels::FindPlaces<Key>& finder, const TableSide& build,
               const kernels::PlacedColumns& placed, uint32_t* has_duplicates) {
  constexpr uint32_t kMostRows = 1U << 17;
  uint64_t const vectors = vectors_of(finder.table.places);
  uint64_t const bytes = sizeof(kernels::PlaceFewState) + vectors * sizeof(uint4);
  if (build.rows > kMostRows || finder.slices != 1 || bytes > base::kZeroedBytes) return false;
  base::ZeroedCounts zeroed(queue, bytes);
  auto* const state = zeroed.as<kernels::PlaceFewState>();
  auto table = finder.table;
  table.present = reinterpret_cast<uint32_t*>(state + 1);
  kernels::place_few_kernel<Key>
      <<<base::grid_of(build.rows, kernels::kFewTile), kStreamThreads, 0, stream_of(queue)>>>(
          table, static_cast<const Key*>(build.keys), build.rows, placed, state,
          reinterpret_cast<uint4*>(finder.table.present), static_cast<uint32_t>(vectors),
          has_duplicates);
  check(cudaGetLastError(), "placing few build rows");
  zeroed.all_launched();
  return true;
}

// flag: of keys that repeat, and behind it the finder's bits.
template <typename Key>
void place_rows(base::Queue& queue, const kernels::FindPlaces<Key>& finder,
                const transform::KeyPlaces& range, const TableSide& build, const Places& places,
                const base::Buffer& flag) {
  EmptyTable const table = {range,
                            sizeof(Key),
                            build,
                            places.placed,
                            places.memory.empty() ? nullptr : places.memory.front().data(),
                            finder.table.present,
                            flag.as<uint32_t>()};
  bool const is_done = place_few(queue, finder, build, places.placed, table.has_duplicates) ||
                       place_near(queue, table) ||
                       place_by_slices(queue, table, finder.table.is_near);
  if (is_done) return;
  check(cudaMemsetAsync(flag.data(), 0, flag.bytes(), stream_of(queue)),
        "clearing the bits of keys");
  for (uint32_t slice = 0; slice < finder.slices; ++slice) {
    place_columns(queue, finder.table, slice, build, places.placed, flag);
  }
}

template <typename Key, typename Row>
TablePointer place_table(base::Queue& queue, const transform::KeyPlaces& range,
                         const TableSide& build, Places places, const plan::JoinPlan& plan,
                         RowsOfKey key_rows = RowsOfKey::kOnlyOne) {
  bool const near = plan.neighbours != PlacesOfNeighbours::kAnywhere;
  using Finder = kernels::FindPlaces<Key>;
  auto made = std::make_unique<TableOf<Finder, Row>>();
  // The flag, and behind it the bits: one call clears them.
  constexpr uint64_t kFlagWords = 32;
  made->has_duplicates = queue.device_pool->allocate(
      Memory::kDevice, kFlagWords * sizeof(uint32_t) + vectors_of(range.places) * sizeof(uint4),
      "bits of the keys that there are");
  auto* const flag = made->has_duplicates.template as<uint32_t>();
  made->any_row = key_rows != RowsOfKey::kOnlyOne;
  made->asked_bytes = places.bytes();
  made->asks_near = plan.asks_near;
  bool const may_be_full = range.places == build.rows;
  made->finder = find_places<Key>(range, may_be_full && !made->any_row, flag + kFlagWords,
                                  slices_of(places.bytes(), near), near);
  made->finder.table.any_row = made->any_row;
  made->finder.table.looks_first = key_rows == RowsOfKey::kAnyOfMany;
  if (may_be_full && key_rows == RowsOfKey::kAny) made->finder.table.repeats = flag;
  place_rows(queue, made->finder, range, build, places, made->has_duplicates);
  if (places.packed.width != 0) made->packed_rows = places.memory.front().data();
  made->packed = places.packed;
  made->sources = std::move(places.sources);
  made->memory = std::move(places.memory);
  return made;
}

template <typename Key>
TablePointer place_table(base::Queue& queue, const transform::KeyPlaces& range,
                         const TableSide& build, const Columns& columns, const plan::JoinPlan& plan,
                         RowsOfKey key_rows) {
  // Side by side the columns of a row are one access at random.
  if (range.in_order && (plan.rows_stay || columns.size() <= 1)) {
    return unplaced_table<Key>(queue, range, columns, plan);
  }
  Places places(*queue.device_pool, range.places, build.rows, columns);
  switch (places.placed.row_width) {
    case 0:
      return place_table<Key, kernels::NoRow>(queue, range, build, std::move(places), plan,
                                              key_rows);
    case 4:
      return place_table<Key, uint32_t>(queue, range, build, std::move(places), plan);
    case 8:
      return place_table<Key, uint2>(queue, range, build, std::move(places), plan);
    default:
      return place_table<Key, uint4>(queue, range, build, std::move(places), plan);
  }
}

// For place_near(). Null: rows go to their places otherwise; a tile is a block's, and fewer would
// leave most of a device idle.
base::Buffer tile_ranges(base::Queue& queue, const plan::JoinPlan& plan, int32_t key_width,
                         const TableSide& build, const Columns& columns) {
  constexpr uint32_t kFewestRows = 1U << 20;
  bool const from_tiles = plan.neighbours == PlacesOfNeighbours::kInFewSlices &&
                          build.rows >= kFewestRows && !columns.empty();
  if (!from_tiles) return {};
  return queue.device_pool->try_allocate(
      Memory::kDevice, base::checked_bytes(base::grid_of(build.rows, kernels::kNearTile),
                                           2 * static_cast<uint64_t>(key_width)));
}

}  // namespace

bool joins_in_one_launch(uint64_t build_rows, uint64_t probe_rows) {
  return build_rows == 0 || probe_rows == 0 || kernels::joins_in_one_launch(build_rows, probe_rows);
}

std::unique_ptr<const ColumnTable> make_table(base::Queue& queue, const plan::JoinPlan& plan,
                                              int32_t key_width, const TableSide& build,
                                              const Columns& columns, RowsOfKey key_rows) {
  bool const any_row = key_rows != RowsOfKey::kOnlyOne;
  if (any_row && !columns.empty()) {
    base::fail(GPUJOIN_ERROR_INTERNAL, "columns of build rows of which any will do");
  }
  if (build.rows == 0) return std::make_unique<NoTable>();
  if (plan.match == plan::Match::kDirectTable) {
    TableSide side = build;
    base::Buffer const tiles = tile_ranges(queue, plan, key_width, build, columns);
    side.tile_ranges = tiles.data();
    kernels::KeyRange const found =
        build.range != nullptr && !tiles
            ? *build.range
            : transform::key_range(queue, build.keys, key_width, build.rows, {}, tiles.data());
    transform::KeyPlaces const range = transform::places_of(found, key_width, build.rows);
    bool const direct =
        range.places != 0 && range.places <= base::traffic::most_direct_places(build.rows);
    if (!direct) return nullptr;
    if (range.places < build.rows && !any_row) return std::make_unique<RepeatedKeys>();
    return base::with_key_type(key_width, [&](auto zero) {
      return place_table<decltype(zero)>(queue, range, side, columns, plan, key_rows);
    });
  }
  if (build.rows > kernels::kMostHashedRows) return nullptr;
  return base::with_key_type(key_width, [&](auto zero) {
    using Key = decltype(zero);
    PackedRow const packed = packed_row(columns, sizeof(Key), build.rows);
    bool const beside_key =
        packed.width == kernels::kRowSlotBytes && base::traffic::fits_row_slots(build.rows);
    return beside_key ? row_slot_table<Key>(queue, build, columns, packed)
                      : hashed_table<Key>(queue, build, columns, key_rows);
  });
}

}  // namespace gpujoin::match
