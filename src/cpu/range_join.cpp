#include "src/cpu/range_join.hpp"

#include "src/cpu/dominance.hpp"
#include "src/cpu/neighbours.hpp"

namespace gpujoin::cpu {

std::unique_ptr<RangeJoin> make_range_join(base::Queue& queue, Workers& workers,
                                           const columns::RangeProblem& problem) {
  if (problem.has_neighbours()) return std::make_unique<Neighbours>(queue, workers, problem);
  return std::make_unique<Dominance>(queue, workers, problem);
}

}  // namespace gpujoin::cpu
