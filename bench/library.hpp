// library.hpp: the C ABI with owners, and its failures as exceptions
#pragma once

#include <memory>
#include <stdexcept>
#include <string>

#include "include/gpujoin.h"

namespace gpujoin::bench {

class LibraryError : public std::runtime_error {
 public:
  LibraryError(const char* doing, gpujoin_status status, const gpujoin_error& error)
      : std::runtime_error(std::string(doing) + ": " + gpujoin_status_name(status) + ": " +
                           error.message),
        status_(status) {}
  gpujoin_status status() const { return status_; }
  // The library says that it does not do this, rather than failing at it.
  bool is_refusal() const {
    return status_ == GPUJOIN_ERROR_UNSUPPORTED || status_ == GPUJOIN_ERROR_ILLEGAL_PLAN;
  }

 private:
  gpujoin_status status_;
};

// Calls function(arguments..., &error); throws unless it answers GPUJOIN_OK.
template <class Function, class... Arguments>
void call(const char* doing, Function function, Arguments... arguments) {
  gpujoin_error error;
  const gpujoin_status status = function(arguments..., &error);
  if (status != GPUJOIN_OK) throw LibraryError(doing, status, error);
}

struct Destroy {
  void operator()(gpujoin_context* context) const { gpujoin_context_destroy(context); }
  void operator()(gpujoin_relation* relation) const { gpujoin_relation_destroy(relation); }
  void operator()(gpujoin_result* result) const { gpujoin_result_destroy(result); }
};
using Context = std::unique_ptr<gpujoin_context, Destroy>;
using Relation = std::unique_ptr<gpujoin_relation, Destroy>;
using Result = std::unique_ptr<gpujoin_result, Destroy>;

inline uint64_t rows_of(const gpujoin_result* result) {
  int64_t rows = 0;
  call("count the result", gpujoin_result_get_rows, result, &rows);
  return static_cast<uint64_t>(rows);
}

}  // namespace gpujoin::bench
