package org.apache.spark.sql.gpujoin

import java.nio.file.{Files, Path, StandardCopyOption}

import scala.collection.mutable
import scala.util.control.NonFatal

/** The native libraries, loaded once in a process: the first path with one counts. */
object Library {
  private var isLoaded = false
  private val refusals = mutable.Map.empty[String, String]

  /** None where joins can run, else why they cannot. */
  def refusal(path: String): Option[String] = synchronized {
    if (!isLoaded && !refusals.contains(path)) {
      load(path) match {
        case Some(reason) => refusals(path) = reason
        case None => isLoaded = true
      }
    }
    if (isLoaded) None else refusals.get(path)
  }

  private def load(path: String): Option[String] =
    try {
      val named = Option(path).filter(_.nonEmpty).orElse(sys.env.get("GPUJOIN_LIBRARY"))
      // The shim needs it by name, and finds it loaded; without a path it is the loader's to find.
      named.foreach(file => System.load(Path.of(file).toAbsolutePath.toString))
      loadShim()
      Option(Native.refusal())
    } catch {
      case missing: LinkageError => Some(s"no library: ${missing.getMessage}")
      case NonFatal(failure) => Some(s"no library: $failure")
    }

  private def loadShim(): Unit = {
    val file = Files.createTempFile("gpujoin_spark", ".so")
    try {
      val shim = getClass.getResourceAsStream("/native/libgpujoin_spark.so")
      try Files.copy(shim, file, StandardCopyOption.REPLACE_EXISTING)
      finally shim.close()
      System.load(file.toString)
    } finally {
      Files.delete(file)
    }
  }
}
