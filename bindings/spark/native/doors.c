/* doors.c: exceptions, and rows that Java hands over. */
#include "bindings/spark/native/doors.h"

#include <stdlib.h>
#include <string.h>

#include "bindings/spark/native/batch.h"

static void throw_failure(JNIEnv* env, gpujoin_status status, const char* message) {
  jclass const type = (*env)->FindClass(env, "org/apache/spark/sql/gpujoin/GpuJoinFailure");
  if (type == NULL) return; /* that is thrown then */
  jmethodID const make = (*env)->GetMethodID(env, type, "<init>", "(ILjava/lang/String;)V");
  if (make == NULL) return;
  jstring const text = (*env)->NewStringUTF(env, message);
  if (text == NULL) return;
  jobject const failure = (*env)->NewObject(env, type, make, (jint)status, text);
  if (failure != NULL) (*env)->Throw(env, failure);
}

int is_ok(JNIEnv* env, gpujoin_status status, const gpujoin_error* error) {
  if (status == GPUJOIN_OK) return 1;
  char text[640];
  const char* name = gpujoin_status_name(status);
  size_t const length = strlen(name);
  memcpy(text, name, length);
  memcpy(text + length, ": ", 3);
  /* Java takes its own form of UTF-8: what is not plain text may name a column. */
  size_t at = length + 2;
  for (const char* c = error->message; *c != '\0' && at + 1 < sizeof text; ++c) {
    text[at++] = (unsigned char)*c < 128 ? *c : '?';
  }
  text[at] = '\0';
  throw_failure(env, status, text);
  return 0;
}

void throw_no_memory(JNIEnv* env) {
  throw_failure(env, GPUJOIN_ERROR_OUT_OF_MEMORY, "GPUJOIN_ERROR_OUT_OF_MEMORY: for rows of Spark");
}

int64_t read_packed(JNIEnv* env, struct columns* columns, jobject packed, jlong offset,
                    jlong bytes) {
  uint8_t* memory = (*env)->GetPrimitiveArrayCritical(env, packed, NULL);
  if (memory == NULL) {
    throw_no_memory(env);
    return -1;
  }
  int64_t const rows = columns_read(columns, memory + offset, bytes);
  (*env)->ReleasePrimitiveArrayCritical(env, packed, memory, JNI_ABORT);
  if (rows < 0) throw_no_memory(env);
  return rows;
}

void read_addresses(struct columns* columns, const jlong* addresses) {
  for (int32_t i = 0; i < columns->count; ++i) {
    const jlong* at = addresses + BATCH_NUMBERS * columns->kinds[i].ordinal;
    struct column_values const values = {(const uint8_t*)(intptr_t)at[0], at[1],
                                         (const void*)(intptr_t)at[2],
                                         (const int32_t*)(intptr_t)at[3]};
    columns->values[i] = values;
  }
}

int32_t* numbers_of(JNIEnv* env, jintArray array, int32_t* count) {
  *count = array == NULL ? 0 : (*env)->GetArrayLength(env, array);
  if (*count == 0) return NULL;
  int32_t* numbers = malloc((size_t)*count * sizeof *numbers);
  if (numbers == NULL) {
    throw_no_memory(env);
    return NULL;
  }
  (*env)->GetIntArrayRegion(env, array, 0, *count, numbers);
  return numbers;
}
