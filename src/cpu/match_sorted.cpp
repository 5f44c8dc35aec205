#include "src/cpu/match_sorted.hpp"

#include <algorithm>
#include <atomic>
#include <memory>
#include <vector>

#include "src/base/streaming.hpp"
#include "src/cpu/match_state.hpp"
#include "src/cpu/sorted_prober.hpp"

namespace gpujoin::cpu {

namespace {

// Rows of a task, where there are so many.
constexpr uint64_t kTaskRows = uint64_t{1} << 16;
// Rows whose order is looked at before anything is said of them.
constexpr uint64_t kLookedAtOnce = 4096;
// Matches of one key that a worker shares with the others, and of which a task has as many.
constexpr uint64_t kManyMatches = uint64_t{1} << 22;

template <typename Key>
Key sign_bit() {
  return Key{1} << (8 * sizeof(Key) - 1);
}

template <typename Key>
SortedKeys<Key> keys_of(const columns::ColumnView& key, uint64_t rows, bool is_signed) {
  return {static_cast<const Key*>(key.data), static_cast<uint32_t>(rows),
          is_signed ? sign_bit<Key>() : Key{0}};
}

// Looks at both sides' rows, a task of each in turn, until one is out of order.
template <typename Key>
class OrderFinder {
 public:
  OrderFinder(const SortedKeys<Key>& build, const SortedKeys<Key>& probe)
      : build_(build), probe_(probe) {}

  bool find(Workers& workers) {
    uint64_t const tasks = (std::max(build_.rows, probe_.rows) + kTaskRows - 1) / kTaskRows;
    workers.for_each("transform", static_cast<int64_t>(2 * tasks), [&](int64_t task, int32_t) {
      uint64_t const first = static_cast<uint64_t>(task) / 2 * kTaskRows;
      if (task % 2 == 0) {
        look_at(probe_, first, nullptr);
      } else {
        look_at(build_, first, &do_build_keys_repeat_);
      }
    });
    return !is_out_of_order_;
  }
  bool do_build_keys_repeat() const { return do_build_keys_repeat_; }

 private:
  void look_at(const SortedKeys<Key>& side, uint64_t first, std::atomic<bool>* repeat) {
    uint64_t const end = std::min<uint64_t>(first + kTaskRows, side.rows);
    for (; first < end; first += kLookedAtOnce) {
      if (is_out_of_order_.load(std::memory_order_relaxed)) return;
      uint32_t descents = 0;
      uint32_t repeats = 0;
      uint64_t const near = std::min(first + kLookedAtOnce, end);
      for (uint64_t row = std::max<uint64_t>(first, 1); row < near; ++row) {
        descents |= side.is_less(side.keys[row], side.keys[row - 1]) ? 1U : 0U;
        repeats |= side.keys[row] == side.keys[row - 1] ? 1U : 0U;
      }
      if (descents != 0) is_out_of_order_.store(true, std::memory_order_relaxed);
      if (repeats != 0 && repeat != nullptr) repeat->store(true, std::memory_order_relaxed);
    }
  }

  const SortedKeys<Key>& build_;
  const SortedKeys<Key>& probe_;
  std::atomic<bool> is_out_of_order_{false};
  std::atomic<bool> do_build_keys_repeat_{false};
};

template <typename Key>
std::optional<KeyOrder> find_order(Workers& workers, SortedKeys<Key> build, SortedKeys<Key> probe) {
  // Which of both orders it can be the first and last rows say: keys are bits.
  auto const ends_ascend = [](const SortedKeys<Key>& side) {
    return !side.is_less(side.keys[side.rows - 1], side.keys[0]);
  };
  KeyOrder order;
  build.flipped = probe.flipped = sign_bit<Key>();
  order.is_signed = ends_ascend(build) && ends_ascend(probe);
  if (!order.is_signed) build.flipped = probe.flipped = 0;
  if (!ends_ascend(build) || !ends_ascend(probe)) return std::nullopt;
  OrderFinder<Key> finder(build, probe);
  if (!finder.find(workers)) return std::nullopt;
  order.are_build_keys_unique = !finder.do_build_keys_repeat();
  return order;
}

template <typename Key>
SortedSides<Key> sides_of(KeyOrder order, const PartitionedRows& build,
                          const PartitionedRows& probe) {
  return {keys_of<Key>(*build.layout.key, build.input_rows, order.is_signed),
          keys_of<Key>(*probe.layout.key, probe.input_rows, order.is_signed),
          order.are_build_keys_unique};
}

// Probe rows of a task. A task begins at a key's first row unless that is a whole task before.
template <typename Key>
class Ranges {
 public:
  Ranges(const SortedKeys<Key>& probe, int32_t threads) : probe_(probe) {
    uint64_t const tasks = 16 * static_cast<uint64_t>(threads);
    at_once_ = std::clamp<uint64_t>(probe.rows / tasks, 256, kTaskRows);
  }
  int64_t count() const { return static_cast<int64_t>((probe_.rows + at_once_ - 1) / at_once_); }
  uint32_t begin(int64_t range) const {
    uint64_t const at = static_cast<uint64_t>(range) * at_once_;
    if (at == 0) return 0;
    if (at >= probe_.rows) return probe_.rows;
    auto const before = static_cast<uint32_t>(at - at_once_);
    return probe_.first_of(probe_.keys[at], before, static_cast<uint32_t>(at));
  }
  // Whether a task before or behind has rows of the same key.
  SharedRows shared(uint32_t first, uint32_t end) const {
    bool const before = first != 0 && probe_.keys[first - 1] == probe_.keys[first];
    bool const behind = end != probe_.rows && probe_.keys[end - 1] == probe_.keys[end];
    return before || behind ? SharedRows::kOfBuild : SharedRows::kNone;
  }

 private:
  const SortedKeys<Key>& probe_;
  uint64_t at_once_ = 0;
};

template <typename Key>
class SortedMatch {
 public:
  SortedMatch(Workers& workers, KeyOrder order, const PartitionedRows& build,
              const PartitionedRows& probe, const MatchFilter& filter, MatchSinks& sinks)
      : workers_(workers),
        sides_(sides_of<Key>(order, build, probe)),
        of_build_{&build.layout, nullptr},
        of_probe_{&probe.layout, nullptr},
        filter_(filter),
        sinks_(sinks),
        states_(static_cast<size_t>(workers.threads())),
        many_(states_.size()) {}

  void run() {
    Ranges<Key> const ranges(sides_.probe, workers_.threads());
    workers_.for_each("match", ranges.count(), [&](int64_t range, int32_t worker) {
      uint32_t const first = ranges.begin(range);
      uint32_t const end = ranges.begin(range + 1);
      if (first == end) return;
      run_with(worker, ranges.shared(first, end), [&](auto& prober) {
        prober.run(first, end, kManyMatches, many_[static_cast<size_t>(worker)]);
      });
    });
    for (std::vector<EqualRows> const& of_worker : many_) {
      for (EqualRows const& equal : of_worker) share(equal);
    }
  }

 private:
  template <typename Body>
  void run_with(int32_t worker, SharedRows shared, const Body& body) {
    auto& state = states_[static_cast<size_t>(worker)];
    if (!state) state = std::make_unique<MatchState<Key>>(filter_, sinks_.make<Key>(worker));
    state->run(workers_, sides_, of_build_, of_probe_, shared, body);
    base::finish_streaming();
  }

  // All workers write the matches of one key.
  void share(const EqualRows& equal) {
    uint64_t const build_rows = std::min<uint64_t>(equal.build_end - equal.build, kManyMatches);
    uint64_t const probe_rows = kManyMatches / build_rows;
    uint64_t const segments = (equal.build_end - equal.build + build_rows - 1) / build_rows;
    uint64_t const chunks = (equal.probe_end - equal.probe + probe_rows - 1) / probe_rows;
    auto const pieces = static_cast<int64_t>(segments * chunks);
    workers_.for_each("match", pieces, [&](int64_t piece, int32_t worker) {
      uint64_t const segment = static_cast<uint64_t>(piece) % segments;
      uint64_t const chunk = static_cast<uint64_t>(piece) / segments;
      EqualRows part = equal;
      part.build += static_cast<uint32_t>(segment * build_rows);
      part.probe += static_cast<uint32_t>(chunk * probe_rows);
      part.build_end = static_cast<uint32_t>(
          std::min<uint64_t>(uint64_t{part.build} + build_rows, equal.build_end));
      part.probe_end = static_cast<uint32_t>(
          std::min<uint64_t>(uint64_t{part.probe} + probe_rows, equal.probe_end));
      run_with(worker, SharedRows::kOfBoth, [&](auto& prober) { prober.write(part); });
    });
  }

  Workers& workers_;
  SortedSides<Key> sides_;
  PartitionRows of_build_;
  PartitionRows of_probe_;
  const MatchFilter& filter_;
  MatchSinks& sinks_;
  std::vector<std::unique_ptr<MatchState<Key>>> states_;
  std::vector<std::vector<EqualRows>> many_;  // of each worker: keys of many matches
};

template <typename Key>
uint64_t count(Workers& workers, KeyOrder order, const PartitionedRows& build,
               const PartitionedRows& probe) {
  SortedSides<Key> const sides = sides_of<Key>(order, build, probe);
  Ranges<Key> const ranges(sides.probe, workers.threads());
  std::atomic<uint64_t> matches{0};
  workers.for_each("match", ranges.count(), [&](int64_t range, int32_t) {
    uint64_t found = 0;
    for_each_equal(sides, ranges.begin(range), ranges.begin(range + 1),
                   [&](const EqualRows& equal) { found += equal.matches(); });
    matches.fetch_add(found, std::memory_order_relaxed);
  });
  return matches.load(std::memory_order_relaxed);
}

}  // namespace

std::optional<KeyOrder> find_key_order(Workers& workers, const columns::ColumnView& build_key,
                                       uint64_t build_rows, const columns::ColumnView& probe_key,
                                       uint64_t probe_rows) {
  if (build_rows == 0 || probe_rows == 0) return std::nullopt;
  if (build_key.validity != nullptr || probe_key.validity != nullptr) return std::nullopt;
  if (build_key.width == 4) {
    return find_order(workers, keys_of<uint32_t>(build_key, build_rows, false),
                      keys_of<uint32_t>(probe_key, probe_rows, false));
  }
  return find_order(workers, keys_of<uint64_t>(build_key, build_rows, false),
                    keys_of<uint64_t>(probe_key, probe_rows, false));
}

void match_sorted(Workers& workers, KeyOrder order, const PartitionedRows& build,
                  const PartitionedRows& probe, const MatchFilter& filter, MatchSinks& sinks) {
  if (probe.layout.key_bytes == 4) {
    SortedMatch<uint32_t>(workers, order, build, probe, filter, sinks).run();
  } else {
    SortedMatch<uint64_t>(workers, order, build, probe, filter, sinks).run();
  }
}

uint64_t count_sorted_matches(Workers& workers, KeyOrder order, const PartitionedRows& build,
                              const PartitionedRows& probe) {
  return probe.layout.key_bytes == 4 ? count<uint32_t>(workers, order, build, probe)
                                     : count<uint64_t>(workers, order, build, probe);
}

}  // namespace gpujoin::cpu
