#include "bench/cells.hpp"

#include <algorithm>
#include <stdexcept>

#include "bench/words.hpp"

namespace gpujoin::bench {

namespace {

constexpr int64_t kMillion = 1'000'000;

constexpr int64_t pow2(int exponent) { return int64_t{1} << exponent; }

Cell narrow(std::string name, int64_t build_rows, int64_t probe_rows) {
  Cell cell;
  cell.name = std::move(name);
  cell.build_rows = build_rows;
  cell.probe_rows = probe_rows;
  return cell;
}

Cell wide(std::string name, int64_t build_rows, int64_t probe_rows, int payloads) {
  Cell cell = narrow(std::move(name), build_rows, probe_rows);
  cell.build_payloads = cell.probe_payloads = payloads;
  return cell;
}

Cell wide2(std::string name) { return wide(std::move(name), pow2(27), pow2(27), 2); }

Cell with_match(Cell cell, double match) {
  cell.match = match;
  return cell;
}

Cell with_zipf(Cell cell, double exponent) {
  cell.zipf = exponent;
  return cell;
}

Cell with_widths(Cell cell, int key_bytes, int payload_bytes) {
  cell.key_bytes = key_bytes;
  cell.build_payload_bytes = cell.probe_payload_bytes = payload_bytes;
  return cell;
}

Cell with_distinct(Cell cell, int64_t distinct) {
  cell.distinct = distinct;
  return cell;
}

Cell with_hot_key(Cell cell, int64_t build_rows, int64_t probe_rows) {
  cell.hot_build_rows = build_rows;
  cell.hot_probe_rows = probe_rows;
  return cell;
}

Cell in_order(Cell cell, int64_t order) {
  cell.order = order;
  return cell;
}

Cell sparse(Cell cell) {
  cell.is_sparse = true;
  return cell;
}

Cell with_multiplicity(Cell cell, int64_t multiplicity) {
  cell.multiplicity = multiplicity;
  return cell;
}

Cell as_pairs(Cell cell) {
  cell.is_pairs = true;
  cell.build_payloads = cell.probe_payloads = 0;
  return cell;
}

void require(bool holds, const char* rule) {
  if (!holds) throw std::invalid_argument(rule);
}

void validate(const Cell& cell) {
  const auto is_width = [](int bytes) {
    return bytes == 1 || bytes == 2 || bytes == 4 || bytes == 8 || bytes == 16;
  };
  require(!cell.name.empty(), "a cell needs a name");
  require(cell.build_rows >= 1 && cell.build_rows < pow2(32) - 1, "r must be 1 to 2^32 - 2");
  require(cell.probe_rows >= 1 && cell.probe_rows < pow2(32) - 1, "s must be 1 to 2^32 - 2");
  require(cell.key_bytes == 4 || cell.key_bytes == 8, "kw must be 4 or 8");
  require(is_width(cell.build_payload_bytes) && is_width(cell.probe_payload_bytes),
          "pw must be 1, 2, 4, 8 or 16");
  require(cell.build_payloads >= 0 && cell.build_payloads <= kMaxBuildPayloads,
          "rp must be 0 to 8");
  require(cell.probe_payloads >= 0 && cell.probe_payloads <= kMaxPayloads, "sp must be 0 to 10");
  require(cell.build_key_payloads >= 0 && cell.build_key_payloads <= cell.build_payloads &&
              cell.probe_key_payloads >= 0 && cell.probe_key_payloads <= cell.probe_payloads,
          "rkp must be 0 to rp, and skp 0 to sp");
  require(cell.key_columns >= 1 && cell.key_columns <= kMaxKeys, "keys must be 1 to 5");
  require(cell.match > 0 && cell.match <= 1, "match must be above 0 and at most 1");
  require(cell.zipf >= 0 && cell.zipf <= 4, "zipf must be 0 to 4");
  require(cell.nulls >= 0 && cell.nulls <= 1, "nulls must be 0 to 1");
  require(cell.multiplicity >= 1, "mult must be at least 1");
  require(cell.distinct >= 0 && cell.distinct < pow2(32), "distinct must be below 2^32");
  require(cell.hot_build_rows >= 0 && cell.hot_build_rows < cell.build_rows, "hot must be below r");
  require(cell.hot_build_rows == 0 ||
              (cell.hot_probe_rows >= 0 && cell.hot_probe_rows <= cell.probe_rows),
          "hotprobe must be 0 to s");
  require((cell.multiplicity > 1) + (cell.distinct > 0) + (cell.hot_build_rows > 0) <= 1,
          "name one of mult, distinct and hot");
  require(cell.zipf == 0 || cell.hot_build_rows == 0, "zipf and hot exclude each other");
  require(!cell.is_build_zipf || (cell.zipf > 0 && cell.distinct > 0),
          "rzipf needs zipf and distinct");
  require(cell.stride >= 1 && (cell.stride == 1 || !cell.is_sparse),
          "stride must be at least 1, and excludes sparse");
  require(cell.order >= 0 && cell.order < pow2(31), "order must be below 2^31");
  require(cell.order == 0 || (cell.zipf == 0 && cell.distinct == 0 && cell.hot_build_rows == 0),
          "order excludes zipf, distinct and hot");
  // Keys without a match are numbered from distinct_keys() on.
  const int64_t indices = cell.match < 1 ? 2 * cell.distinct_keys() : cell.distinct_keys();
  const int64_t key_limit = cell.key_bytes == 4 ? pow2(31) : pow2(62);
  require(indices <= key_limit / cell.stride, "the keys do not fit their width");
}

}  // namespace

int64_t Cell::distinct_keys() const {
  if (distinct > 0) return distinct;
  if (hot_build_rows > 0) return build_rows - hot_build_rows + 1;
  return (build_rows + multiplicity - 1) / multiplicity;
}

bool share_data(Cell a, const Cell& b) {
  a.name = b.name;
  a.residence = b.residence;
  a.is_fetched = b.is_fetched;
  return a == b;
}

std::vector<Cell> all_cells() {
  const Cell small = narrow("", 1000, 1000);
  std::vector<Cell> cells = {
      narrow("narrow-27x27", pow2(27), pow2(27)),
      narrow("narrow-27x28", pow2(27), pow2(28)),
      narrow("narrow-25x27", pow2(25), pow2(27)),
      narrow("narrow-22x27", pow2(22), pow2(27)),
      wide2("wide2-27x27"),
      wide("wide2-27x28", pow2(27), pow2(28), 2),
      wide("wide2-23x27", pow2(23), pow2(27), 2),
      with_match(wide2("wide2-match25"), 0.25),
      with_match(wide2("wide2-match6"), 0.0625),
      with_zipf(wide2("wide2-zipf075"), 0.75),
      with_zipf(wide2("wide2-zipf100"), 1.0),
      with_zipf(wide2("wide2-zipf150"), 1.5),
      wide("wide4-27x27", pow2(27), pow2(27), 4),
      with_widths(wide2("wide2-8B8B"), 8, 8),
      with_widths(wide2("wide2-4B8B"), 4, 8),
      // The ABI knows no promise of unique keys: these two are one workload with other rivals.
      as_pairs(narrow("pairs-unique-27x27", pow2(27), pow2(27))),
      as_pairs(narrow("pairs-multi-27x27", pow2(27), pow2(27))),
      as_pairs(narrow("pairs-27x28", pow2(27), pow2(28))),
      as_pairs(narrow("pairs-25x27", pow2(25), pow2(27))),
      as_pairs(narrow("pairs-22x27", pow2(22), pow2(27))),
      // 72M * 72M / distinct = 904M output rows
      with_distinct(narrow("many-72Mx72M", 72 * kMillion, 72 * kMillion), 5'734'513),
      // 10^6 * 100 + 10^7 = 110M output rows
      with_hot_key(narrow("hot-10Mx10M", 10 * kMillion, 10 * kMillion), kMillion, 100),
      // As tables lie in databases: a primary key in its order, and its foreign key.
      in_order(wide("clustered-100Mx100M", 100 * kMillion, 100 * kMillion, 2), 1),
      in_order(wide("clustered-25Mx100M", 25 * kMillion, 100 * kMillion, 2), 1),
      in_order(as_pairs(narrow("clustered-pairs-100Mx100M", 100 * kMillion, 100 * kMillion)), 1),
      in_order(wide("shuffled-64K-100Mx100M", 100 * kMillion, 100 * kMillion, 2), 65536),
      sparse(in_order(wide("sorted-sparse-100Mx100M", 100 * kMillion, 100 * kMillion, 2), 1)),
      with_widths(wide("narrow8x1B-100Mx100M", 100 * kMillion, 100 * kMillion, 8), 4, 1),
      with_widths(wide2("keys8B32bit-27x27"), 8, 8),
      sparse(with_match(wide("sparse-match3-100Mx100M", 100 * kMillion, 100 * kMillion, 2), 0.03)),
      sparse(narrow("sparse-22x27", pow2(22), pow2(27))),
      with_multiplicity(wide("fkfk4-40Mx40M", 40 * kMillion, 40 * kMillion, 2), 4),
      sparse(wide("sparse-1Mx1M", kMillion, kMillion, 2)),
      sparse(narrow("sparse-10Mx10M", 10 * kMillion, 10 * kMillion)),
      as_pairs(narrow("small-1000", 1000, 1000)),
      narrow("small-1000-columns", 1000, 1000),
      as_pairs(narrow("small-1M", kMillion, kMillion)),
      narrow("small-1M-columns", kMillion, kMillion),
  };
  for (const Cell& cell : cells) validate(cell);
  return cells;
}

Cell parse_cell(std::string_view text) {
  Cell cell;
  const auto colon = text.find(':');
  require(colon != text.npos, "--cell is name:word=value,...");
  cell.name = std::string(text.substr(0, colon));
  text.remove_prefix(colon + 1);

  using Text = std::string_view;
  const Words words = {
      {"r", [&](Text v) { cell.build_rows = rows_number(v); }},
      {"s", [&](Text v) { cell.probe_rows = rows_number(v); }},
      {"kw", [&](Text v) { cell.key_bytes = number<int>(v); }},
      {"pw", [&](Text v) { cell.build_payload_bytes = cell.probe_payload_bytes = number<int>(v); }},
      {"rpw", [&](Text v) { cell.build_payload_bytes = number<int>(v); }},
      {"spw", [&](Text v) { cell.probe_payload_bytes = number<int>(v); }},
      {"rp", [&](Text v) { cell.build_payloads = number<int>(v); }},
      {"sp", [&](Text v) { cell.probe_payloads = number<int>(v); }},
      {"match", [&](Text v) { cell.match = number<double>(v); }},
      {"zipf", [&](Text v) { cell.zipf = number<double>(v); }},
      {"rzipf", [&](Text v) { cell.is_build_zipf = number<int>(v) != 0; }},
      {"keys", [&](Text v) { cell.key_columns = number<int>(v); }},
      {"rkp", [&](Text v) { cell.build_key_payloads = number<int>(v); }},
      {"skp", [&](Text v) { cell.probe_key_payloads = number<int>(v); }},
      {"mult", [&](Text v) { cell.multiplicity = number<int64_t>(v); }},
      {"distinct", [&](Text v) { cell.distinct = rows_number(v); }},
      {"hot", [&](Text v) { cell.hot_build_rows = rows_number(v); }},
      {"hotprobe", [&](Text v) { cell.hot_probe_rows = rows_number(v); }},
      {"stride", [&](Text v) { cell.stride = number<int64_t>(v); }},
      {"order", [&](Text v) { cell.order = number<int64_t>(v); }},
      {"nulls", [&](Text v) { cell.nulls = number<double>(v); }},
      {"sparse", [&](Text v) { cell.is_sparse = number<int>(v) != 0; }},
      {"output",
       [&](Text v) {
         require(v == "pairs" || v == "columns", "output is pairs or columns");
         cell.is_pairs = v == "pairs";
       }},
      {"memory",
       [&](Text v) {
         require(v == "device" || v == "pinned" || v == "pageable",
                 "memory is device, pinned or pageable");
         cell.residence = v == "device"   ? Residence::kMachine
                          : v == "pinned" ? Residence::kPinned
                                          : Residence::kPageable;
       }},
      {"result",
       [&](Text v) {
         require(v == "device" || v == "host", "result is device or host");
         cell.is_fetched = v == "host";
       }},
  };
  read_words(text, words);
  if (cell.is_pairs) cell.build_payloads = cell.probe_payloads = 0;
  validate(cell);
  return cell;
}

Cell scaled(Cell cell, int log2_factor) {
  constexpr int64_t kFewestRows = 1024;
  const auto scale = [&](int64_t rows) {
    if (log2_factor >= 0) return rows << log2_factor;
    return rows <= kFewestRows ? rows : std::max(kFewestRows, rows >> -log2_factor);
  };
  if (cell.hot_build_rows > 0) cell.hot_build_rows = scale(cell.hot_build_rows);
  if (cell.distinct > 0) cell.distinct = scale(cell.distinct);
  cell.build_rows = scale(cell.build_rows);
  cell.probe_rows = scale(cell.probe_rows);
  if (cell.hot_build_rows >= cell.build_rows) cell.hot_build_rows = cell.build_rows / 2;
  validate(cell);
  return cell;
}

}  // namespace gpujoin::bench
