package org.apache.spark.sql.gpujoin

import java.util.concurrent.atomic.AtomicLong

import scala.jdk.CollectionConverters._

import org.apache.arrow.vector.VectorSchemaRoot

import org.apache.spark.rdd.RDD
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Attribute, Expression, UnsafeProjection}
import org.apache.spark.sql.columnar.{CachedBatch, CachedBatchSerializer}
import org.apache.spark.sql.execution.arrow.ArrowWriter
import org.apache.spark.sql.internal.SQLConf
import org.apache.spark.sql.types.{StructField, StructType}
import org.apache.spark.sql.util.ArrowUtils
import org.apache.spark.sql.vectorized.{ArrowColumnVector, ColumnarBatch, ColumnVector}
import org.apache.spark.storage.StorageLevel
import org.apache.spark.util.KnownSizeEstimation

final class ArrowCachedBatch(val columns: VectorSchemaRoot)
    extends CachedBatch
    with KnownSizeEstimation {
  override def numRows: Int = columns.getRowCount
  override def sizeInBytes: Long = 1000
  override def estimatedSize: Long = sizeInBytes
}

/** For spark.sql.cache.serializer: tables in memory as Arrow's columns, which their scan puts out
 * as they are. Every third batch has text with offsets of 8 bytes, others are empty or long. */
final class ArrowCache extends CachedBatchSerializer {
  override def supportsColumnarInput(schema: Seq[Attribute]): Boolean = false
  override def supportsColumnarOutput(schema: StructType): Boolean = true

  override def convertColumnarBatchToCachedBatch(
      input: RDD[ColumnarBatch],
      schema: Seq[Attribute],
      storageLevel: StorageLevel,
      conf: SQLConf): RDD[CachedBatch] = throw new UnsupportedOperationException

  override def convertInternalRowToCachedBatch(
      input: RDD[InternalRow],
      schema: Seq[Attribute],
      storageLevel: StorageLevel,
      conf: SQLConf): RDD[CachedBatch] = {
    val fields = StructType(schema.map(a => StructField(a.name, a.dataType, a.nullable)))
    input.mapPartitions { rows =>
      Iterator.from(0).takeWhile(_ => rows.hasNext).map { number =>
        val isLarge = number % 3 == 2
        val arrow = ArrowUtils.toArrowSchema(fields, "UTC", true, isLarge)
        val columns = VectorSchemaRoot.create(arrow, ArrowUtils.rootAllocator)
        val writer = ArrowWriter.create(columns)
        var left = ArrowCache.sizes(number % ArrowCache.sizes.length)
        while (left > 0 && rows.hasNext) {
          writer.write(rows.next())
          left -= 1
        }
        writer.finish()
        new ArrowCachedBatch(columns)
      }
    }
  }

  override def buildFilter(
      predicates: Seq[Expression],
      cachedAttributes: Seq[Attribute]): (Int, Iterator[CachedBatch]) => Iterator[CachedBatch] =
    (_, batches) => batches

  override def convertCachedBatchToColumnarBatch(
      input: RDD[CachedBatch],
      cacheAttributes: Seq[Attribute],
      selectedAttributes: Seq[Attribute],
      conf: SQLConf): RDD[ColumnarBatch] = {
    val ordinals = selectedAttributes.map { attribute =>
      cacheAttributes.indexWhere(_.exprId == attribute.exprId)
    }
    input.mapPartitions(_.map { batch =>
      val cached = batch.asInstanceOf[ArrowCachedBatch]
      ArrowCache.open.incrementAndGet()
      val columns = ordinals.map { ordinal =>
        val kept = cached.columns.getVector(ordinal)
        val lent = kept.getTransferPair(ArrowUtils.rootAllocator)
        lent.splitAndTransfer(0, cached.numRows)
        new ArrowColumnVector(lent.getTo): ColumnVector
      }
      new ColumnarBatch(columns.toArray, cached.numRows) {
        override def closeIfFreeable(): Unit = {
          super.closeIfFreeable()
          ArrowCache.open.decrementAndGet()
        }
      }
    })
  }

  override def convertCachedBatchToInternalRow(
      input: RDD[CachedBatch],
      cacheAttributes: Seq[Attribute],
      selectedAttributes: Seq[Attribute],
      conf: SQLConf): RDD[InternalRow] = {
    val types = selectedAttributes.map(_.dataType).toArray
    convertCachedBatchToColumnarBatch(input, cacheAttributes, selectedAttributes, conf)
      .mapPartitions { batches =>
        val toUnsafe = UnsafeProjection.create(types)
        batches.flatMap { batch =>
          batch.rowIterator.asScala.map(toUnsafe) ++ {
            batch.closeIfFreeable()
            Iterator.empty
          }
        }
      }
  }
}

object ArrowCache {
  /** Batches that their readers have not closed. */
  val open = new AtomicLong

  private val sizes = Seq(5, 0, 700, 20000, 1)
}
