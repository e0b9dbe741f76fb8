package org.apache.spark.scheduler.rheostat

import scala.collection.mutable.ArrayBuffer

import org.apache.spark.SparkContext
import org.apache.spark.scheduler.{ExecutorCacheTaskLocation, TaskLocation, TaskSchedulerImpl, TaskSetManager}

/** The tasks of running stages that no executor has taken yet. Spark asks for a task's preferences once, when its stage
  * is submitted, so an executor that comes later is among none of them. */
private[spark] object WaitingTasks {
  /** Let these executors take the waiting tasks that have `marker` among their preferred executors. */
  def offer(marker: String, locations: Iterable[String]): Unit =
    SparkContext.getActive.map(_.taskScheduler).foreach {
      case scheduler: TaskSchedulerImpl =>
        val executors = locations.flatMap(executorOf)
        val offered = scheduler.synchronized {
          scheduler.rootPool.getSortedTaskSetQueue.count(offer(_, marker, executors))
        }
        if (offered > 0) scheduler.backend.reviveOffers()
      case _ =>
    }

  private def offer(tasks: TaskSetManager, marker: String, executors: Iterable[String]): Boolean = {
    val waiting = tasks.tasks.indices.filter { index =>
      tasks.copiesRunning(index) == 0 && !tasks.successful(index) &&
      tasks.tasks(index).preferredLocations.exists(executorOf(_).contains(marker))
    }
    // Spark drops an index from a list when it comes to it and the task has begun elsewhere.
    executors.foreach(tasks.pendingTasks.forExecutor.getOrElseUpdate(_, new ArrayBuffer[Int]) ++= waiting)
    if (waiting.nonEmpty) tasks.recomputeLocality()
    waiting.nonEmpty
  }

  private def executorOf(location: String): Option[String] = executorOf(TaskLocation(location))

  private def executorOf(location: TaskLocation): Option[String] = location match {
    case cached: ExecutorCacheTaskLocation => Some(cached.executorId)
    case _ => None
  }
}
