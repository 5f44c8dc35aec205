package org.apache.spark.sql.gpujoin

import scala.collection.mutable.ArrayBuffer

import org.apache.spark.sql.SparkSession
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.optimizer.{BuildLeft, BuildRight, BuildSide}
import org.apache.spark.sql.catalyst.planning._
import org.apache.spark.sql.catalyst.plans._
import org.apache.spark.sql.catalyst.plans.logical.{Join, LogicalPlan, Project}
import org.apache.spark.sql.catalyst.plans.physical.BroadcastPartitioning
import org.apache.spark.sql.classic
import org.apache.spark.sql.execution.{FilterExec, ProjectExec, SparkPlan, SparkStrategy}
import org.apache.spark.sql.execution.adaptive._
import org.apache.spark.sql.execution.joins._

/** Takes joins over from Spark: Spark's own strategy says which way it would join, and the same
 * way, broadcast or shuffled, is gone with the library. */
final case class JoinStrategy(session: SparkSession) extends SparkStrategy {
  private def conf = classicSession.sessionState.conf
  private def classicSession = session.asInstanceOf[classic.SparkSession]

  override def apply(plan: LogicalPlan): Seq[SparkPlan] =
    if (!conf.getConf(Settings.enabled)) {
      Nil
    } else {
      plan match {
        case Project(output, join: Join) if output.forall(_.isInstanceOf[Attribute]) =>
          take(join, output.map(_.toAttribute))
        case join: Join => take(join, join.output)
        case _ => Nil
      }
    }

  /** A join as Spark would do it. */
  private case class Choice(
      leftKeys: Seq[Expression],
      rightKeys: Seq[Expression],
      joinType: JoinType,
      buildSide: BuildSide,
      condition: Option[Expression],
      isBroadcast: Boolean,
      isNullAware: Boolean = false)

  private def take(join: Join, output: Seq[Attribute]): Seq[SparkPlan] = {
    def decide(taken: Boolean, reason: String): Unit =
      Decisions.add(
        session,
        Decision(taken, nameOf(join.joinType), join.condition.map(_.sql).getOrElse(""), reason))
    try {
      Library.refusal(conf.getConf(Settings.library)).foreach(reason => throw Declined(reason))
      val taken = planned(join, choice(join), output)
      decide(taken = true, "")
      Seq(taken)
    } catch {
      case Declined(reason) =>
        decide(taken = false, reason)
        Nil
    }
  }

  private def nameOf(joinType: JoinType) = joinType match {
    case ExistenceJoin(_) => "Existence"
    case other => other.toString
  }

  private def choice(join: Join): Choice =
    broadcastSide(join) match {
      case Some(side) => broadcastBefore(join, side)
      case None =>
        val selection = classicSession.sessionState.planner.JoinSelection
        Iterator(LogicalQueryStageStrategy, selection).flatMap(_(join)).nextOption() match {
          case Some(spark: BroadcastHashJoinExec) =>
            checkWorth()
            Choice(spark.leftKeys, spark.rightKeys, spark.joinType, spark.buildSide,
              spark.condition, isBroadcast = true, spark.isNullAwareAntiJoin)
          case Some(spark: ShuffledHashJoinExec) =>
            checkWorth()
            Choice(spark.leftKeys, spark.rightKeys, spark.joinType, spark.buildSide,
              spark.condition, isBroadcast = false)
          case Some(spark: SortMergeJoinExec) =>
            Choice(spark.leftKeys, spark.rightKeys, spark.joinType, smallerSide(join),
              spark.condition, isBroadcast = false)
          case _ => throw Declined("no equal key")
        }
    }

  /** Spark's own hash joins are compiled with what is around them. Where it would sort both sides
   * instead, there is something to gain. */
  private def checkWorth(): Unit =
    if (!conf.getConf(Settings.force)) throw Declined("not worth it: Spark need not sort for it")

  /** With AQE a side may have been broadcast before the rest of the query is planned again: then
   * the join that it was broadcast for has to come out again. */
  private def broadcastSide(join: Join): Option[BuildSide] = {
    def stage(plan: LogicalPlan) = plan match {
      case LogicalQueryStage(_, stage: BroadcastQueryStageExec) => Some(stage.outputPartitioning)
      case _ => None
    }
    (stage(join.left), stage(join.right)) match {
      case (None, None) => None
      case (Some(BroadcastPartitioning(PackedRowsMode)), _) => Some(BuildLeft)
      case (_, Some(BroadcastPartitioning(PackedRowsMode))) => Some(BuildRight)
      case _ => throw Declined("a side has been broadcast for Spark's own join")
    }
  }

  private def broadcastBefore(join: Join, side: BuildSide): Choice = join match {
    case ExtractEquiJoinKeys(joinType, leftKeys, rightKeys, condition, _, _, _, _) =>
      Choice(leftKeys, rightKeys, joinType, side, condition, isBroadcast = true)
    case ExtractSingleColumnNullAwareAntiJoin(leftKeys, rightKeys) =>
      Choice(leftKeys, rightKeys, LeftAnti, side, None, isBroadcast = true, isNullAware = true)
    case other => throw new IllegalStateException(s"broadcast without an equal key: $other")
  }

  private def smallerSide(join: Join): BuildSide = join.joinType match {
    case _: ExistenceJoin | LeftSingle => BuildRight
    case _ if join.left.stats.sizeInBytes < join.right.stats.sizeInBytes => BuildLeft
    case _ => BuildRight
  }

  private def planned(join: Join, choice: Choice, output: Seq[Attribute]): SparkPlan =
    try {
      joined(join, choice, output)
    } catch {
      case _: Declined if choice.joinType == Inner && choice.condition.isDefined =>
        // Spark evaluates it on the rows that come out.
        val columns = (AttributeSet(output) ++ choice.condition.get.references).toSeq
        val unfiltered = joined(join, choice.copy(condition = None), columns)
        ProjectExec(output, FilterExec(choice.condition.get, unfiltered))
    }

  private def joined(join: Join, choice: Choice, output: Seq[Attribute]): SparkPlan = {
    val left = new Side(join.left)
    val right = new Side(join.right)
    val pairs = KeyPair.of(choice.leftKeys, choice.rightKeys)
    if (pairs.length > GpuJoinExec.mostKeys) {
      throw Declined(s"${pairs.length} keys: the library takes ${GpuJoinExec.mostKeys}")
    }
    pairs.foreach(_.check())
    output.foreach { attribute =>
      if (ColumnType.of(attribute.dataType).isEmpty) {
        throw Declined(s"a column of type ${attribute.dataType.sql}")
      }
    }
    val leftColumns = pairs.map(pair => left.column(pair.left))
    val rightColumns = pairs.map(pair => right.column(pair.right))

    val condition = choice.condition.map { condition =>
      Residual.rewrite(condition, join.left.outputSet, join.right.outputSet) { part =>
        (if (part.references.subsetOf(join.left.outputSet)) left else right).column(part)
      }
    }
    GpuJoinExec(choice.leftKeys, choice.rightKeys, choice.joinType, choice.buildSide, condition,
      left.plan, right.plan, choice.isBroadcast, choice.isNullAware, leftColumns, rightColumns,
      pairs.map(_.isNullEqual), output, Settings.of(conf))
  }

  /** A side, with a column for each expression that is no column of it yet. */
  private class Side(logical: LogicalPlan) {
    private val computed = ArrayBuffer.empty[Alias]

    def column(expression: Expression): Attribute = expression match {
      case attribute: Attribute => attribute
      case _ =>
        computed
          .find(_.child.semanticEquals(expression))
          .getOrElse {
            computed += Alias(expression, s"gpujoin_${computed.length}")()
            computed.last
          }
          .toAttribute
    }

    def plan: SparkPlan =
      if (computed.isEmpty) planLater(logical)
      else ProjectExec(logical.output ++ computed, planLater(logical))
  }
}

/** A pair of keys. Spark makes two pairs of one that takes NULLs for equal; the library has a flag
 * for it. */
final case class KeyPair(left: Expression, right: Expression, isNullEqual: Boolean) {
  def check(): Unit =
    if (!ColumnType.areComparable(left.dataType, right.dataType)) {
      val types = Seq(left, right).map(_.dataType.sql).distinct
      throw Declined(s"a key of type ${types.mkString(" and ")}")
    }
}

object KeyPair {
  private def nullSafe(first: Expression, second: Expression): Option[Expression] =
    (first, second) match {
      case (Coalesce(Seq(value, _: Literal)), IsNull(same)) if value.semanticEquals(same) =>
        Some(value)
      case _ => None
    }

  def of(left: Seq[Expression], right: Seq[Expression]): Seq[KeyPair] =
    if (left.isEmpty) {
      Nil
    } else {
      val nullSafePair = for {
        (leftSecond, rightSecond) <- left.lift(1).zip(right.lift(1))
        leftValue <- nullSafe(left.head, leftSecond)
        rightValue <- nullSafe(right.head, rightSecond)
      } yield KeyPair(Residual.valueOf(leftValue), Residual.valueOf(rightValue), isNullEqual = true)
      nullSafePair match {
        case Some(pair) => pair +: of(left.drop(2), right.drop(2))
        case None =>
          val pair = KeyPair(
            Residual.valueOf(left.head), Residual.valueOf(right.head), isNullEqual = false)
          pair +: of(left.tail, right.tail)
      }
    }
}
