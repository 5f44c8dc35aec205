#include "src/plan/join_plan.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <map>
#include <set>

namespace gpujoin::plan {
namespace {

JoinPlan plan_of(Transform transform, Match match, Output output, Gather gather) {
  JoinPlan plan;
  plan.device = Device::kCuda;
  plan.transform = transform;
  plan.match = match;
  plan.output = output;
  plan.gather = gather;
  plan.skew = joins_partitions(match) ? Skew::kWorkUnits : Skew::kNone;
  return plan;
}

const JoinPlan kPhjOm =
    plan_of(Transform::kRadixOnesweep, Match::kCoPartitions, Output::kGrown, Gather::kTransformed);
const JoinPlan kNop =
    plan_of(Transform::kNone, Match::kGlobalTable, Output::kGrown, Gather::kUntransformed);
const JoinPlan kPhjCarried = plan_of(Transform::kRadixUnordered, Match::kCoPartitions,
                                     Output::kBlockChunks, Gather::kCarried);
const JoinPlan kNopCarried =
    plan_of(Transform::kNone, Match::kGlobalTable, Output::kBlockChunks, Gather::kCarried);
const JoinPlan kDirectCarried =
    plan_of(Transform::kNone, Match::kDirectTable, Output::kBlockChunks, Gather::kCarried);
const JoinPlan kSmjUm =
    plan_of(Transform::kRadixSort, Match::kMergePath, Output::kCounted, Gather::kUntransformed);

void expect_illegal(const JoinPlan& plan, const std::string& reason) {
  const std::optional<std::string> why = why_illegal(plan);
  ASSERT_TRUE(why.has_value()) << to_text(plan);
  EXPECT_NE(why->find(reason), std::string::npos) << *why;
  EXPECT_EQ(algorithm_name(plan), "");
}

TEST(LegalPlans, CudaHasTheNamedAlgorithmsOnEitherBuildSide) {
  std::map<std::string, int> count;
  for (const JoinPlan& plan : legal_plans(Device::kCuda)) {
    EXPECT_EQ(plan.device, Device::kCuda);
    EXPECT_EQ(plan.radix_bits, 0);
    EXPECT_EQ(plan.expected_rows, 0);
    EXPECT_EQ(plan.transfer, Transfer::kNone);
    if (!algorithm_name(plan).empty()) ++count[algorithm_name(plan)];
  }
  const std::map<std::string, int> expected = {
      {"NOP", 2},         {"PHJ-OM", 2},         {"PHJ-GFUR", 2},     {"PHJ-UM", 4},
      {"SMJ-OM", 2},      {"SMJ-UM", 2},         {"ROW-MULTISET", 2}, {"PHJ-CARRIED", 4},
      {"NOP-CARRIED", 2}, {"DIRECT-CARRIED", 2}, {"SMJ-CARRIED", 2},  {"PDJ-CARRIED", 2}};
  EXPECT_EQ(count, expected);
}

TEST(LegalPlans, CpuHasOneAlgorithmWithBothGathersOnEitherBuildSide) {
  const std::vector<JoinPlan> plans = legal_plans(Device::kCpu);
  EXPECT_EQ(plans.size(), 4U);
  for (const JoinPlan& plan : plans) EXPECT_EQ(algorithm_name(plan), "CPU-RADIX");
}

TEST(LegalPlans, NoneTwice) {
  const std::vector<JoinPlan> plans = legal_plans(Device::kCuda);
  EXPECT_EQ(std::set<JoinPlan>(plans.begin(), plans.end()).size(), plans.size());
}

TEST(WhyIllegal, GatherTransformedNeedsATransform) {
  JoinPlan plan = kNop;
  plan.gather = Gather::kTransformed;
  expect_illegal(plan, "gather=transformed needs a transform that moves payloads");
}

TEST(WhyIllegal, CoPartitionsNeedPartitions) {
  JoinPlan plan = kPhjOm;
  plan.transform = Transform::kRadixSort;
  expect_illegal(plan, "needs both sides partitioned, and transform=radix_sort does not");
  plan.transform = Transform::kNone;
  plan.gather = Gather::kUntransformed;
  expect_illegal(plan, "needs both sides partitioned, and transform=none does not");
}

TEST(WhyIllegal, MergePathNeedsSortedSides) {
  JoinPlan plan = kSmjUm;
  plan.transform = Transform::kRadixOnesweep;
  expect_illegal(plan, "needs both sides sorted, and transform=radix_onesweep does not");
  plan.transform = Transform::kNone;
  expect_illegal(plan, "needs both sides sorted, and transform=none does not");
}

TEST(WhyIllegal, GlobalTableWastesATransform) {
  JoinPlan plan = kNop;
  plan.transform = Transform::kRadixSort;
  expect_illegal(plan, "transform=radix_sort would be wasted");
}

TEST(WhyIllegal, OutputFollowsTheMatch) {
  JoinPlan plan = kPhjOm;
  plan.output = Output::kCounted;
  expect_illegal(plan, "output=counted needs a match that knows its counts first");
  plan = kSmjUm;
  plan.output = Output::kGrown;
  expect_illegal(plan, "its output is counted, not grown");
}

TEST(WhyIllegal, RadixBitsHaveARangeOnEachDevice) {
  JoinPlan plan = kPhjOm;
  for (const int32_t bits : {0, 1, 16}) {
    plan.radix_bits = bits;
    EXPECT_EQ(why_illegal(plan), std::nullopt) << bits;
  }
  for (const int32_t bits : {-1, 17}) {
    plan.radix_bits = bits;
    expect_illegal(plan, "is out of range: 1 to 16 on CUDA");
  }
  plan.device = Device::kCpu;
  plan.radix_bits = 14;
  EXPECT_EQ(why_illegal(plan), std::nullopt);
  plan.radix_bits = 15;
  expect_illegal(plan, "radix_bits=15 is out of range: 1 to 14 on the CPU");
}

TEST(WhyIllegal, RadixBitsBelongToPartitions) {
  JoinPlan plan = kSmjUm;
  plan.radix_bits = 8;
  expect_illegal(plan, "radix_bits=8 needs a transform that partitions, not radix_sort");
}

TEST(WhyIllegal, CpuHasRadixOnesweepAndNoCopies) {
  JoinPlan plan = kNop;
  plan.device = Device::kCpu;
  expect_illegal(plan, "the CPU executor has transform=radix_onesweep only, not none");
  plan = kPhjOm;
  plan.device = Device::kCpu;
  plan.transfer = Transfer::kExplicitCopies;
  expect_illegal(plan, "the CPU reads host memory where it is");
}

TEST(WhyIllegal, NumbersThatNameNothing) {
  JoinPlan plan = kPhjOm;
  plan.match = static_cast<Match>(GPUJOIN_MATCH_MERGE_TILES + 1);
  expect_illegal(plan, "a number that names no technique");
  for (const int32_t number : {0, GPUJOIN_FILTER_KEY_HASHES + 1}) {
    plan = kPhjCarried;
    plan.filter = static_cast<Filter>(number);
    expect_illegal(plan, "a number that names no technique");
  }
  plan = kPhjOm;
  plan.build_side = static_cast<Side>(0);
  expect_illegal(plan, "a number that names no technique");
}

TEST(WhyIllegal, CarriedPartitionsHaveOneCombinationInWhichTheyAreLegal) {
  EXPECT_EQ(why_illegal(kPhjCarried), std::nullopt);
  EXPECT_EQ(algorithm_name(kPhjCarried), "PHJ-CARRIED");
  JoinPlan plan = kPhjCarried;
  plan.build_side = Side::kRight;
  plan.radix_bits = 16;
  plan.passes = 2;
  EXPECT_EQ(why_illegal(plan), std::nullopt);

  const std::string needs =
      "gather=carried needs a match that writes columns, which were moved all at once or lie where "
      "they were: transform=radix_unordered and match=co_partitions, or match=global_table, "
      "direct_table or merge_tiles, not ";
  for (int32_t number = GPUJOIN_TRANSFORM_NONE; number <= GPUJOIN_TRANSFORM_RADIX_UNORDERED;
       ++number) {
    plan = kPhjCarried;
    plan.transform = static_cast<Transform>(number);
    if (plan.transform == Transform::kRadixUnordered) continue;
    expect_illegal(plan, needs + to_text(plan.transform) + " and co_partitions");
  }
  for (int32_t number = GPUJOIN_MATCH_GLOBAL_TABLE; number <= GPUJOIN_MATCH_MERGE_TILES; ++number) {
    plan = kPhjCarried;
    plan.match = static_cast<Match>(number);
    if (plan.match == Match::kCoPartitions) continue;
    if (probes_table(plan.match)) {
      expect_illegal(plan, std::string("match=") + to_text(plan.match) +
                               " finds keys wherever they are: transform=radix_unordered would be "
                               "wasted");
    } else if (plan.match == Match::kMergeTiles) {
      expect_illegal(plan, "match=merge_tiles joins sides in order where they lie");
    } else {
      expect_illegal(plan, needs + "radix_unordered and " + to_text(plan.match));
    }
  }
  for (int32_t number = GPUJOIN_OUTPUT_GROWN; number <= GPUJOIN_OUTPUT_ESTIMATED_GROUPS; ++number) {
    plan = kPhjCarried;
    plan.output = static_cast<Output>(number);
    if (plan.output == Output::kBlockChunks) continue;
    expect_illegal(plan, std::string("output=block_chunks and skew=work_units, not ") +
                             to_text(plan.output) + " and work_units");
  }
  for (int32_t number = GPUJOIN_SKEW_NONE; number <= GPUJOIN_SKEW_CHILD_KERNELS; ++number) {
    plan = kPhjCarried;
    plan.skew = static_cast<Skew>(number);
    if (plan.skew == Skew::kWorkUnits) continue;
    expect_illegal(plan, std::string("output=block_chunks and skew=work_units, not block_chunks "
                                     "and ") +
                             to_text(plan.skew));
  }
}

TEST(WhyIllegal, TablesThatWriteColumnsMoveNothingAndHaveNoPartitions) {
  for (const auto& [legal, name] :
       {std::pair{kNopCarried, "NOP-CARRIED"}, std::pair{kDirectCarried, "DIRECT-CARRIED"}}) {
    EXPECT_EQ(why_illegal(legal), std::nullopt);
    EXPECT_EQ(algorithm_name(legal), name);
    JoinPlan plan = legal;
    plan.build_side = Side::kRight;
    plan.transfer = Transfer::kOverlappedCopies;
    EXPECT_EQ(why_illegal(plan), std::nullopt);
    EXPECT_EQ(algorithm_name(plan), name);

    for (int32_t number = GPUJOIN_TRANSFORM_RADIX_ONESWEEP;
         number <= GPUJOIN_TRANSFORM_RADIX_UNORDERED; ++number) {
      plan = legal;
      plan.transform = static_cast<Transform>(number);
      expect_illegal(plan, std::string("transform=") + to_text(plan.transform) +
                               " would be wasted, name transform=none");
    }
    for (int32_t number = GPUJOIN_OUTPUT_GROWN; number <= GPUJOIN_OUTPUT_ESTIMATED_GROUPS;
         ++number) {
      plan = legal;
      plan.output = static_cast<Output>(number);
      if (plan.output == Output::kBlockChunks) continue;
      expect_illegal(plan, std::string("output=block_chunks and skew=work_units, not ") +
                               to_text(plan.output) + " and none");
    }
    for (int32_t number = GPUJOIN_SKEW_WORK_UNITS; number <= GPUJOIN_SKEW_CHILD_KERNELS; ++number) {
      plan = legal;
      plan.skew = static_cast<Skew>(number);
      expect_illegal(plan, std::string("skew=") + to_text(plan.skew) +
                               " spreads partitions over blocks, and match=" + to_text(plan.match) +
                               " has none");
    }
    plan = legal;
    plan.radix_bits = 8;
    expect_illegal(plan, "radix_bits=8 needs a transform that partitions, not none");
    plan = legal;
    plan.page_pairs = 4096;
    expect_illegal(plan, "gather=carried has chunks of one size: page_pairs must be 0");
    plan = legal;
    plan.transfer = Transfer::kProbeChunks;
    EXPECT_EQ(why_illegal(plan), std::nullopt) << "a table is asked chunk by chunk";
    const std::optional<std::string> why = why_illegal(legal, 2);
    ASSERT_TRUE(why.has_value());
    EXPECT_NE(why->find("compares one key column"), std::string::npos) << *why;
  }
}

TEST(WhyIllegal, DenseKeysWriteColumnsAndNoPairs) {
  JoinPlan plan = kDirectCarried;
  plan.gather = Gather::kUntransformed;
  expect_illegal(plan,
                 "match=direct_table writes columns: it needs gather=carried, not "
                 "untransformed");
  plan.output = Output::kGrown;
  expect_illegal(plan,
                 "match=direct_table writes columns: it needs gather=carried, not "
                 "untransformed");
  plan.gather = Gather::kTransformed;
  expect_illegal(plan,
                 "match=direct_table writes columns: it needs gather=carried, not "
                 "transformed");
  plan = kDirectCarried;
  plan.device = Device::kCpu;
  expect_illegal(plan, "the CPU executor has transform=radix_onesweep only, not none");
}

TEST(WhyIllegal, AFilterComesBeforeRowsAreMovedUnorderedOrATableThatWritesColumns) {
  JoinPlan unordered = kPhjCarried;
  unordered.gather = Gather::kUntransformed;
  unordered.output = Output::kGrown;
  for (JoinPlan plan : {kPhjCarried, unordered, kNopCarried, kDirectCarried}) {
    plan.filter = Filter::kKeyBits;
    EXPECT_EQ(why_illegal(plan), std::nullopt) << to_text(plan);
    // What leaves rows out has no name but its own.
    EXPECT_EQ(algorithm_name(plan), "");
    plan.transfer = Transfer::kOverlappedCopies;
    EXPECT_EQ(why_illegal(plan), std::nullopt) << to_text(plan);
    plan.transfer = Transfer::kProbeChunks;
    expect_illegal(plan,
                   "filter=key_bits looks at all keys first: transfer=probe_chunks brings "
                   "them by and by");
  }
  JoinPlan bits = kPhjCarried;
  bits.filter = Filter::kKeyBits;
  bits.radix_bits = 9;
  bits.passes = 1;
  EXPECT_EQ(why_illegal(bits), std::nullopt);
  bits.filter = Filter::kKeyHashes;
  EXPECT_EQ(why_illegal(bits), std::nullopt);
  bits.transfer = Transfer::kProbeChunks;
  expect_illegal(bits, "filter=key_hashes looks at all keys first");
  for (JoinPlan plan : {kPhjOm, kNop, kSmjUm}) {
    plan.filter = Filter::kKeyBits;
    expect_illegal(plan,
                   std::string("filter=key_bits leaves out rows before "
                               "transform=radix_unordered moves them, or before a table "
                               "whose probe writes columns is made; the plan has transform=") +
                       to_text(plan.transform) + ", match=" + to_text(plan.match) +
                       " and gather=" + to_text(plan.gather));
  }
  JoinPlan plan = kPhjOm;
  plan.device = Device::kCpu;
  EXPECT_EQ(why_illegal(plan), std::nullopt);
  plan.filter = Filter::kKeyBits;
  expect_illegal(plan, "filter=key_bits leaves out rows before");
}

TEST(WhyIllegal, CarriedPayloadsHaveChunksOfOneSize) {
  for (const int32_t pairs : {-1, 1, 4096, 8192}) {
    JoinPlan plan = kPhjCarried;
    plan.page_pairs = pairs;
    expect_illegal(plan, "gather=carried has chunks of one size: page_pairs must be 0");
  }
  JoinPlan plan = kPhjCarried;
  for (const Transfer transfer : {Transfer::kProbeChunks, Transfer::kOverlappedCopies}) {
    plan.transfer = transfer;
    EXPECT_EQ(why_illegal(plan), std::nullopt);
  }
  plan = kPhjCarried;
  plan.device = Device::kCpu;
  expect_illegal(plan, "the CPU executor has transform=radix_onesweep only, not radix_unordered");
  plan = kPhjOm;
  plan.device = Device::kCpu;
  plan.gather = Gather::kCarried;
  expect_illegal(plan, "gather=carried is of CUDA plans");
}

TEST(WhyIllegal, CarriedRowNumbersAreOfPartitionsOnly) {
  JoinPlan plan = kPhjCarried;
  plan.gather = Gather::kCarriedRows;
  EXPECT_EQ(why_illegal(plan), std::nullopt);
  EXPECT_EQ(algorithm_name(plan), "");
  EXPECT_TRUE(writes_columns(plan.gather));
  JoinPlan table = kNopCarried;
  table.gather = Gather::kCarriedRows;
  expect_illegal(table,
                 "gather=carried_rows moves row numbers at once with their keys: it needs "
                 "transform=radix_unordered and match=co_partitions, not none and global_table");
  table = kDirectCarried;
  table.gather = Gather::kCarriedRows;
  expect_illegal(table, "match=direct_table writes columns: it needs gather=carried");
  plan.output = Output::kGrown;
  expect_illegal(plan, "gather=carried_rows writes chunks of blocks");
  plan.output = Output::kBlockChunks;
  plan.page_pairs = 64;
  expect_illegal(plan, "gather=carried_rows has chunks of one size: page_pairs must be 0");
  plan.page_pairs = 0;
  plan.transfer = Transfer::kProbeChunks;
  EXPECT_EQ(why_illegal(plan), std::nullopt);
  plan = kPhjOm;
  plan.device = Device::kCpu;
  plan.gather = Gather::kCarriedRows;
  expect_illegal(plan, "gather=carried_rows is of CUDA plans");
}

TEST(WhyIllegal, CarriedPayloadsFollowOneKeyColumn) {
  const std::optional<std::string> why = why_illegal(kPhjCarried, 2);
  ASSERT_TRUE(why.has_value());
  EXPECT_NE(why->find("match=co_partitions compares one key column"), std::string::npos) << *why;
}

TEST(WhyIllegal, AnUnorderedTransformGivesNoTwoColumnsTheSameOrder) {
  JoinPlan plan = kPhjOm;
  plan.transform = Transform::kRadixUnordered;
  expect_illegal(plan,
                 "gather=transformed needs a transform that puts equal keys in the same order with "
                 "every column, and transform=radix_unordered places rows by atomics");
  plan.gather = Gather::kUntransformed;
  EXPECT_EQ(why_illegal(plan), std::nullopt);
  EXPECT_TRUE(partitions(plan.transform));
  EXPECT_FALSE(sorts(plan.transform));
}

TEST(PassesOf, AnUnorderedTransformTakesNineBitsAtOnceAndElevenWhenNamed) {
  JoinPlan plan = kPhjCarried;
  for (int32_t bits = 1; bits <= 16; ++bits) {
    plan.passes = 0;
    plan.radix_bits = bits;
    EXPECT_EQ(why_illegal(plan), std::nullopt) << bits;
    EXPECT_EQ(passes_of(plan), bits <= 9 ? 1 : 2) << bits;
    plan.passes = 1;
    if (bits <= 11) {
      EXPECT_EQ(why_illegal(plan), std::nullopt) << bits;
      EXPECT_EQ(passes_of(plan), 1) << bits;
    } else {
      expect_illegal(plan,
                     "is out of range: 1 to 11 on CUDA with transform=radix_unordered in one pass");
    }
    plan.passes = 2;
    if (bits == 1) {
      expect_illegal(plan, "passes=2 needs radix_bits of 2 at least");
    } else {
      EXPECT_EQ(why_illegal(plan), std::nullopt) << bits;
      EXPECT_EQ(passes_of(plan), 2) << bits;
    }
  }
  plan.passes = 0;
  plan.radix_bits = 17;
  expect_illegal(plan, "radix_bits=17 is out of range: 1 to 16");
  plan.radix_bits = 8;
  plan.passes = 3;
  expect_illegal(plan, "passes=3 is out of range: 1 or 2");
}

// But for chunks of the probe side, of which a filter sees one at a time.
TEST(WhyIllegal, TransfersAreLegalInEveryCudaPlan) {
  for (JoinPlan plan : legal_plans(Device::kCuda)) {
    for (int32_t transfer = GPUJOIN_TRANSFER_EXPLICIT_COPIES;
         transfer <= GPUJOIN_TRANSFER_PROBE_CHUNKS; ++transfer) {
      plan.transfer = static_cast<Transfer>(transfer);
      const bool chunks = plan.transfer == Transfer::kProbeChunks;
      const bool once = plan.filter != Filter::kNone || plan.transform == Transform::kWriteCombined;
      const bool refused = (chunks && once) || why_missing(plan).has_value();
      EXPECT_EQ(why_illegal(plan).has_value(), refused) << to_text(plan);
    }
  }
}

TEST(ToText, NamesEachTechnique) {
  JoinPlan plan = kPhjOm;
  plan.radix_bits = 15;
  EXPECT_EQ(to_text(plan),
            "cuda build=left transform=radix_onesweep(15) skew=work_units match=co_partitions "
            "output=grown gather=transformed");
  plan = kSmjUm;
  plan.build_side = Side::kRight;
  plan.transfer = Transfer::kExplicitCopies;
  EXPECT_EQ(to_text(plan),
            "cuda transfer=explicit_copies build=right transform=radix_sort match=merge_path "
            "output=counted gather=untransformed");
  plan = kPhjCarried;
  plan.radix_bits = 15;
  plan.passes = 2;
  EXPECT_EQ(to_text(plan),
            "cuda build=left transform=radix_unordered(15,2) skew=work_units match=co_partitions "
            "output=block_chunks gather=carried");
  plan.filter = Filter::kKeyBits;
  EXPECT_EQ(to_text(plan),
            "cuda build=left filter=key_bits transform=radix_unordered(15,2) skew=work_units "
            "match=co_partitions output=block_chunks gather=carried");
  plan.filter = Filter::kKeyHashes;
  plan.gather = Gather::kCarriedRows;
  EXPECT_EQ(to_text(plan),
            "cuda build=left filter=key_hashes transform=radix_unordered(15,2) skew=work_units "
            "match=co_partitions output=block_chunks gather=carried_rows");
  EXPECT_EQ(to_text(kDirectCarried),
            "cuda build=left transform=none match=direct_table output=block_chunks gather=carried");
}

TEST(ToText, TellsAllLegalPlansApartAndFitsTheStatistics) {
  std::set<std::string> texts;
  for (const Device device : {Device::kCuda, Device::kCpu}) {
    for (JoinPlan plan : legal_plans(device)) {
      if (device == Device::kCuda) plan.transfer = Transfer::kExplicitCopies;
      EXPECT_LT(to_text(plan).size(), sizeof(gpujoin_statistics::plan));
      EXPECT_TRUE(texts.insert(to_text(plan)).second) << to_text(plan);
    }
  }
}

}  // namespace
}  // namespace gpujoin::plan
