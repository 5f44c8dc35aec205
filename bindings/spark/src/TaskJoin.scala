package org.apache.spark.sql.gpujoin

import org.apache.spark.{SparkException, TaskContext}
import org.apache.spark.sql.errors.QueryExecutionErrors
import org.apache.spark.sql.execution.metric.SQLMetric
import org.apache.spark.sql.types.DataType
import org.apache.spark.sql.vectorized.{ColumnarBatch, ColumnVector}

/** A build, as Native.buildCreate takes it. */
final case class BuildDescription(
    input: InputShape,
    columns: Array[Int],
    keys: Array[Int],
    keyFlags: Array[Int]) {
  def create(context: Long, task: TaskContext): Long =
    try Native.buildCreate(context, columns, input.types.length, keys, keyFlags)
    catch { case failure: GpuJoinFailure => throw Failures.ofSpark(failure, task) }
}

/** A join, as Native.joinCreate takes it, and where its output lies in the library's results. */
final case class JoinDescription(
    numbers: Array[Array[Int]],
    constants: Array[Byte],
    probe: InputShape,
    build: BuildDescription,
    positions: Array[Int],
    types: Array[DataType])

final case class Measure(metrics: Map[String, SQLMetric]) {
  def add(name: String, amount: Long): Unit = metrics(name) += amount

  /** Runs a part of the library's work, and says Spark's way what went wrong. */
  def timed[T](name: String, context: TaskContext)(work: => T): T = {
    val start = System.nanoTime()
    try {
      work
    } catch {
      case failure: GpuJoinFailure => throw Failures.ofSpark(failure, context)
    } finally {
      add(name, System.nanoTime() - start)
    }
  }
}

object Failures {
  def ofSpark(failure: GpuJoinFailure, context: TaskContext): Throwable = {
    context.killTaskIfInterrupted()
    failure.status match {
      case Codes.errorSeveralMatches => QueryExecutionErrors.scalarSubqueryReturnsMultipleRows()
      case Codes.errorMemoryLimit =>
        new SparkException(
          s"${failure.getMessage} (spark.gpujoin.memoryLimit may be larger)", failure)
      case _ => new SparkException(failure.getMessage, failure)
    }
  }
}

/** A side's rows in the library, which go with the task. */
final class TaskBuild(description: BuildDescription, context: Long, task: TaskContext) {
  val handle: Long = description.create(context, task)
  private val memory = new TaskMemory(task.taskMemoryManager())

  private var isOpen = true
  task.addTaskCompletionListener[Unit](_ => close())
  private val number = Native.buildHandle(handle)
  task.addTaskInterruptListener((_, _) => Native.buildCancel(number))

  def close(): Unit = if (isOpen) {
    isOpen = false
    Native.buildDestroy(handle)
    memory.release()
  }

  def append(items: Iterator[Any], measure: Measure): Unit = {
    val input = new Input(items, description.input, measure)
    val size = new Array[Long](3)
    try {
      while (
        input.hand { (bytes, length) =>
          memory.holdAtLeast(size(1) + length)
          measure.timed("buildTime", task)(Native.buildAppendRows(handle, bytes, 0, length))
        } { (addresses, rows) =>
          measure.timed("buildTime", task)(Native.buildAppendColumns(handle, addresses, rows))
        }
      ) {
        Native.buildSize(handle, size)
        memory.holdAtLeast(size(1))
      }
    } finally {
      input.close()
    }
    measure.timed("buildTime", task)(Native.buildFinish(handle))
    Native.buildSize(handle, size)
    measure.add("buildRows", size(0))
    measure.add("buildSize", size(1) + size(2))
  }
}

/** A task's batches of joined rows. A batch is good until the next one is asked for. */
final class TaskJoin(
    description: JoinDescription,
    build: Long,
    items: Iterator[Any],
    measure: Measure,
    task: TaskContext)(whenOver: => Unit)
    extends Iterator[ColumnarBatch] {
  private val handle =
    measure.timed("joinTime", task) {
      Native.joinCreate(build, description.numbers, description.constants)
    }
  private val input = new Input(items, description.probe, measure)
  private var batch = 0L
  private var ready: ColumnarBatch = _
  private var isOver = false

  task.addTaskCompletionListener[Unit](_ => close())
  private val number = Native.joinHandle(handle)
  task.addTaskInterruptListener((_, _) => Native.joinCancel(number))

  override def hasNext: Boolean = {
    if (ready == null && !isOver) advance()
    ready != null
  }

  override def next(): ColumnarBatch = {
    if (!hasNext) throw new NoSuchElementException
    val batch = ready
    ready = null
    batch
  }

  private def close(): Unit = if (!isOver) {
    isOver = true
    ready = null
    val spilled = Native.joinSpilled(handle)
    measure.add("spillSize", spilled)
    task.taskMetrics().incDiskBytesSpilled(spilled)
    releaseBatch()
    Native.joinDestroy(handle)
    input.close()
    whenOver
  }

  private def releaseBatch(): Unit = {
    Native.batchDestroy(batch)
    batch = 0
  }

  private def advance(): Unit = {
    releaseBatch()
    while (ready == null && !isOver) {
      task.killTaskIfInterrupted()
      val numbers = measure.timed("joinTime", task)(Native.joinNext(handle))
      numbers(0) match {
        case TaskJoin.needsRows => handRows()
        case TaskJoin.isOver => close()
        case _ => show(numbers)
      }
    }
  }

  private def handRows(): Unit = {
    val isMore = input.hand { (bytes, length) =>
      measure.timed("joinTime", task)(Native.joinAppendRows(handle, bytes, length))
    } { (addresses, rows) =>
      measure.timed("joinTime", task)(Native.joinAppendColumns(handle, addresses, rows))
    }
    if (!isMore) measure.timed("joinTime", task)(Native.joinFinish(handle))
  }

  private def show(numbers: Array[Long]): Unit = {
    batch = numbers(0)
    val rows = numbers(1).toInt
    val columns = description.positions.zip(description.types).map { case (position, dataType) =>
      val first = 2 + ArrowVector.numbers * position
      new ArrowVector(dataType, numbers.slice(first, first + ArrowVector.numbers)): ColumnVector
    }
    ready = new ColumnarBatch(columns, rows)
    measure.add("numOutputRows", rows)
    measure.add("numOutputBatches", 1)
  }
}

object TaskJoin {
  // What joinNext answers in the place of a batch.
  private val needsRows = 0L
  private val isOver = -1L
}
