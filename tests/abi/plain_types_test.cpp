// plain_types_test.cpp: columns of text, bits, decimals and bytes of any width by plain
// descriptors, as keys and as output columns, fetched page by page.
#include <array>
#include <map>
#include <string>
#include <vector>

#include "tests/abi/fixture.hpp"

namespace gpujoin_test {
namespace {

constexpr int64_t kRows = 1000;

// The rows of a table: a text and what else is written of it.
std::string text_of(int64_t row) {
  return row % 7 == 0 ? std::string()
                      : std::string(static_cast<size_t>(row % 40), 'a') + std::to_string(row / 2);
}

class PlainTypes : public DeviceTest {
 protected:
  void SetUp() override {
    DeviceTest::SetUp();
    if (IsSkipped()) return;
    context = make_context(options());
    narrow.push_back(0);
    wide.push_back(3);
    data += "xyz";
    for (int64_t row = 0; row < kRows; ++row) {
      data += text_of(row);
      narrow.push_back(static_cast<int32_t>(data.size() - 3));
      wide.push_back(static_cast<int64_t>(data.size()));
      flags.resize(static_cast<size_t>(row + 3) / 8 + 1);
      auto& byte = flags[static_cast<size_t>(row + 3) / 8];
      if (row % 3 == 0) byte = static_cast<uint8_t>(byte | 1u << ((row + 3) % 8));
      std::string const number = std::to_string(1000 + row);
      tags += number + "-";
      cents.push_back(row * 100);
      std::array<int64_t, 4> const value = {-row, row == 0 ? 0 : -1, row == 0 ? 0 : -1,
                                            row == 0 ? 0 : -1};
      large.insert(large.end(), value.begin(), value.end());
    }
  }

  gpujoin_column column(gpujoin_type type, const void* values) const {
    gpujoin_column made = GPUJOIN_COLUMN_INIT;
    made.type = type;
    made.data = values;
    made.name = "column";
    return made;
  }
  // 0 text of narrow offsets, 1 of wide ones, 2 bits, 3 five bytes, 4 decimal of 8 bytes, scale 2,
  // 5 of 32, scale 0.
  Relation relation() {
    std::array<gpujoin_column, 6> columns = {column(GPUJOIN_TYPE_UTF8, data.data() + 3),
                                             column(GPUJOIN_TYPE_LARGE_UTF8, data.data()),
                                             column(GPUJOIN_TYPE_BOOL, flags.data()),
                                             column(GPUJOIN_TYPE_FIXED_BINARY, tags.data()),
                                             column(GPUJOIN_TYPE_DECIMAL64, cents.data()),
                                             column(GPUJOIN_TYPE_DECIMAL256, large.data())};
    columns[0].offsets = narrow.data();
    columns[1].offsets = wide.data();
    columns[2].first_bit = 3;
    columns[3].value_width = 5;
    columns[4].decimal_precision = 18;
    columns[4].decimal_scale = 2;
    columns[5].decimal_precision = 50;
    gpujoin_relation* made = nullptr;
    EXPECT_OK(call(gpujoin_relation_create, context.get(), kRows, columns.data(), 6, &made));
    return Relation(made);
  }

  Context context;
  std::string data;
  std::vector<int32_t> narrow;
  std::vector<int64_t> wide;
  std::vector<uint8_t> flags;
  std::string tags;
  std::vector<int64_t> cents;
  std::vector<int64_t> large;
};

int64_t matches(const Context& context, const Relation& relation, int32_t left, int32_t right) {
  Spec spec;
  spec.left_keys = {left};
  spec.right_keys = {right};
  return rows_of(join(context, relation, relation, spec));
}

TEST_P(PlainTypes, AreKeys) {
  Relation const all = relation();
  std::map<std::string, int64_t> times;
  for (int64_t row = 0; row < kRows; ++row) ++times[text_of(row)];
  int64_t equal = 0;
  for (auto const& [text, count] : times) equal += count * count;
  EXPECT_EQ(matches(context, all, 0, 0), equal);
  EXPECT_EQ(matches(context, all, 0, 1), equal);
  EXPECT_EQ(matches(context, all, 1, 0), equal);
  constexpr int64_t kSet = (kRows + 2) / 3;
  EXPECT_EQ(matches(context, all, 2, 2), kSet * kSet + (kRows - kSet) * (kRows - kSet));
  EXPECT_EQ(matches(context, all, 3, 3), kRows);
  EXPECT_EQ(matches(context, all, 4, 4), kRows);
  EXPECT_EQ(matches(context, all, 5, 5), kRows);
  // row * 100 at scale 2, and -row at scale 0: 0 alone is both.
  EXPECT_EQ(matches(context, all, 4, 5), 1);
}

TEST_P(PlainTypes, ComeOutPageByPage) {
  Relation const all = relation();
  Spec spec;
  spec.left_keys = {3};
  spec.right_keys = {3};
  spec.left_columns = {0, 2, 3, 5};
  spec.right_columns = {1, 4};
  Result const result = join(context, all, all, spec);
  ASSERT_EQ(rows_of(result), kRows);
  gpujoin_page page = GPUJOIN_PAGE_INIT;
  page.max_rows = 77;
  int64_t seen = 0;
  while (true) {
    gpujoin_page const before = page;
    std::array<int32_t, 78> offsets{};
    std::array<int64_t, 78> wide_offsets{};
    std::array<gpujoin_fetch, 6> fetches;
    for (int32_t i = 0; i < 6; ++i) {
      fetches[static_cast<size_t>(i)] = fetch_of(GPUJOIN_FETCH_COLUMN, i, nullptr, 0);
    }
    std::array<uint8_t, 10> bits{};
    std::string fives(77 * 5, ' ');
    std::vector<int64_t> of_large(77 * 4);
    std::vector<int64_t> of_cents(77);
    auto const room = [&](size_t i, void* values, uint64_t bytes) {
      fetches[i].data = values;
      fetches[i].data_bytes = bytes;
    };
    fetches[0].offsets = offsets.data();
    fetches[0].offsets_bytes = sizeof(offsets);
    fetches[4].offsets = wide_offsets.data();
    fetches[4].offsets_bytes = sizeof(wide_offsets);
    room(1, bits.data(), bits.size());
    room(2, fives.data(), fives.size());
    room(3, of_large.data(), of_large.size() * 8);
    room(5, of_cents.data(), of_cents.size() * 8);
    ASSERT_OK(call(gpujoin_result_fetch, result.get(), &page, fetches.data(), 6));
    if (page.rows == 0) break;
    EXPECT_EQ(fetches[0].text_bytes,
              static_cast<uint64_t>(offsets[static_cast<size_t>(page.rows)]));
    std::string text(fetches[0].text_bytes, ' ');
    std::string wide_text(fetches[4].text_bytes, ' ');
    page = before;
    room(0, text.data(), text.size());
    room(4, wide_text.data(), wide_text.size());
    ASSERT_OK(call(gpujoin_result_fetch, result.get(), &page, fetches.data(), 6));
    for (int64_t i = 0; i < page.rows; ++i) {
      auto const at = static_cast<size_t>(i);
      int64_t const row = std::stoll(fives.substr(at * 5, 4)) - 1000;
      auto const narrow_at = static_cast<size_t>(offsets[at]);
      auto const wide_at = static_cast<size_t>(wide_offsets[at]);
      EXPECT_EQ(text.substr(narrow_at, static_cast<size_t>(offsets[at + 1]) - narrow_at),
                text_of(row));
      EXPECT_EQ(wide_text.substr(wide_at, static_cast<size_t>(wide_offsets[at + 1]) - wide_at),
                text_of(row));
      EXPECT_EQ((bits[at / 8] >> (at % 8) & 1) != 0, row % 3 == 0);
      EXPECT_EQ(of_large[at * 4], -row);
      EXPECT_EQ(of_large[at * 4 + 3], row == 0 ? 0 : -1);
      EXPECT_EQ(of_cents[at], row * 100);
    }
    seen += page.rows;
  }
  EXPECT_EQ(seen, kRows);
}

TEST_P(PlainTypes, AskForRoomForOffsets) {
  Relation const all = relation();
  Spec spec;
  spec.left_columns = {0};
  Result const result = join(context, all, all, spec);
  std::array<int32_t, 4> offsets{};
  gpujoin_fetch fetch = fetch_of(GPUJOIN_FETCH_COLUMN, 0, nullptr, 0);
  EXPECT_NAMES(call(gpujoin_result_fetch, result.get(), nullptr, &fetch, 1),
               GPUJOIN_ERROR_INVALID_ARGUMENT, "fetches[0].offsets");
  fetch.offsets = offsets.data();
  fetch.offsets_bytes = sizeof(offsets);
  EXPECT_NAMES(call(gpujoin_result_fetch, result.get(), nullptr, &fetch, 1),
               GPUJOIN_ERROR_BUFFER_TOO_SMALL, "fetches[0].offsets_bytes");
  std::vector<int32_t> all_offsets(static_cast<size_t>(rows_of(result)) + 1);
  fetch.offsets = all_offsets.data();
  fetch.offsets_bytes = all_offsets.size() * sizeof(int32_t);
  std::array<char, 2> few{};
  fetch.data = few.data();
  fetch.data_bytes = few.size();
  EXPECT_NAMES(call(gpujoin_result_fetch, result.get(), nullptr, &fetch, 1),
               GPUJOIN_ERROR_BUFFER_TOO_SMALL, "fetches[0].data_bytes");
}

ON_EVERY_DEVICE(PlainTypes);

}  // namespace
}  // namespace gpujoin_test
