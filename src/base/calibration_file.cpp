#include "src/base/calibration_file.hpp"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <charconv>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <map>
#include <memory>
#include <sstream>
#include <string_view>
#include <vector>

#include "gpujoin.h"
#include "src/base/status.hpp"

namespace gpujoin::base {

namespace {

constexpr const char* kFirst = "gpujoin_calibration";
constexpr const char* kFormat = "1";
constexpr const char* kLast = "end";
constexpr size_t kMostBytes = 64 << 10;  // what is longer is another file, and is not read further

constexpr std::array kRates = {
    Rate{"copy_bytes_per_second", &DeviceFacts::copy_bytes_per_second},
    Rate{"random_reads_per_second", &DeviceFacts::random_reads_per_second},
    Rate{"l2_random_reads_per_second", &DeviceFacts::l2_random_reads_per_second},
    Rate{"random_inserts_per_second", &DeviceFacts::random_inserts_per_second},
    Rate{"l2_random_inserts_per_second", &DeviceFacts::l2_random_inserts_per_second},
    Rate{"radix_pass_rows_per_second", &DeviceFacts::radix_pass_rows_per_second},
    Rate{"shared_probe_rows_per_second", &DeviceFacts::shared_probe_rows_per_second},
    Rate{"merge_rows_per_second", &DeviceFacts::merge_rows_per_second},
    Rate{"emitted_pairs_per_second", &DeviceFacts::emitted_pairs_per_second},
    Rate{"further_pairs_per_second", &DeviceFacts::further_pairs_per_second},
    Rate{"host_link_bytes_per_second", &DeviceFacts::host_link_bytes_per_second},
    Rate{"launch_seconds", &DeviceFacts::launch_seconds},
};

std::string processor_name() {
  std::ifstream lines("/proc/cpuinfo");
  for (std::string line; std::getline(lines, line);) {
    if (!line.starts_with("model name")) continue;
    const size_t name = line.find_first_not_of(" \t:", std::strlen("model name"));
    if (name != std::string::npos) return line.substr(name);
  }
  return "unknown CPU";
}

struct Line {
  std::string name;
  std::string value;
};

// What a file must say of the device that it is for.
std::vector<Line> header_of(const DeviceFacts& facts) {
  std::vector<Line> lines = {{"library", text("%d.%d.%d", GPUJOIN_VERSION_MAJOR,
                                              GPUJOIN_VERSION_MINOR, GPUJOIN_VERSION_PATCH)}};
  if (facts.is_cuda) {
    const int32_t capability = facts.compute_capability;
    lines.push_back({"device", facts.name});
    lines.push_back({"architecture", text("%d.%d", capability / 10, capability % 10)});
    lines.push_back({"multiprocessors", std::to_string(facts.sm_count)});
  } else {
    lines.push_back({"device", processor_name()});
    lines.push_back({"architecture", "cpu"});
    lines.push_back({"threads", std::to_string(facts.cpu_threads)});
  }
  return lines;
}

// A CPU has no host link: its figure is 0 and no line.
bool has(const DeviceFacts& facts, const Rate& rate) { return facts.*rate.value > 0; }

std::string text_of(const DeviceFacts& facts) {
  std::string file = text("%s %s\n", kFirst, kFormat);
  for (const Line& line : header_of(facts)) file += line.name + " " + line.value + "\n";
  for (const Rate& rate : kRates) {
    if (has(facts, rate)) file += text("%s %.6g\n", rate.name, facts.*rate.value);
  }
  return file + kLast + "\n";
}

std::string read_whole(const std::string& path, const char* what) {
  errno = 0;
  std::ifstream file(path, std::ios::binary);
  std::string bytes(kMostBytes + 1, '\0');
  file.read(bytes.data(), static_cast<std::streamsize>(bytes.size()));
  if (!file.eof()) {
    const char* why = errno != 0 ? std::strerror(errno) : "it is too long for a calibration file";
    fail(GPUJOIN_ERROR_INVALID_ARGUMENT, "%s: cannot read %s: %s", what, path.c_str(), why);
  }
  bytes.resize(static_cast<size_t>(file.gcount()));
  return bytes;
}

// By name, in lines "name value" between the first line and the last.
std::map<std::string, std::string> lines_of(const std::string& path, const char* what) {
  const auto malformed = [&](const std::string& why) {
    fail(GPUJOIN_ERROR_INVALID_ARGUMENT, "%s: %s is no complete calibration file: %s", what,
         path.c_str(), why.c_str());
  };
  const std::string bytes = read_whole(path, what);
  if (!bytes.starts_with(text("%s %s\n", kFirst, kFormat))) {
    malformed(text("its first line is not '%s %s'", kFirst, kFormat));
  }
  if (!bytes.ends_with(text("\n%s\n", kLast))) malformed(text("its last line is not '%s'", kLast));
  std::istringstream lines(bytes);
  std::map<std::string, std::string> found;
  std::string line;
  std::getline(lines, line);
  while (std::getline(lines, line) && line != kLast) {
    const size_t space = line.find(' ');
    if (space == std::string::npos) malformed("a line is not 'name value'");
    if (!found.emplace(line.substr(0, space), line.substr(space + 1)).second) {
      malformed(line.substr(0, space) + " is given twice");
    }
  }
  return found;
}

double rate_of(std::string_view value) {
  double number = 0;
  const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), number);
  const bool whole = error == std::errc{} && end == value.data() + value.size();
  return whole && std::isfinite(number) ? number : 0;
}

}  // namespace

std::span<const Rate> all_rates() { return kRates; }

DeviceFacts read_calibration(const DeviceFacts& facts, const std::string& path, const char* what) {
  std::map<std::string, std::string> lines = lines_of(path, what);
  for (const Line& expected : header_of(facts)) {
    const auto line = lines.find(expected.name);
    if (line == lines.end() || line->second != expected.value) {
      const std::string found = line == lines.end() ? "none" : "'" + line->second + "'";
      fail(GPUJOIN_ERROR_INVALID_ARGUMENT,
           "%s: %s is of another device or library: its %s is %s, here it is '%s'; calibrate again",
           what, path.c_str(), expected.name.c_str(), found.c_str(), expected.value.c_str());
    }
    lines.erase(line);
  }
  DeviceFacts measured = facts;
  measured.calibrated = true;
  for (const Rate& rate : kRates) {
    const auto line = lines.find(rate.name);
    if (line == lines.end() && !has(facts, rate)) continue;
    const double value = line == lines.end() ? 0 : rate_of(line->second);
    if (!(value > 0)) {
      fail(GPUJOIN_ERROR_INVALID_ARGUMENT, "%s: %s: %s is %s", what, path.c_str(), rate.name,
           line == lines.end() ? "missing" : "no number above 0");
    }
    measured.*rate.value = value;
    lines.erase(line);
  }
  if (!lines.empty()) {
    fail(GPUJOIN_ERROR_INVALID_ARGUMENT, "%s: %s: '%s' is no rate of this library", what,
         path.c_str(), lines.begin()->first.c_str());
  }
  return measured;
}

CalibrationFile::CalibrationFile(std::string path, const char* what)
    : path_(std::move(path)), what_(what) {
  resolve_link();
  struct stat there {};
  bool const is_there = stat(path_.c_str(), &there) == 0;
  if (!is_there && (errno != ENOENT || path_.empty())) fail_to("write");
  // A device, a pipe or a folder would be replaced by a file of its name.
  if (is_there && !S_ISREG(there.st_mode)) {
    fail(GPUJOIN_ERROR_INVALID_ARGUMENT, "%s: cannot write %s: it is no regular file", what_,
         path_.c_str());
  }
  unfinished_ = path_ + ".XXXXXX";
  file_ = mkostemp(unfinished_.data(), O_CLOEXEC);
  if (file_ < 0) fail_to("write beside");
}

// The file that a link leads to is replaced, not the link.
void CalibrationFile::resolve_link() {
  struct stat there {};
  if (lstat(path_.c_str(), &there) != 0 || !S_ISLNK(there.st_mode)) return;
  const std::unique_ptr<char, decltype(&std::free)> target(realpath(path_.c_str(), nullptr),
                                                           &std::free);
  if (target == nullptr) fail_to("write");
  path_ = target.get();
}

CalibrationFile::~CalibrationFile() {
  if (file_ < 0) return;
  close(file_);
  if (!unfinished_.empty()) unlink(unfinished_.c_str());
}

void CalibrationFile::commit(const DeviceFacts& facts) {
  const std::string bytes = text_of(facts);
  errno = ENOSPC;  // what a short write means; the rest may set another one
  if (write(file_, bytes.data(), bytes.size()) != static_cast<ssize_t>(bytes.size()) ||
      fchmod(file_, S_IRUSR | S_IWUSR | S_IRGRP | S_IROTH) != 0 || fsync(file_) != 0 ||
      rename(unfinished_.c_str(), path_.c_str()) != 0) {
    fail_to("write");
  }
  unfinished_.clear();
}

void CalibrationFile::fail_to(const char* doing) const {
  fail(GPUJOIN_ERROR_INVALID_ARGUMENT, "%s: cannot %s %s: %s", what_, doing, path_.c_str(),
       std::strerror(errno));
}

}  // namespace gpujoin::base
