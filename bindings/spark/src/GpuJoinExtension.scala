package org.apache.spark.sql.gpujoin

import org.apache.spark.sql.SparkSessionExtensions
import org.apache.spark.sql.catalyst.rules.Rule
import org.apache.spark.sql.execution._

/** For spark.sql.extensions. */
class GpuJoinExtension extends (SparkSessionExtensions => Unit) {
  override def apply(extensions: SparkSessionExtensions): Unit = {
    Settings // which registers them
    extensions.injectPlannerStrategy(JoinStrategy(_))
    extensions.injectColumnar(_ => RowsIntoJoins)
    extensions.injectTableFunction(Decisions.function)
  }
}

/** Joins put out batches, but take rows as they are: only another join's batches are of use. */
object RowsIntoJoins extends ColumnarRule {
  private def input(plan: SparkPlan): SparkPlan = plan match {
    case join: GpuJoinExec => join
    case RowToColumnarExec(rows) => rows
    case batches if batches.supportsColumnar => ColumnarToRowExec(batches)
    case rows => rows
  }

  override def postColumnarTransitions: Rule[SparkPlan] = (plan: SparkPlan) =>
    plan.transformUp { case join: GpuJoinExec =>
      join.withNewChildren(join.children.map(input))
    }
}
