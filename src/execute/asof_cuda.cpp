// asof_cuda.cpp: the GPU's part of ASOF joins: rows that take part, keys in order, the merge.
#include <algorithm>
#include <bit>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "src/base/device.hpp"
#include "src/base/traffic.hpp"
#include "src/columns/device_column.hpp"
#include "src/execute/asof.hpp"
#include "src/execute/column_work.hpp"
#include "src/execute/fetch_rows.hpp"
#include "src/match/asof.hpp"
#include "src/transform/sort_rows.hpp"
#include "src/transform/transform.hpp"

namespace gpujoin::execute {

namespace {

using base::Memory;
using match::AsofColumns;
using match::AsofFacts;
using match::AsofKeys;
using transform::KeyBits;
using transform::PreparedKeys;

columns::DeviceColumn validity_alone(const kernels::ValidityBits& validity) {
  columns::DeviceColumn column;
  column.validity = validity.bits;
  column.validity_bit_offset = validity.offset;
  return column;
}

// One side on its way into order.
class Side {
 public:
  Side(base::Queue& queue, const AsofInput& input, uint64_t turned) : queue_(queue) {
    select_rows(input);
    columns_.places = static_cast<const uint64_t*>(input.places.data);
    columns_.turned = turned;
    columns_.rows = prepared_.source_rows;
    columns_.count = prepared_.rows;
    if (input.keys) {
      columns_.groups = input.keys->data;
      columns_.group_width = input.keys->width;
    }
    facts_ = match::look(queue_, columns_);
  }

  const AsofFacts& facts() const { return facts_; }
  bool has_rows() const { return columns_.count != 0; }
  // The places themselves can be keys, where they lie.
  bool is_plain() const { return columns_.groups == nullptr && columns_.rows == nullptr; }
  bool lies_in_order() const { return facts_.is_sorted; }
  // The row numbers of its keys.
  base::Buffer take_rows() { return std::move(rows_ ? rows_ : prepared_.source_rows_copy); }
  const char* order() const {
    if (facts_.is_sorted) return "as it lies";
    return facts_.is_sorted_by_place ? "sorted by groups" : "sorted";
  }

  uint64_t moved_bytes() const {
    return plan::asof_traffic(columns_.count, sorted_bits_, finished_sorts_).bytes();
  }

  match::SortedSide as_it_lies() const { return {columns_.places, nullptr, columns_.count}; }

  // Places that have the same bits above the lowest `bits`, and no group: sorted as they are.
  match::SortedSide in_plain_order(int32_t bits) {
    if (facts_.is_sorted) return as_it_lies();
    sort(columns_.places, {0, bits});
    return {keys_.data(), columns_.rows, columns_.count};
  }

  // By (group - low_group) above place_bits of a place.
  match::SortedSide in_order(uint64_t low_group, uint64_t least, int32_t place_bits,
                             int32_t group_bits) {
    keys_ = allocate<uint64_t>();
    match::make_asof_keys(queue_, columns_, low_group, least, place_bits, keys_.as<uint64_t>());
    if (!facts_.is_sorted) {
      sort(keys_.data(), {facts_.is_sorted_by_place ? place_bits : 0, place_bits + group_bits});
    }
    return {keys_.data(), columns_.rows, columns_.count};
  }

  // By keys of 16 bytes: first by place, then by group, each in 8.
  match::SortedSide in_wide_order(uint64_t low_group, uint64_t least, int32_t place_bits,
                                  int32_t group_bits) {
    if (!facts_.is_sorted_by_place && !facts_.is_sorted) {
      AsofColumns places = columns_;
      places.groups = nullptr;
      keys_ = allocate<uint64_t>();
      match::make_asof_keys(queue_, places, 0, least, place_bits, keys_.as<uint64_t>());
      sort(keys_.data(), {0, place_bits});
    }
    if (!facts_.is_sorted && group_bits != 0) {
      keys_ = allocate<uint64_t>();
      match::make_asof_groups(queue_, columns_, low_group, keys_.as<uint64_t>());
      sort(keys_.data(), {0, group_bits});
    }
    keys_ = allocate<kernels::WideKey>();
    match::make_asof_keys(queue_, columns_, keys_.as<kernels::WideKey>());
    return {keys_.data(), columns_.rows, columns_.count};
  }

 private:
  template <typename Key>
  base::Buffer allocate() {
    return queue_.device_pool->allocate_rows<Key>(Memory::kDevice, columns_.count,
                                                  "keys of an ASOF join");
  }

  // Those without a NULL.
  void select_rows(const AsofInput& input) {
    std::vector<columns::DeviceColumn> nullable;
    for (columns::ColumnView const& view : input.nullable) {
      nullable.push_back(validity_alone(validity_of(view)));
      nullable.back().data = view.data;
      nullable.back().width = 8;
    }
    PreparedKeys present;
    if (nullable.size() > static_cast<size_t>(columns::kMostKeys)) {
      // More than a kernel takes: the keys' first.
      present = transform::prepare_in_place(queue_, std::span(nullable).subspan(1),
                                            input.relation->rows, nullptr);
      nullable.erase(nullable.begin() + 1, nullable.end());
      nullable.push_back(validity_alone(present.present));
    }
    prepared_ = transform::prepare_key_rows(queue_, nullable, input.relation->rows);
  }

  void sort(const void* unsorted, KeyBits bits) {
    PreparedKeys keys;
    keys.rows = columns_.count;
    keys.key_width = 8;
    keys.keys = unsorted;
    keys.source_rows = columns_.rows;
    transform::SortedRows sorted =
        transform::sort_rows(queue_, keys, bits, transform::bits_to_pass(queue_, keys, bits));
    sorted_bits_ += sorted.passed_bits;
    if (sorted.were_finished) ++finished_sorts_;
    keys_ = std::move(sorted.keys);
    rows_ = std::move(sorted.rows);
    columns_.rows = rows_.as<uint32_t>();
  }

  base::Queue& queue_;
  PreparedKeys prepared_;  // holds the rows that take part, where those are not all
  AsofColumns columns_;
  AsofFacts facts_;
  base::Buffer keys_;
  base::Buffer rows_;
  int32_t sorted_bits_ = 0;
  uint32_t finished_sorts_ = 0;
};

int32_t bits_of(uint64_t span) { return 64 - std::countl_zero(span); }

}  // namespace

AsofMatches asof_on_gpu(base::Queue& queue, const AsofInput& left_input,
                        const AsofInput& right_input, uint64_t turned,
                        const kernels::AsofRule& given) {
  kernels::AsofRule rule = given;
  Side left(queue, left_input, turned);
  Side right(queue, right_input, turned);
  AsofMatches made;
  made.order = std::string("left ") + left.order() + ", right " + right.order();
  if (!left.has_rows() || !right.has_rows()) return made;
  queue.check_cancelled();
  AsofFacts const& of_left = left.facts();
  AsofFacts const& of_right = right.facts();
  uint64_t const least = std::min(of_left.low_place, of_right.low_place);
  uint64_t const greatest = std::max(of_left.high_place, of_right.high_place);
  uint64_t const low_group = std::min(of_left.low_group, of_right.low_group);
  int32_t const place_bits = bits_of(greatest - least);
  int32_t const group_bits = bits_of(std::max(of_left.high_group, of_right.high_group) - low_group);
  // A rule of ranks is that of wide keys.
  bool const are_ranks = rule.distance == kernels::AsofDistance::kRanks && asks_for_distance(rule);
  // Places are sorted without a copy where the bits that they do not have in common are no more
  // passes, and no bit to turn is among them.
  int32_t const plain_bits = bits_of(greatest ^ least);
  bool const sorts_plain =
      (turned == 0 || plain_bits < 64) &&
      base::traffic::radix_passes(plain_bits) == base::traffic::radix_passes(place_bits);
  bool const is_plain = left.is_plain() && right.is_plain() && !are_ranks &&
                        (sorts_plain || (left.lies_in_order() && right.lies_in_order()));
  AsofKeys keys = AsofKeys::kUnsigned;
  match::SortedSide left_keys;
  match::SortedSide right_keys;
  auto const put_in_order = [&](const auto& in_order) {
    left_keys = in_order(left);
    queue.check_cancelled();
    right_keys = in_order(right);
  };
  if (is_plain) {
    if (turned != 0) keys = AsofKeys::kSigned;
    put_in_order([&](Side& side) { return side.in_plain_order(plain_bits); });
  } else if (place_bits + group_bits <= 64 && !are_ranks) {
    rule.place_bits = place_bits;
    rule.least = least;
    put_in_order(
        [&](Side& side) { return side.in_order(low_group, least, place_bits, group_bits); });
  } else {
    keys = AsofKeys::kWide;
    put_in_order(
        [&](Side& side) { return side.in_wide_order(low_group, least, place_bits, group_bits); });
  }
  queue.check_cancelled();
  base::Buffer found = queue.device_pool->allocate_rows<uint32_t>(Memory::kDevice, left_keys.count,
                                                                  "matches of left rows");
  uint64_t const count =
      match::match_asof(queue, keys, left_keys, right_keys, rule, found.as<uint32_t>());
  made.count = static_cast<int64_t>(count);
  made.bytes = left.moved_bytes() + right.moved_bytes();
  made.left_ascends = of_left.is_sorted;
  made.right_ascends = of_right.is_sorted;
  if (count != left_keys.count) {
    match::AsofPairs pairs = match::asof_pairs(queue, left_keys, found.as<uint32_t>(), count);
    made.left = columns::make_storage(std::move(pairs.left));
    made.right = columns::make_storage(std::move(pairs.right));
    return made;
  }
  // Each left key has a match: these are the pairs.
  made.right = columns::make_storage(std::move(found));
  made.left = left_keys.rows == nullptr ? number_rows_on_gpu(queue, made.count)
                                        : columns::make_storage(left.take_rows());
  return made;
}

}  // namespace gpujoin::execute
