// encode_keys.cpp: in what code the keys of a join travel on a GPU, where one is worth it.
#include "src/execute/encode_keys.hpp"

#include <vector>

namespace gpujoin::execute {

namespace {

// A code of 4 bytes for a lone key of 8, by what the sample saw. Keys of 4 bytes are their code.
std::optional<keys::KeyEncoding> narrowed(const PlannedJoin& join,
                                          const plan::SampleStatistics& sample) {
  columns::ColumnView const& key =
      join.left->columns[static_cast<size_t>(join.spec.left_keys.front())];
  if (key.width != 8 || !sample.sampled) return std::nullopt;
  auto const turned = [](int64_t value) {
    return static_cast<uint64_t>(value) ^ (uint64_t{1} << 63);
  };
  keys::ColumnRange both;
  bool exact = true;
  for (plan::KeyRange const* range : {&sample.build_range, &sample.probe_range}) {
    if (range->low > range->high) continue;
    both = keys::united(both, {turned(range->low), turned(range->high)});
    exact = exact && range->exact;
  }
  int32_t const widths[] = {key.width};
  keys::ColumnRange const ranges[] = {both};
  auto encoding = exact ? keys::pack(widths, ranges) : keys::pack_drawn(widths, ranges);
  return encoding && encoding->width == 4 ? encoding : std::nullopt;
}

// Of several columns: by their types where those fit, by a look where that makes 4 bytes of them or
// a code at all.
std::optional<keys::KeyEncoding> packed(base::Queue& queue, const PlannedJoin& join) {
  // A look takes as long as a small join.
  constexpr int64_t kFewestRowsToLook = int64_t{1} << 20;
  std::vector<int32_t> widths;
  int32_t sum = 0;
  for (int32_t const key : join.spec.left_keys) {
    widths.push_back(join.left->columns[static_cast<size_t>(key)].width);
    sum += widths.back();
  }
  bool const fits_unseen = sum <= 8;
  if (fits_unseen && join.left->rows + join.right->rows < kFewestRowsToLook) {
    return keys::pack_unseen(widths);
  }
  auto const seen = look_at_keys_on_gpu(queue, join);
  return seen || !fits_unseen ? seen : keys::pack_unseen(widths);
}

std::optional<keys::KeyEncoding> encoding_of(base::Queue& queue,
                                             const plan::SampleStatistics& sample,
                                             const PlannedJoin& join) {
  bool const lone = join.spec.left_keys.size() == 1;
  // Of a build side that is kept: probe sides that nobody has seen are to have the same.
  if (join.spec.of_kept) {
    return lone ? std::nullopt : look_at_build_keys_on_gpu(queue, join);
  }
  return lone ? narrowed(join, sample) : packed(queue, join);
}

}  // namespace

void choose_encoding(base::Queue& queue, const plan::SampleStatistics& sample, PlannedJoin* join) {
  bool const lone = join->spec.left_keys.size() == 1;
  join->encoding = encoding_of(queue, sample, *join);
  if (!lone && !join->encoding) {
    join->encoding = keys::hashed(queue.context);
    return;
  }
  if (!join->encoding || join->encoding->is_plain()) {
    join->encoding.reset();
    return;
  }
  join->request.code_width = join->encoding->width;
  join->request.code_is_assumed = join->encoding->assumed;
}

}  // namespace gpujoin::execute
