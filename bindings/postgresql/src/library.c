// library.c: the library in this backend: its context, and its errors as PostgreSQL's.
#include "bindings/postgresql/src/library.h"

#include <catalog/pg_tablespace.h>
#include <commands/tablespace.h>
#include <miscadmin.h>
#include <storage/fd.h>
#include <unistd.h>
#include <utils/guc.h>

#include "bindings/postgresql/src/library_thread.h"
#include "bindings/postgresql/src/settings.h"

// What the context was made with.
typedef struct ContextSettings {
  gpujoin_device device;
  int threads;
  int memory_limit;
  int temp_file_limit;
  char spill_path[MAXPGPATH];
} ContextSettings;

static gpujoin_context* context = NULL;
static ContextSettings made_with;

const char* why_no_library(void) {
  int const loaded = gpujoin_version_number();
  // While the major version is 0, a minor one may change the interface.
  if (loaded / 100 == GPUJOIN_VERSION_NUMBER / 100 && loaded >= GPUJOIN_VERSION_NUMBER) return NULL;
  return psprintf("the library is version %d.%d.%d, the extension was built for %d.%d.%d",
                  loaded / 10000, loaded / 100 % 100, loaded % 100, GPUJOIN_VERSION_MAJOR,
                  GPUJOIN_VERSION_MINOR, GPUJOIN_VERSION_PATCH);
}

// Where PostgreSQL has temporary files of this session; empty: it may have none.
static void find_spill_path(char* path) {
  path[0] = '\0';
  if (temp_file_limit == 0) return;
  // Reads catalogs, which takes a transaction; a join is always in one.
  PrepareTempTablespaces();
  Oid tablespace = GetNextTempTableSpace();
  if (!OidIsValid(tablespace)) tablespace = MyDatabaseTableSpace;
  if (!OidIsValid(tablespace)) tablespace = DEFAULTTABLESPACE_OID;
  char folder[MAXPGPATH];
  TempTablespacePath(folder, tablespace);
  // PostgreSQL makes the folder with its first temporary file there.
  if (MakePGDirectory(folder) != 0 && errno != EEXIST) return;
  snprintf(path, MAXPGPATH, "%s/%s", DataDir, folder);
}

typedef struct ContextCall {
  gpujoin_context_options options;
  gpujoin_context* made;
} ContextCall;

static gpujoin_status create_context(void* arguments, gpujoin_error* error) {
  ContextCall* const call = arguments;
  return gpujoin_context_create(&call->options, &call->made, error);
}

gpujoin_context* session_context(gpujoin_error* error) {
  await_releases();
  ContextSettings wanted;
  memset(&wanted, 0, sizeof wanted);
  wanted.device = setting_device;
  wanted.threads = threads_of_session();
  wanted.memory_limit = setting_memory_limit;
  wanted.temp_file_limit = temp_file_limit;
  // Tablespaces for temporary files take turns: the first one is kept as long as nothing changes.
  if (context != NULL) strcpy(wanted.spill_path, made_with.spill_path);
  if (context != NULL && memcmp(&wanted, &made_with, sizeof wanted) == 0) return context;
  find_spill_path(wanted.spill_path);

  ContextCall call = {GPUJOIN_CONTEXT_OPTIONS_INIT, NULL};
  call.options.device = wanted.device;
  call.options.cpu_threads = wanted.threads;
  call.options.memory_limit_bytes = (uint64_t)wanted.memory_limit * 1024;
  call.options.host_limit_bytes = call.options.memory_limit_bytes;
  if (wanted.spill_path[0] != '\0') call.options.spill_path = wanted.spill_path;
  if (temp_file_limit > 0) call.options.spill_limit_bytes = (uint64_t)temp_file_limit * 1024;
  if (call_briefly(create_context, &call, error) != GPUJOIN_OK) return NULL;
  // Joins that run keep what they need of it.
  gpujoin_context_destroy(context);
  context = call.made;
  made_with = wanted;
  return context;
}

static int error_code_of(gpujoin_status status) {
  switch (status) {
    case GPUJOIN_ERROR_OUT_OF_MEMORY:
    case GPUJOIN_ERROR_MEMORY_LIMIT:
      return ERRCODE_OUT_OF_MEMORY;
    case GPUJOIN_ERROR_SPILL:
      return ERRCODE_DISK_FULL;
    case GPUJOIN_ERROR_TOO_MANY_ROWS:
      return ERRCODE_PROGRAM_LIMIT_EXCEEDED;
    case GPUJOIN_ERROR_CANCELLED:
      return ERRCODE_QUERY_CANCELED;
    case GPUJOIN_ERROR_INTERNAL:
      return ERRCODE_INTERNAL_ERROR;
    default:
      return ERRCODE_EXTERNAL_ROUTINE_EXCEPTION;
  }
}

void check_status(gpujoin_status status, const gpujoin_error* error) {
  if (status == GPUJOIN_OK) return;
  // A cancelled query, or a session that ends, has an error of its own.
  if (status == GPUJOIN_ERROR_CANCELLED) CHECK_FOR_INTERRUPTS();
  bool const is_limit = status == GPUJOIN_ERROR_MEMORY_LIMIT;
  ereport(ERROR,
          (errcode(error_code_of(status)), errmsg("gpujoin: %s", error->message),
           errdetail("%s", gpujoin_status_name(status)),
           is_limit ? errhint("gpujoin.memory_limit is what the joins of a session have.") : 0));
}
