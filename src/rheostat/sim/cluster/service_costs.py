"""Service costs: how much longer or shorter than usual the records of an operator take, over time."""

from rheostat.sim.cluster.simulation import Simulation


class ServiceCosts:
    """Sets the present factor of every operator whose records have a cost that changes, once per slot of the rates."""

    def __init__(self, simulation: Simulation) -> None:
        self._simulation = simulation
        if simulation.model.costs:
            self._set()

    def _set(self) -> None:
        simulation = self._simulation
        width_s = simulation.model.resolution_s
        for name, cost in simulation.model.costs.items():
            simulation.row(name).cost_now = cost.rate_at(simulation.now_s + width_s / 2)
        simulation.timers.at(simulation.now_s + width_s, self._set)
