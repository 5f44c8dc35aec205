package org.apache.spark.sql.gpujoin

import org.apache.arrow.vector._

import org.apache.spark.sql.types._
import org.apache.spark.sql.vectorized.{ArrowColumnVector, ColumnVector}

/** Columns that lie in memory as the library reads them. */
object ArrowLayout {
  /** What ArrowVector.addresses has, of the first `rows` values; None: they have to be copied. */
  def addresses(vector: ColumnVector, dataType: DataType, rows: Int): Option[Array[Long]] =
    vector match {
      case own: ArrowVector => Some(own.addresses)
      case arrow: ArrowColumnVector if arrow.getClass == classOf[ArrowColumnVector] =>
        Some(arrow.getValueVector)
          .collect {
            case values: FieldVector
                if isAsRead(values, dataType) && values.getValueCount >= rows =>
              addressesOf(values)
          }
          .filter(isAligned(_, dataType))
      case _ => None
    }

  private def isAsRead(values: FieldVector, dataType: DataType): Boolean =
    (values, dataType) match {
      case (_: BitVector, BooleanType) => true
      case (_: TinyIntVector, ByteType) => true
      case (_: SmallIntVector, ShortType) => true
      case (_: IntVector, IntegerType) => true
      case (_: BigIntVector, LongType) => true
      case (_: Float4Vector, FloatType) => true
      case (_: Float8Vector, DoubleType) => true
      case (_: DateDayVector, DateType) => true
      case (_: TimeStampMicroTZVector, TimestampType) => true
      case (_: TimeStampMicroVector, TimestampNTZType) => true
      case (_: TimeNanoVector, _: TimeType) => true
      case (_: IntervalYearVector, _: YearMonthIntervalType) => true
      case (_: DurationVector, _: DayTimeIntervalType) => true
      case (_: VarCharVector, _: StringType) => true
      case (_: VarBinaryVector, BinaryType) => true
      case (decimals: DecimalVector, asked: DecimalType) => // of 16 bytes
        asked.precision > Decimal.MAX_LONG_DIGITS && asked.scale == decimals.getScale
      case _ => false
    }

  private def addressesOf(values: FieldVector): Array[Long] = {
    val nulls = values.getNullCount
    val offsets = values match {
      case text: BaseVariableWidthVector => text.getOffsetBufferAddress
      case _ => 0L
    }
    // Text without a byte may have no memory.
    val data = if (values.getDataBufferAddress == 0) offsets else values.getDataBufferAddress
    Array(if (nulls == 0) 0 else values.getValidityBufferAddress, 0, data, offsets, nulls)
  }

  private def isAligned(addresses: Array[Long], dataType: DataType): Boolean = {
    val width = ColumnType.width(ColumnType.of(dataType).get.code)
    addresses(2) % math.min(math.max(width, 1), 8) == 0 && addresses(3) % 4 == 0
  }
}
