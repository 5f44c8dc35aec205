// calibration_file_test.cpp: files that are right, wrong, cut off and of another device.
#include "src/base/calibration_file.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <csignal>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <set>
#include <sstream>
#include <string>

#include "src/base/scatter_order.hpp"
#include "src/base/status.hpp"

namespace gpujoin::base {
namespace {

namespace fs = std::filesystem;

DeviceFacts some_gpu() {
  DeviceFacts facts;
  facts.name = "NVIDIA H200";
  facts.is_cuda = true;
  facts.compute_capability = 90;
  facts.sm_count = 132;
  builtin_rates(facts);
  return facts;
}

class CalibrationFileTest : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "gpujoin_calibration.XXXXXX").string();
    ASSERT_NE(mkdtemp(name.data()), nullptr);
    folder_ = name;
  }
  void TearDown() override { fs::remove_all(folder_); }

  std::string path(const char* name = "rates") const { return (folder_ / name).string(); }
  void write(const std::string& bytes) const { std::ofstream(path(), std::ios::binary) << bytes; }
  std::string bytes() const {
    std::stringstream all;
    all << std::ifstream(path(), std::ios::binary).rdbuf();
    return all.str();
  }
  size_t files() const {
    return static_cast<size_t>(
        std::distance(fs::directory_iterator(folder_), fs::directory_iterator()));
  }
  void write_rates_of(const DeviceFacts& facts) const {
    CalibrationFile(path(), "p").commit(facts);
  }

  // The message of a file that must be refused; it names the argument.
  std::string refusal(const DeviceFacts& facts) const {
    try {
      read_calibration(facts, path(), "options.calibration_path");
    } catch (const Error& error) {
      EXPECT_EQ(error.status(), GPUJOIN_ERROR_INVALID_ARGUMENT);
      EXPECT_TRUE(std::string(error.what()).starts_with("options.calibration_path: "));
      return error.what();
    }
    return "";
  }
  std::string refusal_of(std::string bytes, const std::string& part, const std::string& instead) {
    const size_t at = bytes.find(part);
    EXPECT_NE(at, std::string::npos) << part;
    write(bytes.replace(at, part.size(), instead));
    return refusal(some_gpu());
  }

 private:
  fs::path folder_;
};

TEST_F(CalibrationFileTest, ComesBackAsItWasWritten) {
  for (const DeviceFacts& facts : {some_gpu(), cpu_facts(7)}) {
    DeviceFacts measured = facts;
    double factor = 1.25;
    for (const Rate& rate : all_rates()) measured.*rate.value *= factor += 0.25;
    write_rates_of(measured);
    const DeviceFacts read = read_calibration(facts, path(), "p");
    EXPECT_TRUE(read.calibrated);
    EXPECT_EQ(read.name, facts.name);
    for (const Rate& rate : all_rates()) {
      EXPECT_NEAR(read.*rate.value, measured.*rate.value, 1e-5 * measured.*rate.value) << rate.name;
    }
  }
  EXPECT_EQ(files(), 1U) << "an unfinished file was left";
}

TEST_F(CalibrationFileTest, HasOneNameAndValueALine) {
  write_rates_of(some_gpu());
  EXPECT_TRUE(bytes().starts_with(
      "gpujoin_calibration 1\nlibrary 0.2.0\ndevice NVIDIA H200\narchitecture 9.0\n"
      "multiprocessors 132\ncopy_bytes_per_second "));
  EXPECT_TRUE(bytes().ends_with("\nlaunch_seconds 5e-06\nend\n"));
}

TEST_F(CalibrationFileTest, EveryFileThatIsCutOffIsRefused) {
  write_rates_of(some_gpu());
  const std::string whole = bytes();
  for (size_t length = 0; length < whole.size(); ++length) {
    write(whole.substr(0, length));
    ASSERT_NE(refusal(some_gpu()), "") << length;
  }
  write(whole);
  EXPECT_EQ(refusal(some_gpu()), "");
}

TEST_F(CalibrationFileTest, WhatIsMalformedIsRefusedWithAReason) {
  write_rates_of(some_gpu());
  const std::string whole = bytes();
  const std::string copy = "copy_bytes_per_second ";
  const auto holds = [](const std::string& message, const char* part) {
    EXPECT_NE(message.find(part), std::string::npos) << message;
  };
  holds(refusal_of(whole, copy, "unknown_rate 1\n" + copy), "unknown_rate");
  holds(refusal_of(whole, copy, copy + "1\n" + copy), "twice");
  holds(refusal_of(whole, copy, copy + "-"), "copy_bytes_per_second is no number");
  holds(refusal_of(whole, copy, copy + "x"), "copy_bytes_per_second is no number");
  holds(refusal_of(whole, " 5e-06\n", " inf\n"), "launch_seconds is no number");
  holds(refusal_of(whole, copy, "copy_bytes"), "not 'name value'");
  holds(refusal_of(whole, "launch_seconds 5e-06\n", ""), "launch_seconds is missing");
  holds(refusal_of(whole, "calibration 1", "calibration 2"), "first line");
  write(std::string(100'000, 'x'));
  holds(refusal(some_gpu()), "too long");
}

TEST_F(CalibrationFileTest, AnotherDeviceIsRefused) {
  write_rates_of(some_gpu());
  const auto refused = [&](auto change) {
    DeviceFacts facts = some_gpu();
    change(facts);
    return refusal(facts);
  };
  EXPECT_NE(refused([](auto& f) { f.name = "NVIDIA A100"; }).find("'NVIDIA H200'"),
            std::string::npos);
  EXPECT_NE(refused([](auto& f) { f.compute_capability = 80; }), "");
  EXPECT_NE(refused([](auto& f) { f.sm_count = 16; }), "") << "a slice of the device";
  EXPECT_NE(refusal(cpu_facts(4)), "");
  EXPECT_NE(refusal_of(bytes(), "library 0.2.0", "library 0.0.9"), "");
  write_rates_of(cpu_facts(4));
  EXPECT_EQ(refusal(cpu_facts(4)), "");
  EXPECT_NE(refusal(cpu_facts(5)), "");
  EXPECT_NE(refusal(some_gpu()), "");
}

TEST_F(CalibrationFileTest, AFileThatIsNotThereIsRefused) {
  EXPECT_NE(refusal(some_gpu()).find("No such file"), std::string::npos);
  mkdir(path().c_str(), 0700);
  EXPECT_NE(refusal(some_gpu()), "");
}

TEST_F(CalibrationFileTest, APathThatCannotBeWrittenFailsAtOnce) {
  for (const std::string& unwritable : {path("no_folder/rates"), path("."), std::string()}) {
    try {
      CalibrationFile file(unwritable, "path");
      ADD_FAILURE() << unwritable;
    } catch (const Error& error) {
      EXPECT_EQ(error.status(), GPUJOIN_ERROR_INVALID_ARGUMENT);
      EXPECT_TRUE(std::string(error.what()).starts_with("path: cannot write"));
    }
  }
}

TEST_F(CalibrationFileTest, NothingButARegularFileIsReplaced) {
  ASSERT_EQ(mkfifo(path("pipe").c_str(), 0600), 0);
  fs::create_symlink("pipe", path("link_to_pipe"));
  fs::create_symlink("nothing", path("link_to_nothing"));
  for (const char* name : {"pipe", "link_to_pipe", "link_to_nothing"}) {
    try {
      CalibrationFile(path(name), "path").commit(some_gpu());
      ADD_FAILURE() << name;
    } catch (const Error& error) {
      EXPECT_EQ(error.status(), GPUJOIN_ERROR_INVALID_ARGUMENT);
      EXPECT_TRUE(std::string(error.what()).starts_with("path: cannot write")) << error.what();
    }
  }
  EXPECT_TRUE(fs::is_fifo(path("pipe")));
  EXPECT_TRUE(fs::is_symlink(path("link_to_pipe")));
  EXPECT_TRUE(fs::is_symlink(path("link_to_nothing")));
  EXPECT_EQ(files(), 3U);
}

TEST_F(CalibrationFileTest, ALinkToAFileStays) {
  write("the old one");
  fs::create_symlink("rates", path("link"));
  CalibrationFile(path("link"), "p").commit(some_gpu());
  EXPECT_TRUE(fs::is_symlink(path("link")));
  EXPECT_EQ(refusal(some_gpu()), "");
  EXPECT_EQ(files(), 2U);
}

TEST_F(CalibrationFileTest, AWriteThatFailsLeavesTheOldFile) {
  write("the old one");
  // Files may grow to 16 bytes: the next write is a short one, as on a full disk.
  rlimit before{};
  ASSERT_EQ(getrlimit(RLIMIT_FSIZE, &before), 0);
  auto* const handler = signal(SIGXFSZ, SIG_IGN);
  rlimit const few = {16, before.rlim_max};
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &few), 0);
  EXPECT_THROW(CalibrationFile(path(), "path").commit(some_gpu()), Error);
  ASSERT_EQ(setrlimit(RLIMIT_FSIZE, &before), 0);
  signal(SIGXFSZ, handler);
  EXPECT_EQ(bytes(), "the old one");
  EXPECT_EQ(files(), 1U);
}

TEST_F(CalibrationFileTest, WhatIsNotCommittedLeavesTheOldFile) {
  write("the old one");
  { CalibrationFile const unfinished(path(), "path"); }
  EXPECT_EQ(bytes(), "the old one");
  EXPECT_EQ(files(), 1U);
}

TEST(Scattered, IsEachNumberOnce) {
  for (const int32_t bits : {1, 5, 16}) {
    std::set<uint32_t> seen;
    for (uint32_t i = 0; i < uint32_t{1} << bits; ++i) seen.insert(scattered(i, bits));
    EXPECT_EQ(seen.size(), size_t{1} << bits);
    EXPECT_EQ(*seen.rbegin(), (uint32_t{1} << bits) - 1);
  }
}

}  // namespace
}  // namespace gpujoin::base
