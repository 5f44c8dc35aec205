// gpujoin_bench: see bench/results/README.md for its words
#include <benchmark/benchmark.h>

#include <charconv>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <fstream>
#include <iostream>

#include "bench/self_check.hpp"
#include "bench/session.hpp"

namespace gpujoin::bench {

namespace {

// Of --name=value; nothing when the argument is another one.
std::optional<std::string_view> value_of(std::string_view argument, std::string_view name) {
  if (!argument.starts_with(name) || argument.size() <= name.size()) return std::nullopt;
  if (argument[name.size()] != '=') return std::nullopt;
  return argument.substr(name.size() + 1);
}

int to_int(std::string_view text) {
  int number = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (error != std::errc{} || end != text.data() + text.size()) {
    throw std::invalid_argument("not a number: " + std::string(text));
  }
  return number;
}

// Google Benchmark describes its own flags, and exits.
void print_help() {
  std::printf(
      "gpujoin_bench: times joins, and checks every row of what they answer\n\n"
      "  --device=auto|cuda|cpu      auto, the default, is cuda; skips where no device can be "
      "used\n"
      "  --cell=NAME:WORD=VALUE,...  one more cell; may be repeated\n"
      "  --plan=NAME:WORD=VALUE,...  one more plan for every cell; may be repeated\n"
      "  --scale=N                   2^N times the rows, for example -7 on a CPU\n"
      "  --figures, --figures=NAME   the papers' figures in the place of the cells: all, those of "
      "a\n"
      "                              paper (wu), or one (wu/fig8); may be repeated\n"
      "  --calls=N                   timed calls of every benchmark\n"
      "  --flush_l2                  overwrites 256 MiB before every call\n"
      "  --kernels                   traces kernels, too, into the JSON of --benchmark_out\n"
      "  --calibrate=FILE            measures the machine, writes FILE, and runs no benchmark\n"
      "  --calibration=FILE          plans with the rates of such a file\n"
      "  --commit=TEXT               for the report; or the environment's GPUJOIN_COMMIT\n"
      "  --self_check                first checks the generators and the check itself\n\n"
      "bench/results/README.md says more. And all of Google Benchmark's:\n\n");
}

// Takes what is ours out of the arguments.
Options take_options(int& argc, char** argv) {
  Options options;
  if (const char* commit = std::getenv("GPUJOIN_COMMIT")) options.commit = commit;
  int kept = 1;
  for (int i = 1; i < argc; ++i) {
    const std::string_view argument = argv[i];
    if (const auto device = value_of(argument, "--device")) {
      options.device = *device;
    } else if (const auto scale = value_of(argument, "--scale")) {
      options.log2_scale = to_int(*scale);
    } else if (const auto cell = value_of(argument, "--cell")) {
      options.cells.push_back(parse_cell(*cell));
    } else if (const auto plan = value_of(argument, "--plan")) {
      options.plans.push_back(parse_plan(*plan));
    } else if (argument == "--figures") {
      options.figures.push_back("all");
    } else if (const auto figures = value_of(argument, "--figures")) {
      options.figures.emplace_back(*figures);
    } else if (const auto commit = value_of(argument, "--commit")) {
      options.commit = *commit;
    } else if (const auto calibrate = value_of(argument, "--calibrate")) {
      options.calibrate = *calibrate;
    } else if (const auto calibration = value_of(argument, "--calibration")) {
      options.calibration = *calibration;
    } else if (const auto calls = value_of(argument, "--calls")) {
      options.calls = to_int(*calls);
    } else if (argument == "--self_check") {
      options.self_check = true;
    } else if (argument == "--kernels") {
      options.kernels = true;
    } else if (argument == "--flush_l2") {
      options.flush_cache = true;
    } else if (argument == "--help") {
      print_help();
      argv[kept++] = argv[i];
    } else {
      argv[kept++] = argv[i];
    }
  }
  argc = kept;
  argv[argc] = nullptr;
  if (options.device != "auto" && options.device != "cuda" && options.device != "cpu") {
    throw std::invalid_argument("--device is auto, cuda or cpu");
  }
  return options;
}

std::string joined(int argc, char** argv) {
  std::string line = "gpujoin_bench";
  for (int i = 1; i < argc; ++i) line += std::string(" ") + argv[i];
  return line;
}

void describe_run(const Session& session, const std::string& command) {
  const Options& options = session.options;
  benchmark::AddCustomContext("commit", options.commit.empty() ? "unknown" : options.commit);
  benchmark::AddCustomContext("command", command);
  benchmark::AddCustomContext("gpujoin_version", gpujoin_version_string());
  for (const auto& [name, value] : session.machine.describe()) {
    benchmark::AddCustomContext(name, value);
  }
  benchmark::AddCustomContext("rates",
                              options.calibration.empty() ? "built in" : options.calibration);
  benchmark::AddCustomContext("copy_GBps", std::to_string(session.copy_bandwidth));
  benchmark::AddCustomContext("scale_log2", std::to_string(options.log2_scale));
  benchmark::AddCustomContext("kernels_traced", options.kernels ? "yes" : "no");
  benchmark::AddCustomContext("l2_flushed", options.flush_cache ? "yes" : "no");
  benchmark::AddCustomContext("peers_file", "bench/peers.json");
}

// The file that Google Benchmark is told to write; empty when it writes none.
std::string output_file(int argc, char** argv) {
  std::string file;
  for (int i = 1; i < argc; ++i) {
    if (const auto named = value_of(argv[i], "--benchmark_out")) file = *named;
  }
  return file;
}

// Before the first CUDA call, as CUPTI wants it.
std::unique_ptr<KernelTrace> start_trace(const Options& options, const std::string& file) {
  if (!options.kernels) return nullptr;
  if (file.empty()) throw std::invalid_argument("--kernels needs --benchmark_out=FILE, as JSON");
  std::string why_not;
  auto trace = make_kernel_trace(why_not);
  if (!trace) throw std::runtime_error("--kernels: " + why_not);
  return trace;
}

int run(int argc, char** argv) {
  const std::string command = joined(argc, argv);
  const Options options = take_options(argc, argv);
  const std::string file = output_file(argc, argv);
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return EXIT_FAILURE;

  const auto trace = start_trace(options, file);
  std::string why_not;
  const auto machine = options.device == "cpu" ? make_cpu_machine() : make_cuda_machine(why_not);
  if (!machine) {
    std::printf("gpujoin_bench: skipped, no usable CUDA device: %s (--device=cpu for the CPU)\n",
                why_not.c_str());
    return EXIT_SUCCESS;
  }

  if (options.self_check) {
    const auto faults = self_check(*machine);
    for (const std::string& fault : faults) std::fprintf(stderr, "self_check: %s\n", fault.c_str());
    if (!faults.empty()) return EXIT_FAILURE;
    std::fprintf(stderr, "self_check: passed\n");
  }

  Session session(*machine, options);
  if (!options.calibrate.empty()) {
    call("calibrate", gpujoin_context_calibrate, session.context.get(), options.calibrate.c_str());
    std::cout << std::ifstream(options.calibrate).rdbuf();
    return EXIT_SUCCESS;
  }
  session.kernel_trace = trace.get();
  describe_run(session, command);
  if (options.figures.empty()) {
    register_cells(session);
  } else {
    register_figures(session);
  }
  benchmark::RunSpecifiedBenchmarks();
  benchmark::Shutdown();
  if (trace) append_kernels(file, session.kernels);
  return session.has_failed ? EXIT_FAILURE : EXIT_SUCCESS;
}

}  // namespace

}  // namespace gpujoin::bench

int main(int argc, char** argv) {
  try {
    return gpujoin::bench::run(argc, argv);
  } catch (const std::exception& error) {
    std::fprintf(stderr, "gpujoin_bench: %s\n", error.what());
    return EXIT_FAILURE;
  }
}
