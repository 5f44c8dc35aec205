package org.apache.spark.sql.gpujoin

/** Numbers of gpujoin.h. */
object Codes {
  val deviceAutomatic = 0
  val deviceCuda = 1
  val deviceCpu = 2

  val int8 = 1
  val int16 = 2
  val int32 = 3
  val int64 = 4
  val float32 = 9
  val float64 = 10
  val bytes16 = 17
  val bool = 22
  val utf8 = 23
  val binary = 26
  val decimal64 = 31

  val left = 1
  val right = 2

  val kindInner = 1
  val kindLeft = 2
  val kindRight = 3
  val kindFull = 4
  val kindLeftSemi = 5
  val kindLeftAnti = 7
  val kindLeftMark = 9
  val kindLeftNotIn = 11
  val kindLeftSingle = 13

  val keyNullEqual = 1

  val column = 1
  val constant = 2
  val equal = 3
  val notDistinct = 10
  val less = 5
  val lessEqual = 6
  val greater = 7
  val greaterEqual = 8
  val and = 13
  val or = 14
  val not = 15
  val isNull = 16
  val isNotNull = 17
  val caseWhen = 21
  val coalesce = 22
  val add = 23
  val subtract = 24
  val multiply = 25

  val errorOutOfMemory = 6
  val errorMemoryLimit = 7
  val errorCancelled = 10
  val errorSeveralMatches = 16
}
