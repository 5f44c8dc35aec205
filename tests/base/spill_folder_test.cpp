// spill_folder_test.cpp: what is written comes back, the limit is kept to the byte, failures leave
// what was there, and nothing is left of anything.
#include "src/base/spill_folder.hpp"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <barrier>
#include <csignal>
#include <filesystem>
#include <fstream>
#include <functional>
#include <string>
#include <thread>
#include <vector>

#include "src/base/status.hpp"

namespace gpujoin::tests {
namespace {

using base::SpillFile;
using base::SpillFolder;
using Bytes = std::vector<std::byte>;

// Of the test's own, gone with it.
class Spill : public testing::Test {
 protected:
  void SetUp() override {
    path_ = testing::TempDir() + "/spill-XXXXXX";
    ASSERT_NE(mkdtemp(path_.data()), nullptr);
  }
  void TearDown() override { std::filesystem::remove_all(path_); }

  bool is_empty() const { return std::filesystem::is_empty(path_); }

  std::string path_;
};

Bytes bytes_of(size_t count, unsigned first) {
  Bytes made(count);
  for (size_t i = 0; i < count; ++i) made[i] = static_cast<std::byte>(first + i * 7 + i / 251);
  return made;
}

uint64_t append(SpillFile& file, const Bytes& bytes) {
  std::array<std::span<const std::byte>, 1> const parts = {bytes};
  return file.append(parts);
}

Bytes read(const SpillFile& file, uint64_t offset, size_t count) {
  Bytes bytes(count);
  std::array<std::span<std::byte>, 1> const parts = {bytes};
  file.read(offset, parts);
  return bytes;
}

// The status of what a call throws, and its message; 0: it throws nothing.
struct Failure {
  gpujoin_status status = GPUJOIN_OK;
  std::string message;
};
Failure failure_of(const std::function<void()>& call) {
  try {
    call();
  } catch (const base::Error& error) {
    return {error.status(), error.what()};
  }
  return {};
}

void expect_contains(const std::string& message, const std::string& part) {
  EXPECT_NE(message.find(part), std::string::npos) << message;
}

// In a child, whose limits and file systems are its own: 0 where `body` answers true.
int answer_of_child(const std::function<int()>& body) {
  pid_t const child = fork();
  if (child == 0) _exit(body());
  int status = 0;
  waitpid(child, &status, 0);
  return WIFEXITED(status) ? WEXITSTATUS(status) : -WTERMSIG(status);
}

TEST_F(Spill, PartsComeBackInAnyOthers) {
  SpillFile file(std::make_shared<SpillFolder>(path_, 0));
  Bytes const first = bytes_of(1000, 1);
  Bytes const second = bytes_of(0, 2);
  Bytes const third = bytes_of(70000, 3);
  std::array<std::span<const std::byte>, 3> const parts = {first, second, third};
  EXPECT_EQ(file.append(parts), 0u);
  EXPECT_EQ(file.append({}), 71000u);
  EXPECT_EQ(append(file, first), 71000u);
  Bytes one(999);
  Bytes other(70001);
  std::array<std::span<std::byte>, 2> const places = {one, other};
  file.read(0, places);
  EXPECT_TRUE(std::equal(one.begin(), one.end(), first.begin()));
  EXPECT_EQ(other[0], first[999]);
  EXPECT_TRUE(std::equal(third.begin(), third.end(), other.begin() + 1));
  EXPECT_EQ(read(file, 71000, 1000), first);
}

TEST_F(Spill, ManyThreadsAppendAndRead) {
  auto const folder = std::make_shared<SpillFolder>(path_, 0);
  uint64_t expected = 0;
  {
    std::array<SpillFile, 2> files = {SpillFile(folder), SpillFile(folder)};
    std::array<std::vector<std::string>, 8> problems;
    std::vector<std::thread> threads;
    std::barrier all_appended(8);
    for (unsigned thread = 0; thread < 8; ++thread) {
      threads.emplace_back([&, thread] {
        std::vector<uint64_t> offsets;
        auto const value = [&](unsigned i) { return bytes_of(i * 97 % 9000, thread * 1000 + i); };
        for (unsigned i = 0; i < 200; ++i) offsets.push_back(append(files[i % 2], value(i)));
        all_appended.arrive_and_wait();
        for (unsigned i = 0; i < 200; ++i) {
          if (read(files[i % 2], offsets[i], value(i).size()) == value(i)) continue;
          problems[thread].push_back(std::to_string(i));
        }
        for (unsigned i = 0; i < 200; i += 4) files[0].release(offsets[i], value(i).size());
        for (unsigned i = 1; i < 200; i += 2) {
          if (read(files[1], offsets[i], value(i).size()) == value(i)) continue;
          problems[thread].push_back(std::to_string(i));
        }
      });
    }
    for (std::thread& thread : threads) thread.join();
    for (auto const& found : problems) EXPECT_TRUE(found.empty());
    for (unsigned i = 0; i < 200; ++i) expected += 8 * (i * 97 % 9000);
    EXPECT_EQ(folder->peak_bytes(), expected);
    EXPECT_LT(folder->used_bytes(), expected);
  }
  EXPECT_EQ(folder->used_bytes(), 0u);
  EXPECT_EQ(folder->peak_bytes(), expected);
}

TEST_F(Spill, TheLimitIsKeptToTheByte) {
  auto const folder = std::make_shared<SpillFolder>(path_, 10000);
  SpillFile one(folder);
  append(one, bytes_of(4000, 1));
  {
    SpillFile other(folder);
    append(other, bytes_of(6000, 2));
    EXPECT_EQ(folder->used_bytes(), 10000u);
    Failure const failure = failure_of([&] { append(one, bytes_of(1, 3)); });
    EXPECT_EQ(failure.status, GPUJOIN_ERROR_SPILL);
    expect_contains(failure.message, "options.spill_limit_bytes is 10000");
    EXPECT_EQ(folder->used_bytes(), 10000u);
    append(one, {});
  }
  EXPECT_EQ(folder->used_bytes(), 4000u);
  EXPECT_EQ(append(one, bytes_of(6000, 4)), 4000u);
  EXPECT_EQ(failure_of([&] { append(one, bytes_of(1, 3)); }).status, GPUJOIN_ERROR_SPILL);
  EXPECT_EQ(folder->peak_bytes(), 10000u);
  one.release(0, 4096);
  EXPECT_EQ(folder->used_bytes(), 10000u - 4096);
  Bytes const last = bytes_of(6000, 4);
  EXPECT_EQ(read(one, 4096, 5904), Bytes(last.begin() + 96, last.end()));
}

TEST_F(Spill, OnlyAFolderThatCanBeWrittenWillDo) {
  std::ofstream(path_ + "/file") << "text";
  for (const std::string& path :
       {std::string(), path_ + "/none", path_ + "/file", std::string("/proc/self")}) {
    Failure const failure = failure_of([&] { SpillFolder folder(path, 0); });
    EXPECT_EQ(failure.status, GPUJOIN_ERROR_INVALID_ARGUMENT) << path;
    expect_contains(failure.message, "options.spill_path is '" + path + "'");
  }
  std::filesystem::create_directory_symlink(path_, path_ + "/link");
  EXPECT_EQ(SpillFolder(path_ + "/link", 0).path(), std::filesystem::canonical(path_).string());
}

TEST_F(Spill, AFolderThatIsGoneIsAnError) {
  auto const folder = std::make_shared<SpillFolder>(path_, 0);
  std::filesystem::remove_all(path_);
  Failure const failure = failure_of([&] { SpillFile file(folder); });
  EXPECT_EQ(failure.status, GPUJOIN_ERROR_SPILL);
  expect_contains(failure.message, folder->path() + ": No such file");
}

TEST_F(Spill, BytesThatWereNeverWrittenAreAnError) {
  SpillFile file(std::make_shared<SpillFolder>(path_, 0));
  append(file, bytes_of(100, 1));
  Failure const failure = failure_of([&] { read(file, 50, 51); });
  EXPECT_EQ(failure.status, GPUJOIN_ERROR_SPILL);
  expect_contains(failure.message, "cannot read 51 bytes in");
}

TEST_F(Spill, NothingIsSeenInTheFolder) {
  auto const folder = std::make_shared<SpillFolder>(path_, 0);
  EXPECT_TRUE(is_empty());
  {
    SpillFile file(folder);
    append(file, bytes_of(100000, 1));
    EXPECT_TRUE(is_empty());
  }
  EXPECT_TRUE(is_empty());
}

TEST_F(Spill, NothingIsLeftOfAKilledProcess) {
  int const answer = answer_of_child([&] {
    auto const folder = std::make_shared<SpillFolder>(path_, 0);
    SpillFile one(folder);
    SpillFile other(folder);
    append(one, bytes_of(1 << 20, 1));
    append(other, bytes_of(1 << 20, 2));
    raise(SIGKILL);
    return 0;
  });
  EXPECT_EQ(answer, -SIGKILL);
  EXPECT_TRUE(is_empty());
}

TEST_F(Spill, TheProcessesLimitOfFilesDoesNotKillIt) {
  int const answer = answer_of_child([&] {
    rlimit const limit = {100000, 100000};
    setrlimit(RLIMIT_FSIZE, &limit);
    auto const folder = std::make_shared<SpillFolder>(path_, 0);
    SpillFile file(folder);
    append(file, bytes_of(60000, 1));
    Failure const failure = failure_of([&] { append(file, bytes_of(60000, 2)); });
    if (failure.status != GPUJOIN_ERROR_SPILL) return 1;
    if (failure.message.find("File too large") == std::string::npos) return 2;
    if (folder->used_bytes() != 60000) return 3;
    if (append(file, bytes_of(40000, 3)) != 60000) return 4;
    return read(file, 60000, 40000) == bytes_of(40000, 3) ? 0 : 5;
  });
  EXPECT_EQ(answer, 0);
}

// A file system of 1 MiB, which this process alone sees. False: it may not have one.
bool mount_small(const std::string& path) {
  auto const write_to = [](const char* file, const std::string& text) {
    std::ofstream(file) << text;
  };
  std::string const user = std::to_string(getuid());
  std::string const group = std::to_string(getgid());
  if (unshare(CLONE_NEWUSER | CLONE_NEWNS) != 0) return false;
  write_to("/proc/self/setgroups", "deny");
  write_to("/proc/self/uid_map", "0 " + user + " 1");
  write_to("/proc/self/gid_map", "0 " + group + " 1");
  return mount("none", path.c_str(), "tmpfs", 0, "size=1m") == 0;
}

TEST_F(Spill, AFullFileSystemIsAnErrorThatLosesNothing) {
  constexpr int kMayNot = 100;
  int const answer = answer_of_child([&] {
    if (!mount_small(path_)) return kMayNot;
    auto const folder = std::make_shared<SpillFolder>(path_, 0);
    SpillFile file(folder);
    Bytes const first = bytes_of(600 << 10, 1);
    append(file, first);
    // Some of it is written before there is no room.
    Failure const failure = failure_of([&] { append(file, bytes_of(600 << 10, 2)); });
    if (failure.status != GPUJOIN_ERROR_SPILL) return 1;
    if (failure.message.find("No space left on device") == std::string::npos) return 2;
    if (failure.message.find(folder->path()) == std::string::npos) return 3;
    if (folder->used_bytes() != 600 << 10) return 4;
    // And has made room again, for another file too.
    {
      SpillFile other(folder);
      if (append(other, bytes_of(400 << 10, 3)) != 0) return 5;
    }
    Bytes const second = bytes_of(400 << 10, 4);
    if (append(file, second) != 600 << 10) return 6;
    if (read(file, 0, 600 << 10) != first || read(file, 600 << 10, 400 << 10) != second) return 7;
    // What is released is free.
    file.release(0, 600 << 10);
    if (folder->used_bytes() != 400 << 10) return 8;
    if (append(file, first) != 1000 << 10) return 9;
    if (read(file, 600 << 10, 400 << 10) != second) return 10;
    return read(file, 1000 << 10, 600 << 10) == first ? 0 : 11;
  });
  if (answer == kMayNot) GTEST_SKIP() << "this process may not mount a file system";
  EXPECT_EQ(answer, 0);
}

}  // namespace
}  // namespace gpujoin::tests
