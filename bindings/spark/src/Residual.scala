package org.apache.spark.sql.gpujoin

import scala.collection.mutable.ArrayBuffer

import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.optimizer.NormalizeNaNAndZero
import org.apache.spark.sql.types.{DecimalType, DoubleType, IntegralType}

/** Why a join is left to Spark. */
final case class Declined(reason: String) extends Exception(reason)

/** What rows with equal keys have to fulfil besides, as a condition of the library. Of what reads
 * one side alone Spark computes a column. */
object Residual {

  /** The expression of which `expression` is a wider or normalized form: the library compares by
   * value. */
  def valueOf(expression: Expression): Expression = expression match {
    case KnownFloatingPointNormalized(NormalizeNaNAndZero(value)) => valueOf(value)
    case cast: Cast if ColumnType.isWidening(cast.child.dataType, cast.dataType) =>
      valueOf(cast.child)
    case other => other
  }

  /** `condition` with each part that reads one side replaced by an attribute, which `column`
   * provides. */
  def rewrite(condition: Expression, left: AttributeSet, right: AttributeSet)(
      column: Expression => Attribute): Expression = {
    def decline(expression: Expression) =
      throw Declined(s"a condition of both sides: ${expression.sql}")

    def isOneSided(expression: Expression) =
      expression.references.subsetOf(left) || expression.references.subsetOf(right)

    def checkComparable(first: Expression, second: Expression): Unit =
      if (!ColumnType.areComparable(first.dataType, second.dataType)) {
        throw Declined(
          s"a condition compares ${first.dataType.sql} with ${second.dataType.sql}")
      }

    def rewriteBoth(comparison: BinaryComparison): Expression = {
      val operands = comparison.children.map(child => operand(valueOf(child)))
      checkComparable(operands.head, operands.last)
      comparison.withNewChildren(operands)
    }

    def operand(expression: Expression): Expression = expression match {
      case attribute: Attribute =>
        if (ColumnType.of(attribute.dataType).isEmpty) decline(attribute)
        attribute
      case literal: Literal =>
        if (ColumnType.of(literal.dataType).isEmpty) decline(literal)
        literal
      case part if isOneSided(part) && Total(part) && ColumnType.of(part.dataType).isDefined =>
        column(part)
      case comparison: BinaryComparison => rewriteBoth(comparison)
      case In(value, list) if list.nonEmpty =>
        operand(list.map(EqualTo(value, _): Expression).reduce(Or(_, _)))
      case node @ (_: And | _: Or | _: Not | _: IsNull | _: IsNotNull) =>
        node.withNewChildren(node.children.map(operand))
      case node @ (_: If | _: CaseWhen | _: Coalesce) if ColumnType.isComparable(node.dataType) =>
        node.withNewChildren(node.children.map(operand))
      case sum: BinaryArithmetic if isExact(sum) =>
        sum.withNewChildren(sum.children.map(operand))
      case other => decline(other)
    }

    operand(condition)
  }

  /** Whether the library computes the same, and refuses the same. */
  private def isExact(arithmetic: BinaryArithmetic): Boolean = arithmetic match {
    case _: Add | _: Subtract | _: Multiply =>
      arithmetic.dataType match {
        case _: IntegralType => arithmetic.evalMode == EvalMode.ANSI
        case DoubleType => true
        case _ => false
      }
    case _ => false
  }

  /** Nodes of a rewritten condition in postfix order, four numbers each, and its literals. */
  final case class Encoded(nodes: Array[Int], literals: Seq[Literal]) {

    /** Four numbers a column. */
    def types: Array[Int] = literals.zipWithIndex.flatMap { case (literal, ordinal) =>
      val columnType = ColumnType.of(literal.dataType).get
      Seq(ordinal, columnType.code, columnType.precision, columnType.scale)
    }.toArray

    /** A row of them, packed. */
    def packed: Array[Byte] = if (literals.isEmpty) {
      null
    } else {
      val row = UnsafeProjection.create(literals)(InternalRow.empty)
      val rows = new PackedRows(8 + row.getSizeInBytes)
      rows.fill(Iterator(row))
      rows.bytes
    }
  }

  def encode(condition: Option[Expression], left: SideColumns, right: SideColumns): Encoded = {
    val nodes = ArrayBuffer.empty[Int]
    val literals = ArrayBuffer.empty[Literal]

    def node(operator: Int, arguments: Seq[Expression]): Unit = {
      arguments.foreach(add)
      nodes ++= Seq(operator, arguments.length, 0, 0)
    }

    def add(expression: Expression): Unit = expression match {
      case attribute: Attribute =>
        val isLeft = left.attributes.exists(_.exprId == attribute.exprId)
        val side = if (isLeft) left else right
        val code = if (isLeft) Codes.left else Codes.right
        nodes ++= Seq(Codes.column, 0, code, side.position(attribute))
      case literal: Literal =>
        nodes ++= Seq(Codes.constant, 0, 0, literals.length)
        literals += literal
      case And(first, second) => node(Codes.and, Seq(first, second))
      case Or(first, second) => node(Codes.or, Seq(first, second))
      case Not(child) => node(Codes.not, Seq(child))
      case IsNull(child) => node(Codes.isNull, Seq(child))
      case IsNotNull(child) => node(Codes.isNotNull, Seq(child))
      case EqualTo(first, second) => node(Codes.equal, Seq(first, second))
      case EqualNullSafe(first, second) => node(Codes.notDistinct, Seq(first, second))
      case LessThan(first, second) => node(Codes.less, Seq(first, second))
      case LessThanOrEqual(first, second) => node(Codes.lessEqual, Seq(first, second))
      case GreaterThan(first, second) => node(Codes.greater, Seq(first, second))
      case GreaterThanOrEqual(first, second) => node(Codes.greaterEqual, Seq(first, second))
      case If(when, yes, no) => node(Codes.caseWhen, Seq(when, yes, no))
      case CaseWhen(branches, otherwise) =>
        val cases = branches.flatMap { case (when, value) => Seq(when, value) }
        node(Codes.caseWhen, cases ++ otherwise)
      case Coalesce(children) => node(Codes.coalesce, children)
      case sum: Add => node(Codes.add, sum.children)
      case difference: Subtract => node(Codes.subtract, difference.children)
      case product: Multiply => node(Codes.multiply, product.children)
      case other => throw new IllegalStateException(s"not a part of a condition: $other")
    }

    condition.foreach(add)
    Encoded(nodes.toArray, literals.toSeq)
  }
}

/** Whether an expression has a value for every row, so that it may be computed for rows, too, that
 * Spark would not have come to. */
object Total {
  def apply(expression: Expression): Boolean =
    expression.deterministic && isTotal(expression) && expression.children.forall(apply)

  private def isTotal(expression: Expression): Boolean = expression match {
    case _: Attribute | _: Literal | _: And | _: Or | _: Not | _: BinaryComparison => true
    case _: IsNull | _: IsNotNull | _: IsNaN | _: In | _: InSet | _: Coalesce => true
    case _: If | _: CaseWhen | _: NormalizeNaNAndZero | _: KnownFloatingPointNormalized => true
    case _: StartsWith | _: EndsWith | _: Contains | _: Like | _: Upper | _: Lower => true
    case _: Substring | _: StringTrim | _: StringTrimLeft | _: StringTrimRight | _: Length => true
    case _: Year | _: Quarter | _: Month | _: DayOfMonth => true
    case cast: Cast =>
      ColumnType.isWidening(cast.child.dataType, cast.dataType) ||
      (cast.child.dataType.isInstanceOf[IntegralType] && cast.dataType == DoubleType)
    case arithmetic: BinaryArithmetic => isTotalArithmetic(arithmetic)
    case _ => false
  }

  /** Floats have a value for all but a division by zero; integers where they may wrap. */
  private def isTotalArithmetic(arithmetic: BinaryArithmetic): Boolean = arithmetic match {
    case _: Add | _: Subtract | _: Multiply =>
      arithmetic.dataType match {
        case DoubleType => true
        case _: IntegralType => arithmetic.evalMode == EvalMode.LEGACY
        case decimal: DecimalType => decimal.precision < 38
        case _ => false
      }
    case _ => false
  }
}
