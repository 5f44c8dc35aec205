package org.apache.spark.sql.gpujoin;

import java.util.Map;
import org.apache.spark.memory.MemoryConsumer;
import org.apache.spark.memory.SparkOutOfMemoryError;
import org.apache.spark.memory.TaskMemoryManager;

/**
 * What the library holds for one task, as far as Spark's memory manager is concerned: other
 * operators spill to make room for it, and where there is none the task fails as Spark's own would.
 * The library writes to files by its own limit, so there is nothing to give back on demand.
 */
final class TaskMemory extends MemoryConsumer {
  /** Fewer and larger requests. */
  private static final long STEP = 1L << 20;

  TaskMemory(TaskMemoryManager manager) {
    super(manager, STEP, manager.getTungstenMemoryMode());
  }

  @Override
  public long spill(long size, MemoryConsumer trigger) {
    return 0;
  }

  /** Holds as much as `bytes` from now on, if it does not already. */
  void holdAtLeast(long bytes) {
    long missing = (bytes - getUsed() + STEP - 1) / STEP * STEP;
    if (missing <= 0) {
      return;
    }
    long got = acquireMemory(missing);
    if (got >= missing) {
      return;
    }
    freeMemory(got);
    throw new SparkOutOfMemoryError(
        "UNABLE_TO_ACQUIRE_MEMORY",
        Map.of("requestedBytes", Long.toString(missing), "receivedBytes", Long.toString(got)));
  }

  void release() {
    freeMemory(getUsed());
  }
}
