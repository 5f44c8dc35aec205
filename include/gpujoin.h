/* gpujoin.h: relational joins on an NVIDIA GPU, or on the CPU of a machine without one.
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * This header is the manual and the whole of the public interface: what does not appear here is
 * not part of it. It is C99, includes no CUDA header, and may be read by an FFI generator as it
 * stands. It is a ladder: most callers need sections 1 to 7, and plans and sequences later.
 *
 *    1 Introduction             7 Results
 *    2 Version                  8 Plans: choose, explain, measure
 *    3 Status and error         9 Sequences of joins
 *    4 Context                 10 Builds and probes
 *    5 Relations               11 Experimental techniques
 *    6 Joins
 *
 * 1. Introduction
 * ---------------
 * The short way:
 *
 *   gpujoin_context_create     once: choose a device, set limits
 *   gpujoin_relation_create    once a table: describe columns that stay yours
 *                              (or gpujoin_relation_import: Arrow)
 *   gpujoin_join               plan and execute in one call
 *   gpujoin_result_fetch       index pairs and columns into your buffers, whole or page by page
 *                              (or gpujoin_result_export: Arrow)
 *   gpujoin_*_destroy          each handle, in any order
 *
 * The longer way replaces gpujoin_join by gpujoin_plan_create, gpujoin_plan_explain and
 * gpujoin_plan_execute, and may name each technique. gpujoin_join_sequence joins one relation with
 * several others, one after the other, in one call. Engines whose rows come in batches, from many
 * threads, and may be more than memory holds, join them by builds and probes.
 *
 * Conventions, true of every function unless it says otherwise:
 *
 * - Status: functions return a gpujoin_status; 0 is success, any other value, known to you or not,
 *   is failure. On failure nothing has happened: outputs are NULL or unchanged, and inputs still
 *   belong to the caller.
 * - Errors: the last parameter is a gpujoin_error of the caller's, or NULL. Its text names the
 *   argument; text is not ABI. The statuses listed with a function are those to expect of it. Any
 *   function may also answer INVALID_ARGUMENT for a required pointer that is NULL, ABI_MISMATCH
 *   for a struct_size it cannot read, and OUT_OF_MEMORY or INTERNAL.
 * - Handles: numbers in the form of pointers to incomplete types, never given out twice; they point
 *   to nothing. A destroy function accepts NULL. A handle keeps alive
 *   what it needs, so handles may be destroyed in any order; memory that you registered (columns)
 *   must outlive the relation *and* every plan made from it.
 * - Structs open with struct_size: set it with the *_INIT macro, which zeroes the rest. Zero means
 *   "the library decides" in every field that is a choice. Structs grow at the end only. A struct
 *   smaller than its first version is refused; a larger one is accepted when the part unknown to
 *   this library is all zero, so that an old library never ignores a wish. Fields named reserved
 *   must be zero, and struct_size is a multiple of 8.
 * - Threads: any function may be called from any thread at any time, also with handles that other
 *   threads use in the same moment; what a call writes (a page, fetches, an error) is its own.
 *   Calls on one context run side by side, each with a stream, and with scratch memory that is kept
 *   for the next; on a context with a stream of the caller's they wait for each other. A handle
 *   that another thread destroys stays good for the calls that have begun; later ones answer
 *   INVALID_ARGUMENT.
 * - Blocking: gpujoin_context_calibrate, gpujoin_plan_create, gpujoin_plan_execute, gpujoin_join,
 *   gpujoin_join_sequence, gpujoin_result_fetch, gpujoin_result_export, and those of section 10
 *   that say so, block until their stream has finished their work. They do not synchronize the
 *   device, but where cached pinned or managed memory is given back to CUDA to make room. Other
 *   calls do not wait for the GPU.
 * - The calling thread's current CUDA device is the same after a call as before it.
 * - Nothing is printed, thrown across this boundary or aborted; the library never exits the
 *   process.
 * - fork: a context made before fork() answers GPUJOIN_ERROR_FORKED in the child. The child may
 *   make contexts of its own; where the parent had joined, they join on one thread, and CUDA that
 *   the parent started cannot be used. Destroying inherited handles there frees nothing, and calls
 *   no release callback.
 * - NULL: a NULL in any key column matches nothing, not even NULL (SQL), unless the key's flags say
 *   GPUJOIN_KEY_NULL_EQUAL. NULL payloads are kept.
 * - Order: the order of the output rows is not specified, unless spec.order asks for one.
 * - Since: what names no other version is in the library since 0.1, fields and numbers too.
 * - Units: sizes in bytes, times in milliseconds, rows and columns counted from 0.
 */
#ifndef GPUJOIN_H
#define GPUJOIN_H

#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

#if defined(__GNUC__)
#define GPUJOIN_API __attribute__((visibility("default")))
#else
#define GPUJOIN_API
#endif

/* 2. Version
 * ----------
 * While the major number is 0, a new minor number may change the ABI; when it does, the SONAME
 * changes with it.
 */
#define GPUJOIN_VERSION_MAJOR 0
#define GPUJOIN_VERSION_MINOR 2
#define GPUJOIN_VERSION_PATCH 0
#define GPUJOIN_VERSION_NUMBER \
  (GPUJOIN_VERSION_MAJOR * 10000 + GPUJOIN_VERSION_MINOR * 100 + GPUJOIN_VERSION_PATCH)

/* gpujoin_version_number: the version of the loaded library, as GPUJOIN_VERSION_NUMBER is of this
 * header. Any thread, any time. Since 0.1. */
GPUJOIN_API int32_t gpujoin_version_number(void);

/* gpujoin_version_string: for example "0.2.0". Static storage. Any thread, any time. Since 0.1. */
GPUJOIN_API const char* gpujoin_version_string(void);

/* 3. Status and error
 * ------------------- */
typedef int32_t gpujoin_status;
#define GPUJOIN_OK 0
/* The message names the argument. */
#define GPUJOIN_ERROR_INVALID_ARGUMENT 1
/* struct_size is not one that this library can read. */
#define GPUJOIN_ERROR_ABI_MISMATCH 2
/* Well-formed, but this version cannot do it. */
#define GPUJOIN_ERROR_UNSUPPORTED 3
/* A column's type cannot be used here, or two key types do not compare. */
#define GPUJOIN_ERROR_TYPE 4
/* The techniques named do not fit together, or one is not in this library; the message says why. */
#define GPUJOIN_ERROR_ILLEGAL_PLAN 5
/* The machine, the device or the caller's allocator had none left. */
#define GPUJOIN_ERROR_OUT_OF_MEMORY 6
/* The context's limit would be passed. */
#define GPUJOIN_ERROR_MEMORY_LIMIT 7
/* An input relation has 2^32 - 1 rows or more, or more than the technique named can place. */
#define GPUJOIN_ERROR_TOO_MANY_ROWS 8
/* A caller's buffer is too small; nothing was written. */
#define GPUJOIN_ERROR_BUFFER_TOO_SMALL 9
/* gpujoin_context_cancel, the cancel function of the object, or the progress callback asked for it.
 */
#define GPUJOIN_ERROR_CANCELLED 10
/* CUDA was asked for and cannot be used; the message says why. */
#define GPUJOIN_ERROR_NO_DEVICE 11
/* A CUDA call failed; the context stays usable. */
#define GPUJOIN_ERROR_CUDA 12
/* A sticky CUDA error: this process cannot use the device any more. */
#define GPUJOIN_ERROR_DEVICE_LOST 13
/* The context was made in the parent process. */
#define GPUJOIN_ERROR_FORKED 14
/* A defect of this library. */
#define GPUJOIN_ERROR_INTERNAL 15
/* A row of a single join has more than one match; the message names the row. Since 0.2. */
#define GPUJOIN_ERROR_SEVERAL_MATCHES 16
/* A condition or an aggregate has no value for some rows: an overflow, a division by zero; the
 * message names the node and the rows. Since 0.2, as all that follow. */
#define GPUJOIN_ERROR_EVALUATION 17
/* More rows than spec.row_limit, more bytes than spec.byte_limit. */
#define GPUJOIN_ERROR_ROW_LIMIT 18
#define GPUJOIN_ERROR_BYTE_LIMIT 19
/* What the caller promised of the data is not so; the message names the first row that shows it. */
#define GPUJOIN_ERROR_BROKEN_PROMISE 20
/* The spill folder is full, passes its limit, or cannot be written or read; the message says
 * which. */
#define GPUJOIN_ERROR_SPILL 21
/* Not an error: rows wait to be joined. Take results, then call again. */
#define GPUJOIN_ERROR_NOT_READY 22
/* The call took longer than options.timeout_milliseconds. */
#define GPUJOIN_ERROR_DEADLINE 23

/* The caller's error record: may be uninitialized before the call, is written only on failure.
 * Frozen for this ABI. */
typedef struct gpujoin_error {
  /* Text in UTF-8, always terminated. */
  char message[512];
  /* The status returned. */
  int32_t status;
  /* The cudaError_t or CUresult behind it, or 0. */
  int32_t cuda_code;
  /* 1 when the device is lost for this process. */
  int32_t is_sticky;
  int32_t reserved[13];
} gpujoin_error;

/* gpujoin_status_name: for example "GPUJOIN_ERROR_CANCELLED"; "GPUJOIN_ERROR_UNKNOWN" for a code
 * unknown to this library. Static storage. Any thread, any time. Since 0.1. */
GPUJOIN_API const char* gpujoin_status_name(gpujoin_status status);

/* 4. Context
 * ----------
 * A device, a stream, a memory pool with a limit, and callbacks.
 */
typedef struct gpujoin_context gpujoin_context;

/* Which executor a context or a plan uses. */
typedef int32_t gpujoin_device;
/* CUDA when it can be used, else the CPU; gpujoin_context_get_info says which and why. */
#define GPUJOIN_DEVICE_AUTOMATIC 0
#define GPUJOIN_DEVICE_CUDA 1
#define GPUJOIN_DEVICE_CPU 2

/* Where a pointer points. */
typedef int32_t gpujoin_memory;
/* Ask CUDA about the pointer; host memory on a machine without CUDA. */
#define GPUJOIN_MEMORY_AUTOMATIC 0
#define GPUJOIN_MEMORY_HOST 1
#define GPUJOIN_MEMORY_DEVICE 2
/* Page-locked host memory. */
#define GPUJOIN_MEMORY_PINNED 3

/* Memory callbacks: called for the pool's growth, not for each buffer. All three pointers are
 * copied. Called on the thread that calls the library, on one of its threads while that call lasts
 * (host memory of results), or on the thread that releases an exported Arrow array; one call at a
 * time for each context and kind of executor. Must not call the library. */
typedef struct gpujoin_allocator {
  uint32_t struct_size;
  uint32_t reserved;
  /* At least `bytes`, aligned to `alignment` (a power of two, at most 256), in `memory` (HOST,
   * DEVICE or PINNED). NULL when there is none, which the join answers with
   * GPUJOIN_ERROR_OUT_OF_MEMORY. Device memory is used on `cuda_stream`, the stream of the call,
   * and later on those of other calls, which then wait for what this one was given before. */
  void* (*allocate)(uint64_t bytes, uint64_t alignment, gpujoin_memory memory, void* cuda_stream,
                    void* user);
  /* Gets back what allocate gave; work that uses it may still be queued on `cuda_stream`, which may
   * be another one than at its allocation. */
  void (*deallocate)(void* pointer, uint64_t bytes, gpujoin_memory memory, void* cuda_stream,
                     void* user);
  void* user;
} gpujoin_allocator;
#define GPUJOIN_ALLOCATOR_INIT \
  { (uint32_t)sizeof(gpujoin_allocator), 0, NULL, NULL, NULL }

#define GPUJOIN_LOG_DEBUG 1
#define GPUJOIN_LOG_INFO 2
#define GPUJOIN_LOG_WARNING 3
/* Called on the thread that calls the library, with one line of text without a newline; at the same
 * time on as many threads as call it. Must not call the library. */
typedef void (*gpujoin_log_function)(int32_t level, const char* message, void* user);

/* Called between the steps of an execution on the thread that runs it: `stage` is the stage's
 * name, `done` of `total` steps are over. A non-zero answer cancels that execution, not those of
 * other threads, by which it is called at the same time. Must not call the library. */
typedef int32_t (*gpujoin_progress_function)(const char* stage, int64_t done, int64_t total,
                                             void* user);

/* Whose threads the loops of the CPU executor run on. Since 0.2. */
typedef int32_t gpujoin_threads;
/* The library's own oneTBB arenas, of cpu_threads threads with the one that calls. With cpu_threads
 * = 1 a call runs on the calling thread alone, and no thread is started. */
#define GPUJOIN_THREADS_OWN 0
/* The oneTBB arena in which the calling thread is, with as many threads as that allows; on the
 * calling thread alone where it is in none. While it waits for others, it takes no other tasks of
 * the arena. For hosts that schedule by the same oneTBB library (a shared libtbb). */
#define GPUJOIN_THREADS_OF_CALLER 1

typedef struct gpujoin_context_options {
  uint32_t struct_size;
  /* GPUJOIN_DEVICE_*. */
  gpujoin_device device;
  /* CUDA ordinal; 0 is the first device. */
  int32_t cuda_device_id;
  /* Of the CPU executor; 0 = all that this process may run on, and never more. With
   * GPUJOIN_THREADS_OF_CALLER what the planner reckons with. */
  int32_t cpu_threads;
  /* Of the memory that joins run in: device memory for CUDA, host memory for the CPU, inputs that
   * need no copy not counted. 0 = no limit. Section 10 has the least for builds and operations. */
  uint64_t memory_limit_bytes;
  /* A cudaStream_t of yours, which must outlive the context and what was made from it. NULL = the
   * context makes its own, one for each call that runs at the same time. */
  void* cuda_stream;
  /* NULL = the library's own pools. */
  const gpujoin_allocator* allocator;
  /* NULL = silent. */
  gpujoin_log_function log;
  void* log_user;
  /* NULL = none. */
  gpujoin_progress_function progress;
  void* progress_user;
  /* A file that gpujoin_context_calibrate wrote on this machine, read once. NULL = the figures
   * built in for the architecture. */
  const char* calibration_path;
  /* Of host memory that the library allocates, 0 = no limit; on a context of the CPU the smaller of
   * this and memory_limit_bytes counts. The least is that of section 10, too. Since 0.2, as all
   * that follow. */
  uint64_t host_limit_bytes;
  /* Of page-locked host memory, on a context of CUDA. 0 = no limit. */
  uint64_t pinned_limit_bytes;
  /* An existing folder where rows go that no limit has room for: those of builds, operations and
   * joins in pieces. Files there have no names, and are gone when the process is, however it ends.
   * NULL = none. */
  const char* spill_path;
  /* Of all files there together. 0 = no limit. */
  uint64_t spill_limit_bytes;
  /* GPUJOIN_THREADS_*. */
  gpujoin_threads threads;
  int32_t reserved;
} gpujoin_context_options;
#define GPUJOIN_CONTEXT_OPTIONS_INIT                                                           \
  {                                                                                            \
    (uint32_t)sizeof(gpujoin_context_options), 0, 0, 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, \
        NULL, 0, 0, NULL, 0, 0, 0                                                              \
  }

typedef struct gpujoin_context_info {
  uint32_t struct_size;
  /* GPUJOIN_DEVICE_CUDA or GPUJOIN_DEVICE_CPU. */
  gpujoin_device device;
  /* For example "NVIDIA H200". */
  char device_name[128];
  /* Why this device was taken: for AUTOMATIC, why CUDA could not be used. */
  char reason[256];
  /* -1 for the CPU. */
  int32_t cuda_device_id;
  int32_t cpu_threads;
  /* 0 = none. */
  uint64_t memory_limit_bytes;
  /* Held now by the context's pools, cached blocks included. */
  uint64_t memory_used_bytes;
  /* The most in use by joins and results at one time since the context was made. */
  uint64_t memory_peak_bytes;
  /* Of host memory, as the three before; on a context of the CPU they are those. Since 0.2, as all
   * that follow. */
  uint64_t host_limit_bytes;
  uint64_t host_used_bytes;
  uint64_t host_peak_bytes;
  /* Page-locked host memory of a context of CUDA: held now, cached blocks included. */
  uint64_t pinned_used_bytes;
  /* In files of options.spill_path, now and at most. */
  uint64_t spill_used_bytes;
  uint64_t spill_peak_bytes;
} gpujoin_context_info;
#define GPUJOIN_CONTEXT_INFO_INIT \
  { (uint32_t)sizeof(gpujoin_context_info), 0, {0}, {0}, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }

/* gpujoin_context_create: open a device.
 *
 * options   NULL = all automatic; read before the call returns, not kept.
 * out       on success a new context; destroy with gpujoin_context_destroy.
 * Blocking: initializes CUDA in this process when the device is CUDA or automatic (hundreds of
 *           milliseconds, once).
 * Threads:  any.
 * Errors:   INVALID_ARGUMENT (also a calibration file that cannot be read, is not complete, or was
 *           written for another device, number of CPU threads or version of this library: it is
 *           never used in part; a spill folder that is none, or in which no file can be made),
 *           ABI_MISMATCH, NO_DEVICE (device CUDA only), OUT_OF_MEMORY, CUDA,
 *           DEVICE_LOST.
 * Since:    0.1 */
GPUJOIN_API gpujoin_status gpujoin_context_create(const gpujoin_context_options* options,
                                                  gpujoin_context** out, gpujoin_error* error);

/* gpujoin_context_get_info: what the context runs on, and its memory. Does not wait.
 *
 * info      written; its struct_size says how much of it there is.
 * Errors:   INVALID_ARGUMENT, ABI_MISMATCH, FORKED.
 * Since:    0.1 */
GPUJOIN_API gpujoin_status gpujoin_context_get_info(gpujoin_context* context,
                                                    gpujoin_context_info* info,
                                                    gpujoin_error* error);

/* gpujoin_context_cancel: ask the plannings and executions that run now to stop, or else the next
 * one to begin; they answer GPUJOIN_ERROR_CANCELLED, and the request is then spent. Does not wait.
 *
 * Threads:  any, at any time; not from a signal handler.
 * Errors:   INVALID_ARGUMENT, FORKED.
 * Since:    0.1 */
GPUJOIN_API gpujoin_status gpujoin_context_cancel(gpujoin_context* context, gpujoin_error* error);

/* gpujoin_context_calibrate: measure what the planner has to know of this machine, use it in this
 * context from now on, and keep it in a file for options.calibration_path of later ones. Without it
 * the planner works with figures built in for each architecture, most of them scaled from one that
 * was measured: good enough to rank plans, not to promise times.
 *
 * Measured are copies in the memory that joins run in, random reads and inserts there and in the
 * cache, launches, for CUDA copies from pageable host memory; and the passes and matches of joins
 * of 2^25 (CUDA) or 2^22 (CPU) rows a side. Explain says whose figures it predicts with. Plans for
 * the CPU in a CUDA context keep the built-in ones.
 *
 * path      where the file goes: text, one "name value" a line, rates in bytes, reads, inserts,
 *           rows or pairs a second, launch_seconds in seconds. A regular file that is there is
 *           replaced by the complete new one, or not at all; anything else is refused. Of a link,
 *           what it leads to is replaced.
 * Blocking: until all is measured, seconds. Beside other work on the device or the cores it finds
 *           too little. No other call on this context may run. May be cancelled; reports progress
 *           as "calibrate", and the stages of its joins as theirs.
 * Memory:   up to 3 GiB of device memory (CUDA) or 1 GiB (CPU) within the context's limit, given
 *           back to the pool.
 * Errors:   INVALID_ARGUMENT (the file cannot be written), OUT_OF_MEMORY, MEMORY_LIMIT, CANCELLED,
 *           CUDA, DEVICE_LOST, FORKED.
 * Since:    0.1 */
GPUJOIN_API gpujoin_status gpujoin_context_calibrate(gpujoin_context* context, const char* path,
                                                     gpujoin_error* error);

/* gpujoin_context_trim: give cached memory that nothing uses back to the system.
 *
 * Errors:   INVALID_ARGUMENT, CUDA, DEVICE_LOST, FORKED.
 * Since:    0.1 */
GPUJOIN_API gpujoin_status gpujoin_context_trim(gpujoin_context* context, gpujoin_error* error);

/* gpujoin_context_destroy: objects made from the context stay valid and keep what they need of it.
 * Accepts NULL. Any thread. Since 0.1. */
GPUJOIN_API void gpujoin_context_destroy(gpujoin_context* context);

/* 5. Relations
 * ------------
 * A relation describes columns of equal length. It copies no data: the memory must stay valid and
 * unchanged until the relation and every plan made from it are destroyed. Results own their memory
 * and need neither.
 *
 * Payloads and keys are any type below. Keys of the two sides are compared pairwise, by value:
 * integers of any widths and signs, and decimals of any widths and scales, with each other; floats
 * of any widths (-0.0 equals 0.0, NaN equals NaN); dates and timestamps of any units, timestamps
 * with a zone among themselves; times and durations of any units; text of any offsets or views;
 * binary values, of one width or not; dictionaries and runs as their values; NULL columns with
 * anything. All others with their own type. docs/semantics.md has an example of each.
 *
 * Keys that do not compare by their bits as they lie there are copied to columns that do when a
 * plan is made, 4 to 8 bytes a value and 4 a NULL flag, in the memory where they lie. Values of any
 * number of bytes (text, binary of more than 16 bytes) become codes of 4 bytes, where the executor
 * reads: by a hash with the context's seed, every value compared with the one whose code it takes.
 *
 * Columns of nested types may be registered and come out by row number. Output columns of text,
 * bits, and widths other than 1, 2, 4, 8 and 16 are fetched by row number when the output rows are
 * known; dictionaries and views keep what they name, which their relation's Arrow arrays hold.
 */
typedef struct gpujoin_relation gpujoin_relation;

typedef int32_t gpujoin_type;
#define GPUJOIN_TYPE_INT8 1
#define GPUJOIN_TYPE_INT16 2
#define GPUJOIN_TYPE_INT32 3
#define GPUJOIN_TYPE_INT64 4
#define GPUJOIN_TYPE_UINT8 5
#define GPUJOIN_TYPE_UINT16 6
#define GPUJOIN_TYPE_UINT32 7
#define GPUJOIN_TYPE_UINT64 8
#define GPUJOIN_TYPE_FLOAT32 9
#define GPUJOIN_TYPE_FLOAT64 10
/* Days since 1970-01-01, int32. */
#define GPUJOIN_TYPE_DATE32 11
/* Milliseconds since 1970-01-01, int64. */
#define GPUJOIN_TYPE_DATE64 12
/* Seconds, milliseconds, microseconds, nanoseconds since 1970-01-01, int64. */
#define GPUJOIN_TYPE_TIMESTAMP_S 13
#define GPUJOIN_TYPE_TIMESTAMP_MS 14
#define GPUJOIN_TYPE_TIMESTAMP_US 15
#define GPUJOIN_TYPE_TIMESTAMP_NS 16
/* 16 opaque bytes: a decimal128, a UUID. */
#define GPUJOIN_TYPE_BYTES16 17
#define GPUJOIN_TYPE_FLOAT16 18
/* int32, int64, int64; the unit is the Arrow format's. */
#define GPUJOIN_TYPE_TIME32 19
#define GPUJOIN_TYPE_TIME64 20
#define GPUJOIN_TYPE_DURATION 21
/* Bits, least significant first, as validity has them. Since 0.2, as all that follow. */
#define GPUJOIN_TYPE_BOOL 22
/* Bytes between two of rows + 1 offsets: int32, of LARGE_* int64. */
#define GPUJOIN_TYPE_UTF8 23
#define GPUJOIN_TYPE_LARGE_UTF8 24
#define GPUJOIN_TYPE_UTF8_VIEW 25
#define GPUJOIN_TYPE_BINARY 26
#define GPUJOIN_TYPE_LARGE_BINARY 27
#define GPUJOIN_TYPE_BINARY_VIEW 28
/* Any number of bytes a value, the same for all. */
#define GPUJOIN_TYPE_FIXED_BINARY 29
/* Integers of 4, 8, 32 bytes, times 10^-scale; decimals of 16 bytes are BYTES16. */
#define GPUJOIN_TYPE_DECIMAL32 30
#define GPUJOIN_TYPE_DECIMAL64 31
#define GPUJOIN_TYPE_DECIMAL256 32
/* All rows are NULL. */
#define GPUJOIN_TYPE_NULL 33
#define GPUJOIN_TYPE_INTERVAL_MONTHS 34
#define GPUJOIN_TYPE_INTERVAL_DAY_TIME 35
#define GPUJOIN_TYPE_INTERVAL_MONTH_DAY_NANO 36
/* Positions in a dictionary of values; of Arrow columns only. */
#define GPUJOIN_TYPE_DICTIONARY 37
/* Of Arrow columns only; output columns of it have the type of its values. */
#define GPUJOIN_TYPE_RUN_END_ENCODED 38

typedef struct gpujoin_column {
  uint32_t struct_size;
  gpujoin_type type;
  /* As many values as the relation has rows, aligned to their width (16-byte values: to 8); may be
   * NULL when there are no rows. */
  const void* data;
  /* One bit a row, least significant first, 1 = valid; NULL = no NULLs. */
  const uint8_t* validity;
  /* Of the first row's bit; 0 to 2^50. */
  int64_t validity_bit_offset;
  /* Of data and validity. */
  gpujoin_memory memory;
  /* Of device memory; must be the context's. */
  int32_t cuda_device_id;
  /* Copied; NULL = "". Used in explain and in exported schemas. */
  const char* name;
  /* Of UTF8, BINARY (int32) and LARGE_UTF8, LARGE_BINARY (int64): rows + 1 of them, which count
   * bytes of data and do not decrease; in the same memory as data. Since 0.2, as all that
   * follow. */
  const void* offsets;
  /* Of BOOL: the first row's bit in data; 0 to 2^50. */
  int64_t first_bit;
  /* Of FIXED_BINARY: bytes of a value. */
  int32_t value_width;
  /* Of DECIMAL32, DECIMAL64, DECIMAL256; of BYTES16 where decimal_precision is not 0. */
  int32_t decimal_precision;
  int32_t decimal_scale;
  int32_t reserved;
} gpujoin_column;
#define GPUJOIN_COLUMN_INIT \
  { (uint32_t)sizeof(gpujoin_column), 0, NULL, NULL, 0, 0, 0, NULL, NULL, 0, 0, 0, 0, 0 }

/* gpujoin_relation_create: describe a table by plain columns. Does not wait.
 *
 * rows      of every column, 0 or more.
 * columns   column_count descriptors, each with the same struct_size; copied. What they point to
 *           stays yours.
 * out       on success a new relation; destroy with gpujoin_relation_destroy.
 * Errors:   INVALID_ARGUMENT, ABI_MISMATCH, TYPE, TOO_MANY_ROWS, UNSUPPORTED (device memory with a
 *           CPU context), DEVICE_LOST, FORKED.
 * Since:    0.1 */
GPUJOIN_API gpujoin_status gpujoin_relation_create(gpujoin_context* context, int64_t rows,
                                                   const gpujoin_column* columns,
                                                   int32_t column_count, gpujoin_relation** out,
                                                   gpujoin_error* error);

/* The Arrow C data interface and C device data interface, as published by Apache Arrow. */
#ifndef ARROW_C_DATA_INTERFACE
#define ARROW_C_DATA_INTERFACE
#define ARROW_FLAG_DICTIONARY_ORDERED 1
#define ARROW_FLAG_NULLABLE 2
#define ARROW_FLAG_MAP_KEYS_SORTED 4
struct ArrowSchema {
  const char* format;
  const char* name;
  const char* metadata;
  int64_t flags;
  int64_t n_children;
  struct ArrowSchema** children;
  struct ArrowSchema* dictionary;
  void (*release)(struct ArrowSchema*);
  void* private_data;
};
struct ArrowArray {
  int64_t length;
  int64_t null_count;
  int64_t offset;
  int64_t n_buffers;
  int64_t n_children;
  const void** buffers;
  struct ArrowArray** children;
  struct ArrowArray* dictionary;
  void (*release)(struct ArrowArray*);
  void* private_data;
};
#endif
#ifndef ARROW_C_DEVICE_DATA_INTERFACE
#define ARROW_C_DEVICE_DATA_INTERFACE
typedef int32_t ArrowDeviceType;
#define ARROW_DEVICE_CPU 1
#define ARROW_DEVICE_CUDA 2
#define ARROW_DEVICE_CUDA_HOST 3
#define ARROW_DEVICE_CUDA_MANAGED 13
struct ArrowDeviceArray {
  struct ArrowArray array;
  int64_t device_id;
  ArrowDeviceType device_type;
  void* sync_event;
  int64_t reserved[3];
};
#endif

/* gpujoin_relation_import: a table from the Arrow C data interface (host memory), without a copy.
 * Does not wait.
 *
 * schema, array  one struct array (a record batch), sliced or not. Moved in on success: the
 *                relation releases both when it and the plans made from it are gone, and their
 *                release members read NULL on return. On failure both stay yours. Columns of nested
 *                types are allowed and may not be named by a join; dictionaries of them may be
 *                output columns.
 * out       on success a new relation.
 * Errors:   INVALID_ARGUMENT (also: nulls in the struct itself), TOO_MANY_ROWS, OUT_OF_MEMORY,
 *           DEVICE_LOST, FORKED.
 * Since:    0.1 */
GPUJOIN_API gpujoin_status gpujoin_relation_import(gpujoin_context* context,
                                                   struct ArrowSchema* schema,
                                                   struct ArrowArray* array, gpujoin_relation** out,
                                                   gpujoin_error* error);

/* gpujoin_relation_import_device: the same from the Arrow C device data interface: CPU, CUDA,
 * CUDA_HOST or CUDA_MANAGED memory. Streams that read it wait for sync_event (a cudaEvent_t*);
 * the call does not. Both structs are moved in on success.
 *
 * Errors:   as of gpujoin_relation_import, and CUDA; UNSUPPORTED for another device type, or for
 *           CUDA memory with a CPU context or of another device.
 * Since:    0.1 */
GPUJOIN_API gpujoin_status gpujoin_relation_import_device(gpujoin_context* context,
                                                          struct ArrowSchema* schema,
                                                          struct ArrowDeviceArray* array,
                                                          gpujoin_relation** out,
                                                          gpujoin_error* error);

/* Which rows of a relation are read. All since 0.2. */
typedef int32_t gpujoin_selection_form;
/* A bit for each row, least significant first: 1 = it is read. */
#define GPUJOIN_SELECTION_BITMAP 1
/* Row numbers, in any order; each time that one comes it is a row. */
#define GPUJOIN_SELECTION_ROWS 2

typedef struct gpujoin_selection {
  uint32_t struct_size;
  /* Required. */
  gpujoin_selection_form form;
  /* Bits, or row numbers aligned to their width; may be NULL when there are none. */
  const void* data;
  /* Of BITMAP: the first row's bit; 0 to 2^50. */
  int64_t first_bit;
  /* Of ROWS: how many there are; 0 of BITMAP. */
  int64_t count;
  /* Of ROWS: UINT32 or INT64; 0 of BITMAP. */
  gpujoin_type type;
  /* Of data. */
  gpujoin_memory memory;
  /* Of device memory; must be the context's. */
  int32_t cuda_device_id;
  int32_t reserved;
} gpujoin_selection;
#define GPUJOIN_SELECTION_INIT \
  { (uint32_t)sizeof(gpujoin_selection), 0, NULL, 0, 0, 0, 0, 0, 0 }

/* gpujoin_relation_select: a relation of some rows of another one, which every join takes as any
 * other. Neither the columns nor the selection are copied: both must stay valid and unchanged until
 * the new relation and every plan made from it are destroyed. The first handle need not be kept.
 *
 * Row numbers that joins put out, and those in messages, are those of the relation as registered.
 * A selection of a selected relation picks of those rows: bit or number 0 is the first row picked.
 *
 * A join copies what it reads of the rows that are picked when its plan is made, keys and columns
 * of fixed widths, into memory of the same kind, and fetches other output columns from where they
 * are; so it does with columns that nothing but the output reads, where the parts of both relations
 * that are picked say that few of these rows come out. Where a bitmap leaves nearly all rows, and
 * rows that are not picked cannot come out, it takes their keys for NULL in the place of that.
 * gpujoin_plan_explain says which.
 *
 * relation   may be selected itself.
 * selection  required; what it points to stays yours.
 * out        on success a new relation; destroy with gpujoin_relation_destroy. Its size is the
 *            number of rows picked.
 * Blocking:  until the bits are counted, or the numbers are checked.
 * Errors:    INVALID_ARGUMENT (also: a row number that the relation has not; the message names the
 *            first), ABI_MISMATCH, TOO_MANY_ROWS, UNSUPPORTED (device memory with a CPU context),
 *            CANCELLED, CUDA, DEVICE_LOST, FORKED.
 * Since:     0.2 */
GPUJOIN_API gpujoin_status gpujoin_relation_select(const gpujoin_relation* relation,
                                                   const gpujoin_selection* selection,
                                                   gpujoin_relation** out, gpujoin_error* error);

/* gpujoin_relation_get_size: rows and columns; either pointer may be NULL. Does not wait.
 *
 * Errors:   INVALID_ARGUMENT.
 * Since:    0.1 */
GPUJOIN_API gpujoin_status gpujoin_relation_get_size(const gpujoin_relation* relation,
                                                     int64_t* rows, int32_t* columns,
                                                     gpujoin_error* error);

/* gpujoin_relation_destroy: plans made from the relation stay valid, and need its columns. Accepts
 * NULL. Any thread. Since 0.1. */
GPUJOIN_API void gpujoin_relation_destroy(gpujoin_relation* relation);

/* 6. Joins
 * -------- */
typedef int32_t gpujoin_side;
#define GPUJOIN_SIDE_LEFT 1
#define GPUJOIN_SIDE_RIGHT 2

/* Which rows come out. A row matches one of the other side when all their keys are equal; a NULL
 * key is equal to nothing, but where its flags say that NULLs are equal. docs/semantics.md has
 * every kind as a table of examples. */
typedef int32_t gpujoin_join_kind;
/* Each pair of rows that match. */
#define GPUJOIN_JOIN_INNER 1
/* The same, and once each left row without a match, its right columns NULL (since 0.2, as all that
 * follow). */
#define GPUJOIN_JOIN_LEFT 2
/* The same, and once each right row without a match, its left columns NULL. */
#define GPUJOIN_JOIN_RIGHT 3
/* Inner, and the rows without a match of both sides. */
#define GPUJOIN_JOIN_FULL 4
/* Rows of one side that have a match (EXISTS), once each. */
#define GPUJOIN_JOIN_LEFT_SEMI 5
#define GPUJOIN_JOIN_RIGHT_SEMI 6
/* Rows of one side that have none (NOT EXISTS). */
#define GPUJOIN_JOIN_LEFT_ANTI 7
#define GPUJOIN_JOIN_RIGHT_ANTI 8
/* All rows of one side, with a BOOL column "mark" after the output columns: what SQL answers for
 * keys IN (the other side's keys): true where there is a match, else NULL where a comparison is
 * unknown, because of a NULL key here or there, else false. */
#define GPUJOIN_JOIN_LEFT_MARK 9
#define GPUJOIN_JOIN_RIGHT_MARK 10
/* Null-aware anti join (NOT IN): rows whose mark is false. */
#define GPUJOIN_JOIN_LEFT_NOT_IN 11
#define GPUJOIN_JOIN_RIGHT_NOT_IN 12
/* LEFT and RIGHT for a scalar subquery: a row of that side with a second match ends the join with
 * GPUJOIN_ERROR_SEVERAL_MATCHES. */
#define GPUJOIN_JOIN_LEFT_SINGLE 13
#define GPUJOIN_JOIN_RIGHT_SINGLE 14
/* Each left row with each right row; without keys. */
#define GPUJOIN_JOIN_CROSS 15

/* The row number of a side that has no row in an output row: as UINT32, and as INT64. */
#define GPUJOIN_NO_ROW UINT32_MAX
#define GPUJOIN_NO_ROW_INT64 (-1)

/* What a join puts out; or-ed. */
/* The output columns, materialized. */
#define GPUJOIN_OUTPUT_COLUMNS 1
/* Row numbers: left row and right row of each output row. */
#define GPUJOIN_OUTPUT_PAIRS 2

/* How a pair of keys is compared; or-ed. Since 0.2. */
/* NULL equals NULL, and nothing else (IS NOT DISTINCT FROM). */
#define GPUJOIN_KEY_NULL_EQUAL 1
/* Floats as IEEE 754 has it: NaN equals nothing, not even NaN. Ignored for other types. */
#define GPUJOIN_KEY_IEEE_FLOAT 2

/* Conditions. Rows match when their keys are equal and a condition of both rows is true: nodes in
 * postfix order, of which each takes the values of as many nodes before it as it has arguments, so
 * that "l.a < r.b + 1" is
 *
 *   COLUMN left a, COLUMN right b, CONSTANT 1, ADD (2 arguments), LESS (2 arguments)
 *
 * and the last one is the answer: true, false or NULL, as SQL has it. All since 0.2.
 *
 * Compared are values of types that compare as keys do, by value, integers and decimals with floats
 * as FLOAT64; text and binary by their bytes; false before true; NaN equals NaN, above all else.
 * Arithmetic is of integers, in the wider type (of a signed and an unsigned one the signed one that
 * holds both; INT64 for UINT64), of decimals in 38 digits, of floats as FLOAT64, which may be
 * infinite, of dates (days) and timestamps (units) with integers, durations or each other, which
 * is INT64, days or the finer unit. What a type does not hold, and a division by zero, is no value:
 * the join ends with GPUJOIN_ERROR_EVALUATION where the answer for a pair of rows with equal keys
 * depends on it. NULL = no value is NULL, false AND no value false, true OR no value true; a CASE
 * looks at the branch that it takes, on either executor and whatever the plan. */
typedef int32_t gpujoin_operator;
/* The value of `column` in the row of `side`. */
#define GPUJOIN_OPERATOR_COLUMN 1
/* The value of `column` in the first row of `values`. */
#define GPUJOIN_OPERATOR_CONSTANT 2
/* 2 arguments; NULL where one is. */
#define GPUJOIN_OPERATOR_EQUAL 3
#define GPUJOIN_OPERATOR_NOT_EQUAL 4
#define GPUJOIN_OPERATOR_LESS 5
#define GPUJOIN_OPERATOR_LESS_EQUAL 6
#define GPUJOIN_OPERATOR_GREATER 7
#define GPUJOIN_OPERATOR_GREATER_EQUAL 8
/* 2 arguments; NULL is equal to NULL and to nothing else: never NULL. */
#define GPUJOIN_OPERATOR_DISTINCT 9
#define GPUJOIN_OPERATOR_NOT_DISTINCT 10
/* 3 arguments: second <= first AND first <= third. */
#define GPUJOIN_OPERATOR_BETWEEN 11
/* 1 argument, and all rows of `column` of `values`: true where one is equal, else NULL where the
 * argument or a row is NULL, else false; false where there is no row. */
#define GPUJOIN_OPERATOR_IN 12
/* 1 or more arguments of BOOL, three-valued. */
#define GPUJOIN_OPERATOR_AND 13
#define GPUJOIN_OPERATOR_OR 14
/* 1 argument of BOOL. */
#define GPUJOIN_OPERATOR_NOT 15
/* 1 argument of any type; never NULL. */
#define GPUJOIN_OPERATOR_IS_NULL 16
#define GPUJOIN_OPERATOR_IS_NOT_NULL 17
/* 1 argument of BOOL; never NULL. */
#define GPUJOIN_OPERATOR_IS_TRUE 18
#define GPUJOIN_OPERATOR_IS_FALSE 19
/* 2 arguments of text or binary: whether the first one begins with the bytes of the second: LIKE
 * 'prefix%'. */
#define GPUJOIN_OPERATOR_STARTS_WITH 20
/* when, then, when, then ..., and, of an odd number, else; the first whose `when` is true. */
#define GPUJOIN_OPERATOR_CASE 21
/* 1 or more arguments: the first that is not NULL. */
#define GPUJOIN_OPERATOR_COALESCE 22
/* 2 arguments. DIVIDE is of FLOAT64, whatever they are; QUOTIENT of integers, towards zero; the
 * sign of MODULO is that of the first. */
#define GPUJOIN_OPERATOR_ADD 23
#define GPUJOIN_OPERATOR_SUBTRACT 24
#define GPUJOIN_OPERATOR_MULTIPLY 25
#define GPUJOIN_OPERATOR_DIVIDE 26
#define GPUJOIN_OPERATOR_QUOTIENT 27
#define GPUJOIN_OPERATOR_MODULO 28
/* 1 argument. */
#define GPUJOIN_OPERATOR_NEGATE 29
#define GPUJOIN_OPERATOR_ABSOLUTE 30
/* The whole condition, without arguments: the caller evaluates it. The result of the join is then
 * its candidates, the pairs of rows with equal keys as an INNER join with OUTPUT_PAIRS has them,
 * for gpujoin_result_decide to be told which of them match; an operation asks its options.decide.
 * Not of MARK and NOT IN joins, and not without keys. */
#define GPUJOIN_OPERATOR_CALLER 31

typedef struct gpujoin_node {
  uint32_t struct_size;
  gpujoin_operator operation;
  int32_t argument_count;
  /* Of COLUMN. */
  gpujoin_side side;
  /* Of COLUMN, CONSTANT and IN. */
  int32_t column;
  int32_t reserved;
  /* Of CONSTANT and IN: a relation of the same context, in host memory. */
  const gpujoin_relation* values;
} gpujoin_node;
#define GPUJOIN_NODE_INIT \
  { (uint32_t)sizeof(gpujoin_node), 0, 0, 0, 0, 0, NULL }

typedef struct gpujoin_condition {
  uint32_t struct_size;
  /* 1 to 4096. */
  int32_t node_count;
  /* Each with the same struct_size, in postfix order. */
  const gpujoin_node* nodes;
} gpujoin_condition;
#define GPUJOIN_CONDITION_INIT \
  { (uint32_t)sizeof(gpujoin_condition), 0, NULL }

/* ASOF joins. Of the right rows whose keys are equal to a left row's, or of all where the
 * specification has no keys, it has one match at most: the one next to it in an ordered column. The
 * kinds are INNER, LEFT, RIGHT, FULL, LEFT_SEMI, LEFT_ANTI, RIGHT_SEMI, RIGHT_ANTI by that match,
 * and LEFT_SINGLE, which is LEFT; others, a residual and aggregates beside it are UNSUPPORTED. No
 * technique can be named. Sides that lie in order, by their keys and the column, or by the column
 * where there are no keys, are merged as they lie; others are sorted first. All since 0.2. */
typedef int32_t gpujoin_direction;
/* The last right row at or before the left row; of several at the same place the last one. */
#define GPUJOIN_DIRECTION_BACKWARD 1
/* The first right row at or after it; of several at the same place the first one. */
#define GPUJOIN_DIRECTION_FORWARD 2
/* The nearer one of both, BACKWARD's where they are equally near. */
#define GPUJOIN_DIRECTION_NEAREST 3

/* Not at the same place: before, after. */
#define GPUJOIN_ASOF_STRICT 1
/* No farther away than `tolerance`. */
#define GPUJOIN_ASOF_TOLERANCE 2

typedef struct gpujoin_asof {
  uint32_t struct_size;
  /* Required. */
  gpujoin_direction direction;
  /* Column positions of the ordered columns, which compare with each other: integers, floats,
   * decimals, dates, times, timestamps, durations. A row with a NULL or NaN there has no match.
   * Neither side has to be sorted. */
  int32_t left_column;
  int32_t right_column;
  /* GPUJOIN_ASOF_*, or-ed. */
  int32_t flags;
  int32_t reserved;
  /* With ASOF_TOLERANCE, 0 or more: of floats in tolerance_float, else in units of the finer of the
   * two columns (days, nanoseconds, the last place of a decimal). The other one, and both without
   * the flag, are 0. Decimals of scales more than 77 apart have no distance: TYPE, as for columns
   * without an order. */
  int64_t tolerance;
  double tolerance_float;
} gpujoin_asof;
#define GPUJOIN_ASOF_INIT \
  { (uint32_t)sizeof(gpujoin_asof), 0, 0, 0, 0, 0, 0, 0 }

/* Aggregates over the rows of a join, in the place of the rows: over those that the kind would put
 * out, as one group, which is there even if no row is, or as a group for each row of group_side.
 * Groups of an inner or a cross join are the rows of that side with a match, those of an outer or
 * single join of that side all of them: a row without a match counts, and its other columns are
 * NULL. They come in any order, or with order LEFT or RIGHT in that of group_side. Its output
 * columns come first, then the aggregates; with OUTPUT_PAIRS each has its row number in group_side,
 * and none in the other side. Output 0 means COLUMNS. All rows as one group have neither columns
 * nor row numbers.
 *
 * Refused with UNSUPPORTED: groups of a semi, anti or NOT IN join, whose rows come out once; groups
 * of a side that other rows come out without (FULL, RIGHT by left); mark joins. Values of
 * dictionaries and runs are those that they name. All since 0.2. */
typedef int32_t gpujoin_function;
/* Rows, INT64; without a column: side and column are 0. */
#define GPUJOIN_FUNCTION_COUNT_ROWS 1
/* Rows in which the column is not NULL, INT64. */
#define GPUJOIN_FUNCTION_COUNT 2
/* Of values that are not NULL; NULL where there is none. Of integers up to 64 bits INT64 (UINT64 of
 * unsigned ones), of decimals one of 38 digits and the same scale, of floats FLOAT64, in any order.
 * A total that its type does not hold ends the join with GPUJOIN_ERROR_EVALUATION; what is added
 * up on the way may be larger. */
#define GPUJOIN_FUNCTION_SUM 3
/* The column's type, any but intervals and nested ones; text and binary by their bytes, false
 * before true; NaN is above all else. NULL where there is no value. */
#define GPUJOIN_FUNCTION_MIN 4
#define GPUJOIN_FUNCTION_MAX 5
/* FLOAT64; of integers and decimals the exact quotient, rounded once. */
#define GPUJOIN_FUNCTION_AVG 6
/* One of the values that are not NULL, of any type. */
#define GPUJOIN_FUNCTION_ANY 7
/* Whether there is a row, BOOL; without a column. In the group of a row without a match: false. */
#define GPUJOIN_FUNCTION_EXISTS 8

typedef struct gpujoin_aggregate {
  uint32_t struct_size;
  gpujoin_function function;
  /* Where the column is; 0 of COUNT_ROWS and EXISTS. */
  gpujoin_side side;
  int32_t column;
  /* Copied; NULL = the function's name and the column's: "sum(price)". */
  const char* name;
} gpujoin_aggregate;
#define GPUJOIN_AGGREGATE_INIT \
  { (uint32_t)sizeof(gpujoin_aggregate), 0, 0, 0, NULL }

/* In which order rows come out. Pairs are sorted by row number before any column is fetched, unless
 * they come in that order; the rows of semi, anti, mark and NOT IN joins by the number of their
 * side, whichever side is named. Since 0.2. */
typedef int32_t gpujoin_order;
/* Any. */
#define GPUJOIN_ORDER_NONE 0
/* LEFT or RIGHT: by the side that the plan does not build on; of a cross join LEFT. */
#define GPUJOIN_ORDER_PROBE 1
/* By left row, those of one left row by right row; rows without a left row come last. */
#define GPUJOIN_ORDER_LEFT 2
/* The same of the right side. */
#define GPUJOIN_ORDER_RIGHT 3

/* What the caller knows of the data; or-ed. It is checked, never trusted: what is not so ends the
 * join with GPUJOIN_ERROR_BROKEN_PROMISE, which names a row that shows it: when a plan is made, or
 * by the join itself. Of an operation's probe side sorted keys are those of each batch by itself,
 * and unique ones are looked at when all rows have come. Since 0.2. */
/* No two rows of the side have equal keys; NULL keys that are equal to nothing not counted. */
#define GPUJOIN_PROMISE_LEFT_UNIQUE 1
#define GPUJOIN_PROMISE_RIGHT_UNIQUE 2
/* Keys do not decrease from row to row, in the order of conditions, the first key first; NULLs lie
 * together, before or behind the others. */
#define GPUJOIN_PROMISE_LEFT_SORTED 4
#define GPUJOIN_PROMISE_RIGHT_SORTED 8
/* The join has promised_rows rows or fewer. */
#define GPUJOIN_PROMISE_ROWS 16

typedef struct gpujoin_join_spec {
  uint32_t struct_size;
  /* Required. */
  gpujoin_join_kind kind;
  /* Of left_keys and right_keys: 1 to 16 columns, all of which must be equal; 0 of a cross join,
   * and where asof is set or residual alone says what matches. */
  int32_t key_count;
  /* GPUJOIN_OUTPUT_COLUMNS, GPUJOIN_OUTPUT_PAIRS or both; 0 = COLUMNS when columns are named, else
   * PAIRS. Semi, anti, mark and NOT IN joins have columns and row numbers of their side alone. */
  int32_t output;
  /* Column positions in the left relation. */
  const int32_t* left_keys;
  /* As many in the right relation, compared pairwise. */
  const int32_t* right_keys;
  /* Output columns of the left relation, any order, keys allowed, repeats allowed. */
  const int32_t* left_columns;
  /* Output columns of the right relation; they follow the left ones in the result. */
  const int32_t* right_columns;
  int32_t left_column_count;
  int32_t right_column_count;
  /* GPUJOIN_KEY_*, or-ed, of each pair of keys; NULL = 0 of all. Since 0.2, as all that follow. */
  const int32_t* key_flags;
  /* What rows with equal keys have to fulfil besides, to match; NULL = nothing. Without keys all
   * rows meet: comparisons (<, <=, >, >=, =, BETWEEN) of a left with a right column, parts of an
   * AND, find pairs in sorted orders; without any, each pair is evaluated. */
  const gpujoin_condition* residual;
  /* NULL = not an ASOF join. */
  const gpujoin_asof* asof;
  /* In the place of rows; each with the same struct_size; NULL = rows. */
  const gpujoin_aggregate* aggregates;
  int32_t aggregate_count;
  /* Of aggregates: a group for each row of this side that comes out; 0 = one group of all rows. */
  gpujoin_side group_side;
  gpujoin_order order;
  /* GPUJOIN_PROMISE_*, or-ed. */
  int32_t promises;
  int64_t promised_rows;
  /* More output rows end the join with GPUJOIN_ERROR_ROW_LIMIT, as soon as the match has found
   * them; 0 = no limit. */
  int64_t row_limit;
  /* More bytes of output columns and row numbers, as gpujoin_plan_count counts them, end it with
   * GPUJOIN_ERROR_BYTE_LIMIT; 0 = none. */
  uint64_t byte_limit;
} gpujoin_join_spec;
#define GPUJOIN_JOIN_SPEC_INIT                                                                    \
  {                                                                                               \
    (uint32_t)sizeof(gpujoin_join_spec), 0, 0, 0, NULL, NULL, NULL, NULL, 0, 0, NULL, NULL, NULL, \
        NULL, 0, 0, 0, 0, 0, 0, 0                                                                 \
  }

typedef struct gpujoin_result gpujoin_result;

/* What the caller may say about how to join: gpujoin_plan_options of section 8. */
struct gpujoin_plan_options;

/* gpujoin_join: plan and execute a join of two relations of one context.
 *
 * spec      required; read before the call returns, not kept.
 * options   NULL = all automatic: the planner chooses, see section 8.
 * out       on success a new result, which owns its memory and needs neither relation; destroy
 *           with gpujoin_result_destroy.
 * Blocking: until the result is complete. Waits for its stream only.
 * Memory:   grows with the output, within the context's limit; on failure all of it is back in the
 *           pool.
 * Errors:   those of gpujoin_plan_create and gpujoin_plan_execute.
 * Since:    0.1 */
GPUJOIN_API gpujoin_status gpujoin_join(gpujoin_context* context, const gpujoin_relation* left,
                                        const gpujoin_relation* right,
                                        const gpujoin_join_spec* spec,
                                        const struct gpujoin_plan_options* options,
                                        gpujoin_result** out, gpujoin_error* error);

/* 7. Results
 * ----------
 * Rows 0 to rows - 1. Row numbers (pairs) count from 0 in the relations as registered; of a side
 * that has no row in an output row (outer joins) they are GPUJOIN_NO_ROW. Columns are numbered from
 * 0: the left output columns as listed in the spec, then the right ones, then the mark of a mark
 * join, then the aggregates.
 */

/* gpujoin_result_get_rows: number of output rows. Does not wait.
 *
 * Errors:   INVALID_ARGUMENT.
 * Since:    0.1 */
GPUJOIN_API gpujoin_status gpujoin_result_get_rows(const gpujoin_result* result, int64_t* rows,
                                                   gpujoin_error* error);

/* A page is a window on the result, and the cursor to resume at. Start with first_row 0; after a
 * call, first_row is the row after the page; the result is exhausted when rows comes back 0. */
typedef struct gpujoin_page {
  uint32_t struct_size;
  uint32_t reserved;
  /* In and out. */
  int64_t first_row;
  /* 0 = no limit. */
  int64_t max_rows;
  /* Of values and validity bits written in the page, 0 = no limit; one row is always allowed. */
  uint64_t max_bytes;
  /* Out: rows in the page. */
  int64_t rows;
} gpujoin_page;
#define GPUJOIN_PAGE_INIT \
  { (uint32_t)sizeof(gpujoin_page), 0, 0, 0, 0, 0 }

/* Output column number `column`. */
#define GPUJOIN_FETCH_COLUMN 1
/* Row numbers in the left relation; needs GPUJOIN_OUTPUT_PAIRS. */
#define GPUJOIN_FETCH_LEFT_INDEX 2
/* Row numbers in the right relation; needs GPUJOIN_OUTPUT_PAIRS. Of a sequence: in the dimension of
 * step `column`, which a LEFT_SEMI step does not have. */
#define GPUJOIN_FETCH_RIGHT_INDEX 3

typedef struct gpujoin_fetch {
  uint32_t struct_size;
  /* GPUJOIN_FETCH_*; required. */
  int32_t what;
  /* With FETCH_COLUMN; with FETCH_RIGHT_INDEX of a sequence, the step. */
  int32_t column;
  /* Indices: UINT32 or INT64, 0 = INT64; columns: 0 or the column's own. */
  gpujoin_type type;
  /* As many values as the page has rows are written; of BOOL (rows + 7) / 8 bytes, the page's first
   * row in bit 0 of byte 0, in device memory rounded up to 4. INT64 row numbers into device memory:
   * aligned to 8 bytes. */
  void* data;
  /* Room in data. */
  uint64_t data_bytes;
  /* Bits, the page's first row in bit 0 of byte 0; NULL is allowed when the page has no NULL, and
   * for row numbers, which say GPUJOIN_NO_ROW themselves. */
  uint8_t* validity;
  /* Room in validity; (rows + 7) / 8 are written, in device memory rounded up to 4. */
  uint64_t validity_bytes;
  /* Of data and validity. */
  gpujoin_memory memory;
  int32_t reserved;
  /* Out: NULLs in the page. */
  int64_t null_count;
  /* Of text (UTF8, BINARY: int32; LARGE_*: int64), whose bytes go to data: rows + 1 are written,
   * from 0 on. With data NULL they are written alone. Since 0.2, as all that follow. */
  void* offsets;
  /* Room in offsets. */
  uint64_t offsets_bytes;
  /* Out: bytes of the page's text. */
  uint64_t text_bytes;
} gpujoin_fetch;
#define GPUJOIN_FETCH_INIT \
  { (uint32_t)sizeof(gpujoin_fetch), 0, 0, 0, NULL, 0, NULL, 0, 0, 0, 0, NULL, 0, 0 }

/* gpujoin_result_fetch: copy a page of indices and columns into the caller's buffers, host or
 * device.
 *
 * page      NULL = the whole result.
 * fetches   fetch_count requests with the same struct_size; their buffers stay yours.
 * Blocking: until the buffers are written.
 * Errors:   INVALID_ARGUMENT, ABI_MISMATCH, BUFFER_TOO_SMALL (nothing written, page unchanged),
 *           OUT_OF_MEMORY, MEMORY_LIMIT,
 *           TYPE, UNSUPPORTED, CUDA, DEVICE_LOST, FORKED.
 * Since:    0.1 */
GPUJOIN_API gpujoin_status gpujoin_result_fetch(gpujoin_result* result, gpujoin_page* page,
                                                gpujoin_fetch* fetches, int32_t fetch_count,
                                                gpujoin_error* error);

/* gpujoin_result_export: a page as an Arrow struct array in host memory. Its children are the
 * pairs, when asked for (left_row, right_row: uint32, NULL where a side has no row; of a semi,
 * anti, mark or NOT IN join that of its side alone; of a sequence left_row, right_row_0,
 * right_row_1 ...), then the output columns with their names and Arrow types.
 *
 * page           NULL = the whole result.
 * schema, array  overwritten; yours, to release both. They outlive the result. On a CPU result
 *                nothing is copied: the array shares the result's memory.
 * Blocking: until a CUDA result has been copied.
 * Errors:   INVALID_ARGUMENT, ABI_MISMATCH, OUT_OF_MEMORY, CUDA, DEVICE_LOST, FORKED; UNSUPPORTED:
 *           a dictionary of a nested type that lies in the other memory.
 * Since:    0.1 */
GPUJOIN_API gpujoin_status gpujoin_result_export(gpujoin_result* result, gpujoin_page* page,
                                                 struct ArrowSchema* schema,
                                                 struct ArrowArray* array, gpujoin_error* error);

/* gpujoin_result_export_device: the same where the result lies, without a copy: device memory
 * (ARROW_DEVICE_CUDA) for a CUDA result, host memory for a CPU result and for one of PROBE_CHUNKS.
 * The data is complete: sync_event is NULL. Dictionaries and buffers of views that lie in the other
 * memory are copied, by either call; otherwise it does not wait.
 * Errors:   as of gpujoin_result_export.
 * Since:    0.1 */
GPUJOIN_API gpujoin_status gpujoin_result_export_device(gpujoin_result* result, gpujoin_page* page,
                                                        struct ArrowSchema* schema,
                                                        struct ArrowDeviceArray* array,
                                                        gpujoin_error* error);

/* gpujoin_result_decide: the rows of a join whose residual the caller evaluated (OPERATOR_CALLER).
 *
 * candidates  the result of the join; it stays as it is.
 * answers   one BOOL column with a row for each candidate, in their order: whether the pair
 *           matches; NULL is no. Where the context reads it; read before the call returns.
 * out       on success a new result of the kind, columns and output that the join was asked for.
 * Blocking: until the result is complete.
 * Errors:   INVALID_ARGUMENT (also: candidates of another join, another number of rows), TYPE,
 *           TOO_MANY_ROWS (2^32 - 1 candidates or more), SEVERAL_MATCHES, ROW_LIMIT, BYTE_LIMIT,
 *           BROKEN_PROMISE, OUT_OF_MEMORY, MEMORY_LIMIT, CANCELLED, CUDA, DEVICE_LOST, FORKED.
 * Since:    0.2 */
GPUJOIN_API gpujoin_status gpujoin_result_decide(gpujoin_result* candidates,
                                                 const gpujoin_relation* answers,
                                                 gpujoin_result** out, gpujoin_error* error);

/* gpujoin_result_destroy: Arrow arrays exported from it stay valid. Accepts NULL. Any thread.
 * Since 0.1. */
GPUJOIN_API void gpujoin_result_destroy(gpujoin_result* result);

/* 8. Plans: choose, explain, measure
 * ----------------------------------
 * A plan names one technique for each stage. Whatever is left at 0 the planner chooses, by a cost
 * that it computes from row counts, column widths, and a sampled match ratio and skew;
 * gpujoin_plan_explain shows the candidates and their cost. Techniques that cannot go together
 * answer GPUJOIN_ERROR_ILLEGAL_PLAN, and the message says which two.
 *
 * Named here is what the planner chooses from, and what a host may need; the papers' other
 * techniques are in section 11. Papers are named where a technique is theirs: Wu et al. 2024
 * ("Efficiently Processing Large Relational Joins on GPUs"), Lin & Liao 2025, Rui & Tu 2017, Paul
 * et al. 2020. docs/papers.md has their sections, the files, and where we differ.
 */
typedef struct gpujoin_plan gpujoin_plan;

/* A name for a whole combination. */
typedef int32_t gpujoin_algorithm;
#define GPUJOIN_ALGORITHM_AUTOMATIC 0
/* Non-partitioned hash join: global table, gather untransformed (Paul et al. IV.A.1). */
#define GPUJOIN_ALGORITHM_NOP 1
/* Stable one-sweep partitions, co-partitions, gather transformed (Wu et al. 4.3). */
#define GPUJOIN_ALGORITHM_PHJ_OM 2
/* The same with gather untransformed. */
#define GPUJOIN_ALGORITHM_PHJ_GFUR 3
/* Radix sort, merge path, gather transformed (Wu et al. 4.2). */
#define GPUJOIN_ALGORITHM_SMJ_OM 4
/* The same with gather untransformed (Wu et al. 3.1). */
#define GPUJOIN_ALGORITHM_SMJ_UM 5
/* The CPU executor's radix-partitioned hash join (Balkesen et al., ICDE 2013). */
#define GPUJOIN_ALGORITHM_CPU_RADIX 6
/* Bucket chains, co-partitions, gather untransformed (Sioulas et al., in Wu et al. 3.2). */
#define GPUJOIN_ALGORITHM_PHJ_UM 7
/* A multiset of row numbers, hashed in build and probe (Lin & Liao 3.1.2). */
#define GPUJOIN_ALGORITHM_ROW_MULTISET 8
/* Unordered partitions of whole rows, co-partitions, output written by the match. */
#define GPUJOIN_ALGORITHM_PHJ_CARRIED 9
/* Global table, output written by the probe. */
#define GPUJOIN_ALGORITHM_NOP_CARRIED 10
/* Dense keys as addresses, output written by the probe. */
#define GPUJOIN_ALGORITHM_DIRECT_CARRIED 11
/* Sides that lie in the order of their keys, merged where they lie, output written by the match;
 * where one does not, another join follows. Since 0.2. */
#define GPUJOIN_ALGORITHM_SMJ_CARRIED 12
/* Dense keys as addresses within parts that shared memory holds, output written by the match: a
 * direct join of partitions. Where keys are not dense, or repeat, or columns are others than
 * WRITE_COMBINED moves, another join follows. Since 0.2. */
#define GPUJOIN_ALGORITHM_PDJ_CARRIED 13

/* How columns in host memory reach the device; columns in device memory are read where they are.
 * The planner takes OVERLAPPED_COPIES. */
typedef int32_t gpujoin_transfer;
/* Nothing to transfer: all columns are on the device. */
#define GPUJOIN_TRANSFER_NONE 1
/* Each column copied before the join begins. */
#define GPUJOIN_TRANSFER_EXPLICIT_COPIES 2
/* Copies on a stream of their own, under the transform of what has arrived (Rui & Tu 3.4). */
#define GPUJOIN_TRANSFER_OVERLAPPED_COPIES 3
/* For a probe side or a result larger than the device's memory: the build side kept on the device,
 * the probe side in chunks, results back to host memory (Rui & Tu 3.4). Must be named. */
#define GPUJOIN_TRANSFER_PROBE_CHUNKS 7

/* Which rows are left out before they are moved, or before a table of them is made. */
typedef int32_t gpujoin_filter;
/* Those with NULL keys. */
#define GPUJOIN_FILTER_NONE 1
/* And those that cannot match, by a bit for each key of a small range. */
#define GPUJOIN_FILTER_KEY_BITS 2
/* And most of those that cannot match, by a bit for each hash of a key (Bloom filter). */
#define GPUJOIN_FILTER_KEY_HASHES 3

/* How rows are moved before the match. */
typedef int32_t gpujoin_transform;
/* Rows stay where they are. */
#define GPUJOIN_TRANSFORM_NONE 1
/* Stable radix partition (Wu et al. 4.3). */
#define GPUJOIN_TRANSFORM_RADIX_ONESWEEP 2
/* Full sort of the varying key bits (Wu et al. 4.2). */
#define GPUJOIN_TRANSFORM_RADIX_SORT 3
/* Partitions as chains of buckets, without a histogram (PRBC: Sioulas et al., Paul et al.). */
#define GPUJOIN_TRANSFORM_BUCKET_CHAINS 7
/* Radix partition of all columns with one rank, rows of a partition in any order. */
#define GPUJOIN_TRANSFORM_RADIX_UNORDERED 9
/* Rows to parts of a table that shared memory holds, in one pass that combines its writes to lines.
 * With DIRECT_TABLE, or GLOBAL_TABLE of hashed keys (of 8 bytes within 2^32 steps), and CARRIED, of
 * columns of 4 and 8 bytes, 16 bytes of a side at most. Since 0.2. */
#define GPUJOIN_TRANSFORM_WRITE_COMBINED 10

/* How partitions of unequal size are spread over thread blocks. Of matches that join partitions. */
typedef int32_t gpujoin_skew;
/* One block joins one partition, whatever its size. */
#define GPUJOIN_SKEW_NONE 1
/* Heavy partitions are cut into units of bounded size. */
#define GPUJOIN_SKEW_WORK_UNITS 2

/* How rows with equal keys find each other. */
typedef int32_t gpujoin_match;
/* One hash table in device memory. */
#define GPUJOIN_MATCH_GLOBAL_TABLE 1
/* Hash tables in shared memory, a pair of partitions at a time. */
#define GPUJOIN_MATCH_CO_PARTITIONS 2
/* Lower bounds by merge path, upper bounds by a local search. */
#define GPUJOIN_MATCH_MERGE_PATH 3
/* A multiset of hash and row number; keys of 1 to 5 columns, verified (Lin & Liao 3.1.2). */
#define GPUJOIN_MATCH_ROW_MULTISET 7
/* Unique build keys from a small range are addresses of their rows; others are hashed. */
#define GPUJOIN_MATCH_DIRECT_TABLE 8
/* Both sides in the order of their keys as they lie: a tile of each at a time. With TRANSFORM_NONE
 * and CARRIED. Since 0.2. */
#define GPUJOIN_MATCH_MERGE_TILES 9

/* How the match finds room for what it writes. Not to be taken for gpujoin_join_spec.output. */
typedef int32_t gpujoin_output;
/* Blocks reserve exactly what they write. */
#define GPUJOIN_OUTPUT_GROWN 1
/* Of merges, which know their counts before they write. */
#define GPUJOIN_OUTPUT_COUNTED 2
/* Each block fills chunks: of columns, or of page_pairs pairs (Rui & Tu 3.2.2). */
#define GPUJOIN_OUTPUT_BLOCK_CHUNKS 4

/* Where payload values come from. */
typedef int32_t gpujoin_gather;
/* Fetched from the input columns by row number (GFUR of Wu et al.). */
#define GPUJOIN_GATHER_UNTRANSFORMED 1
/* Transformed with their keys, fetched by position (GFTR of Wu et al.). */
#define GPUJOIN_GATHER_TRANSFORMED 2
/* Transformed with their keys, or where they are; the match writes the output columns. */
#define GPUJOIN_GATHER_CARRIED 3
/* Row numbers transformed with their keys; the match writes them, and payloads are fetched by them,
 * but for a lone one of 4 bytes, which travels itself. Of RADIX_UNORDERED and CO_PARTITIONS. */
#define GPUJOIN_GATHER_CARRIED_ROWS 4

typedef struct gpujoin_plan_options {
  uint32_t struct_size;
  /* AUTOMATIC = the context's; its plans can be the CPU's, too. One of CUDA joins so by itself, in
   * gpujoin_join and gpujoin_plan_execute, what it has no room for in some pieces, where the CPU
   * can read it and no technique is named here; the statistics say why. */
  gpujoin_device device;
  /* Names transform, match and gather at once, and no filter unless one is named. */
  gpujoin_algorithm algorithm;
  gpujoin_transform transform;
  gpujoin_match match;
  gpujoin_gather gather;
  /* The side that is hashed or sorted into; 0 = the smaller, unless its keys repeat. */
  gpujoin_side build_side;
  /* Of partitioning transforms: 2^bits partitions, 1 to 16 (on the CPU to 14). */
  int32_t radix_bits;
  /* Ignored where every column is on the device, but for PROBE_CHUNKS; on the CPU only NONE. */
  gpujoin_transfer transfer;
  gpujoin_skew skew;
  gpujoin_output output;
  /* Of RADIX_UNORDERED, BUCKET_CHAINS and the partitions of section 11: 1 or 2 passes. */
  int32_t passes;
  /* Of BLOCK_CHUNKS of pairs and THREAD_PAGES, one of which is to be named with it: 1 to 2^20. */
  int32_t page_pairs;
  /* KEY_BITS and KEY_HASHES need RADIX_UNORDERED, or a table with CARRIED. */
  gpujoin_filter filter;
  /* Of PROBE_CHUNKS: rows of a chunk. */
  int64_t probe_chunk_rows;
  /* How long a call that plans or executes may take before it answers DEADLINE: gpujoin_plan_create
   * and each gpujoin_plan_execute, gpujoin_join and gpujoin_join_sequence as a whole, each call on
   * an operation and its probes. 0 = as long as it takes. Since 0.2. */
  int64_t timeout_milliseconds;
} gpujoin_plan_options;
#define GPUJOIN_PLAN_OPTIONS_INIT \
  { (uint32_t)sizeof(gpujoin_plan_options), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }

/* gpujoin_plan_create: choose how to join two relations of one context.
 *
 * spec      required; copied.
 * options   NULL = all automatic; copied.
 * out       on success a new plan; destroy with gpujoin_plan_destroy. It refers to both relations
 *           and may be executed any number of times.
 * Blocking: samples keys when the planner has a choice to make for 2^21 rows or more, of a join of
 *           more than 0.42 to 0.8 ms: one read of at most 2^24 of the smaller side's keys, and of
 *           all keys where one of these comes very often. Of shorter ones 2^16 of each may be read.
 * Errors:   INVALID_ARGUMENT, ABI_MISMATCH, UNSUPPORTED, TYPE, ILLEGAL_PLAN, OUT_OF_MEMORY,
 *           MEMORY_LIMIT, CANCELLED, NO_DEVICE (options.device CUDA on a CPU context), CUDA,
 *           DEVICE_LOST, FORKED, BROKEN_PROMISE.
 * Since:    0.1 */
GPUJOIN_API gpujoin_status gpujoin_plan_create(gpujoin_context* context,
                                               const gpujoin_relation* left,
                                               const gpujoin_relation* right,
                                               const gpujoin_join_spec* spec,
                                               const gpujoin_plan_options* options,
                                               gpujoin_plan** out, gpujoin_error* error);

/* gpujoin_plan_explain: the plan as text: the techniques, what was sampled, each candidate with its
 * predicted bytes and milliseconds, and why the winner won. Does not wait.
 *
 * buffer    may be NULL when *length is 0.
 * length    in: bytes in buffer; out: bytes needed, the terminator counted. When buffer is too
 *           small nothing is written and the answer is BUFFER_TOO_SMALL.
 * Errors:   INVALID_ARGUMENT, BUFFER_TOO_SMALL.
 * Since:    0.1 */
GPUJOIN_API gpujoin_status gpujoin_plan_explain(const gpujoin_plan* plan, char* buffer,
                                                size_t* length, gpujoin_error* error);

/* gpujoin_plan_execute: run the plan.
 *
 * out       on success a new result, which owns its memory.
 * Blocking: until the result is complete. Waits for its stream only.
 * Memory:   grows with the output, within the context's limit; on failure all of it is back in the
 *           pool.
 * Errors:   UNSUPPORTED (MANAGED* where device or platform cannot page), TOO_MANY_ROWS,
 *           SEVERAL_MATCHES (of a single join), ROW_LIMIT, BYTE_LIMIT, BROKEN_PROMISE,
 *           OUT_OF_MEMORY, MEMORY_LIMIT, CANCELLED, CUDA, DEVICE_LOST, FORKED, INTERNAL.
 * Since:    0.1 */
GPUJOIN_API gpujoin_status gpujoin_plan_execute(gpujoin_plan* plan, gpujoin_result** out,
                                                gpujoin_error* error);

/* gpujoin_plan_count: how many rows and bytes the plan would put out, without putting them out: by
 * joins that write nothing, or row numbers where text is summed up by them. The size is that of the
 * data as it is now; limits and promised_rows of the specification do not end it.
 *
 * rows      output rows; may be NULL.
 * bytes     of output columns and row numbers: values, offsets and bytes of text, 4 bytes a row
 *           number, and of columns that may be NULL a bit a row; what dictionaries and views name
 *           stays yours and is not counted. UINT64_MAX: more than can be counted. May be NULL, and
 *           then text need not be summed up.
 * Blocking: until it is counted: about as long as the join without its columns.
 * Memory:   4 bytes an output row for each side with columns of text, and what the join itself
 *           needs; all of it is back in the pool at the end.
 * Errors:   those of gpujoin_plan_execute.
 * Since:    0.2 */
GPUJOIN_API gpujoin_status gpujoin_plan_count(gpujoin_plan* plan, int64_t* rows, uint64_t* bytes,
                                              gpujoin_error* error);

/* gpujoin_plan_cancel: ask the executions of this plan that run now to stop; they answer CANCELLED.
 * Later ones run. Does not wait.
 *
 * Threads:  any, at any time; not from a signal handler.
 * Errors:   INVALID_ARGUMENT, FORKED.
 * Since:    0.2 */
GPUJOIN_API gpujoin_status gpujoin_plan_cancel(gpujoin_plan* plan, gpujoin_error* error);

/* gpujoin_plan_destroy: results of the plan stay valid. Accepts NULL. Any thread. Since 0.1. */
GPUJOIN_API void gpujoin_plan_destroy(gpujoin_plan* plan);

/* What was executed, and what it took. */
typedef struct gpujoin_statistics {
  uint32_t struct_size;
  /* Which executor ran. */
  gpujoin_device device;
  /* The plan in one line. */
  char plan[192];
  /* Why this executor and this plan. */
  char reason[256];
  int64_t left_rows;
  int64_t right_rows;
  int64_t output_rows;
  /* Of the execution, seen by the calling thread. */
  double milliseconds;
  /* Sum over the stages. */
  uint64_t predicted_bytes;
  /* The most the execution held at one time, its result included. */
  uint64_t peak_memory_bytes;
  int32_t stage_count;
  /* Times the match had to stop for more output memory. */
  int32_t output_resumes;
} gpujoin_statistics;
#define GPUJOIN_STATISTICS_INIT \
  { (uint32_t)sizeof(gpujoin_statistics), 0, {0}, {0}, 0, 0, 0, 0, 0, 0, 0, 0 }

typedef struct gpujoin_stage_statistics {
  uint32_t struct_size;
  uint32_t reserved;
  /* "transfer", "transform", "match", "materialize" ... */
  char stage[32];
  char technique[64];
  /* Of the device for CUDA, of the wall clock for the CPU. */
  double milliseconds;
  /* By the traffic functions: memory traffic, read + written; for transfers, bytes on the link. */
  uint64_t predicted_bytes;
} gpujoin_stage_statistics;
#define GPUJOIN_STAGE_STATISTICS_INIT \
  { (uint32_t)sizeof(gpujoin_stage_statistics), 0, {0}, {0}, 0, 0 }

/* gpujoin_result_get_statistics: of the whole execution. Does not wait.
 *
 * statistics  written; its struct_size says how much of it there is.
 * Errors:   INVALID_ARGUMENT, ABI_MISMATCH.
 * Since:    0.1 */
GPUJOIN_API gpujoin_status gpujoin_result_get_statistics(const gpujoin_result* result,
                                                         gpujoin_statistics* statistics,
                                                         gpujoin_error* error);

/* gpujoin_result_get_stage: of stage number 0 to stage_count - 1, in the order they ran. Does not
 * wait.
 *
 * statistics  written; its struct_size says how much of it there is.
 * Errors:   INVALID_ARGUMENT (also: there is no such stage), ABI_MISMATCH.
 * Since:    0.1 */
GPUJOIN_API gpujoin_status gpujoin_result_get_stage(const gpujoin_result* result, int32_t stage,
                                                    gpujoin_stage_statistics* statistics,
                                                    gpujoin_error* error);

/* What is known of a join before there is data, or without reading it: for optimizers, which ask of
 * many joins what they would cost. All since 0.2. */
typedef struct gpujoin_expected_column {
  uint32_t struct_size;
  /* Required; of runs name the type of the values. */
  gpujoin_type type;
  /* 1: there may be NULLs. */
  int32_t is_nullable;
  /* Of FIXED_BINARY: bytes of a value; of DICTIONARY (of text or binary): of an index, 0 = 4. */
  int32_t value_width;
  /* Of text and binary, also in views and dictionaries: bytes of a value on average; 0 = 16. */
  double value_bytes;
} gpujoin_expected_column;
#define GPUJOIN_EXPECTED_COLUMN_INIT \
  { (uint32_t)sizeof(gpujoin_expected_column), 0, 0, 0, 0 }

typedef struct gpujoin_expected_side {
  uint32_t struct_size;
  /* Where the columns lie; 0 = host memory. */
  gpujoin_memory memory;
  int64_t rows;
  /* Of which keys and output columns are positions; each with the same struct_size. */
  const gpujoin_expected_column* columns;
  const int32_t* keys;
  const int32_t* output_columns;
  int32_t column_count;
  int32_t output_column_count;
  /* Different keys; 0 = as many as the side of fewer rows has rows. */
  int64_t distinct_keys;
  /* Rows with a match, where has_matched_rows is 1; else those that the distinct keys say: the side
   * with fewer of them has all of its own on the other side. */
  int64_t matched_rows;
  int32_t has_matched_rows;
  int32_t reserved;
} gpujoin_expected_side;
#define GPUJOIN_EXPECTED_SIDE_INIT \
  { (uint32_t)sizeof(gpujoin_expected_side), 0, 0, NULL, NULL, NULL, 0, 0, 0, 0, 0, 0 }

typedef struct gpujoin_expected_join {
  uint32_t struct_size;
  /* Required. */
  gpujoin_join_kind kind;
  /* Required, both. */
  const gpujoin_expected_side* left;
  const gpujoin_expected_side* right;
  /* As in gpujoin_join_spec. */
  int32_t key_count;
  int32_t output;
  gpujoin_order order;
  /* 1: pairs says how many pairs of rows match; else they follow from the keys. */
  int32_t has_pairs;
  int64_t pairs;
} gpujoin_expected_join;
#define GPUJOIN_EXPECTED_JOIN_INIT \
  { (uint32_t)sizeof(gpujoin_expected_join), 0, NULL, NULL, 0, 0, 0, 0, 0 }

typedef struct gpujoin_estimate {
  uint32_t struct_size;
  /* The executor that is faster where the columns lie; CUDA's result stays on the device. */
  gpujoin_device device;
  int64_t output_rows;
  /* As gpujoin_plan_count has them. */
  uint64_t output_bytes;
  /* Of planning and executing, the columns' copies to the device included. */
  double cpu_milliseconds;
  /* 0, as are the others of CUDA, on a context of the CPU. */
  double cuda_milliseconds;
  /* The result's way to host memory. */
  double cuda_fetch_milliseconds;
  /* Memory traffic, read + written. */
  uint64_t cpu_bytes;
  uint64_t cuda_bytes;
  /* At the peak, the output included, inputs not. */
  uint64_t cpu_memory_bytes;
  uint64_t cuda_memory_bytes;
  /* The plan in one line. */
  char cpu_plan[192];
  char cuda_plan[192];
} gpujoin_estimate;
#define GPUJOIN_ESTIMATE_INIT                                                    \
  {                                                                              \
    (uint32_t)sizeof(gpujoin_estimate), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, {0}, { 0 } \
  }

/* gpujoin_estimate_join: what a join would cost on either executor, from numbers alone. Nothing is
 * read, no relation is needed, and it takes some microseconds. By the rates that the context has,
 * measured (gpujoin_context_calibrate) or built in: with measured ones most of them are within a
 * factor of two. Columns of device memory are CUDA's: of such a join the CPU's figures are those of
 * columns in host memory.
 *
 * join      required; read before the call returns, not kept.
 * estimate  written; its struct_size says how much of it there is.
 * Errors:   INVALID_ARGUMENT, ABI_MISMATCH, UNSUPPORTED (device memory with a CPU context), TYPE,
 *           FORKED.
 * Since:    0.2 */
GPUJOIN_API gpujoin_status gpujoin_estimate_join(gpujoin_context* context,
                                                 const gpujoin_expected_join* join,
                                                 gpujoin_estimate* estimate, gpujoin_error* error);

/* 9. Sequences of joins
 * ---------------------
 * A fact relation with a foreign key for each of several dimension relations, joined with one after
 * the other: step 0 joins the fact relation with the first dimension, step 1 what is left with the
 * second, and so on. A row without a match in a dimension leaves, unless its step is a LEFT join;
 * one with several multiplies, unless it is a LEFT_SEMI join; and a NULL key matches nothing,
 * unless key_flags say so. In every step the fact side is the left one and the dimension the right
 * one.
 *
 * Between the steps row numbers of the fact relation are kept. The next foreign key is fetched by
 * them just before its join, and the output columns of the fact relation at the end, so that none
 * of them is moved by a join that does not need it (Wu et al. 5.2.7). Dimensions choose between two
 * ways:
 */
typedef int32_t gpujoin_materialize;
/* For each dimension the one that moves fewer bytes, by widths and the number of joins to come. */
#define GPUJOIN_MATERIALIZE_AUTOMATIC 0
/* A dimension's output columns are columns of the joins after its own (Wu et al. 5.2.7). */
#define GPUJOIN_MATERIALIZE_AS_THEY_COME 1
/* Its row numbers are, and its output columns are fetched by them after the last join. */
#define GPUJOIN_MATERIALIZE_AT_THE_END 2

typedef struct gpujoin_sequence_step {
  uint32_t struct_size;
  /* Of fact_keys and dimension_keys; 1 in this version. */
  int32_t key_count;
  /* Required; of the same context. */
  const gpujoin_relation* dimension;
  /* Column positions in the fact relation. */
  const int32_t* fact_keys;
  /* Column positions in the dimension. */
  const int32_t* dimension_keys;
  /* Output columns of the dimension, any order, keys allowed, repeats allowed. */
  const int32_t* dimension_columns;
  int32_t dimension_column_count;
  /* INNER (or 0); LEFT: a row without a match stays, the dimension's columns NULL; LEFT_SEMI: rows
   * with a match stay, once each, without dimension columns. Since 0.2, as all that follow. */
  gpujoin_join_kind kind;
  /* GPUJOIN_KEY_*, or-ed. */
  int32_t key_flags;
  int32_t reserved;
} gpujoin_sequence_step;
#define GPUJOIN_SEQUENCE_STEP_INIT \
  { (uint32_t)sizeof(gpujoin_sequence_step), 0, NULL, NULL, NULL, NULL, 0, 0, 0, 0 }

typedef struct gpujoin_sequence_spec {
  uint32_t struct_size;
  /* 1 or more. */
  int32_t step_count;
  /* Each with the same struct_size, in the order of the joins. */
  const gpujoin_sequence_step* steps;
  /* Output columns of the fact relation, any order, keys allowed, repeats allowed. */
  const int32_t* fact_columns;
  int32_t fact_column_count;
  /* GPUJOIN_OUTPUT_COLUMNS, GPUJOIN_OUTPUT_PAIRS or both; 0 = COLUMNS when columns are named, else
   * PAIRS. PAIRS: a row number in the fact relation and one in each dimension. */
  int32_t output;
  gpujoin_materialize materialize;
  int32_t reserved;
} gpujoin_sequence_spec;
#define GPUJOIN_SEQUENCE_SPEC_INIT \
  { (uint32_t)sizeof(gpujoin_sequence_spec), 0, NULL, NULL, 0, 0, 0, 0 }

/* gpujoin_join_sequence: plan and execute all joins of a sequence.
 *
 * fact      the relation with the foreign keys. The same relation may also be a dimension, and a
 *           dimension may come twice.
 * spec      required; read before the call returns, not kept.
 * options   NULL = all automatic. Of each join: what is named there every join does, and what is
 *           left at 0 is planned for each join from the rows that reach it, and weighed with the
 *           joins to come. build_side 0 = the dimension, unless fewer rows reach it than it has.
 * out       on success a new result, which owns its memory. Its columns: those of the fact relation
 *           as listed, then each step's in order. Its row numbers: FETCH_LEFT_INDEX for the fact
 *           relation, FETCH_RIGHT_INDEX with the step for a dimension. In its statistics left_rows
 *           are the fact relation's, right_rows those of all dimensions; `plan` and `reason` name
 *           each step's; stages are called "steps[1].match", those of the fetches
 *           "steps[1].fetch_key", "fact.materialize".
 * Blocking: until the result is complete. Waits for its stream only.
 * Memory:   what a join leaves is let go of as soon as the next one has read it. On CUDA a fact
 *           column in host memory is copied to the device once, when it is first needed, by
 *           explicit copies where that is not the first join.
 * Progress: each join reports its stages as ever, and before it "sequence", its number of all
 *           steps.
 * Errors:   those of gpujoin_plan_create and gpujoin_plan_execute, with the argument named:
 *           "spec.steps[2].fact_keys[0]". TOO_MANY_ROWS also when a step but the last leaves
 *           2^32 - 1 rows or more; ILLEGAL_PLAN also for PROBE_CHUNKS.
 * Since:    0.1 */
GPUJOIN_API gpujoin_status gpujoin_join_sequence(gpujoin_context* context,
                                                 const gpujoin_relation* fact,
                                                 const gpujoin_sequence_spec* spec,
                                                 const gpujoin_plan_options* options,
                                                 gpujoin_result** out, gpujoin_error* error);

/* 10. Builds and probes
 * ---------------------
 * For engines: rows of both sides in batches, from any thread, more than memory holds. Since 0.2.
 *
 *   gpujoin_build_create       a side whose rows are kept: its columns and keys
 *   gpujoin_build_append       its batches, from any thread
 *   gpujoin_build_finish       after it the rows are const, and any number of joins share them
 *   gpujoin_operation_create   one join of any kind with a build
 *   gpujoin_probe_create       one for each thread that has rows of the other side
 *   gpujoin_probe_append       its batches; NOT_READY: take results first
 *   gpujoin_probe_next         results, while rows still come
 *   gpujoin_probe_finish       no batch will come; take results until there are none
 *   gpujoin_operation_close    no probe will come
 *   gpujoin_operation_next     what comes out when all rows have come: rows of the build side by
 *                              their matches, and what did not fit into memory
 *   gpujoin_build_get_filter   what a finished build says of rows that it cannot match: for scans,
 *                              and for probes
 *
 * The results of an operation and its probes together are the rows of gpujoin_join of all rows of
 * both sides, in any order, but that each result of a probe keeps to spec.order where that is the
 * probe side's.
 *
 * Memory: batches are copied when they are appended; they are the caller's again when the call
 * returns. What a build holds in the end, and what its joins need, is to fit into a share of the
 * context's limits (an eighth of the host's for rows that wait, less beside others; for the build a
 * fifth of a device's, or a sixteenth of the host's; for a part of it a sixteenth of either). What
 * does not fit is partitioned by its keys, the partitions that memory has no room for go to
 * options.spill_path of the context, and the operation's joins of partitions run when all rows have
 * come. Without that folder: MEMORY_LIMIT. gpujoin_operation_explain says which way, and why.
 *
 * The least limits of a context with builds and operations: of host memory 1 MiB, or 4096 rows of
 * the wider side (text and binary by their offsets) where that is more; of device memory 24 MiB; of
 * page-locked memory any. Below them the calls that create them answer MEMORY_LIMIT, and how much
 * it takes: for one operation at a time, results destroyed as they come, text of a few KiB a value,
 * and beside rows with a NULL in a key of MARK and NOT IN joins, and with spec.aggregates all build
 * rows of a key. Operations at the same time wait for each other: a call that has no room fails
 * when nobody has given memory back for a second.
 *
 * An error of an operation or a probe leaves the build and other operations as they are. Where a
 * probe failed, or was destroyed before its last result was taken, the rows of its operation are
 * not complete, and gpujoin_operation_next says so.
 */
typedef struct gpujoin_build gpujoin_build;
typedef struct gpujoin_operation gpujoin_operation;
typedef struct gpujoin_probe gpujoin_probe;

typedef struct gpujoin_build_options {
  uint32_t struct_size;
  /* Which executor its joins run on; AUTOMATIC = the context's. */
  gpujoin_device device;
  /* 1: rows have numbers, which are given with each batch; results that have row numbers have
   * these. 0: joins with this build put out none of its row numbers. */
  int32_t has_row_numbers;
  int32_t reserved;
  /* How long a call on the build may take before it answers DEADLINE. 0 = as long as it takes. */
  int64_t timeout_milliseconds;
} gpujoin_build_options;
#define GPUJOIN_BUILD_OPTIONS_INIT \
  { (uint32_t)sizeof(gpujoin_build_options), 0, 0, 0, 0 }

typedef struct gpujoin_build_info {
  uint32_t struct_size;
  int32_t is_finished;
  int64_t rows;
  /* That the rows take, in memory and in files; the latter's share. */
  uint64_t bytes;
  uint64_t spilled_bytes;
  /* Of a finished build: 1: it fits, and rows of probes are joined as they come; 0: operations join
   * it in partitions. */
  int32_t is_whole;
  int32_t partitions;
} gpujoin_build_info;
#define GPUJOIN_BUILD_INFO_INIT \
  { (uint32_t)sizeof(gpujoin_build_info), 0, 0, 0, 0, 0, 0 }

/* gpujoin_build_create: a side of joins whose rows will come in batches.
 *
 * like      a relation that has the columns of the batches, of any number of rows: names and types,
 *           and of FIXED_BINARY, DECIMAL and TIMESTAMP their parameters. Batches may differ from it
 *           in where they lie, in validity and offsets, in dictionaries, and in being plain or
 *           encoded as a dictionary, a view or runs of the same type.
 * keys      key_count positions of key columns; none (0) for joins without keys.
 * key_flags NULL, or GPUJOIN_KEY_* for each key: those of the joins to come.
 * options   NULL = all automatic; read before the call returns, not kept.
 * out       on success a new build; destroy with gpujoin_build_destroy.
 * Errors:   INVALID_ARGUMENT, ABI_MISMATCH, TYPE, UNSUPPORTED, NO_DEVICE, FORKED; MEMORY_LIMIT for
 *           a limit below the least.
 * Since:    0.2 */
GPUJOIN_API gpujoin_status gpujoin_build_create(gpujoin_context* context,
                                                const gpujoin_relation* like, const int32_t* keys,
                                                int32_t key_count, const int32_t* key_flags,
                                                const gpujoin_build_options* options,
                                                gpujoin_build** out, gpujoin_error* error);

/* gpujoin_build_append: copy rows of a batch into the build.
 *
 * batch     columns as those of `like`; of a selected relation the selected rows.
 * first_row the number of the batch's first row, where the build has row numbers; the others'
 *           follow. Of a selection the numbers are those of the relation it was made of.
 * Blocking: while the rows are copied, and written to files where memory is used up.
 * Threads:  any number of calls on one build run side by side.
 * Errors:   INVALID_ARGUMENT (also: the build is finished), TYPE, MEMORY_LIMIT, OUT_OF_MEMORY,
 *           SPILL, CANCELLED, DEADLINE, CUDA, DEVICE_LOST, FORKED. After one of the batch's columns
 *           the build is as before; after any other it is lost, and answers so from then on.
 * Since:    0.2 */
GPUJOIN_API gpujoin_status gpujoin_build_append(gpujoin_build* build, const gpujoin_relation* batch,
                                                int64_t first_row, gpujoin_error* error);

/* gpujoin_build_finish: no further batch will come. Called once, when all appends have returned.
 *
 * Blocking: where the joins run on the GPU, until the rows are there; where they do not fit, until
 *           they are partitioned.
 * Errors:   those of gpujoin_build_append.
 * Since:    0.2 */
GPUJOIN_API gpujoin_status gpujoin_build_finish(gpujoin_build* build, gpujoin_error* error);

/* gpujoin_build_get_info: what it has so far. Does not wait.
 *
 * info      written; its struct_size says how much of it there is.
 * Errors:   INVALID_ARGUMENT, ABI_MISMATCH, FORKED.
 * Since:    0.2 */
GPUJOIN_API gpujoin_status gpujoin_build_get_info(gpujoin_build* build, gpujoin_build_info* info,
                                                  gpujoin_error* error);

/* gpujoin_build_cancel: calls on the build that run now and later ones answer CANCELLED; joins with
 * a finished build go on. Does not wait. Any thread, not from a signal handler.
 *
 * Errors:   INVALID_ARGUMENT, FORKED.
 * Since:    0.2 */
GPUJOIN_API gpujoin_status gpujoin_build_cancel(gpujoin_build* build, gpujoin_error* error);

/* gpujoin_build_destroy: operations on it go on. Accepts NULL. Any thread. Since 0.2. */
GPUJOIN_API void gpujoin_build_destroy(gpujoin_build* build);

/* Filters of builds: which rows of another table none of a build's keys equals. A row that passes
 * may have no match; one that does not pass has none.
 *
 * A filter is const, belongs to no build once it is made, and may be used by any number of threads
 * at a time.
 */
typedef struct gpujoin_key_filter gpujoin_key_filter;

typedef int32_t gpujoin_key_filter_kind;
#define GPUJOIN_KEY_FILTER_AUTOMATIC 0
/* All rows pass. */
#define GPUJOIN_KEY_FILTER_NONE 1
/* Rows whose key is the lowest, the highest, or between them pass. Of integers, decimals, dates,
 * times, timestamps, durations, and truth values, whose values are at most 64 bits as they lie in
 * the build. Of a build without keys (but NULLs that equal nothing) none passes, whatever the
 * type. */
#define GPUJOIN_KEY_FILTER_MIN_MAX 2
/* Of the same types: a bit for each value from the lowest to the highest. Exact. */
#define GPUJOIN_KEY_FILTER_BITMAP 3
/* Of any type, and of several keys together: a Bloom filter of the keys' hashes. */
#define GPUJOIN_KEY_FILTER_BLOOM 4

typedef struct gpujoin_key_filter_options {
  uint32_t struct_size;
  /* AUTOMATIC = MIN_MAX where the values from the lowest to the highest are all there; BITMAP
   * where it takes no more than 32 KiB, or twice what a Bloom filter takes; else BLOOM; NONE where
   * no row would be dropped, or half of those without a match would pass. A MIN_MAX or a BITMAP
   * reads the rows of the build twice, a BLOOM once. */
  gpujoin_key_filter_kind kind;
  /* Of the bits. 0 = a thirty-second of the host's limit, 256 MiB without one. */
  uint64_t largest_bytes;
  /* Of a BLOOM: of rows without a match, what share may pass, above 0 and below 1, as far as
   * largest_bytes allows. 0 = 0.01, for 10.5 bits a key. */
  double false_positive_rate;
} gpujoin_key_filter_options;
#define GPUJOIN_KEY_FILTER_OPTIONS_INIT \
  { (uint32_t)sizeof(gpujoin_key_filter_options), 0, 0, 0 }

/* What a filter is. Pointers are to memory of the filter's, and good until it is destroyed.
 *
 * With `bits` a host tests rows of its own scan without a call:
 *
 *   BITMAP   value v of a key has a bit if v - first_value, both in units of the build's column (a
 *            DECIMAL as its integer of that scale, a TIMESTAMP_MS in milliseconds), is 0 to
 *            last_value - first_value: bit (v - first_value) % 8 of byte (v - first_value) / 8.
 *   BLOOM    the split block Bloom filter of Apache Parquet: blocks of 32 bytes, 8 little-endian
 *            words each. A hash h of 64 bits has block ((h >> 32) * blocks) >> 32, and of its word
 *            i the bit ((uint32_t)h * salt[i]) >> 27, which is one of 32 bits; a row passes where
 *            all 8 are set. The salts are Parquet's: 0x47b6137b, 0x44974d91, 0x8824ad5b,
 *            0xa2b7289d, 0x705495c7, 0x2df1424b, 0x9efc4947, 0x5c6bfb31.
 *
 * h is XXH64 with seed 0, of a value, whatever its type, so that INT32 5, UINT64 5 and DECIMAL 5.00
 * share theirs:
 *
 *   - of an integer of 64 bits, or a decimal that is one, its 8 bytes, lowest first, as an int64;
 *     of dates, times, timestamps and durations the same of their nanoseconds, or 16 bytes where
 *     these take more than 64 bits; of a truth value 0 or 1 as an int64;
 *   - of a float its value as a double, -0.0 as 0.0 and NaN as 0x7ff8000000000000;
 *   - of any other number, m * 10^e where m is no multiple of ten: m as 32 bytes in two's
 *     complement, then e as an int32;
 *   - of text and of binary values their bytes; of 16-byte intervals the lower 8 bytes where the
 *     upper ones are only their sign, else all;
 *   - of several keys: XXH64 of their hashes, 8 bytes each, in the order of the keys; NULL, where
 *     a key's flags say that it equals NULL, has the hash 0x9ae16a3b2f90404f.
 */
typedef struct gpujoin_key_filter_info {
  uint32_t struct_size;
  gpujoin_key_filter_kind kind;
  /* Of the build's keys: how many the filter has, and their types, [key_count]. */
  int32_t key_count;
  /* 1: a row of the build has a NULL in one of them. */
  int32_t has_null;
  const gpujoin_type* key_types;
  /* Rows of the build, and different values of their keys: counted where distinct_is_exact is 1,
   * else estimated (by HyperLogLog, of a standard error of 1.6 %). */
  int64_t rows;
  int64_t distinct;
  int32_t distinct_is_exact;
  /* 1: rows with a NULL pass: the key's flags say that NULL equals NULL, and the build has one. Of
   * several keys 0. */
  int32_t passes_null;
  /* Of rows without a match, the share that is expected to pass. Of MIN_MAX, which nobody can tell
   * of, 1, but 0 where it is exact; of NONE 1; of a BITMAP 0. */
  double false_positive_rate;
  /* The lowest and the highest value, value_bytes[0] and [1] bytes each, as a column of the key's
   * type has them: of BOOL a byte, of text and binary the bytes of the value, which are compared as
   * bytes; NULL of several keys, of other types (INTERVAL_*), and where there is no value. NaN does
   * not count, -0.0 is 0.0. */
  const void* min_value;
  const void* max_value;
  uint64_t value_bytes[2];
  /* Of MIN_MAX and BITMAP, in units of the build's column: what passes lies between. */
  int64_t first_value;
  int64_t last_value;
  /* Of BITMAP and BLOOM: host memory, aligned to 32 bytes. */
  const void* bits;
  uint64_t bytes;
} gpujoin_key_filter_info;
#define GPUJOIN_KEY_FILTER_INFO_INIT                                                             \
  {                                                                                              \
    (uint32_t)sizeof(gpujoin_key_filter_info), 0, 0, 0, NULL, 0, 0, 0, 0, 0, NULL, NULL, {0, 0}, \
        0, 0, NULL, 0                                                                            \
  }

/* gpujoin_build_get_filter: a filter of all rows of a build, wherever they lie.
 *
 * It is made by the first call that asks for such a one, and kept for the next: rows that are in
 * files are read again, a block at a time, those on a device are copied from there, their keys
 * alone. While it is made it takes 3 MiB besides the bits.
 *
 * build     finished; joined in one piece or in partitions.
 * key       a position among the build's keys; -1 = all of them together.
 * options   NULL = all automatic.
 * out       on success a new filter; destroy with gpujoin_key_filter_destroy.
 * Blocking: until it is made. Other calls that ask this build for a filter wait for it.
 * Errors:   INVALID_ARGUMENT (also: the build is not finished, or has no keys), UNSUPPORTED (a kind
 *           that the key's type has not, a BITMAP of more than largest_bytes), MEMORY_LIMIT,
 *           OUT_OF_MEMORY, SPILL, CANCELLED, DEADLINE, CUDA, DEVICE_LOST, FORKED. The build is as
 *           before.
 * Since:    0.2 */
GPUJOIN_API gpujoin_status gpujoin_build_get_filter(gpujoin_build* build, int32_t key,
                                                    const gpujoin_key_filter_options* options,
                                                    gpujoin_key_filter** out, gpujoin_error* error);

/* gpujoin_key_filter_get_info: what it is. Does not wait.
 *
 * info      written; its struct_size says how much of it there is.
 * Errors:   INVALID_ARGUMENT, ABI_MISMATCH, FORKED.
 * Since:    0.2 */
GPUJOIN_API gpujoin_status gpujoin_key_filter_get_info(const gpujoin_key_filter* filter,
                                                       gpujoin_key_filter_info* info,
                                                       gpujoin_error* error);

/* gpujoin_key_filter_test: which rows of a batch pass. Any layout of columns, in any memory; types
 * that compare with the build's keys are tested by value. A row with a NULL does not pass, unless
 * the key's flags say that NULL equals NULL and the build has one.
 *
 * relation  of the filter's context; may be selected: then there is a bit for each row picked.
 * columns   column_count positions, as many as the filter has keys.
 * bits      written: a bit for each row, least significant first, 1 = it passes, (rows + 7) / 8
 *           bytes, those behind the last row 0: what gpujoin_relation_select takes as a BITMAP.
 * memory    of bits; AUTOMATIC = whatever it is.
 * passing   NULL, or written: how many pass.
 * Blocking: until the rows are tested: on the calling thread, where they lie in host memory;
 *           integers of 4 and 8 bytes without NULLs in device memory on the device, others from
 *           there are copied to the host.
 * Errors:   INVALID_ARGUMENT, TYPE, UNSUPPORTED (values of nested types, device memory with a CPU
 *           context), MEMORY_LIMIT, OUT_OF_MEMORY, CANCELLED, CUDA, DEVICE_LOST, FORKED.
 * Since:    0.2 */
GPUJOIN_API gpujoin_status gpujoin_key_filter_test(const gpujoin_key_filter* filter,
                                                   const gpujoin_relation* relation,
                                                   const int32_t* columns, int32_t column_count,
                                                   void* bits, gpujoin_memory memory,
                                                   int64_t* passing, gpujoin_error* error);

/* gpujoin_key_filter_destroy: operations that it was given to go on. Accepts NULL. Any thread.
 * Since 0.2. */
GPUJOIN_API void gpujoin_key_filter_destroy(gpujoin_key_filter* filter);

/* Called once, when gpujoin_operation_next would no longer answer NOT_READY: on the thread that
 * closed the operation or ended its last probe. Must not call the library. */
typedef void (*gpujoin_ready_function)(void* user);

/* A filter of another build, say of a later join, that rows of probes have to pass: those that do
 * not are as if they had not been selected. */
typedef struct gpujoin_applied_filter {
  uint32_t struct_size;
  /* As many as the filter has keys. */
  int32_t column_count;
  /* Required; of the build's context. */
  const gpujoin_key_filter* filter;
  /* Positions among the columns of the probe side. */
  const int32_t* columns;
} gpujoin_applied_filter;
#define GPUJOIN_APPLIED_FILTER_INIT \
  { (uint32_t)sizeof(gpujoin_applied_filter), 0, NULL, NULL }

/* Whether rows of probes are tested by a filter of the operation's own build before they are kept:
 * never where a row without a match comes out or changes what does, and never rows that are read
 * where they lie. */
typedef int32_t gpujoin_own_filter;
/* Where the build fits, on the CPU; where it does not, and host memory has a limit. Once an eighth
 * as many rows came as the build has, a filter is made, unless few were seen without a match, and
 * used while a sample shows that it drops two fifths, or one fifth of what it keeps from files. */
#define GPUJOIN_OWN_FILTER_AUTOMATIC 0
#define GPUJOIN_OWN_FILTER_OFF 1
/* All rows, by a filter that is made with the operation, also where the build fits. */
#define GPUJOIN_OWN_FILTER_ON 2

/* Says which pairs of rows with equal keys match, of a residual that is GPUJOIN_OPERATOR_CALLER.
 *
 * rows      of candidates: 1 to 65536.
 * schema, candidates  a struct array in host memory: left_row, right_row (int64) of the sides whose
 *           rows have numbers, then options.decide_left_columns and decide_right_columns. May be
 *           moved out, as importing does; what is left is released when it has returned.
 * matches   [rows] bytes, all 0: written, 1 = the pair matches.
 * Answers   GPUJOIN_OK, or the status that the call for the result is to end with.
 *
 * Called in gpujoin_probe_next and gpujoin_operation_next on the thread that calls these, at the
 * same time on as many threads as do. Must not call the probe or the operation, but for cancel.
 * Pairs of rows for whose result there was no room are shown again. */
typedef gpujoin_status (*gpujoin_decide_function)(int64_t rows, struct ArrowSchema* schema,
                                                  struct ArrowArray* candidates, uint8_t* matches,
                                                  void* user);

typedef struct gpujoin_operation_options {
  uint32_t struct_size;
  /* 1: rows of probes have numbers, which are given with each batch; results that have row numbers
   * have these. 0: none of the probe side's come out. */
  int32_t has_row_numbers;
  /* NULL = all automatic. build_side says which side of spec the build is; 0 = the right one. */
  const gpujoin_plan_options* plan;
  /* NULL = none. */
  gpujoin_ready_function ready;
  void* ready_user;
  /* filter_count of them, each with the same struct_size; NULL = none. Batches of which some rows
   * are dropped so are not read where they lie. */
  const gpujoin_applied_filter* filters;
  int32_t filter_count;
  /* ON where the kind of join or a promise allows none: UNSUPPORTED. */
  gpujoin_own_filter own_filter;
  /* Required by a residual that is GPUJOIN_OPERATOR_CALLER, NULL with any other. */
  gpujoin_decide_function decide;
  void* decide_user;
  /* Columns of each side that it is shown. */
  const int32_t* decide_left_columns;
  const int32_t* decide_right_columns;
  int32_t decide_left_column_count;
  int32_t decide_right_column_count;
} gpujoin_operation_options;
#define GPUJOIN_OPERATION_OPTIONS_INIT                                                        \
  {                                                                                           \
    (uint32_t)sizeof(gpujoin_operation_options), 0, NULL, NULL, NULL, NULL, 0, 0, NULL, NULL, \
        NULL, NULL, 0, 0                                                                      \
  }

/* gpujoin_operation_create: one join with a finished build.
 *
 * probe_like  a relation that has the columns of the batches of the probe side, as `like` of
 *           gpujoin_build_create.
 * spec      required; copied. Its keys of the build side, and key_flags, are those of the build.
 *           GPUJOIN_OUTPUT_PAIRS needs row numbers of the sides that come out.
 * options   NULL = all automatic; copied.
 * out       on success a new operation; destroy with gpujoin_operation_destroy.
 * Errors:   those of gpujoin_plan_create; UNSUPPORTED for what no operation does: promises that
 *           the build side is sorted, groups and orders that are not the probe side's, an order
 *           where the build does not fit, ASOF joins whose build side is the left one;
 *           BROKEN_PROMISE of a build that is whole; MEMORY_LIMIT for a limit below the least.
 * Since:    0.2 */
GPUJOIN_API gpujoin_status gpujoin_operation_create(gpujoin_build* build,
                                                    const gpujoin_relation* probe_like,
                                                    const gpujoin_join_spec* spec,
                                                    const gpujoin_operation_options* options,
                                                    gpujoin_operation** out, gpujoin_error* error);

/* gpujoin_operation_explain: how it joins and why, as text. Does not wait.
 *
 * buffer, length  as those of gpujoin_plan_explain.
 * Errors:   INVALID_ARGUMENT, BUFFER_TOO_SMALL.
 * Since:    0.2 */
GPUJOIN_API gpujoin_status gpujoin_operation_explain(const gpujoin_operation* operation,
                                                     char* buffer, size_t* length,
                                                     gpujoin_error* error);

/* gpujoin_operation_close: no further probe will come; those that there are may still be at work.
 *
 * Errors:   INVALID_ARGUMENT, FORKED.
 * Since:    0.2 */
GPUJOIN_API gpujoin_status gpujoin_operation_close(gpujoin_operation* operation,
                                                   gpujoin_error* error);

/* What a call for the next result found. */
typedef int32_t gpujoin_state;
/* Nothing yet: of a probe, as rows have to come; of an operation, as its probes still run. */
#define GPUJOIN_STATE_NOT_READY 0
/* A result. */
#define GPUJOIN_STATE_READY 1
/* Nothing, and there never will be. */
#define GPUJOIN_STATE_FINISHED 2

/* gpujoin_operation_next: the next rows of those that come out when all rows have come.
 *
 * state     written.
 * out       a new result where the state is READY, else NULL; destroy with gpujoin_result_destroy.
 * Blocking: until there is a result; of FINISHED until no other call is inside a join.
 * Threads:  any number of calls join partitions side by side, as far as memory allows it.
 * Errors:   those of gpujoin_plan_execute, SPILL, DEADLINE; INVALID_ARGUMENT where a probe failed,
 *           as rows are missing then. What one call's join ended with all later calls answer.
 * Since:    0.2 */
GPUJOIN_API gpujoin_status gpujoin_operation_next(gpujoin_operation* operation,
                                                  gpujoin_state* state, gpujoin_result** out,
                                                  gpujoin_error* error);

/* gpujoin_operation_cancel: calls on the operation and its probes that run now and later ones
 * answer CANCELLED, and what they hold is given back. The build and other operations go on. Does
 * not wait. Any thread, not from a signal handler.
 *
 * Errors:   INVALID_ARGUMENT, FORKED.
 * Since:    0.2 */
GPUJOIN_API gpujoin_status gpujoin_operation_cancel(gpujoin_operation* operation,
                                                    gpujoin_error* error);

typedef struct gpujoin_progress {
  uint32_t struct_size;
  uint32_t reserved;
  /* Of the probe side that came, and of the results. */
  int64_t rows_in;
  int64_t rows_out;
  uint64_t bytes_in;
  uint64_t bytes_out;
  /* Of both sides, in files. */
  uint64_t spilled_bytes;
  /* Pieces that were joined, of those known so far: of probes, and when all rows have come of the
   * partitions. One that is partitioned again adds as many as it has parts. */
  int64_t pieces_done;
  int64_t pieces;
  /* Of rows_in, those that did not pass a filter. */
  int64_t rows_dropped;
} gpujoin_progress;
#define GPUJOIN_PROGRESS_INIT \
  { (uint32_t)sizeof(gpujoin_progress), 0, 0, 0, 0, 0, 0, 0, 0, 0 }

/* gpujoin_operation_get_progress: how far it is. Does not wait.
 *
 * progress  written; its struct_size says how much of it there is.
 * Errors:   INVALID_ARGUMENT, ABI_MISMATCH, FORKED.
 * Since:    0.2 */
GPUJOIN_API gpujoin_status gpujoin_operation_get_progress(gpujoin_operation* operation,
                                                          gpujoin_progress* progress,
                                                          gpujoin_error* error);

/* gpujoin_operation_destroy: its probes and results stay valid. Accepts NULL. Any thread. Since
 * 0.2. */
GPUJOIN_API void gpujoin_operation_destroy(gpujoin_operation* operation);

/* gpujoin_probe_create: rows of the probe side, of one thread or stream. Calls on one probe run one
 * after the other, those of several side by side.
 *
 * out       on success a new probe; destroy with gpujoin_probe_destroy.
 * Errors:   INVALID_ARGUMENT (also: the operation is closed), FORKED.
 * Since:    0.2 */
GPUJOIN_API gpujoin_status gpujoin_probe_create(gpujoin_operation* operation, gpujoin_probe** out,
                                                gpujoin_error* error);

/* gpujoin_probe_append: copy rows of a batch.
 *
 * batch     as that of gpujoin_build_append; columns as those of `probe_like`. By joins on the GPU
 *           one that lies on the device, or has 2^20 rows or more, is read where it lies, unless
 *           the operation has row numbers, or a column is a dictionary, a view or runs: whether or
 *           not the build fits, its columns stay as they are until gpujoin_probe_next no longer
 *           answers READY.
 * first_row as that of gpujoin_build_append, where the operation has row numbers.
 * Answers:  NOT_READY when pieces wait to be joined: nothing was taken; call gpujoin_probe_next,
 *           and this again. It leaves the probe as it is.
 * Blocking: while the rows are copied.
 * Errors:   those of gpujoin_build_append. After one but NOT_READY, or one of the batch's columns,
 *           the probe is lost.
 * Since:    0.2 */
GPUJOIN_API gpujoin_status gpujoin_probe_append(gpujoin_probe* probe, const gpujoin_relation* batch,
                                                int64_t first_row, gpujoin_error* error);

/* gpujoin_probe_flush: what was appended is joined by the next calls of gpujoin_probe_next, however
 * little it is. Without it a piece is some MiB, where the build fits.
 *
 * Errors:   those of gpujoin_probe_append.
 * Since:    0.2 */
GPUJOIN_API gpujoin_status gpujoin_probe_flush(gpujoin_probe* probe, gpujoin_error* error);

/* gpujoin_probe_next: join what waits until there is a result.
 *
 * state     written. NOT_READY: append more, or finish.
 * out       a new result where the state is READY, else NULL; destroy with gpujoin_result_destroy.
 * Blocking: until there is a result, or nothing waits.
 * Errors:   those of gpujoin_plan_execute, SPILL, DEADLINE. After one the probe is lost.
 * Since:    0.2 */
GPUJOIN_API gpujoin_status gpujoin_probe_next(gpujoin_probe* probe, gpujoin_state* state,
                                              gpujoin_result** out, gpujoin_error* error);

/* gpujoin_probe_finish: no further batch will come. Results are taken until FINISHED.
 *
 * Errors:   those of gpujoin_probe_append.
 * Since:    0.2 */
GPUJOIN_API gpujoin_status gpujoin_probe_finish(gpujoin_probe* probe, gpujoin_error* error);

/* gpujoin_probe_destroy: its results stay valid. Accepts NULL. Any thread. Since 0.2. */
GPUJOIN_API void gpujoin_probe_destroy(gpujoin_probe* probe);

/* 11. Experimental techniques
 * ---------------------------
 * Techniques of the papers that the planner never chooses by itself: another one is faster for
 * every workload that was measured. They are there to be compared, and to repeat the papers'
 * figures. Define GPUJOIN_EXPERIMENTAL before this header to name them in gpujoin_plan_options. A
 * library may be built without them: naming one then answers GPUJOIN_ERROR_ILLEGAL_PLAN. Their
 * numbers are not given to anything else.
 */
#ifdef GPUJOIN_EXPERIMENTAL

/* gpujoin_transfer: managed memory, migrated by page faults (UMJ, Paul et al. IV.A.4). */
#define GPUJOIN_TRANSFER_MANAGED 4
/* gpujoin_transfer: managed memory, prefetched (UMJ-PF, Paul et al. V.C.3). */
#define GPUJOIN_TRANSFER_MANAGED_PREFETCH 5
/* gpujoin_transfer: kernels read host memory over the link. */
#define GPUJOIN_TRANSFER_ZERO_COPY 6

/* gpujoin_transform: partition with a histogram for each thread (PTH, Paul et al. IV.A.2). */
#define GPUJOIN_TRANSFORM_HISTOGRAM_THREAD 4
/* gpujoin_transform: partition with a histogram for each warp (WSH, Paul et al. IV.A.2). */
#define GPUJOIN_TRANSFORM_HISTOGRAM_WARP 5
/* gpujoin_transform: partition with a histogram for each block, by shared atomics (BSH, Rui & Tu
 * 3.2.1). */
#define GPUJOIN_TRANSFORM_HISTOGRAM_BLOCK 6
/* gpujoin_transform: merge sort by merge path (Rui & Tu 3.3.1). */
#define GPUJOIN_TRANSFORM_MERGE_SORT 8

/* gpujoin_skew: partitions get blocks in proportion to their size (Paul et al. IV.B.1). */
#define GPUJOIN_SKEW_REDISTRIBUTED_BLOCKS 3
/* gpujoin_skew: the block that meets a heavy partition launches a kernel for it (Rui & Tu
 * 3.2.3). */
#define GPUJOIN_SKEW_CHILD_KERNELS 4

/* gpujoin_match: a pair of partitions at a time, every row with every row (Paul et al. IV.A.2). */
#define GPUJOIN_MATCH_NESTED_LOOP 4
/* gpujoin_match: lower and upper bounds by a merge path each (Rui & Tu 3.3.2). */
#define GPUJOIN_MATCH_MERGE_TWO_BOUNDS 5
/* gpujoin_match: lower bounds only, where a check finds build keys unique; else as above (Wu et
 * al. 3.1). */
#define GPUJOIN_MATCH_MERGE_ONE_BOUND 6

/* gpujoin_output: each thread fills thread pages of page_pairs pairs (Rui & Tu 3.2.2). */
#define GPUJOIN_OUTPUT_THREAD_PAGES 3
/* gpujoin_output: count, sum, and match again to write (Rui & Tu 3.2.2, Lin & Liao 3.1.2). */
#define GPUJOIN_OUTPUT_TWO_PASSES 5
/* gpujoin_output: groups of partitions whose estimated output fits; overflow is found and repaired
 * (Paul et al. IV.B.2). */
#define GPUJOIN_OUTPUT_ESTIMATED_GROUPS 6

#endif /* GPUJOIN_EXPERIMENTAL */

#ifdef __cplusplus
}
#endif
#endif /* GPUJOIN_H */
