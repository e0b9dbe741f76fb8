package org.apache.spark.sql.rheostat

import org.apache.spark.rdd.RDD
import org.apache.spark.resource.ResourceProfile
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Attribute, SortOrder}
import org.apache.spark.sql.catalyst.expressions.codegen.{CodegenContext, ExprCode}
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, UnaryNode}
import org.apache.spark.sql.catalyst.plans.physical.Partitioning
import org.apache.spark.sql.classic.{DataFrame, Dataset, SparkSession}
import org.apache.spark.sql.execution.{CodegenSupport, SparkPlan, SparkStrategy, SQLExecutionRDD, UnaryExecNode}

/** The rows of `child`, in a stage that runs only on the executors that `preferences` names. */
case class Pinned(child: LogicalPlan, preferences: ExecutorPreferences) extends UnaryNode {
  override def output: Seq[Attribute] = child.output
  override def simpleString(maxFields: Int): String = s"Pinned to $preferences"
  override protected def withNewChildInternal(newChild: LogicalPlan): Pinned = copy(child = newChild)
}

/** Adds no code to what is generated for the stage: only the RDD that it reads has preferences. */
case class PinnedExec(child: SparkPlan, preferences: ExecutorPreferences) extends UnaryExecNode with CodegenSupport {
  override def output: Seq[Attribute] = child.output
  override def outputPartitioning: Partitioning = child.outputPartitioning
  override def outputOrdering: Seq[SortOrder] = child.outputOrdering
  // The profile goes on an RDD of our own, never on one that an exchange may share.
  override protected def doExecute(): RDD[InternalRow] = preferring(child.execute())
  // Where nothing is generated below, rows would be taken apart and put together again for nothing.
  override def supportCodegen: Boolean = child match {
    case generating: CodegenSupport => generating.supportCodegen
    case _ => false
  }
  override def inputRDDs(): Seq[RDD[InternalRow]] = child.asInstanceOf[CodegenSupport].inputRDDs().map(preferring)
  override protected def doProduce(ctx: CodegenContext): String =
    child.asInstanceOf[CodegenSupport].produce(ctx, this)
  override def doConsume(ctx: CodegenContext, input: Seq[ExprCode], row: ExprCode): String = consume(ctx, input)
  private def preferring(input: RDD[InternalRow]): RDD[InternalRow] = {
    val preferred = PreferringRDD.in(input, preferences).getOrElse(preferences.now)
    new PreferringRDD(input, new SQLExecutionRDD(input, conf), conf, preferences, preferred, StageKind.of(child))
      .withResources(preferred.profile)
  }
  override def simpleString(maxFields: Int): String = s"Pinned to $preferences"
  override protected def withNewChildInternal(newChild: SparkPlan): PinnedExec = copy(child = newChild)
  // Some operators send the plan below them to executors, which may not have this class. Java replaces an object by
  // one of the same class only once, so pins below this one are left out here.
  private def writeReplace(): AnyRef = child match {
    case below: PinnedExec => below.writeReplace()
    case unpinned => unpinned
  }
}

object PinStrategy extends SparkStrategy {
  override def apply(plan: LogicalPlan): Seq[SparkPlan] = plan match {
    case Pinned(child, preferences) => PinnedExec(planLater(child), preferences) :: Nil
    case _ => Nil
  }
}

object Pin {
  def pin(df: DataFrame, profile: ResourceProfile): DataFrame = pin(df, new ExecutorPreferences(profile))

  def pin(df: DataFrame, preferences: ExecutorPreferences): DataFrame = {
    plant(df.sparkSession)
    Dataset.ofRows(df.sparkSession, Pinned(df.logicalPlan, preferences))
  }

  private def plant(spark: SparkSession): Unit = spark.synchronized {
    val methods = spark.experimental
    if (!methods.extraStrategies.contains(PinStrategy)) methods.extraStrategies :+= PinStrategy
  }
}
