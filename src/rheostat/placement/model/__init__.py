"""Model of placement: task graph, nodes and limits, schemes, and how good a placement is."""
