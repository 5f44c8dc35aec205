// join_spec.hpp: the caller's specification and options, checked against the relations.
#pragma once

#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "gpujoin.h"
#include "src/base/context.hpp"
#include "src/columns/column.hpp"

namespace gpujoin::shim {

// Throws INVALID_ARGUMENT, ABI_MISMATCH, UNSUPPORTED or TYPE.
columns::JoinSpec checked_spec(const gpujoin_join_spec* given, const columns::Relation& left,
                               const columns::Relation& right);

// "left_keys[0]: column 2 \"price\" of type FLOAT64".
std::string describe(const columns::ColumnView& column, int32_t index, const std::string& argument);
// Throws INVALID_ARGUMENT where there is no such column.
const columns::ColumnView& checked_column(const columns::Relation& relation, int32_t index,
                                          const char* argument);

// The parts of it, for specifications of other calls; `argument` names the caller's array, `side`,
// say "spec.left", stands before "_columns" and "_column_count".
std::vector<int32_t> checked_keys(const columns::Relation& relation, const int32_t* keys,
                                  int32_t count, const char* argument);
// Empty for NULL.
std::vector<int32_t> checked_key_flags(const int32_t* flags, int32_t count, const char* argument);
void check_key_types(const columns::Relation& left, const std::vector<int32_t>& left_keys,
                     const char* left_argument, const columns::Relation& right,
                     const std::vector<int32_t>& right_keys, const char* right_argument);
std::vector<int32_t> checked_columns(const columns::Relation& relation, const int32_t* indices,
                                     int32_t count, const std::string& side);

// What the handle stands for. Throws INVALID_ARGUMENT for NULL, for what was destroyed and for a
// relation of another context.
std::shared_ptr<const columns::Relation> checked_relation(const base::Context& context,
                                                          const gpujoin_relation* handle,
                                                          const char* name);

// All automatic for NULL. Throws NO_DEVICE when CUDA is asked of a context on the CPU; whether the
// techniques fit together is the planner's to say.
gpujoin_plan_options checked_options(const gpujoin_plan_options* given,
                                     const base::Context& context);

// Of options.device, and of the context where it is automatic. Throws as checked_options.
bool is_on_gpu(gpujoin_device device, const base::Context& context);

}  // namespace gpujoin::shim
