// statistics.cpp: from the findings of a key sample to the figures that the planner works with.
//
// A scan of all build rows makes them plain shares: rows met and draws that met any. A scan of a
// share f of the rows, in slices, misses keys. How many is estimated as species are that a survey
// of plots missed (Chao 1987, for plots drawn without replacement): a key that lies in k slices is
// met in none of the scanned ones with probability (1-f)^k, in one with k f (1-f)^(k-1), in two
// with k(k-1)/2 f^2 (1-f)^(k-2), so of Q1 keys met in one tile and Q2 in two
//
//   missed = Q1 (1-f) / (f + 2 (Q2/Q1) (1-f))
//
// exactly in expectation where all keys lie in equally many slices, and too few where they do not:
// with Zipf 1.0 on both sides 7 % of the matching draws stay unnoticed, with two rows a key on
// average, at random, 16 %. Unique build keys, Q2 = 0, give Q1 / f keys in all. Rows of a key side
// by side are met as one: c of them reach into a scanned slice of T rows with probability f (1 +
// (c-1)/T), which then takes the place of f, and have c T / (T + c - 1) rows there, from which c is
// found.
//
// Hot keys of the build side are left out of all this: their rows are counted.
//
// Keys are counted once here, however often they were drawn: whether the one row of a hot probe key
// is in the scanned share says little of how many rows match, and that key's draws would outweigh
// all others. A draw whose key was met matches; one whose key was not matches as likely as keys do.
// Rows of keys that were drawn once do not depend on it: they are those met, divided by f.
#include <algorithm>
#include <bit>
#include <cmath>

#include "src/plan/key_sample.hpp"
#include "src/plan/stage_costs.hpp"

namespace gpujoin::plan {
namespace {

double as_double(int64_t count) { return static_cast<double>(count); }

double share_of(int64_t part, int64_t whole) {
  return whole > 0 ? as_double(part) / as_double(whole) : 0;
}

// The share of the most frequent key among the rows that were drawn, or that of a single row.
double heaviest_share(const DrawnKeys& drawn, int64_t rows) {
  if (rows == 0 || drawn.positions == 0) return 0;
  const bool all_rows_read = drawn.positions == rows;
  if (all_rows_read || drawn.most >= kHeavyDraws) return share_of(drawn.most, drawn.positions);
  return 1.0 / as_double(rows);
}

// From the lowest to the highest bit in which two keys differ.
int32_t varying_bits(const KeyBounds& bounds) {
  const uint64_t varying = bounds.key_or & ~bounds.key_and;
  if (varying == 0) return 1;  // one key only; 0 would say that nobody looked
  return static_cast<int32_t>(std::bit_width(varying)) - std::countr_zero(varying);
}

// How often rows of a key that lie side by side are met, as the keys met in a tile or two show
// them.
double meeting_share(const SampleFindings& found, double scanned_share) {
  constexpr double kSlice = kSampleSliceRows;
  const double rows = as_double(found.met_seldom.rows) /
                      as_double(found.met_in_one_tile + 2 * found.met_in_two_tiles);
  if (rows >= kSlice) return 1;
  const double side_by_side = rows * (kSlice - 1) / (kSlice - rows);
  return std::min(1.0, scanned_share * (1 + (side_by_side - 1) / kSlice));
}

// Distinct sampled probe keys that have build rows, none of them in the scanned share.
double missed_keys(const SampleFindings& found, double scanned_share) {
  const double one = as_double(found.met_in_one_tile);
  const double two = as_double(found.met_in_two_tiles);
  const int64_t unmet =
      found.probe.distinct - found.met_seldom.keys - found.met_often.keys - found.hot.probe_keys;
  if (one == 0) return 0;
  const double met_share = meeting_share(found, scanned_share);
  const double missed = one * (1 - met_share) / (met_share + 2 * two / one * (1 - met_share));
  return std::min(missed, as_double(unmet));
}

// What the sample says of the draws together, but for those of hot keys.
struct Matches {
  double draws = 0;  // that have a match
  double rows = 0;   // build rows met by them
};

Matches matches_of(const SampleFindings& found, double scanned_share) {
  const MetKeys& seldom = found.met_seldom;
  const MetKeys& often = found.met_often;
  const int64_t met = seldom.draws + often.draws;
  if (scanned_share == 1) return {as_double(met), as_double(seldom.drawn_rows + often.drawn_rows)};
  const double missed = missed_keys(found, scanned_share);
  const int64_t unmet_keys = found.probe.distinct - seldom.keys - often.keys - found.hot.probe_keys;
  const double unmet_draws = as_double(found.probe.valid - met - found.hot.probe_draws);
  const double missed_draws = unmet_keys > 0 ? unmet_draws * missed / as_double(unmet_keys) : 0;
  // Keys met in one or two tiles say how many rows such keys have on average, those missed
  // included; one of them alone says little. Keys met more often speak for themselves.
  const double seldom_keys = as_double(seldom.keys) + missed;
  const double rows_each =
      seldom_keys > 0 ? std::max(1.0, as_double(seldom.rows) / scanned_share / seldom_keys) : 1;
  return {as_double(met) + missed_draws, as_double(often.drawn_rows) / scanned_share +
                                             rows_each * (as_double(seldom.draws) + missed_draws)};
}

// Standard deviation, by their mean, of the build rows that a draw meets that meets some. A part of
// the rows does not tell how they spread.
double spread_of_rows(const SampleFindings& found) {
  const double draws = as_double(found.met_seldom.draws + found.met_often.draws);
  const double rows = as_double(found.met_seldom.drawn_rows + found.met_often.drawn_rows);
  const double squares = as_double(found.met_seldom.drawn_squares + found.met_often.drawn_squares);
  return rows > 0 ? std::sqrt(std::max(0.0, squares * draws / (rows * rows) - 1)) : 0;
}

// Relative standard error of the build rows met by a draw. Of n independent draws that met c rows
// each it is sqrt(sum of c^2 / (sum of c)^2 - 1/n), which of unique keys is sqrt(1/hits - 1/n).
// Draws of one key that a partial scan met in a tile or two, or not at all, are one draw: they hit
// or miss together.
double error_of_rows(const SampleFindings& found, double scanned_share, bool all_probe_rows_read) {
  const MetKeys& seldom = found.met_seldom;
  const MetKeys& often = found.met_often;
  const bool all_scanned = scanned_share == 1;
  const double rows = as_double(often.drawn_rows + (all_scanned ? seldom.drawn_rows : seldom.rows));
  const double squares = as_double(often.drawn_squares) +
                         as_double(all_scanned ? seldom.drawn_squares : seldom.squares);
  const int64_t nulls = found.probe.positions - found.probe.valid;
  const HotKeys& hot = found.hot;
  const int64_t draws = all_scanned ? found.probe.positions
                                    : often.draws + hot.probe_draws + nulls + found.probe.distinct -
                                          often.keys - hot.probe_keys;
  if (rows == 0) return 0;
  const double of_draws = std::max(0.0, squares / (rows * rows) - 1 / as_double(draws));
  return std::sqrt(all_probe_rows_read ? (1 - scanned_share) * of_draws : of_draws);
}

// Rows with a key for each place that keys may have between the lowest and the highest drawn.
double rows_of_place(const DrawnKeys& drawn, int64_t rows) {
  const KeyBounds& bounds = drawn.bounds;
  if (bounds.low > bounds.high) return 0;
  const double keyed = as_double(rows) * share_of(drawn.valid, drawn.positions);
  return rows_a_place(bounds.low, bounds.high, varying_bits(bounds), keyed);
}

KeyRange range_of(const KeyBounds& bounds, bool exact) { return {bounds.low, bounds.high, exact}; }

// What ranges say of keys whose matches nobody counted. More build rows than places: that many rows
// a key, at least, where most of the probe side's range is the build side's; elsewhere few probe
// rows may match, and room for that many pairs of each would be in vain. A probe side that has
// nearly every place once, and a build side with fewer rows from just as far: a primary key, and a
// foreign key whose rows fall on it as they like.
void assume_by_ranges(const SampleFindings& found, int64_t build_rows, int64_t probe_rows,
                      SampleStatistics* statistics) {
  constexpr double kFull = 0.95;
  constexpr double kSparse = 0.8;
  constexpr double kMost = 0.5;
  const double build = rows_of_place(found.build, build_rows);
  const double probe = rows_of_place(found.probe, probe_rows);
  if (build == 0 || probe == 0) return;
  const double of_probe = covered_share(statistics->probe_range, statistics->build_range);
  const double of_build = covered_share(statistics->build_range, statistics->probe_range);
  const bool reach_as_far = of_probe > kFull && of_build > kFull;
  if (build > kSurelyMore) {
    if (of_probe > kMost) statistics->rows_per_match = build;
  } else if (reach_as_far && kFull < probe && probe < kSurelyMore && build < kSparse) {
    statistics->match_ratio = -std::expm1(-build / probe);
    statistics->rows_per_match = build / probe / statistics->match_ratio;
  }
}

}  // namespace

SampleStatistics statistics_of(const SampleFindings& found, int64_t build_rows,
                               int64_t probe_rows) {
  SampleStatistics statistics;
  statistics.sampled = true;
  statistics.counted = found.counted;
  statistics.heaviest_build_key = heaviest_share(found.build, build_rows);
  statistics.heaviest_probe_key = heaviest_share(found.probe, probe_rows);
  statistics.heavy_build_share = share_of(found.build.heavy, found.build.positions);
  statistics.heavy_probe_share = share_of(found.probe.heavy, found.probe.positions);
  const auto keyed_share = [](const DrawnKeys& drawn) {
    return drawn.positions > 0 ? share_of(drawn.valid, drawn.positions) : 1;
  };
  statistics.build_keyed = keyed_share(found.build);
  statistics.probe_keyed = keyed_share(found.probe);

  statistics.next_bits =
      static_cast<int32_t>(std::max(found.build.next_bits, found.probe.next_bits));
  // A side of so few rows that none lie so far apart says nothing of them.
  const bool build_says = build_rows > kNeighbourRows || probe_rows <= kNeighbourRows;
  const bool probe_says = probe_rows > kNeighbourRows || build_rows <= kNeighbourRows;
  statistics.neighbour_bits = static_cast<int32_t>(std::max(
      build_says ? found.build.neighbour_bits : 0, probe_says ? found.probe.neighbour_bits : 0));
  statistics.build_neighbour_bits = static_cast<int32_t>(found.build.neighbour_bits);
  statistics.probe_neighbour_bits = static_cast<int32_t>(found.probe.neighbour_bits);

  const auto lies_in_order = [](const DrawnKeys& drawn) {
    return drawn.valid > 1 && drawn.descents == 0;
  };
  statistics.build_in_order = lies_in_order(found.build);
  statistics.lies_in_order = statistics.build_in_order && lies_in_order(found.probe);

  KeyBounds build = found.build.bounds;
  if (found.counted) build.add(found.scanned);
  const bool all_scanned = found.counted && found.scanned_rows == build_rows;
  statistics.build_range = range_of(build, all_scanned || found.build.positions == build_rows);
  statistics.build_varying = build.key_or & ~build.key_and;
  statistics.probe_range = range_of(found.probe.bounds, found.probe.positions == probe_rows);
  const double hot_rows = as_double(found.hot.pairs);
  statistics.hot_rows = found.hot.pairs;
  statistics.hot_build_keys = found.hot.keys;
  statistics.hot_probe_rows = found.hot.rows;
  statistics.heaviest_probe_key =
      std::max(statistics.heaviest_probe_key, share_of(found.hot.most, probe_rows));
  // Counted: a share of the draws says no more.
  if (found.hot.keys > 0) {
    statistics.heaviest_build_key = share_of(found.hot.most_build, build_rows);
  }
  if (!found.counted) {
    if (hot_rows > 0) {
      // The others are taken to match one row each, as where nobody looked.
      const double rows = as_double(probe_rows - found.hot.rows) + hot_rows;
      statistics.rows_per_match = rows / as_double(probe_rows);
    } else {
      assume_by_ranges(found, build_rows, probe_rows, &statistics);
    }
    return statistics;
  }

  statistics.build_within = share_of(found.scanned_within, found.scanned_rows);
  statistics.scanned_share = all_scanned ? 1 : share_of(found.scanned_rows, build_rows);
  const Matches matches = matches_of(found, statistics.scanned_share);
  // Of a probe row, on average: the share of matching rows, and the rows they meet.
  const double positions = std::max(1.0, as_double(found.probe.positions));
  const double of_others = matches.rows / positions;
  const double rows = of_others + (hot_rows > 0 ? hot_rows / as_double(probe_rows) : 0);
  statistics.match_ratio =
      std::min(1.0, matches.draws / positions + share_of(found.hot.rows, probe_rows));
  // As far as was seen build keys are unique, and more rows than draws are the error of a share.
  const bool looks_unique = found.met_seldom.rows + found.met_often.rows ==
                                found.met_seldom.keys + found.met_often.keys &&
                            found.build.most < kHeavyDraws;
  if (rows > 0 && !(looks_unique && !all_scanned)) {
    statistics.rows_per_match = rows / statistics.match_ratio;
  }
  if (all_scanned) statistics.rows_spread = spread_of_rows(found);
  statistics.rows_error =
      error_of_rows(found, statistics.scanned_share, found.probe.positions == probe_rows);
  if (hot_rows > 0) statistics.rows_error *= of_others / rows;

  // The scan counted sampled probe keys; a heavy build key that no sampled probe row has shows in
  // the sampled build rows. Keys in few tiles of a part of the rows are not heavy, they lie
  // together.
  const int64_t most =
      all_scanned ? std::max(found.met_seldom.most, found.met_often.most) : found.met_often.most;
  statistics.heaviest_build_key =
      std::max(statistics.heaviest_build_key, share_of(most, found.scanned_rows));

  KeyBounds both = build;
  both.add(found.probe.bounds);
  if (both.low <= both.high) statistics.varying_key_bits = varying_bits(both);
  return statistics;
}

}  // namespace gpujoin::plan
