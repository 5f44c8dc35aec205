// join_key.h: which equalities the library decides as PostgreSQL does, and how their values go
// there.
#ifndef GPUJOIN_POSTGRESQL_JOIN_KEY_H
#define GPUJOIN_POSTGRESQL_JOIN_KEY_H

#include <postgres.h>

#include <nodes/primnodes.h>

#include "gpujoin.h"

// How a value is written into a column.
typedef enum ValueForm {
  // Of a type that is passed by value: as it lies in a row, 1 to 8 bytes.
  FORM_FIXED,
  // The rest are columns of bytes. Text and bytea without their header.
  FORM_BYTES,
  // character(n): blanks at the end are none of its value.
  FORM_PADDED_TEXT,
  FORM_NAME,
  // Of a type of one width: all its bytes.
  FORM_FIXED_BYTES,
  // Digits without zeros at the end.
  FORM_NUMERIC,
  // Its length, as interval_eq compares it.
  FORM_INTERVAL,
  // Not of keys: several values as a tuple.
  FORM_TUPLE,
} ValueForm;

// NULL: the library decides this operator as PostgreSQL does; else why not.
const char* why_no_key(const OpExpr* clause);

// Of one side of such an operator.
ValueForm key_form(Oid operator_id, Oid type);
gpujoin_type key_type(Oid operator_id, Oid type);

#endif
