package org.apache.spark.sql.gpujoin

import scala.collection.mutable.ArrayBuffer

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.sql.catalyst.plans.physical.BroadcastMode
import org.apache.spark.unsafe.Platform

/** Rows one after the other in an array, each behind its size: what the native side reads. */
final class PackedRows(capacity: Int = 1 << 20) {
  private var memory = new Array[Byte](capacity)
  private var used = 0
  private var waiting: UnsafeRow = _

  def bytes: Array[Byte] = memory
  def size: Int = used

  private def append(row: UnsafeRow): Unit = {
    val length = row.getSizeInBytes
    Platform.putLong(memory, Platform.BYTE_ARRAY_OFFSET + used, length)
    row.writeToMemory(memory, Platform.BYTE_ARRAY_OFFSET + used + 8L)
    used += 8 + length
  }

  /** Fills the array anew. A row that does not fit waits for the next call, unless it is the first,
   * for which the array grows. Answers false when no row is left. */
  def fill(rows: Iterator[UnsafeRow]): Boolean = {
    used = 0
    if (waiting != null) {
      if (8L + waiting.getSizeInBytes > memory.length) {
        memory = new Array[Byte](Math.addExact(8, waiting.getSizeInBytes))
      }
      append(waiting)
      waiting = null
    }
    while (waiting == null && rows.hasNext) {
      val row = rows.next()
      if (used + 8L + row.getSizeInBytes <= memory.length) append(row)
      else waiting = row.copy() // whose memory Spark writes the next row to
    }
    if (used == 0 && waiting != null) fill(rows) else used > 0
  }
}

/** Broadcasts rows packed, in rows without fields: an array of rows is what Spark takes, and writes
 * fast. */
case object PackedRowsMode extends BroadcastMode {
  override def transform(rows: Array[InternalRow]): Array[InternalRow] =
    transform(rows.iterator, Some(rows.length.toLong))

  override def transform(
      rows: Iterator[InternalRow],
      sizeHint: Option[Long]): Array[InternalRow] = {
    val packed = new PackedRows
    val chunks = ArrayBuffer.empty[InternalRow]
    val unsafeRows = rows.map(_.asInstanceOf[UnsafeRow])
    while (packed.fill(unsafeRows)) {
      val chunk = new UnsafeRow(0)
      chunk.pointTo(packed.bytes.take(packed.size), packed.size)
      chunks += chunk
    }
    chunks.toArray
  }

  override def canonicalized: BroadcastMode = this
}
