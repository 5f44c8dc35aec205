// calibration_file.hpp: the measured rates of a machine as a file of text.
//
//   gpujoin_calibration 1
//   library 0.2.0
//   device NVIDIA H200
//   architecture 9.0
//   multiprocessors 132          (of a CPU: architecture cpu, threads 16)
//   copy_bytes_per_second 4.288e+12
//   ...                          one line for each rate that the device has, any order
//   end
//
// A file is used whole or not at all: rates are comparable among each other only when they are of
// one device, number of units and version of what was measured.
#pragma once

#include <span>
#include <string>

#include "src/base/device_facts.hpp"

namespace gpujoin::base {

struct Rate {
  const char* name;
  double DeviceFacts::*value;
};
// All rates of the facts, in the order of their declaration.
std::span<const Rate> all_rates();

// The facts with the rates of the file, calibrated. Throws INVALID_ARGUMENT, naming `what`, for a
// file that cannot be read, is not complete or is of another device.
DeviceFacts read_calibration(const DeviceFacts& facts, const std::string& path, const char* what);

// A file that appears under its name when it is complete, replacing one that is there, which must
// be a regular one. It is opened before anything is measured, so that a path that cannot be written
// fails at once.
class CalibrationFile {
 public:
  // Throws INVALID_ARGUMENT, naming `what`; so does commit.
  CalibrationFile(std::string path, const char* what);
  ~CalibrationFile();
  CalibrationFile(const CalibrationFile&) = delete;
  CalibrationFile& operator=(const CalibrationFile&) = delete;

  void commit(const DeviceFacts& facts);

 private:
  void resolve_link();
  [[noreturn]] void fail_to(const char* doing) const;

  std::string path_;
  std::string unfinished_;  // beside path_, on the same file system; empty once renamed
  const char* what_;
  int file_ = -1;
};

}  // namespace gpujoin::base
