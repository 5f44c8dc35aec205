// table_columns_cuda_test.cpp: tables whose probe rows write the output columns: dense keys as
// addresses, hashed keys, few rows in one launch.
#include "src/match/table_columns.hpp"

#include <algorithm>
#include <optional>
#include <utility>

#include "kernels/limits.hpp"
#include "kernels/tuning.hpp"
#include "src/base/traffic.hpp"
#include "src/match/small_table.hpp"
#include "src/plan/attempts.hpp"
#include "tests/gpu_fixture.hpp"
#include "tests/join/joins.hpp"
#include "tests/join/reference_join.hpp"
#include "tests/match/table_plan.hpp"

namespace gpujoin::tests {
namespace {

using TableColumns = GpuTest;
using kernels::CarriedFrom;
using match::CarriedOutput;
using plan::Finding;
using plan::Match;
using plan::PlacesOfNeighbours;

constexpr PlacesOfNeighbours kAllNeighbours[] = {
    PlacesOfNeighbours::kAnywhere, PlacesOfNeighbours::kNear, PlacesOfNeighbours::kInFewSlices};
constexpr uint32_t kNone = UINT32_MAX;
constexpr uint32_t kSmall = kernels::kSmallTableRows;
// Of which with kSmall others more than one launch is made, and so it is of few rows with these.
constexpr uint32_t kNotFew = kernels::kSmallBuildRows + 1000;
constexpr uint32_t kMany = kernels::kSmallProbeRows + 9000;

// Keys first, first + stride, ... in the arithmetic of their width, so that an odd stride scatters
// them all over it.
struct KeySeries {
  std::string name;
  uint64_t first = 0;
  uint64_t stride = 1;
  uint64_t places = 1;  // of which the build side has the first, the last, and others
};

struct Sizes {
  uint32_t build;
  uint32_t probe;
};

// Both sides' keys, and which build row each probe row must find: known from how they were made.
struct KeyPair {
  int32_t width = 4;
  std::vector<uint64_t> build;
  std::vector<uint64_t> probe;
  std::vector<uint32_t> build_row;  // of each probe row, or kNone
  uint64_t matches = 0;

  KeyPair(const KeySeries& series, const Sizes& sizes, int32_t key_width, double match,
          uint64_t seed)
      : width(key_width) {
    std::mt19937_64 random(seed);
    uint64_t const most = width == 4 ? UINT32_MAX : UINT64_MAX;
    auto const key_of = [&](uint64_t place) {
      return (series.first + place * series.stride) & most;
    };
    std::vector<uint32_t> order(series.places);
    std::iota(order.begin(), order.end(), 0U);
    if (order.size() > 2) std::shuffle(order.begin() + 1, order.end() - 1, random);
    if (order.size() > 1) std::swap(order[1], order.back());
    order.resize(sizes.build);
    std::shuffle(order.begin(), order.end(), random);
    std::vector<uint32_t> row_of(series.places, kNone);
    for (uint32_t row = 0; row < sizes.build; ++row) {
      row_of[order[row]] = row;
      build.push_back(key_of(order[row]));
    }
    std::bernoulli_distribution is_match(match);
    for (uint32_t row = 0; row < sizes.probe; ++row) {
      uint64_t const draw = random();
      if (is_match(random)) {
        uint32_t const found = static_cast<uint32_t>(draw % sizes.build);
        add_probe(build[found], found);
        continue;
      }
      uint64_t const place = draw % series.places;
      switch (row % 4) {
        case 0:  // above
          add_probe(key_of(series.places + draw % 5000), kNone);
          break;
        case 1:  // below
          add_probe(key_of(0 - 1 - draw % 5000), kNone);
          break;
        case 2:  // between two steps
          if (series.stride % 2 == 0) {
            add_probe((key_of(place) + 1 + draw % (series.stride - 1)) & most, kNone);
            break;
          }
          [[fallthrough]];
        default:  // where nobody is
          add_probe(key_of(row_of[place] == kNone ? place : series.places + draw % 5000), kNone);
      }
    }
  }

  // Rows in the order of the keys as signed integers, of each block of so many the other way round;
  // probe rows then go through the build rows.
  void lie_in_order(size_t block) {
    std::vector<uint32_t> rows(build.size());
    std::iota(rows.begin(), rows.end(), 0U);
    auto const value = [&](uint64_t key) {
      return width == 4 ? static_cast<int32_t>(key) : static_cast<int64_t>(key);
    };
    std::sort(rows.begin(), rows.end(),
              [&](uint32_t a, uint32_t b) { return value(build[a]) < value(build[b]); });
    for (size_t first = 0; first < rows.size(); first += block) {
      std::reverse(rows.begin() + static_cast<ptrdiff_t>(first),
                   rows.begin() + static_cast<ptrdiff_t>(std::min(first + block, rows.size())));
    }
    std::vector<uint64_t> const keys = build;
    std::vector<uint32_t> row_of(rows.size());
    for (uint32_t row = 0; row < rows.size(); ++row) {
      build[row] = keys[rows[row]];
      row_of[rows[row]] = row;
    }
    for (uint32_t& found : build_row) {
      if (found != kNone) found = row_of[found];
    }
    std::vector<size_t> order(probe.size());
    std::iota(order.begin(), order.end(), size_t{0});
    std::stable_sort(order.begin(), order.end(),
                     [&](size_t a, size_t b) { return value(probe[a]) < value(probe[b]); });
    auto const [old_probe, old_rows] = std::pair(probe, build_row);
    for (size_t i = 0; i < order.size(); ++i) {
      probe[i] = old_probe[order[i]];
      build_row[i] = old_rows[order[i]];
    }
  }

  void add_probe(uint64_t key, uint32_t found) {
    probe.push_back(key);
    build_row.push_back(found);
    matches += found != kNone ? 1 : 0;
  }
};

struct Columns {
  std::vector<int32_t> build;
  std::vector<int32_t> probe;
  bool build_numbers = true;
  bool gives_numbers = false;     // as a column, as of rows of which some were left out
  bool leaves_scattered = false;  // else they are hashed
  size_t rows_before = 0;         // in memory, of each column
  // The plan says so, which need not be true.
  PlacesOfNeighbours neighbours = PlacesOfNeighbours::kAnywhere;
  bool rows_stay = false;
  bool has_table = false;                  // also of few rows
  Finding why_not = Finding::kKeysRepeat;  // when nothing is written
};

// random_column draws each byte for itself, which takes long for millions of rows.
HostColumn filled_column(size_t rows, int32_t width, uint64_t seed) {
  std::mt19937_64 random(seed);
  HostColumn column;
  column.width = width;
  column.data.resize(rows * static_cast<size_t>(width));
  for (size_t byte = 0; byte < column.data.size(); byte += sizeof(uint64_t)) {
    uint64_t const value = random();
    std::memcpy(&column.data[byte], &value, std::min(sizeof(value), column.data.size() - byte));
  }
  return column;
}

// A column on the device, with rows before its own.
class ShiftedColumn {
 public:
  ShiftedColumn(base::Queue& queue, HostColumn column, size_t rows_before)
      : skipped_(rows_before * static_cast<size_t>(column.width)) {
    column.data.insert(column.data.begin(), skipped_, 0xa5);
    placed_ = place(queue, column);
  }
  const void* data() const { return static_cast<const unsigned char*>(placed_.data) + skipped_; }

 private:
  size_t skipped_;
  columns::DeviceColumn placed_;
};

// A side on the device, and the columns of it that are to be put out.
class Side {
 public:
  Side(base::Queue& queue, CarriedFrom from, const std::vector<uint64_t>& keys, int32_t key_width,
       const std::vector<int32_t>& widths, const Columns& columns = {})
      : queue_(queue),
        from_(from),
        rows_(static_cast<uint32_t>(keys.size())),
        keys_(queue, key_column(keys, key_width), columns.rows_before),
        targets_(widths.size() + 1) {
    bool const gives_numbers = columns.gives_numbers;
    if (gives_numbers) {
      std::vector<uint32_t> numbers(keys.size());
      for (uint32_t row = 0; row < rows_; ++row) numbers[row] = number_of(row);
      numbers_ = upload(queue, numbers);
    }
    gives_numbers_ = gives_numbers;
    for (int32_t const width : widths) {
      payloads_.push_back(filled_column(keys.size(), width, 7 * payloads_.size() + keys.size()));
      device_payloads_.emplace_back(queue, payloads_.back(), columns.rows_before);
    }
  }

  match::TableSide side() const { return {keys_.data(), rows_}; }

  void add_outputs(bool numbers, std::vector<CarriedOutput>* outputs) {
    for (size_t i = 0; i < payloads_.size(); ++i) {
      outputs->push_back({device_payloads_[i].data(), payloads_[i].width, from_, &targets_[i]});
    }
    if (numbers) outputs->push_back({numbers_.data(), 4, from_, &targets_.back()});
  }

  std::vector<uint32_t> rows_written(size_t count) const {
    std::vector<uint32_t> rows = download<uint32_t>(queue_, targets_.back().get(), count);
    if (gives_numbers_) {
      for (uint32_t& row : rows) row = (row - 11) / 3;
    }
    return rows;
  }

  void expect_payloads(const std::vector<uint32_t>& rows) const {
    for (size_t i = 0; i < payloads_.size(); ++i) {
      std::vector<unsigned char> const expected = bytes_of_rows(payloads_[i], rows);
      EXPECT_TRUE(download<unsigned char>(queue_, targets_[i].get(), expected.size()) == expected)
          << "column " << i << " of width " << payloads_[i].width
          << (from_ == CarriedFrom::kBuild ? " of the build side" : " of the probe side");
    }
  }

  bool nothing_written() const {
    return std::all_of(targets_.begin(), targets_.end(),
                       [](const columns::Storage& target) { return target == nullptr; });
  }

 private:
  static uint32_t number_of(uint32_t row) { return 3 * row + 11; }

  base::Queue& queue_;
  CarriedFrom from_;
  uint32_t rows_;
  ShiftedColumn keys_;
  base::Buffer numbers_;
  bool gives_numbers_ = false;
  std::vector<HostColumn> payloads_;
  std::vector<ShiftedColumn> device_payloads_;
  std::vector<columns::Storage> targets_;  // the last of row numbers
};

plan::JoinPlan plan_of(Match match, uint64_t expected_rows) {
  plan::JoinPlan plan = table_plan(match);
  plan.expected_rows = static_cast<int64_t>(expected_rows);
  return plan;
}

struct Written : match::WrittenRows {
  Match table = Match::kGlobalTable;
};

// As the executor goes about it: few rows in one launch, others by a table and a probe of it.
Finding join(base::Queue& queue, plan::JoinPlan plan, int32_t width, const match::TableSide& build,
             const match::TableSide& probe, const std::vector<CarriedOutput>& outputs,
             Written* written, const Columns& asked = {}) {
  if (!asked.has_table && match::joins_in_one_launch(build.rows, probe.rows)) {
    auto const rows = match::small_table(queue, plan, width, build, probe,
                                         match::RepeatedKeys::kRefused, outputs);
    if (rows) *written = {{rows->rows, rows->room, rows->launches}, rows->table};
    return rows ? Finding::kJoined : Finding::kKeysRepeat;
  }
  std::vector<match::TableColumn> columns;
  for (CarriedOutput const& output : outputs) {
    if (output.from == CarriedFrom::kBuild) columns.push_back({output.source, output.width});
  }
  auto table = match::make_table(queue, plan, width, build, columns);
  if (table == nullptr) {
    if (asked.leaves_scattered) return Finding::kKeysScattered;
    plan.match = Match::kGlobalTable;
    table = match::make_table(queue, plan, width, build, columns);
  }
  auto const rows = table->probe(queue, plan.expected_rows, probe, outputs);
  if (rows) *written = {*rows, plan.match};
  return rows ? Finding::kJoined : Finding::kKeysRepeat;
}

// Joins. Each probe row with a match must come once, with the columns of its build row beside it.
std::optional<Written> expect_rows(base::Queue& queue, Match match, const KeyPair& keys,
                                   const Columns& columns = {},
                                   std::optional<uint64_t> expected_rows = std::nullopt) {
  Side build(queue, CarriedFrom::kBuild, keys.build, keys.width, columns.build, columns);
  Side probe(queue, CarriedFrom::kProbe, keys.probe, keys.width, columns.probe, columns);
  std::vector<CarriedOutput> outputs;
  columns::Storage key;
  build.add_outputs(columns.build_numbers, &outputs);
  outputs.push_back({nullptr, keys.width, CarriedFrom::kKey, &key});
  probe.add_outputs(true, &outputs);
  Written rows;
  plan::JoinPlan plan = plan_of(match, expected_rows.value_or(keys.matches));
  plan.neighbours = columns.neighbours;
  plan.rows_stay = columns.rows_stay;
  Finding const found =
      join(queue, plan, keys.width, build.side(), probe.side(), outputs, &rows, columns);
  std::optional<Written> const written =
      found == Finding::kJoined ? std::optional(rows) : std::nullopt;
  if (!written) {
    EXPECT_TRUE(build.nothing_written() && probe.nothing_written() && key == nullptr);
    EXPECT_EQ(found, columns.why_not);
    return written;
  }
  EXPECT_EQ(written->rows, keys.matches);
  if (written->rows != keys.matches || keys.matches == 0) return written;

  std::vector<uint32_t> const probe_rows = probe.rows_written(keys.matches);
  std::vector<uint32_t> build_rows(keys.matches);
  std::vector<bool> is_seen(keys.probe.size());
  size_t wrong = 0;
  for (size_t i = 0; i < probe_rows.size(); ++i) {
    uint32_t const row = probe_rows[i];
    bool const is_right = row < keys.probe.size() && keys.build_row[row] != kNone && !is_seen[row];
    wrong += is_right ? 0 : 1;
    if (!is_right) continue;
    is_seen[row] = true;
    build_rows[i] = keys.build_row[row];
  }
  EXPECT_EQ(wrong, 0U) << "the right number of rows, not the right ones";
  if (wrong != 0) return written;
  if (columns.build_numbers) {
    EXPECT_TRUE(build.rows_written(keys.matches) == build_rows);
  }
  build.expect_payloads(build_rows);
  probe.expect_payloads(probe_rows);
  std::vector<unsigned char> const key_bytes =
      bytes_of_rows(key_column(keys.probe, keys.width), probe_rows);
  EXPECT_TRUE(download<unsigned char>(queue, key.get(), key_bytes.size()) == key_bytes);
  return written;
}

// Places of dense keys at most, as the join of so many rows has room for.
uint64_t most_places(const Sizes& sizes) {
  uint64_t const most = base::traffic::most_direct_places(sizes.build);
  if (!kernels::joins_in_one_launch(sizes.build, sizes.probe)) return most;
  return std::min(most, 2 * base::traffic::global_table_slots(sizes.build));
}

void expect_table(const std::optional<Written>& written, Match expected) {
  ASSERT_TRUE(written.has_value()) << "build keys are unique";
  EXPECT_EQ(written->table, expected) << plan::to_text(written->table);
}

std::string trace_of(const KeySeries& series, const Sizes& sizes, int32_t key_width) {
  return series.name + ", " + std::to_string(sizes.build) + " x " + std::to_string(sizes.probe) +
         " rows, keys of " + std::to_string(key_width) + " bytes";
}

// One block, all blocks at once, a launch for each step, and few rows that ask a table.
const std::vector<Sizes>& paths() {
  static const std::vector<Sizes> all = {
      {700, 3000}, {20000, 50000}, {kNotFew, kSmall}, {kSmall, 300}, {kSmall, 100'000}};
  return all;
}

std::vector<KeySeries> dense_series(uint64_t rows, int32_t key_width) {
  uint64_t const sign = uint64_t{1} << (8 * key_width - 1);
  std::vector<KeySeries> series = {
      {"full", 0, 1, rows},
      {"with gaps", 7, 1, 2 * rows},
      {"every eighth from an odd one on", 12345, 8, 3 * rows},
      {"below zero", 0 - 4 * rows, 1, 2 * rows},
      {"across zero", 0 - rows, 1, 2 * rows},
      {"across zero in steps of 4", 0 - 4 * rows + 2, 4, 2 * rows},
      {"from the lowest key on", sign, 1, rows + rows / 2},
      {"up to the highest key", sign - 2 * rows, 1, 2 * rows},
  };
  if (key_width == 8) {
    series.push_back({"beyond 2^32", 0x123456789abcd, 1, rows + 1});
    series.push_back({"across 2^32", (uint64_t{1} << 32) - rows, 1, 2 * rows});
    series.push_back({"steps beyond 2^32", 0x5000000007, uint64_t{1} << 34, 2 * rows});
    series.push_back({"far below zero", 0 - (uint64_t{1} << 50), 16, rows});
  }
  return series;
}

TEST_F(TableColumns, OfDenseKeysAreFoundByTheirPlace) {
  for (Sizes const& sizes : paths()) {
    for (int32_t const key_width : {4, 8}) {
      for (KeySeries const& series : dense_series(sizes.build, key_width)) {
        SCOPED_TRACE(trace_of(series, sizes, key_width));
        KeyPair const keys(series, sizes, key_width, 0.5, 1);
        expect_table(expect_rows(queue(), Match::kDirectTable, keys, {{4}, {4}}),
                     Match::kDirectTable);
        expect_table(expect_rows(queue(), Match::kGlobalTable, keys, {{4}, {4}}),
                     Match::kGlobalTable);
        if (HasFailure()) return;
      }
    }
  }
}

// The only build column, of 4 bytes, is in the slots of hashed keys of 4 bytes.
TEST_F(TableColumns, OfALoneValueAreThoseOfTheBuildRow) {
  Sizes const sizes = {kNotFew, kSmall};
  for (int32_t const key_width : {4, 8}) {
    uint64_t const scatter = key_width == 4 ? 0x9e3779b1 : 0x9e3779b97f4a7c15;
    KeySeries const series = {"scattered", 5, scatter, 3 * sizes.build};
    for (double const match : {0.0, 0.3, 1.0}) {
      SCOPED_TRACE(trace_of(series, sizes, key_width));
      KeyPair const keys(series, sizes, key_width, match, 4);
      for (Columns const& columns :
           {Columns{{4}, {4}, false}, Columns{{8}, {4}, false}, Columns{{4, 4}, {}, false},
            Columns{{}, {8}, false}, Columns{{}, {4}, true}, Columns{{}, {4}, true, true}}) {
        expect_table(expect_rows(queue(), Match::kGlobalTable, keys, columns), Match::kGlobalTable);
      }
      if (HasFailure()) return;
    }
  }
}

// Of one key a slot looks like a free one if its value is the highest, too: nothing is written
// then.
TEST_F(TableColumns, OfTheHighestValueAreWrittenOrLeft) {
  constexpr uint32_t kMost = UINT32_MAX;
  constexpr uint32_t kAllOnesMixed = [] {
    uint32_t key = kMost;
    key ^= key >> 16;
    key *= 0x7ed1b41d;  // undoes the second factor of mix_key
    key ^= key >> 16;
    key *= 0xa5cb9243;
    return key ^ key >> 16;
  }();
  uint32_t const probe_rows = kMany;
  std::vector<uint32_t> const probe(probe_rows, kAllOnesMixed);
  base::Buffer const probe_keys = upload(queue(), probe);
  struct Lone {
    std::vector<uint32_t> keys;
    std::vector<uint32_t> values;
    bool is_written;
    uint32_t value;  // of every row
  };
  for (Lone const& lone : {Lone{{7, kAllOnesMixed, 99}, {1, kMost, 2}, false, 0},
                           Lone{{7, kAllOnesMixed, 99}, {kMost, 5, kMost}, true, 5},
                           Lone{{kAllOnesMixed}, {kMost - 1}, true, kMost - 1}}) {
    base::Buffer const keys = upload(queue(), lone.keys);
    base::Buffer const values = upload(queue(), lone.values);
    columns::Storage written;
    std::vector<CarriedOutput> const outputs = {{values.data(), 4, CarriedFrom::kBuild, &written}};
    Written rows_written;
    Finding const found = join(queue(), plan_of(Match::kGlobalTable, probe_rows), 4,
                               {keys.data(), static_cast<uint32_t>(lone.keys.size())},
                               {probe_keys.data(), probe_rows}, outputs, &rows_written);
    ASSERT_EQ(found == Finding::kJoined, lone.is_written);
    if (!lone.is_written) continue;
    EXPECT_EQ(rows_written.rows, probe_rows);
    EXPECT_TRUE(download<uint32_t>(queue(), written.get(), probe_rows) ==
                std::vector<uint32_t>(probe_rows, lone.value));
  }
  // With two values the key itself looks like a free slot: nothing is written where a build row has
  // it, and no probe row finds it else.
  for (std::vector<uint32_t> const& build :
       {std::vector<uint32_t>{7, kAllOnesMixed}, std::vector<uint32_t>{7, 99, 5}}) {
    base::Buffer const keys = upload(queue(), build);
    columns::Storage written[2];
    std::vector<CarriedOutput> const outputs = {{keys.data(), 4, CarriedFrom::kBuild, &written[0]},
                                                {keys.data(), 4, CarriedFrom::kBuild, &written[1]}};
    Written rows_written;
    Finding const found = join(queue(), plan_of(Match::kGlobalTable, probe_rows), 4,
                               {keys.data(), static_cast<uint32_t>(build.size())},
                               {probe_keys.data(), probe_rows}, outputs, &rows_written);
    ASSERT_EQ(found == Finding::kJoined, build.size() == 3);
    if (build.size() == 3) {
      EXPECT_EQ(rows_written.rows, 0U);
    }
  }
  // The same of 8 bytes.
  std::vector<uint64_t> const wide = {7, 0x9462ee862b60c63f};
  base::Buffer const wide_keys = upload(queue(), wide);
  base::Buffer const wide_probe = upload(queue(), std::vector<uint64_t>(probe_rows, wide.back()));
  for (uint32_t const rows : {1U, 2U}) {
    columns::Storage written;
    std::vector<CarriedOutput> const outputs = {
        {wide_keys.data(), 8, CarriedFrom::kBuild, &written}};
    Written rows_written;
    Finding const found =
        join(queue(), plan_of(Match::kGlobalTable, probe_rows), 8, {wide_keys.data(), rows},
             {wide_probe.data(), probe_rows}, outputs, &rows_written);
    ASSERT_EQ(found == Finding::kJoined, rows == 1);
    if (rows == 1) {
      EXPECT_EQ(rows_written.rows, 0U);
    }
  }
}

TEST_F(TableColumns, OfKeysTooFarApartAreHashed) {
  for (Sizes const& sizes : paths()) {
    uint64_t const most = most_places(sizes);
    for (int32_t const key_width : {4, 8}) {
      uint64_t const scatter = key_width == 4 ? 0x9e3779b1 : 0x9e3779b97f4a7c15;
      for (KeySeries const& series : {KeySeries{"one place too many", 3, 1, most + 1},
                                      KeySeries{"scattered", 5, scatter, 2 * most}}) {
        SCOPED_TRACE(trace_of(series, sizes, key_width));
        KeyPair const keys(series, sizes, key_width, 0.5, 2);
        for (Match const match : {Match::kDirectTable, Match::kGlobalTable}) {
          expect_table(expect_rows(queue(), match, keys, {{4, 4}, {4}}), Match::kGlobalTable);
        }
        if (HasFailure()) return;
      }
      KeySeries const last{"as many places as there may be", 3, 1, most};
      SCOPED_TRACE(trace_of(last, sizes, key_width));
      expect_table(
          expect_rows(queue(), Match::kDirectTable, KeyPair(last, sizes, key_width, 0.5, 3)),
          Match::kDirectTable);
    }
  }
}

// Blocks of the launch judge by their own rows: none sees it, one does, half of them do.
TEST_F(TableColumns, OfKeysTooFarApartInSomeRowsAreHashed) {
  constexpr uint32_t kBlockRows = kernels::kSmallTableThreads;
  constexpr uint64_t kFar = uint64_t{1} << 24;
  struct Case {
    std::string name;
    uint64_t (*moved_by)(uint32_t row);
  };
  std::vector<Case> const cases = {
      {"in no block", [](uint32_t row) { return kFar * (row / kBlockRows); }},
      {"in one block", [](uint32_t row) { return row == 3 * kBlockRows + 5 ? kFar : 0; }},
      {"in half the blocks", [](uint32_t row) { return kFar * (row / kBlockRows % 2 * row % 64); }},
      {"in the last block", [](uint32_t row) { return row == 19999 ? kFar : 0; }}};
  for (Sizes const& sizes : {Sizes{20000, 20000}, Sizes{20000, 50000}, Sizes{20000, kSmall / 2}}) {
    for (int32_t const key_width : {4, 8}) {
      for (Case const& moved : cases) {
        KeySeries const series{moved.name, 3, 1, sizes.build};
        SCOPED_TRACE(trace_of(series, sizes, key_width));
        KeyPair keys(series, sizes, key_width, 0.5, 8);
        for (uint32_t row = 0; row < sizes.build; ++row) keys.build[row] += moved.moved_by(row);
        for (uint32_t row = 0; row < sizes.probe; ++row) {
          uint32_t const found = keys.build_row[row];
          if (found != kNone) keys.probe[row] = keys.build[found];
        }
        for (Match const match : {Match::kDirectTable, Match::kGlobalTable}) {
          expect_table(expect_rows(queue(), match, keys, {{4, 4}, {4}}), Match::kGlobalTable);
          expect_table(expect_rows(queue(), match, keys, {{2}, {8}}), Match::kGlobalTable);
        }
        if (HasFailure()) return;
      }
    }
  }
}

TEST_F(TableColumns, OfRepeatedKeysAreLeftToOthers) {
  for (Sizes const& sizes : paths()) {
    for (int32_t const key_width : {4, 8}) {
      for (KeySeries const& series :
           {KeySeries{"dense", 100, 1, 2 * uint64_t{sizes.build}},
            KeySeries{"scattered", 100, 0x9e3779b1, 2 * uint64_t{sizes.build}}}) {
        for (double const match_ratio : {0.0, 0.5}) {
          SCOPED_TRACE(trace_of(series, sizes, key_width));
          KeyPair keys(series, sizes, key_width, match_ratio, 4);
          // One key twice, far from each other.
          keys.build.back() = keys.build.front();
          // Rows in slots, a lone value, and rows that are named.
          for (std::vector<int32_t> const& widths :
               {std::vector{4}, std::vector<int32_t>{}, std::vector{16}}) {
            for (Match const match : {Match::kDirectTable, Match::kGlobalTable}) {
              EXPECT_FALSE(expect_rows(queue(), match, keys, {widths, {8}}).has_value());
            }
          }
          std::fill(keys.build.begin(), keys.build.end(), keys.build.front());
          for (Match const match : {Match::kDirectTable, Match::kGlobalTable}) {
            EXPECT_FALSE(expect_rows(queue(), match, keys, {{4}, {8}}).has_value());
          }
          if (HasFailure()) return;
        }
      }
    }
  }
}

// The most rows that have slots of 16 bytes, half of which are taken, and one row more, whose rows
// are named.
TEST_F(TableColumns, OfTheMostRowsInSlotsAndOfMore) {
  constexpr uint32_t kMost = 1U << 20;
  for (uint32_t const rows : {kMost, kMost + 1}) {
    ASSERT_EQ(base::traffic::fits_row_slots(rows), rows == kMost);
    Sizes const sizes = {rows, kSmall};
    for (int32_t const key_width : {4, 8}) {
      uint64_t const scatter = key_width == 4 ? 0x9e3779b1 : 0x9e3779b97f4a7c15;
      KeySeries const series = {"scattered", 5, scatter, 3 * uint64_t{rows}};
      SCOPED_TRACE(trace_of(series, sizes, key_width));
      KeyPair const keys(series, sizes, key_width, 0.7, 5);
      expect_table(expect_rows(queue(), Match::kGlobalTable, keys, {{4}, {4}}),
                   Match::kGlobalTable);
    }
  }
}

// Values of up to 8 bytes in any order: a slot has room for a key of 4 bytes and these in both.
TEST_F(TableColumns, OfMixedWidthsLieInSlotsInAnyOrder) {
  Sizes const sizes = {kNotFew, kSmall};
  for (int32_t const key_width : {4, 8}) {
    uint64_t const scatter = key_width == 4 ? 0x9e3779b1 : 0x9e3779b97f4a7c15;
    KeyPair const keys({"scattered", 5, scatter, 3 * kNotFew}, sizes, key_width, 0.8, 6);
    for (std::vector<int32_t> const& widths :
         {std::vector{8, 4}, std::vector{4, 8}, std::vector{4, 4, 4}, std::vector{8, 8},
          std::vector{4, 2}, std::vector{8}, std::vector{1}, std::vector{2, 8},
          std::vector{1, 4, 2}, std::vector{1, 8, 2, 1}, std::vector{2, 2, 2, 2, 2}}) {
      for (bool const numbers : {false, true}) {
        SCOPED_TRACE(std::to_string(key_width) + ": " + ::testing::PrintToString(widths));
        expect_table(expect_rows(queue(), Match::kGlobalTable, keys, {widths, {4}, numbers}),
                     Match::kGlobalTable);
      }
    }
  }
}

// Values of up to 8 bytes of the build side lie side by side, where all fit 16 bytes; others apart.
TEST_F(TableColumns, HaveEveryWidth) {
  std::vector<Columns> const selections = {{{}, {}},
                                           {{4}, {4}},
                                           {{4, 4}, {4}},
                                           {{4, 4, 4}, {}},
                                           {{4, 4, 4, 4}, {4, 4}},
                                           {{4, 4, 4, 4, 4}, {4}},
                                           {{8}, {8}},
                                           {{8, 8}, {}},
                                           {{8, 4}, {4}},
                                           {{4, 8}, {8}},
                                           {{1}, {2}},
                                           {{}, {1}},
                                           {{16}, {16, 16}},
                                           {{4, 16}, {}},
                                           {{1, 1, 1}, {1}},
                                           {{1, 2}, {}},
                                           {{2, 4, 1}, {4}},
                                           {{1, 8, 2, 1}, {2}},
                                           {{1, 2, 4, 8, 16}, {16, 8, 4, 2, 1}}};
  for (Sizes const& sizes : paths()) {
    for (int32_t const key_width : {4, 8}) {
      KeySeries const series{"with gaps", 50, 2, 2 * uint64_t{sizes.build}};
      KeyPair const keys(series, sizes, key_width, 0.6, 5);
      for (Columns columns : selections) {
        for (bool const numbers : {false, true}) {
          columns.build_numbers = numbers;
          SCOPED_TRACE(trace_of(series, sizes, key_width) + ", " +
                       std::to_string(columns.build.size()) + " and " +
                       std::to_string(columns.probe.size()) + " payloads" +
                       (numbers ? " and the build row" : ""));
          expect_table(expect_rows(queue(), Match::kDirectTable, keys, columns),
                       Match::kDirectTable);
          if (key_width == 4 || numbers) {
            expect_table(expect_rows(queue(), Match::kGlobalTable, keys, columns),
                         Match::kGlobalTable);
          }
          if (HasFailure()) return;
        }
      }
      // Row numbers that are not the rows' places.
      for (Columns columns : {Columns{{}, {}}, Columns{{4}, {8}}}) {
        columns.gives_numbers = true;
        for (Match const match : {Match::kDirectTable, Match::kGlobalTable}) {
          expect_table(expect_rows(queue(), match, keys, columns), match);
        }
      }
    }
  }
}

// Whether rows lie as their places do, nearly so, or, other than the plan says, in no order.
TEST_F(TableColumns, OfNeighboursAreAskedAsAWhole) {
  std::vector<Columns> const selections = {{{4}, {4}}, {{4, 4}, {4}},  {{8, 4}, {8}},
                                           {{}, {}},   {{1, 16}, {2}}, {{4, 4, 4, 4, 4}, {}}};
  size_t turn = 0;
  for (Sizes const& sizes : {Sizes{kSmall, 1000}, Sizes{5'000'011, 1'000'017}}) {
    uint64_t const rows = sizes.build;
    for (KeySeries const& series :
         {KeySeries{"full", 0, 1, rows}, KeySeries{"below zero", 0 - rows, 1, rows},
          KeySeries{"across zero in steps of 4", 0 - 2 * rows, 4, rows},
          KeySeries{"with gaps", 7, 1, 2 * rows}}) {
      for (size_t const block : {size_t{0}, size_t{1}, size_t{1000}}) {
        int32_t const key_width = turn % 2 == 0 ? 4 : 8;
        KeyPair keys(series, sizes, key_width, 0.9, 3);
        if (block != 0) keys.lie_in_order(block);
        Columns columns = selections[turn++ % selections.size()];
        SCOPED_TRACE(trace_of(series, sizes, key_width) + ", blocks of " + std::to_string(block) +
                     ", " + std::to_string(columns.build.size()) + " payloads");
        for (PlacesOfNeighbours const neighbours : kAllNeighbours) {
          columns.neighbours = neighbours;
          for (bool const rows_stay : {false, true}) {
            columns.rows_stay = rows_stay;
            expect_table(expect_rows(queue(), Match::kDirectTable, keys, columns),
                         Match::kDirectTable);
          }
        }
        if (HasFailure()) return;
      }
    }
  }
}

TEST_F(TableColumns, OfNeighboursThatRepeatAreNone) {
  for (uint32_t const twice : {0U, 31U, 32U, 70'000U}) {
    KeyPair keys({"full", 9, 1, kSmall}, {kSmall, 5000}, 4, 1, 1);
    keys.lie_in_order(1);
    // In its own word, and in the one before.
    keys.build[twice + 1] = keys.build[twice];
    Columns columns{{4}, {4}};
    for (PlacesOfNeighbours const neighbours : kAllNeighbours) {
      columns.neighbours = neighbours;
      EXPECT_FALSE(expect_rows(queue(), Match::kDirectTable, keys, columns).has_value()) << twice;
    }
  }
}

// Of more slices than a tile's rows are written to at a time. Rows lie near each other, so that
// slices find them where they lie; in longer blocks, so that they go through buckets; and, other
// than the plan says, in no order, so that a tile has rows of all slices.
TEST_F(TableColumns, OfNeighboursInManySlices) {
  Sizes const sizes{8'000'003, 500'009};
  KeySeries const series{"with gaps", 0 - uint64_t{sizes.build}, 1, 2 * uint64_t{sizes.build}};
  for (size_t const block : {1000U, 300'000U, 0U}) {
    for (int32_t const key_width : {4, 8}) {
      KeyPair keys(series, sizes, key_width, 0.9, 5);
      if (block != 0) keys.lie_in_order(block);
      Columns columns{{8, 4, 4}, {4}};
      columns.build_numbers = false;
      columns.neighbours = PlacesOfNeighbours::kInFewSlices;
      SCOPED_TRACE(trace_of(series, sizes, key_width) + ", blocks of " + std::to_string(block));
      expect_table(expect_rows(queue(), Match::kDirectTable, keys, columns), Match::kDirectTable);
      if (HasFailure()) return;
    }
  }
}

std::string words_of(const std::vector<int32_t>& widths) {
  std::string words;
  for (int32_t const width : widths) words += " " + std::to_string(width);
  return words;
}

// Of words, of values of 8 and 16 bytes, and of row numbers; also where vectors cannot be loaded of
// their columns.
TEST_F(TableColumns, OfNeighboursHaveRowsOfEveryWidth) {
  std::vector<std::vector<int32_t>> const selections = {
      {},     {4},    {4, 4}, {8},    {16},      {4, 4, 4}, {4, 4, 4, 4},
      {8, 4}, {4, 8}, {8, 8}, {1, 1}, {2, 1, 4}, {1, 8}};
  Sizes const sizes{1'100'003, 600'007};
  uint64_t const places = sizes.build + sizes.build / 10;
  for (int32_t const key_width : {4, 8}) {
    KeySeries const series{"with gaps", 0 - places / 2, 4, places};
    KeyPair keys(series, sizes, key_width, 0.9, 7);
    keys.lie_in_order(key_width == 4 ? 1000 : 9000);
    for (std::vector<int32_t> const& build : selections) {
      for (bool const numbers : {false, true}) {
        if (build.empty() && !numbers) continue;
        for (size_t const rows_before : {0U, 1U}) {
          Columns columns{build, {4}};
          columns.build_numbers = numbers;
          columns.rows_before = rows_before;
          columns.neighbours = PlacesOfNeighbours::kInFewSlices;
          SCOPED_TRACE(trace_of(series, sizes, key_width) + ", widths" + words_of(build) +
                       (numbers ? " and the build row" : "") + ", rows before " +
                       std::to_string(rows_before));
          expect_table(expect_rows(queue(), Match::kDirectTable, keys, columns),
                       Match::kDirectTable);
          if (HasFailure()) return;
        }
      }
    }
  }
}

// More probe rows than one launch looks up by itself, of which nearly all or few match: they are
// asked in turn.
TEST_F(TableColumns, OfNeighboursAreAskedInTurn) {
  std::vector<Columns> const selections = {{{4}, {4}}, {{4, 4}, {4}}, {{8, 4}, {8}}, {{1}, {2}}};
  Sizes const sizes{1'200'007, 2'100'077};
  for (int32_t const key_width : {4, 8}) {
    for (double const match : {0.95, 0.3}) {
      KeySeries const series{"with gaps", 0 - uint64_t{sizes.build}, 1, 2 * uint64_t{sizes.build}};
      KeyPair keys(series, sizes, key_width, match, 11);
      keys.lie_in_order(9000);
      for (Columns columns : selections) {
        columns.build_numbers = columns.build.size() == 1;
        for (PlacesOfNeighbours const neighbours : kAllNeighbours) {
          columns.neighbours = neighbours;
          SCOPED_TRACE(trace_of(series, sizes, key_width) + ", widths" + words_of(columns.build) +
                       ", match " + std::to_string(match));
          expect_table(expect_rows(queue(), Match::kDirectTable, keys, columns),
                       Match::kDirectTable);
          if (HasFailure()) return;
        }
      }
    }
  }
}

// In one tile, in tiles next to each other, some slices apart, and in the first and the last one,
// which is then too wide to be read where it lies. Tiles of neighbours have 1.4 slices of 132.
TEST_F(TableColumns, OfManyNeighboursThatRepeatAreNone) {
  constexpr uint32_t kRows = 3'000'011;
  for (size_t const block : {1U, 1000U, 400'000U}) {
    KeyPair keys({"with gaps", 9, 1, kRows + 5000}, {kRows, 70'000}, 4, 1, 1);
    keys.lie_in_order(block);
    for (auto const& [one, other] : {std::pair{100U, 7000U},
                                     {kernels::kNearTile - 1, kernels::kNearTile},
                                     {100U, 300'000U},
                                     {0U, kRows - 1}}) {
      uint64_t const own = std::exchange(keys.build[one], keys.build[other]);
      Columns columns{{4, 4}, {4}};
      columns.build_numbers = false;
      for (PlacesOfNeighbours const neighbours : kAllNeighbours) {
        columns.neighbours = neighbours;
        EXPECT_FALSE(expect_rows(queue(), Match::kDirectTable, keys, columns).has_value())
            << one << " and " << other << ", blocks of " << block;
      }
      keys.build[one] = own;
    }
  }
}

// At the edges of a warp's batch, of one block, and of what one launch does.
TEST_F(TableColumns, OfAnyNumberOfRows) {
  constexpr uint32_t kBlock = kernels::kSmallTableBlockRows;
  std::vector<Sizes> sizes = {{1, 1},
                              {1, kernels::kSmallProbeRows},
                              {1, kernels::kSmallProbeRows + 1},
                              {kernels::kSmallBuildRows, kSmall},
                              {kernels::kSmallBuildRows + 1, kSmall},
                              {1000, kBlock - 1},
                              {1000, kBlock},
                              {1000, kBlock + 1},
                              {kBlock - 1, 300},
                              {kBlock, 300},
                              {kBlock + 1, 300},
                              {kSmall / 2, kSmall / 2 - 1},
                              {kSmall / 2, kSmall / 2},
                              {kSmall / 2, kSmall / 2 + 1},
                              {kSmall, 1},
                              {kSmall - 1, 1}};
  for (uint32_t const rows :
       {31, 32, 33, 63, 64, 65, 127, 128, 129, 255, 256, 257, 2047, 2048, 2049}) {
    sizes.push_back({1, rows});
    sizes.push_back({rows, rows});
  }
  // Batches of the launch for each step.
  for (uint32_t const rows : {64, 65, 128, 129, 1025}) sizes.push_back({kSmall, rows});
  for (Sizes const& size : sizes) {
    KeySeries const series{"full", 9, 1, size.build};
    for (int32_t const key_width : {4, 8}) {
      SCOPED_TRACE(trace_of(series, size, key_width));
      KeyPair const keys(series, size, key_width, 0.8, size.probe);
      // Batches of words are of 128 rows, of other widths 64.
      for (Columns const& columns : {Columns{{4}, {4}}, Columns{{2}, {8}}}) {
        expect_table(expect_rows(queue(), Match::kDirectTable, keys, columns), Match::kDirectTable);
        expect_table(expect_rows(queue(), Match::kGlobalTable, keys, columns), Match::kGlobalTable);
      }
      if (HasFailure()) return;
    }
  }
}

TEST_F(TableColumns, OfAnEmptySideAreNone) {
  for (Match const match : {Match::kDirectTable, Match::kGlobalTable}) {
    KeyPair keys({"full", 0, 1, 5}, {5, 5}, 4, 1, 1);
    keys.probe.clear();
    keys.build_row.clear();
    keys.matches = 0;
    expect_table(expect_rows(queue(), match, keys, {{4}, {4}}), match);
    keys.build.clear();
    keys.probe = {1, 2, 3};
    keys.build_row.assign(3, kNone);
    expect_table(expect_rows(queue(), match, keys, {{4}, {4}}), match);
  }
}

// Where few rows are expected, what is found waits in a buffer of its warp for a whole batch, and
// the rest of it is written at the end. Else it is written as it is found, be it much or little.
TEST_F(TableColumns, OfFewMatchesAndOfMany) {
  Sizes const sizes{kNotFew, 2 * kSmall + 77};
  for (double const ratio : {0.0, 0.0001, 0.01, 0.3, 0.5, 0.99, 1.0}) {
    for (int32_t const key_width : {4, 8}) {
      SCOPED_TRACE(std::to_string(ratio) + " of the probe rows match");
      KeyPair const keys({"full", 0, 2, sizes.build}, sizes, key_width, ratio, 6);
      for (Match const match : {Match::kDirectTable, Match::kGlobalTable}) {
        expect_table(expect_rows(queue(), match, keys, {{4, 4}, {4}}), match);
        expect_table(expect_rows(queue(), match, keys, {{8}, {1}}), match);
        for (uint64_t const expected : {sizes.probe, sizes.probe / 100}) {
          expect_table(expect_rows(queue(), match, keys, {{4}, {4}}, expected), match);
          expect_table(expect_rows(queue(), match, keys, {{8, 8}, {2}}, expected), match);
        }
      }
      if (HasFailure()) return;
    }
  }
}

TEST_F(TableColumns, OfATableInSlices) {
  constexpr uint32_t kPlaces = uint32_t{kernels::kDirectSliceBytes} / 16;  // of 16 bytes
  struct Slices {
    uint32_t build;
    uint64_t places;
    std::vector<int32_t> widths;
  };
  for (Slices const& slices : {Slices{kPlaces, kPlaces, {8, 8}},             // one
                               Slices{kPlaces + 1, kPlaces + 1, {8, 8}},     // two, one place more
                               Slices{2 * kPlaces, 2 * kPlaces, {4, 4, 4}},  // two
                               Slices{2 * kPlaces + 5, 3 * kPlaces - 7, {16}},
                               Slices{kPlaces, 4 * kPlaces, {8, 4}},  // four, three in four empty
                               Slices{4 * kPlaces + 33, 4 * kPlaces + 33, {4}}}) {
    for (auto const& [key_width, probe_rows] :
         {std::pair(4, kSmall), std::pair(4, 300'001U), std::pair(8, kSmall)}) {
      Sizes const sizes{slices.build, probe_rows};
      for (double const ratio : {1.0, 0.4}) {
        KeySeries const series{"slices", 0 - uint64_t{kPlaces}, 1, slices.places};
        SCOPED_TRACE(trace_of(series, sizes, key_width));
        Columns columns{slices.widths, {4}};
        columns.build_numbers = false;
        expect_table(expect_rows(queue(), Match::kDirectTable,
                                 KeyPair(series, sizes, key_width, ratio, 7), columns),
                     Match::kDirectTable);
        if (HasFailure()) return;
      }
    }
  }
  // Of one key twice, in the last slice.
  KeyPair keys({"slices", 0, 1, 3 * kPlaces}, {2 * kPlaces, 1000}, 4, 0.5, 8);
  auto const last = std::max_element(keys.build.begin(), keys.build.end());
  keys.build[last == keys.build.begin() ? 1 : 0] = *last;
  EXPECT_FALSE(expect_rows(queue(), Match::kDirectTable, keys, {{16}, {4}}).has_value());
}

// At the edges of what one launch places, and of what goes through buckets; of each width that
// those have, and of others.
TEST_F(TableColumns, OfAnyNumberOfBuildRows) {
  size_t turn = 0;
  std::vector<std::vector<int32_t>> const widths = {{4}, {8}, {16}, {4, 4}, {8, 4, 4}, {2}, {}};
  for (uint32_t const build : {1U, 31U, 1025U, 131'072U, 131'073U, 262'143U, 262'144U, 700'001U}) {
    for (int32_t const key_width : {4, 8}) {
      for (std::vector<int32_t> const& of_build : widths) {
        bool const is_full = turn++ % 2 == 0;
        KeySeries const series{"in a row", 0 - uint64_t{build}, 4,
                               is_full ? uint64_t{build} : 2 * uint64_t{build}};
        Sizes const sizes{build, 5000};
        SCOPED_TRACE(trace_of(series, sizes, key_width));
        KeyPair keys(series, sizes, key_width, 0.8, 5);
        Columns columns{of_build, {4}};
        columns.build_numbers = of_build.empty();
        columns.has_table = true;
        expect_table(expect_rows(queue(), Match::kDirectTable, keys, columns), Match::kDirectTable);
        if (build < 31) continue;
        // One key twice, and, of more rows than their slice has places, many.
        keys.build[build / 2] = keys.build[build / 2 + 1];
        EXPECT_FALSE(expect_rows(queue(), Match::kDirectTable, keys, columns).has_value());
        std::fill(keys.build.begin() + 2, keys.build.begin() + build / 2, keys.build[1]);
        EXPECT_FALSE(expect_rows(queue(), Match::kDirectTable, keys, columns).has_value());
        if (HasFailure()) return;
      }
    }
  }
}

// Values of one column of 4 bytes, of as many places as a block's shared memory holds, of more, of
// which the last are read where they are, and of so many that all are.
TEST_F(TableColumns, OfFewPlacesAreInSharedMemory) {
  constexpr uint32_t kProbeRows = (1U << 22) + 37;
  for (uint32_t const build : {1U, 33U, 50'000U, 60'000U, 66'000U, 100'000U}) {
    for (auto const& [key_width, is_full] :
         {std::pair(4, true), std::pair(4, false), std::pair(8, true), std::pair(8, false)}) {
      KeySeries const series{"in a row", 0 - uint64_t{build}, 4,
                             is_full ? uint64_t{build} : uint64_t{build} + build / 7 + 1};
      Sizes const sizes{build, kProbeRows};
      SCOPED_TRACE(trace_of(series, sizes, key_width));
      KeyPair keys(series, sizes, key_width, key_width == 4 ? 1.0 : 0.8, 9);
      Columns const columns{{4}, {is_full ? 4 : 8}, false};
      expect_table(expect_rows(queue(), Match::kDirectTable, keys, columns), Match::kDirectTable);
      if (build == 1) continue;
      keys.build[0] = keys.build[1];
      EXPECT_FALSE(expect_rows(queue(), Match::kDirectTable, keys, columns).has_value());
      if (HasFailure()) return;
    }
  }
}

TEST_F(TableColumns, OfFewPlacesAreLookedUp) {
  for (uint32_t const build_rows : {50'000U, 60'000U, 100'000U}) {
    for (double const ratio : {1.0, 0.999}) {
      KeySeries const series{"in a row", 77, 1, build_rows};
      Sizes const sizes{build_rows, (1U << 22) + 37};
      SCOPED_TRACE(trace_of(series, sizes, 4));
      KeyPair const keys(series, sizes, 4, ratio, 3);
      Side build(queue(), CarriedFrom::kBuild, keys.build, 4, {4});
      Side const probe(queue(), CarriedFrom::kProbe, keys.probe, 4, {});
      std::vector<CarriedOutput> outputs;
      build.add_outputs(false, &outputs);
      auto const table = match::make_table(queue(), plan_of(Match::kDirectTable, keys.matches), 4,
                                           build.side(), {{outputs[0].source, 4}});
      ASSERT_NE(table, nullptr);
      auto const written = table->look_up(queue(), probe.side(), outputs);
      EXPECT_EQ(written.has_value(), ratio == 1.0);
      if (written) {
        build.expect_payloads({keys.build_row.begin(), keys.build_row.end()});
      } else {
        EXPECT_TRUE(build.nothing_written());
      }
    }
  }
}

// More rows than blocks have spare places for, be there as many of them as may run at a time.
TEST_F(TableColumns, AreLaunchedOnceMoreWhenMoreRowsCameThanExpected) {
  uint32_t const blocks = static_cast<uint32_t>(queue().context.facts.sm_count) * 2048U /
                          static_cast<uint32_t>(kernels::kTableThreads);
  Sizes const sizes{50000, blocks * kernels::kCarriedChunk / 4 * 5};
  KeyPair const keys({"with gaps", 3, 1, 100000}, sizes, 4, 1, 9);
  for (Match const match : {Match::kDirectTable, Match::kGlobalTable}) {
    auto const short_of_room = expect_rows(queue(), match, keys, {{4}, {}}, 1);
    expect_table(short_of_room, match);
    if (HasFailure()) return;
    EXPECT_EQ(short_of_room->launches, 2);
    auto const with_room = expect_rows(queue(), match, keys, {{4}, {}});
    expect_table(with_room, match);
    if (HasFailure()) return;
    EXPECT_EQ(with_room->launches, 1);
  }
}

// What is left is left whole; few rows, and dense ones, are joined all the same.
TEST_F(TableColumns, LeaveScatteredKeysToAnother) {
  Columns columns = {{4}, {8}};
  columns.leaves_scattered = true;
  columns.why_not = Finding::kKeysScattered;
  for (int32_t const width : {4, 8}) {
    KeyPair const far({"far", 5, 16, 6 * kNotFew}, {kNotFew, kSmall}, width, 0.5, 3);
    EXPECT_FALSE(expect_rows(queue(), Match::kDirectTable, far, columns).has_value());
    auto const hashed = expect_rows(queue(), Match::kGlobalTable, far, columns);
    ASSERT_TRUE(hashed.has_value());
    EXPECT_EQ(hashed->table, Match::kGlobalTable);
    KeyPair const few({"few", 5, 16, 600'000}, {1000, 70'000}, width, 0.5, 3);
    auto const in_one_launch = expect_rows(queue(), Match::kDirectTable, few, columns);
    ASSERT_TRUE(in_one_launch.has_value());
    EXPECT_EQ(in_one_launch->table, Match::kGlobalTable);
    KeyPair const dense({"dense", 5, 16, kNotFew + 200}, {kNotFew, kSmall}, width, 0.5, 3);
    auto const placed = expect_rows(queue(), Match::kDirectTable, dense, columns);
    ASSERT_TRUE(placed.has_value());
    EXPECT_EQ(placed->table, Match::kDirectTable);
    if (HasFailure()) return;
  }
}

TEST_F(TableColumns, AreNoMoreThanALaunchHasRoomFor) {
  KeyPair const keys({"full", 0, 1, 100}, {100, 100}, 4, 1, 1);
  columns::DeviceColumn const column = place(queue(), key_column(keys.build, 4));
  columns::Storage target;
  std::vector<CarriedOutput> const outputs(kernels::kCarriedColumns + 1,
                                           {column.data, 4, CarriedFrom::kProbe, &target});
  EXPECT_EQ(status_of([&] {
              Written written;
              join(queue(), plan_of(Match::kDirectTable, 1), 4, {column.data, 100},
                   {column.data, 100}, outputs, &written);
            }),
            GPUJOIN_ERROR_INTERNAL);
}

// With less and less memory: done, or MEMORY_LIMIT with nothing left in use.
TEST_F(TableColumns, EndWithMemoryLimitAndReturnEverything) {
  int done = 0;
  int refused = 0;
  for (Sizes const& sizes : {Sizes{20000, 1'000'000}, Sizes{kNotFew, kSmall}}) {
    KeyPair const keys({"with gaps", 0, 1, 2 * sizes.build}, sizes, 4, 0.9, 10);
    for (Match const match : {Match::kDirectTable, Match::kGlobalTable}) {
      for (uint64_t const limit : {512U << 20, 64U << 20, 32U << 20, 16U << 20}) {
        auto const limited = limited_queue(limit);
        uint64_t const in_use = limited->device_pool->in_use_bytes();
        gpujoin_status const status = status_of([&] {
          expect_rows(*limited, match, keys, {{4}, {8}});
        });
        EXPECT_TRUE(status == GPUJOIN_OK || status == GPUJOIN_ERROR_MEMORY_LIMIT) << status;
        (status == GPUJOIN_OK ? done : refused) += 1;
        EXPECT_EQ(limited->device_pool->in_use_bytes(), in_use) << limit;
        base::finish(*limited);
      }
    }
  }
  EXPECT_GE(done, 4);
  EXPECT_GE(refused, 4);
}

// Whole joins: what a plan of one of the tables answers, and what it says it did.
class TablePlans : public GpuTest {
 protected:
  // The right side is built on: the reference keeps that one in a map. Answers the technique of the
  // match.
  std::string expect_join(gpujoin_algorithm algorithm, const RelationShape& probe,
                          const RelationShape& build, bool by_pairs = false,
                          gpujoin_filter filter = GPUJOIN_FILTER_NONE) {
    gpujoin_plan_options options = GPUJOIN_PLAN_OPTIONS_INIT;
    options.algorithm = algorithm;
    options.filter = filter;
    options.build_side = GPUJOIN_SIDE_RIGHT;
    columns::JoinSpec spec;
    spec.pairs = spec.materialize = true;
    spec.left_columns = {1, 3, 0, 5};
    spec.right_columns = {4, 2, 0};
    HostRelation const left = random_relation(probe, 21);
    HostRelation const right = random_relation(build, 22);
    auto const of_joins = open_queue(GPUJOIN_DEVICE_CUDA);
    auto const result = execute::execute(
        of_joins, execute::make_plan(of_joins, register_relation(of_joins, left, true),
                                     register_relation(of_joins, right, true), spec, options));
    EXPECT_TRUE(rows_of(of_joins, *result) == reference_join(left, right, spec));
    std::string technique;
    bool has_materialized = false;
    for (columns::StageStatistics const& stage : result->statistics.stages) {
      if (stage.stage == "match") technique += (technique.empty() ? "" : "; ") + stage.technique;
      has_materialized = has_materialized || stage.stage == "materialize";
    }
    EXPECT_EQ(has_materialized, by_pairs);
    return technique;
  }
};

// One block, all blocks at once, and a launch for each step.
const std::vector<size_t>& probe_sizes() {
  static const std::vector<size_t> all = {900, 60000, kMany};
  return all;
}

// Of more rows fewer match, for the sake of the reference.
RelationShape probe_shape(size_t rows, int32_t key_width, uint64_t stride, double nulls) {
  return {rows, key_width, std::max<uint64_t>(2000, rows + rows / 2), stride, nulls, nulls, 3};
}

RelationShape unique_shape(uint64_t places, int32_t key_width, uint64_t stride, double nulls) {
  RelationShape shape{1500, key_width, places, stride, nulls, nulls, 5};
  shape.unique_keys = true;
  return shape;
}

TEST_F(TablePlans, LeaveOutNullKeysAndFetchNullablePayloads) {
  for (size_t const rows : probe_sizes()) {
    for (double const nulls : {0.0, 0.2}) {
      SCOPED_TRACE(std::to_string(rows) + " probe rows, " + std::to_string(nulls) + " NULL");
      EXPECT_EQ(expect_join(GPUJOIN_ALGORITHM_DIRECT_CARRIED, probe_shape(rows, 4, 1, nulls),
                            unique_shape(3000, 4, 1, nulls)),
                "direct_table");
      EXPECT_EQ(expect_join(GPUJOIN_ALGORITHM_DIRECT_CARRIED, probe_shape(rows, 8, 8, nulls),
                            unique_shape(1500, 8, 8, nulls)),
                "direct_table");
      EXPECT_EQ(expect_join(GPUJOIN_ALGORITHM_NOP_CARRIED, probe_shape(rows, 8, 3, nulls),
                            unique_shape(3000, 8, 3, nulls)),
                "global_table");
      if (HasFailure()) return;
    }
  }
}

TEST_F(TablePlans, SayThatKeysAreTooFarApart) {
  for (size_t const rows : probe_sizes()) {
    bool const one_launch = rows < kMany;
    EXPECT_EQ(expect_join(GPUJOIN_ALGORITHM_DIRECT_CARRIED, probe_shape(rows, 4, 1, 0.1),
                          unique_shape(1'000'000, 4, 1, 0.1)),
              one_launch ? "global_table: the keys are too far apart for direct_table"
                         : "direct_table, in vain: keys are too far apart; global_table");
  }
}

// Nobody named the table, and stores are slow.
TEST_F(TablePlans, GoOnInPartitionsWhereThoseTakeLess) {
  // More than one launch joins, also without NULL keys.
  constexpr size_t kRows = size_t{kNotFew} / 4 * 5;
  constexpr size_t kProbeRows = size_t{kSmall} / 4 * 5;
  struct Case {
    int32_t key_width;
    double nulls;
    bool pairs;
    bool builds_left;
    uint64_t limit;
  };
  for (Case const& of :
       {Case{4, 0, false, false, 0}, Case{8, 0.1, false, false, 0}, Case{4, 0.1, true, true, 0},
        Case{8, 0, true, false, 0}, Case{4, 0, false, true, 1'000'000}}) {
    SCOPED_TRACE(std::to_string(of.key_width) + " bytes, " + std::to_string(of.nulls) + " NULL, " +
                 std::to_string(of.limit) + " at most");
    gpujoin_plan_options options = GPUJOIN_PLAN_OPTIONS_INIT;
    options.algorithm = GPUJOIN_ALGORITHM_DIRECT_CARRIED;
    options.build_side = of.builds_left ? GPUJOIN_SIDE_LEFT : GPUJOIN_SIDE_RIGHT;
    columns::JoinSpec spec;
    spec.pairs = of.pairs;
    spec.materialize = true;
    spec.left_columns = {0, 1, 4};
    spec.right_columns = {3, 2};
    for (uint64_t const places : {2 * kRows, 20 * kRows}) {
      RelationShape build = unique_shape(places, of.key_width, 1, of.nulls);
      build.rows = kRows;
      HostRelation const builds = random_relation(build, 21);
      HostRelation const probes =
          random_relation({kProbeRows, of.key_width, 2 * places, 1, of.nulls, of.nulls, 3}, 22);
      HostRelation const& left = of.builds_left ? builds : probes;
      HostRelation const& right = of.builds_left ? probes : builds;
      auto const of_joins = open_queue(GPUJOIN_DEVICE_CUDA);
      of_joins->context.facts.random_inserts_per_second = 1e8;
      of_joins->context.facts.l2_random_inserts_per_second = 1e8;
      execute::PlannedJoin join =
          execute::make_plan(of_joins, register_relation(of_joins, left, true),
                             register_relation(of_joins, right, true), spec, options);
      join.request.options.algorithm = GPUJOIN_ALGORITHM_AUTOMATIC;
      if (of.limit != 0) join.choice.memory_limit_bytes = of.limit;
      plan::Candidate const table = join.choice.attempts.front();
      join.choice.attempts =
          plan::attempts_of(table, {}, join.request, join.choice.sample, of_joins->context.facts,
                            join.choice.memory_limit_bytes);
      auto const result = execute::execute(of_joins, join);
      EXPECT_TRUE(rows_of(of_joins, *result) == reference_join(left, right, spec));
      std::string technique;
      for (columns::StageStatistics const& stage : result->statistics.stages) {
        if (stage.stage == "match") technique = stage.technique;
      }
      std::string const scattered = of.limit != 0 ? "global_table" : "co_partitions";
      EXPECT_EQ(technique, places < 4 * kRows ? "direct_table" : scattered);
      if (HasFailure()) return;
    }
  }
}

// Few rows by chains of a key's.
TEST_F(TablePlans, AnswerByPairsWhereKeysRepeat) {
  for (size_t const rows : probe_sizes()) {
    bool const by_pairs = rows == kMany;
    RelationShape repeated = unique_shape(1000, 4, 1, 0.1);
    repeated.unique_keys = false;
    for (gpujoin_algorithm const algorithm :
         {GPUJOIN_ALGORITHM_DIRECT_CARRIED, GPUJOIN_ALGORITHM_NOP_CARRIED}) {
      expect_join(algorithm, probe_shape(rows, 4, 1, 0.1), repeated, by_pairs);
    }
  }
}

// Build rows that no probe row asks for are left out of the table; the others keep their numbers.
TEST_F(TablePlans, FilterTheBuildSide) {
  for (size_t const rows : probe_sizes()) {
    for (double const nulls : {0.0, 0.2}) {
      for (gpujoin_algorithm const algorithm :
           {GPUJOIN_ALGORITHM_DIRECT_CARRIED, GPUJOIN_ALGORITHM_NOP_CARRIED}) {
        SCOPED_TRACE(std::to_string(rows) + " probe rows, " + std::to_string(nulls) + " NULL");
        for (gpujoin_filter const filter : {GPUJOIN_FILTER_KEY_BITS, GPUJOIN_FILTER_KEY_HASHES}) {
          expect_join(algorithm, probe_shape(rows, 4, 16, nulls), unique_shape(3000, 4, 4, nulls),
                      false, filter);
        }
        // One key in common at most, and keys that repeat.
        RelationShape repeated = unique_shape(1000, 4, 1, nulls);
        repeated.unique_keys = false;
        expect_join(algorithm, probe_shape(rows, 8, uint64_t{1} << 40, nulls),
                    unique_shape(1500, 8, 1, nulls), false, GPUJOIN_FILTER_KEY_BITS);
        expect_join(algorithm, probe_shape(rows, 4, 1, nulls), repeated,
                    rows == kMany && nulls == 0, GPUJOIN_FILTER_KEY_BITS);
      }
      if (HasFailure()) return;
    }
  }
}

TEST_F(TablePlans, OfOnlyNullKeysAreEmpty) {
  for (gpujoin_algorithm const algorithm :
       {GPUJOIN_ALGORITHM_DIRECT_CARRIED, GPUJOIN_ALGORITHM_NOP_CARRIED}) {
    expect_join(algorithm, probe_shape(900, 4, 1, 0), unique_shape(3000, 4, 1, 1));
    expect_join(algorithm, probe_shape(900, 4, 1, 1), unique_shape(3000, 4, 1, 0));
  }
}

}  // namespace
}  // namespace gpujoin::tests
