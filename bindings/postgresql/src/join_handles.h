// join_handles.h: what a running join holds of the library. Given back with the memory that it
// lies in, however a query ends.
#ifndef GPUJOIN_POSTGRESQL_JOIN_HANDLES_H
#define GPUJOIN_POSTGRESQL_JOIN_HANDLES_H

#include <postgres.h>

#include "bindings/postgresql/src/output_rows.h"
#include "gpujoin.h"

typedef struct JoinHandles {
  MemoryContextCallback on_reset;
  gpujoin_context* context;  // the session's: not destroyed
  gpujoin_build* build;
  gpujoin_operation* operation;
  gpujoin_probe* probe;
  gpujoin_relation* batch;
  OutputRows* output;
  // Of the build, and of the probe since it was last asked for a result.
  int64_t build_rows;
  int64_t waiting_rows;
  // Rows may go to a file.
  bool is_large;
} JoinHandles;

// In the current memory context.
JoinHandles* make_handles(OutputRows* output);
// All of it, and all but the build.
void release_handles(JoinHandles* handles);
void release_probe(JoinHandles* handles);
void release_batch(JoinHandles* handles);

void append_build(JoinHandles* handles);
void finish_build(JoinHandles* handles);
gpujoin_status append_probe(JoinHandles* handles);
void finish_probe(JoinHandles* handles);
gpujoin_result* next_of_probe(JoinHandles* handles, gpujoin_state* state);
gpujoin_result* next_of_operation(JoinHandles* handles, gpujoin_state* state);

#endif
