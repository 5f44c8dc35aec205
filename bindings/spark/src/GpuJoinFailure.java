package org.apache.spark.sql.gpujoin;

/** A call of the library that failed. */
final class GpuJoinFailure extends RuntimeException {
  final int status;

  GpuJoinFailure(int status, String message) {
    super(message);
    this.status = status;
  }
}
