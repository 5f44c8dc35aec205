// errors_test.cpp: statuses, their names, and the caller's error record.
#include <cstring>
#include <set>
#include <string>

#include "tests/abi/fixture.hpp"

using namespace gpujoin_test;

TEST(Version, IsTheHeaders) {
  EXPECT_EQ(gpujoin_version_number(), GPUJOIN_VERSION_NUMBER);
  EXPECT_EQ(std::string(gpujoin_version_string()), "0.2.0");
}

TEST(StatusName, IsTheMacros) {
  EXPECT_STREQ(gpujoin_status_name(GPUJOIN_OK), "GPUJOIN_OK");
  EXPECT_STREQ(gpujoin_status_name(GPUJOIN_ERROR_CANCELLED), "GPUJOIN_ERROR_CANCELLED");
  std::set<std::string> names;
  for (gpujoin_status status = GPUJOIN_OK; status <= GPUJOIN_ERROR_DEADLINE; ++status) {
    names.insert(gpujoin_status_name(status));
  }
  EXPECT_EQ(names.size(), 24u);
  EXPECT_EQ(names.count("GPUJOIN_ERROR_UNKNOWN"), 0u);
  for (gpujoin_status status : {-1, 24, INT32_MAX}) {
    EXPECT_STREQ(gpujoin_status_name(status), "GPUJOIN_ERROR_UNKNOWN");
  }
}

TEST(ErrorRecord, IsNotWrittenOnSuccess) {
  gpujoin_error error;
  std::memset(&error, 0x5A, sizeof(error));
  gpujoin_error const before = error;
  gpujoin_context_options options = GPUJOIN_CONTEXT_OPTIONS_INIT;
  options.device = GPUJOIN_DEVICE_CPU;
  gpujoin_context* context = nullptr;
  ASSERT_EQ(gpujoin_context_create(&options, &context, &error), GPUJOIN_OK);
  EXPECT_EQ(std::memcmp(&error, &before, sizeof(error)), 0);
  gpujoin_context_destroy(context);
}

TEST(ErrorRecord, IsWrittenWholeOnFailure) {
  gpujoin_error error;
  std::memset(&error, 0x5A, sizeof(error));
  EXPECT_EQ(gpujoin_context_create(nullptr, nullptr, &error), GPUJOIN_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(error.status, GPUJOIN_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(error.cuda_code, 0);
  EXPECT_EQ(error.is_sticky, 0);
  EXPECT_LT(strnlen(error.message, sizeof(error.message)), sizeof(error.message));
  for (int32_t reserved : error.reserved) EXPECT_EQ(reserved, 0);
}

TEST(ErrorRecord, MayBeNull) {
  EXPECT_EQ(gpujoin_context_create(nullptr, nullptr, nullptr), GPUJOIN_ERROR_INVALID_ARGUMENT);
  EXPECT_EQ(gpujoin_context_cancel(nullptr, nullptr), GPUJOIN_ERROR_INVALID_ARGUMENT);
}

TEST(ErrorRecord, CutsALongMessageBetweenCharacters) {
  Context const context = make_context(GPUJOIN_DEVICE_CPU);
  // A name that reaches over the end of the message with characters of two bytes, both phases.
  for (std::string start : {"", "x"}) {
    std::string name = start;
    while (name.size() < 600) name += "\xC3\xA4";
    Table table;
    table.emplace_back(name, GPUJOIN_TYPE_FLOAT32, std::vector<float>{1});
    table.emplace_back("day", GPUJOIN_TYPE_DATE32, std::vector<int32_t>{1});
    Relation const relation = make_relation(context, table);
    Spec wish;
    wish.right_keys = {1};
    gpujoin_join_spec const spec = wish.get();
    gpujoin_result* result = nullptr;
    Answer const answer =
        call(gpujoin_join, context.get(), relation.get(), relation.get(), &spec, nullptr, &result);
    EXPECT_STATUS(answer, GPUJOIN_ERROR_TYPE);
    std::string const message = answer.message();
    EXPECT_GE(message.size(), 510u);
    size_t const first = message.find('\xC3');
    ASSERT_NE(first, std::string::npos);
    EXPECT_EQ((message.size() - first) % 2, 0u) << "half a character at the end";
  }
}
