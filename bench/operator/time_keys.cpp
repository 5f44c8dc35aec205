// time_keys.cpp: kept builds by keys of several sorts, through the C ABI, host included.
//
//   gpujoin_time_keys cpu|cuda [build rows] [batch rows] [batches]
//       a build of one batch, and batches that are probed one after the other; of CUDA everything
//       is in device memory, and stays there. Keys: INT32; INT64 of the probe side beside INT32 of
//       the build side; two INT32; two INT64 of 62 bits; text of 16 letters; INT32 of which each
//       has two build rows; INT32 with a condition beside it that holds; INT32 where one of eight
//       payloads is NULL
//
// Prints a line of JSON for each: milliseconds that the build, the first batch and, at the median,
// a later one took, until its rows were there.
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <memory>
#include <numeric>
#include <random>
#include <string>
#include <vector>

#include "bench/operator/calls.hpp"
#include "gpujoin.h"

#if GPUJOIN_WITH_CUDA
#include <cuda_runtime_api.h>
#endif

namespace {

using namespace gpujoin::bench;

// Where joins read: in host memory, or copied to the device.
class Memory {
 public:
  explicit Memory(bool on_device) : on_device_(on_device) {}
  gpujoin_memory kind() const { return on_device_ ? GPUJOIN_MEMORY_DEVICE : GPUJOIN_MEMORY_HOST; }

  template <typename Value>
  const void* put(const std::vector<Value>& values) {
    size_t const bytes = values.size() * sizeof(Value);
    void* made = nullptr;
    if (!on_device_) {
      made = std::malloc(bytes);
      kept_.emplace_back(made, std::free);
      std::memcpy(made, values.data(), bytes);
      return made;
    }
#if GPUJOIN_WITH_CUDA
    if (cudaMalloc(&made, bytes) != cudaSuccess ||
        cudaMemcpy(made, values.data(), bytes, cudaMemcpyHostToDevice) != cudaSuccess) {
      std::fprintf(stderr, "no device memory for the data\n");
      std::exit(1);
    }
    kept_.emplace_back(made, [](void* memory) { cudaFree(memory); });
#endif
    return made;
  }

 private:
  bool on_device_;
  std::vector<std::shared_ptr<void>> kept_;
};

enum class Sort { kInt32, kUnlike, kTwoInt32, kTwoInt64, kText, kRepeated, kCondition, kNulls };
struct Named {
  Sort sort;
  const char* name;
};
constexpr Named kSorts[] = {{Sort::kInt32, "INT32"},
                            {Sort::kUnlike, "INT32 and INT64"},
                            {Sort::kTwoInt32, "two INT32"},
                            {Sort::kTwoInt64, "two INT64"},
                            {Sort::kText, "text"},
                            {Sort::kRepeated, "INT32, two rows of each"},
                            {Sort::kCondition, "INT32 and a condition"},
                            {Sort::kNulls, "INT32, payloads with NULLs"}};

int32_t key_columns(Sort sort) {
  return sort == Sort::kTwoInt32 || sort == Sort::kTwoInt64 ? 2 : 1;
}

// Key columns, and behind them one of INT32 that is the number of the key.
gpujoin_relation* relation_of(gpujoin_context* context, Memory& memory, Sort sort, bool is_build,
                              const std::vector<int64_t>& numbers) {
  std::vector<gpujoin_column> columns;
  auto const add = [&](gpujoin_type type, const void* data) {
    gpujoin_column column = GPUJOIN_COLUMN_INIT;
    column.name = "column";
    column.type = type;
    column.data = data;
    column.memory = memory.kind();
    columns.push_back(column);
  };
  auto const add_of = [&](gpujoin_type type, auto zero, const auto& value_of) {
    std::vector<decltype(zero)> values;
    for (int64_t const number : numbers) {
      values.push_back(static_cast<decltype(zero)>(value_of(number)));
    }
    add(type, memory.put(values));
  };
  auto const itself = [](int64_t number) { return number; };
  auto const scattered = [](int64_t number) {
    return static_cast<int64_t>(static_cast<uint64_t>(number) * 0x9e3779b97f4a7c15 >> 2);
  };
  switch (sort) {
    case Sort::kUnlike:
      is_build ? add_of(GPUJOIN_TYPE_INT32, int32_t{}, itself)
               : add_of(GPUJOIN_TYPE_INT64, int64_t{}, itself);
      break;
    case Sort::kTwoInt32:
      add_of(GPUJOIN_TYPE_INT32, int32_t{}, [](int64_t number) { return number / 1000; });
      add_of(GPUJOIN_TYPE_INT32, int32_t{}, [](int64_t number) { return number % 1000; });
      break;
    case Sort::kTwoInt64:
      add_of(GPUJOIN_TYPE_INT64, int64_t{}, scattered);
      add_of(GPUJOIN_TYPE_INT64, int64_t{}, [&](int64_t number) { return scattered(3 * number); });
      break;
    case Sort::kText: {
      std::vector<int32_t> offsets = {0};
      std::vector<char> bytes;
      for (int64_t const number : numbers) {
        char text[32];
        int const count =
            std::snprintf(text, sizeof(text), "row %012lld", static_cast<long long>(number));
        bytes.insert(bytes.end(), text, text + count);
        offsets.push_back(static_cast<int32_t>(bytes.size()));
      }
      add(GPUJOIN_TYPE_UTF8, memory.put(bytes));
      columns.back().offsets = memory.put(offsets);
      break;
    }
    case Sort::kRepeated:
      add_of(GPUJOIN_TYPE_INT32, int32_t{},
             [&](int64_t number) { return is_build ? number / 2 : number; });
      break;
    default:
      add_of(GPUJOIN_TYPE_INT32, int32_t{}, itself);
  }
  add_of(GPUJOIN_TYPE_INT32, int32_t{}, itself);
  if (sort == Sort::kNulls) {
    columns.back().validity =
        static_cast<const uint8_t*>(memory.put(std::vector<uint8_t>(numbers.size() / 8 + 1, 0x7f)));
  }
  gpujoin_relation* relation = nullptr;
  check(gpujoin_relation_create(context, static_cast<int64_t>(numbers.size()), columns.data(),
                                static_cast<int32_t>(columns.size()), &relation, &error));
  return relation;
}

// The probe side is the left one; both sides' numbers come out.
gpujoin_operation* operation_on(gpujoin_build* build, gpujoin_relation* like, Sort sort) {
  int32_t const keys = key_columns(sort);
  gpujoin_node nodes[] = {GPUJOIN_NODE_INIT, GPUJOIN_NODE_INIT, GPUJOIN_NODE_INIT};
  nodes[0].operation = nodes[1].operation = GPUJOIN_OPERATOR_COLUMN;
  nodes[0].side = GPUJOIN_SIDE_LEFT;
  nodes[1].side = GPUJOIN_SIDE_RIGHT;
  nodes[0].column = nodes[1].column = keys;
  nodes[2].operation = GPUJOIN_OPERATOR_LESS_EQUAL;
  nodes[2].argument_count = 2;
  gpujoin_condition condition = GPUJOIN_CONDITION_INIT;
  condition.nodes = nodes;
  condition.node_count = 3;
  gpujoin_join_spec spec = GPUJOIN_JOIN_SPEC_INIT;
  spec.kind = GPUJOIN_JOIN_INNER;
  spec.key_count = keys;
  spec.left_keys = spec.right_keys = kColumns;
  spec.left_columns = spec.right_columns = kColumns + keys;
  spec.left_column_count = spec.right_column_count = 1;
  if (sort == Sort::kCondition) spec.residual = &condition;
  gpujoin_operation* operation = nullptr;
  check(gpujoin_operation_create(build, like, &spec, nullptr, &operation, &error));
  return operation;
}

void time_sort(gpujoin_context* context, bool on_device, const Named& named, int64_t build_rows,
               int64_t batch_rows, int64_t batches) {
  Memory memory(on_device);
  std::mt19937_64 random(1);
  std::vector<int64_t> numbers(static_cast<size_t>(build_rows));
  std::iota(numbers.begin(), numbers.end(), 0);
  std::shuffle(numbers.begin(), numbers.end(), random);
  gpujoin_relation* const rows = relation_of(context, memory, named.sort, true, numbers);
  // Of repeated keys there are half as many.
  int64_t const keys =
      named.sort == Sort::kRepeated ? std::max<int64_t>(build_rows / 2, 1) : build_rows;
  numbers.resize(static_cast<size_t>(batch_rows));
  for (int64_t& number : numbers) {
    number = static_cast<int64_t>(random() % static_cast<uint64_t>(keys));
  }
  gpujoin_relation* const batch = relation_of(context, memory, named.sort, false, numbers);
  constexpr int kBuilds = 5;
  std::vector<double> builds;
  std::vector<double> firsts;
  std::vector<double> later;
  for (int i = 0; i < kBuilds; ++i) {
    auto start = Clock::now();
    auto const lap = [&](std::vector<double>* times) {
      auto const now = Clock::now();
      times->push_back(std::chrono::duration<double, std::milli>(now - start).count());
      start = now;
    };
    gpujoin_build* build = nullptr;
    check(gpujoin_build_create(context, rows, kColumns, key_columns(named.sort), nullptr, nullptr,
                               &build, &error));
    check(gpujoin_build_append(build, rows, 0, &error));
    check(gpujoin_build_finish(build, &error));
    gpujoin_operation* const operation = operation_on(build, batch, named.sort);
    lap(&builds);
    gpujoin_probe* probe = nullptr;
    check(gpujoin_probe_create(operation, &probe, &error));
    int64_t found = 0;
    for (int64_t k = 0; k < batches; ++k) {
      check(gpujoin_probe_append(probe, batch, 0, &error));
      check(gpujoin_probe_flush(probe, &error));
      found += drain(probe, gpujoin_probe_next, &error);
      lap(k == 0 ? &firsts : &later);
    }
    int64_t const matches = named.sort == Sort::kRepeated ? 2 : 1;
    bool const is_even = build_rows % 2 == 0 || matches == 1;
    if (is_even && found != matches * batch_rows * batches) {
      std::fprintf(stderr, "%lld rows of %s\n", static_cast<long long>(found), named.name);
      std::exit(1);
    }
    gpujoin_probe_destroy(probe);
    gpujoin_operation_destroy(operation);
    gpujoin_build_destroy(build);
  }
  std::printf(
      "{\"what\": \"keys\", \"device\": \"%s\", \"keys\": \"%s\", \"build_rows\": %lld, "
      "\"batch_rows\": %lld, \"build_milliseconds\": %.3f, \"first_milliseconds\": %.3f, "
      "\"milliseconds\": %.3f}\n",
      on_device ? "cuda" : "cpu", named.name, static_cast<long long>(build_rows),
      static_cast<long long>(batch_rows), median(builds), median(firsts), median(later));
  std::fflush(stdout);
  gpujoin_relation_destroy(batch);
  gpujoin_relation_destroy(rows);
}

int64_t number_at(int argc, char** argv, int place, int64_t otherwise) {
  return argc > place ? std::atoll(argv[place]) : otherwise;
}

}  // namespace

int main(int argc, char** argv) {
  std::string const device = argc > 1 ? argv[1] : "";
  int64_t const build_rows = number_at(argc, argv, 2, 1'000'000);
  int64_t const batch_rows = number_at(argc, argv, 3, 1'000'000);
  int64_t const batches = number_at(argc, argv, 4, 10);
  bool const is_known = device == "cpu" || device == "cuda";
  if (!is_known || build_rows < 1 || batch_rows < 1 || batches < 2) {
    std::fprintf(stderr, "usage: %s cpu|cuda [build rows] [batch rows] [batches, 2 at least]\n",
                 argv[0]);
    return 2;
  }
  gpujoin_context_options options = GPUJOIN_CONTEXT_OPTIONS_INIT;
  options.device = device == "cuda" ? GPUJOIN_DEVICE_CUDA : GPUJOIN_DEVICE_CPU;
  gpujoin_context* context = nullptr;
  check(gpujoin_context_create(&options, &context, &error));
  for (Named const& named : kSorts) {
    time_sort(context, device == "cuda", named, build_rows, batch_rows, batches);
  }
  gpujoin_context_destroy(context);
  return 0;
}
