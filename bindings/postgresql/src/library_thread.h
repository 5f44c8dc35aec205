// library_thread.h: calls of the library that may start threads, or take long.
//
// PostgreSQL's signal handlers run on the backend's thread alone: threads that the library starts
// have all signals blocked, as those have that call it meanwhile. Calls that may take long run on a
// thread of their own, while the backend's waits, and cancels them where the query is.
#ifndef GPUJOIN_POSTGRESQL_LIBRARY_THREAD_H
#define GPUJOIN_POSTGRESQL_LIBRARY_THREAD_H

#include <stdbool.h>

#include "gpujoin.h"

typedef gpujoin_status (*LibraryCall)(void* arguments, gpujoin_error* error);
typedef void (*LibraryCancel)(void* arguments);
typedef void (*LibraryRelease)(void* arguments);

// On the calling thread, which sees no signal before the call returns.
gpujoin_status call_briefly(LibraryCall call, void* arguments, gpujoin_error* error);

// On the other one; `cancel` is called on the backend's thread while the call runs, once at most.
gpujoin_status call_cancellably(LibraryCall call, LibraryCancel cancel, void* arguments,
                                gpujoin_error* error);

// Gives back on the other thread what may take long, as large files do, while the backend goes on.
// False: the caller has to, as no call has used that thread.
bool release_later(LibraryRelease release, void* arguments);
// Until all of that has been given back: it counts in the session's limit. Answers interrupts.
void await_releases(void);

#endif
