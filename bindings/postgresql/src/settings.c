// settings.c: what SET gpujoin.* says.
#include "bindings/postgresql/src/settings.h"

#include <limits.h>
#include <optimizer/cost.h>
#include <utils/guc.h>

#include "bindings/postgresql/src/server_versions.h"
#include "gpujoin.h"

bool setting_enable = true;
bool setting_force = false;
int setting_memory_limit = 256 * 1024;
int setting_device = GPUJOIN_DEVICE_AUTOMATIC;
int setting_threads = 0;

static const struct config_enum_entry devices[] = {
    {"automatic", GPUJOIN_DEVICE_AUTOMATIC, false},
    {"cuda", GPUJOIN_DEVICE_CUDA, false},
    {"cpu", GPUJOIN_DEVICE_CPU, false},
    {NULL, 0, false},
};

int threads_of_session(void) {
  return setting_threads != 0 ? setting_threads : max_parallel_workers_per_gather + 1;
}

void define_settings(void) {
  DefineCustomBoolVariable("gpujoin.enable", "Considers gpujoin for joins.",
                           "Off: plans are PostgreSQL's own.", &setting_enable, true, PGC_USERSET,
                           0, NULL, NULL, NULL);
  DefineCustomBoolVariable("gpujoin.force", "Takes every join that can be taken.",
                           "Off: those that are expected to be faster.", &setting_force, false,
                           PGC_USERSET, 0, NULL, NULL, NULL);
  // What the library needs at least, 1 MiB; more would be asked for in vain on 32 bits alone.
  DefineCustomIntVariable(
      "gpujoin.memory_limit", "Memory that the session's joins run in, rows that wait included.",
      "Rows that it has no room for go to temporary files.", &setting_memory_limit, 256 * 1024,
      1024, MAX_KILOBYTES, PGC_USERSET, GUC_UNIT_KB, NULL, NULL, NULL);
  DefineCustomEnumVariable("gpujoin.device", "What joins run on.",
                           "Automatic: a GPU, or the CPU where that is expected to be faster.",
                           &setting_device, GPUJOIN_DEVICE_AUTOMATIC, devices, PGC_USERSET, 0, NULL,
                           NULL, NULL);
  DefineCustomIntVariable("gpujoin.threads", "Threads of a join on the CPU.",
                          "0: one, and as many as max_parallel_workers_per_gather says.",
                          &setting_threads, 0, 0, 1024, PGC_USERSET, 0, NULL, NULL, NULL);
  MarkGUCPrefixReserved("gpujoin");
}
