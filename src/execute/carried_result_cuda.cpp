#include "src/execute/carried_result.hpp"

#include <algorithm>
#include <utility>

#include "src/keys/verify_pairs.hpp"
#include "src/materialize/unpack_words.hpp"

namespace gpujoin::execute {

using kernels::CarriedFrom;

CarriedResult::CarriedResult(const GpuSide& build, const GpuSide& probe, bool build_left,
                             columns::JoinResult& result)
    : build_left_(build_left),
      left_(build_left ? build : probe),
      right_(build_left ? &probe : &build),
      result_(result),
      left_columns_(start_columns(left_, *right_, result)) {
  CarriedFrom const from_left = build_left ? CarriedFrom::kBuild : CarriedFrom::kProbe;
  CarriedFrom const from_right = build_left ? CarriedFrom::kProbe : CarriedFrom::kBuild;
  add_key_columns(left_, from_left, left_keys_);
  add_key_columns(*right_, from_right, right_keys_);
  add_outputs(left_, from_left, left_targets(), left_columns_, &left_rows_);
  add_outputs(*right_, from_right, right_targets(), result.columns.size() - left_columns_,
              &right_rows_);
}

CarriedResult::CarriedResult(const GpuSide& side, columns::JoinResult& result)
    : build_left_(false), left_(side), right_(nullptr), result_(result), left_columns_(0) {
  result.columns = side.empty_columns();
  left_columns_ = result.columns.size();
  add_outputs(left_, CarriedFrom::kProbe, left_targets(), left_columns_, &left_rows_);
}

void CarriedResult::add_key_columns(const GpuSide& side, CarriedFrom from, KeyColumns& written) {
  if (!side.carries_keys()) return;
  size_t const count = side.keys().size();
  written.data.resize(count);
  for (size_t n = 0; n < count; ++n) {
    outputs_.push_back({side.carried_key(n), side.keys()[n].width, from, &written.data[n]});
  }
}

void CarriedResult::add_outputs(const GpuSide& side, CarriedFrom from,
                                columns::ResultColumn* targets, size_t count,
                                columns::Storage* row_numbers) {
  for (size_t i = 0; i < count; ++i) {
    if (side.is_carried_key(i)) {
      key_targets_.push_back({side.key_number(i), &targets[i].data});
    } else if (side.is_key(i)) {
      if (key_targets_.empty()) add_key(side);
      key_targets_.push_back({side.key_number(i), &targets[i].data});
    } else if (side.carries(i)) {
      outputs_.push_back({side.carried_data(i), targets[i].width, from, &targets[i].data});
      if (const transform::StandIn* const nulls = side.stand_in(i)) {
        nullable_.push_back({&targets[i], nulls->value});
      }
    }
  }
  for (GpuSide::CarriedWord const& word : side.words()) {
    Word& written = words_.emplace_back();
    for (size_t const column : word.output_columns) written.columns.push_back(&targets[column]);
    outputs_.push_back({side.word_data(word), kernels::kWordBytes, from, &written.data});
  }
  if (!side.carries_row_numbers()) return;
  outputs_.push_back({side.carried_row_numbers(), sizeof(uint32_t), from, row_numbers});
}

void CarriedResult::add_key(const GpuSide& side) {
  keys::KeyEncoding const* const encoding = side.encoding();
  bool const widens = encoding != nullptr && encoding->fields.size() == 1;
  if (!widens) {
    outputs_.push_back({nullptr, side.key_width(), CarriedFrom::kKey, &keys_});
    return;
  }
  // The match writes the key of 8 bytes itself: kernels::CarriedColumn::source. A sign bit is
  // turned back by adding it, too.
  keys::KeyField const& field = encoding->fields.front();
  uint64_t const low = field.low ^ (uint64_t{1} << (8 * field.width - 1));
  outputs_.push_back({reinterpret_cast<const void*>(low), field.width, CarriedFrom::kKey, &keys_});
}

bool CarriedResult::keys_are_equal(const JoinStep& step, uint64_t rows) {
  if (!left_.carries_keys()) return true;
  step.clock.enter("verify");
  for (auto const& [side, written] : {std::pair{&left_, &left_keys_}, {right_, &right_keys_}}) {
    for (size_t n = 0; n < written->data.size(); ++n) {
      columns::DeviceColumn view;
      view.width = side->keys()[n].width;
      view.data = written->data[n].get();
      written->views.push_back(std::move(view));
    }
  }
  return keys::count_unequal(step.queue, left_keys_.views, right_keys_.views, rows) == 0;
}

void CarriedResult::hand_out_keys(base::Queue& queue, uint64_t rows) {
  if (left_.carries_keys()) {
    for (KeyTarget const& key : key_targets_) *key.target = left_keys_.data[key.number];
    return;
  }
  keys::KeyEncoding const* const encoding = left_.encoding();
  if (encoding == nullptr || encoding->fields.size() == 1 || rows == 0) {
    for (KeyTarget const& key : key_targets_) *key.target = keys_;
    return;
  }
  std::vector<columns::Storage> decoded(encoding->fields.size());
  for (KeyTarget const& key : key_targets_) {
    columns::Storage& values = decoded[key.number];
    if (values == nullptr) {
      values = decoded_column(queue, *encoding, key.number, keys_.get(), nullptr, rows, false);
    }
    *key.target = values;
  }
}

void CarriedResult::unpack(base::Queue& queue, const match::WrittenRows& written) {
  if (written.rows == 0) return;
  std::vector<materialize::PackedColumns> packed;
  for (Word const& word : words_) {
    packed.push_back({word.data.get(), {}});
    for (columns::ResultColumn* const column : word.columns) {
      packed.back().parts.push_back({column->width, &column->data});
      column->room = written.room;
    }
  }
  materialize::unpack_words(queue, packed, written.rows, written.room);
  for (Word& word : words_) word.data.reset();
}

void CarriedResult::note_room(uint64_t room) {
  result_.row_numbers_room = room;
  for (columns::ResultColumn& column : result_.columns) {
    bool const is_written =
        std::any_of(outputs_.begin(), outputs_.end(), [&](const match::CarriedOutput& output) {
          return *output.target != nullptr && *output.target == column.data;
        });
    if (is_written) column.room = room;
  }
}

plan::Finding CarriedResult::finish(const JoinStep& step, const match::WrittenRows& written) {
  if (!keys_are_equal(step, written.rows)) return plan::Finding::kKeysCollide;
  base::Queue& queue = step.queue;
  result_.rows = static_cast<int64_t>(written.rows);
  hand_out_keys(queue, written.rows);
  result_.statistics.output_resumes += std::max(written.launches - 1, 0);
  materialize::NullCounts null_counts(
      queue, left_.nullable_columns() + (right_ == nullptr ? 0 : right_->nullable_columns()));
  auto const fetch_left = [&](const GpuSide& side, columns::ResultColumn* targets,
                              const columns::Storage& row_numbers) {
    std::vector<materialize::Request> requests;
    side.request_left(targets, &requests);
    if (requests.empty()) return;
    materialize::gather(queue, static_cast<const uint32_t*>(row_numbers.get()), written.rows,
                        requests, null_counts);
  };
  for (Nullable const& column : nullable_) {
    materialize::find_nulls(queue, written.rows, column.stand_in, null_counts, column.target);
  }
  unpack(queue, written);
  fetch_left(left_, left_targets(), left_rows_);
  if (right_ != nullptr) fetch_left(*right_, right_targets(), right_rows_);
  if (result_.has_left_rows()) result_.left_rows = left_rows_;
  if (result_.has_right_rows()) result_.right_rows = right_rows_;
  note_room(written.room);
  null_counts.finish();
  return plan::Finding::kJoined;
}

AloneResult::AloneResult(const AloneTask& task, const GpuSide& side)
    : with_match_(task.with_match) {
  found_->has_pairs = task.numbers;
  found_->pair_sides = columns::PairSides::kLeft;
  columns_ = std::make_unique<CarriedResult>(side, *found_);
}

columns::RowsAlone AloneResult::finish(const JoinStep& step, const match::WrittenRows& written,
                                       columns::JoinResult& of) {
  columns_->finish(step, written);
  of.statistics.output_resumes += found_->statistics.output_resumes;
  return {with_match_, found_->rows, found_->left_rows, std::move(found_->columns)};
}

}  // namespace gpujoin::execute
