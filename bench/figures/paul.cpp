// paul.cpp: figures of Paul, He, Lu, Lau, "Revisiting Hash Join on Graphics Processors: A Decade
// Later", 2020, section V
//
// Tuples are a 4-byte key and a 4-byte id, |R| = |S|; sizes are of both together. Panel `host`:
// both columns in pinned memory, as in the paper, the result left on the device. Panel `device`:
// keys on the device, and the ids are row numbers, which is what the paper's kernels write. Table
// II (occupancy) shows the rate of figure 4's partitioning, of which occupancy is the cause.
#include "bench/figures/figure.hpp"

namespace gpujoin::bench {

namespace {

// Which transfer the paper gives each implementation; of no effect on columns on the device.
const std::string kCopies = "transfer=explicit_copies,";
const std::string kStreams = "transfer=overlapped_copies,";

// IV.A.2: histogram partitions, nested loops, child kernels under skew, an additional pass that
// counts.
std::string histogram_join(const std::string& transfer, const std::string& transform,
                           const std::string& skew = "child_kernels",
                           const std::string& output = "two_passes") {
  return transfer + "gather=untransformed,match=nested_loop,transform=" + transform +
         ",skew=" + skew + ",output=" + output;
}

// IV.A.3: bucket chains, hash tables in shared memory, chains dealt to blocks.
std::string bucket_join(const std::string& transfer) {
  return "transform=bucket_chains,match=co_partitions,skew=work_units,output=grown,"
         "gather=untransformed,transfer=" +
         transfer;
}

std::vector<Point> sizes(const std::vector<int>& millions, const std::string& where) {
  std::vector<Point> points;
  for (const int total : millions) {
    const std::string each = std::to_string(int64_t{total} << 19);
    points.push_back(
        point(std::to_string(total) + "M", total, "r=" + each + ",s=" + each + "," + where));
  }
  return points;
}

const char* const kHost = "memory=pinned";
const char* const kDevice = "output=pairs";

Figure overall() {
  const std::vector<Series> of_host = {series("NOP", kCopies + "algorithm=nop"),
                                       series("PTH", histogram_join(kCopies, "histogram_thread")),
                                       series("WSH", histogram_join(kStreams, "histogram_warp")),
                                       series("BSH", histogram_join(kStreams, "histogram_block")),
                                       series("PRBC", bucket_join("overlapped_copies")),
                                       series("UMJ", bucket_join("managed")),
                                       series("UMJ-PF", bucket_join("managed_prefetch")),
                                       series("AUTO", "build=auto")};
  const std::vector<Series> of_device = {series("NOP", "algorithm=nop"),
                                         series("PTH", histogram_join("", "histogram_thread")),
                                         series("WSH", histogram_join("", "histogram_warp")),
                                         series("BSH", histogram_join("", "histogram_block")),
                                         series("PRBC", bucket_join("none")),
                                         series("AUTO", "build=auto")};
  return {"paul/fig4",
          {"paul/table2"},
          {{"host", of_host, sizes({2, 8, 32, 128, 256}, kHost)},
           {"device", of_device, sizes({2, 4, 8, 16, 32, 64, 128, 256}, kDevice)}}};
}

Figure streams_disabled() {
  return {"paul/fig5",
          {},
          {{"host",
            {series("BSH", histogram_join(kCopies, "histogram_block")),
             series("PRBC", bucket_join("explicit_copies")),
             series("BSH with streams", histogram_join(kStreams, "histogram_block")),
             series("PRBC with streams", bucket_join("overlapped_copies"))},
            sizes({2, 8, 32, 128, 256}, kHost)}}};
}

Figure skew() {
  std::vector<Point> points;
  for (const char* zipf : {"0", "0.25", "0.5", "0.75", "1"}) {
    points.push_back(
        point(zipf, std::stod(zipf), std::string("r=2^27,s=2^27,output=pairs,zipf=") + zipf));
  }
  const auto handled = [](const std::string& how) {
    return histogram_join("", "histogram_block", how);
  };
  return {
      "paul/fig6",
      {},
      {{"device",
        {series("BSH", handled("child_kernels")),
         series("BSH (skew handling)", handled("redistributed_blocks")),
         series("BSH (none)", handled("none")), series("BSH (work units)", handled("work_units"))},
        points}}};
}

Figure match_rate() {
  std::vector<Point> points;
  for (const int rate : {1, 2, 4, 6, 8}) {
    const std::string percent = std::to_string(rate) + "00%";
    points.push_back(
        point(percent, 100 * rate, "r=2^27,s=2^27,output=pairs,mult=" + std::to_string(rate)));
  }
  const auto into = [](const std::string& output) {
    return histogram_join("", "histogram_block", "redistributed_blocks", output);
  };
  return {
      "paul/fig7",
      {},
      {{"device",
        {series("BSH", into("two_passes")), series("BSH (estimation)", into("estimated_groups")),
         series("ours (grown)", into("grown"))},
        points}}};
}

}  // namespace

std::vector<Figure> paul_figures() { return {overall(), streams_disabled(), skew(), match_rate()}; }

}  // namespace gpujoin::bench
