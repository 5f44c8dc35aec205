/* gpujoin.h: relational joins on an NVIDIA GPU, or on the CPU of a machine without one.
 *
 * SPDX-License-Identifier: Apache-2.0
 *
 * This header is the manual and the whole of the public interface: what does not appear here is not part of it.
 * It is C99, includes no CUDA header, and may be read by an FFI generator as it stands.
 *
 * 1. Introduction
 * ---------------
 * The short way:
 *
 *   gpujoin_context_create     once: choose a device, set limits
 *   gpujoin_relation_create    once a table: describe columns that stay yours (or gpujoin_relation_import: Arrow)
 *   gpujoin_join               plan and execute in one call
 *   gpujoin_result_fetch       index pairs and columns into your buffers, whole or page by page
 *                              (or gpujoin_result_export: Arrow)
 *   gpujoin_*_destroy          each handle, in any order
 *
 * The longer way replaces gpujoin_join by gpujoin_plan_create, gpujoin_plan_explain and gpujoin_plan_execute, and may name
 * each technique. gpujoin_join_sequence joins one relation with several others, one after the other, in one call.
 *
 * Conventions, true of every function unless it says otherwise:
 *
 * - Status: functions return a gpujoin_status; 0 is success, any other value, known to you or not, is failure. On failure
 *   nothing has happened: outputs are NULL or unchanged, and inputs still belong to the caller.
 * - Errors: the last parameter is a gpujoin_error of the caller's, or NULL. Its text names the argument; text is not ABI.
 * - Handles: pointers to incomplete types. A destroy function accepts NULL. A handle keeps alive what it needs, so handles
 *   may be destroyed in any order; memory that you registered (columns) must outlive the relation *and* every plan made from it.
 * - Structs open with struct_size: set it with the *_INIT macro, which zeroes the rest. Zero means "the library decides" in
 *   every field that is a choice. Structs grow at the end only. A struct smaller than its first version is refused; a larger
 *   one is accepted when the part unknown to this library is all zero, so that an old library never ignores a wish.
 * - Threads: one call at a time for each context and the objects made from it, contexts are independent;
 *   gpujoin_context_cancel and all destroy functions may be called from any thread at any time.
 * - Blocking: gpujoin_context_calibrate, gpujoin_plan_create, gpujoin_plan_execute, gpujoin_join, gpujoin_join_sequence,
 *   gpujoin_result_fetch and gpujoin_result_export block until the context's stream has finished their work. They do not
 *   synchronize the device, but where cached pinned or managed memory is given back to CUDA to make room. Other calls do not wait for the GPU.
 * - The calling thread's current CUDA device is the same after a call as before it.
 * - Nothing is printed, thrown across this boundary or aborted; the library never exits the process.
 * - fork: a context made before fork() answers GPUJOIN_ERROR_FORKED in the child.
 * - NULL: a NULL in any key column matches nothing, not even NULL (SQL). NULL payloads are kept.
 * - Order: the order of the output rows is not specified.
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
 * While the major number is 0, a new minor number may change the ABI; when it does, the SONAME changes with it.
 */
#define GPUJOIN_VERSION_MAJOR 0
#define GPUJOIN_VERSION_MINOR 1
#define GPUJOIN_VERSION_PATCH 0
#define GPUJOIN_VERSION_NUMBER \
  (GPUJOIN_VERSION_MAJOR * 10000 + GPUJOIN_VERSION_MINOR * 100 + GPUJOIN_VERSION_PATCH)

/* gpujoin_version_number: the version of the loaded library, as GPUJOIN_VERSION_NUMBER is of this header. Since 0.1. */
GPUJOIN_API int32_t gpujoin_version_number(void);

/* gpujoin_version_string: for example "0.1.0". Static storage. Since 0.1. */
GPUJOIN_API const char* gpujoin_version_string(void);

/* 3. Status and error
 * ------------------- */
typedef int32_t gpujoin_status;
#define GPUJOIN_OK 0
#define GPUJOIN_ERROR_INVALID_ARGUMENT 1 /* the message names the argument */
#define GPUJOIN_ERROR_ABI_MISMATCH 2     /* struct_size is not one that this library can read */
#define GPUJOIN_ERROR_UNSUPPORTED 3      /* well-formed, but this version cannot do it */
#define GPUJOIN_ERROR_TYPE 4 /* a column's type cannot be used here, or two key types differ */
#define GPUJOIN_ERROR_ILLEGAL_PLAN \
  5 /* the techniques named do not fit together; the message says why */
#define GPUJOIN_ERROR_OUT_OF_MEMORY \
  6 /* the machine, the device or the caller's allocator had none left */
#define GPUJOIN_ERROR_MEMORY_LIMIT 7 /* the context's limit would be passed */
#define GPUJOIN_ERROR_TOO_MANY_ROWS \
  8 /* an input relation has 2^32 - 1 rows or more, or more than the technique named can place */
#define GPUJOIN_ERROR_BUFFER_TOO_SMALL 9 /* a caller's buffer is too small; nothing was written */
#define GPUJOIN_ERROR_CANCELLED \
  10 /* gpujoin_context_cancel, or the progress callback, asked for it */
#define GPUJOIN_ERROR_NO_DEVICE 11 /* CUDA was asked for and cannot be used; the message says why */
#define GPUJOIN_ERROR_CUDA 12      /* a CUDA call failed; the context stays usable */
#define GPUJOIN_ERROR_DEVICE_LOST \
  13 /* a sticky CUDA error: this process cannot use the device any more */
#define GPUJOIN_ERROR_FORKED 14   /* the context was made in the parent process */
#define GPUJOIN_ERROR_INTERNAL 15 /* a defect of this library */

/* The caller's error record: may be uninitialized before the call, is written only on failure. Frozen for this ABI. */
typedef struct gpujoin_error {
  char message[512];    /* text, always terminated */
  int32_t status;       /* the status returned */
  int32_t cuda_code;    /* the cudaError_t or CUresult behind it, or 0 */
  int32_t is_sticky;    /* 1 when the device is lost for this process */
  int32_t reserved[13]; /* zero */
} gpujoin_error;

/* gpujoin_status_name: for example "GPUJOIN_ERROR_CANCELLED"; "GPUJOIN_ERROR_UNKNOWN" for a code unknown to this library.
 * Static storage. Since 0.1. */
GPUJOIN_API const char* gpujoin_status_name(gpujoin_status status);

/* 4. Context
 * ----------
 * A device, a stream, a memory pool with a limit, and callbacks.
 */
typedef struct gpujoin_context gpujoin_context;

typedef int32_t gpujoin_device; /* which executor a context or a plan uses */
#define GPUJOIN_DEVICE_AUTOMATIC \
  0 /* CUDA when it can be used, else the CPU; gpujoin_context_get_info says which and why */
#define GPUJOIN_DEVICE_CUDA 1
#define GPUJOIN_DEVICE_CPU 2

typedef int32_t gpujoin_memory; /* where a pointer points */
#define GPUJOIN_MEMORY_AUTOMATIC \
  0 /* ask CUDA about the pointer; host memory on a machine without CUDA */
#define GPUJOIN_MEMORY_HOST 1
#define GPUJOIN_MEMORY_DEVICE 2
#define GPUJOIN_MEMORY_PINNED 3 /* page-locked host memory */

/* Memory callbacks: called for the pool's growth, not for each buffer. All three pointers are copied.
 * allocate: at least `bytes`, aligned to `alignment` (a power of two, at most 256), in `memory` (HOST, DEVICE or PINNED);
 *   NULL when there is none, which the join answers with GPUJOIN_ERROR_OUT_OF_MEMORY. Device memory is used on `cuda_stream`.
 * deallocate: gets back what allocate gave; work that uses it may still be queued on `cuda_stream`.
 * Called on the thread that calls the library, on one of its threads while that call lasts (host memory of results), or on the
 * thread that releases an exported Arrow array; one call at a time for each context and kind of executor. */
typedef struct gpujoin_allocator {
  uint32_t struct_size;
  uint32_t reserved; /* zero */
  void* (*allocate)(uint64_t bytes, uint64_t alignment, gpujoin_memory memory, void* cuda_stream,
                    void* user);
  void (*deallocate)(void* pointer, uint64_t bytes, gpujoin_memory memory, void* cuda_stream,
                     void* user);
  void* user;
} gpujoin_allocator;
#define GPUJOIN_ALLOCATOR_INIT \
  { (uint32_t)sizeof(gpujoin_allocator), 0, NULL, NULL, NULL }

#define GPUJOIN_LOG_DEBUG 1
#define GPUJOIN_LOG_INFO 2
#define GPUJOIN_LOG_WARNING 3
/* Called on the thread that calls the library, with one line of text without a newline. Must not call the library. */
typedef void (*gpujoin_log_function)(int32_t level, const char* message, void* user);

/* Called between the steps of an execution on the thread that runs it: `stage` is the stage's name, `done` of `total` steps are
 * over. A non-zero answer cancels the execution. Must not call the library. */
typedef int32_t (*gpujoin_progress_function)(const char* stage, int64_t done, int64_t total,
                                             void* user);

typedef struct gpujoin_context_options {
  uint32_t struct_size;
  gpujoin_device device;  /* GPUJOIN_DEVICE_*. since 0.1 */
  int32_t cuda_device_id; /* CUDA ordinal; 0 is the first device. since 0.1 */
  int32_t
      cpu_threads; /* of the CPU executor; 0 = all that this process may run on, and never more. since 0.1 */
  uint64_t
      memory_limit_bytes; /* of the memory joins run in: device memory for CUDA, host memory for the CPU,
                                       inputs that need no copy not counted; 0 = no limit. since 0.1 */
  void*
      cuda_stream; /* a cudaStream_t of yours, which must outlive the context and what was made from it;
                                       NULL = the context makes its own. since 0.1 */
  const gpujoin_allocator* allocator; /* NULL = the library's own pools. since 0.1 */
  gpujoin_log_function log;           /* NULL = silent. since 0.1 */
  void* log_user;
  gpujoin_progress_function progress; /* NULL = none. since 0.1 */
  void* progress_user;
  const char*
      calibration_path; /* a file that gpujoin_context_calibrate wrote on this machine, read once;
                                       NULL = the figures built in for the architecture. since 0.1 */
} gpujoin_context_options;
#define GPUJOIN_CONTEXT_OPTIONS_INIT                                                           \
  {                                                                                            \
    (uint32_t)sizeof(gpujoin_context_options), 0, 0, 0, 0, NULL, NULL, NULL, NULL, NULL, NULL, \
        NULL                                                                                   \
  }

typedef struct gpujoin_context_info {
  uint32_t struct_size;
  gpujoin_device device;  /* GPUJOIN_DEVICE_CUDA or GPUJOIN_DEVICE_CPU */
  char device_name[128];  /* for example "NVIDIA H200" */
  char reason[256];       /* why this device was taken: for AUTOMATIC, why CUDA could not be used */
  int32_t cuda_device_id; /* -1 for the CPU */
  int32_t cpu_threads;
  uint64_t memory_limit_bytes; /* 0 = none */
  uint64_t memory_used_bytes;  /* held now by the context's pool, cached blocks included */
  uint64_t
      memory_peak_bytes; /* the most in use by joins and results at one time since the context was made */
} gpujoin_context_info;
#define GPUJOIN_CONTEXT_INFO_INIT \
  { (uint32_t)sizeof(gpujoin_context_info), 0, {0}, {0}, 0, 0, 0, 0, 0 }

/* gpujoin_context_create: open a device.
 *
 * options  NULL = all automatic.
 * out      on success a new context; destroy with gpujoin_context_destroy.
 * Blocking: initializes CUDA in this process when the device is CUDA or automatic (hundreds of milliseconds, once).
 * Errors:   INVALID_ARGUMENT (also a calibration file that cannot be read, is not complete, or was written for another device,
 *           number of CPU threads or version of this library: it is never used in part), ABI_MISMATCH, NO_DEVICE (device CUDA
 *           only), OUT_OF_MEMORY, CUDA, DEVICE_LOST.
 * Since:    0.1 */
GPUJOIN_API gpujoin_status gpujoin_context_create(const gpujoin_context_options* options,
                                                  gpujoin_context** out, gpujoin_error* error);

/* gpujoin_context_get_info: what the context runs on, and its memory. Errors: INVALID_ARGUMENT, ABI_MISMATCH. Since 0.1. */
GPUJOIN_API gpujoin_status gpujoin_context_get_info(gpujoin_context* context,
                                                    gpujoin_context_info* info,
                                                    gpujoin_error* error);

/* gpujoin_context_cancel: ask the planning or execution that runs now to stop, or else the next one to begin; it answers
 * GPUJOIN_ERROR_CANCELLED, and the request is then spent. Any thread, any time; not from a signal handler. Since 0.1. */
GPUJOIN_API gpujoin_status gpujoin_context_cancel(gpujoin_context* context, gpujoin_error* error);

/* gpujoin_context_calibrate: measure what the planner has to know of this machine, use it in this context from now on, and keep
 * it in a file for options.calibration_path of later ones. Without it the planner works with figures built in for each
 * architecture, most of them scaled from one that was measured: good enough to rank plans, not to promise times.
 *
 * Measured are copies in the memory that joins run in, random reads and inserts there and in the cache, launches, for CUDA
 * copies from pageable host memory; and the passes and matches of joins of 2^25 (CUDA) or 2^22 (CPU) rows a side. Explain says
 * whose figures it predicts with. Plans for the CPU in a CUDA context keep the built-in ones.
 *
 * path     where the file goes: text, one "name value" a line, rates in bytes, reads, inserts, rows or pairs a second,
 *          launch_seconds in seconds. A file that is there is replaced by the complete new one, or not at all.
 * Blocking: until all is measured, seconds. Beside other work on the device or the cores it finds too little. May be cancelled;
 *           reports progress as "calibrate", and the stages of its joins as theirs.
 * Memory:   up to 3 GiB of device memory (CUDA) or 1 GiB (CPU) within the context's limit, given back to the pool.
 * Errors:   INVALID_ARGUMENT (the file cannot be written), OUT_OF_MEMORY, MEMORY_LIMIT, CANCELLED, CUDA, DEVICE_LOST, FORKED.
 * Since:    0.1 */
GPUJOIN_API gpujoin_status gpujoin_context_calibrate(gpujoin_context* context, const char* path,
                                                     gpujoin_error* error);

/* gpujoin_context_trim: give cached memory that nothing uses back to the system. Since 0.1. */
GPUJOIN_API gpujoin_status gpujoin_context_trim(gpujoin_context* context, gpujoin_error* error);

/* gpujoin_context_destroy: objects made from the context stay valid and keep what they need of it. Accepts NULL. Since 0.1. */
GPUJOIN_API void gpujoin_context_destroy(gpujoin_context* context);

/* 5. Relations
 * ------------
 * A relation describes columns of equal length. It copies no data: the memory must stay valid and unchanged until the
 * relation and every plan made from it are destroyed. Results own their memory and need neither.
 *
 * Types are fixed-width. Key columns are 4 or 8 bytes: INT32, UINT32, INT64, UINT64, DATE32, DATE64, TIMESTAMP_*; the two sides
 * of a join must have the same types in the same order. Payloads are any type below.
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
#define GPUJOIN_TYPE_DATE32 11       /* days since 1970-01-01, int32 */
#define GPUJOIN_TYPE_DATE64 12       /* milliseconds since 1970-01-01, int64 */
#define GPUJOIN_TYPE_TIMESTAMP_S 13  /* int64 */
#define GPUJOIN_TYPE_TIMESTAMP_MS 14 /* int64 */
#define GPUJOIN_TYPE_TIMESTAMP_US 15 /* int64 */
#define GPUJOIN_TYPE_TIMESTAMP_NS 16 /* int64 */
#define GPUJOIN_TYPE_BYTES16 17      /* 16 opaque bytes: a decimal128, a UUID */
#define GPUJOIN_TYPE_FLOAT16 18
#define GPUJOIN_TYPE_TIME32 19   /* int32; the unit is the Arrow format's */
#define GPUJOIN_TYPE_TIME64 20   /* int64; likewise */
#define GPUJOIN_TYPE_DURATION 21 /* int64; likewise */

typedef struct gpujoin_column {
  uint32_t struct_size;
  gpujoin_type type;
  const void*
      data; /* rows values, aligned to their width (16-byte values: to 8); may be NULL when rows is 0 */
  const uint8_t* validity; /* one bit a row, least significant first, 1 = valid; NULL = no NULLs */
  int64_t validity_bit_offset; /* of the first row's bit */
  gpujoin_memory memory;       /* of data and validity. since 0.1 */
  int32_t cuda_device_id;      /* of device memory; must be the context's. since 0.1 */
  const char* name; /* copied; NULL = "". Used in explain and in exported schemas. since 0.1 */
} gpujoin_column;
#define GPUJOIN_COLUMN_INIT \
  { (uint32_t)sizeof(gpujoin_column), 0, NULL, NULL, 0, 0, 0, NULL }

/* gpujoin_relation_create: describe a table by plain columns.
 *
 * rows     of every column, 0 or more.
 * columns  column_count descriptors, each with the same struct_size; copied.
 * Errors:  INVALID_ARGUMENT, ABI_MISMATCH, TYPE, TOO_MANY_ROWS, UNSUPPORTED (device memory with a CPU context).
 * Since:   0.1 */
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
 *
 * schema, array  one struct array (a record batch), sliced or not. Moved in on success: the relation releases both when it and
 *                the plans made from it are gone, and their release members read NULL on return. On failure both stay yours.
 *                Columns of types not listed above are allowed and may not be named by a join.
 * Errors:  INVALID_ARGUMENT (also: nulls in the struct itself), TOO_MANY_ROWS, OUT_OF_MEMORY.
 * Since:   0.1 */
GPUJOIN_API gpujoin_status gpujoin_relation_import(gpujoin_context* context,
                                                   struct ArrowSchema* schema,
                                                   struct ArrowArray* array, gpujoin_relation** out,
                                                   gpujoin_error* error);

/* gpujoin_relation_import_device: the same from the Arrow C device data interface: CPU, CUDA, CUDA_HOST or CUDA_MANAGED
 * memory. The context's stream waits for sync_event (a cudaEvent_t*); the call does not. Both moved in on success.
 * Errors: as above, UNSUPPORTED for another device type, or for CUDA memory with a CPU context or of another device.
 * Since:  0.1 */
GPUJOIN_API gpujoin_status gpujoin_relation_import_device(gpujoin_context* context,
                                                          struct ArrowSchema* schema,
                                                          struct ArrowDeviceArray* array,
                                                          gpujoin_relation** out,
                                                          gpujoin_error* error);

/* gpujoin_relation_get_size: rows and columns; either pointer may be NULL. Since 0.1. */
GPUJOIN_API gpujoin_status gpujoin_relation_get_size(const gpujoin_relation* relation,
                                                     int64_t* rows, int32_t* columns,
                                                     gpujoin_error* error);

/* gpujoin_relation_destroy: accepts NULL. Since 0.1. */
GPUJOIN_API void gpujoin_relation_destroy(gpujoin_relation* relation);

/* 6. What to join
 * --------------- */
typedef int32_t gpujoin_join_kind;
#define GPUJOIN_JOIN_INNER 1

#define GPUJOIN_OUTPUT_COLUMNS 1 /* materialize the output columns */
#define GPUJOIN_OUTPUT_PAIRS 2   /* row numbers: (left row, right row) of each output row */

typedef struct gpujoin_join_spec {
  uint32_t struct_size;
  gpujoin_join_kind kind; /* required. since 0.1 */
  int32_t
      key_count; /* of left_keys and right_keys: 1 to 5 columns, all of which must be equal. since 0.1 */
  int32_t
      output; /* GPUJOIN_OUTPUT_* or-ed; 0 = COLUMNS when columns are named, else PAIRS. since 0.1 */
  const int32_t* left_keys; /* column positions in the left relation */
  const int32_t*
      right_keys; /* as many in the right relation; types are compared pairwise and must be the same */
  const int32_t*
      left_columns; /* output columns of the left relation, any order, keys allowed, repeats allowed */
  const int32_t*
      right_columns; /* output columns of the right relation; they follow the left ones in the result */
  int32_t left_column_count;
  int32_t right_column_count;
} gpujoin_join_spec;
#define GPUJOIN_JOIN_SPEC_INIT \
  { (uint32_t)sizeof(gpujoin_join_spec), 0, 0, 0, NULL, NULL, NULL, NULL, 0, 0 }

/* 7. How to join it: plans
 * ------------------------
 * A plan names one technique for each stage. Whatever is left at 0 the planner chooses, by a cost that it computes from row
 * counts, column widths, and a sampled match ratio and skew; gpujoin_plan_explain shows the candidates and their cost.
 * docs/papers.md says which paper describes which technique.
 */
typedef struct gpujoin_plan gpujoin_plan;

typedef int32_t gpujoin_algorithm; /* a name for a whole combination */
#define GPUJOIN_ALGORITHM_AUTOMATIC 0
#define GPUJOIN_ALGORITHM_NOP 1 /* non-partitioned hash join: global table, gather untransformed */
#define GPUJOIN_ALGORITHM_PHJ_OM \
  2 /* stable one-sweep partitions, co-partitions, gather transformed (Wu et al.) */
#define GPUJOIN_ALGORITHM_PHJ_GFUR 3  /* the same with gather untransformed */
#define GPUJOIN_ALGORITHM_SMJ_OM 4    /* radix sort, merge path, gather transformed (Wu et al.) */
#define GPUJOIN_ALGORITHM_SMJ_UM 5    /* the same with gather untransformed */
#define GPUJOIN_ALGORITHM_CPU_RADIX 6 /* the CPU executor's radix-partitioned hash join */
#define GPUJOIN_ALGORITHM_PHJ_UM \
  7 /* bucket chains, co-partitions, gather untransformed (Sioulas et al., in Wu et al.). since 0.1 */
#define GPUJOIN_ALGORITHM_ROW_MULTISET \
  8 /* a multiset of row numbers, hashed in build and probe (Lin & Liao). since 0.1 */
#define GPUJOIN_ALGORITHM_PHJ_CARRIED \
  9 /* unordered partitions of whole rows, co-partitions, output written by the match. since 0.1 */
#define GPUJOIN_ALGORITHM_NOP_CARRIED 10 /* global table, output written by the probe. since 0.1 */
#define GPUJOIN_ALGORITHM_DIRECT_CARRIED \
  11 /* dense keys as addresses, output written by the probe. since 0.1 */

/* How columns in host memory reach the device; columns in device memory are read where they are. */
typedef int32_t gpujoin_transfer;
#define GPUJOIN_TRANSFER_NONE 1            /* nothing to transfer: all columns are on the device */
#define GPUJOIN_TRANSFER_EXPLICIT_COPIES 2 /* each column copied before the join begins */
#define GPUJOIN_TRANSFER_OVERLAPPED_COPIES \
  3 /* copies on a stream of their own, under the transform of what has arrived */
#define GPUJOIN_TRANSFER_MANAGED 4          /* managed memory, migrated by page faults (UMJ) */
#define GPUJOIN_TRANSFER_MANAGED_PREFETCH 5 /* managed memory, prefetched (UMJ-PF) */
#define GPUJOIN_TRANSFER_ZERO_COPY 6        /* kernels read host memory over the link */
#define GPUJOIN_TRANSFER_PROBE_CHUNKS \
  7 /* the build side kept on the device, the probe side in chunks, results back to host memory */

typedef int32_t gpujoin_transform;
#define GPUJOIN_TRANSFORM_NONE 1           /* keys stay where they are */
#define GPUJOIN_TRANSFORM_RADIX_ONESWEEP 2 /* stable radix partition */
#define GPUJOIN_TRANSFORM_RADIX_SORT 3     /* full sort of the varying key bits */
#define GPUJOIN_TRANSFORM_HISTOGRAM_THREAD \
  4 /* partition with a histogram for each thread (PTH). since 0.1 */
#define GPUJOIN_TRANSFORM_HISTOGRAM_WARP \
  5 /* partition with a histogram for each warp, by shuffles (WSH). since 0.1 */
#define GPUJOIN_TRANSFORM_HISTOGRAM_BLOCK \
  6 /* partition with a histogram for each block, by shared atomics (BSH). since 0.1 */
#define GPUJOIN_TRANSFORM_BUCKET_CHAINS \
  7 /* partitions as chains of buckets, without a histogram (PRBC). since 0.1 */
#define GPUJOIN_TRANSFORM_MERGE_SORT 8 /* merge sort by merge path. since 0.1 */
#define GPUJOIN_TRANSFORM_RADIX_UNORDERED \
  9 /* radix partition of all columns with one rank, rows of a partition in any order. since 0.1 */

/* How partitions of unequal size are spread over thread blocks. Of matches that join partitions. */
typedef int32_t gpujoin_skew;
#define GPUJOIN_SKEW_NONE 1       /* one block joins one partition, whatever its size */
#define GPUJOIN_SKEW_WORK_UNITS 2 /* heavy partitions are cut into units of bounded size */
#define GPUJOIN_SKEW_REDISTRIBUTED_BLOCKS \
  3 /* partitions get blocks in proportion to their size (Paul et al.) */
#define GPUJOIN_SKEW_CHILD_KERNELS \
  4 /* the block that meets a heavy partition launches a kernel for it (Rui & Tu) */

typedef int32_t gpujoin_match;
#define GPUJOIN_MATCH_GLOBAL_TABLE 1 /* one hash table in device memory */
#define GPUJOIN_MATCH_CO_PARTITIONS \
  2 /* hash tables in shared memory, a pair of partitions at a time */
#define GPUJOIN_MATCH_MERGE_PATH 3 /* lower bounds by merge path, upper bounds by a local search */
#define GPUJOIN_MATCH_NESTED_LOOP \
  4 /* a pair of partitions at a time, every row with every row. since 0.1 */
#define GPUJOIN_MATCH_MERGE_TWO_BOUNDS \
  5 /* lower and upper bounds by a merge path each. since 0.1 */
#define GPUJOIN_MATCH_MERGE_ONE_BOUND \
  6 /* lower bounds only, where a check finds build keys unique; else as above. since 0.1 */
#define GPUJOIN_MATCH_ROW_MULTISET \
  7 /* a multiset of hash and row number; keys of 1 to 5 columns, verified. since 0.1 */
#define GPUJOIN_MATCH_DIRECT_TABLE \
  8 /* unique build keys from a small range are addresses of their rows; others are hashed. since 0.1 */

/* How the match finds room for its pairs. */
typedef int32_t gpujoin_output;
#define GPUJOIN_OUTPUT_GROWN 1        /* blocks reserve exactly what they write */
#define GPUJOIN_OUTPUT_COUNTED 2      /* of merges, which know their counts before they write */
#define GPUJOIN_OUTPUT_THREAD_PAGES 3 /* each thread fills pages of page_pairs pairs. since 0.1 */
#define GPUJOIN_OUTPUT_BLOCK_CHUNKS 4 /* each block fills chunks of page_pairs pairs. since 0.1 */
#define GPUJOIN_OUTPUT_TWO_PASSES 5   /* count, sum, and match again to write. since 0.1 */
#define GPUJOIN_OUTPUT_ESTIMATED_GROUPS \
  6 /* groups of partitions whose estimated output fits; overflow is found and repaired. since 0.1 */

typedef int32_t gpujoin_gather;
#define GPUJOIN_GATHER_UNTRANSFORMED \
  1 /* payloads fetched from the input columns by row number (GFUR) */
#define GPUJOIN_GATHER_TRANSFORMED \
  2 /* payloads transformed with their keys, fetched by position (GFTR) */
#define GPUJOIN_GATHER_CARRIED \
  3 /* payloads transformed with their keys, or where they are; output columns written by the match. since 0.1 */
#define GPUJOIN_GATHER_CARRIED_ROWS \
  4 /* row numbers transformed with their keys, of RADIX_UNORDERED and CO_PARTITIONS; the match writes them, and payloads are fetched by them, but for a lone one of 4 bytes, which travels itself. since 0.1 */

/* Which rows are left out before they are moved, or before a table of them is made. */
typedef int32_t gpujoin_filter;
#define GPUJOIN_FILTER_NONE 1 /* those with NULL keys. since 0.1 */
#define GPUJOIN_FILTER_KEY_BITS \
  2 /* and those that cannot match, by a bit for each key of a small range. since 0.1 */
#define GPUJOIN_FILTER_KEY_HASHES \
  3 /* and most of those that cannot match, by a bit for each hash of a key (Bloom filter). since 0.1 */

typedef int32_t gpujoin_side;
#define GPUJOIN_SIDE_LEFT 1
#define GPUJOIN_SIDE_RIGHT 2

typedef struct gpujoin_plan_options {
  uint32_t struct_size;
  gpujoin_device
      device; /* AUTOMATIC = the context's; a CUDA context can also run a plan on the CPU. since 0.1 */
  gpujoin_algorithm algorithm; /* since 0.1 */
  gpujoin_transform transform; /* since 0.1 */
  gpujoin_match match;         /* since 0.1 */
  gpujoin_gather gather;       /* since 0.1 */
  gpujoin_side build_side; /* the side that is hashed or sorted into; 0 = the smaller. since 0.1 */
  int32_t
      radix_bits; /* of partitioning transforms: 2^bits partitions, 1 to 16 (on the CPU to 14). since 0.1 */
  gpujoin_transfer
      transfer; /* ignored where every column is on the device, but for PROBE_CHUNKS; on the CPU only NONE. since 0.1 */
  gpujoin_skew skew;     /* since 0.1 */
  gpujoin_output output; /* since 0.1 */
  int32_t passes;        /* of HISTOGRAM_* and BUCKET_CHAINS: 1 or 2 partition passes. since 0.1 */
  int32_t page_pairs;    /* of THREAD_PAGES and BLOCK_CHUNKS: 1 to 2^20. since 0.1 */
  gpujoin_filter
      filter; /* KEY_BITS and KEY_HASHES need RADIX_UNORDERED, or a table with CARRIED. since 0.1 */
  int64_t probe_chunk_rows; /* of PROBE_CHUNKS: rows of a chunk. since 0.1 */
} gpujoin_plan_options;
#define GPUJOIN_PLAN_OPTIONS_INIT \
  { (uint32_t)sizeof(gpujoin_plan_options), 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0 }

/* gpujoin_plan_create: choose how to join two relations of one context.
 *
 * spec      required; copied.
 * options   NULL = all automatic.
 * out       on success a new plan. It refers to both relations and may be executed any number of times.
 * Blocking: samples keys when the planner has a choice to make, at least 2^21 rows to make it for, and a join of more than
 *           0.42 ms: one read of at most 2^24 of the smaller side's keys, and of all keys of both sides where one of the
 *           smaller side's comes very often.
 * Errors:   INVALID_ARGUMENT, ABI_MISMATCH, UNSUPPORTED, TYPE, ILLEGAL_PLAN, OUT_OF_MEMORY, MEMORY_LIMIT, CANCELLED,
 *           NO_DEVICE (options.device CUDA on a CPU context), CUDA, DEVICE_LOST, FORKED.
 * Since:    0.1 */
GPUJOIN_API gpujoin_status gpujoin_plan_create(gpujoin_context* context,
                                               const gpujoin_relation* left,
                                               const gpujoin_relation* right,
                                               const gpujoin_join_spec* spec,
                                               const gpujoin_plan_options* options,
                                               gpujoin_plan** out, gpujoin_error* error);

/* gpujoin_plan_explain: the plan as text: the techniques, what was sampled, each candidate with its predicted bytes and
 * milliseconds, and why the winner won.
 *
 * buffer  may be NULL when *length is 0.
 * length  in: bytes in buffer; out: bytes needed, the terminator counted. When buffer is too small nothing is written and the
 *         answer is BUFFER_TOO_SMALL.
 * Since:  0.1 */
GPUJOIN_API gpujoin_status gpujoin_plan_explain(const gpujoin_plan* plan, char* buffer,
                                                size_t* length, gpujoin_error* error);

typedef struct gpujoin_result gpujoin_result;

/* gpujoin_plan_execute: run the plan.
 *
 * out       on success a new result, which owns its memory.
 * Blocking: until the result is complete. Waits for the context's stream only.
 * Memory:   grows with the output, within the context's limit; on failure all of it is back in the pool.
 * Errors:   UNSUPPORTED (MANAGED* where device or platform cannot page), TOO_MANY_ROWS, OUT_OF_MEMORY, MEMORY_LIMIT, CANCELLED, CUDA, DEVICE_LOST, FORKED, INTERNAL.
 * Since:    0.1 */
GPUJOIN_API gpujoin_status gpujoin_plan_execute(gpujoin_plan* plan, gpujoin_result** out,
                                                gpujoin_error* error);

/* gpujoin_plan_destroy: accepts NULL. Since 0.1. */
GPUJOIN_API void gpujoin_plan_destroy(gpujoin_plan* plan);

/* gpujoin_join: gpujoin_plan_create and gpujoin_plan_execute in one call; errors of both. Since 0.1. */
GPUJOIN_API gpujoin_status gpujoin_join(gpujoin_context* context, const gpujoin_relation* left,
                                        const gpujoin_relation* right,
                                        const gpujoin_join_spec* spec,
                                        const gpujoin_plan_options* options, gpujoin_result** out,
                                        gpujoin_error* error);

/* 8. Results
 * ----------
 * Rows 0 to rows - 1. Row numbers (pairs) count from 0 in the relations as registered. Columns are numbered from 0: the left
 * output columns as listed in the spec, then the right ones.
 */

/* gpujoin_result_get_rows: number of output rows. Since 0.1. */
GPUJOIN_API gpujoin_status gpujoin_result_get_rows(const gpujoin_result* result, int64_t* rows,
                                                   gpujoin_error* error);

/* A window on the result, and the cursor to resume at. Start with first_row 0; after a call, first_row is the row after the
 * page; the result is exhausted when rows comes back 0. */
typedef struct gpujoin_page {
  uint32_t struct_size;
  uint32_t reserved; /* zero */
  int64_t first_row; /* in and out */
  int64_t max_rows;  /* 0 = no limit. since 0.1 */
  uint64_t
      max_bytes; /* of values and validity bits written in the page, 0 = no limit; one row is always allowed. since 0.1 */
  int64_t rows;  /* out: rows in the page */
} gpujoin_page;
#define GPUJOIN_PAGE_INIT \
  { (uint32_t)sizeof(gpujoin_page), 0, 0, 0, 0, 0 }

#define GPUJOIN_FETCH_COLUMN 1 /* output column number `column` */
#define GPUJOIN_FETCH_LEFT_INDEX \
  2 /* row numbers in the left relation; needs GPUJOIN_OUTPUT_PAIRS */
#define GPUJOIN_FETCH_RIGHT_INDEX \
  3 /* row numbers in the right relation; needs GPUJOIN_OUTPUT_PAIRS. Of a sequence: in the dimension of step `column` */

typedef struct gpujoin_fetch {
  uint32_t struct_size;
  int32_t what;   /* GPUJOIN_FETCH_*; required. since 0.1 */
  int32_t column; /* with FETCH_COLUMN; with FETCH_RIGHT_INDEX of a sequence, the step. since 0.1 */
  gpujoin_type
      type;   /* indices: UINT32 or INT64, 0 = INT64; columns: 0 or the column's own. since 0.1 */
  void* data; /* rows values are written */
  uint64_t data_bytes; /* room in data */
  uint8_t*
      validity; /* bits, the page's first row in bit 0 of byte 0; NULL is allowed when the page has no NULL. since 0.1 */
  uint64_t
      validity_bytes; /* room in validity; (rows + 7) / 8 are written, in device memory rounded up to 4 */
  gpujoin_memory memory; /* of data and validity. since 0.1 */
  int32_t reserved;      /* zero */
  int64_t null_count;    /* out: NULLs in the page. since 0.1 */
} gpujoin_fetch;
#define GPUJOIN_FETCH_INIT \
  { (uint32_t)sizeof(gpujoin_fetch), 0, 0, 0, NULL, 0, NULL, 0, 0, 0, 0 }

/* gpujoin_result_fetch: copy a page of indices and columns into the caller's buffers, host or device.
 *
 * page     NULL = the whole result.
 * fetches  fetch_count requests with the same struct_size.
 * Errors:  INVALID_ARGUMENT, ABI_MISMATCH, BUFFER_TOO_SMALL (nothing written, page unchanged), TYPE, UNSUPPORTED, CUDA,
 *          DEVICE_LOST, FORKED.
 * Since:   0.1 */
GPUJOIN_API gpujoin_status gpujoin_result_fetch(gpujoin_result* result, gpujoin_page* page,
                                                gpujoin_fetch* fetches, int32_t fetch_count,
                                                gpujoin_error* error);

/* gpujoin_result_export: a page as an Arrow struct array in host memory. Its children are the pairs, when asked for
 * (left_row, right_row: uint32; of a sequence left_row, right_row_0, right_row_1 ...), then the output columns with their names
 * and Arrow types.
 *
 * page           NULL = the whole result.
 * schema, array  overwritten; release both. On a CPU result nothing is copied: the array shares the result's memory.
 * Errors:  INVALID_ARGUMENT, ABI_MISMATCH, OUT_OF_MEMORY, CUDA, DEVICE_LOST, FORKED.
 * Since:   0.1 */
GPUJOIN_API gpujoin_status gpujoin_result_export(gpujoin_result* result, gpujoin_page* page,
                                                 struct ArrowSchema* schema,
                                                 struct ArrowArray* array, gpujoin_error* error);

/* gpujoin_result_export_device: the same where the result lies, without a copy: device memory (ARROW_DEVICE_CUDA) for a
 * CUDA result, host memory for a CPU result and for one of PROBE_CHUNKS. The data is complete: sync_event is NULL. Since 0.1. */
GPUJOIN_API gpujoin_status gpujoin_result_export_device(gpujoin_result* result, gpujoin_page* page,
                                                        struct ArrowSchema* schema,
                                                        struct ArrowDeviceArray* array,
                                                        gpujoin_error* error);

typedef struct gpujoin_statistics {
  uint32_t struct_size;
  gpujoin_device device; /* which executor ran */
  char plan[192];        /* the plan in one line */
  char reason[256];      /* why this executor and this plan */
  int64_t left_rows;
  int64_t right_rows;
  int64_t output_rows;
  double milliseconds;        /* of the execution, seen by the calling thread */
  uint64_t predicted_bytes;   /* sum over the stages */
  uint64_t peak_memory_bytes; /* the most the execution held at one time, its result included */
  int32_t stage_count;
  int32_t output_resumes; /* times the match had to stop for more output memory */
} gpujoin_statistics;
#define GPUJOIN_STATISTICS_INIT \
  { (uint32_t)sizeof(gpujoin_statistics), 0, {0}, {0}, 0, 0, 0, 0, 0, 0, 0, 0 }

typedef struct gpujoin_stage_statistics {
  uint32_t struct_size;
  uint32_t reserved; /* zero */
  char stage[32];    /* "transfer", "transform", "match", "materialize" ... */
  char technique[64];
  double milliseconds; /* of the device for CUDA, of the wall clock for the CPU */
  uint64_t
      predicted_bytes; /* by the traffic functions: memory traffic, read + written; for transfers, bytes on the link */
} gpujoin_stage_statistics;
#define GPUJOIN_STAGE_STATISTICS_INIT \
  { (uint32_t)sizeof(gpujoin_stage_statistics), 0, {0}, {0}, 0, 0 }

/* gpujoin_result_get_statistics: of the whole execution. Since 0.1. */
GPUJOIN_API gpujoin_status gpujoin_result_get_statistics(const gpujoin_result* result,
                                                         gpujoin_statistics* statistics,
                                                         gpujoin_error* error);

/* gpujoin_result_get_stage: of stage number 0 to stage_count - 1, in the order they ran. Since 0.1. */
GPUJOIN_API gpujoin_status gpujoin_result_get_stage(const gpujoin_result* result, int32_t stage,
                                                    gpujoin_stage_statistics* statistics,
                                                    gpujoin_error* error);

/* gpujoin_result_destroy: Arrow arrays exported from it stay valid. Accepts NULL. Since 0.1. */
GPUJOIN_API void gpujoin_result_destroy(gpujoin_result* result);

/* 9. Sequences of joins
 * ---------------------
 * A fact relation with a foreign key for each of several dimension relations, joined with one after the other: step 0 joins the
 * fact relation with the first dimension, step 1 what is left with the second, and so on. Inner joins: a row without a match in
 * a dimension leaves, one with several multiplies, and a NULL key matches nothing. In every step the fact side is the left one
 * and the dimension the right one.
 *
 * Between the steps row numbers of the fact relation are kept. The next foreign key is fetched by them just before its join, and
 * the output columns of the fact relation at the end, so that none of them is moved by a join that does not need it. Dimensions
 * choose between two ways:
 */
typedef int32_t gpujoin_materialize;
#define GPUJOIN_MATERIALIZE_AUTOMATIC \
  0 /* for each dimension the one that moves fewer bytes, by widths and the number of joins to come */
#define GPUJOIN_MATERIALIZE_AS_THEY_COME \
  1 /* a dimension's output columns are columns of the joins after its own (Wu et al.) */
#define GPUJOIN_MATERIALIZE_AT_THE_END \
  2 /* its row numbers are, and its output columns are fetched by them after the last join */

typedef struct gpujoin_sequence_step {
  uint32_t struct_size;
  int32_t key_count; /* of fact_keys and dimension_keys; 1 in this version. since 0.1 */
  const gpujoin_relation* dimension; /* required; of the same context. since 0.1 */
  const int32_t* fact_keys;          /* column positions in the fact relation */
  const int32_t* dimension_keys;     /* column positions in the dimension */
  const int32_t*
      dimension_columns; /* output columns of the dimension, any order, keys allowed, repeats allowed */
  int32_t dimension_column_count;
  int32_t reserved; /* zero */
} gpujoin_sequence_step;
#define GPUJOIN_SEQUENCE_STEP_INIT \
  { (uint32_t)sizeof(gpujoin_sequence_step), 0, NULL, NULL, NULL, NULL, 0, 0 }

typedef struct gpujoin_sequence_spec {
  uint32_t struct_size;
  int32_t step_count; /* 1 or more. since 0.1 */
  const gpujoin_sequence_step*
      steps; /* each with the same struct_size, in the order of the joins */
  const int32_t*
      fact_columns; /* output columns of the fact relation, any order, keys allowed, repeats allowed */
  int32_t fact_column_count;
  int32_t
      output; /* GPUJOIN_OUTPUT_* or-ed; 0 = COLUMNS when columns are named, else PAIRS. PAIRS: a row number in the fact
                 relation and one in each dimension. since 0.1 */
  gpujoin_materialize materialize; /* since 0.1 */
  int32_t reserved;                /* zero */
} gpujoin_sequence_spec;
#define GPUJOIN_SEQUENCE_SPEC_INIT \
  { (uint32_t)sizeof(gpujoin_sequence_spec), 0, NULL, NULL, 0, 0, 0, 0 }

/* gpujoin_join_sequence: plan and execute all joins of a sequence.
 *
 * fact      the relation with the foreign keys. The same relation may also be a dimension, and a dimension may come twice.
 * spec      required; read before the call returns, not kept.
 * options   NULL = all automatic. Of each join: what is named there every join does, and what is left at 0 is planned for each
 *           join from the rows that reach it, and weighed with the joins to come. build_side 0 = the dimension, unless fewer
 *           rows reach it than it has.
 * out       on success a new result. Its columns: those of the fact relation as listed, then each step's in order. Its row
 *           numbers: FETCH_LEFT_INDEX for the fact relation, FETCH_RIGHT_INDEX with the step for a dimension.
 *           In its statistics left_rows are the fact relation's, right_rows those of all dimensions; `plan` and `reason` name
 *           each step's; stages are called "steps[1].match", those of the fetches "steps[1].fetch_key", "fact.materialize".
 * Memory:   what a join leaves is let go of as soon as the next one has read it. On CUDA a fact column in host memory is copied
 *           to the device once, when it is first needed, by explicit copies where that is not the first join.
 * Progress: each join reports its stages as ever, and before it "sequence", its number of all steps.
 * Errors:   those of gpujoin_plan_create and gpujoin_plan_execute, with the argument named: "spec.steps[2].fact_keys[0]".
 *           TOO_MANY_ROWS also when a step but the last leaves 2^32 - 1 rows or more; ILLEGAL_PLAN also for PROBE_CHUNKS.
 * Since:    0.1 */
GPUJOIN_API gpujoin_status gpujoin_join_sequence(gpujoin_context* context,
                                                 const gpujoin_relation* fact,
                                                 const gpujoin_sequence_spec* spec,
                                                 const gpujoin_plan_options* options,
                                                 gpujoin_result** out, gpujoin_error* error);

#ifdef __cplusplus
}
#endif
#endif /* GPUJOIN_H */
