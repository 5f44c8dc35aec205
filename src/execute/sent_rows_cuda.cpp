#include "src/execute/sent_rows.hpp"

#include <algorithm>
#include <deque>
#include <map>
#include <utility>
#include <vector>

#include "src/base/copy.hpp"
#include "src/base/device.hpp"
#include "src/base/memory.hpp"
#include "src/transfer/transfer.hpp"
#include "src/transfer/uploads.hpp"

namespace gpujoin::execute {

namespace {

using columns::ColumnView;
using columns::Relation;

// What a relation of copies lives on.
struct Sent {
  std::shared_ptr<const Relation> rows;
  std::vector<base::Buffer> copies;
};

bool is_sent(const ColumnView& column) {
  return column.layout == columns::Layout::kValues && column.memory == base::Memory::kPinned;
}

// With a queue of its own as long as it is there: streams of joins wait for its copies, and for
// nothing else.
class SenderOnCuda final : public RowSender {
 public:
  explicit SenderOnCuda(base::Context& context) : queue_(context), uploads_(*queue_) {}

  std::shared_ptr<const Relation> send(const std::shared_ptr<const Relation>& rows) override {
    bool const all = std::all_of(rows->columns.begin(), rows->columns.end(), is_sent);
    if (rows->rows == 0 || rows->columns.empty() || !all) return nullptr;
    auto sent = std::make_shared<Sent>();
    auto made = std::make_shared<Relation>(*rows);
    std::vector<transfer::Uploads::Segment> segments;
    bool has_room = true;
    auto const copied = [&](const void* from, uint64_t bytes) -> void* {
      base::Buffer buffer = has_room_to_spare(bytes)
                                ? queue_->device_pool->try_allocate(base::Memory::kDevice, bytes)
                                : base::Buffer();
      has_room = has_room && buffer;
      if (!has_room) return nullptr;
      segments.push_back({buffer.data(), from, bytes});
      sent->copies.push_back(std::move(buffer));
      return segments.back().target;
    };
    for (ColumnView& column : made->columns) {
      column.memory = base::Memory::kDevice;
      column.data = copied(column.data, base::checked_bytes(static_cast<uint64_t>(rows->rows),
                                                            static_cast<uint64_t>(column.width)));
      if (column.validity == nullptr) continue;
      auto const validity = transfer::validity_bytes(column, 0, rows->rows);
      column.validity = static_cast<const uint8_t*>(copied(validity.first, validity.bytes));
      column.validity_bit_offset = validity.bit_offset;
    }
    if (!has_room) return nullptr;
    sent->rows = rows;
    made->owner = sent;
    numbers_[made.get()] = uploads_.copy(segments);
    note(sent);
    return made;
  }

  void await(base::Queue& reader, const Relation& rows) override {
    auto const found = numbers_.find(&rows);
    if (found == numbers_.end()) return;
    uploads_.await(found->second, reader);
    numbers_.erase(found);
  }

 private:
  // Page-locked memory is let go of when its rows are on the device, not when they are joined.
  void note(const std::shared_ptr<Sent>& sent) {
    constexpr size_t kMostOnTheLink = 2;
    OnTheLink& last = on_the_link_.emplace_back();
    last.sent = sent;
    last.arrived.record(base::copy_stream(*queue_, base::Direction::kToDevice));
    if (on_the_link_.size() <= kMostOnTheLink) return;
    OnTheLink const& first = on_the_link_.front();
    base::check(first.arrived.try_wait(), "copying rows to the device");
    if (auto const there = first.sent.lock()) there->rows = nullptr;
    on_the_link_.pop_front();
  }

  bool has_room_to_spare(uint64_t bytes) const {
    base::Account const& account = queue_->device_pool->account();
    uint64_t const limit = account.limit_bytes();
    uint64_t const most = (limit == 0 ? queue_->context.facts.memory_bytes : limit) / 2;
    return bytes <= most && account.in_use_bytes() <= most - bytes;
  }

  base::LeasedQueue queue_;
  transfer::Uploads uploads_;
  struct OnTheLink {
    base::Event arrived;
    std::weak_ptr<Sent> sent;
  };
  std::deque<OnTheLink> on_the_link_;
  std::map<const Relation*, uint64_t> numbers_;  // of those that nobody awaited yet
};

}  // namespace

std::unique_ptr<RowSender> make_row_sender(base::Context& context) {
  return std::make_unique<SenderOnCuda>(context);
}

}  // namespace gpujoin::execute
