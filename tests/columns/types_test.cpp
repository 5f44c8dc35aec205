#include "src/columns/types.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace gpujoin::columns {
namespace {

TEST(Types, ComeBackFromTheirOwnFormat) {
  std::set<std::string> names;
  for (gpujoin_type type = GPUJOIN_TYPE_INT8; type <= GPUJOIN_TYPE_RUN_END_ENCODED; ++type) {
    names.insert(name_of(type));
    // These are made of other formats: with a width, and of an index.
    if (type == GPUJOIN_TYPE_FIXED_BINARY || type == GPUJOIN_TYPE_DICTIONARY) continue;
    ArrowType const found = type_of_arrow_format(arrow_format_of(type));
    EXPECT_EQ(found.type, type) << arrow_format_of(type);
    EXPECT_EQ(found.width, width_of(type));
    EXPECT_EQ(found.layout, layout_of(type));
  }
  EXPECT_EQ(names.size(), 38u);
}

TEST(Types, OutsideTheTableHaveNoWidth) {
  for (gpujoin_type const type : {-1, 0, 39, INT32_MAX, INT32_MIN}) {
    EXPECT_EQ(width_of(type), 0);
    EXPECT_EQ(layout_of(type), Layout::kOther);
    EXPECT_FALSE(is_key_type(type));
  }
}

TEST(Types, ThatCompareByTheirBitsHaveFourOrEightBytes) {
  for (gpujoin_type type = GPUJOIN_TYPE_INT8; type <= GPUJOIN_TYPE_RUN_END_ENCODED; ++type) {
    if (is_key_type(type)) {
      EXPECT_TRUE(width_of(type) == 4 || width_of(type) == 8) << name_of(type);
    }
  }
}

TEST(Types, FollowTheArrowFormat) {
  struct {
    const char* format;
    ArrowType type;
  } const formats[] = {
      {"tss:", {GPUJOIN_TYPE_TIMESTAMP_S, 8, Layout::kValues, 0}},
      {"tsu:UTC", {GPUJOIN_TYPE_TIMESTAMP_US, 8, Layout::kValues, 0}},
      {"tsn:Europe/Berlin", {GPUJOIN_TYPE_TIMESTAMP_NS, 8, Layout::kValues, 0}},
      {"tts", {GPUJOIN_TYPE_TIME32, 4, Layout::kValues, 0}},
      {"ttn", {GPUJOIN_TYPE_TIME64, 8, Layout::kValues, 0}},
      {"tDs", {GPUJOIN_TYPE_DURATION, 8, Layout::kValues, 0}},
      {"d:12,2", {GPUJOIN_TYPE_BYTES16, 16, Layout::kValues, 2}},
      {"d:38,-4,128", {GPUJOIN_TYPE_BYTES16, 16, Layout::kValues, -4}},
      {"d:9,2,32", {GPUJOIN_TYPE_DECIMAL32, 4, Layout::kValues, 2}},
      {"d:18,0,64", {GPUJOIN_TYPE_DECIMAL64, 8, Layout::kValues, 0}},
      {"d:60,2,256", {GPUJOIN_TYPE_DECIMAL256, 32, Layout::kWide, 2}},
      {"w:16", {GPUJOIN_TYPE_BYTES16, 16, Layout::kValues, 0}},
      {"w:4", {GPUJOIN_TYPE_FIXED_BINARY, 4, Layout::kWide, 0}},
      {"w:160", {GPUJOIN_TYPE_FIXED_BINARY, 160, Layout::kWide, 0}},
  };
  for (auto const& [format, type] : formats) {
    ArrowType const found = type_of_arrow_format(format);
    EXPECT_EQ(found.type, type.type) << format;
    EXPECT_EQ(found.width, type.width) << format;
    EXPECT_EQ(found.layout, type.layout) << format;
    EXPECT_EQ(found.scale, type.scale) << format;
  }
}

TEST(Types, ThatAreNestedOrUnknownAreZero) {
  for (const char* format : {"", "d:9", "d:9,2,48", "d:9,x", "w:", "w:-1", "w:4x", "tss",
                             "tsx:", "tt", "+l", "+s", "+m", "ii", "x"}) {
    EXPECT_EQ(type_of_arrow_format(format).type, 0) << format;
    EXPECT_EQ(type_of_arrow_format(format).layout, Layout::kOther) << format;
  }
}

}  // namespace
}  // namespace gpujoin::columns
