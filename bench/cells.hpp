// cells.hpp: the workloads, a row of a table each
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace gpujoin::bench {

inline constexpr int kMaxPayloads = 10;
inline constexpr int kMaxBuildPayloads = 8;  // the check has a byte for each
inline constexpr int kMaxKeys = 5;

// Where a join finds its inputs: in the machine's own memory, or in the host's.
enum class Residence { kMachine, kPinned, kPageable };

// R is the build and left side, S the probe and right side. Keys of R are a random permutation of
// 0 .. build_rows - 1 and keys of S are drawn from them uniformly, unless a field says otherwise.
struct Cell {
  std::string name = {};
  int64_t build_rows = 0;
  int64_t probe_rows = 0;
  int build_payloads = 1;
  int probe_payloads = 1;
  int key_bytes = 4;            // 4 or 8
  int key_columns = 1;          // 1 to 5; those after the first are functions of it
  int build_payload_bytes = 4;  // 1, 2, 4, 8 or 16
  int probe_payload_bytes = 4;
  int build_key_payloads = 0;  // of the payload columns, the first so many are as wide as the key
  int probe_key_payloads = 0;
  double match = 1;            // the fraction of R's keys that S's keys are drawn from
  double zipf = 0;             // exponent of the distribution of S over R's keys; 0 = uniform
  bool is_build_zipf = false;  // R draws its keys as S does; needs `distinct`
  int64_t multiplicity = 1;    // rows of R with the same key
  int64_t distinct = 0;        // not 0: both sides draw their keys from so many
  int64_t hot_build_rows = 0;  // rows of R that share one key, which hot_probe_rows of S have too
  int64_t hot_probe_rows = 100;
  int64_t stride = 1;  // between neighbouring keys
  // 1: rows of both sides lie in the order of their keys, those of S evenly; more: shuffled within
  // blocks of so many rows; 0: in no order.
  int64_t order = 0;
  double nulls = 0;        // share of either side's rows whose (first) key is NULL
  bool is_sparse = false;  // keys scattered over 31 bits (4 B) or 62 bits (8 B)
  bool is_pairs = false;   // the output is index pairs; else the key and all payload columns
  Residence residence = Residence::kMachine;
  bool is_fetched = false;  // into pinned host memory, which counts as part of the call

  // How many keys R has.
  int64_t distinct_keys() const;
  bool operator==(const Cell&) const = default;
};

// Whether both are calls on the same rows.
bool share_data(Cell a, const Cell& b);

// The cells of docs and published tables.
std::vector<Cell> all_cells();

// "name:r=1000000,s=4000000,kw=8,...", as bench/results/README.md lists the words; throws
// std::invalid_argument with the reason.
Cell parse_cell(std::string_view text);

// The same cell with 2^log2_factor times the rows, but not below 1024; smaller cells stay.
Cell scaled(Cell cell, int log2_factor);

}  // namespace gpujoin::bench
