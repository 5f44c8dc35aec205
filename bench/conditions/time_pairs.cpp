// time_pairs.cpp: what a condition costs a pair of rows, below the C ABI: on the CPU, one worker,
// and on the device where there is one. Prints a line a condition and order of rows.
#include <algorithm>
#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <random>
#include <vector>

#include "src/base/copy.hpp"
#include "src/base/status.hpp"
#include "src/columns/register_columns.hpp"
#include "src/conditions/bind.hpp"
#include "src/cpu/evaluate_condition.hpp"
#include "src/cpu/probe_partition.hpp"
#include "src/execute/condition_columns.hpp"
#if GPUJOIN_WITH_CUDA
#include "src/base/device.hpp"
#include "src/conditions/filter_pairs.hpp"
#endif

namespace {

using namespace gpujoin;

struct Rows {
  const char* order;
  std::vector<uint32_t> left;
  std::vector<uint32_t> right;
};

struct Data {
  explicit Data(size_t rows) : ints(rows), longs(rows), doubles(rows) {
    std::mt19937_64 random(1);
    for (size_t i = 0; i < rows; ++i) {
      ints[i] = static_cast<int32_t>(random() % 1'000'000);
      longs[i] = static_cast<int64_t>(random() % 1'000'000);
      doubles[i] = static_cast<double>(random() % 1'000'000);
    }
    for (auto const& [type, data] :
         {std::pair<gpujoin_type, const void*>{GPUJOIN_TYPE_INT32, ints.data()},
          {GPUJOIN_TYPE_INT64, longs.data()},
          {GPUJOIN_TYPE_FLOAT64, doubles.data()}}) {
      gpujoin_column column = GPUJOIN_COLUMN_INIT;
      column.type = type;
      column.data = data;
      column.memory = GPUJOIN_MEMORY_HOST;
      columns.push_back(column);
    }
  }
  std::vector<int32_t> ints;
  std::vector<int64_t> longs;
  std::vector<double> doubles;
  std::vector<gpujoin_column> columns;
};

columns::Condition condition_of(const char* name) {
  auto const column = [](bool left, int32_t number) {
    return columns::ConditionNode{GPUJOIN_OPERATOR_COLUMN, 0, left, number, nullptr};
  };
  auto const of = [](gpujoin_operator operation, int32_t count) {
    return columns::ConditionNode{operation, count, false, 0, nullptr};
  };
  std::string const which = name;
  if (which == "l.i < r.i") {
    return {{column(true, 0), column(false, 0), of(GPUJOIN_OPERATOR_LESS, 2)}};
  }
  if (which == "l.i < r.i AND l.d <> r.d") {
    return {{column(true, 0), column(false, 0), of(GPUJOIN_OPERATOR_LESS, 2), column(true, 2),
             column(false, 2), of(GPUJOIN_OPERATOR_NOT_EQUAL, 2), of(GPUJOIN_OPERATOR_AND, 2)}};
  }
  if (which == "l.i < r.l") {
    return {{column(true, 0), column(false, 1), of(GPUJOIN_OPERATOR_LESS, 2)}};
  }
  return {{column(true, 0), column(false, 0), of(GPUJOIN_OPERATOR_ADD, 2), column(true, 1),
           of(GPUJOIN_OPERATOR_LESS, 2)}};
}

double seconds_of(const std::function<void()>& what) {
  double best = 1e9;
  for (int i = 0; i < 5; ++i) {
    auto const begin = std::chrono::steady_clock::now();
    what();
    std::chrono::duration<double> const took = std::chrono::steady_clock::now() - begin;
    best = std::min(best, took.count());
  }
  return best;
}

void on_cpu(const std::shared_ptr<const conditions::BoundCondition>& bound,
            const columns::Relation& table, const Rows& rows, const char* name) {
  cpu::ConditionEvaluator evaluator(bound, table, table);
  std::vector<uint8_t> answers(cpu::kBatchRows);
  size_t const pairs = rows.left.size();
  double const seconds = seconds_of([&] {
    for (size_t i = 0; i + cpu::kBatchRows <= pairs; i += cpu::kBatchRows) {
      evaluator.evaluate(&rows.left[i], &rows.right[i], cpu::kBatchRows, answers.data());
    }
  });
  std::printf("cpu %-26s %-9s %6.2f ns a pair\n", name, rows.order,
              seconds * 1e9 / static_cast<double>(pairs));
}

#if GPUJOIN_WITH_CUDA
void on_device(base::Queue& queue, const std::shared_ptr<const conditions::BoundCondition>& bound,
               const columns::Relation& table, const Rows& rows, const char* name) {
  auto const condition = execute::device_condition(queue, bound, table, table);
  size_t const pairs = rows.left.size();
  auto const placed = [&] {
    return queue.device_pool->allocate_rows<uint32_t>(base::Memory::kDevice, pairs, "rows");
  };
  base::Buffer const left = placed();
  base::Buffer const right = placed();
  double best = 1e9;
  uint64_t kept = 0;
  for (int i = 0; i < 5; ++i) {
    base::copy(queue, left.data(), base::Memory::kDevice, rows.left.data(), base::Memory::kHost,
               pairs * sizeof(uint32_t));
    base::copy(queue, right.data(), base::Memory::kDevice, rows.right.data(), base::Memory::kHost,
               pairs * sizeof(uint32_t));
    base::finish(queue);
    auto const begin = std::chrono::steady_clock::now();
    kept = conditions::filter_pairs(queue, *condition, left.as<uint32_t>(), right.as<uint32_t>(),
                                    pairs);
    base::finish(queue);
    std::chrono::duration<double> const took = std::chrono::steady_clock::now() - begin;
    best = std::min(best, took.count());
  }
  std::printf("gpu %-26s %-9s %6.3f ms, %zu pairs, %.0f %% kept\n", name, rows.order, best * 1e3,
              pairs, 100.0 * static_cast<double>(kept) / static_cast<double>(pairs));
}
#endif

}  // namespace

int main(int argc, char** argv) {
  bool const on_gpu = argc > 1 && std::string(argv[1]) == "gpu";
  size_t const rows = size_t{1} << 24;
  size_t const pairs = on_gpu ? size_t{1} << 27 : size_t{1} << 23;
  gpujoin_context_options options = GPUJOIN_CONTEXT_OPTIONS_INIT;
  options.device = on_gpu ? GPUJOIN_DEVICE_CUDA : GPUJOIN_DEVICE_CPU;
  auto const context = base::create_context(options);
  base::LeasedQueue const queue(*context);
  Data const data(rows);
  auto const table = columns::register_columns(context, static_cast<int64_t>(rows), data.columns);
  Rows clustered{"clustered", {}, {}};
  Rows scattered{"random", {}, {}};
  std::mt19937_64 random(2);
  for (size_t i = 0; i < pairs; ++i) {
    auto const near = static_cast<uint32_t>(i * rows / pairs);
    clustered.left.push_back(near);
    clustered.right.push_back(static_cast<uint32_t>((near + i % 4) % rows));
    uint64_t const two = random();
    scattered.left.push_back(static_cast<uint32_t>(two % rows));
    scattered.right.push_back(static_cast<uint32_t>((two >> 32) % rows));
  }
  for (char const* const name :
       {"l.i < r.i", "l.i < r.i AND l.d <> r.d", "l.i < r.l", "l.i + r.i < l.l"}) {
    auto const bound = conditions::bind(condition_of(name), *table, *table);
    for (Rows const& order : {clustered, scattered}) {
#if GPUJOIN_WITH_CUDA
      if (on_gpu) {
        on_device(*queue, bound, *table, order, name);
        continue;
      }
#endif
      on_cpu(bound, *table, order, name);
    }
  }
  return 0;
}
