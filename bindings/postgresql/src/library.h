// library.h: the library in this backend: its context, and its errors as PostgreSQL's.
#ifndef GPUJOIN_POSTGRESQL_LIBRARY_H
#define GPUJOIN_POSTGRESQL_LIBRARY_H

#include <postgres.h>

#include "gpujoin.h"

// A build that is joined whole is this share of the limit at most; rows of larger ones may go to
// files.
#define BUILD_SHARE 16

// NULL, or why the library that was loaded can't be used.
const char* why_no_library(void);

// The session's context, made when it is first needed and where settings have changed since, once
// it has all memory of queries before; NULL: `error` says why there is none.
gpujoin_context* session_context(gpujoin_error* error);

// PostgreSQL's error of a status that is none of GPUJOIN_OK; does not return then.
void check_status(gpujoin_status status, const gpujoin_error* error);

#endif
