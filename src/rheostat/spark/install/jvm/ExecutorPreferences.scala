package org.apache.spark.sql.rheostat

import java.util.concurrent.atomic.AtomicLong

import scala.jdk.CollectionConverters._

import org.apache.commons.lang3.ClassUtils
import org.apache.spark.{NarrowDependency, Partition}
import org.apache.spark.rdd.RDD
import org.apache.spark.resource.ResourceProfile
import org.apache.spark.scheduler.rheostat.WaitingTasks
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.execution.{SparkPlan, SQLExecutionRDD}
import org.apache.spark.sql.execution.adaptive.QueryStageExec
import org.apache.spark.sql.execution.exchange.Exchange
import org.apache.spark.sql.internal.SQLConf

/** The executors that serve an operator at one moment, as Spark writes task locations (`executor_HOST_ID`):
  * those that any task may go to, and the one that has each substream. With nobody open, tasks go round the latter.
  * Tasks that may go to any have `marker` as well, an executor that there is not, on a host that Spark knows: where
  * hosts have racks it looks them up. */
private[rheostat] class PreferredExecutors(
    val profile: ResourceProfile,
    val open: IndexedSeq[String],
    bySubstream: IndexedSeq[String],
    marker: String) {
  private val any = open ++ open.headOption.map(first => first.substring(0, first.lastIndexOf('_') + 1) + marker)

  def of(task: Int, tasks: Int, stage: StageKind): Seq[String] = {
    val keyed = stage.stateful || (stage.shuffled && tasks == bySubstream.length)
    if (bySubstream.nonEmpty && (keyed || open.isEmpty)) Seq(bySubstream(task % bySubstream.length))
    else if (stage.stateful && open.nonEmpty) Seq(open(task % open.length))
    else any
  }
}

private object ExecutorPreferences {
  private val made = new AtomicLong
}

/** What the driver may change while queries run: the next stage that is submitted obeys. Of one that runs, executors
  * that have become open may take the tasks that wait. */
class ExecutorPreferences(profile: ResourceProfile) extends Serializable {
  private val marker = s"rheostat-${ExecutorPreferences.made.incrementAndGet()}"
  @transient @volatile private var preferred =
    new PreferredExecutors(profile, Vector.empty, Vector.empty, marker)

  private[rheostat] def now: PreferredExecutors = preferred

  def prefer(profile: ResourceProfile, open: java.util.List[String], bySubstream: java.util.List[String]): Unit = {
    val before = preferred
    preferred = new PreferredExecutors(profile, open.asScala.toVector, bySubstream.asScala.toVector, marker)
    if (before.profile eq profile) {
      val come = preferred.open.filterNot(before.open.contains(_))
      if (come.nonEmpty) WaitingTasks.offer(marker, come)
    }
  }

  override def toString: String = s"profile ${preferred.profile.id}"
}

/** A stage's rows with preferred executors. It is never sent to executors: they get `plain`, a class of Spark's. */
private[rheostat] class PreferringRDD(
    input: RDD[InternalRow],
    @transient plain: SQLExecutionRDD,
    @transient conf: SQLConf,
    @transient private[rheostat] val preferences: ExecutorPreferences,
    @transient private[rheostat] val preferred: PreferredExecutors,
    @transient stage: StageKind) extends SQLExecutionRDD(input, conf) {

  // The newest word counts, unless it is about another profile: this stage's is settled.
  override protected def getPreferredLocations(split: Partition): Seq[String] = {
    val newest = preferences.now
    (if (newest.profile eq preferred.profile) newest else preferred).of(split.index, partitions.length, stage)
  }

  private def writeReplace(): AnyRef = plain
}

private[rheostat] object PreferringRDD {
  /** The executors preferred by a pin further down in the same stage: one stage cannot have two profiles. */
  def in(rdd: RDD[_], preferences: ExecutorPreferences): Option[PreferredExecutors] = rdd match {
    case preferring: PreferringRDD if preferring.preferences eq preferences => Some(preferring.preferred)
    case _ =>
      val parents = rdd.dependencies.iterator.collect { case narrow: NarrowDependency[_] => narrow.rdd }
      parents.map(in(_, preferences)).collectFirst { case Some(preferred) => preferred }
  }
}

/** Whether the tasks of a stage hold state, and whether they read what a shuffle dealt out. */
private[rheostat] case class StageKind(stateful: Boolean, shuffled: Boolean)

private[rheostat] object StageKind {
  /** Of the stage that ends in `plan`. */
  def of(plan: SparkPlan): StageKind = plan match {
    case _: Exchange | _: QueryStageExec => StageKind(stateful = false, shuffled = true)
    case _ =>
      val inputs = plan.children.map(of)
      StageKind(holdsState(plan) || inputs.exists(_.stateful), inputs.exists(_.shuffled))
  }

  // By name, as the class has moved between versions.
  private def holdsState(plan: SparkPlan): Boolean =
    ClassUtils.getAllInterfaces(plan.getClass).asScala.exists(_.getSimpleName == "StatefulOperator")
}
