// join_plan.hpp: a plan is a value. It names one technique for each stage; the planner writes it,
// explain prints it, the executors obey it, tests and benchmarks write it by hand.
#pragma once

#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "gpujoin.h"

namespace gpujoin::plan {

enum class Device : int32_t { kCuda = GPUJOIN_DEVICE_CUDA, kCpu = GPUJOIN_DEVICE_CPU };

// How host columns reach the device.
enum class Transfer : int32_t { kNone = 1, kExplicitCopies = 2 };

enum class Transform : int32_t {
  kNone = GPUJOIN_TRANSFORM_NONE,
  kRadixOnesweep = GPUJOIN_TRANSFORM_RADIX_ONESWEEP,
  kRadixSort = GPUJOIN_TRANSFORM_RADIX_SORT,
};

enum class Match : int32_t {
  kGlobalTable = GPUJOIN_MATCH_GLOBAL_TABLE,
  kCoPartitions = GPUJOIN_MATCH_CO_PARTITIONS,
  kMergePath = GPUJOIN_MATCH_MERGE_PATH,
};

// How the match finds room for its pairs.
enum class Output : int32_t {
  // Blocks reserve exactly what they write from a range that grows; nothing is probed twice.
  kGrown = 1,
  // The match knows its counts before it writes: one exact allocation.
  kCounted = 2,
};

enum class Gather : int32_t {
  kUntransformed = GPUJOIN_GATHER_UNTRANSFORMED,
  kTransformed = GPUJOIN_GATHER_TRANSFORMED,
};

enum class Side : int32_t { kLeft = GPUJOIN_SIDE_LEFT, kRight = GPUJOIN_SIDE_RIGHT };

struct JoinPlan {
  Device device = Device::kCpu;
  Transfer transfer = Transfer::kNone;
  Transform transform = Transform::kNone;
  Match match = Match::kGlobalTable;
  Output output = Output::kGrown;
  Gather gather = Gather::kUntransformed;
  Side build_side = Side::kLeft;
  int32_t radix_bits = 0;     // of kRadixOnesweep: log2 of the number of partitions
  int64_t expected_rows = 0;  // the first output capacity; wrong is slower, never incorrect
  auto operator<=>(const JoinPlan&) const = default;
};

// One line: "cuda build=left transform=radix_onesweep(15) match=co_partitions output=grown
// gather=transformed".
std::string to_text(const JoinPlan& plan);

// The name of the paper's algorithm that the plan is, or "" ("PHJ-OM", "PHJ-GFUR", "SMJ-OM",
// "SMJ-UM", "NOP", "CPU-RADIX").
std::string algorithm_name(const JoinPlan& plan);

// Why the plan cannot be executed, or nullopt when it can. The one legality function: executors,
// planner and tests ask it.
std::optional<std::string> why_illegal(const JoinPlan& plan);

// Every legal combination of techniques for the device: what every_plan_test runs. radix_bits and
// expected_rows are left 0.
std::vector<JoinPlan> legal_plans(Device device);

const char* to_text(Transfer value);
const char* to_text(Transform value);
const char* to_text(Match value);
const char* to_text(Output value);
const char* to_text(Gather value);
const char* to_text(Side value);

}  // namespace gpujoin::plan
