/* doors.h: what the functions that Java calls have in common. */
#ifndef GPUJOIN_SPARK_DOORS_H
#define GPUJOIN_SPARK_DOORS_H

#include <jni.h>

#include "bindings/spark/native/columns.h"

#define DOOR(type, name) JNIEXPORT type JNICALL Java_org_apache_spark_sql_gpujoin_Native_##name

/* A side whose rows are kept. */
struct build {
  gpujoin_context* context;
  gpujoin_build* build;
  struct columns columns;
};

/* Makes the status Java's exception, unless it is GPUJOIN_OK. Answers whether it was. */
int is_ok(JNIEnv* env, gpujoin_status status, const gpujoin_error* error);
void throw_no_memory(JNIEnv* env);

/* Reads packed rows, and throws where there is no memory: then -1. */
int64_t read_packed(JNIEnv* env, struct columns* columns, jobject packed, jlong offset,
                    jlong bytes);

/* Takes the addresses of columns that lie in a batch: as many numbers as batch_describe writes. */
void read_addresses(struct columns* columns, const jlong* addresses);

/* Numbers of an int array, to be freed; NULL where it is null, has none, or there is no memory. */
int32_t* numbers_of(JNIEnv* env, jintArray array, int32_t* count);

#endif
