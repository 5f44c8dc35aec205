package org.apache.spark.sql.gpujoin

import org.apache.spark.sql.execution.vectorized.WritableColumnVector
import org.apache.spark.sql.types._
import org.apache.spark.sql.vectorized.{ColumnarBatch, ColumnVector}
import org.apache.spark.unsafe.Platform

/** Rows of batches whose columns do not lie as Arrow's do, copied column by column. Small batches
 * come together; a large one takes several blocks. */
final class ColumnBlock(types: Seq[DataType]) {
  private val columns = types.map(new CopiedColumn(_, ColumnBlock.mostRows))
  private var filled = 0

  def rows: Int = filled
  def isFull: Boolean = filled == ColumnBlock.mostRows

  /** Of each column what an ArrowVector has. */
  def addresses: Seq[Array[Long]] = columns.map(_.addresses)

  /** Copies rows of `batch` from `first` on, and answers how many have found room: less than there
   * is room for where text is long, and at least one where the block is empty. */
  def append(batch: ColumnarBatch, ordinals: Seq[Int], first: Int): Int = {
    val wanted = math.min(batch.numRows - first, ColumnBlock.mostRows - filled)
    // Once a column has taken fewer, the columns behind it take no more either.
    val taken = columns.zip(ordinals).foldLeft(wanted) { case (rows, (column, ordinal)) =>
      column.append(batch.column(ordinal), first, filled, rows)
    }
    filled += taken
    taken
  }

  def clear(): Unit = {
    filled = 0
    columns.foreach(_.clear())
  }

  def free(): Unit = columns.foreach(_.free())
}

object ColumnBlock {
  /** So that some hundred columns take no more than some ten MiB. */
  val mostRows: Int = 1 << 14
}

/** A column in Arrow's layout that values of any ColumnVector are copied to. */
final class CopiedColumn(dataType: DataType, mostRows: Int) {
  import CopiedColumn._

  private val code = ColumnType.of(dataType).get.code
  private val isText = code == Codes.utf8 || code == Codes.binary
  private val width = ColumnType.width(code)
  private val validity = new NativeMemory
  private val data = new NativeMemory
  private val offsets = new NativeMemory
  private var hasNulls = false

  def addresses: Array[Long] =
    Array(if (hasNulls) validity.address else 0, 0, data.address, offsets.address,
      if (hasNulls) 1 else 0)

  def clear(): Unit = hasNulls = false

  def free(): Unit = Seq(validity, data, offsets).foreach(_.free())

  /** Copies `rows` values from `first` on to the place `at`; of text fewer where there is no more
   * room. What was copied to that place or behind it before is forgotten. */
  def append(vector: ColumnVector, first: Int, at: Int, rows: Int): Int = {
    val nulls = copyValidity(vector, first, at, rows)
    if (isText) {
      copyText(vector, first, at, rows)
    } else {
      data.reserve(if (code == Codes.bool) mostRows / 8 else width * mostRows)
      // A vector of NULLs alone may have no values.
      if (nulls == rows) zero(at, rows)
      else copyValues(vector, first, at, rows, nulls > 0)
      rows
    }
  }

  private def copyValidity(vector: ColumnVector, first: Int, at: Int, rows: Int): Int = {
    val isUntyped = dataType == NullType
    if (!isUntyped && !vector.hasNull) {
      if (hasNulls) for (i <- at until at + rows) setBit(validity.address, i, value = true)
      0
    } else {
      if (!hasNulls) {
        validity.reserve(mostRows / 8)
        Platform.setMemory(validity.address, -1, mostRows / 8)
        hasNulls = true
      }
      var nulls = 0
      var i = 0
      while (i < rows) {
        val isNull = isUntyped || vector.isNullAt(first + i)
        if (isNull) nulls += 1
        setBit(validity.address, at + i, !isNull)
        i += 1
      }
      nulls
    }
  }

  private def zero(at: Int, rows: Int): Unit = if (code != Codes.bool) {
    Platform.setMemory(data.address + width.toLong * at, 0, width.toLong * rows)
  }

  private def copyValues(
      vector: ColumnVector,
      first: Int,
      at: Int,
      rows: Int,
      hasNulls: Boolean): Unit = {
    val isOwn = vector.isInstanceOf[WritableColumnVector]
    // Others may refuse to say what there is in the place of a NULL.
    val array = if (hasNulls && !isOwn) None else arrayOf(vector, isOwn, first, rows)
    array match {
      case Some((values, offset)) =>
        val to = data.address + width.toLong * at
        Platform.copyMemory(values, offset, null, to, width.toLong * rows)
      case None =>
        zero(at, rows)
        var i = 0
        while (i < rows) {
          if (!vector.isNullAt(first + i)) copyValue(vector, first + i, at + i)
          i += 1
        }
    }
  }

  /** Values as an array, and where they begin in it; dictionaries are decoded. None: there is no
   * such array. */
  private def arrayOf(
      vector: ColumnVector,
      isOwn: Boolean,
      first: Int,
      rows: Int): Option[(AnyRef, Int)] =
    (code, dataType) match {
      case (Codes.int8, _) => Some((vector.getBytes(first, rows), Platform.BYTE_ARRAY_OFFSET))
      case (Codes.int16, _) => Some((vector.getShorts(first, rows), Platform.SHORT_ARRAY_OFFSET))
      case (Codes.int32, _) => Some((vector.getInts(first, rows), Platform.INT_ARRAY_OFFSET))
      case (Codes.int64, _) => Some((vector.getLongs(first, rows), Platform.LONG_ARRAY_OFFSET))
      case (Codes.float32, _) => Some((vector.getFloats(first, rows), Platform.FLOAT_ARRAY_OFFSET))
      case (Codes.float64, _) =>
        Some((vector.getDoubles(first, rows), Platform.DOUBLE_ARRAY_OFFSET))
      case (Codes.decimal64, decimal: DecimalType) if isOwn =>
        val unscaled =
          if (decimal.precision > Decimal.MAX_INT_DIGITS) vector.getLongs(first, rows)
          else vector.getInts(first, rows).map(_.toLong)
        Some((unscaled, Platform.LONG_ARRAY_OFFSET))
      case _ => None
    }

  private def copyValue(vector: ColumnVector, row: Int, at: Int): Unit = {
    val to = data.address + width.toLong * at
    (code, dataType) match {
      case (Codes.bool, _) => setBit(data.address, at, vector.getBoolean(row))
      case (Codes.int8, _) => Platform.putByte(null, to, vector.getByte(row))
      case (Codes.int16, _) => Platform.putShort(null, to, vector.getShort(row))
      case (Codes.int32, _) => Platform.putInt(null, to, vector.getInt(row))
      case (Codes.int64, _) => Platform.putLong(null, to, vector.getLong(row))
      case (Codes.float32, _) => Platform.putFloat(null, to, vector.getFloat(row))
      case (Codes.float64, _) => Platform.putDouble(null, to, vector.getDouble(row))
      case (_, decimal: DecimalType) => putDecimal(vector, row, decimal, to)
      case _ =>
        val interval = vector.getInterval(row)
        Platform.putInt(null, to, interval.months)
        Platform.putInt(null, to + 4, interval.days)
        Platform.putLong(null, to + 8, interval.microseconds)
    }
  }

  private def putDecimal(vector: ColumnVector, row: Int, decimal: DecimalType, to: Long): Unit = {
    val value = vector.getDecimal(row, decimal.precision, decimal.scale)
    if (code == Codes.decimal64) {
      Platform.putLong(null, to, value.toUnscaledLong)
    } else {
      val highestFirst = value.toJavaBigDecimal.unscaledValue.toByteArray
      Platform.setMemory(to, if (highestFirst.head < 0) -1 else 0, 16)
      for (b <- highestFirst.indices) {
        Platform.putByte(null, to + b, highestFirst(highestFirst.length - 1 - b))
      }
    }
  }

  private def copyText(vector: ColumnVector, first: Int, at: Int, rows: Int): Int = {
    offsets.reserve(4L * (mostRows + 1))
    if (at == 0) Platform.putInt(null, offsets.address, 0)
    data.reserve(firstBytes)
    var used = Platform.getInt(null, offsets.address + 4L * at)
    var i = 0
    var isFull = false
    while (i < rows && !isFull) {
      val bytes = if (vector.isNullAt(first + i)) 0 else copyBytes(vector, first + i, at + i, used)
      isFull = bytes < 0
      if (!isFull) {
        used += bytes
        i += 1
        Platform.putInt(null, offsets.address + 4L * (at + i), used)
      }
    }
    i
  }

  /** Answers its bytes, or less than 0 where there is no room. */
  private def copyBytes(vector: ColumnVector, row: Int, at: Int, used: Int): Int =
    if (code == Codes.utf8) {
      val text = vector.getUTF8String(row)
      val bytes = text.numBytes
      if (makeRoom(at, used, bytes)) {
        text.writeToMemory(null, data.address + used)
        bytes
      } else {
        -1
      }
    } else {
      val value = vector.getBinary(row)
      if (makeRoom(at, used, value.length)) {
        Platform.copyMemory(
          value, Platform.BYTE_ARRAY_OFFSET, null, data.address + used, value.length)
        value.length
      } else {
        -1
      }
    }

  private def makeRoom(at: Int, used: Int, bytes: Int): Boolean = {
    val hasRoom = at == 0 || used + bytes.toLong <= mostBytes
    if (hasRoom) data.reserve(used + bytes.toLong)
    hasRoom
  }
}

object CopiedColumn {
  private val firstBytes = 1 << 14

  /** Of text in a block; a value that is longer is alone in one. */
  private val mostBytes = 1 << 20

  private def setBit(bits: Long, at: Int, value: Boolean): Unit = {
    val address = bits + (at >> 3)
    val mask = 1 << (at & 7)
    val others = Platform.getByte(null, address) & ~mask
    Platform.putByte(null, address, (if (value) others | mask else others).toByte)
  }
}
