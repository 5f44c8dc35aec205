#include "tests/simulator/draw.hpp"

#include <algorithm>
#include <random>

namespace gpujoin_test {

namespace {

class Drawer {
 public:
  Drawer(uint64_t seed, gpujoin_device device) : random_(seed * 2654435761 + 1), device_(device) {
    run_.seed = seed;
  }

  RunDraw run() {
    run_.build.shape = any({KeyShape::kInt32, KeyShape::kInt32, KeyShape::kInt64, KeyShape::kText,
                            KeyShape::kTwo, KeyShape::kTwo, KeyShape::kUnlike, KeyShape::kNone});
    bool const is_cross = run_.build.shape == KeyShape::kNone;
    run_.build.rows = rows(is_cross);
    run_.build.nulls = any({0.0, 0.05, 0.05});
    run_.build.unique = chance(0.4);
    run_.build.is_wide = chance(0.5);
    run_.build.first = any<int64_t>({0, 0, 1000, int64_t{1} << 33});
    run_.build.seed = run_.seed * 100;
    int64_t const every = std::max<int64_t>(run_.build.rows, 1);
    run_.build.keys = any({every, every / 3 + 1, every * 2});
    run_.null_equal = chance(0.3);
    run_.has_numbers = chance(0.6);
    run_.threads = any({1, 2, 3, 8});
    run_.batch_rows = batch_rows(run_.build.rows);
    run_.end = any({BuildEnd::kWhole, BuildEnd::kWhole, BuildEnd::kWhole, BuildEnd::kWhole,
                    BuildEnd::kDestroyed, BuildEnd::kDestroyed, BuildEnd::kCancelledLate,
                    BuildEnd::kCancelledEarly, BuildEnd::kDeadline});
    run_.cpu_threads = any({1, 2});
    if (chance(0.5)) draw_limits();
    int const operations = any({1, 1, 2, 3});
    for (int i = 0; i < operations; ++i) run_.operations.push_back(operation(i, is_cross));
    run_.asks_filter = !is_cross && chance(0.4);
    run_.filter_kind = any({GPUJOIN_KEY_FILTER_AUTOMATIC, GPUJOIN_KEY_FILTER_BLOOM});
    for (OperationDraw& one : run_.operations) {
      one.own_filter = any({GPUJOIN_OWN_FILTER_AUTOMATIC, GPUJOIN_OWN_FILTER_OFF,
                            GPUJOIN_OWN_FILTER_ON, GPUJOIN_OWN_FILTER_ON});
    }
    return run_;
  }

 private:
  template <typename T>
  T any(std::initializer_list<T> values) {
    return values.begin()[random_() % values.size()];
  }
  bool chance(double share) { return std::bernoulli_distribution(share)(random_); }

  int64_t rows(bool is_cross) {
    if (is_cross) return any<int64_t>({0, 1, 7, 200, 300});
    return any<int64_t>({0, 1, 7, 100, 3000, 3000, 20000, 20000, 70000});
  }

  // Each batch costs a call or two, and each of a few rows a join where it is flushed.
  int64_t batch_rows(int64_t rows) {
    if (rows > 3000) return any<int64_t>({500, 2048, 2048, 100000});
    return any<int64_t>({1, 7, 100, 2048, 100000});
  }

  void draw_limits() {
    int const bits = any({20, 21, 22, 23, 24});
    run_.host_limit = (uint64_t{1} << bits) + random_() % (uint64_t{1} << bits);
    run_.spill = any({Spill::kNone, Spill::kRoom, Spill::kRoom, Spill::kFull});
    if (device_ != GPUJOIN_DEVICE_CUDA) return;
    // A queue's scratch counts.
    if (chance(0.5)) run_.device_limit = uint64_t{24} << any({20, 21, 22});
    if (chance(0.5)) run_.pinned_limit = uint64_t{4} << any({20, 21, 22});
    if (chance(0.3)) run_.host_limit = 0;
  }

  OperationDraw operation(int place, bool is_cross) {
    OperationDraw drawn;
    drawn.kind = is_cross
                     ? GPUJOIN_JOIN_CROSS
                     : static_cast<gpujoin_join_kind>(1 + random_() % GPUJOIN_JOIN_RIGHT_SINGLE);
    drawn.build_left = chance(0.5);
    drawn.probe = run_.build;
    drawn.probe.rows = rows(is_cross);
    drawn.probe.unique = chance(0.3);
    drawn.probe.is_wide = !run_.build.is_wide;
    drawn.probe.first = any<int64_t>({0, 500, int64_t{1} << 33});
    drawn.probe.seed = run_.seed * 100 + 1 + static_cast<uint64_t>(place);
    bool const is_small = run_.build.rows * drawn.probe.rows < 1000000;
    drawn.probe.hot = is_small && chance(0.3) ? 0.3 : 0.0;
    drawn.threads = any({1, 2, 3, 8});
    drawn.batch_rows = batch_rows(drawn.probe.rows);
    bool const is_cheap = drawn.probe.rows / drawn.batch_rows < 200;
    drawn.flushes = is_cheap ? any({0.0, 0.1, 1.0}) : any({0.0, 0.05});
    drawn.asks = any({0.0, 0.5, 1.0});
    drawn.closes_early = chance(0.5);
    drawn.next_threads = any({1, 2, 3, 8});
    drawn.end =
        any({OperationEnd::kWhole, OperationEnd::kWhole, OperationEnd::kWhole, OperationEnd::kWhole,
             OperationEnd::kWhole, OperationEnd::kProbeDestroyed, OperationEnd::kOperationDestroyed,
             OperationEnd::kCancelled, OperationEnd::kDeadline});
    drawn.cancelled_after_microseconds = static_cast<int64_t>(random_() % 3000);
    return drawn;
  }

  std::mt19937_64 random_;
  gpujoin_device device_;
  RunDraw run_;
};

std::string text_of(const TableDraw& table) {
  return std::to_string(table.rows) + " rows of " + std::to_string(table.keys) + " keys" +
         (table.unique ? " unique" : "") + (table.hot > 0 ? " hot" : "") +
         (table.nulls > 0 ? " with NULLs" : "");
}

}  // namespace

std::string RunDraw::text() const {
  auto const number = [](auto value) { return std::to_string(static_cast<int64_t>(value)); };
  std::string out = "seed " + std::to_string(seed) + ": key shape " + number(build.shape) +
                    (null_equal ? " null-equal" : "") + (has_numbers ? " numbers" : "") +
                    "\nbuild: " + text_of(build) + ", " + number(threads) +
                    " threads, batches of " + number(batch_rows) + ", end " + number(end) +
                    "\nlimits: host " + number(host_limit) + " device " + number(device_limit) +
                    " pinned " + number(pinned_limit) + " spill " + number(spill);
  for (OperationDraw const& one : operations) {
    out += "\noperation: kind " + number(one.kind) + (one.build_left ? " build left" : "") + ", " +
           text_of(one.probe) + ", " + number(one.threads) + " threads, batches of " +
           number(one.batch_rows) + ", own filter " + number(one.own_filter) + ", end " +
           number(one.end);
  }
  return out;
}

RunDraw draw_run(uint64_t seed, gpujoin_device device) { return Drawer(seed, device).run(); }

}  // namespace gpujoin_test
