package org.apache.spark.sql.rheostat

import org.apache.spark.rdd.RDD
import org.apache.spark.resource.ResourceProfile
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.catalyst.expressions.{Attribute, SortOrder}
import org.apache.spark.sql.catalyst.plans.logical.{LogicalPlan, UnaryNode}
import org.apache.spark.sql.catalyst.plans.physical.Partitioning
import org.apache.spark.sql.classic.{DataFrame, Dataset, SparkSession}
import org.apache.spark.sql.execution.{SparkPlan, SparkStrategy, SQLExecutionRDD, UnaryExecNode}

/** The rows of `child`, in a stage that runs on executors of `profile` only. */
case class Pinned(child: LogicalPlan, profile: ResourceProfile) extends UnaryNode {
  override def output: Seq[Attribute] = child.output
  override def simpleString(maxFields: Int): String = s"Pinned to profile ${profile.id}"
  override protected def withNewChildInternal(newChild: LogicalPlan): Pinned = copy(child = newChild)
}

case class PinnedExec(child: SparkPlan, profile: ResourceProfile) extends UnaryExecNode {
  override def output: Seq[Attribute] = child.output
  override def outputPartitioning: Partitioning = child.outputPartitioning
  override def outputOrdering: Seq[SortOrder] = child.outputOrdering
  // The profile goes on an RDD of our own, never on one that an exchange may share. It is a class of Spark's,
  // so executors need none of ours.
  override protected def doExecute(): RDD[InternalRow] =
    new SQLExecutionRDD(child.execute(), conf).withResources(profile)
  override def simpleString(maxFields: Int): String = s"Pinned to profile ${profile.id}"
  override protected def withNewChildInternal(newChild: SparkPlan): PinnedExec = copy(child = newChild)
}

object PinStrategy extends SparkStrategy {
  override def apply(plan: LogicalPlan): Seq[SparkPlan] = plan match {
    case Pinned(child, profile) => PinnedExec(planLater(child), profile) :: Nil
    case _ => Nil
  }
}

object Pin {
  def pin(df: DataFrame, profile: ResourceProfile): DataFrame = {
    plant(df.sparkSession)
    Dataset.ofRows(df.sparkSession, Pinned(df.logicalPlan, profile))
  }

  private def plant(spark: SparkSession): Unit = spark.synchronized {
    val methods = spark.experimental
    if (!methods.extraStrategies.contains(PinStrategy)) methods.extraStrategies :+= PinStrategy
  }
}
