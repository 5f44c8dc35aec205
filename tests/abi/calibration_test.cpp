// calibration_test.cpp: a context calibrated, its file, and the contexts that read it.
#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>

#include "tests/abi/fixture.hpp"

using namespace gpujoin_test;

namespace {

constexpr int32_t kInvalid = GPUJOIN_ERROR_INVALID_ARGUMENT;

class Calibration : public DeviceTest {
 protected:
  void SetUp() override {
    DeviceTest::SetUp();
    std::string name =
        (std::filesystem::temp_directory_path() / "gpujoin_calibration.XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
    path = folder_ + "/rates";
  }
  void TearDown() override {
    if (!folder_.empty()) std::filesystem::remove_all(folder_);
  }

  gpujoin_context_options with_file() const {
    gpujoin_context_options wishes = options();
    wishes.calibration_path = path.c_str();
    return wishes;
  }
  static std::string explain(const Context& context) {
    Table const table = counting_table(100, 10);
    Relation const relation = make_relation(context, table);
    Plan const plan = make_plan(context, relation, relation, Spec());
    size_t length = 0;
    gpujoin_plan_explain(plan.get(), nullptr, &length, nullptr);
    std::string said(length, '\0');
    EXPECT_OK(call(gpujoin_plan_explain, plan.get(), said.data(), &length));
    return said;
  }
  static bool is_measured(const Context& context) {
    std::string const said = explain(context);
    bool const measured = said.find("rates  measured on this machine\n") != std::string::npos;
    EXPECT_NE(measured, said.find("rates  built in\n") != std::string::npos) << said;
    return measured;
  }
  Answer open() const {
    gpujoin_context_options const wishes = with_file();
    gpujoin_context* opened = nullptr;
    Answer const answer = call(gpujoin_context_create, &wishes, &opened);
    EXPECT_EQ(opened == nullptr, answer.status != GPUJOIN_OK);
    gpujoin_context_destroy(opened);
    return answer;
  }

  std::string path;

 private:
  std::string folder_;
};

}  // namespace

ON_EVERY_DEVICE(Calibration);

TEST_P(Calibration, IsUsedAtOnceAndByWhoeverReadsTheFile) {
  Context const context = make_context(options());
  EXPECT_FALSE(is_measured(context));
  ASSERT_OK(call(gpujoin_context_calibrate, context.get(), path.c_str()));
  EXPECT_TRUE(is_measured(context));
  EXPECT_TRUE(is_measured(make_context(with_file())));
  EXPECT_FALSE(is_measured(make_context(options())));

  // Every rate is a number above 0, and the planner's times with them are those of a machine.
  std::ifstream lines(path);
  int rates = 0;
  for (std::string line; std::getline(lines, line);) {
    if (line.find("_second") == std::string::npos) continue;
    ++rates;
    double const value = std::strtod(line.c_str() + line.find(' '), nullptr);
    bool const is_time = line.starts_with("launch_seconds");
    EXPECT_GT(value, is_time ? 1e-8 : 1e5) << line;
    EXPECT_LT(value, is_time ? 1e-2 : 1e14) << line;
  }
  EXPECT_EQ(rates, device() == GPUJOIN_DEVICE_CUDA ? 12 : 11);

  // Again over the file that is there, and nothing stays in use.
  ASSERT_OK(call(gpujoin_context_calibrate, context.get(), path.c_str()));
  EXPECT_OK(open());
  ASSERT_OK(call(gpujoin_context_trim, context.get()));
}

TEST_P(Calibration, FilesThatAreNoneAreRefusedByName) {
  EXPECT_NAMES(open(), kInvalid, "options.calibration_path");
  std::ofstream(path) << "gpujoin_calibration 1\nlibrary 0.2.0\n";
  EXPECT_NAMES(open(), kInvalid, "options.calibration_path");
  std::ofstream(path) << "gpujoin_calibration 1\nlibrary 0.2.0\ndevice another\nend\n";
  EXPECT_NAMES(open(), kInvalid, "device");
}

TEST_P(Calibration, APathThatCannotBeWrittenIsNamed) {
  Context const context = make_context(options());
  std::string const nowhere = path + "/no/folder";
  EXPECT_NAMES(call(gpujoin_context_calibrate, context.get(), nowhere.c_str()), kInvalid, "path");
  EXPECT_NAMES(call(gpujoin_context_calibrate, context.get(), nullptr), kInvalid, "path");
  EXPECT_NAMES(call(gpujoin_context_calibrate, nullptr, path.c_str()), kInvalid, "context");
  EXPECT_FALSE(is_measured(context));
}

TEST_P(Calibration, CancelledItLeavesNothing) {
  Context const context = make_context(options());
  EXPECT_OK(call(gpujoin_context_cancel, context.get()));
  EXPECT_STATUS(call(gpujoin_context_calibrate, context.get(), path.c_str()),
                GPUJOIN_ERROR_CANCELLED);
  EXPECT_FALSE(is_measured(context));
  EXPECT_FALSE(std::filesystem::exists(path));
}

TEST_P(Calibration, BelowItsMemoryItLeavesNothing) {
  gpujoin_context_options wishes = options();
  wishes.memory_limit_bytes = 64 << 20;
  Context const context = make_context(wishes);
  EXPECT_STATUS(call(gpujoin_context_calibrate, context.get(), path.c_str()),
                GPUJOIN_ERROR_MEMORY_LIMIT);
  EXPECT_FALSE(is_measured(context));
  EXPECT_FALSE(std::filesystem::exists(path));
}
