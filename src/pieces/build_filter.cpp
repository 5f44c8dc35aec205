// build_filter.cpp: filters of a build's keys.
#include <algorithm>
#include <utility>

#include "src/base/copy.hpp"
#include "src/base/queue.hpp"
#include "src/filters/make_filter.hpp"
#include "src/pieces/brought_rows.hpp"
#include "src/pieces/build.hpp"
#include "src/pieces/row_schema.hpp"
#include "src/pieces/slice.hpp"

namespace gpujoin::pieces {

namespace {

using columns::Relation;

// Of rows on the device, whose keys are copied to the host.
constexpr int64_t kBroughtRows = int64_t{1} << 20;

// The key columns of all rows of a build.
class BuildKeys : public filters::KeySource {
 public:
  BuildKeys(const Build& build, std::vector<int32_t> columns)
      : build_(build), columns_(std::move(columns)) {}

  int64_t rows() const override { return build_.size().rows; }

  void read(base::Queue& queue, const Body& body) const override {
    if (build_.is_whole()) {
      for (auto const& part : build_.parts()) read_part(queue, only_columns(part, columns_), body);
      return;
    }
    RowStore const& store = build_.store();
    for (size_t part = 0; part < store.part_count(); ++part) {
      for (size_t i = 0; i < store.block_count(part); ++i) {
        queue.check_cancelled();
        auto const block = only_columns(store.block(part, i), columns_);
        body(block->columns, block->rows);
      }
    }
  }

 private:
  static void read_part(base::Queue& queue, const std::shared_ptr<const Relation>& part,
                        const Body& body) {
    if (!lies_on_device(*part)) return body(part->columns, part->rows);
    for (int64_t first = 0; first < part->rows; first += kBroughtRows) {
      int64_t const count = std::min(kBroughtRows, part->rows - first);
      auto const rows = brought(queue, slice(part, first, count), base::Memory::kHost);
      base::finish(queue);
      body(rows->columns, rows->rows);
    }
  }

  const Build& build_;
  std::vector<int32_t> columns_;
};

}  // namespace

std::shared_ptr<const filters::Filter> Build::filter(int32_t key, const filters::Wish& wish,
                                                     const base::CallEnd& end) const {
  std::lock_guard const lock(filters_mutex_);
  for (MadeFilter const& made : filters_) {
    if (made.key == key && made.wish == wish) return made.filter;
  }
  end.check();
  std::vector<int32_t> columns = shape_.keys;
  std::vector<int32_t> flags = shape_.key_flags;
  flags.resize(columns.size(), 0);
  if (key >= 0) {
    columns = {columns[static_cast<size_t>(key)]};
    flags = {flags[static_cast<size_t>(key)]};
  }
  std::vector<columns::ColumnView> keys;
  for (int32_t const column : columns) {
    keys.push_back(none_->columns[static_cast<size_t>(column)]);
  }
  base::LeasedQueue const queue(*context, end);
  auto filter = filters::make_filter(*queue, std::move(keys), std::move(flags), wish,
                                     BuildKeys(*this, std::move(columns)));
  filters_.push_back({key, wish, filter});
  return filter;
}

}  // namespace gpujoin::pieces
