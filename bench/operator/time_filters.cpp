// time_filters.cpp: filters of builds, through the C ABI: what making and testing one takes, and
// what a join that goes through files gains by its own.
//
//   gpujoin_time_filters rates [threads]
//       builds of 2^14 to 2^24 keys in host memory: making each kind of filter, and testing batches
//       of 2^16 rows by one thread
//   gpujoin_time_filters join FOLDER [build rows] [probe rows] [limit in MiB] [runs]
//       an inner join on the CPU whose sides do not fit: rows of 4 x 8 bytes, of which 0 to 100 %
//       match, its own filter off, on and automatic in turns
//
// Prints a line of JSON for each measurement: medians, what the best run had, and of joins the
// processor time, too.
#include <sys/resource.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <random>
#include <string>
#include <vector>

#include "bench/operator/calls.hpp"
#include "gpujoin.h"

namespace {

using namespace gpujoin::bench;

double seconds_since(Clock::time_point start) {
  return std::chrono::duration<double>(Clock::now() - start).count();
}

double processor_seconds() {
  rusage used = {};
  getrusage(RUSAGE_SELF, &used);
  auto const seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
  };
  return seconds(used.ru_utime) + seconds(used.ru_stime);
}

// Keys far apart, in no order.
int64_t sparse(int64_t number) {
  return static_cast<int64_t>(static_cast<uint64_t>(number) * 0x9e3779b97f4a7c15 >> 8);
}

// dense: three of four values are there; else they are far apart.
template <typename Value>
void time_rates(gpujoin_context* context, int64_t rows, bool dense, gpujoin_key_filter_kind kind,
                const char* name) {
  constexpr int kRuns = 15;
  constexpr int64_t kBatchRows = int64_t{1} << 16;
  auto const key = [&](int64_t i) { return static_cast<Value>(dense ? i + i / 3 : sparse(i)); };
  std::vector<Value> keys(static_cast<size_t>(rows));
  for (int64_t i = 0; i < rows; ++i) keys[static_cast<size_t>(i)] = key(i);
  std::shuffle(keys.begin(), keys.end(), std::mt19937_64(1));
  std::vector<Value> probed(kBatchRows);
  std::mt19937_64 random(2);
  for (Value& value : probed)
    value = static_cast<Value>(key(static_cast<int64_t>(random() % static_cast<uint64_t>(rows))) +
                               static_cast<Value>(random() % 2));
  gpujoin_relation* const of_build = integers<Value>(context, {keys.data()}, rows);
  gpujoin_relation* const batch = integers<Value>(context, {probed.data()}, kBatchRows);
  gpujoin_build* const build = build_of(context, of_build);
  std::vector<double> made, tested;
  gpujoin_key_filter_info info = GPUJOIN_KEY_FILTER_INFO_INIT;
  int64_t passing = 0;
  for (int run = 0; run < kRuns; ++run) {
    gpujoin_key_filter_options options = GPUJOIN_KEY_FILTER_OPTIONS_INIT;
    options.kind = kind;
    options.largest_bytes = (uint64_t{1} << 30) + static_cast<uint64_t>(run);  // made anew
    gpujoin_key_filter* filter = nullptr;
    auto start = Clock::now();
    check(gpujoin_build_get_filter(build, -1, &options, &filter, &error));
    made.push_back(seconds_since(start));
    check(gpujoin_key_filter_get_info(filter, &info, &error));
    std::vector<uint8_t> bits(kBatchRows / 8);
    constexpr int kTimes = 20;
    start = Clock::now();
    for (int i = 0; i < kTimes; ++i) {
      check(gpujoin_key_filter_test(filter, batch, kKey, 1, bits.data(), GPUJOIN_MEMORY_HOST,
                                    &passing, &error));
    }
    tested.push_back(seconds_since(start) / kTimes);
    gpujoin_key_filter_destroy(filter);
  }
  auto const millions = [](int64_t count, double seconds) {
    return static_cast<double>(count) / seconds * 1e-6;
  };
  std::printf(
      "{\"what\": \"rates\", \"kind\": \"%s\", \"key_bytes\": %d, \"build_rows\": %lld, "
      "\"filter_bytes\": %llu, \"passing\": %.3f, \"runs\": %d, \"make_milliseconds\": %.2f, "
      "\"make_million_rows_per_second\": %.1f, \"test_million_rows_per_second\": %.1f, "
      "\"most_made\": %.1f, \"most_tested\": %.1f}\n",
      name, static_cast<int>(sizeof(Value)), static_cast<long long>(rows),
      static_cast<unsigned long long>(info.bytes),
      static_cast<double>(passing) / static_cast<double>(kBatchRows), kRuns, median(made) * 1e3,
      millions(rows, median(made)), millions(kBatchRows, median(tested)),
      millions(rows, *std::min_element(made.begin(), made.end())),
      millions(kBatchRows, *std::min_element(tested.begin(), tested.end())));
  std::fflush(stdout);
  gpujoin_build_destroy(build);
  gpujoin_relation_destroy(batch);
  gpujoin_relation_destroy(of_build);
}

void time_all_rates(int32_t threads) {
  gpujoin_context_options options = GPUJOIN_CONTEXT_OPTIONS_INIT;
  options.device = GPUJOIN_DEVICE_CPU;
  options.cpu_threads = threads;
  gpujoin_context* context = nullptr;
  check(gpujoin_context_create(&options, &context, &error));
  for (int bits = 14; bits <= 24; bits += 5) {
    int64_t const rows = int64_t{1} << bits;
    time_rates<int32_t>(context, rows, true, GPUJOIN_KEY_FILTER_MIN_MAX, "min_max");
    time_rates<int32_t>(context, rows, true, GPUJOIN_KEY_FILTER_BITMAP, "bitmap");
    time_rates<int64_t>(context, rows, true, GPUJOIN_KEY_FILTER_BITMAP, "bitmap");
    time_rates<int32_t>(context, rows, true, GPUJOIN_KEY_FILTER_BLOOM, "bloom");
    time_rates<int64_t>(context, rows, false, GPUJOIN_KEY_FILTER_BLOOM, "bloom");
  }
  gpujoin_context_destroy(context);
}

struct Joined {
  double seconds = 0;
  double processor = 0;
  int64_t rows = 0;
  gpujoin_progress progress = GPUJOIN_PROGRESS_INIT;
};

gpujoin_relation* four_alike(gpujoin_context* context, const int64_t* values, int64_t rows) {
  return integers<int64_t>(context, {values, values, values, values}, rows);
}

// A build of its own: a filter is kept for the next.
Joined joined(gpujoin_context* context, gpujoin_relation* build_rows,
              const std::vector<int64_t>& probed, gpujoin_own_filter own) {
  constexpr int64_t kBatchRows = 65536;
  gpujoin_build* const build = build_of(context, build_rows);
  auto const start = Clock::now();
  double const processor = processor_seconds();
  gpujoin_join_spec spec = GPUJOIN_JOIN_SPEC_INIT;
  spec.kind = GPUJOIN_JOIN_INNER;
  spec.key_count = 1;
  spec.left_keys = spec.right_keys = kKey;
  spec.left_columns = kColumns;
  spec.left_column_count = 4;
  spec.right_columns = kColumns + 1;
  spec.right_column_count = 3;
  gpujoin_operation_options options = GPUJOIN_OPERATION_OPTIONS_INIT;
  options.own_filter = own;
  gpujoin_operation* operation = nullptr;
  check(gpujoin_operation_create(build, build_rows, &spec, &options, &operation, &error));
  gpujoin_probe* probe = nullptr;
  check(gpujoin_probe_create(operation, &probe, &error));
  auto const all = static_cast<int64_t>(probed.size());
  for (int64_t first = 0; first < all; first += kBatchRows) {
    gpujoin_relation* const batch =
        four_alike(context, probed.data() + first, std::min(kBatchRows, all - first));
    check(gpujoin_probe_append(probe, batch, 0, &error));
    gpujoin_relation_destroy(batch);
  }
  check(gpujoin_probe_finish(probe, &error));
  check(gpujoin_operation_close(operation, &error));
  Joined made;
  made.rows = drain(operation, gpujoin_operation_next, &error);
  made.seconds = seconds_since(start);
  made.processor = processor_seconds() - processor;
  check(gpujoin_operation_get_progress(operation, &made.progress, &error));
  gpujoin_probe_destroy(probe);
  gpujoin_operation_destroy(operation);
  gpujoin_build_destroy(build);
  return made;
}

void time_join(const char* folder, int64_t build_rows, int64_t probe_rows, uint64_t limit_bytes,
               int runs) {
  gpujoin_context_options options = GPUJOIN_CONTEXT_OPTIONS_INIT;
  options.device = GPUJOIN_DEVICE_CPU;
  options.host_limit_bytes = limit_bytes;
  options.spill_path = folder;
  gpujoin_context* context = nullptr;
  check(gpujoin_context_create(&options, &context, &error));
  std::vector<int64_t> keys(static_cast<size_t>(build_rows));
  for (int64_t i = 0; i < build_rows; ++i) keys[static_cast<size_t>(i)] = sparse(i);
  gpujoin_relation* const of_build = four_alike(context, keys.data(), build_rows);
  for (int share : {0, 5, 25, 50, 75, 90, 100}) {
    std::vector<int64_t> probed(static_cast<size_t>(probe_rows));
    std::mt19937_64 random(3);
    for (int64_t& key : probed) {
      bool const matches = static_cast<int>(random() % 100) < share;
      auto const number = static_cast<int64_t>(random() % static_cast<uint64_t>(build_rows));
      key = sparse(matches ? number : build_rows + number);
    }
    struct Way {
      gpujoin_own_filter own;
      const char* name;
      std::vector<double> seconds, processor;
      Joined last;
    };
    Way ways[] = {{GPUJOIN_OWN_FILTER_OFF, "off", {}, {}, {}},
                  {GPUJOIN_OWN_FILTER_ON, "on", {}, {}, {}},
                  {GPUJOIN_OWN_FILTER_AUTOMATIC, "automatic", {}, {}, {}}};
    for (int run = 0; run < runs; ++run) {
      for (Way& way : ways) {
        way.last = joined(context, of_build, probed, way.own);
        way.seconds.push_back(way.last.seconds);
        way.processor.push_back(way.last.processor);
        if (way.last.rows != ways[0].last.rows) std::exit(1);
      }
    }
    for (Way const& way : ways) {
      std::printf(
          "{\"what\": \"join\", \"matching_percent\": %d, \"own_filter\": \"%s\", \"build_rows\": "
          "%lld, \"probe_rows\": %lld, \"limit_mib\": %llu, \"runs\": %d, \"milliseconds\": %.0f, "
          "\"least_milliseconds\": %.0f, \"processor_milliseconds\": %.0f, \"spilled_mib\": %llu, "
          "\"rows_dropped\": %lld, \"rows_out\": %lld}\n",
          share, way.name, static_cast<long long>(build_rows), static_cast<long long>(probe_rows),
          static_cast<unsigned long long>(limit_bytes >> 20), runs, median(way.seconds) * 1e3,
          *std::min_element(way.seconds.begin(), way.seconds.end()) * 1e3,
          median(way.processor) * 1e3,
          static_cast<unsigned long long>(way.last.progress.spilled_bytes >> 20),
          static_cast<long long>(way.last.progress.rows_dropped),
          static_cast<long long>(way.last.rows));
      std::fflush(stdout);
    }
  }
  gpujoin_relation_destroy(of_build);
  gpujoin_context_destroy(context);
}

}  // namespace

int main(int count, char** words) {
  auto const number = [&](int place, int64_t otherwise) {
    return count > place ? std::atoll(words[place]) : otherwise;
  };
  std::string const what = count > 1 ? words[1] : "";
  if (what == "rates") {
    time_all_rates(static_cast<int32_t>(number(2, 0)));
  } else if (what == "join" && count > 2) {
    time_join(words[2], number(3, int64_t{1} << 21), number(4, int64_t{1} << 24),
              static_cast<uint64_t>(number(5, 128)) << 20, static_cast<int>(number(6, 3)));
  } else {
    std::fprintf(stderr,
                 "usage: %s rates [threads] | join FOLDER [build rows] [probe rows] [limit in MiB] "
                 "[runs]\n",
                 words[0]);
    return 2;
  }
}
