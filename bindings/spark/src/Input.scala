package org.apache.spark.sql.gpujoin

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{UnsafeProjection, UnsafeRow}
import org.apache.spark.sql.types.DataType
import org.apache.spark.sql.vectorized.ColumnarBatch

/** What comes from a side: rows of these types, or batches.
 *
 * @param ordinals of the columns that the join reads
 */
final case class InputShape(types: Array[DataType], isBatches: Boolean, ordinals: Array[Int])

/** Rows or batches of one side, handed over piece by piece: the next piece is asked for when the
 * library is done with the last one. */
final class Input(items: Iterator[Any], shape: InputShape, measure: Measure) {
  private lazy val packed = new PackedRows
  private lazy val toUnsafe = UnsafeProjection.create(shape.types)
  private lazy val rows = items.map {
    case row: UnsafeRow => row
    case row => toUnsafe(row.asInstanceOf[InternalRow])
  }

  private val readOrdinals = shape.ordinals.toSeq
  private var block: ColumnBlock = _
  private var batch: ColumnarBatch = _
  private var next = 0 // row of it
  private var isLent = false // to the library, which reads it where it lies

  /** Answers false when there are no more. */
  def hand(takeRows: (Array[Byte], Int) => Unit)(takeColumns: (Array[Long], Int) => Unit): Boolean =
    if (shape.isBatches) {
      handBatch(takeColumns)
    } else {
      val isFilled = packed.fill(rows)
      if (isFilled) takeRows(packed.bytes, packed.size)
      isFilled
    }

  /** Frees what the last piece may lie in. */
  def close(): Unit = {
    if (block != null) block.free()
    block = null
  }

  private def handBatch(take: (Array[Long], Int) => Unit): Boolean = {
    if (isLent) leaveBatch()
    if (block != null) block.clear()
    var isHanded = false
    while (!isHanded && nextBatch()) {
      lying match {
        case Some(addresses) if copied == 0 =>
          isLent = true
          take(addresses, batch.numRows)
          isHanded = true
        case Some(_) => isHanded = handBlock(take) // what came before that batch
        case None =>
          copy()
          isHanded = (batch != null || block.isFull) && handBlock(take)
      }
    }
    isHanded || (copied > 0 && handBlock(take))
  }

  /** Whether there is one, with rows that have not been taken. */
  private def nextBatch(): Boolean = {
    while (batch == null && items.hasNext) {
      batch = items.next().asInstanceOf[ColumnarBatch]
      next = 0
      measure.add("numInputBatches", 1)
      if (batch.numRows == 0) leaveBatch()
    }
    batch != null
  }

  private def leaveBatch(): Unit = {
    batch.closeIfFreeable()
    batch = null
    isLent = false
  }

  private def lying: Option[Array[Long]] = {
    val found = readOrdinals.map { ordinal =>
      ArrowLayout.addresses(batch.column(ordinal), shape.types(ordinal), batch.numRows)
    }
    if (found.contains(None)) None else Some(spread(found.flatten))
  }

  /** Of each column of the side, in the place of those that the join does not read nothing. */
  private def spread(columns: Seq[Array[Long]]): Array[Long] = {
    val all = new Array[Long](ArrowVector.numbers * shape.types.length)
    readOrdinals.zip(columns).foreach { case (ordinal, numbers) =>
      numbers.copyToArray(all, ArrowVector.numbers * ordinal)
    }
    all
  }

  private def copied: Int = if (block == null) 0 else block.rows

  private def copy(): Unit = {
    if (block == null) block = new ColumnBlock(readOrdinals.map(shape.types))
    next += block.append(batch, readOrdinals, next)
    if (next == batch.numRows) leaveBatch()
  }

  private def handBlock(take: (Array[Long], Int) => Unit): Boolean = {
    take(spread(block.addresses), block.rows)
    true
  }
}
