package org.apache.spark.sql.gpujoin

import java.util.{Collections, WeakHashMap}

import scala.collection.mutable

import org.apache.spark.internal.Logging
import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.FunctionIdentifier
import org.apache.spark.sql.catalyst.expressions.{AttributeReference, Expression, ExpressionInfo}
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.plans.logical.{LocalRelation, LogicalPlan}
import org.apache.spark.sql.types.{BooleanType, StringType}
import org.apache.spark.unsafe.types.UTF8String

/** Of a join: whether it was taken, and why not. */
final case class Decision(taken: Boolean, joinType: String, keys: String, reason: String)

/** The decisions of a session since it last asked for them. With AQE a join is decided upon each
 * time that Spark plans the rest of a query again; the same answer is kept once. */
object Decisions extends Logging {
  private val most = 1000
  private val made =
    Collections.synchronizedMap(new WeakHashMap[SparkSession, mutable.LinkedHashSet[Decision]])

  def add(session: SparkSession, decision: Decision): Unit = made.synchronized {
    val decisions = made.computeIfAbsent(session, _ => mutable.LinkedHashSet.empty)
    if (decisions.size < most && decisions.add(decision) && !decision.taken) {
      logInfo(s"gpujoin leaves a join to Spark: $decision")
    }
  }

  private def take(session: SparkSession): Seq[Decision] = made.synchronized {
    Option(made.remove(session)).toSeq.flatten
  }

  private val columns = Seq(
    AttributeReference("taken", BooleanType, nullable = false)(),
    AttributeReference("join_type", StringType, nullable = false)(),
    AttributeReference("keys", StringType, nullable = false)(),
    AttributeReference("reason", StringType, nullable = false)())

  private def relation(arguments: Seq[Expression]): LogicalPlan = {
    require(arguments.isEmpty, "gpujoin_decisions() takes no arguments")
    val rows = take(SparkSession.active).map { decision =>
      InternalRow(
        decision.taken,
        UTF8String.fromString(decision.joinType),
        UTF8String.fromString(decision.keys),
        UTF8String.fromString(decision.reason))
    }
    LocalRelation(columns.map(_.newInstance()), rows)
  }

  val function: (FunctionIdentifier, ExpressionInfo, Seq[Expression] => LogicalPlan) = (
    FunctionIdentifier("gpujoin_decisions"),
    new ExpressionInfo(getClass.getName, "gpujoin_decisions"),
    relation)
}
