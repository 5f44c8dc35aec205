package org.apache.spark.sql.gpujoin;

/** What native/build.c and native/join.c do; their comments say more. Handles are addresses. */
final class Native {
  private Native() {}

  static native String refusal();

  static native long contextCreate(
      int device, int cudaDevice, int threads, long memoryLimit, String spillPath);

  static native void contextDestroy(long context);

  static native long contextUsed(long context);

  static native String contextDevice(long context);

  static native long buildCreate(
      long context, int[] columns, int fields, int[] keys, int[] keyFlags);

  static native void buildAppendRows(long build, Object packed, long offset, long bytes);

  static native void buildAppendColumns(long build, long[] addresses, int rows);

  static native void buildFinish(long build);

  static native void buildSize(long build, long[] rowsAndBytesAndSpilled);

  static native long buildHandle(long build);

  static native void buildCancel(long buildHandle);

  static native void buildDestroy(long build);

  static native long joinCreate(long build, int[][] numbers, byte[] constants);

  static native void joinAppendRows(long join, byte[] packed, long bytes);

  static native void joinAppendColumns(long join, long[] addresses, int rows);

  static native void joinFinish(long join);

  static native long[] joinNext(long join);

  static native void batchDestroy(long batch);

  static native long joinSpilled(long join);

  static native long joinHandle(long join);

  static native void joinCancel(long joinHandle);

  static native void joinDestroy(long join);
}
