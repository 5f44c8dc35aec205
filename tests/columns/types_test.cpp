#include "src/columns/types.hpp"

#include <gtest/gtest.h>

#include <set>
#include <string>

namespace gpujoin::columns {
namespace {

TEST(Types, ComeBackFromTheirOwnFormat) {
  std::set<std::string> names;
  for (gpujoin_type type = GPUJOIN_TYPE_INT8; type <= GPUJOIN_TYPE_DURATION; ++type) {
    EXPECT_EQ(type_of_arrow_format(arrow_format_of(type)), type) << arrow_format_of(type);
    EXPECT_GT(width_of(type), 0);
    names.insert(name_of(type));
  }
  EXPECT_EQ(names.size(), 21u);
}

TEST(Types, OutsideTheTableHaveNoWidth) {
  for (gpujoin_type const type : {-1, 0, 22, INT32_MAX, INT32_MIN}) {
    EXPECT_EQ(width_of(type), 0);
    EXPECT_FALSE(is_key_type(type));
  }
}

TEST(Types, KeysAreFourOrEightBytes) {
  for (gpujoin_type type = GPUJOIN_TYPE_INT8; type <= GPUJOIN_TYPE_DURATION; ++type) {
    if (is_key_type(type)) {
      EXPECT_TRUE(width_of(type) == 4 || width_of(type) == 8) << name_of(type);
    }
  }
}

TEST(Types, FollowTheArrowFormat) {
  struct {
    const char* format;
    gpujoin_type type;
  } const formats[] = {
      {"tss:", GPUJOIN_TYPE_TIMESTAMP_S},
      {"tsu:UTC", GPUJOIN_TYPE_TIMESTAMP_US},
      {"tsn:Europe/Berlin", GPUJOIN_TYPE_TIMESTAMP_NS},
      {"tts", GPUJOIN_TYPE_TIME32},
      {"ttm", GPUJOIN_TYPE_TIME32},
      {"ttu", GPUJOIN_TYPE_TIME64},
      {"ttn", GPUJOIN_TYPE_TIME64},
      {"tDs", GPUJOIN_TYPE_DURATION},
      {"tDn", GPUJOIN_TYPE_DURATION},
      {"d:12,2", GPUJOIN_TYPE_BYTES16},
      {"d:38,-4,128", GPUJOIN_TYPE_BYTES16},
      {"e", GPUJOIN_TYPE_FLOAT16},
      {"w:16", GPUJOIN_TYPE_BYTES16},
  };
  for (auto const& [format, type] : formats) EXPECT_EQ(type_of_arrow_format(format), type);
}

TEST(Types, ThatCannotBeGatheredAreZero) {
  for (const char* format :
       {"",    "n",     "b",        "u",          "U",   "z",   "Z",    "vu", "vz",
        "w:4", "w:160", "d:9,2,32", "d:60,2,256", "d:9", "tss", "tsx:", "tt", "tiM",
        "tiD", "tin",   "+l",       "+s",         "+r",  "ii",  "x"}) {
    EXPECT_EQ(type_of_arrow_format(format), 0) << format;
  }
}

}  // namespace
}  // namespace gpujoin::columns
