// table_columns.cu: host side of the join by a table whose probe rows write the output columns.
#include "src/match/table_columns.hpp"

#include <algorithm>
#include <utility>

#include "kernels/match/direct_table.cuh"
#include "kernels/match/look_up.cuh"
#include "kernels/match/pair_slots.cuh"
#include "kernels/match/place_columns.cuh"
#include "kernels/match/row_slots.cuh"
#include "kernels/match/table_columns.cuh"
#include "src/base/device.hpp"
#include "src/base/launch.hpp"
#include "src/base/traffic.hpp"
#include "src/match/small_table.hpp"
#include "src/match/whole_columns.hpp"
#include "src/transform/key_range.hpp"

namespace gpujoin::match {

namespace {

using base::check;
using base::Memory;
using base::stream_of;
using kernels::kStreamThreads;
using kernels::kStreamTile;

using Outputs = std::vector<CarriedOutput>;

// 0 before a build.
base::Buffer duplicates_flag(base::Context& context) {
  base::Buffer flag =
      context.device_pool->allocate_rows<uint32_t>(Memory::kDevice, 1, "the duplicates flag");
  check(cudaMemsetAsync(flag.data(), 0, flag.bytes(), stream_of(context)),
        "clearing the duplicates flag");
  return flag;
}

// Build columns of a row side by side.
struct PackedRow {
  int32_t width = 0;  // of the row, 8 or 16; 0: columns stay apart
  int32_t columns = 0;
  uint8_t words[kernels::kCarriedColumns] = {};  // the first of each output that is a build column
};

// After so many bytes that the row begins with. Columns stay apart where words do not hold them.
PackedRow packed_row(const Outputs& outputs, int32_t first_byte) {
  uint64_t fours = 0;
  uint64_t eights = 0;
  for (CarriedOutput const& output : outputs) {
    if (output.from != kernels::CarriedFrom::kBuild) continue;
    if (output.width != 4 && output.width != 8) return {};
    ++(output.width == 8 ? eights : fours);
  }
  PackedRow row;
  row.width = static_cast<int32_t>(
      base::traffic::packed_row_bytes(static_cast<uint64_t>(first_byte), fours, eights));
  row.columns = static_cast<int32_t>(fours + eights);
  if (row.width == 0) return {};
  // A value of 8 bytes is stored at once.
  int32_t const aligned = (first_byte + 7) / 8 * 8;
  int32_t next_eight = aligned;
  int32_t const behind = aligned + 8 * static_cast<int32_t>(eights);
  int32_t next_four = eights != 0 && aligned == first_byte ? behind : first_byte;
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i].from != kernels::CarriedFrom::kBuild) continue;
    int32_t& next = outputs[i].width == 8 ? next_eight : next_four;
    row.words[i] = static_cast<uint8_t>(next / 4);
    next += outputs[i].width;
    if (eights != 0 && next_four == aligned) next_four = behind;
  }
  return row;
}

// What a probe reads beside the table itself.
struct ProbeSide {
  TableSide rows;
  const uint32_t* has_duplicates = nullptr;
  const void* packed_rows = nullptr;  // null: columns apart
  PackedRow packed;
  bool keeps_rows = false;  // every row shall have its match in its place
};

template <typename Key>
kernels::TableJoin<Key> table_join(const ProbeSide& probe) {
  kernels::TableJoin<Key> args{};
  args.probe_keys = static_cast<const Key*>(probe.rows.keys);
  args.probe_rows = probe.rows.rows;
  args.has_duplicates = probe.has_duplicates;
  args.packed_rows = probe.packed_rows;
  std::copy(std::begin(probe.packed.words), std::end(probe.packed.words), args.packed_words);
  return args;
}

template <int kWidth, typename Finder>
constexpr uint64_t kRowsOfBlock =
    uint64_t{kernels::kTableThreads} * kernels::kItemsOf<kWidth, Finder>;

// Nullopt when a row has no match, or build keys repeat.
template <int kWidth, typename Row, typename Finder>
std::optional<CarriedRows> look_up(base::Context& context, const Finder& finder,
                                   const ProbeSide& probe, const Outputs& outputs) {
  base::Pool& pool = *context.device_pool;
  auto const kernel = kernels::look_up_kernel<kWidth, Row, Finder>;
  uint32_t const resident = base::resident_blocks(context, kernel, kernels::kTableThreads, 0,
                                                  "asking for blocks of lookups");
  auto args = table_join<typename Finder::Key>(probe);
  base::Buffer const found =
      pool.allocate_rows<unsigned long long>(Memory::kDevice, 1, "the count of rows found");
  check(cudaMemsetAsync(found.data(), 0, found.bytes(), stream_of(context)),
        "starting the count of rows found");
  args.found = found.as<unsigned long long>();
  std::vector<base::Buffer> columns = start_columns(context, probe.rows.rows, outputs, &args);
  context.check_cancelled();
  kernel<<<std::min(base::grid_of(probe.rows.rows, kRowsOfBlock<kWidth, Finder>), resident),
           kernels::kTableThreads, 0, stream_of(context)>>>(args, finder);
  check(cudaGetLastError(), "looking rows up");
  // Where keys repeat nothing was looked up.
  uint64_t const rows_found =
      base::read_back(context, static_cast<const unsigned long long*>(args.found));
  if (rows_found != probe.rows.rows) return std::nullopt;
  hand_over(std::move(columns), outputs);
  return CarriedRows{probe.rows.rows, 1};
}

template <int kWidth, bool kBuffers, typename Row, typename Finder>
std::optional<CarriedRows> probe_in_chunks(base::Context& context, const plan::JoinPlan& plan,
                                           const Finder& finder, const ProbeSide& probe,
                                           const Outputs& outputs) {
  auto const kernel = kernels::table_columns_kernel<kWidth, kBuffers, Row, Finder>;
  uint32_t const resident = base::resident_blocks(context, kernel, kernels::kTableThreads, 0,
                                                  "asking for blocks of the probe of a table");
  uint32_t const blocks =
      std::min(base::grid_of(probe.rows.rows, kRowsOfBlock<kWidth, Finder>), resident);
  auto args = table_join<typename Finder::Key>(probe);
  ChunkedColumns columns(context, outputs);
  columns.expect(static_cast<uint64_t>(std::max<int64_t>(plan.expected_rows, 0)), blocks);
  for (;;) {
    context.check_cancelled();
    columns.start(&args);
    columns.add_launch(blocks);
    kernel<<<blocks, kernels::kTableThreads, 0, stream_of(context)>>>(args, finder);
    check(cudaGetLastError(), "probing a table");
    bool const done = columns.collect();
    if (columns.rows() == 0 && base::read_back(context, probe.has_duplicates) != 0) {
      return std::nullopt;
    }
    if (done) return columns.finish();
    columns.require(blocks);
  }
}

template <typename Row, typename Finder>
std::optional<CarriedRows> probe_rows(base::Context& context, const plan::JoinPlan& plan,
                                      const Finder& finder, const ProbeSide& probe,
                                      const Outputs& outputs) {
  if (probe.keeps_rows) {
    return common_width(outputs) == 4 ? look_up<4, Row>(context, finder, probe, outputs)
                                      : look_up<0, Row>(context, finder, probe, outputs);
  }
  auto const found = static_cast<uint64_t>(std::max<int64_t>(plan.expected_rows, 0));
  bool const buffers = finder.slices > 1 || found < probe.rows.rows / 4 * 3;
  if (common_width(outputs) == 4) {
    return buffers ? probe_in_chunks<4, true, Row>(context, plan, finder, probe, outputs)
                   : probe_in_chunks<4, false, Row>(context, plan, finder, probe, outputs);
  }
  return buffers ? probe_in_chunks<0, true, Row>(context, plan, finder, probe, outputs)
                 : probe_in_chunks<0, false, Row>(context, plan, finder, probe, outputs);
}

// The only build column, of 4 bytes: slots name its values in the place of rows, and the probe
// writes what they name. Else null.
const uint32_t* take_lone_value(Outputs* outputs) {
  CarriedOutput* lone = nullptr;
  for (CarriedOutput& output : *outputs) {
    if (output.from != kernels::CarriedFrom::kBuild) continue;
    if (lone != nullptr || output.width != sizeof(uint32_t)) return nullptr;
    lone = &output;
  }
  if (lone == nullptr) return nullptr;
  return static_cast<const uint32_t*>(std::exchange(lone->source, nullptr));
}

// Bytes of a build row that are read at random beside its slot.
template <typename Key>
uint64_t read_bytes(const Outputs& outputs) {
  uint64_t bytes = sizeof(Key) > sizeof(uint32_t) ? sizeof(Key) : 0;
  for (CarriedOutput const& output : outputs) {
    bool const is_read = output.from == kernels::CarriedFrom::kBuild && output.source != nullptr;
    bytes += is_read ? static_cast<uint64_t>(output.width) : 0;
  }
  return bytes;
}

template <typename Key>
std::optional<CarriedRows> by_hash(base::Context& context, const plan::JoinPlan& plan,
                                   const TableSide& build, const TableSide& probe, Outputs outputs,
                                   bool keeps_rows) {
  const uint32_t* const values = sizeof(Key) == 4 ? take_lone_value(&outputs) : nullptr;
  uint64_t const slots = base::traffic::pair_table_slots(build.rows, read_bytes<Key>(outputs));
  base::Buffer const table = context.device_pool->allocate_rows<unsigned long long>(
      Memory::kDevice, slots, "the hash table");
  base::Buffer const has_duplicates = duplicates_flag(context);
  check(cudaMemsetAsync(table.data(), 0xff, table.bytes(), stream_of(context)),
        "clearing the hash table");
  kernels::FindPairRows<Key> const finder = {{table.as<unsigned long long>(),
                                              static_cast<uint32_t>(slots - 1),
                                              static_cast<const Key*>(build.keys)}};
  kernels::build_pair_table_kernel<Key>
      <<<base::grid_of(build.rows, kStreamTile), kStreamThreads, 0, stream_of(context)>>>(
          finder.table, values, build.rows, has_duplicates.as<uint32_t>());
  check(cudaGetLastError(), "building the hash table");
  return probe_rows<kernels::NoRow>(context, plan, finder,
                                    {probe, has_duplicates.as<uint32_t>(), nullptr, {}, keeps_rows},
                                    outputs);
}

template <typename Table>
void place_columns(base::Context& context, const Table& table, uint32_t slice,
                   const TableSide& build, const kernels::PlacedColumns& placed,
                   const base::Buffer& has_duplicates) {
  kernels::place_columns_kernel<Table>
      <<<base::grid_of(build.rows, kStreamTile), kStreamThreads, 0, stream_of(context)>>>(
          table, slice, static_cast<const typename Table::Key*>(build.keys), build.rows, placed,
          has_duplicates.as<uint32_t>());
  check(cudaGetLastError(), "placing build rows");
}

static_assert(kernels::kRowSlotBytes == base::traffic::kRowSlotBytes);

// The columns of a row beside its key.
template <typename Key>
std::optional<CarriedRows> by_row_slots(base::Context& context, const plan::JoinPlan& plan,
                                        const TableSide& build, const TableSide& probe,
                                        const Outputs& outputs, const PackedRow& packed,
                                        bool keeps_rows) {
  uint64_t const slots = base::traffic::row_slots(build.rows);
  base::Buffer const table = context.device_pool->allocate(
      Memory::kDevice, base::checked_bytes(slots, kernels::kRowSlotBytes), "the hash table");
  base::Buffer const has_duplicates = duplicates_flag(context);
  check(cudaMemsetAsync(table.data(), 0xff, table.bytes(), stream_of(context)),
        "clearing the hash table");
  kernels::PlacedColumns placed{};
  placed.row_width = kernels::kRowSlotBytes;
  for (size_t i = 0; i < outputs.size(); ++i) {
    if (outputs[i].from != kernels::CarriedFrom::kBuild) continue;
    placed.columns[placed.count++] = {
        outputs[i].source, table.as<unsigned char>() + 4 * packed.words[i], outputs[i].width};
  }
  kernels::FindRowSlots<Key> const finder = {
      {table.as<unsigned char>(), static_cast<uint32_t>(slots - 1)}};
  place_columns(context, finder.table, 0, build, placed, has_duplicates);
  return probe_rows<uint4>(context, plan, finder,
                           {probe, has_duplicates.as<uint32_t>(), table.data(), packed, keeps_rows},
                           outputs);
}

template <typename Key>
std::optional<CarriedRows> by_place(base::Context& context, const plan::JoinPlan& plan,
                                    const transform::KeyPlaces& places, const TableSide& build,
                                    const TableSide& probe, Outputs outputs, bool keeps_rows) {
  base::Pool& pool = *context.device_pool;
  base::Buffer const present = pool.allocate_rows<uint32_t>(
      Memory::kDevice, (places.places + 31) / 32, "bits of the keys that there are");
  base::Buffer const has_duplicates = duplicates_flag(context);
  check(cudaMemsetAsync(present.data(), 0, present.bytes(), stream_of(context)),
        "clearing the bits of keys");
  PackedRow packed_columns = packed_row(outputs, 0);
  if (packed_columns.columns < 2) packed_columns = {};
  kernels::PlacedColumns placed{};
  placed.row_width = packed_columns.width;
  std::vector<base::Buffer> columns;
  auto const place_column = [&](int32_t width) {
    columns.push_back(pool.allocate(
        Memory::kDevice, base::checked_bytes(places.places, static_cast<uint64_t>(width)),
        "build columns in the order of dense keys"));
    return columns.back().as<unsigned char>();
  };
  unsigned char* const packed = placed.row_width != 0 ? place_column(placed.row_width) : nullptr;
  ProbeSide const side = {probe, has_duplicates.as<uint32_t>(), packed, packed_columns, keeps_rows};
  for (size_t i = 0; i < outputs.size(); ++i) {
    CarriedOutput& output = outputs[i];
    if (output.from != kernels::CarriedFrom::kBuild) continue;
    if (static_cast<size_t>(placed.count) == std::size(placed.columns)) {
      base::fail(GPUJOIN_ERROR_INTERNAL, "%zu columns to place at once", outputs.size());
    }
    unsigned char* const target =
        packed != nullptr ? packed + 4 * packed_columns.words[i] : place_column(output.width);
    placed.columns[placed.count++] = {output.source, target, output.width};
    output.source = target;
  }
  uint64_t table_bytes = 0;
  for (base::Buffer const& column : columns) table_bytes += column.bytes();
  uint64_t const slices = std::max<uint64_t>(
      1, (table_bytes + kernels::kDirectSliceBytes - 1) / kernels::kDirectSliceBytes);
  uint64_t const slice_places = (places.places + slices - 1) / slices;
  kernels::DirectTable<Key> const table = {
      static_cast<Key>(places.low),         places.shift,
      static_cast<uint32_t>(places.places), present.as<uint32_t>(),
      places.places == build.rows,          static_cast<uint32_t>(slice_places)};
  kernels::FindPlaces<Key> const finder = {
      table, static_cast<uint32_t>((places.places + slice_places - 1) / slice_places)};
  for (uint32_t slice = 0; slice < finder.slices; ++slice) {
    place_columns(context, table, slice, build, placed, has_duplicates);
  }
  switch (placed.row_width) {
    case 0:
      return probe_rows<kernels::NoRow>(context, plan, finder, side, outputs);
    case 8:
      return probe_rows<uint2>(context, plan, finder, side, outputs);
    default:
      return probe_rows<uint4>(context, plan, finder, side, outputs);
  }
}

TableResult by_table(base::Context& context, const plan::JoinPlan& plan, int32_t key_width,
                     const TableSide& build, const TableSide& probe, const Outputs& outputs,
                     bool keeps_rows, ScatteredKeys scattered) {
  check_count(outputs);
  transform::KeyPlaces places;
  if (plan.match == plan::Match::kDirectTable) {
    places = transform::places_of(transform::key_range(context, build.keys, key_width, build.rows),
                                  key_width);
  }
  bool const direct =
      places.places != 0 && places.places <= base::traffic::most_direct_places(build.rows);
  // Slots are told by numbers of 32 bits: there are twice as many as rows.
  constexpr uint32_t kMostHashedRows = 1U << 31;
  bool const leaves = plan.match == plan::Match::kDirectTable && scattered == ScatteredKeys::kLeft;
  if (!direct && (leaves || build.rows > kMostHashedRows)) return NoTable::kKeysScattered;
  return base::with_key_type(key_width, [&](auto zero) -> TableResult {
    using Key = decltype(zero);
    PackedRow const packed = packed_row(outputs, sizeof(Key));
    std::optional<CarriedRows> rows;
    if (direct) {
      rows = by_place<Key>(context, plan, places, build, probe, outputs, keeps_rows);
    } else if (packed.width == kernels::kRowSlotBytes &&
               base::traffic::fits_row_slots(build.rows)) {
      rows = by_row_slots<Key>(context, plan, build, probe, outputs, packed, keeps_rows);
    } else {
      rows = by_hash<Key>(context, plan, build, probe, outputs, keeps_rows);
    }
    if (!rows) return NoTable::kKeysRepeat;
    return TableRows{*rows, direct ? plan::Match::kDirectTable : plan::Match::kGlobalTable};
  });
}

}  // namespace

bool joins_in_one_launch(uint64_t build_rows, uint64_t probe_rows) {
  return build_rows != 0 && probe_rows != 0 && build_rows + probe_rows <= kernels::kSmallTableRows;
}

TableResult table_columns(base::Context& context, const plan::JoinPlan& plan, int32_t key_width,
                          const TableSide& build, const TableSide& probe, const Outputs& outputs,
                          ScatteredKeys scattered, double* milliseconds) {
  if (build.rows == 0 || probe.rows == 0) return TableRows{{}, plan.match};
  if (joins_in_one_launch(build.rows, probe.rows)) {
    std::optional<TableRows> const rows =
        small_table(context, plan, key_width, build, probe, outputs, milliseconds);
    if (!rows) return NoTable::kKeysRepeat;
    return *rows;
  }
  return by_table(context, plan, key_width, build, probe, outputs, false, scattered);
}

std::optional<TableRows> look_up_columns(base::Context& context, const plan::JoinPlan& plan,
                                         int32_t key_width, const TableSide& build,
                                         const TableSide& probe, const Outputs& outputs) {
  if (build.rows == 0 || probe.rows == 0) return std::nullopt;
  TableResult const rows =
      by_table(context, plan, key_width, build, probe, outputs, true, ScatteredKeys::kHashed);
  auto const* const written = std::get_if<TableRows>(&rows);
  return written != nullptr ? std::optional(*written) : std::nullopt;
}

}  // namespace gpujoin::match
