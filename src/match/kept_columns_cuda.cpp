#include "src/match/kept_columns.hpp"

#include "src/base/status.hpp"
#include "src/match/partition_sets.hpp"

namespace gpujoin::match {

KeptColumns::KeptColumns(base::Queue& queue, const CarriedSide& side, const CarriedSide& other,
                         KeptSide* kept, uint32_t blocks)
    : side_(side), other_(other), kept_(kept), columns_(queue, *kept->outputs) {
  uint64_t const launches = uint64_t{blocks} + most_set_blocks(queue);
  columns_.expect(side.rows, launches);
  needed_ = side.rows + launches * columns_.chunk();
}

bool KeptColumns::has_room() const { return columns_.room() >= needed_; }

void KeptColumns::add_set(base::Queue& queue, const plan::JoinPlan& plan, int32_t key_width,
                          const uint8_t* left) {
  if (left == nullptr) {
    kernels::CarriedJoin<uint32_t> unused{};
    columns_.start(&unused);
  }
  add_unmatched(queue, plan, key_width, side_, other_, left, *kept_->outputs, columns_);
}

void KeptColumns::finish() {
  if (!columns_.collect()) base::fail(GPUJOIN_ERROR_INTERNAL, "no room for rows without a match");
  kept_->written = columns_.finish();
}

void write_unmatched(base::Queue& queue, const plan::JoinPlan& plan, int32_t key_width,
                     const CarriedSide& build, const CarriedSide& probe, KeptSides* kept) {
  auto const write = [&](const CarriedSide& side, const CarriedSide& other, KeptSide* rows) {
    if (rows->outputs == nullptr) return;
    rows->written =
        partition_set(queue, plan, key_width, SetRows::kWithoutMatch, side, other, *rows->outputs);
  };
  write(build, probe, &kept->build);
  write(probe, build, &kept->probe);
}

int32_t column_width(const std::vector<CarriedOutput>& outputs, const KeptSides& kept,
                     int32_t key_width) {
  std::vector<CarriedOutput> all = outputs;
  for (KeptSide const* side : {&kept.build, &kept.probe}) {
    if (side->outputs == nullptr) continue;
    all.insert(all.end(), side->outputs->begin(), side->outputs->end());
  }
  return column_width(all, key_width);
}

}  // namespace gpujoin::match
