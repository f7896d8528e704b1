"""Graphs and grids: nodes, edges and larger cliques, encoded."""
