// calibrate.hpp: the rates of the cost model, measured on the context's device.
#pragma once

#include <memory>
#include <string>

#include "src/base/queue.hpp"

namespace gpujoin::execute {

// Measures, writes the file, and gives the context the rates that the file has. Throws; then
// neither the context nor a file of that name has changed.
void calibrate(base::Queue& queue, const std::string& path);

}  // namespace gpujoin::execute
