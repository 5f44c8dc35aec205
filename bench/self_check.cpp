#include "bench/self_check.hpp"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <unordered_map>

#include "bench/cell_data.hpp"
#include "bench/kernel_trace.hpp"

namespace gpujoin::bench {

namespace {

using Faults = std::vector<std::string>;

void check_bijections(Faults& faults) {
  for (const uint64_t size : {1, 2, 3, 7, 1000, 4096, 100'003}) {
    const Permutation permutation(size, 42);
    std::vector<bool> seen(size);
    double moved = 0;
    for (uint64_t i = 0; i < size; ++i) {
      const uint64_t to = permutation.at(i);
      if (to >= size || seen[to]) {
        faults.push_back("no permutation of " + std::to_string(size));
        break;
      }
      seen[to] = true;
      moved += std::fabs(static_cast<double>(to) - static_cast<double>(i));
    }
    // A random permutation moves a number by a third of the size on average.
    const double share = moved / static_cast<double>(size) / static_cast<double>(size);
    if (size >= 1000 && std::fabs(share - 1.0 / 3) > 0.02) {
      faults.push_back("not a random permutation of " + std::to_string(size));
    }
  }
  for (int bits = 1; bits <= 62; ++bits) {
    const Scramble scramble(bits, 7);
    for (uint64_t i = 0; i < 1000; ++i) {
      const uint64_t x = mix(i) >> (64 - bits);
      const uint64_t y = scramble.forward(x);
      if (y >> bits != 0 || scramble.backward(y) != x) {
        faults.push_back("no inverse for " + std::to_string(bits) + " bits");
        break;
      }
    }
  }
}

// The sum of k^-exponent over first <= k <= last: far from 0 the midpoint integral is exact enough.
double zipf_mass(const Zipf& zipf, double first, double last) {
  constexpr double kSummed = 10'000;
  double mass = 0;
  for (double k = first; k <= std::min(last, kSummed); ++k) mass += zipf.density(k);
  const double from = std::max(first, kSummed + 1);
  return from > last ? mass : mass + zipf.integral(last + 0.5) - zipf.integral(from - 0.5);
}

void check_zipf(Faults& faults) {
  constexpr uint64_t kDraws = 2'000'000;
  for (const uint64_t size : {uint64_t{10}, uint64_t{1000}, uint64_t{1} << 27}) {
    for (const double exponent : {0.5, 0.75, 1.0, 1.5}) {
      const Zipf zipf(size, exponent);
      // Bins end at 1, 2, 3, 4, 6, 9, 13 ...
      std::vector<double> ends;
      for (double end = 1; end < zipf.size; end = std::floor(end * 1.5) + (end < 4 ? 1 : 0)) {
        ends.push_back(end);
      }
      ends.push_back(zipf.size);
      std::vector<uint64_t> drawn(ends.size());
      for (uint64_t row = 0; row < kDraws; ++row) {
        const auto rank = static_cast<double>(zipf.rank(1, row));
        const auto bin = std::lower_bound(ends.begin(), ends.end(), rank) - ends.begin();
        ++drawn.at(static_cast<size_t>(bin));
      }
      const double all = zipf_mass(zipf, 1, zipf.size);
      double begin = 1;
      for (size_t bin = 0; bin < ends.size(); ++bin) {
        const double expected =
            static_cast<double>(kDraws) * zipf_mass(zipf, begin, ends[bin]) / all;
        begin = ends[bin] + 1;
        if (std::fabs(static_cast<double>(drawn[bin]) - expected) > 5 * std::sqrt(expected) + 5) {
          faults.push_back("Zipf " + std::to_string(exponent) + " over " + std::to_string(size) +
                           ": rank " + std::to_string(ends[bin]) + " drawn " +
                           std::to_string(drawn[bin]) + " times instead of " +
                           std::to_string(expected));
        }
      }
    }
  }
}

// Columns in host memory.
struct HostColumns {
  std::vector<Memory> memory;
  Columns columns;
};

HostColumns allocate_like(Machine& machine, const Columns& model, uint64_t rows) {
  HostColumns made;
  made.columns = allocate_columns(machine, made.memory, static_cast<int64_t>(rows), model);
  return made;
}

char* bytes_at(const Values& values, uint64_t row) {
  return static_cast<char*>(values.data) + row * static_cast<uint64_t>(values.bytes);
}

void copy_row(const Columns& to, uint64_t to_row, const Columns& from, uint64_t from_row) {
  const auto targets = all_values(to), sources = all_values(from);
  for (size_t i = 0; i < targets.size(); ++i) {
    std::memcpy(bytes_at(targets[i], to_row), bytes_at(sources[i], from_row),
                static_cast<size_t>(targets[i].bytes));
  }
}

uint64_t bytes_of(const Values& values, uint64_t rows) {
  return rows * static_cast<uint64_t>(values.bytes);
}

using Pairs = std::vector<std::pair<uint32_t, uint32_t>>;  // (row of R, row of S)

class CellCheck {
 public:
  CellCheck(Machine& machine, const Cell& cell, Faults& faults)
      : machine_(machine), faults_(faults), data_(machine, cell) {
    build_ = fetch(data_.build, cell.build_rows);
    probe_ = fetch(data_.probe, cell.probe_rows);
  }

  void run() {
    check_against_host();
    Pairs pairs = join_naively();
    if (pairs.size() != data_.expected.rows) return fail("expects another number of rows");
    if (!is_accepted(pairs)) return fail("refuses the right result");

    // Wrong results of the right size.
    const auto refuses = [&](const char* what, auto change) {
      Pairs changed = pairs;
      change(changed);
      if (is_accepted(changed)) fail(std::string("accepts ") + what);
    };
    refuses("a doubled row for a missing one", [](Pairs& all) { all.back() = all.front(); });
    const bool shows_build = data_.cell.is_pairs || data_.cell.build_payloads > 0;
    if (shows_build)
      refuses("a wrong row of R", [&](Pairs& all) {
        auto& left = all.front().first;
        left = (left + 1) % static_cast<uint32_t>(data_.cell.build_rows);
      });
    refuses("a wrong row of S", [&](Pairs& all) {
      auto& right = all.front().second;
      right = (right + 1) % static_cast<uint32_t>(data_.cell.probe_rows);
    });
    // Rows of R with one key are told apart (a payload byte of them may agree by chance).
    for (size_t i = 0; i + 1 < pairs.size() && shows_build; ++i) {
      if (pairs[i].second != pairs[i + 1].second) continue;
      refuses("a row of R twice for another with its key",
              [&](Pairs& all) { all[i + 1].first = all[i].first; });
      break;
    }
    if (data_.cell.is_pairs) return;
    // A wrong bit in each output column, in its last byte.
    for (const bool of_build : {true, false}) {
      const Columns& columns = of_build ? data_.build : data_.probe;
      const int keys = 1 + columns.more_key_count;  // which the output shows of S only
      for (size_t i = of_build ? static_cast<size_t>(keys) : 0; i < all_values(columns).size();
           ++i) {
        const Sums sums = check_columns(pairs, [&](Columns& build, Columns& probe) {
          const Values values = all_values(of_build ? build : probe)[i];
          bytes_at(values, 0)[values.bytes - 1] ^= 1;
        });
        if (matches(sums)) fail("accepts a wrong value in column " + std::to_string(i));
      }
    }
  }

 private:
  void fail(const std::string& what) { faults_.push_back(data_.cell.name + ": " + what); }

  HostColumns fetch(const Columns& columns, int64_t rows_) {
    const auto rows = static_cast<uint64_t>(rows_);
    HostColumns host = allocate_like(*host_, columns, rows);
    const auto from = all_values(columns), to = all_values(host.columns);
    for (size_t i = 0; i < from.size(); ++i) {
      machine_.copy_to_host(to[i].data, from[i].data, bytes_of(from[i], rows));
    }
    if (columns.key_bits != nullptr) {
      add_key_bits(*host_, host.memory, rows_, host.columns, Residence::kMachine);
      machine_.copy_to_host(host.columns.key_bits, columns.key_bits, key_bits_bytes(rows_));
    }
    return host;
  }

  // The device's data is the host's, but for ranks where two math libraries round differently.
  void check_against_host() {
    const CellData same(*host_, data_.cell);
    const auto differences = [](const Columns& a, const Columns& b, int64_t rows) {
      const auto left = all_values(a), right = all_values(b);
      int64_t count = 0;
      for (uint64_t row = 0; row < static_cast<uint64_t>(rows); ++row) {
        count += has_key(a, row) != has_key(b, row);
        for (size_t i = 0; i < left.size(); ++i) {
          count += std::memcmp(bytes_at(left[i], row), bytes_at(right[i], row),
                               static_cast<size_t>(left[i].bytes)) != 0;
        }
      }
      return count;
    };
    const int64_t allowed = data_.cell.zipf > 0 ? 2 : 0;
    const int64_t allowed_in_build = data_.cell.is_build_zipf ? 2 : 0;
    if (differences(build_.columns, same.build, data_.cell.build_rows) > allowed_in_build ||
        differences(probe_.columns, same.probe, data_.cell.probe_rows) > allowed) {
      fail("the device's data is not the host's");
    }
  }

  Pairs join_naively() const {
    std::unordered_multimap<uint64_t, uint32_t> rows_of;
    for (uint32_t row = 0; row < data_.cell.build_rows; ++row) {
      if (has_key(build_.columns, row)) rows_of.emplace(build_.columns.key.load(row), row);
    }
    Pairs pairs;
    for (uint32_t row = 0; row < data_.cell.probe_rows; ++row) {
      if (!has_key(probe_.columns, row)) continue;
      const auto [begin, end] = rows_of.equal_range(probe_.columns.key.load(row));
      for (auto match = begin; match != end; ++match) pairs.emplace_back(match->second, row);
    }
    return pairs;
  }

  bool is_accepted(const Pairs& pairs) {
    return matches(data_.cell.is_pairs ? check_pairs(pairs)
                                       : check_columns(pairs, [](Columns&, Columns&) {}));
  }

  bool matches(const Sums& sums) const {
    return sums.errors == 0 && sums.rows == data_.expected.rows && sums.hash == data_.expected.hash;
  }

  Sums check_pairs(const Pairs& pairs) {
    std::vector<uint32_t> left, right;
    for (const auto& [build_row, probe_row] : pairs) {
      left.push_back(build_row);
      right.push_back(probe_row);
    }
    const uint64_t bytes = pairs.size() * sizeof(uint32_t);
    const Memory lefts(machine_, bytes), rights(machine_, bytes);
    machine_.copy_from_host(lefts.data(), left.data(), bytes);
    machine_.copy_from_host(rights.data(), right.data(), bytes);
    return machine_.run(
        CheckPairs{data_.build.key, data_.probe.key, static_cast<uint64_t>(data_.cell.build_rows),
                   static_cast<uint64_t>(data_.cell.probe_rows),
                   static_cast<const uint32_t*>(lefts.data()),
                   static_cast<const uint32_t*>(rights.data())},
        pairs.size());
  }

  // spoil(build, probe) may change the output before it is checked.
  template <class Spoil>
  Sums check_columns(const Pairs& pairs, const Spoil& spoil) {
    HostColumns build = allocate_like(*host_, data_.build, pairs.size());
    HostColumns probe = allocate_like(*host_, data_.probe, pairs.size());
    for (uint64_t row = 0; row < pairs.size(); ++row) {
      copy_row(build.columns, row, build_.columns, pairs[row].first);
      copy_row(probe.columns, row, probe_.columns, pairs[row].second);
    }
    spoil(build.columns, probe.columns);
    const HostColumns build_there = send(build.columns, pairs.size());
    const HostColumns probe_there = send(probe.columns, pairs.size());
    return machine_.run(CheckColumns{data_.workload, build_there.columns, probe_there.columns},
                        pairs.size());
  }

  HostColumns send(const Columns& columns, uint64_t rows) {
    HostColumns sent = allocate_like(machine_, columns, rows);
    const auto from = all_values(columns), to = all_values(sent.columns);
    for (size_t i = 0; i < from.size(); ++i) {
      machine_.copy_from_host(to[i].data, from[i].data, bytes_of(from[i], rows));
    }
    return sent;
  }

  Machine& machine_;
  Faults& faults_;
  CellData data_;
  std::unique_ptr<Machine> host_ = make_cpu_machine();
  HostColumns build_, probe_;
};

void check_cells(Machine& machine, Faults& faults) {
  for (const char* text : {
           "plain:r=3000,s=7000",
           "wide:r=3000,s=7000,rp=4,sp=3",
           "no-payload:r=3000,s=7000,rp=0,sp=0",
           "8B8B:r=3000,s=7000,kw=8,pw=8,rp=2,sp=2",
           "widths:r=3000,s=7000,rpw=2,spw=16,rp=2,sp=2",
           "widths-16-2:r=3000,s=7000,rpw=16,spw=2",
           "match:r=3000,s=7000,match=0.25",
           "zipf:r=3000,s=7000,zipf=1.0",
           "multiplicity:r=3001,s=7000,mult=7",
           "distinct:r=3000,s=4000,distinct=500,match=0.5",
           "hot:r=3000,s=4000,hot=300,hotprobe=10",
           "stride:r=3000,s=7000,stride=1000",
           "sparse-31:r=3000,s=7000,sparse=1,match=0.5",
           "sparse-in-order:r=3000,s=7000,sparse=1,order=1,mult=2",
           "sparse-62:r=3000,s=7000,kw=8,sparse=1,mult=3",
           "pairs:r=3000,s=7000,output=pairs",
           "nulls:r=3000,s=7000,nulls=0.2",
           "pairs-nulls:r=3000,s=7000,nulls=0.3,mult=2,output=pairs",
           "two-zipfs:r=300,s=400,distinct=1000,zipf=1.25,rzipf=1",
           "five-keys:r=3000,s=7000,keys=5",
           "two-keys-8B:r=3000,s=7000,keys=2,kw=8,rp=2,sp=0,match=0.5",
           "mixed-payloads:r=3000,s=7000,rp=4,rkp=1,sp=10,skp=3,pw=8",
           "pairs-multiplicity:r=3000,s=7000,mult=5,kw=8,output=pairs",
       }) {
    CellCheck(machine, parse_cell(text), faults).run();
  }
}

// The check of sequences accepts the right output and nothing else.
void check_sequence(Machine& machine, Faults& faults) {
  constexpr int kJoins = 3;
  constexpr uint64_t kRows = 1000;
  const Sequence sequence{kRows, 100};
  std::vector<Memory> memory;
  const auto allocate = [&](uint64_t rows) {
    memory.emplace_back(machine, rows * sizeof(uint32_t));
    return Values{memory.back().data(), 4};
  };
  const auto send = [&](const Values& to, const std::vector<uint32_t>& from) {
    machine.copy_from_host(to.data, from.data(), from.size() * sizeof(uint32_t));
  };
  FillFact fact{sequence, kJoins, allocate(kRows), {}};
  CheckSequence check{sequence, kJoins, allocate(kRows), {}};
  std::vector<uint32_t> ids(kRows), payloads(kRows);
  for (uint64_t row = 0; row < kRows; ++row) ids[row] = static_cast<uint32_t>(kRows - 1 - row);
  send(check.id, ids);
  for (int join = 0; join < kJoins; ++join) {
    fact.foreign_keys[join] = allocate(kRows);
    check.payloads[join] = allocate(kRows);
    for (uint64_t row = 0; row < kRows; ++row) {
      const uint64_t key = sequence.foreign_key(ids[row], join);
      payloads[row] = static_cast<uint32_t>(dimension_payload(key, join));
    }
    send(check.payloads[join], payloads);
  }
  const uint64_t expected = machine.run(fact, kRows).hash;
  const auto expect_check = [&](bool accepted, const char* what) {
    const Sums sums = machine.run(check, kRows);
    if ((sums.errors == 0 && sums.hash == expected) != accepted) faults.emplace_back(what);
  };
  expect_check(true, "the check of sequences refuses a right output");
  payloads[7] ^= 1;
  send(check.payloads[kJoins - 1], payloads);
  expect_check(false, "the check of sequences accepts a wrong payload");
  payloads[7] = payloads[8];
  ids[7] = ids[8];
  send(check.id, ids);
  for (int join = 0; join < kJoins; ++join) {
    std::vector<uint32_t> column(kRows);
    machine.copy_to_host(column.data(), check.payloads[join].data, kRows * sizeof(uint32_t));
    column[7] = column[8];
    send(check.payloads[join], column);
  }
  expect_check(false, "the check of sequences accepts a doubled row for a missing one");
}

// The expected sizes of outputs are those that the published tables give.
void check_ratios(Machine& machine, Faults& faults) {
  const auto expect_rows = [&](const char* text, double rows, double tolerance) {
    const CellData data(machine, parse_cell(text));
    if (std::fabs(static_cast<double>(data.expected.rows) - rows) > tolerance) {
      faults.push_back(data.cell.name + ": " + std::to_string(data.expected.rows) +
                       " output rows instead of about " + std::to_string(rows));
    }
  };
  expect_rows("all-match:r=100000,s=400000", 400'000, 0);
  expect_rows("match25:r=100000,s=400000,match=0.25", 100'000, 1500);
  expect_rows("match6:r=100000,s=400000,match=0.0625", 25'000, 1000);
  expect_rows("many:r=720000,s=720000,distinct=57345", 9'040'000, 50'000);
  expect_rows("one-hot:r=100000,s=100000,hot=10000,hotprobe=100", 1'099'900, 0);
}

void check_kernel_names(Faults& faults) {
  const auto expect = [&](const char* demangled, const char* name) {
    const std::string found = short_kernel_name(demangled);
    if (found != name) faults.push_back(std::string(demangled) + " is shortened to " + found);
  };
  expect("fill_kernel", "fill_kernel");
  expect("gpujoin::kernels::random_inserts_kernel(unsigned long long*, unsigned int)",
         "random_inserts_kernel");
  expect("void gpujoin::kernels::probe<a::Finder<unsigned int, (bool)1>, 4>(a::View<int (*)(int)>)",
         "probe");
  expect("void cub::V1::detail::(anonymous namespace)::Sort<x::y<int> >(int)", "Sort");
}

void check_intervals(Faults& faults) {
  // Far from zero, and a late kernel: digits are not lost to a rounded number.
  constexpr uint64_t kStart = 1'790'000'000'000'000'000;
  const std::string found = json_of({
      {"copy to device", 7, kStart, kStart + 12'345, 1 << 20},
      {"probe", 13, kStart + 98'765'432'109, kStart + 98'765'432'110, 0},
  });
  const std::string expected =
      "[\n[\"copy to device\", 7, 0.000, 12.345, 1048576],\n"
      "[\"probe\", 13, 98765432.109, 0.001, 0]\n]";
  if (found != expected) faults.push_back("intervals are written as " + found);
}

}  // namespace

std::vector<std::string> self_check(Machine& machine) {
  Faults faults;
  check_bijections(faults);
  check_zipf(faults);
  check_cells(machine, faults);
  check_ratios(machine, faults);
  check_sequence(machine, faults);
  check_kernel_names(faults);
  check_intervals(faults);
  return faults;
}

}  // namespace gpujoin::bench
