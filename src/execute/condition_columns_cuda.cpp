// condition_columns_cuda.cpp: a condition on its way to the device.
#include <utility>
#include <vector>

#include "src/base/device.hpp"
#include "src/conditions/filter_pairs.hpp"
#include "src/execute/condition_columns.hpp"
#include "src/materialize/materialize.hpp"

namespace gpujoin::execute {

std::shared_ptr<const conditions::DeviceCondition> device_condition(
    base::Queue& queue, std::shared_ptr<const conditions::BoundCondition> bound,
    const columns::Relation& left, const columns::Relation& right) {
  auto const work = column_work_on_gpu(queue);
  auto held = std::make_shared<Held>();
  auto const columns = condition_columns(queue, *work, *bound, left, right, held.get());
  return std::make_shared<const conditions::DeviceCondition>(queue, std::move(bound), columns,
                                                             std::move(held));
}

std::shared_ptr<const conditions::DeviceCondition> positioned_condition(
    base::Queue& queue, const conditions::BoundCondition& bound, const columns::Relation& left,
    PositionedRows left_rows, const columns::Relation& right, PositionedRows right_rows) {
  auto const work = column_work_on_gpu(queue);
  auto const held = std::make_shared<Held>();
  Held brought;
  auto columns = condition_columns(queue, *work, bound, left, right, &brought);
  std::vector<columns::ResultColumn> moved(columns.size());
  materialize::NullCounts null_counts(queue, columns.size());
  for (bool const of_left : {true, false}) {
    std::vector<materialize::Request> requests;
    for (size_t i = 0; i < columns.size(); ++i) {
      if (bound.columns[i].of_left != of_left) continue;
      materialize::Request request;
      request.source.data = columns[i].data;
      request.source.width = columns[i].width;
      request.source.validity_bits = columns[i].validity;
      request.source.validity_bit_offset = columns[i].validity_bit_offset;
      request.target = &moved[i];
      requests.push_back(request);
    }
    PositionedRows const rows = of_left ? left_rows : right_rows;
    materialize::gather(queue, rows.numbers, rows.count, requests, null_counts);
  }
  null_counts.finish();
  for (size_t i = 0; i < columns.size(); ++i) {
    columns[i].data = moved[i].data.get();
    columns[i].validity = static_cast<const uint8_t*>(moved[i].validity.get());
    columns[i].validity_bit_offset = 0;
    held->push_back(moved[i].data);
    held->push_back(moved[i].validity);
  }
  auto positioned = std::make_shared<conditions::BoundCondition>(bound);
  positioned->registered_row = [left_rows, right_rows, registered = bound.registered_row](
                                   base::Queue* reader, bool of_left, uint32_t position) {
    auto const* const numbers = of_left ? left_rows.numbers : right_rows.numbers;
    uint32_t const row = base::read_back(*reader, numbers + position);
    return registered ? registered(reader, of_left, row) : row;
  };
  return std::make_shared<const conditions::DeviceCondition>(queue, std::move(positioned), columns,
                                                             held);
}

}  // namespace gpujoin::execute
