// rui.cpp: figures of Rui, Tu, "Fast Equi-Join Algorithms on GPUs: Design and Implementation",
// 2017, section 4
//
// Tuples are a 4-byte key and a 4-byte payload, which is the tuple's id; |R| = |S| and unique keys
// unless the figure says otherwise. Panel `host`: tables in pinned memory and the result fetched
// into it, as in the paper. Panels on the device: ids are row numbers. Table 3's and table 2's
// kernels show as stages of figure 9; figure 7 and figure 8 (old GPU code, CPU code) show runs of
// figures 11 and 10. The old sort-merge join (bitonic sort, tree index) is of He et al. 2008 and
// not built.
#include "bench/figures/figure.hpp"

namespace gpujoin::bench {

namespace {

const std::string kSortMerge =
    "transform=merge_sort,match=merge_two_bounds,output=counted,gather=untransformed";

std::string hash_join(const std::string& output, const std::string& skew = "child_kernels",
                      const std::string& transform = "histogram_block") {
  return "match=nested_loop,gather=untransformed,transform=" + transform + ",skew=" + skew +
         ",output=" + output;
}

// He et al. 2008, the "existing" code: a histogram for each thread, every probe done twice.
const std::string kOldHashJoin = hash_join("two_passes", "none", "histogram_thread");
const std::string kDirect = "thread_pages,page_pairs=";
const std::string kCpu = "device=cpu,algorithm=cpu_radix";
const std::string kCopied = ",transfer=explicit_copies";
const std::string kHost = ",memory=pinned,result=host";
const std::string kDevice = ",output=pairs";

std::string both(const std::string& rows) { return "r=" + rows + ",s=" + rows; }

Figure breakdown() {
  return {"rui/fig9",
          {"rui/table2", "rui/table3"},
          {{"host",
            {series("hash join, existing", kOldHashJoin + kCopied),
             series("hash join, new", hash_join(kDirect + "1") + kCopied),
             series("sort-merge join, new", kSortMerge + kCopied)},
            {point("64M", 64, both("2^26") + kHost)}}}};
}

// Times the rows of S: 64M tables.
Figure selectivity() {
  std::vector<Point> points;
  for (const char* share : {"0.25", "0.5"}) {
    points.push_back(point(std::string(share) + "X", std::stod(share),
                           both("2^26") + kHost + ",match=" + share));
  }
  for (const char* times : {"1", "2", "4"}) {
    points.push_back(
        point(std::string(times) + "X", std::stod(times), both("2^26") + kHost + ",mult=" + times));
  }
  return {"rui/fig10",
          {"rui/fig8"},
          {{"host",
            {series("CPU", kCpu), series("hash join", hash_join(kDirect + "1") + kCopied),
             series("sort-merge join", kSortMerge + kCopied)},
            points}}};
}

Figure direct_output() {
  std::vector<Series> of_pages = {series("two passes", hash_join("two_passes"))};
  for (const char* pairs : {"1", "2", "4", "8"}) {
    of_pages.push_back(series(std::string("page size ") + pairs, hash_join(kDirect + pairs)));
  }
  std::vector<Series> with_old = of_pages;
  with_old.push_back(series("existing", kOldHashJoin));
  const auto sizes = [](const std::string& selectivity) {
    std::vector<Point> points;
    for (int log2 = 24; log2 <= 27; ++log2) {
      const int millions = 1 << (log2 - 20);
      points.push_back(point(std::to_string(millions) + "M", millions,
                             both("2^" + std::to_string(log2)) + kDevice + selectivity));
    }
    return points;
  };
  return {
      "rui/fig11", {"rui/fig7"}, {{"1X", with_old, sizes("")}, {"4X", of_pages, sizes(",mult=4")}}};
}

Figure chunks() {
  std::vector<Point> points;
  for (const char* times : {"1", "2", "4", "8", "16", "32"}) {
    points.push_back(point(std::string(times) + "X", std::stod(times),
                           both("2^24") + kDevice + ",mult=" + times));
  }
  return {"rui/fig12",
          {},
          {{"device",
            {series("page for each thread", hash_join(kDirect + "1")),
             series("chunk for each block", hash_join("block_chunks"))},
            points}}};
}

Figure skew() {
  std::vector<Point> points;
  for (const char* zipf : {"0", "0.25", "0.5", "0.75", "1"}) {
    points.push_back(point(zipf, std::stod(zipf), both("2^26") + kDevice + ",zipf=" + zipf));
  }
  const std::string output = kDirect + "1";
  return {"rui/fig13",
          {},
          {{"device",
            {series("without DP", hash_join(output, "none")), series("with DP", hash_join(output)),
             series("work units", hash_join(output, "work_units")), series("CPU", kCpu)},
            points}}};
}

// S larger than what the device would hold, in the paper; here R stays and S comes in chunks of as
// many rows. Without overlap: S copied, joined, its result fetched.
Figure large_tables() {
  std::vector<Point> points;
  for (int log2 = 28; log2 <= 30; ++log2) {
    const int millions = 1 << (log2 - 20);
    points.push_back(point(std::to_string(millions) + "M", millions,
                           "r=2^27,s=2^" + std::to_string(log2) + kHost));
  }
  const std::string chunked = ",transfer=probe_chunks,chunk_rows=2^27";
  const std::string hash = hash_join(kDirect + "1");
  return {
      "rui/fig14",
      {},
      {{"host",
        {up_to(int64_t{1} << 28, series("CPU", kCpu)), series("hash join, overlap", hash + chunked),
         series("hash join, no overlap", hash + kCopied),
         series("sort-merge join, overlap", kSortMerge + chunked),
         series("sort-merge join, no overlap", kSortMerge + kCopied)},
        points}}};
}

}  // namespace

std::vector<Figure> rui_figures() {
  return {breakdown(), selectivity(), direct_output(), chunks(), skew(), large_tables()};
}

}  // namespace gpujoin::bench
