#include "bench/kernel_trace.hpp"

#include <fstream>
#include <iomanip>
#include <sstream>
#include <stdexcept>

namespace gpujoin::bench {

namespace {

std::string quoted(const std::string& text) {
  std::string quoted = "\"";
  for (const char c : text) {
    if (c == '"' || c == '\\') quoted += '\\';
    if (c >= ' ') quoted += c;
  }
  return quoted + '"';
}

std::string json_of(const KernelFigures& kernel) {
  std::ostringstream json;
  json << "{\"name\": " << quoted(kernel.name) << ", \"launches\": " << kernel.launches
       << ", \"ms\": " << kernel.milliseconds << ", \"blocks\": " << kernel.blocks
       << ", \"threads\": " << kernel.threads << ", \"registers\": " << kernel.registers
       << ", \"static_shared_bytes\": " << kernel.static_shared_bytes
       << ", \"dynamic_shared_bytes\": " << kernel.dynamic_shared_bytes
       << ", \"local_bytes\": " << kernel.local_bytes
       << ", \"resident_blocks\": " << kernel.resident_blocks
       << ", \"occupancy\": " << kernel.occupancy << "}";
  return json.str();
}

}  // namespace

std::string short_kernel_name(const std::string& demangled) {
  std::string name;
  int depth = 0;
  for (size_t i = 0; i < demangled.size(); ++i) {
    const char c = demangled[i];
    if (demangled.compare(i, 21, "(anonymous namespace)") == 0) {
      i += 20;
    } else if (c == '<') {
      ++depth;
    } else if (c == '>') {
      --depth;
    } else if (depth == 0 && c == '(') {
      break;
    } else if (depth == 0 && (c == ' ' || c == ':')) {
      name.clear();
    } else if (depth == 0) {
      name += c;
    }
  }
  return name;
}

void append_kernels(const std::string& json_file, const TracedKernels& kernels) {
  std::stringstream read;
  read << std::ifstream(json_file, std::ios::binary).rdbuf();
  std::string json = read.str();
  const size_t end = json.rfind('}');
  if (end == std::string::npos)
    throw std::runtime_error(json_file + " is no JSON to add kernels to");
  json.resize(json.find_last_not_of(" \n", end - 1) + 1);
  json += ",\n  \"kernels\": {";
  const char* between_names = "\n";
  for (const auto& [name, figures] : kernels) {
    json += between_names + ("    " + quoted(name)) + ": [";
    const char* between = "\n      ";
    for (const KernelFigures& kernel : figures) {
      json += between + json_of(kernel);
      between = ",\n      ";
    }
    json += "]";
    between_names = ",\n";
  }
  json += "\n  }\n}\n";
  std::ofstream written(json_file, std::ios::binary | std::ios::trunc);
  written << json;
  if (!written.flush()) throw std::runtime_error("cannot write " + json_file);
}

std::string json_of(const std::vector<DeviceInterval>& intervals) {
  const auto microseconds = [](uint64_t nanoseconds) {
    return 1e-3 * static_cast<double>(nanoseconds);
  };
  std::ostringstream json;
  json << std::fixed << std::setprecision(3) << "[";
  const char* between = "\n";
  for (const DeviceInterval& interval : intervals) {
    json << between << "[" << quoted(interval.name) << ", " << interval.stream << ", "
         << microseconds(interval.start - intervals.front().start) << ", "
         << microseconds(interval.end - interval.start) << ", " << interval.bytes << "]";
    between = ",\n";
  }
  json << "\n]";
  return json.str();
}

#if !GPUJOIN_BENCH_WITH_CUPTI
std::unique_ptr<KernelTrace> make_kernel_trace(std::string& why_not) {
  why_not = "built without CUPTI: scripts/setup installs it";
  return nullptr;
}
#endif

}  // namespace gpujoin::bench
