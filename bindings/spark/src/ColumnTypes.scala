package org.apache.spark.sql.gpujoin

import org.apache.spark.sql.catalyst.expressions.Attribute
import org.apache.spark.sql.types._

/** A type of Spark as a type of the library. Dates, times and intervals of one number travel as
 * that: both sides have the same unit. */
final case class ColumnType(code: Int, precision: Int = 0, scale: Int = 0)

object ColumnType {
  def of(dataType: DataType): Option[ColumnType] = dataType match {
    case BooleanType => Some(ColumnType(Codes.bool))
    case ByteType | NullType => Some(ColumnType(Codes.int8))
    case ShortType => Some(ColumnType(Codes.int16))
    case IntegerType | DateType | _: YearMonthIntervalType => Some(ColumnType(Codes.int32))
    case LongType | TimestampType | TimestampNTZType | _: DayTimeIntervalType | _: TimeType =>
      Some(ColumnType(Codes.int64))
    case FloatType => Some(ColumnType(Codes.float32))
    case DoubleType => Some(ColumnType(Codes.float64))
    case decimal: DecimalType if decimal.precision <= Decimal.MAX_LONG_DIGITS =>
      Some(ColumnType(Codes.decimal64, decimal.precision, decimal.scale))
    case decimal: DecimalType => Some(ColumnType(Codes.bytes16, decimal.precision, decimal.scale))
    case _: StringType => Some(ColumnType(Codes.utf8))
    case BinaryType => Some(ColumnType(Codes.binary))
    case CalendarIntervalType => Some(ColumnType(Codes.bytes16))
    case _ => None
  }

  /** Bytes of a value: 0 of truth values, which are bits, and of text. */
  def width(code: Int): Int = code match {
    case Codes.int8 => 1
    case Codes.int16 => 2
    case Codes.int32 | Codes.float32 => 4
    case Codes.int64 | Codes.float64 | Codes.decimal64 => 8
    case Codes.bytes16 => 16
    case _ => 0
  }

  /** Whether the library finds those values equal, and orders them, as Spark does. */
  def isComparable(dataType: DataType): Boolean = dataType match {
    case text: StringType => text.supportsBinaryOrdering
    case CalendarIntervalType | NullType => false
    case other => of(other).isDefined
  }

  private def isNumber(dataType: DataType) = dataType match {
    case _: IntegralType | _: DecimalType => true
    case _ => false
  }

  def areComparable(left: DataType, right: DataType): Boolean =
    isComparable(left) && isComparable(right) &&
      (left == right || (isNumber(left) && isNumber(right)) ||
        (left.isInstanceOf[FractionalType] && right.isInstanceOf[FractionalType] &&
          !isNumber(left) && !isNumber(right)))

  /** Whether every value of `from` is there in `to`, and compares as before. */
  def isWidening(from: DataType, to: DataType): Boolean = (from, to) match {
    case (FloatType, DoubleType) => true
    case (narrow: IntegralType, wide: IntegralType) => narrow.defaultSize <= wide.defaultSize
    case (narrow: IntegralType, wide: DecimalType) => wide.isWiderThan(narrow)
    case (narrow: DecimalType, wide: DecimalType) => wide.isWiderThan(narrow)
    case _ => false
  }
}

/** The columns of one side's rows that a join reads; the positions in `attributes` are the
 * library's. */
final case class SideColumns(output: Seq[Attribute], attributes: Seq[Attribute]) {
  private val positions = attributes.map(_.exprId).zipWithIndex.toMap
  private val ordinals = output.map(_.exprId).zipWithIndex.toMap

  def position(attribute: Attribute): Int = positions(attribute.exprId)

  def readOrdinals: Array[Int] = attributes.map(attribute => ordinals(attribute.exprId)).toArray

  /** Four numbers a column, as the native side takes them. */
  def numbers: Array[Int] = attributes.flatMap { attribute =>
    val columnType = ColumnType.of(attribute.dataType).get
    Seq(ordinals(attribute.exprId), columnType.code, columnType.precision, columnType.scale)
  }.toArray
}
