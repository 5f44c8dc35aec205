package org.apache.spark.sql.gpujoin

import java.lang.ref.Cleaner

import scala.collection.mutable

import org.apache.spark.TaskContext
import org.apache.spark.broadcast.Broadcast
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.UnsafeRow
import org.apache.spark.unsafe.Platform

/** Builds of broadcast rows: one an executor, which all its tasks probe. One that no task uses
 * stays for later tasks, until Spark lets go of the rows, or others have been used since: the last
 * one, and those before it while they are few and leave the context's memory to joins that run. */
object SharedBuilds {
  private val mostUnused = 8
  private val unusedShare = 16 // of the context's limit
  private val cleaner = Cleaner.create()
  private val builds = mutable.LinkedHashMap.empty[Key, Shared]

  private case class Key(
      broadcast: Long,
      settings: Settings,
      columns: Seq[Int],
      keys: Seq[Int],
      flags: Seq[Int])

  private class Shared {
    var users = 0
    private var handle = 0L

    /** Of several tasks one builds, and the others wait; where it fails, or is killed, the next one
     * does. */
    def get(make: => Long): Long = synchronized {
      if (handle == 0) handle = make
      handle
    }

    def bytes: Long = synchronized(if (handle == 0) 0 else sizeOf(handle)(1))

    def destroy(): Unit = Native.buildDestroy(handle)
  }

  /** The build, until the task is over. */
  def forTask(
      rows: Broadcast[Array[InternalRow]],
      description: BuildDescription,
      settings: Settings,
      measure: Measure,
      task: TaskContext): Long = {
    val key = Key(
      rows.id,
      settings,
      description.columns.toSeq,
      description.keys.toSeq,
      description.keyFlags.toSeq)
    val chunks = rows.value
    val shared = use(key)
    task.addTaskCompletionListener[Unit](_ => leave(key))
    shared.get {
      val made = build(chunks, description, Contexts.of(settings), measure, task)
      cleaner.register(chunks, () => drop(key))
      made
    }
  }

  private def use(key: Key): Shared = synchronized {
    val shared = builds.remove(key).getOrElse(new Shared)
    shared.users += 1
    builds.put(key, shared) // behind all others
    shared
  }

  private def leave(key: Key): Unit = synchronized {
    builds(key).users -= 1
    val lastFirst = builds.toSeq.reverse.filter { case (other, shared) =>
      shared.users == 0 && other.settings == key.settings
    }
    val bytes = lastFirst.map(_._2.bytes).scanLeft(0L)(_ + _).tail
    val most = Contexts.limitOf(key.settings) / unusedShare
    val staying = math.max(1, math.min(mostUnused, bytes.takeWhile(_ <= most).size))
    lastFirst.drop(staying).foreach { case (unused, _) => drop(unused) }
  }

  private def drop(key: Key): Unit = synchronized {
    if (builds.get(key).exists(_.users == 0)) builds.remove(key).foreach(_.destroy())
  }

  /** Of this executor: how many there are. */
  def count: Int = synchronized(builds.size)

  private def build(
      chunks: Array[InternalRow],
      description: BuildDescription,
      context: Long,
      measure: Measure,
      task: TaskContext): Long = {
    val handle = description.create(context, task)
    val number = Native.buildHandle(handle)
    var isBuilt = false
    task.addTaskInterruptListener((_, _) => if (!isBuilt) Native.buildCancel(number))
    try {
      measure.timed("buildTime", task) {
        chunks.foreach { chunk =>
          val packed = chunk.asInstanceOf[UnsafeRow]
          Native.buildAppendRows(
            handle,
            packed.getBaseObject,
            packed.getBaseOffset - Platform.BYTE_ARRAY_OFFSET,
            packed.getSizeInBytes)
        }
        Native.buildFinish(handle)
      }
      isBuilt = true
    } finally {
      if (!isBuilt) Native.buildDestroy(handle)
    }
    val size = sizeOf(handle)
    measure.add("buildRows", size(0))
    measure.add("buildSize", size(1) + size(2))
    handle
  }

  /** Rows, bytes in memory, and in files. */
  private def sizeOf(handle: Long): Array[Long] = {
    val size = new Array[Long](3)
    Native.buildSize(handle, size)
    size
  }
}
