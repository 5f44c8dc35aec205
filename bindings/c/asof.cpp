#include "bindings/c/asof.hpp"

#include <cmath>

#include "bindings/c/arguments.hpp"
#include "bindings/c/join_spec.hpp"
#include "src/base/status.hpp"
#include "src/execute/asof.hpp"

namespace gpujoin::shim {

namespace {

using base::fail;
using columns::ColumnView;

void check_company(const gpujoin_join_spec& known) {
  auto const kind = static_cast<columns::JoinKind>(known.kind);
  if (!execute::is_of_asof(kind)) {
    fail(GPUJOIN_ERROR_UNSUPPORTED,
         "spec.asof: a %s join has no meaning of it; those are INNER, LEFT, RIGHT, FULL, "
         "LEFT_SINGLE, and SEMI and ANTI of either side",
         columns::to_text(kind));
  }
  if (known.residual != nullptr) {
    fail(GPUJOIN_ERROR_UNSUPPORTED,
         "spec.residual: not beside spec.asof, which has chosen the one match of a row before a "
         "condition could look at it");
  }
  if (known.aggregates != nullptr || known.aggregate_count != 0) {
    fail(GPUJOIN_ERROR_UNSUPPORTED, "spec.aggregates: not beside spec.asof");
  }
}

void check_tolerance(const gpujoin_asof& asof, bool is_float) {
  bool const has = (asof.flags & GPUJOIN_ASOF_TOLERANCE) != 0;
  const char* const unused = asof.tolerance != 0 && (!has || is_float)          ? "tolerance"
                             : asof.tolerance_float != 0 && (!has || !is_float) ? "tolerance_float"
                                                                                : nullptr;
  if (unused != nullptr && !has) {
    fail(GPUJOIN_ERROR_INVALID_ARGUMENT,
         "spec.asof.%s is set and spec.asof.flags lack GPUJOIN_ASOF_TOLERANCE", unused);
  }
  if (unused != nullptr) {
    fail(GPUJOIN_ERROR_INVALID_ARGUMENT, "spec.asof.%s is set and the ordered columns are %s",
         unused, is_float ? "floats" : "none of floats");
  }
  if (asof.tolerance < 0) {
    fail(GPUJOIN_ERROR_INVALID_ARGUMENT, "spec.asof.tolerance is %lld, allowed are 0 or more",
         static_cast<long long>(asof.tolerance));
  }
  if (std::isnan(asof.tolerance_float) || asof.tolerance_float < 0) {
    fail(GPUJOIN_ERROR_INVALID_ARGUMENT, "spec.asof.tolerance_float is %g, allowed are 0 or more",
         asof.tolerance_float);
  }
}

}  // namespace

std::optional<columns::Asof> checked_asof(const gpujoin_join_spec& known,
                                          const columns::Relation& left,
                                          const columns::Relation& right) {
  if (known.asof == nullptr) return std::nullopt;
  check_company(known);
  gpujoin_asof const given = read_struct(known.asof, "spec.asof");
  check_reserved(given.reserved, "spec.asof.reserved");
  check_range(given.direction, GPUJOIN_DIRECTION_BACKWARD, GPUJOIN_DIRECTION_NEAREST,
              "spec.asof.direction");
  check_range(given.flags, 0, GPUJOIN_ASOF_STRICT | GPUJOIN_ASOF_TOLERANCE, "spec.asof.flags");
  columns::Asof asof;
  asof.direction = given.direction;
  asof.left_column = given.left_column;
  asof.right_column = given.right_column;
  asof.is_strict = (given.flags & GPUJOIN_ASOF_STRICT) != 0;
  asof.has_tolerance = (given.flags & GPUJOIN_ASOF_TOLERANCE) != 0;
  asof.tolerance = given.tolerance;
  asof.tolerance_float = given.tolerance_float;
  ColumnView const& left_column = checked_column(left, asof.left_column, "spec.asof.left_column");
  ColumnView const& right_column =
      checked_column(right, asof.right_column, "spec.asof.right_column");
  if (auto const* const why = execute::why_not_ordered(left_column, right_column, asof)) {
    fail(GPUJOIN_ERROR_TYPE, "the ordered columns %s: %s, %s", why,
         describe(left_column, asof.left_column, "spec.asof.left_column").c_str(),
         describe(right_column, asof.right_column, "spec.asof.right_column").c_str());
  }
  check_tolerance(given, execute::are_floats(left_column, right_column));
  return asof;
}

}  // namespace gpujoin::shim
