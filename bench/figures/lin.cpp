// lin.cpp: figures of Lin, Liao, "Accelerating Hash Joins on GPUs for OLAP Workloads", 2025,
// sections 4.4 and 5
//
// Tables in pageable memory, as theirs are; the result is fetched into host memory. Sizes of TPC-H
// tables are the paper's; its synthetic tables have no size in the paper. Figure 16 is figure 15's
// runs as shares. Their CPU is one thread, ours all.
#include "bench/figures/figure.hpp"

namespace gpujoin::bench {

namespace {

const std::string kHost = ",memory=pageable,result=host";

Series multiset() {
  return series("ROW-MULTISET", "algorithm=row_multiset,transfer=explicit_copies");
}

Series cpu() { return series("CPU", "device=cpu,algorithm=cpu_radix"); }

Series automatic() { return series("AUTO", "build=auto"); }

constexpr int kScaleFactors[] = {1, 2, 3, 5, 10};
constexpr int64_t kLineitems[] = {6001215, 11997996, 17996609, 29999795, 59986052};

// select ... from lineitem, <other> where ...
std::vector<Point> lineitem_join(int64_t other_rows_each, const std::string& rest) {
  std::vector<Point> points;
  for (size_t i = 0; i < std::size(kScaleFactors); ++i) {
    const int factor = kScaleFactors[i];
    points.push_back(point("SF" + std::to_string(factor), factor,
                           "r=" + std::to_string(factor * other_rows_each) +
                               ",s=" + std::to_string(kLineitems[i]) + rest + kHost));
  }
  return points;
}

// Listing 5: one nation of 25; l_orderkey is put out.
std::vector<Point> lineitem_supplier() { return lineitem_join(10'000, ",rp=0,sp=1,match=0.04"); }

// Listing 6.
std::vector<Point> lineitem_orders() { return lineitem_join(1'500'000, ",rp=0,sp=0"); }

// Listing 7, with keys of 4 bytes.
std::vector<Point> multi_key(const std::string& where) {
  std::vector<Point> points;
  for (const char* keys : {"1", "2", "3", "4", "5"}) {
    points.push_back(
        point(keys, std::stod(keys), std::string("r=10000000,s=10000000,keys=") + keys + where));
  }
  return points;
}

// Both sides drawn from one Zipf distribution: at 2.5 the result is 57 % of the cross product.
std::vector<Point> both_skewed() {
  std::vector<Point> points;
  for (const char* alpha : {"1.25", "1.5", "2", "2.5"}) {
    points.push_back(point(alpha, std::stod(alpha),
                           "r=2^14,s=2^14,distinct=2^20,rzipf=1" + kHost + ",zipf=" + alpha));
  }
  return points;
}

}  // namespace

std::vector<Figure> lin_figures() {
  return {{"lin/table1",
           {},
           {{"host",
             {with_pool_emptied(
                  series("cudaMalloc", "algorithm=row_multiset,transfer=explicit_copies")),
              series("memory pool", "algorithm=row_multiset,transfer=explicit_copies")},
             lineitem_supplier()}}},
          {"lin/fig13",
           {},
           {{"LineitemSupplier", {cpu(), multiset(), automatic()}, lineitem_supplier()},
            {"LineitemOrders", {cpu(), multiset(), automatic()}, lineitem_orders()}}},
          {"lin/fig15",
           {"lin/fig16"},
           {{"host", {multiset()}, multi_key(kHost)}, {"device", {multiset()}, multi_key("")}}},
          {"lin/fig17",
           {},
           {{"host",
             {cpu(), multiset(), series("NOP", "algorithm=nop"),
              series("PHJ-OM", "algorithm=phj_om"), automatic()},
             both_skewed()}}}};
}

}  // namespace gpujoin::bench
