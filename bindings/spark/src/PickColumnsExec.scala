package org.apache.spark.sql.gpujoin

import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.execution._
import org.apache.spark.sql.vectorized.ColumnarBatch

/** A projection that computes nothing: columns of batches in another order, or by other names. */
final case class PickColumnsExec(columns: Seq[NamedExpression], child: SparkPlan)
    extends UnaryExecNode
    with PartitioningPreservingUnaryExecNode
    with OrderPreservingUnaryExecNode {
  override def nodeName: String = "PickColumns"
  override def output: Seq[Attribute] = columns.map(_.toAttribute)
  override protected def outputExpressions: Seq[NamedExpression] = columns
  override protected def orderingExpressions: Seq[SortOrder] = child.outputOrdering
  override def supportsColumnar: Boolean = true
  override protected def doExecute(): RDD[InternalRow] = ColumnarToRowExec(this).execute()

  override protected def doExecuteColumnar(): RDD[ColumnarBatch] = {
    val ordinals = columns.map { column =>
      child.output.indexWhere(_.exprId == PickColumnsExec.source(column).exprId)
    }
    child.executeColumnar().mapPartitionsInternal(_.map(new PickedBatch(_, ordinals)))
  }

  override protected def withNewChildInternal(newChild: SparkPlan): SparkPlan =
    copy(child = newChild)
}

object PickColumnsExec {
  def isColumn(expression: NamedExpression): Boolean = expression match {
    case _: Attribute | Alias(_: Attribute, _) => true
    case _ => false
  }

  private def source(column: NamedExpression): Attribute = column match {
    case Alias(source: Attribute, _) => source
    case source => source.toAttribute
  }
}

private final class PickedBatch(all: ColumnarBatch, ordinals: Seq[Int])
    extends ColumnarBatch(ordinals.map(all.column).toArray, all.numRows) {
  override def close(): Unit = all.close()
  override def closeIfFreeable(): Unit = all.closeIfFreeable()
}
