// extension.c: what happens when the extension is loaded, and what SQL sees of the library.
#include <postgres.h>

#include <fmgr.h>
#include <funcapi.h>
#include <utils/builtins.h>

#include "bindings/postgresql/src/decisions.h"
#include "bindings/postgresql/src/join_path.h"
#include "bindings/postgresql/src/join_scan.h"
#include "bindings/postgresql/src/library.h"
#include "bindings/postgresql/src/server_versions.h"
#include "bindings/postgresql/src/settings.h"

#ifndef USE_FLOAT8_BYVAL
#error "gpujoin is for 64-bit machines"
#endif

PG_MODULE_MAGIC;

void _PG_init(void);

void _PG_init(void) {
  define_settings();
  char const* const why_not = why_no_library();
  if (why_not != NULL) {
    ereport(WARNING, (errmsg("gpujoin: %s", why_not), errdetail("No join is taken.")));
  }
  install_decisions();
  install_join_paths();
  register_join_scan();
}

PG_FUNCTION_INFO_V1(gpujoin_version);
Datum gpujoin_version(PG_FUNCTION_ARGS) {
  PG_RETURN_TEXT_P(cstring_to_text(gpujoin_version_string()));
}

PG_FUNCTION_INFO_V1(gpujoin_device_info);
Datum gpujoin_device_info(PG_FUNCTION_ARGS) {
  TupleDesc types;
  if (get_call_result_type(fcinfo, NULL, &types) != TYPEFUNC_COMPOSITE) {
    elog(ERROR, "return type must be a row type");
  }
  char const* const why_not = why_no_library();
  if (why_not != NULL) {
    ereport(ERROR, (errcode(ERRCODE_EXTERNAL_ROUTINE_EXCEPTION), errmsg("gpujoin: %s", why_not)));
  }
  gpujoin_error error;
  gpujoin_context* const context = session_context(&error);
  if (context == NULL) check_status(error.status, &error);
  gpujoin_context_info info = GPUJOIN_CONTEXT_INFO_INIT;
  check_status(gpujoin_context_get_info(context, &info, &error), &error);
  bool const is_cuda = info.device == GPUJOIN_DEVICE_CUDA;
  Datum values[] = {CStringGetTextDatum(is_cuda ? "cuda" : "cpu"),
                    CStringGetTextDatum(info.device_name),
                    CStringGetTextDatum(info.reason),
                    Int64GetDatum((int64)info.memory_limit_bytes),
                    Int64GetDatum((int64)info.memory_used_bytes),
                    Int64GetDatum((int64)info.memory_peak_bytes),
                    Int64GetDatum((int64)info.spill_peak_bytes)};
  bool nulls[lengthof(values)] = {false};
  PG_RETURN_DATUM(HeapTupleGetDatum(heap_form_tuple(BlessTupleDesc(types), values, nulls)));
}
