package org.apache.spark.sql.gpujoin

import org.apache.spark.sql.types._
import org.apache.spark.sql.vectorized.{ColumnarArray, ColumnarMap, ColumnVector}
import org.apache.spark.unsafe.Platform
import org.apache.spark.unsafe.types.{CalendarInterval, UTF8String}

/** A column of an Arrow array in native memory, which belongs to the batch that it is part of.
 *
 * @param addresses of validity, its first bit, data, offsets; and how many NULLs there are
 */
final class ArrowVector(dataType: DataType, val addresses: Array[Long])
    extends ColumnVector(dataType) {
  private val validity = addresses(0)
  private val firstBit = addresses(1)
  private val data = addresses(2)
  private val offsets = addresses(3)
  private val nulls = addresses(4)

  private def bit(bits: Long, at: Long): Boolean =
    (Platform.getByte(null, bits + (at >> 3)) >> (at & 7).toInt & 1) != 0

  override def close(): Unit = ()
  override def hasNull: Boolean = nulls > 0
  override def numNulls: Int = nulls.toInt
  override def isNullAt(row: Int): Boolean = validity != 0 && !bit(validity, firstBit + row)

  override def getBoolean(row: Int): Boolean = bit(data, firstBit + row)
  override def getByte(row: Int): Byte = Platform.getByte(null, data + row)
  override def getShort(row: Int): Short = Platform.getShort(null, data + 2L * row)
  override def getInt(row: Int): Int = Platform.getInt(null, data + 4L * row)
  override def getLong(row: Int): Long = Platform.getLong(null, data + 8L * row)
  override def getFloat(row: Int): Float = Platform.getFloat(null, data + 4L * row)
  override def getDouble(row: Int): Double = Platform.getDouble(null, data + 8L * row)

  override def getDecimal(row: Int, precision: Int, scale: Int): Decimal =
    if (isNullAt(row)) {
      null
    } else if (precision <= Decimal.MAX_LONG_DIGITS) {
      Decimal.createUnsafe(getLong(row), precision, scale)
    } else {
      val highestFirst = new Array[Byte](16)
      var i = 0
      while (i < 16) {
        highestFirst(15 - i) = Platform.getByte(null, data + 16L * row + i)
        i += 1
      }
      val unscaled = new java.math.BigInteger(highestFirst)
      Decimal(new java.math.BigDecimal(unscaled, scale), precision, scale)
    }

  private def textStart(row: Int): Int = Platform.getInt(null, offsets + 4L * row)

  override def getUTF8String(row: Int): UTF8String =
    if (isNullAt(row)) {
      null
    } else {
      val start = textStart(row)
      UTF8String.fromAddress(null, data + start, textStart(row + 1) - start)
    }

  override def getBinary(row: Int): Array[Byte] =
    if (isNullAt(row)) {
      null
    } else {
      val start = textStart(row)
      val bytes = new Array[Byte](textStart(row + 1) - start)
      Platform.copyMemory(null, data + start, bytes, Platform.BYTE_ARRAY_OFFSET, bytes.length)
      bytes
    }

  override def getInterval(row: Int): CalendarInterval =
    if (isNullAt(row)) {
      null
    } else {
      val at = data + 16L * row
      new CalendarInterval(
        Platform.getInt(null, at),
        Platform.getInt(null, at + 4),
        Platform.getLong(null, at + 8))
    }

  private def unsupported = throw new UnsupportedOperationException(s"a column of $dataType")
  override def getArray(row: Int): ColumnarArray = unsupported
  override def getMap(row: Int): ColumnarMap = unsupported
  override def getChild(ordinal: Int): ColumnVector = unsupported
}

object ArrowVector {
  /** Of a column: BATCH_NUMBERS of native/batch.h. */
  val numbers = 5
}
