// join_key.c: which equalities the library decides as PostgreSQL does, and how their values go
// there.
#include "bindings/postgresql/src/join_key.h"

#include <access/transam.h>
#include <catalog/pg_type.h>
#include <nodes/nodeFuncs.h>
#include <utils/builtins.h>
#include <utils/lsyscache.h>

typedef enum Comparison {
  COMPARES_INTEGERS,
  COMPARES_FLOATS,
  COMPARES_BYTES,
  COMPARES_TEXT,
  COMPARES_PADDED_TEXT,
  COMPARES_FIXED_BYTES,
  COMPARES_NUMERICS,
  COMPARES_INTERVALS,
} Comparison;

// Functions of pg_catalog behind operators, the same in all versions.
static const struct {
  const char* function;
  Comparison comparison;
} comparisons[] = {
    {"int2eq", COMPARES_INTEGERS},
    {"int4eq", COMPARES_INTEGERS},
    {"int8eq", COMPARES_INTEGERS},
    {"int24eq", COMPARES_INTEGERS},
    {"int42eq", COMPARES_INTEGERS},
    {"int28eq", COMPARES_INTEGERS},
    {"int82eq", COMPARES_INTEGERS},
    {"int48eq", COMPARES_INTEGERS},
    {"int84eq", COMPARES_INTEGERS},
    {"oideq", COMPARES_INTEGERS},
    {"booleq", COMPARES_INTEGERS},
    {"chareq", COMPARES_INTEGERS},
    {"date_eq", COMPARES_INTEGERS},
    {"time_eq", COMPARES_INTEGERS},
    {"timestamp_eq", COMPARES_INTEGERS},
    {"timestamptz_eq", COMPARES_INTEGERS},
    {"cash_eq", COMPARES_INTEGERS},
    {"enum_eq", COMPARES_INTEGERS},
    {"float4eq", COMPARES_FLOATS},
    {"float8eq", COMPARES_FLOATS},
    {"float48eq", COMPARES_FLOATS},
    {"float84eq", COMPARES_FLOATS},
    {"byteaeq", COMPARES_BYTES},
    {"texteq", COMPARES_TEXT},
    {"nameeq", COMPARES_TEXT},
    {"nameeqtext", COMPARES_TEXT},
    {"texteqname", COMPARES_TEXT},
    {"bpchareq", COMPARES_PADDED_TEXT},
    {"uuid_eq", COMPARES_FIXED_BYTES},
    {"macaddr_eq", COMPARES_FIXED_BYTES},
    {"macaddr8_eq", COMPARES_FIXED_BYTES},
    {"timetz_eq", COMPARES_FIXED_BYTES},
    {"tideq", COMPARES_FIXED_BYTES},
    {"numeric_eq", COMPARES_NUMERICS},
    {"interval_eq", COMPARES_INTERVALS},
};

static bool find_comparison(Oid operator_id, Comparison* found) {
  Oid const function = get_opcode(operator_id);
  // Those that initdb makes; an extension may have one of the same name.
  if (!OidIsValid(function) || function >= FirstNormalObjectId) return false;
  char* const name = get_func_name(function);
  if (name == NULL) return false;
  bool is_known = false;
  for (size_t i = 0; i < lengthof(comparisons) && !is_known; ++i) {
    if (strcmp(name, comparisons[i].function) != 0) continue;
    *found = comparisons[i].comparison;
    is_known = true;
  }
  pfree(name);
  return is_known;
}

static Comparison comparison_of(Oid operator_id) {
  Comparison comparison;
  if (!find_comparison(operator_id, &comparison)) {
    elog(ERROR, "gpujoin: operator %u is not one of keys", operator_id);
  }
  return comparison;
}

const char* why_no_key(const OpExpr* clause) {
  Comparison comparison;
  if (!find_comparison(clause->opno, &comparison)) {
    return psprintf("a key of type %s", format_type_be(exprType(linitial(clause->args))));
  }
  bool const has_collation = comparison == COMPARES_TEXT || comparison == COMPARES_PADDED_TEXT;
  if (has_collation && OidIsValid(clause->inputcollid) &&
      !get_collation_isdeterministic(clause->inputcollid)) {
    return "a key with a collation under which different texts are equal";
  }
  return NULL;
}

ValueForm key_form(Oid operator_id, Oid type) {
  switch (comparison_of(operator_id)) {
    case COMPARES_INTEGERS:
    case COMPARES_FLOATS:
      return FORM_FIXED;
    case COMPARES_PADDED_TEXT:
      return FORM_PADDED_TEXT;
    case COMPARES_FIXED_BYTES:
      return FORM_FIXED_BYTES;
    case COMPARES_NUMERICS:
      return FORM_NUMERIC;
    case COMPARES_INTERVALS:
      return FORM_INTERVAL;
    default:
      return getBaseType(type) == NAMEOID ? FORM_NAME : FORM_BYTES;
  }
}

gpujoin_type key_type(Oid operator_id, Oid type) {
  bool const is_float = comparison_of(operator_id) == COMPARES_FLOATS;
  if (key_form(operator_id, type) != FORM_FIXED) return GPUJOIN_TYPE_LARGE_BINARY;
  switch (get_typlen(type)) {
    case 1:
      return GPUJOIN_TYPE_INT8;
    case 2:
      return GPUJOIN_TYPE_INT16;
    case 4:
      return is_float ? GPUJOIN_TYPE_FLOAT32 : GPUJOIN_TYPE_INT32;
    default:
      return is_float ? GPUJOIN_TYPE_FLOAT64 : GPUJOIN_TYPE_INT64;
  }
}
