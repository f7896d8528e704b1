// Approximate inference on pairwise graphs given as arrays.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <optional>
#include <string>

#include "bindings/arrays.hpp"
#include "bindings/exclusive.hpp"
#include "duality/local_polytope.hpp"
#include "graphs/orientation.hpp"
#include "oracles/loopy_belief_propagation.hpp"
#include "oracles/loopy_decoding.hpp"
#include "oracles/loopy_mean_field.hpp"

namespace dualfield {
namespace {

PairwiseGraph graph_of(Index nodes, const Input<std::int32_t, 2>& ends) {
    const Index E = ends.shape(0);
    require(ends.shape(1) == 2, "edges must have two columns");
    require(E < (Index{1} << 30), "a graph can have at most 2^30 edges");
    for (Index d = 0; d < 2 * E; ++d)
        require(ends.data()[d] >= 0 && ends.data()[d] < nodes, "an edge names a node that is not there");
    for (Index e = 0; e < E; ++e)
        require(ends.data()[2 * e] != ends.data()[2 * e + 1], "an edge joins a node to itself");
    return {nodes, E, ends.data()};
}

// node: V x K; edge: one K x K matrix (shared) or one for each edge.
PairwisePotentials potentials_of(const Input<double, 2>& node, const Input<std::int32_t, 2>& ends,
                                 const Input<double, 3>& edge) {
    const Index V = node.shape(0), K = node.shape(1), E = ends.shape(0), matrices = edge.shape(0);
    require(V >= 1 && K >= 1, "a graph needs at least one node and one label");
    require(static_cast<Index>(edge.shape(1)) == K && static_cast<Index>(edge.shape(2)) == K,
            "edge matrices must be K x K, K the number of columns of node");
    require(matrices == 1 || matrices == E, "edge must hold one matrix or one for each edge");
    return {graph_of(V, ends), K, node.data(), edge.data(), matrices == 1 ? 0 : K * K};
}

Schedule schedule_of(const std::string& name) {
    if (name == "sequential") return Schedule::kSequential;
    if (name == "parallel") return Schedule::kParallel;
    require(name == "residual", "schedule must be 'sequential', 'parallel' or 'residual'");
    return Schedule::kResidual;
}

auto spanning_tree_probabilities(Index nodes, Input<std::int32_t, 2> ends) {
    const PairwiseGraph graph = graph_of(nodes, ends);
    auto rho = new_array<double, 1>({extent(graph.edges)});
    {
        nb::gil_scoped_release release;
        SpanningForests().probabilities(graph, rho.data());
    }
    return rho;
}

auto clique_counts(Index nodes, Input<std::int32_t, 2> ends) {
    CliqueCounts counts = OrientedForests().counts(graph_of(nodes, ends));
    return std::make_tuple(to_array(counts.node), to_array(counts.edge), to_array(counts.first),
                           to_array(counts.second));
}

auto table_with_sums(Input<double, 2> table, Vector<double> first, Vector<double> second) {
    const std::size_t K = table.shape(0);
    require(table.shape(1) == K && first.shape(0) == K && second.shape(0) == K,
            "the table must be square, and the sums as many as its rows");
    auto repaired = new_array<double, 2>({K, K});
    std::copy(table.data(), table.data() + K * K, repaired.data());
    Transport().repair(static_cast<Index>(K), first.data(), second.data(), repaired.data());
    return repaired;
}

// An oracle keeps its messages, so that a call may start from those of the last.
class BoundBeliefPropagation {
   public:
    auto run(Input<double, 2> node, Input<std::int32_t, 2> ends, Input<double, 3> edge,
             std::optional<Vector<double>> rho, double damping, const std::string& schedule, Index max_sweeps,
             double tolerance, bool warm) {
        const Exclusive only(this);
        const PairwisePotentials potentials = potentials_of(node, ends, edge);
        const PropagationOptions options{damping, max_sweeps, tolerance, schedule_of(schedule)};
        require(!rho || static_cast<Index>(rho->shape(0)) == potentials.graph.edges, "rho must have one entry an edge");
        const std::size_t K = extent(potentials.labels);
        auto nodes = new_array<double, 2>({extent(potentials.graph.nodes), K});
        auto edges = new_array<double, 3>({extent(potentials.graph.edges), K, K});
        Approximation found{};
        {
            nb::gil_scoped_release release;
            found = oracle_.run(potentials, rho ? rho->data() : nullptr, options, nodes.data(), edges.data(), warm);
        }
        return std::make_tuple(found.log_partition, found.upper_bound, nodes, edges, found.converged, found.sweeps,
                               found.residual);
    }

   private:
    BeliefPropagation oracle_;
};

class BoundMeanField {
   public:
    auto run(Input<double, 2> node, Input<std::int32_t, 2> ends, Input<double, 3> edge, Index max_sweeps,
             double tolerance, bool warm) {
        const Exclusive only(this);
        const PairwisePotentials potentials = potentials_of(node, ends, edge);
        const std::size_t K = extent(potentials.labels);
        auto nodes = new_array<double, 2>({extent(potentials.graph.nodes), K});
        auto edges = new_array<double, 3>({extent(potentials.graph.edges), K, K});
        MeanFieldValue found{};
        {
            nb::gil_scoped_release release;
            found = oracle_.run(potentials, {max_sweeps, tolerance}, nodes.data(), edges.data(), warm);
        }
        return std::make_tuple(found.log_partition, nodes, edges, found.converged, found.sweeps, found.residual);
    }

   private:
    MeanField oracle_;
};

auto decoding(const Output<std::int32_t, 1>& labels, const Decoding& found) {
    return std::make_tuple(labels, found.score, found.bound, found.converged, found.sweeps);
}

auto max_product(Input<double, 2> node, Input<std::int32_t, 2> ends, Input<double, 3> edge, double damping,
                 const std::string& schedule, Index max_sweeps, double tolerance) {
    const PairwisePotentials potentials = potentials_of(node, ends, edge);
    const PropagationOptions options{damping, max_sweeps, tolerance, schedule_of(schedule)};
    auto labels = new_array<std::int32_t, 1>({extent(potentials.graph.nodes)});
    Decoding found{};
    {
        nb::gil_scoped_release release;
        found = MaxProduct().run(potentials, options, labels.data());
    }
    return decoding(labels, found);
}

auto trws(Input<double, 2> node, Input<std::int32_t, 2> ends, Input<double, 3> edge, Index max_sweeps,
          double tolerance) {
    const PairwisePotentials potentials = potentials_of(node, ends, edge);
    require(max_sweeps >= 1, "max_sweeps must be at least 1");
    auto labels = new_array<std::int32_t, 1>({extent(potentials.graph.nodes)});
    Decoding found{};
    {
        nb::gil_scoped_release release;
        found = TrwS().run(potentials, max_sweeps, tolerance, labels.data());
    }
    return decoding(labels, found);
}

double graph_score(Input<double, 2> node, Input<std::int32_t, 2> ends, Input<double, 3> edge,
                   Vector<std::int32_t> labels) {
    const PairwisePotentials potentials = potentials_of(node, ends, edge);
    require(static_cast<Index>(labels.shape(0)) == potentials.graph.nodes, "labels must have one entry a node");
    require(all_below(potentials.labels, labels), "a label is out of range");
    return labelling_score(potentials, labels.data());
}

}  // namespace

void bind_graph_oracles(nb::module_& m) {
    using namespace nb::literals;
    m.def("spanning_tree_probabilities", &spanning_tree_probabilities, "nodes"_a, "edges"_a.noconvert());
    m.def("clique_counts", &clique_counts, "nodes"_a, "edges"_a.noconvert(),
          "By what the entropies of nodes, of edges, and of edges' first and second ends count in the tree-reweighted "
          "one.");
    m.def("table_with_sums", &table_with_sums, "table"_a.noconvert(), "first"_a.noconvert(), "second"_a.noconvert(),
          "A table next to the given one whose sums over columns and over rows are given.");
    nb::class_<BoundBeliefPropagation>(m, "BeliefPropagation")
        .def(nb::init<>())
        .def("run", &BoundBeliefPropagation::run, "node"_a.noconvert(), "edges"_a.noconvert(), "edge"_a.noconvert(),
             "rho"_a.none(), "damping"_a, "schedule"_a, "max_sweeps"_a, "tolerance"_a, "warm"_a,
             "(log Z, upper bound, node marginals, edge marginals, converged, sweeps, residual)");
    nb::class_<BoundMeanField>(m, "MeanField")
        .def(nb::init<>())
        .def("run", &BoundMeanField::run, "node"_a.noconvert(), "edges"_a.noconvert(), "edge"_a.noconvert(),
             "max_sweeps"_a, "tolerance"_a, "warm"_a,
             "(log Z, node marginals, edge marginals, converged, sweeps, residual)");
    m.def("graph_max_product", &max_product, "node"_a.noconvert(), "edges"_a.noconvert(), "edge"_a.noconvert(),
          "damping"_a, "schedule"_a, "max_sweeps"_a, "tolerance"_a, "(labels, score, bound, converged, sweeps)");
    m.def("graph_trws", &trws, "node"_a.noconvert(), "edges"_a.noconvert(), "edge"_a.noconvert(), "max_sweeps"_a,
          "tolerance"_a, "(labels, score, bound, converged, sweeps)");
    m.def("graph_score", &graph_score, "node"_a.noconvert(), "edges"_a.noconvert(), "edge"_a.noconvert(),
          "labels"_a.noconvert());
}

}  // namespace dualfield
