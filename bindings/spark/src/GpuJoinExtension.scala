package org.apache.spark.sql.gpujoin

import org.apache.spark.sql.SparkSessionExtensions

/** For spark.sql.extensions. */
class GpuJoinExtension extends (SparkSessionExtensions => Unit) {
  override def apply(extensions: SparkSessionExtensions): Unit = {
    Settings // which registers them
    extensions.injectPlannerStrategy(JoinStrategy(_))
    extensions.injectColumnar(_ => BatchesIntoJoins)
    extensions.injectTableFunction(Decisions.function)
  }
}
