// settings.h: what SET gpujoin.* says.
#ifndef GPUJOIN_POSTGRESQL_SETTINGS_H
#define GPUJOIN_POSTGRESQL_SETTINGS_H

#include <postgres.h>

extern bool setting_enable;
extern bool setting_force;
extern int setting_memory_limit;  // KiB
extern int setting_device;        // GPUJOIN_DEVICE_*
extern int setting_threads;

void define_settings(void);

// Of the library's joins on the CPU.
int threads_of_session(void);

#endif
