#include "bench/plans.hpp"

#include <stdexcept>

#include "bench/words.hpp"

namespace gpujoin::bench {

namespace {

using Names = std::map<std::string_view, int32_t>;

const Names kAlgorithms = {{"auto", GPUJOIN_ALGORITHM_AUTOMATIC},
                           {"nop", GPUJOIN_ALGORITHM_NOP},
                           {"phj_om", GPUJOIN_ALGORITHM_PHJ_OM},
                           {"phj_gfur", GPUJOIN_ALGORITHM_PHJ_GFUR},
                           {"phj_um", GPUJOIN_ALGORITHM_PHJ_UM},
                           {"smj_om", GPUJOIN_ALGORITHM_SMJ_OM},
                           {"smj_um", GPUJOIN_ALGORITHM_SMJ_UM},
                           {"row_multiset", GPUJOIN_ALGORITHM_ROW_MULTISET},
                           {"cpu_radix", GPUJOIN_ALGORITHM_CPU_RADIX},
                           {"phj_carried", GPUJOIN_ALGORITHM_PHJ_CARRIED},
                           {"nop_carried", GPUJOIN_ALGORITHM_NOP_CARRIED},
                           {"direct_carried", GPUJOIN_ALGORITHM_DIRECT_CARRIED},
                           {"smj_carried", GPUJOIN_ALGORITHM_SMJ_CARRIED},
                           {"pdj_carried", GPUJOIN_ALGORITHM_PDJ_CARRIED}};
const Names kDevices = {{"cuda", GPUJOIN_DEVICE_CUDA}, {"cpu", GPUJOIN_DEVICE_CPU}};
const Names kSides = {{"left", GPUJOIN_SIDE_LEFT}, {"right", GPUJOIN_SIDE_RIGHT}, {"auto", 0}};
const Names kTransfers = {{"none", GPUJOIN_TRANSFER_NONE},
                          {"explicit_copies", GPUJOIN_TRANSFER_EXPLICIT_COPIES},
                          {"overlapped_copies", GPUJOIN_TRANSFER_OVERLAPPED_COPIES},
                          {"managed", GPUJOIN_TRANSFER_MANAGED},
                          {"managed_prefetch", GPUJOIN_TRANSFER_MANAGED_PREFETCH},
                          {"zero_copy", GPUJOIN_TRANSFER_ZERO_COPY},
                          {"probe_chunks", GPUJOIN_TRANSFER_PROBE_CHUNKS}};
const Names kFilters = {{"none", GPUJOIN_FILTER_NONE},
                        {"key_bits", GPUJOIN_FILTER_KEY_BITS},
                        {"key_hashes", GPUJOIN_FILTER_KEY_HASHES}};
const Names kTransforms = {{"none", GPUJOIN_TRANSFORM_NONE},
                           {"radix_onesweep", GPUJOIN_TRANSFORM_RADIX_ONESWEEP},
                           {"radix_sort", GPUJOIN_TRANSFORM_RADIX_SORT},
                           {"histogram_thread", GPUJOIN_TRANSFORM_HISTOGRAM_THREAD},
                           {"histogram_warp", GPUJOIN_TRANSFORM_HISTOGRAM_WARP},
                           {"histogram_block", GPUJOIN_TRANSFORM_HISTOGRAM_BLOCK},
                           {"bucket_chains", GPUJOIN_TRANSFORM_BUCKET_CHAINS},
                           {"merge_sort", GPUJOIN_TRANSFORM_MERGE_SORT},
                           {"radix_unordered", GPUJOIN_TRANSFORM_RADIX_UNORDERED},
                           {"write_combined", GPUJOIN_TRANSFORM_WRITE_COMBINED}};
const Names kSkews = {{"none", GPUJOIN_SKEW_NONE},
                      {"work_units", GPUJOIN_SKEW_WORK_UNITS},
                      {"redistributed_blocks", GPUJOIN_SKEW_REDISTRIBUTED_BLOCKS},
                      {"child_kernels", GPUJOIN_SKEW_CHILD_KERNELS}};
const Names kMatches = {{"global_table", GPUJOIN_MATCH_GLOBAL_TABLE},
                        {"co_partitions", GPUJOIN_MATCH_CO_PARTITIONS},
                        {"merge_path", GPUJOIN_MATCH_MERGE_PATH},
                        {"nested_loop", GPUJOIN_MATCH_NESTED_LOOP},
                        {"merge_two_bounds", GPUJOIN_MATCH_MERGE_TWO_BOUNDS},
                        {"merge_one_bound", GPUJOIN_MATCH_MERGE_ONE_BOUND},
                        {"row_multiset", GPUJOIN_MATCH_ROW_MULTISET},
                        {"direct_table", GPUJOIN_MATCH_DIRECT_TABLE},
                        {"merge_tiles", GPUJOIN_MATCH_MERGE_TILES}};
const Names kOutputs = {{"grown", GPUJOIN_OUTPUT_GROWN},
                        {"counted", GPUJOIN_OUTPUT_COUNTED},
                        {"thread_pages", GPUJOIN_OUTPUT_THREAD_PAGES},
                        {"block_chunks", GPUJOIN_OUTPUT_BLOCK_CHUNKS},
                        {"two_passes", GPUJOIN_OUTPUT_TWO_PASSES},
                        {"estimated_groups", GPUJOIN_OUTPUT_ESTIMATED_GROUPS}};
const Names kGathers = {{"untransformed", GPUJOIN_GATHER_UNTRANSFORMED},
                        {"transformed", GPUJOIN_GATHER_TRANSFORMED},
                        {"carried", GPUJOIN_GATHER_CARRIED},
                        {"carried_rows", GPUJOIN_GATHER_CARRIED_ROWS}};

}  // namespace

gpujoin_plan_options parse_plan_options(std::string_view text) {
  gpujoin_plan_options options = GPUJOIN_PLAN_OPTIONS_INIT;
  options.build_side = GPUJOIN_SIDE_LEFT;
  using Text = std::string_view;
  const auto choice = [](const Names& names, int32_t& field) {
    return [&names, &field](Text value) {
      const auto found = names.find(value);
      if (found == names.end()) {
        throw std::invalid_argument("no such technique: " + std::string(value));
      }
      field = found->second;
    };
  };
  read_words(text, {
                       {"algorithm", choice(kAlgorithms, options.algorithm)},
                       {"device", choice(kDevices, options.device)},
                       {"build", choice(kSides, options.build_side)},
                       {"transfer", choice(kTransfers, options.transfer)},
                       {"filter", choice(kFilters, options.filter)},
                       {"transform", choice(kTransforms, options.transform)},
                       {"skew", choice(kSkews, options.skew)},
                       {"match", choice(kMatches, options.match)},
                       {"output", choice(kOutputs, options.output)},
                       {"gather", choice(kGathers, options.gather)},
                       {"bits", [&](Text v) { options.radix_bits = number<int32_t>(v); }},
                       {"passes", [&](Text v) { options.passes = number<int32_t>(v); }},
                       {"page_pairs", [&](Text v) { options.page_pairs = number<int32_t>(v); }},
                       {"chunk_rows", [&](Text v) { options.probe_chunk_rows = rows_number(v); }},
                   });
  return options;
}

NamedPlan parse_plan(std::string_view text) {
  const auto colon = text.find(':');
  if (colon == text.npos || colon == 0) {
    throw std::invalid_argument("--plan is name:word=value,...");
  }
  return {std::string(text.substr(0, colon)), parse_plan_options(text.substr(colon + 1))};
}

std::vector<NamedPlan> standard_plans(gpujoin_device device) {
  // The planner is free to choose the build side too.
  const NamedPlan automatic = {"AUTO", parse_plan_options("build=auto")};
  const auto named = [](const char* name, const char* text) {
    return NamedPlan{name, parse_plan_options(text)};
  };
  if (device == GPUJOIN_DEVICE_CPU) return {automatic, named("CPU-RADIX", "algorithm=cpu_radix")};
  return {automatic,
          named("NOP", "algorithm=nop"),
          named("NOP-CARRIED", "algorithm=nop_carried"),
          named("DIRECT-CARRIED", "algorithm=direct_carried"),
          named("PHJ-CARRIED", "algorithm=phj_carried"),
          named("KEY-BITS", "algorithm=phj_carried,filter=key_bits"),
          named("PHJ-OM", "algorithm=phj_om"),
          named("PHJ-GFUR", "algorithm=phj_gfur"),
          named("PHJ-UM", "algorithm=phj_um"),
          named("SMJ-OM", "algorithm=smj_om"),
          named("SMJ-UM", "algorithm=smj_um")};
}

}  // namespace gpujoin::bench
