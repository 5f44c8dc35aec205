// wu.cpp: figures of Wu, Koutsoukos, Alonso, "Efficiently Processing Large Relational Joins on
// GPUs", 2024, section 5
//
// R has primary keys, S foreign keys; columns and result on the device. Figure 7 (the cost of a
// gather) shows stages of figure 12's runs, table 5 the memory of figure 15's. Table 4 and figure
// 18 are a profiler's counters and decision trees: no runs.
#include "bench/figures/figure.hpp"
#include "bench/tasks.hpp"

namespace gpujoin::bench {

namespace {

Series automatic() { return series("AUTO", "build=auto"); }

// The paper's four, and the non-partitioned join as cuDF has it.
std::vector<Series> compared() {
  return {series("cuDF (NOP)", "algorithm=nop"), series("SMJ-UM", "algorithm=smj_um"),
          series("SMJ-OM", "algorithm=smj_om"),  series("PHJ-UM", "algorithm=phj_um"),
          series("PHJ-OM", "algorithm=phj_om"),  automatic()};
}

std::string rows(int build_log2, int probe_log2) {
  return "r=2^" + std::to_string(build_log2) + ",s=2^" + std::to_string(probe_log2);
}

constexpr const char* kTwoPayloads = ",rp=2,sp=2";

// |S| = 2 |R|; the x axis is |R|.
std::vector<Point> by_size(const char* payloads) {
  std::vector<Point> points;
  for (int log2 = 23; log2 <= 27; ++log2) {
    points.push_back(point("2^" + std::to_string(log2), double(int64_t{1} << log2),
                           rows(log2, log2 + 1) + payloads));
  }
  return points;
}

Figure narrow() {
  // SMJ-UM is SMJ-OM here: one payload travels with the key anyway.
  const std::vector<Series> series_ = {series("CPU", "device=cpu,algorithm=cpu_radix"),
                                       series("cuDF (NOP)", "algorithm=nop"),
                                       series("SMJ-OM", "algorithm=smj_om"),
                                       series("PHJ-UM", "algorithm=phj_um"),
                                       series("PHJ-OM", "algorithm=phj_om"),
                                       automatic()};
  return {"wu/fig8", {"wu/fig9"}, {{"device", series_, by_size("")}}};
}

Figure relative_size() {
  std::vector<Point> points;
  for (int log2 = 22; log2 <= 27; ++log2) {
    const int smaller = 27 - log2;
    points.push_back(point("1:" + std::to_string(1 << smaller), 1.0 / (1 << smaller),
                           rows(log2, 27) + kTwoPayloads));
  }
  return {"wu/fig11", {}, {{"device", compared(), points}}};
}

Figure payload_columns() {
  std::vector<Point> points;
  for (const int columns : {1, 2, 4, 6, 8}) {
    const std::string text = std::to_string(columns);
    points.push_back(point(text, columns, rows(27, 27) + ",rp=" + text + ",sp=" + text));
  }
  return {"wu/fig12", {"wu/fig7"}, {{"device", compared(), points}}};
}

Figure match_ratio() {
  std::vector<Point> points;
  for (const char* ratio : {"0.03125", "0.0625", "0.125", "0.25", "0.5", "0.75", "1"}) {
    points.push_back(
        point(ratio, std::stod(ratio), rows(27, 27) + kTwoPayloads + ",match=" + ratio));
  }
  return {"wu/fig13", {}, {{"device", compared(), points}}};
}

Figure skew() {
  std::vector<Point> points;
  for (const char* zipf : {"0", "0.25", "0.5", "0.75", "1", "1.25", "1.5", "1.75"}) {
    points.push_back(point(zipf, std::stod(zipf), rows(27, 27) + kTwoPayloads + ",zipf=" + zipf));
  }
  return {"wu/fig14", {}, {{"device", compared(), points}}};
}

Figure data_types() {
  const std::string wide = rows(27, 27) + kTwoPayloads;
  return {"wu/fig15",
          {"wu/table5"},
          {{"device",
            compared(),
            {point("4B key 4B payload", 0, wide), point("4B key 8B payload", 1, wide + ",pw=8"),
             point("8B key 8B payload", 2, wide + ",kw=8,pw=8")}}}};
}

// Each join materializes a payload of its dimension, which the next ones carry on. Beside the
// paper's dimensions small ones.
Figure sequences() {
  const auto of_dimensions = [](int log2_rows) {
    std::vector<Point> points;
    for (const int joins : {1, 2, 3, 4, 6, kMostJoins}) {
      points.push_back(point(std::to_string(joins), joins, rows(log2_rows, 27)));
      points.back().joins = joins;
    }
    return points;
  };
  const auto of = [](const char* name, const std::string& algorithm) {
    return series(name, "build=auto,algorithm=" + algorithm);
  };
  return {"wu/fig16",
          {},
          {{"device",
            {of("cuDF (NOP)", "nop"), of("SMJ-UM", "smj_um"), of("SMJ-OM", "smj_om"),
             of("PHJ-UM", "phj_um"), of("PHJ-OM", "phj_om"), automatic()},
            of_dimensions(25)},
           {"dimensions of 2^16",
            {of("cuDF (NOP)", "nop"), of("PHJ-OM", "phj_om"), automatic()},
            of_dimensions(16)}}};
}

// Table 6: rows, and payload columns that are keys (K) or not (NK), of which K are as wide as keys.
Figure benchmark_joins() {
  const auto joins = [](const std::string& widths) {
    return std::vector<Point>{
        point("J1", 1, "r=15000000,s=18200000,rp=4,rkp=1,sp=1" + widths),
        point("J2", 2, "r=15000000,s=60000000,rp=3,rkp=1,sp=1" + widths),
        point("J3", 3, "r=2000000,s=2100000,rp=3,sp=3" + widths),
        point("J4", 4, "r=1900000,s=58000000,rp=1,sp=10,skp=3" + widths),
        // 72M * 72M / distinct = 904M rows
        point("J5", 5, "r=72000000,s=72000000,distinct=5734513,rp=1,sp=1" + widths)};
  };
  return {"wu/fig17",
          {},
          {{"4B keys 8B others", compared(), joins(",pw=8")},
           {"all 8B", compared(), joins(",kw=8,pw=8")}}};
}

}  // namespace

std::vector<Figure> wu_figures() {
  return {narrow(),         {"wu/fig10", {}, {{"device", compared(), by_size(kTwoPayloads)}}},
          relative_size(),  payload_columns(),
          match_ratio(),    skew(),
          data_types(),     sequences(),
          benchmark_joins()};
}

}  // namespace gpujoin::bench
