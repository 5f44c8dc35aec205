package org.apache.spark.sql.gpujoin

import org.apache.spark.network.util.ByteUnit
import org.apache.spark.sql.internal.SQLConf

/** What a join runs with on the executors. */
final case class Settings(
    library: String,
    device: Int,
    cudaDevice: Int,
    threads: Int,
    memoryLimit: Long)

object Settings {
  val enabled = SQLConf
    .buildConf("spark.gpujoin.enabled")
    .doc("false: plans are Spark's.")
    .version("4.3.0")
    .booleanConf
    .createWithDefault(true)

  val force = SQLConf
    .buildConf("spark.gpujoin.force")
    .doc("true: every join that can be taken is.")
    .version("4.3.0")
    .booleanConf
    .createWithDefault(false)

  val memoryLimit = SQLConf
    .buildConf("spark.gpujoin.memoryLimit")
    .doc("Of an executor's joins, and on its device; 0: as much as Spark's memory manager has.")
    .version("4.3.0")
    .bytesConf(ByteUnit.BYTE)
    .checkValue(_ >= 0, "a number of bytes, or 0")
    .createWithDefault(0)

  val device = SQLConf
    .buildConf("spark.gpujoin.device")
    .doc("automatic, cpu, cuda, or cuda:1 for one of several.")
    .version("4.3.0")
    .stringConf
    .checkValue(named(_).isDefined, "automatic, cpu, cuda or cuda:N")
    .createWithDefault("automatic")

  val threads = SQLConf
    .buildConf("spark.gpujoin.threads")
    .doc("Of a task's join on the CPU; 0: as many as spark.task.cpus.")
    .version("4.3.0")
    .intConf
    .checkValue(_ >= 0, "a number of threads, or 0")
    .createWithDefault(0)

  val library = SQLConf
    .buildConf("spark.gpujoin.library")
    .doc("The path of libgpujoin.so, on the driver and every executor; by default that of the " +
      "environment's GPUJOIN_LIBRARY, else the loader finds it.")
    .version("4.3.0")
    .stringConf
    .createWithDefault("")

  private val anyCudaDevice = -1

  private def named(device: String): Option[(Int, Int)] = device match {
    case "automatic" => Some((Codes.deviceAutomatic, anyCudaDevice))
    case "cpu" => Some((Codes.deviceCpu, anyCudaDevice))
    case "cuda" => Some((Codes.deviceCuda, anyCudaDevice))
    case numbered if numbered.matches("cuda:[0-9]{1,4}") =>
      Some((Codes.deviceCuda, numbered.drop("cuda:".length).toInt))
    case _ => None
  }

  def of(conf: SQLConf): Settings = {
    val (kind, cudaDevice) = named(conf.getConf(device)).get
    Settings(
      conf.getConf(library),
      kind,
      cudaDevice,
      conf.getConf(threads),
      conf.getConf(memoryLimit))
  }
}
