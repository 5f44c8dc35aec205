// time_operator.cpp: builds and probes as an engine calls them, through the C ABI.
//
//   gpujoin_time_operator batches cpu|cuda [threads] [build rows] [probe rows]
//       batches of host memory of several sizes, against one batch with all rows
//   gpujoin_time_operator small
//       batches of device memory against kept builds of 10^3 to 10^7 rows
//   gpujoin_time_operator link pinned|pageable|untouched|exported [threads] [rows of a batch]
//                         [build, probe rows]
//       host memory to host memory by the device, each thread with a probe of its own, against what
//       the link allows: 55 GB/s each way, 101 both; untouched: pageable, and nobody has written to
//       where the first of these joins puts its rows; exported: to arrays of the library's own
//   gpujoin_time_operator budgets pinned|pageable [threads] [rows of a batch] [build, probe rows]
//       the same within device memory of which both sides are 2, 4, 8 and 16 times as much; all
//       threads append to the build, and take what comes when all rows have come
//   gpujoin_time_operator trace pinned|pageable [threads] [rows of a batch] [build, probe rows] [N]
//       the third of such joins, within device memory of which both sides are N times as much, 4:
//       what the device does when, by CUPTI, for scripts/draw_trace.py. GPUJOIN_COMMIT: the commit
//
// Prints a line of JSON for each measurement: medians, of as many runs as it says; of a trace one
// document.
#include <algorithm>
#include <atomic>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <numeric>
#include <random>
#include <string>
#include <thread>
#include <vector>

#include "bench/kernel_trace.hpp"
#include "bench/operator/calls.hpp"
#include "gpujoin.h"

#if GPUJOIN_WITH_CUDA
#include <cuda_runtime_api.h>
#endif

namespace {

using namespace gpujoin::bench;

double microseconds_since(Clock::time_point start) {
  return std::chrono::duration<double, std::micro>(Clock::now() - start).count();
}

// Unique keys in no order, and a payload.
struct Table {
  std::vector<int32_t> keys;
  std::vector<int32_t> values;
};

Table build_table(int64_t rows) {
  Table table;
  table.keys.resize(static_cast<size_t>(rows));
  std::iota(table.keys.begin(), table.keys.end(), 0);
  std::shuffle(table.keys.begin(), table.keys.end(), std::mt19937_64(1));
  table.values = table.keys;
  return table;
}

Table probe_table(int64_t rows, int64_t build_rows) {
  Table table;
  std::mt19937_64 random(2);
  std::uniform_int_distribution<int32_t> draw(0, static_cast<int32_t>(build_rows - 1));
  for (int64_t i = 0; i < rows; ++i) table.keys.push_back(draw(random));
  table.values = table.keys;
  return table;
}

gpujoin_relation* relation_of(gpujoin_context* context, const int32_t* keys, const int32_t* values,
                              int64_t rows, gpujoin_memory memory) {
  return integers<int32_t>(context, {keys, values}, rows, memory);
}

// The probe side is the left one.
gpujoin_operation* operation_on(gpujoin_build* build, gpujoin_relation* like) {
  gpujoin_join_spec spec = GPUJOIN_JOIN_SPEC_INIT;
  spec.kind = GPUJOIN_JOIN_INNER;
  spec.key_count = 1;
  spec.left_keys = spec.right_keys = kKey;
  spec.left_columns = kColumns;
  spec.left_column_count = 2;
  spec.right_columns = kColumns + 1;
  spec.right_column_count = 1;
  gpujoin_operation* operation = nullptr;
  check(gpujoin_operation_create(build, like, &spec, nullptr, &operation, &error));
  return operation;
}

int64_t probe_rows_of(gpujoin_context* context, gpujoin_operation* operation, const Table& table,
                      int64_t first, int64_t end, int64_t batch_rows) {
  gpujoin_error told;
  gpujoin_probe* probe = nullptr;
  check(gpujoin_probe_create(operation, &probe, &told), told);
  int64_t found = 0;
  for (; first < end; first += batch_rows) {
    int64_t const rows = std::min(batch_rows, end - first);
    gpujoin_relation* const batch = relation_of(
        context, table.keys.data() + first, table.values.data() + first, rows, GPUJOIN_MEMORY_HOST);
    gpujoin_status status;
    while ((status = gpujoin_probe_append(probe, batch, 0, &told)) == GPUJOIN_ERROR_NOT_READY) {
      found += drain(probe, gpujoin_probe_next, &told);
    }
    check(status, told);
    gpujoin_relation_destroy(batch);
  }
  check(gpujoin_probe_finish(probe, &told), told);
  found += drain(probe, gpujoin_probe_next, &told);
  gpujoin_probe_destroy(probe);
  return found;
}

// Seconds from the first append to the last result.
double run_batches(gpujoin_context* context, gpujoin_build* build, gpujoin_relation* like,
                   const Table& table, int64_t batch_rows, int threads) {
  gpujoin_operation* const operation = operation_on(build, like);
  auto const all = static_cast<int64_t>(table.keys.size());
  int64_t const share = (all + threads - 1) / threads;
  std::vector<int64_t> found(static_cast<size_t>(threads));
  // What is made once is made by a few rows.
  probe_rows_of(context, operation, table, 0, std::min<int64_t>(1000, all), 1000);
  auto const start = Clock::now();
  std::vector<std::thread> workers;
  for (int i = 0; i < threads; ++i) {
    workers.emplace_back([&, i] {
      found[static_cast<size_t>(i)] =
          probe_rows_of(context, operation, table, std::min(all, share * i),
                        std::min(all, share * (i + 1)), batch_rows);
    });
  }
  for (std::thread& worker : workers) worker.join();
  double const seconds = microseconds_since(start) * 1e-6;
  gpujoin_operation_destroy(operation);
  if (std::accumulate(found.begin(), found.end(), int64_t{0}) != all) {
    std::fprintf(stderr, "another number of rows than were appended\n");
    std::exit(1);
  }
  return seconds;
}

// only_rows: of batches, by all threads; 0: several ways.
void time_batches(gpujoin_device device, int threads, int64_t build_rows, int64_t probe_rows,
                  int64_t only_rows) {
  constexpr int kRuns = 5;
  gpujoin_context_options options = GPUJOIN_CONTEXT_OPTIONS_INIT;
  options.device = device;
  gpujoin_context* context = nullptr;
  check(gpujoin_context_create(&options, &context, &error));
  Table const of_build = build_table(build_rows);
  Table const of_probe = probe_table(probe_rows, build_rows);
  gpujoin_relation* const rows = relation_of(context, of_build.keys.data(), of_build.values.data(),
                                             build_rows, GPUJOIN_MEMORY_HOST);
  gpujoin_build* const build = build_of(context, rows);
  struct Way {
    int64_t batch_rows;
    int threads;
  };
  std::vector<Way> ways = {{only_rows, threads}};
  if (only_rows == 0) {
    ways = {{probe_rows, 1}, {probe_rows, threads}, {2048, 1}, {2048, threads}, {65536, threads}};
  }
  for (Way const& way : ways) {
    std::vector<double> seconds;
    for (int i = 0; i < kRuns; ++i) {
      seconds.push_back(run_batches(context, build, rows, of_probe,
                                    std::min(way.batch_rows, probe_rows), way.threads));
    }
    double const taken = median(seconds);
    std::printf(
        "{\"what\": \"batches\", \"device\": \"%s\", \"threads\": %d, \"batch_rows\": "
        "%lld, \"build_rows\": %lld, \"probe_rows\": %lld, \"runs\": %d, "
        "\"milliseconds\": %.3f, \"million_rows_per_second\": %.1f}\n",
        device == GPUJOIN_DEVICE_CUDA ? "cuda" : "cpu", way.threads,
        static_cast<long long>(way.batch_rows), static_cast<long long>(build_rows),
        static_cast<long long>(probe_rows), kRuns, taken * 1e3,
        static_cast<double>(probe_rows) / taken * 1e-6);
    std::fflush(stdout);
  }
  gpujoin_build_destroy(build);
  gpujoin_relation_destroy(rows);
  gpujoin_context_destroy(context);
}

#if GPUJOIN_WITH_CUDA
struct DeviceTable {
  explicit DeviceTable(const Table& table) : bytes(table.keys.size() * sizeof(int32_t)) {
    for (auto const& [to, from] : {std::pair(&keys, &table.keys), {&values, &table.values}}) {
      void* made = nullptr;
      if (cudaMalloc(&made, bytes) != cudaSuccess ||
          cudaMemcpy(made, from->data(), bytes, cudaMemcpyHostToDevice) != cudaSuccess) {
        std::fprintf(stderr, "no device memory for the data\n");
        std::exit(1);
      }
      *to = static_cast<int32_t*>(made);
    }
  }
  ~DeviceTable() {
    cudaFree(keys);
    cudaFree(values);
  }
  DeviceTable(const DeviceTable&) = delete;
  DeviceTable& operator=(const DeviceTable&) = delete;
  size_t bytes;
  int32_t* keys = nullptr;
  int32_t* values = nullptr;
};

void time_small() {
  gpujoin_context_options options = GPUJOIN_CONTEXT_OPTIONS_INIT;
  options.device = GPUJOIN_DEVICE_CUDA;
  gpujoin_context* context = nullptr;
  check(gpujoin_context_create(&options, &context, &error));
  for (int64_t build_rows = 1000; build_rows <= 10'000'000; build_rows *= 10) {
    DeviceTable const of_build(build_table(build_rows));
    gpujoin_relation* const rows =
        relation_of(context, of_build.keys, of_build.values, build_rows, GPUJOIN_MEMORY_DEVICE);
    for (int64_t batch_rows = 1000; batch_rows <= 1'000'000; batch_rows *= 10) {
      DeviceTable const of_probe(probe_table(batch_rows, build_rows));
      gpujoin_relation* const batch =
          relation_of(context, of_probe.keys, of_probe.values, batch_rows, GPUJOIN_MEMORY_DEVICE);
      constexpr int kBuilds = 9;
      constexpr int kProbes = 200;
      std::vector<double> builds;
      std::vector<double> firsts;
      std::vector<double> probes;
      for (int i = 0; i < kBuilds; ++i) {
        auto start = Clock::now();
        gpujoin_build* const build = build_of(context, rows);
        gpujoin_operation* const operation = operation_on(build, batch);
        builds.push_back(microseconds_since(start));
        gpujoin_probe* probe = nullptr;
        check(gpujoin_probe_create(operation, &probe, &error));
        int const count = i == 0 ? kProbes : 2;
        for (int k = 0; k < count; ++k) {
          start = Clock::now();
          check(gpujoin_probe_append(probe, batch, 0, &error));
          int64_t const found = drain(probe, gpujoin_probe_next, &error);
          (k == 0 ? firsts : probes).push_back(microseconds_since(start));
          if (found != batch_rows) std::exit(1);
        }
        gpujoin_probe_destroy(probe);
        gpujoin_operation_destroy(operation);
        gpujoin_build_destroy(build);
      }
      std::printf(
          "{\"what\": \"small\", \"build_rows\": %lld, \"batch_rows\": %lld, "
          "\"build_microseconds\": %.1f, \"first_probe_microseconds\": %.1f, "
          "\"probe_microseconds\": %.1f, \"build_with_table_microseconds\": %.1f}\n",
          static_cast<long long>(build_rows), static_cast<long long>(batch_rows), median(builds),
          median(firsts), median(probes), median(builds) + median(firsts) - median(probes));
      std::fflush(stdout);
      gpujoin_relation_destroy(batch);
    }
    gpujoin_relation_destroy(rows);
  }
  gpujoin_context_destroy(context);
}
// Host memory, page-locked or not; of pageable memory the pages are there, or the first who writes
// to them is given them.
class HostColumn {
 public:
  HostColumn(int64_t rows, bool pinned, bool touched = true) : pinned_(pinned) {
    auto const bytes = static_cast<size_t>(rows) * sizeof(int32_t);
    void* data = nullptr;
    if (pinned) {
      if (cudaHostAlloc(&data, bytes, cudaHostAllocDefault) != cudaSuccess) std::exit(1);
    } else {
      data = std::malloc(bytes);
      // Not zeros: of malloc() and those a compiler makes calloc(), which touches nothing.
      if (touched) std::memset(data, 1, bytes);
    }
    values_ = static_cast<int32_t*>(data);
  }
  ~HostColumn() {
    if (pinned_) {
      cudaFreeHost(values_);
    } else {
      std::free(values_);
    }
  }
  HostColumn(const HostColumn&) = delete;
  HostColumn& operator=(const HostColumn&) = delete;
  int32_t* operator*() const { return values_; }

 private:
  bool pinned_;
  int32_t* values_;
};

struct Output {
  HostColumn columns[3];
  Output(int64_t rows, bool pinned, bool touched)
      : columns{{rows, pinned, touched}, {rows, pinned, touched}, {rows, pinned, touched}} {}
};

// work(thread, first row, behind the last one).
template <typename Work>
void by_threads(int threads, int64_t rows, const Work& work) {
  int64_t const share = (rows + threads - 1) / threads;
  std::vector<std::thread> workers;
  for (int i = 0; i < threads; ++i) {
    workers.emplace_back([&work, i, rows, share] {
      work(std::min(rows, share * i), std::min(rows, share * (i + 1)));
    });
  }
  for (std::thread& worker : workers) worker.join();
}

// Both sides in host memory, and where rows come out.
struct HostJoin {
  HostJoin(const std::string& of, int64_t build, int64_t probe)
      : memory_name(of),
        pinned(of == "pinned"),
        exported(of == "exported"),
        build_rows(build),
        probe_rows(probe),
        build_keys(build, pinned),
        build_values(build, pinned),
        probe_keys(probe, pinned),
        probe_values(probe, pinned),
        output(probe, pinned, of != "untouched" && !exported) {
    Table const table = build_table(build_rows);
    std::copy(table.keys.begin(), table.keys.end(), *build_keys);
    std::copy(table.values.begin(), table.values.end(), *build_values);
    for (int64_t i = 0; i < probe_rows; ++i) {
      // Neighbours are far apart, and each key comes as often.
      (*probe_keys)[i] = static_cast<int32_t>(static_cast<uint64_t>(i) * 2654435761U %
                                              static_cast<uint64_t>(build_rows));
      (*probe_values)[i] = static_cast<int32_t>(i);
    }
  }

  gpujoin_memory memory() const { return pinned ? GPUJOIN_MEMORY_PINNED : GPUJOIN_MEMORY_HOST; }
  uint64_t wrong_rows() const {
    uint64_t wrong = wrong_exports;
    for (int64_t i = 0; i < probe_rows && !exported; ++i) {
      wrong += (*output.columns[0])[i] != (*output.columns[2])[i] ? 1 : 0;
    }
    return wrong;
  }
  double gigabytes_in() const { return static_cast<double>(build_rows + probe_rows) * 8e-9; }
  double gigabytes_out() const { return static_cast<double>(probe_rows) * 12e-9; }

  std::string memory_name;
  bool pinned;
  bool exported;
  int64_t build_rows, probe_rows;
  HostColumn build_keys, build_values, probe_keys, probe_values;
  Output output;
  mutable std::atomic<uint64_t> wrong_exports{0};
};

// What nobody has written to the output, as Arrow arrays of the library's own. Wrong rows of it.
uint64_t export_rows(gpujoin_result* result, gpujoin_error* told) {
  ArrowSchema schema{};
  ArrowArray array{};
  check(gpujoin_result_export(result, nullptr, &schema, &array, told), *told);
  auto const* const keys = static_cast<const int32_t*>(array.children[0]->buffers[1]);
  auto const* const values = static_cast<const int32_t*>(array.children[2]->buffers[1]);
  uint64_t const wrong = array.length != 0 && (keys[0] != values[0] ||
                                               keys[array.length - 1] != values[array.length - 1])
                             ? 1
                             : 0;
  schema.release(&schema);
  array.release(&array);
  return wrong;
}

// Results of a probe or an operation to the next rows of the output. Whether there will be others.
template <typename From, typename Next>
bool fetch_all(From* from, const Next& next, const HostJoin& join, std::atomic<int64_t>& place) {
  gpujoin_error told;
  for (;;) {
    gpujoin_state state = GPUJOIN_STATE_NOT_READY;
    gpujoin_result* result = nullptr;
    check(next(from, &state, &result, &told), told);
    if (state != GPUJOIN_STATE_READY) return state != GPUJOIN_STATE_FINISHED;
    int64_t rows = 0;
    check(gpujoin_result_get_rows(result, &rows, &told), told);
    int64_t const first = place.fetch_add(rows);
    if (join.exported) {
      join.wrong_exports += export_rows(result, &told);
    } else {
      gpujoin_fetch fetches[3] = {GPUJOIN_FETCH_INIT, GPUJOIN_FETCH_INIT, GPUJOIN_FETCH_INIT};
      for (int32_t i = 0; i < 3; ++i) {
        fetches[i].what = GPUJOIN_FETCH_COLUMN;
        fetches[i].column = i;
        fetches[i].data = *join.output.columns[i] + first;
        fetches[i].data_bytes = static_cast<uint64_t>(rows) * sizeof(int32_t);
        fetches[i].memory = join.memory();
      }
      check(gpujoin_result_fetch(result, nullptr, fetches, 3, &told), told);
    }
    gpujoin_result_destroy(result);
  }
}

// Seconds until the build is finished, until the probes are, and until the last row.
struct HostJoinSeconds {
  double build = 0;
  double probes = 0;
  double all = 0;
};

HostJoinSeconds run_host_join(gpujoin_context* context, const HostJoin& join, int threads,
                              int64_t build_batch_rows, int64_t batch_rows) {
  auto const start = Clock::now();
  gpujoin_relation* const like =
      relation_of(context, *join.build_keys, *join.build_values, join.build_rows, join.memory());
  gpujoin_build* build = nullptr;
  check(gpujoin_build_create(context, like, kKey, 1, nullptr, nullptr, &build, &error));
  int const builders = build_batch_rows >= join.build_rows ? 1 : threads;
  by_threads(builders, join.build_rows, [&](int64_t first, int64_t end) {
    gpujoin_error told;
    for (; first < end; first += build_batch_rows) {
      int64_t const rows = std::min(build_batch_rows, end - first);
      gpujoin_relation* const batch = relation_of(context, *join.build_keys + first,
                                                  *join.build_values + first, rows, join.memory());
      check(gpujoin_build_append(build, batch, 0, &told), told);
      gpujoin_relation_destroy(batch);
    }
  });
  check(gpujoin_build_finish(build, &error));
  HostJoinSeconds seconds;
  seconds.build = microseconds_since(start) * 1e-6;
  gpujoin_operation* const operation = operation_on(build, like);
  std::atomic<int64_t> place{0};
  by_threads(threads, join.probe_rows, [&](int64_t first, int64_t end) {
    gpujoin_error told;
    gpujoin_probe* probe = nullptr;
    check(gpujoin_probe_create(operation, &probe, &told), told);
    for (; first < end; first += batch_rows) {
      int64_t const rows = std::min(batch_rows, end - first);
      gpujoin_relation* const batch = relation_of(context, *join.probe_keys + first,
                                                  *join.probe_values + first, rows, join.memory());
      gpujoin_status status;
      while ((status = gpujoin_probe_append(probe, batch, 0, &told)) == GPUJOIN_ERROR_NOT_READY) {
        fetch_all(probe, gpujoin_probe_next, join, place);
      }
      check(status, told);
      gpujoin_relation_destroy(batch);
    }
    check(gpujoin_probe_finish(probe, &told), told);
    fetch_all(probe, gpujoin_probe_next, join, place);
    gpujoin_probe_destroy(probe);
  });
  check(gpujoin_operation_close(operation, &error));
  seconds.probes = microseconds_since(start) * 1e-6;
  by_threads(threads, threads, [&](int64_t, int64_t) {
    while (fetch_all(operation, gpujoin_operation_next, join, place)) {
    }
  });
  seconds.all = microseconds_since(start) * 1e-6;
  gpujoin_operation_destroy(operation);
  gpujoin_build_destroy(build);
  gpujoin_relation_destroy(like);
  if (place != join.probe_rows) {
    std::fprintf(stderr, "another number of rows than match\n");
    std::exit(1);
  }
  return seconds;
}

// budget: device memory; 0: all. spilled: the share of the rows that comes over the link twice,
// where what is larger than the budget does.
void time_host_join(const char* what, const HostJoin& join, int threads, int64_t build_batch_rows,
                    int64_t batch_rows, uint64_t budget, double spilled, double bound) {
  constexpr int kRuns = 5;
  gpujoin_context_options options = GPUJOIN_CONTEXT_OPTIONS_INIT;
  options.device = GPUJOIN_DEVICE_CUDA;
  options.memory_limit_bytes = budget;
  gpujoin_context* context = nullptr;
  auto const before = Clock::now();
  check(gpujoin_context_create(&options, &context, &error));
  double const context_ms = microseconds_since(before) * 1e-3;
  std::vector<double> seconds;
  std::vector<double> builds;
  std::vector<double> probes;
  for (int run = 0; run < kRuns; ++run) {
    auto const taken = run_host_join(context, join, threads, build_batch_rows, batch_rows);
    seconds.push_back(taken.all);
    builds.push_back(taken.build);
    probes.push_back(taken.probes);
  }
  std::printf(
      "{\"what\": \"%s\", \"memory\": \"%s\", \"threads\": %d, \"batch_rows\": %lld, "
      "\"build_rows\": %lld, \"probe_rows\": %lld, \"budget_bytes\": %llu, "
      "\"spilled_share\": %.4f, \"runs\": %d, \"wrong\": %llu, \"context_milliseconds\": %.2f, "
      "\"first_milliseconds\": %.2f, "
      "\"build_milliseconds\": %.2f, \"probes_milliseconds\": %.2f, \"milliseconds\": %.2f, "
      "\"bound_milliseconds\": %.2f, \"share_of_bound\": %.3f}\n",
      what, join.memory_name.c_str(), threads, static_cast<long long>(batch_rows),
      static_cast<long long>(join.build_rows), static_cast<long long>(join.probe_rows),
      static_cast<unsigned long long>(budget), spilled, kRuns,
      static_cast<unsigned long long>(join.wrong_rows()), context_ms, seconds.front() * 1e3,
      median(builds) * 1e3, median(probes) * 1e3, median(seconds) * 1e3, bound * 1e3,
      bound / median(seconds));
  std::fflush(stdout);
  gpujoin_context_destroy(context);
}

void time_link(const HostJoin& join, int threads, int64_t batch_rows) {
  double const build = static_cast<double>(join.build_rows) * 8e-9;
  double const in = join.gigabytes_in() - build;
  double const out = join.gigabytes_out();
  double const bound = build / 55 + std::max({in / 55, out / 55, (in + out) / 101});
  time_host_join("link", join, threads, join.build_rows, batch_rows, 0, 0, bound);
}

void time_budgets(const HostJoin& join, int threads, int64_t batch_rows) {
  double const in = join.gigabytes_in();
  double const out = join.gigabytes_out();
  for (int const times : {2, 4, 8, 16}) {
    double const f = 1 - 1.0 / times;
    double const bound =
        std::max({(1 + f) * in / 55, (f * in + out) / 55, ((1 + 2 * f) * in + out) / 101});
    auto const budget = static_cast<uint64_t>(in * 1e9 / times);
    time_host_join("budgets", join, threads, batch_rows, batch_rows, budget, f, bound);
  }
}

std::string today() {
  std::time_t const now = std::time(nullptr);
  char text[sizeof "2026-01-01"] = "";
  std::strftime(text, sizeof text, "%Y-%m-%d", std::gmtime(&now));
  return text;
}

// trace: made before the device is used, so before the join.
void trace_join(KernelTrace& trace, const HostJoin& join, int threads, int64_t batch_rows,
                int64_t times, const std::string& command) {
  gpujoin_context_options options = GPUJOIN_CONTEXT_OPTIONS_INIT;
  options.device = GPUJOIN_DEVICE_CUDA;
  options.memory_limit_bytes = static_cast<uint64_t>(
      join.gigabytes_in() * 1e9 / static_cast<double>(std::max<int64_t>(times, 1)));
  gpujoin_context* context = nullptr;
  check(gpujoin_context_create(&options, &context, &error));
  gpujoin_context_info info = GPUJOIN_CONTEXT_INFO_INIT;
  check(gpujoin_context_get_info(context, &info, &error));
  double milliseconds = 0;
  auto const run = [&] {
    auto const start = Clock::now();
    run_host_join(context, join, threads, batch_rows, batch_rows);
    milliseconds = microseconds_since(start) * 1e-3;
  };
  for (int i = 0; i < 2; ++i) run();  // warms up
  auto const intervals = trace.intervals(run);
  const char* const commit = std::getenv("GPUJOIN_COMMIT");
  std::printf(
      R"({"context": {"date": "%s", "commit": "%s", "device": "%s", "command": "%s"},
"join": {"memory": "%s", "threads": %d, "batch_rows": %lld, "build_rows": %lld,
  "probe_rows": %lld, "budget_bytes": %llu, "wrong": %llu, "milliseconds": %.2f},
"columns": ["name", "stream", "start_us", "us", "bytes"],
"intervals": %s}
)",
      today().c_str(), commit != nullptr ? commit : "", info.device_name, command.c_str(),
      join.memory_name.c_str(), threads, static_cast<long long>(batch_rows),
      static_cast<long long>(join.build_rows), static_cast<long long>(join.probe_rows),
      static_cast<unsigned long long>(options.memory_limit_bytes),
      static_cast<unsigned long long>(join.wrong_rows()), milliseconds, json_of(intervals).c_str());
  gpujoin_context_destroy(context);
}
#else
void time_small() { std::fprintf(stderr, "built without CUDA\n"); }
struct HostJoin {
  HostJoin(const std::string&, int64_t, int64_t) {}
};
void time_link(const HostJoin&, int, int64_t) { time_small(); }
void time_budgets(const HostJoin&, int, int64_t) { time_small(); }
void trace_join(KernelTrace&, const HostJoin&, int, int64_t, int64_t, const std::string&) {
  time_small();
}
#endif

}  // namespace

int main(int count, char** words) {
  auto const number = [&](int place, int64_t otherwise) {
    return count > place ? std::atoll(words[place]) : otherwise;
  };
  std::string const what = count > 1 ? words[1] : "";
  if (what == "small") {
    time_small();
  } else if (what == "batches" && count > 2) {
    bool const on_gpu = std::strcmp(words[2], "cuda") == 0;
    time_batches(on_gpu ? GPUJOIN_DEVICE_CUDA : GPUJOIN_DEVICE_CPU, static_cast<int>(number(3, 8)),
                 number(4, 1'000'000), number(5, 50'000'000), number(6, 0));
  } else if ((what == "link" || what == "budgets" || what == "trace") && count > 2) {
    std::string why_not;
    auto const trace = what == "trace" ? make_kernel_trace(why_not) : nullptr;
    if (!why_not.empty()) {
      std::fprintf(stderr, "trace: %s\n", why_not.c_str());
      return 1;
    }
    HostJoin const join(words[2], number(5, int64_t{1} << 25), number(6, int64_t{1} << 28));
    auto const threads = static_cast<int>(number(3, 4));
    int64_t const batch_rows = number(4, int64_t{1} << 23);
    if (trace != nullptr) {
      std::string command = "gpujoin_time_operator";
      for (int i = 1; i < count; ++i) command += std::string(" ") + words[i];
      trace_join(*trace, join, threads, batch_rows, number(7, 4), command);
      return 0;
    }
    auto const time = what == "link" ? time_link : time_budgets;
    time(join, threads, batch_rows);
  } else {
    std::fprintf(
        stderr,
        "usage: %s batches cpu|cuda [threads] [build rows] [probe rows] [batch rows] | small | "
        "link|budgets|trace pinned|pageable|untouched|exported [threads] [batch rows] "
        "[build rows] [probe rows] [times: of a trace]\n",
        words[0]);
    return 2;
  }
}
