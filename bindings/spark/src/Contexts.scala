package org.apache.spark.sql.gpujoin

import scala.collection.mutable

import org.apache.spark.{SparkEnv, SparkException, TaskContext}
import org.apache.spark.memory.MemoryMode

/** The library's contexts of this executor: one, unless sessions have different settings. */
object Contexts {
  /** Settings and the folder for rows that memory has no room for. */
  private val contexts = mutable.LinkedHashMap.empty[(Settings, String), Long]

  /** To be called by a task. */
  def of(asked: Settings): Long = synchronized {
    val settings = asked.copy(cudaDevice = cudaDevice(asked))
    val folder = SparkEnv.get.blockManager.diskBlockManager.localDirs.head.toString
    contexts.getOrElseUpdate((settings, folder), create(settings, folder))
  }

  /** Bytes that all of them hold. */
  def used: Long = synchronized(contexts.values.map(Native.contextUsed).sum)

  /** What the joins of this executor ran on last, and why. */
  def device: String =
    synchronized(contexts.values.lastOption.map(Native.contextDevice).getOrElse(""))

  /** The one that Spark assigned to the executor, where it schedules GPUs. */
  private def cudaDevice(settings: Settings): Int =
    if (settings.cudaDevice >= 0) {
      settings.cudaDevice
    } else {
      val assigned = TaskContext.get().resources().get("gpu").flatMap(_.addresses.headOption)
      assigned.flatMap(_.toIntOption).getOrElse(0)
    }

  private def create(settings: Settings, folder: String): Long = {
    Library.refusal(settings.library).foreach { reason =>
      throw new SparkException(s"gpujoin cannot join on this executor: $reason")
    }
    val env = SparkEnv.get
    val threads =
      if (settings.threads > 0) settings.threads
      else env.conf.getInt("spark.task.cpus", 1)
    val limit = limitOf(settings)
    Native.contextCreate(settings.device, settings.cudaDevice, threads, limit, folder)
  }

  /** Bytes that the context of these settings may hold. */
  def limitOf(settings: Settings): Long =
    if (settings.memoryLimit > 0) settings.memoryLimit else executionMemory

  private def executionMemory: Long = {
    val manager = SparkEnv.get.memoryManager
    manager.tungstenMemoryMode match {
      case MemoryMode.ON_HEAP => manager.maxOnHeapStorageMemory
      case MemoryMode.OFF_HEAP => manager.maxOffHeapStorageMemory
    }
  }
}
