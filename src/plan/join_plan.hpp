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

// How host columns reach the device. kNone: all columns are there already.
enum class Transfer : int32_t {
  kNone = GPUJOIN_TRANSFER_NONE,
  kExplicitCopies = GPUJOIN_TRANSFER_EXPLICIT_COPIES,
  kOverlappedCopies = GPUJOIN_TRANSFER_OVERLAPPED_COPIES,
  kManaged = GPUJOIN_TRANSFER_MANAGED,
  kManagedPrefetch = GPUJOIN_TRANSFER_MANAGED_PREFETCH,
  kZeroCopy = GPUJOIN_TRANSFER_ZERO_COPY,
  kProbeChunks = GPUJOIN_TRANSFER_PROBE_CHUNKS,
};

enum class Transform : int32_t {
  kNone = GPUJOIN_TRANSFORM_NONE,
  kRadixOnesweep = GPUJOIN_TRANSFORM_RADIX_ONESWEEP,
  kRadixSort = GPUJOIN_TRANSFORM_RADIX_SORT,
  kHistogramThread = GPUJOIN_TRANSFORM_HISTOGRAM_THREAD,
  kHistogramWarp = GPUJOIN_TRANSFORM_HISTOGRAM_WARP,
  kHistogramBlock = GPUJOIN_TRANSFORM_HISTOGRAM_BLOCK,
  kBucketChains = GPUJOIN_TRANSFORM_BUCKET_CHAINS,
  kMergeSort = GPUJOIN_TRANSFORM_MERGE_SORT,
  kRadixUnordered = GPUJOIN_TRANSFORM_RADIX_UNORDERED,
  kWriteCombined = GPUJOIN_TRANSFORM_WRITE_COMBINED,
};

// How partitions of unequal size are spread over thread blocks.
enum class Skew : int32_t {
  kNone = GPUJOIN_SKEW_NONE,
  kWorkUnits = GPUJOIN_SKEW_WORK_UNITS,
  kRedistributedBlocks = GPUJOIN_SKEW_REDISTRIBUTED_BLOCKS,
  kChildKernels = GPUJOIN_SKEW_CHILD_KERNELS,
};

enum class Match : int32_t {
  kGlobalTable = GPUJOIN_MATCH_GLOBAL_TABLE,
  kCoPartitions = GPUJOIN_MATCH_CO_PARTITIONS,
  kMergePath = GPUJOIN_MATCH_MERGE_PATH,
  kNestedLoop = GPUJOIN_MATCH_NESTED_LOOP,
  kMergeTwoBounds = GPUJOIN_MATCH_MERGE_TWO_BOUNDS,
  kMergeOneBound = GPUJOIN_MATCH_MERGE_ONE_BOUND,
  kRowMultiset = GPUJOIN_MATCH_ROW_MULTISET,
  kDirectTable = GPUJOIN_MATCH_DIRECT_TABLE,
  kMergeTiles = GPUJOIN_MATCH_MERGE_TILES,
};

// How the match finds room for its pairs.
enum class Output : int32_t {
  // Blocks reserve exactly what they write from a range that grows; nothing is probed twice.
  kGrown = GPUJOIN_OUTPUT_GROWN,
  // The match knows its counts before it writes: one exact allocation.
  kCounted = GPUJOIN_OUTPUT_COUNTED,
  kThreadPages = GPUJOIN_OUTPUT_THREAD_PAGES,
  kBlockChunks = GPUJOIN_OUTPUT_BLOCK_CHUNKS,
  kTwoPasses = GPUJOIN_OUTPUT_TWO_PASSES,
  kEstimatedGroups = GPUJOIN_OUTPUT_ESTIMATED_GROUPS,
};

enum class Gather : int32_t {
  kUntransformed = GPUJOIN_GATHER_UNTRANSFORMED,
  kTransformed = GPUJOIN_GATHER_TRANSFORMED,
  kCarried = GPUJOIN_GATHER_CARRIED,           // nothing is gathered: the match writes columns
  kCarriedRows = GPUJOIN_GATHER_CARRIED_ROWS,  // the match writes row numbers, as it would columns
};

// What of the key columns is joined.
enum class Keys : int32_t {
  kPlain = 1,   // the columns as they are
  kPacked = 2,  // one code of 4 or 8 bytes: the bits that vary (src/keys/encoding.hpp)
  kHashed = 3,  // a hash of several columns that do not fit; pairs are verified
};

// Which rows are left out before they are moved, beside those with NULL keys.
enum class Filter : int32_t {
  kNone = GPUJOIN_FILTER_NONE,
  kKeyBits = GPUJOIN_FILTER_KEY_BITS,
  kKeyHashes = GPUJOIN_FILTER_KEY_HASHES,
};

// Of kDirectTable: how far apart rows that lie near each other have their places, on both sides;
// wrong is slower, never incorrect.
enum class PlacesOfNeighbours : int32_t {
  kAnywhere,     // a table that is no more than a slice stays in a cache, others go slice by slice
  kNear,         // rows that blocks work on at a time are of a part of it that does
  kInFewSlices,  // and those of a tile of kNearTile build rows of few slices in shared memory
};

enum class Side : int32_t { kLeft = GPUJOIN_SIDE_LEFT, kRight = GPUJOIN_SIDE_RIGHT };

struct JoinPlan {
  Device device = Device::kCpu;
  Transfer transfer = Transfer::kNone;
  Keys keys = Keys::kPlain;
  Filter filter = Filter::kNone;
  Transform transform = Transform::kNone;
  Skew skew = Skew::kNone;
  Match match = Match::kGlobalTable;
  Output output = Output::kGrown;
  Gather gather = Gather::kUntransformed;
  Side build_side = Side::kLeft;
  int32_t radix_bits = 0;  // of the partitioning transforms: log2 of the number of partitions
  int32_t passes = 0;      // of the papers' partitionings: 1 or 2; 0 = as few as the bits allow
  int32_t page_pairs = 0;  // of kThreadPages and kBlockChunks; 0 = the library decides
  int64_t probe_chunk_rows = 0;  // of kProbeChunks; 0 = the library decides
  PlacesOfNeighbours neighbours = PlacesOfNeighbours::kAnywhere;
  bool rows_stay = false;  // of kDirectTable: build rows that lie at their places are read there
  bool asks_near =
      false;  // of kDirectTable: neighbours ask few places, which first-level caches hold
  int64_t expected_rows = 0;  // the first output capacity; wrong is slower, never incorrect
  int64_t expected_hot_rows =
      0;  // of them, those of build keys with many rows (hot_draws of sample_rule.hpp)
  int32_t expected_matches = 0;  // of a probe row that has some, on average; 0: nobody counted
  bool matches_vary = false;     // some have many times as many as others
  auto operator<=>(const JoinPlan&) const = default;
};

// Partition bits of the CPU's plans; those of CUDA are in kernels/limits.hpp.
inline constexpr int32_t kMostRadixBitsCpu = 14;

// Whether the library has the techniques of src/papers.
bool has_papers();
// Techniques of src/papers: those of the papers that the planner takes for nobody who does not name
// them. Of chunks of blocks only those that pairs are written in.
bool is_of_papers(Transfer transfer);
bool is_of_papers(Transform transform);
bool is_of_papers(Skew skew);
bool is_of_papers(Match match);
bool is_of_papers(Output output, Gather gather);
// Which technique of the plan the library was built without, or nullopt; the last of why_illegal's
// reasons.
std::optional<std::string> why_missing(const JoinPlan& plan);

// Families of techniques, which the stages share.
bool partitions(Transform transform);
bool partitions_in_passes(Transform transform);  // those whose passes can be named
bool sorts(Transform transform);
bool joins_partitions(Match match);
bool probes_table(Match match);      // of the whole build side, of one key column
bool merges(Match match);            // sides that were sorted, to pairs
bool writes_columns(Gather gather);  // the match does, of payloads or of row numbers
// Of a partitioning in passes: partition bits that one pass can do. 16 for kRadixOnesweep, which
// makes its own passes.
int32_t most_bits_per_pass(Transform transform);
// The passes of a plan of a partitioning transform: as named, or as few as its bits allow, but two
// where these are the faster.
int32_t passes_of(const JoinPlan& plan);

// One line: "cuda build=left transform=radix_onesweep(15) match=co_partitions output=grown
// gather=transformed".
std::string to_text(const JoinPlan& plan);

// The name of the paper's algorithm that the plan is, or "" ("PHJ-OM", "PHJ-GFUR", "PHJ-UM",
// "SMJ-OM", "SMJ-UM", "NOP", "ROW-MULTISET", "CPU-RADIX", and ours, with "-CARRIED").
std::string algorithm_name(const JoinPlan& plan);

// Why the plan cannot be executed on keys of so many columns, or nullopt when it can. The one
// legality function: executors, planner and tests ask it.
std::optional<std::string> why_illegal(const JoinPlan& plan, int32_t key_count = 1);

// The values that each field may take; an empty list is every value there is.
struct Choices {
  std::vector<Filter> filters;
  std::vector<Transform> transforms;
  std::vector<Skew> skews;
  std::vector<Match> matches;
  std::vector<Output> outputs;
  std::vector<Gather> gathers;
  std::vector<Side> build_sides;
  std::vector<int32_t> passes = {0};
  std::vector<Keys> keys = {Keys::kPlain};
  auto operator<=>(const Choices&) const = default;
};

// Every legal combination of the choices, of keys of so many columns and inputs that need no
// transfer.
std::vector<JoinPlan> plans_of(Device device, const Choices& choices, int32_t key_count = 1);

// Every legal combination of techniques for the device, in one pass and in two where passes can be
// named: what every_plan_test runs. Numbers other than passes are left 0. Found once: why all the
// others are illegal is put together to be thrown away, in 4 ms.
const std::vector<JoinPlan>& legal_plans(Device device);

const char* to_text(Transfer value);
const char* to_text(Keys value);
const char* to_text(Filter value);
const char* to_text(Transform value);
const char* to_text(Skew value);
const char* to_text(Match value);
const char* to_text(Output value);
const char* to_text(Gather value);
const char* to_text(Side value);

}  // namespace gpujoin::plan
