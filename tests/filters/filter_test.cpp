// filter_test.cpp: filters of keys of every type, tested with keys of every type that compares with
// them: no row with a match is dropped, and of others as few pass as the filter says.
#include <gtest/gtest.h>

#include <set>
#include <string>

#include "kernels/filters/xxh64.hpp"
#include "src/base/status.hpp"
#include "src/filters/make_filter.hpp"
#include "src/filters/split_block.hpp"
#include "src/filters/test_bits.hpp"
#include "src/filters/test_rows.hpp"
#include "tests/own_queue.hpp"
#include "tests/pieces/all_key_columns.hpp"

namespace gpujoin::tests {
namespace {

using filters::Filter;
using filters::Kind;
using filters::Wish;

OwnQueue cpu_queue(int32_t threads = 2) {
  gpujoin_context_options options = GPUJOIN_CONTEXT_OPTIONS_INIT;
  options.device = GPUJOIN_DEVICE_CPU;
  options.cpu_threads = threads;
  return OwnQueue(options);
}

// Rows of one relation, several times over.
class Rows : public filters::KeySource {
 public:
  Rows(std::vector<ColumnView> columns, int64_t rows, int times = 1)
      : columns_(std::move(columns)), rows_(rows), times_(times) {}
  int64_t rows() const override { return rows_ * times_; }
  void read(base::Queue&, const Body& body) const override {
    for (int i = 0; i < times_; ++i) body(columns_, rows_);
  }

 private:
  std::vector<ColumnView> columns_;
  int64_t rows_;
  int times_;
};

ColumnView without_data(ColumnView view) {
  view.data = nullptr;
  view.validity = nullptr;
  return view;
}

std::shared_ptr<const Filter> filter_of(base::Queue& queue, const ColumnView& column, int64_t rows,
                                        gpujoin_key_filter_kind kind, int32_t flags = 0,
                                        Wish wish = {}) {
  wish.kind = kind;
  return filters::make_filter(queue, {without_data(column)}, {flags}, wish, Rows({column}, rows));
}

std::vector<bool> passing(const Filter& filter, const std::vector<ColumnView>& columns,
                          int64_t rows) {
  std::vector<uint64_t> words(static_cast<size_t>(rows + 63) / 64, 0x5a5a5a5a5a5a5a5a);
  // In two steps: where rows begin is no matter.
  int64_t const half = rows / 2 / 64 * 64;
  filters::test_in_host(filter, columns, rows, 0, half, words.data());
  filters::test_in_host(filter, columns, rows, half, rows - half, words.data() + half / 64);
  std::vector<bool> made(words.size() * 64);
  for (size_t i = 0; i < made.size(); ++i) made[i] = (words[i / 64] >> (i % 64) & 1) != 0;
  for (size_t i = static_cast<size_t>(rows); i < made.size(); ++i) EXPECT_FALSE(made[i]) << i;
  made.resize(static_cast<size_t>(rows));
  return made;
}

// Of a column the first half of its values, or all.
int64_t built_rows(const KeyColumn& column) { return (column.rows() + 1) / 2; }

TEST(KeyFilter, OfEveryTypeDropsNoRowWithAMatch) {
  OwnQueue const queue = cpu_queue();
  int64_t tested = 0, absent = 0, passed = 0;
  for (const KeyColumn& built : all_columns()) {
    bool const has_positions =
        filters::position_unit(built.view).kind != filters::PositionUnit::Kind::kNone;
    std::set<std::string> const texts(built.texts.begin(), built.texts.begin() + built_rows(built));
    for (gpujoin_key_filter_kind kind :
         {GPUJOIN_KEY_FILTER_AUTOMATIC, GPUJOIN_KEY_FILTER_BLOOM, GPUJOIN_KEY_FILTER_MIN_MAX}) {
      SCOPED_TRACE(built.view.arrow_format + " kind " + std::to_string(kind));
      std::shared_ptr<const Filter> filter;
      try {
        filter = filter_of(*queue, built.view, built_rows(built), kind);
      } catch (const base::Error& error) {
        ASSERT_EQ(error.status(), GPUJOIN_ERROR_UNSUPPORTED);
        ASSERT_EQ(kind, GPUJOIN_KEY_FILTER_MIN_MAX);
        EXPECT_TRUE(!has_positions || built.view.width >= 8) << error.what();
        continue;
      }
      EXPECT_EQ(filter->rows, built_rows(built));
      bool const is_null = built.view.layout == Layout::kNulls;
      EXPECT_NEAR(static_cast<double>(filter->distinct),
                  is_null ? 0 : static_cast<double>(texts.size()),
                  0.08 * static_cast<double>(texts.size()));
      for (const KeyColumn& probe : all_columns()) {
        if (!keys::compare_by(built.view, probe.view, 0)) continue;
        auto const passes = passing(*filter, {probe.view}, probe.rows());
        bool const has_null = is_null || probe.view.layout == Layout::kNulls;
        for (size_t row = 0; row < passes.size(); ++row) {
          bool const matches = !has_null && texts.contains(probe.texts[row]);
          if (has_null && filter->kind != Kind::kNone) {
            ASSERT_FALSE(passes[row]);
          } else if (matches) {
            ASSERT_TRUE(passes[row])
                << probe.view.arrow_format << " row " << row << ": " << probe.texts[row];
          } else if (filter->kind == Kind::kBitmap) {
            ASSERT_FALSE(passes[row]) << probe.view.arrow_format << ": " << probe.texts[row];
          } else if (filter->kind == Kind::kBloom) {
            ++absent;
            passed += passes[row] ? 1 : 0;
          }
          ++tested;
        }
      }
    }
  }
  EXPECT_GT(tested, 1000000);
  EXPECT_LT(static_cast<double>(passed), 0.02 * static_cast<double>(absent));
}

TEST(KeyFilter, SaysTheLowestAndTheHighestValue) {
  OwnQueue const queue = cpu_queue();
  std::vector<int32_t> const values = {5, -7, 100, 3};
  KeyColumn column("i");
  for (int32_t value : values) column.add(std::to_string(value), &value, 4);
  column.set_null(2);
  auto const filter = filter_of(*queue, column.finished(), 4, GPUJOIN_KEY_FILTER_AUTOMATIC);
  EXPECT_EQ(filter->kind, Kind::kBitmap);
  EXPECT_TRUE(filter->has_null);
  EXPECT_FALSE(filter->passes_null);
  EXPECT_EQ(filter->distinct, 3);
  EXPECT_TRUE(filter->distinct_is_exact);
  int32_t lowest = 0, highest = 0;
  ASSERT_EQ(filter->lowest.size(), 4U);
  std::memcpy(&lowest, filter->lowest.data(), 4);
  std::memcpy(&highest, filter->highest.data(), 4);
  EXPECT_EQ(lowest, -7);
  EXPECT_EQ(highest, 5);
  EXPECT_EQ(filter->first_position, -7);
  EXPECT_EQ(filter->last_position, 5);
  KeyColumn texts("u");
  for (const char* value : {"beta", "Zeta", "\xc3\xa4", "alpha"}) {
    texts.add(value, value, std::strlen(value));
  }
  auto const of_text = filter_of(*queue, texts.finished(), 4, GPUJOIN_KEY_FILTER_AUTOMATIC);
  EXPECT_EQ(of_text->lowest, "Zeta");
  EXPECT_EQ(of_text->highest, "\xc3\xa4");
  KeyColumn floats("g");
  for (double value : {3.5, -0.0, std::nan("")}) floats.add("", &value, 8);
  auto const of_floats = filter_of(*queue, floats.finished(), 3, GPUJOIN_KEY_FILTER_BLOOM);
  double zero = 1;
  std::memcpy(&zero, of_floats->lowest.data(), 8);
  EXPECT_TRUE(zero == 0 && !std::signbit(zero));
}

TEST(KeyFilter, NullsPassWhereTheyAreEqual) {
  OwnQueue const queue = cpu_queue();
  for (bool const build_has : {false, true}) {
    for (int32_t const flags : {0, GPUJOIN_KEY_NULL_EQUAL}) {
      for (gpujoin_key_filter_kind kind : {GPUJOIN_KEY_FILTER_BITMAP, GPUJOIN_KEY_FILTER_BLOOM}) {
        KeyColumn column("l");
        for (int64_t value = 0; value < 100; value += 3) column.add("", &value, 8);
        if (build_has) column.set_null(5);
        auto const filter = filter_of(*queue, column.finished(), column.rows(), kind, flags);
        KeyColumn probe("i");
        for (int32_t value = 0; value < 100; ++value) probe.add("", &value, 4);
        probe.set_null(0);
        probe.set_null(15);
        probe.set_null(77);
        auto const passes = passing(*filter, {probe.finished()}, probe.rows());
        for (size_t row : {size_t{0}, size_t{15}, size_t{77}}) {
          EXPECT_EQ(passes[row], build_has && flags != 0) << row;
        }
        EXPECT_TRUE(passes[3]);
        EXPECT_EQ(filter->has_null, build_has);
      }
    }
  }
}

TEST(KeyFilter, OfSeveralKeysIsOfThemTogether) {
  OwnQueue const queue = cpu_queue();
  for (int32_t const flags : {0, GPUJOIN_KEY_NULL_EQUAL}) {
    KeyColumn first("i"), second("u"), other("l"), text("U");
    std::set<std::pair<int32_t, std::string>> pairs;
    std::mt19937_64 random(3);
    for (int i = 0; i < 5000; ++i) {
      auto const number = static_cast<int32_t>(random() % 1000);
      std::string const word = "word " + std::to_string(random() % 1000);
      bool const is_built = i < 2500;
      bool const has_null = i % 10 == 0;
      int64_t const wide = number;
      if (is_built) {
        first.add("", &number, 4);
        second.add("", word.data(), word.size());
        pairs.emplace(number, has_null ? "NULL" : word);
      }
      other.add("", &wide, 8);
      text.add("", word.data(), word.size());
      other.texts.back() = has_null ? "NULL" : word;
    }
    for (size_t row = 0; row < other.texts.size(); row += 10) text.set_null(row);
    for (size_t row = 0; row < first.texts.size(); row += 10) second.set_null(row);
    auto const filter = filters::make_filter(
        *queue, {without_data(first.view), without_data(second.view)}, {0, flags}, {},
        Rows({first.finished(), second.finished()}, first.rows()));
    EXPECT_EQ(filter->kind, Kind::kBloom);
    EXPECT_FALSE(filter->has_extremes);
    auto const passes = passing(*filter, {other.finished(), text.finished()}, other.rows());
    int absent = 0, passed = 0;
    for (size_t row = 0; row < passes.size(); ++row) {
      int64_t number = 0;
      std::memcpy(&number, other.bytes.data() + 8 * row, 8);
      bool const is_null = other.texts[row] == "NULL";
      bool const matches = pairs.contains({static_cast<int32_t>(number), other.texts[row]}) &&
                           (flags != 0 || !is_null);
      if (matches) {
        EXPECT_TRUE(passes[row]) << row;
      } else if (is_null && flags == 0) {
        EXPECT_FALSE(passes[row]) << row;
      } else {
        ++absent;
        passed += passes[row] ? 1 : 0;
      }
    }
    EXPECT_LT(passed, absent / 25);
  }
}

TEST(KeyFilter, KeepsToItsRateAndItsBytes) {
  OwnQueue const queue = cpu_queue(3);
  for (int64_t rows : {1000, 300000}) {
    for (double rate : {0.2, 0.01, 0.001}) {
      for (uint64_t bytes : {uint64_t{0}, uint64_t{4096}}) {
        std::vector<int64_t> keys(static_cast<size_t>(rows));
        for (size_t i = 0; i < keys.size(); ++i) {
          keys[i] = static_cast<int64_t>(i * 0x9e3779b97f4a7c15);
        }
        ColumnView column;
        column.type = GPUJOIN_TYPE_INT64;
        column.width = 8;
        column.arrow_format = "l";
        column.data = keys.data();
        Wish wish;
        wish.kind = GPUJOIN_KEY_FILTER_BLOOM;
        wish.false_positive_rate = rate;
        wish.largest_bytes = bytes;
        // Each key comes four times: what is not needed is folded away.
        auto const filter = filters::make_filter(*queue, {without_data(column)}, {0}, wish,
                                                 Rows({column}, rows, 4));
        EXPECT_LE(filter->bytes, bytes == 0 ? 5 * static_cast<uint64_t>(rows) : bytes);
        EXPECT_LE(filter->false_positive_rate, bytes == 0 ? rate : 1);
        auto const found = passing(*filter, {column}, rows);
        EXPECT_EQ(std::count(found.begin(), found.end(), true), rows);
        for (int64_t& key : keys) key += 12345;
        auto const others = passing(*filter, {column}, rows);
        double const share = static_cast<double>(std::count(others.begin(), others.end(), true)) /
                             static_cast<double>(rows);
        EXPECT_LE(share, 2 * filter->false_positive_rate + 0.01) << rows << " " << rate;
        EXPECT_GE(share, filter->false_positive_rate / 2 - 0.01) << rows << " " << rate;
      }
    }
  }
}

TEST(KeyFilter, ChoosesItsKind) {
  OwnQueue const queue = cpu_queue();
  auto const kind_of = [&](int64_t rows, int64_t step, uint64_t bytes = 0) {
    KeyColumn column("l");
    for (int64_t i = 0; i < rows; ++i) {
      int64_t const value = i * step - 7;
      column.add("", &value, 8);
    }
    Wish wish;
    wish.largest_bytes = bytes;
    return filter_of(*queue, column.finished(), rows, GPUJOIN_KEY_FILTER_AUTOMATIC, 0, wish)->kind;
  };
  EXPECT_EQ(kind_of(0, 1), Kind::kMinMax);
  EXPECT_EQ(kind_of(1000, 1), Kind::kMinMax);
  EXPECT_EQ(kind_of(1000, 2), Kind::kBitmap);
  EXPECT_EQ(kind_of(100000, 15), Kind::kBitmap);
  EXPECT_EQ(kind_of(100000, 50), Kind::kBloom);
  EXPECT_EQ(kind_of(100000, 50, 1000), Kind::kMinMax);
  EXPECT_EQ(kind_of(2, INT64_MAX / 2), Kind::kBloom);
  // As far apart as values can be: their number, rounded up, is more than 64 bits count.
  for (int64_t highest : {INT64_MAX, INT64_MAX - 1, INT64_MAX - 7, INT64_MAX - 63}) {
    KeyColumn ends("l");
    for (int64_t value : {INT64_MIN, highest}) ends.add("", &value, 8);
    auto const filter = filter_of(*queue, ends.finished(), 2, GPUJOIN_KEY_FILTER_AUTOMATIC);
    EXPECT_EQ(filter->kind, Kind::kBloom);
    EXPECT_EQ(passing(*filter, {ends.finished()}, 2), std::vector<bool>(2, true));
  }
  KeyColumn bytes("c");
  for (int value = -128; value < 128; ++value) {
    auto const narrow = static_cast<int8_t>(value);
    bytes.add("", &narrow, 1);
  }
  auto const all = filter_of(*queue, bytes.finished(), 256, GPUJOIN_KEY_FILTER_AUTOMATIC);
  EXPECT_EQ(all->kind, Kind::kNone);
}

TEST(KeyFilter, SizesAreFoundForAnyNumberOfKeys) {
  for (int64_t distinct : {int64_t{1}, int64_t{1000}, int64_t{1} << 32, int64_t{1} << 50}) {
    for (uint64_t most : {uint64_t{1}, uint64_t{63}, uint64_t{1} << 20, uint64_t{UINT32_MAX}}) {
      uint64_t const blocks = filters::split_blocks_for(distinct, 0.01, most);
      EXPECT_GE(blocks, 1U);
      EXPECT_LE(blocks, most);
      double const rate = filters::split_block_rate(distinct, blocks);
      EXPECT_TRUE(rate >= 0 && rate <= 1);
      EXPECT_TRUE(rate <= 0.01 || blocks + 64 > most) << distinct << " " << most;
    }
  }
  // As Parquet's format has it: 10.5 bits a key let one of a hundred pass.
  EXPECT_NEAR(filters::split_block_rate(1000000, 1000000 * 21 / 512), 0.01, 0.0005);
}

TEST(KeyFilter, HashesAsXxh64IsPublished) {
  auto const of = [](const char* text) { return kernels::xxh64(text, std::strlen(text)); };
  EXPECT_EQ(of(""), 0xef46db3751d8e999);
  EXPECT_EQ(of("a"), 0xd24ec4f1a98c6e5b);
  EXPECT_EQ(of("abc"), 0x44bc2cf5ad770999);
  EXPECT_EQ(of("Nobody inspects the spammish repetition"), 0xfbcea83c8a378bf1);
  uint64_t const word = 0x0123456789abcdef;
  EXPECT_EQ(kernels::xxh64(word), kernels::xxh64(&word, sizeof(word)));
}

}  // namespace
}  // namespace gpujoin::tests
