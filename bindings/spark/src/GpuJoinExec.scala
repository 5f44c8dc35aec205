package org.apache.spark.sql.gpujoin

import org.apache.spark.TaskContext
import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions._
import org.apache.spark.sql.catalyst.optimizer.{BuildLeft, BuildRight, BuildSide}
import org.apache.spark.sql.catalyst.plans._
import org.apache.spark.sql.catalyst.plans.physical._
import org.apache.spark.sql.execution.{BinaryExecNode, ColumnarToRowExec, ExplainUtils, SparkPlan}
import org.apache.spark.sql.execution.joins.{BroadcastHashJoinExec, ShuffledHashJoinExec}
import org.apache.spark.sql.execution.metric.SQLMetrics
import org.apache.spark.sql.vectorized.ColumnarBatch

/** A join by the library, broadcast or shuffled.
 *
 * @param leftKeys    as Spark has them: what rows are distributed by
 * @param leftColumns what the library compares, pairwise with `rightColumns`
 * @param nullsEqual  of each pair, whether NULL equals NULL
 * @param output      any of the columns that the join has
 */
final case class GpuJoinExec(
    leftKeys: Seq[Expression],
    rightKeys: Seq[Expression],
    joinType: JoinType,
    buildSide: BuildSide,
    condition: Option[Expression],
    left: SparkPlan,
    right: SparkPlan,
    isBroadcast: Boolean,
    isNullAware: Boolean,
    leftColumns: Seq[Attribute],
    rightColumns: Seq[Attribute],
    nullsEqual: Seq[Boolean],
    output: Seq[Attribute],
    settings: Settings)
    extends BinaryExecNode {

  override def nodeName: String = "GpuJoin"

  override protected def stringArgs: Iterator[Any] = Iterator(
    if (isBroadcast) "broadcast" else "shuffled",
    leftKeys,
    rightKeys,
    if (isNullAware) "NullAwareAnti" else joinType,
    buildSide,
    condition,
    output)

  override def verboseStringWithOperatorId(): String = {
    val how = if (isBroadcast) "broadcast" else "shuffled"
    s"""
       |$formattedNodeName
       |${ExplainUtils.generateFieldString("Output", output)}
       |${ExplainUtils.generateFieldString("Left keys", leftKeys)}
       |${ExplainUtils.generateFieldString("Right keys", rightKeys)}
       |${ExplainUtils.generateFieldString("Join type", joinType.toString)}
       |${ExplainUtils.generateFieldString("Join condition", condition.mkString)}
       |${ExplainUtils.generateFieldString("Build", s"$buildSide, $how")}
       |""".stripMargin
  }

  override lazy val metrics = Map(
    "numOutputRows" -> SQLMetrics.createMetric(sparkContext, "number of output rows"),
    "numOutputBatches" -> SQLMetrics.createMetric(sparkContext, "number of output batches"),
    "numInputBatches" -> SQLMetrics.createMetric(sparkContext, "number of input batches"),
    "buildRows" -> SQLMetrics.createMetric(sparkContext, "number of build rows"),
    "buildSize" -> SQLMetrics.createSizeMetric(sparkContext, "build size"),
    "buildTime" -> SQLMetrics.createNanoTimingMetric(sparkContext, "time to build"),
    "joinTime" -> SQLMetrics.createNanoTimingMetric(sparkContext, "time to join"),
    "spillSize" -> SQLMetrics.createSizeMetric(sparkContext, "spill size"))

  /** Spark's own join of the same rows, of which the distribution of ours is. */
  private def sparks =
    if (isBroadcast) {
      BroadcastHashJoinExec(leftKeys, rightKeys, joinType, buildSide, None, left, right)
    } else {
      ShuffledHashJoinExec(leftKeys, rightKeys, joinType, buildSide, None, left, right)
    }

  override def outputPartitioning: Partitioning = sparks.outputPartitioning

  override def requiredChildDistribution: Seq[Distribution] = (isBroadcast, buildSide) match {
    case (false, _) => sparks.requiredChildDistribution
    case (true, BuildLeft) => Seq(BroadcastDistribution(PackedRowsMode), UnspecifiedDistribution)
    case (true, BuildRight) => Seq(UnspecifiedDistribution, BroadcastDistribution(PackedRowsMode))
  }

  override def supportsColumnar: Boolean = true

  override protected def doExecute(): RDD[InternalRow] = ColumnarToRowExec(this).execute()

  override protected def doExecuteColumnar(): RDD[ColumnarBatch] = {
    val description = describe
    val measure = Measure(metrics)
    val asked = settings
    if (isBroadcast) {
      val (build, probe) = if (buildSide == BuildLeft) (left, right) else (right, left)
      val rows = build.executeBroadcast[Array[InternalRow]]()
      batchesOrRows(probe).mapPartitionsInternal { input =>
        val context = TaskContext.get()
        val shared = SharedBuilds.forTask(rows, description.build, asked, measure, context)
        new TaskJoin(description, shared, input, measure, context)(())
      }
    } else {
      val isBuildLeft = buildSide == BuildLeft
      batchesOrRows(left).zipPartitions(batchesOrRows(right)) { (leftInput, rightInput) =>
        val (build, probe) =
          if (isBuildLeft) (leftInput, rightInput) else (rightInput, leftInput)
        val context = TaskContext.get()
        val own = new TaskBuild(description.build, Contexts.of(asked), context)
        own.append(build, measure)
        new TaskJoin(description, own.handle, probe, measure, context)(own.close())
      }
    }
  }

  private def batchesOrRows(plan: SparkPlan): RDD[Any] =
    (if (plan.supportsColumnar) plan.executeColumnar() else plan.execute()).asInstanceOf[RDD[Any]]

  private def describe: JoinDescription = {
    val read = output ++ condition.toSeq.flatMap(_.references)
    // A join puts out at least a column: the rows are counted by it.
    val counted = if (output.exists(isFromChildren)) None else Some(leftColumns.head)
    def side(plan: SparkPlan, keys: Seq[Attribute]) =
      SideColumns(plan.output, AttributeSet(keys ++ read.filter(plan.outputSet.contains)).toSeq)
    def outputs(plan: SparkPlan) = (output ++ counted).filter(plan.outputSet.contains).distinct
    val leftSide = side(left, leftColumns)
    val rightSide = side(right, rightColumns)
    val encoded = Residual.encode(condition, leftSide, rightSide)
    val results = outputs(left) ++ outputs(right)
    val mark = joinType match {
      case ExistenceJoin(_) => results.length
      case _ => -1
    }
    def shape(plan: SparkPlan, side: SideColumns) =
      InputShape(plan.output.map(_.dataType).toArray, plan.supportsColumnar, side.readOrdinals)
    val isBuildLeft = buildSide == BuildLeft
    val (probePlan, buildPlan) = if (isBuildLeft) (right, left) else (left, right)
    val (probe, build) = if (isBuildLeft) (rightSide, leftSide) else (leftSide, rightSide)
    val (buildKeys, buildCode) =
      if (isBuildLeft) (leftColumns, Codes.left) else (rightColumns, Codes.right)
    val keyFlags = nullsEqual.map(if (_) Codes.keyNullEqual else 0).toArray
    JoinDescription(
      numbers = Array(
        Array(kind, buildCode, mark, probe.output.length),
        probe.numbers,
        leftColumns.map(leftSide.position).toArray,
        rightColumns.map(rightSide.position).toArray,
        keyFlags,
        outputs(left).map(leftSide.position).toArray,
        outputs(right).map(rightSide.position).toArray,
        encoded.nodes,
        encoded.types),
      constants = encoded.packed,
      probe = shape(probePlan, probe),
      build = BuildDescription(
        shape(buildPlan, build),
        build.numbers,
        buildKeys.map(build.position).toArray,
        keyFlags),
      positions = output.map { attribute =>
        val position = results.indexWhere(_.exprId == attribute.exprId)
        if (position >= 0) position else mark
      }.toArray,
      types = output.map(_.dataType).toArray)
  }

  private def isFromChildren(attribute: Attribute) =
    left.outputSet.contains(attribute) || right.outputSet.contains(attribute)

  private def kind: Int = joinType match {
    case _: InnerLike => Codes.kindInner
    case LeftOuter => Codes.kindLeft
    case RightOuter => Codes.kindRight
    case FullOuter => Codes.kindFull
    case LeftSemi => Codes.kindLeftSemi
    case LeftAnti if isNullAware => Codes.kindLeftNotIn
    case LeftAnti => Codes.kindLeftAnti
    case LeftSingle => Codes.kindLeftSingle
    case ExistenceJoin(_) => Codes.kindLeftMark
    case other => throw new IllegalStateException(s"no physical join: $other")
  }

  override protected def withNewChildrenInternal(
      newLeft: SparkPlan,
      newRight: SparkPlan): SparkPlan =
    copy(left = newLeft, right = newRight)
}

object GpuJoinExec {
  val mostKeys = 16
}
