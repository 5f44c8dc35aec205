/* build.c: versions, contexts and builds for Java. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "bindings/spark/native/doors.h"

static gpujoin_context* context_of(jlong handle) { return (gpujoin_context*)(intptr_t)handle; }
static struct build* build_of(jlong handle) { return (struct build*)(intptr_t)handle; }

/* NULL where the loaded library is one that this file was compiled for, else what is wrong. */
DOOR(jstring, refusal)(JNIEnv* env, jclass type) {
  (void)type;
  int32_t const found = gpujoin_version_number();
  if (found / 100 == GPUJOIN_VERSION_NUMBER / 100) return NULL;
  char text[128];
  snprintf(text, sizeof text, "libgpujoin is of version %d.%d, not %d.%d", found / 10000,
           found / 100 % 100, GPUJOIN_VERSION_MAJOR, GPUJOIN_VERSION_MINOR);
  return (*env)->NewStringUTF(env, text);
}

DOOR(jlong, contextCreate)
(JNIEnv* env, jclass type, jint device, jint cuda_device, jint threads, jlong memory_limit,
 jstring spill_path) {
  (void)type;
  const char* path = (*env)->GetStringUTFChars(env, spill_path, NULL);
  if (path == NULL) return 0;
  gpujoin_context_options options = GPUJOIN_CONTEXT_OPTIONS_INIT;
  options.device = device;
  options.cuda_device_id = cuda_device;
  options.cpu_threads = threads;
  options.memory_limit_bytes = (uint64_t)memory_limit;
  options.host_limit_bytes = (uint64_t)memory_limit;
  options.spill_path = path;
  gpujoin_context* context = NULL;
  gpujoin_error error;
  gpujoin_status const status = gpujoin_context_create(&options, &context, &error);
  (*env)->ReleaseStringUTFChars(env, spill_path, path);
  is_ok(env, status, &error);
  return (jlong)(intptr_t)context;
}

DOOR(void, contextDestroy)(JNIEnv* env, jclass type, jlong context) {
  (void)env, (void)type;
  gpujoin_context_destroy(context_of(context));
}

/* Bytes that its pools hold now. */
DOOR(jlong, contextUsed)(JNIEnv* env, jclass type, jlong context) {
  (void)type;
  gpujoin_context_info info = GPUJOIN_CONTEXT_INFO_INIT;
  gpujoin_error error;
  gpujoin_context_trim(context_of(context), NULL);
  is_ok(env, gpujoin_context_get_info(context_of(context), &info, &error), &error);
  return (jlong)info.host_used_bytes;
}

/* What it runs on, and why. */
DOOR(jstring, contextDevice)(JNIEnv* env, jclass type, jlong context) {
  (void)type;
  gpujoin_context_info info = GPUJOIN_CONTEXT_INFO_INIT;
  gpujoin_error error;
  if (!is_ok(env, gpujoin_context_get_info(context_of(context), &info, &error), &error)) {
    return NULL;
  }
  char text[sizeof info.device_name + sizeof info.reason + 8];
  snprintf(text, sizeof text, "%s (%s)", info.device_name, info.reason);
  return (*env)->NewStringUTF(env, text);
}

static void destroy(struct build* build) {
  if (build == NULL) return;
  gpujoin_build_destroy(build->build);
  columns_free(&build->columns);
  free(build);
}

static gpujoin_status create(struct build* build, const int32_t* keys, int32_t key_count,
                             const int32_t* key_flags, gpujoin_error* error) {
  gpujoin_relation* like = NULL;
  gpujoin_status status = columns_relation(&build->columns, build->context, 0, &like, error);
  if (status != GPUJOIN_OK) return status;
  status = gpujoin_build_create(build->context, like, keys, key_count, key_flags, NULL,
                                &build->build, error);
  gpujoin_relation_destroy(like);
  return status;
}

DOOR(jlong, buildCreate)
(JNIEnv* env, jclass type, jlong context, jintArray columns, jint fields, jintArray keys,
 jintArray key_flags) {
  (void)type;
  int32_t numbers_count, key_count, flag_count;
  int32_t* numbers = numbers_of(env, columns, &numbers_count);
  int32_t* key_numbers = numbers_of(env, keys, &key_count);
  int32_t* flags = numbers_of(env, key_flags, &flag_count);
  struct build* build = calloc(1, sizeof *build);
  int is_made = 0;
  if (build == NULL || !columns_init(&build->columns, numbers, numbers_count / 4, fields)) {
    throw_no_memory(env);
  } else if (!(*env)->ExceptionCheck(env)) {
    build->context = context_of(context);
    gpujoin_error error;
    is_made = is_ok(env, create(build, key_numbers, key_count, flags, &error), &error);
  }
  free(numbers);
  free(key_numbers);
  free(flags);
  if (!is_made) {
    destroy(build);
    build = NULL;
  }
  return (jlong)(intptr_t)build;
}

static void append(JNIEnv* env, struct build* build, int64_t rows) {
  gpujoin_relation* relation = NULL;
  gpujoin_error error;
  gpujoin_status status =
      columns_relation(&build->columns, build->context, rows, &relation, &error);
  if (status == GPUJOIN_OK) status = gpujoin_build_append(build->build, relation, 0, &error);
  gpujoin_relation_destroy(relation);
  is_ok(env, status, &error);
}

/* `packed` is an array of any type; `offset` is that of the first row in it. */
DOOR(void, buildAppendRows)
(JNIEnv* env, jclass type, jlong build, jobject packed, jlong offset, jlong bytes) {
  (void)type;
  int64_t const rows = read_packed(env, &build_of(build)->columns, packed, offset, bytes);
  if (rows > 0) append(env, build_of(build), rows);
}

DOOR(void, buildAppendColumns)
(JNIEnv* env, jclass type, jlong build, jlongArray addresses, jint rows) {
  (void)type;
  jlong* numbers = (*env)->GetLongArrayElements(env, addresses, NULL);
  if (numbers == NULL) return;
  read_addresses(&build_of(build)->columns, numbers);
  (*env)->ReleaseLongArrayElements(env, addresses, numbers, JNI_ABORT);
  append(env, build_of(build), rows);
}

DOOR(void, buildFinish)(JNIEnv* env, jclass type, jlong build) {
  (void)type;
  gpujoin_error error;
  is_ok(env, gpujoin_build_finish(build_of(build)->build, &error), &error);
}

/* Rows, bytes in memory, bytes in files. */
DOOR(void, buildSize)(JNIEnv* env, jclass type, jlong build, jlongArray size) {
  (void)type;
  gpujoin_build_info info = GPUJOIN_BUILD_INFO_INIT;
  gpujoin_error error;
  if (!is_ok(env, gpujoin_build_get_info(build_of(build)->build, &info, &error), &error)) return;
  jlong const numbers[] = {info.rows, (jlong)(info.bytes - info.spilled_bytes),
                           (jlong)info.spilled_bytes};
  (*env)->SetLongArrayRegion(env, size, 0, 3, numbers);
}

/* What buildCancel takes: good on any thread, also when the build is gone. */
DOOR(jlong, buildHandle)(JNIEnv* env, jclass type, jlong build) {
  (void)env, (void)type;
  return (jlong)(intptr_t)build_of(build)->build;
}

DOOR(void, buildCancel)(JNIEnv* env, jclass type, jlong handle) {
  (void)env, (void)type;
  gpujoin_build_cancel((gpujoin_build*)(intptr_t)handle, NULL);
}

DOOR(void, buildDestroy)(JNIEnv* env, jclass type, jlong build) {
  (void)env, (void)type;
  destroy(build_of(build));
}
