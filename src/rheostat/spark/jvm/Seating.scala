package org.apache.spark.sql.rheostat

import scala.jdk.CollectionConverters._

import org.apache.commons.lang3.ClassUtils
import org.apache.spark.{NarrowDependency, Partition}
import org.apache.spark.rdd.RDD
import org.apache.spark.resource.ResourceProfile
import org.apache.spark.sql.catalyst.InternalRow
import org.apache.spark.sql.execution.{SparkPlan, SQLExecutionRDD}
import org.apache.spark.sql.execution.exchange.Exchange
import org.apache.spark.sql.internal.SQLConf

/** The executors that serve an operator at one moment, as Spark writes task locations (`executor_HOST_ID`).
  * A task with state goes to `bySubstream` of its number, any other to whoever of `open` is free. */
private[rheostat] class Seats(val profile: ResourceProfile, open: Seq[String], bySubstream: IndexedSeq[String]) {
  def of(task: Int, stateful: Boolean): Seq[String] =
    if (stateful && task < bySubstream.length) Seq(bySubstream(task)) else open
}

/** What the driver may change while queries run: the next stage that is submitted obeys. */
class Seating(profile: ResourceProfile) extends Serializable {
  @transient @volatile private var seats = new Seats(profile, Nil, IndexedSeq.empty)

  private[rheostat] def now: Seats = seats

  def seat(profile: ResourceProfile, open: java.util.List[String], bySubstream: java.util.List[String]): Unit =
    seats = new Seats(profile, open.asScala.toList, bySubstream.asScala.toVector)

  override def toString: String = s"profile ${seats.profile.id}"
}

/** `plain` with preferred executors. Those need no class of ours: `plain`, Spark's own, is what they get. */
private[rheostat] class SeatedRDD(
    input: RDD[InternalRow],
    @transient plain: SQLExecutionRDD,
    @transient conf: SQLConf,
    @transient private[rheostat] val seating: Seating,
    @transient private[rheostat] val seats: Seats,
    @transient stateful: Boolean) extends SQLExecutionRDD(input, conf) {

  // The newest word counts, unless it is about another profile: this stage's is settled.
  override protected def getPreferredLocations(split: Partition): Seq[String] = {
    val newest = seating.now
    (if (newest.profile eq seats.profile) newest else seats).of(split.index, stateful)
  }

  private def writeReplace(): AnyRef = plain
}

private[rheostat] object SeatedRDD {
  /** The seats that a pin further down the same stage has taken: one stage cannot have two profiles. */
  def in(rdd: RDD[_], seating: Seating): Option[Seats] = rdd match {
    case seated: SeatedRDD if seated.seating eq seating => Some(seated.seats)
    case _ =>
      val parents = rdd.dependencies.iterator.collect { case narrow: NarrowDependency[_] => narrow.rdd }
      parents.map(in(_, seating)).collectFirst { case Some(seats) => seats }
  }
}

/** Whether tasks of the stage that ends in a plan hold state; by name, as the class has moved between versions. */
private[rheostat] object StateInStage {
  def apply(plan: SparkPlan): Boolean = plan match {
    case _: Exchange => false
    case _ => holdsState(plan) || plan.children.exists(apply)
  }

  private def holdsState(plan: SparkPlan): Boolean =
    ClassUtils.getAllInterfaces(plan.getClass).asScala.exists(_.getSimpleName == "StatefulOperator")
}
