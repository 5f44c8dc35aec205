#include "src/papers/counted_units.hpp"

#include "src/base/device.hpp"
#include "src/output/exclusive_sum.hpp"

namespace gpujoin::papers {

CountedUnits::CountedUnits(base::Queue& queue, uint64_t units, output::GrowingPairs& pairs)
    : queue_(queue), pairs_(pairs), units_(units) {
  counts_ = queue.device_pool->allocate_rows<unsigned long long>(base::Memory::kDevice, units + 2,
                                                                 "counts of work units");
}

kernels::UnitSink CountedUnits::sink() {
  kernels::UnitSink sink{};
  sink.units = counts_.as<unsigned long long>();
  sink.taken = sink.units + units_ + 1;
  return sink;
}

kernels::UnitSink CountedUnits::counting_sink() {
  base::check(cudaMemsetAsync(counts_.data(), 0, (units_ + 2) * sizeof(unsigned long long),
                              base::stream_of(queue_)),
              "starting the counts of work units");
  return sink();
}

kernels::UnitSink CountedUnits::placing_sink() {
  kernels::UnitSink sink = this->sink();
  output::exclusive_sum(queue_, sink.units, units_ + 1);
  base::check(cudaMemsetAsync(sink.taken, 0, sizeof(unsigned long long), base::stream_of(queue_)),
              "starting the second pass");
  uint64_t const total =
      base::read_back(queue_, static_cast<const unsigned long long*>(sink.units + units_));
  if (!pairs_.try_room(total)) pairs_.fail_for_room(total);
  kernels::PairTarget const room = pairs_.room();
  sink.build_out = room.build_out;
  sink.probe_out = room.probe_out;
  pairs_.keep(total);
  return sink;
}

}  // namespace gpujoin::papers
