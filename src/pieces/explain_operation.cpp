// explain_operation.cpp: the text of gpujoin_operation_explain.
#include <cinttypes>
#include <cstdarg>
#include <cstdio>
#include <string>

#include "src/pieces/operation.hpp"

namespace gpujoin::pieces {

namespace {

__attribute__((format(printf, 2, 3))) void add_line(std::string* text, const char* format, ...) {
  char line[256];
  va_list values;
  va_start(values, format);
  std::vsnprintf(line, sizeof(line), format, values);
  va_end(values);
  *text += line;
  *text += '\n';
}

}  // namespace

std::string Operation::explain() const {
  std::string text = "operation\n";
  Build const& build = *build_;
  BuildSize const size = build.size();
  const char* const executor = build.shape().on_gpu ? "cuda" : "cpu";
  add_line(&text, "  join      %s on %s, build=%s", columns::to_text(join_.spec.kind), executor,
           join_.build_left ? "left" : "right");
  add_line(&text, "  build     %" PRId64 " rows, %" PRIu64 " bytes, of which %" PRIu64 " in files",
           size.rows, size.bytes, size.spilled_bytes);
  if (filters_->has_given()) {
    add_line(&text, "  filters   of other builds: rows that do not pass are as if not selected");
  }
  add_line(&text, "  own filter %s", filters_->own_text().c_str());
  if (build.is_whole()) {
    add_line(&text, "  pieces    of the probe side, of about %" PRIu64 " bytes, as they come",
             bytes_of_piece());
    if (budget_.whole_bytes == 0) {
      add_line(&text, "  because   there is no memory limit");
    } else {
      add_line(&text, "  because   the build fits %" PRIu64 " bytes%s, a share of the memory limit",
               build.keeps_table() ? budget_.table_bytes : budget_.whole_bytes,
               build.keeps_table() ? " with its table" : "");
    }
    return text;
  }
  if (build.store().is_partitioned()) {
    add_line(&text,
             "  pieces    %u partitions of both sides by a hash of the keys, when all rows "
             "have come",
             build.store().shape().partitions);
    // Of each side: it is said of the build here, and rows of the probe side may have other types.
    bool const by_device = build.store().is_partitioned_by_device();
    add_line(&text, "  made by   the %s",
             by_device ? "device, block by block, which keeps the first ones and reads the others "
                         "from page-locked memory"
                       : "host");
    if (staying_ != nullptr) {
      add_line(&text,
               "  staying   %zu of them, now: a device keeps those that the first rows of probes "
               "meet most, with their table, and joins rows as they come",
               staying_->count());
    }
  } else {
    add_line(&text,
             "  pieces    parts of the build side, each with all of the probe side, when all "
             "rows have come");
  }
  add_line(&text,
           "  because   the build is to fit %" PRIu64 " bytes%s to be joined at once, and %" PRIu64
           " to stay in memory",
           build.keeps_table() ? budget_.table_bytes : budget_.whole_bytes,
           build.keeps_table() ? " with its table" : "", budget_.store_bytes);
  if (build.shape().folder == nullptr) {
    add_line(&text, "  files     none: options.spill_path of the context is not given");
  }
  return text;
}

}  // namespace gpujoin::pieces
