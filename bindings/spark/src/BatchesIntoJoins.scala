package org.apache.spark.sql.gpujoin

import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.plans.{InnerLike, LeftSemi}
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution._

/** Joins put out batches, and take batches as well as rows: what Spark would turn into the other
 * for them stays as it is. */
object BatchesIntoJoins extends ColumnarRule with PredicateHelper {
  override def postColumnarTransitions: Rule[SparkPlan] = (plan: SparkPlan) =>
    plan.transformUp { case join: GpuJoinExec =>
      join.copy(
        left = input(join.left, needless(join, join.leftColumns)),
        right = input(join.right, needless(join, join.rightColumns)))
    }

  /** Keys whose NULLs need not be kept from the join: rows with them come out of none of these. */
  private def needless(join: GpuJoinExec, keys: Seq[Attribute]): AttributeSet =
    join.joinType match {
      case _: InnerLike | LeftSemi =>
        AttributeSet(keys.zip(join.nullsEqual).collect { case (key, false) => key })
      case _ => AttributeSet.empty
    }

  private def input(plan: SparkPlan, needless: AttributeSet): SparkPlan = plan match {
    case RowToColumnarExec(rows) => batches(rows, needless).getOrElse(rows)
    case other => other
  }

  /** Of a plan that is rows only for the sake of what lies between the join and batches: those. */
  private def batches(plan: SparkPlan, needless: AttributeSet): Option[SparkPlan] = plan match {
    case ColumnarToRowExec(batches) => Some(batches)
    case either if either.supportsColumnar => Some(either)
    case FilterExec(condition, child) =>
      val asksNothing = splitConjunctivePredicates(condition).forall {
        case IsNotNull(key: Attribute) => needless.contains(key)
        case _ => false
      }
      if (asksNothing) batches(child, needless) else None
    case ProjectExec(columns, child) if columns.forall(PickColumnsExec.isColumn) =>
      val below = AttributeSet(columns.collect {
        case key: Attribute if needless.contains(key) => key
        case renamed @ Alias(key: Attribute, _) if needless.contains(renamed.toAttribute) => key
      })
      batches(child, below).map(PickColumnsExec(columns, _))
    case _ => None
  }
}
