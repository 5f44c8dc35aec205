package org.apache.spark.sql.gpujoin

import java.util.concurrent.atomic.AtomicLong

import org.apache.spark.unsafe.Platform

/** Memory beside the heap that grows, and keeps what is in it. */
final class NativeMemory {
  private var start = 0L
  private var capacity = 0L

  def address: Long = start

  /** It may lie elsewhere afterwards. */
  def reserve(bytes: Long): Unit = if (bytes > capacity) {
    val more = math.max(bytes, 2 * capacity)
    start = Platform.reallocateMemory(start, capacity, more)
    NativeMemory.all.addAndGet(more - capacity)
    NativeMemory.ever.addAndGet(more - capacity)
    capacity = more
  }

  def free(): Unit = {
    if (start != 0) Platform.freeMemory(start)
    NativeMemory.all.addAndGet(-capacity)
    start = 0
    capacity = 0
  }
}

object NativeMemory {
  private val all = new AtomicLong
  private val ever = new AtomicLong

  /** Bytes of this executor. */
  def used: Long = all.get

  /** Bytes of it that have been asked for so far. */
  def allocated: Long = ever.get
}
