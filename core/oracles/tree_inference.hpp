// Exact inference on a junction tree, by messages from the leaves to the roots and back.
//
// Up: a clique's log-potentials psi, its own and its children's messages, become conditionals: for each labelling r of
// the nodes it shares with its parent,
//     message(r) = log sum_x exp psi(r, x),    q(x | r) = exp(psi(r, x) - message(r)),
// with a large psi taken out, so potentials of any size do no harm. One exponential an entry. Down: with the
// separator's marginal from the parent, mu(r, x) = mu(r) q(x | r), so neighbouring cliques agree to the last digit.
#pragma once

#include <vector>

#include "base/random.hpp"
#include "graphs/junction_tree.hpp"

namespace dualfield {

class JunctionTreeOracle {
   public:
    double log_partition(const JunctionTree& tree, const PairwisePotentials& potentials) {
        psi_.resize(tree.cliques_length());
        gather(tree, potentials, psi_.data());
        return collect(tree, psi_.data());
    }

    // Fills the marginals of all cliques and separators; returns the log-partition.
    double marginals(const JunctionTree& tree, const PairwisePotentials& potentials, double* table) {
        gather(tree, potentials, table);
        const double log_z = collect(tree, table);
        distribute(tree, table);
        return log_z;
    }

    // The same with any potentials of cliques and separators, in the layout of the table.
    double untied_marginals(const JunctionTree& tree, const double* potentials, double* table) {
        std::copy(potentials, potentials + tree.cliques_length(), table);
        for (const Clique& c : tree.cliques()) {
            const Index columns = c.rows > 0 ? c.length / c.rows : 0;
            for (Index r = 0; r < c.rows; ++r)
                for (Index x = 0; x < columns; ++x) table[c.table + r * columns + x] += potentials[c.separator + r];
        }
        const double log_z = collect(tree, table);
        distribute(tree, table);
        return log_z;
    }

    // A most probable labelling; returns its score.
    double decode(const JunctionTree& tree, const PairwisePotentials& potentials, std::int32_t* labels) {
        psi_.resize(tree.cliques_length());
        gather(tree, potentials, psi_.data());
        const auto& cliques = tree.cliques();
        double score = 0.0;
        for (std::size_t k = cliques.size(); k-- > 0;) {
            const Clique& c = cliques[k];
            const Index rows = std::max<Index>(1, c.rows), columns = c.length / rows;
            message_.resize(rows);
            for (Index r = 0; r < rows; ++r) message_[r] = maximum(columns, psi_.data() + c.table + r * columns);
            if (c.parent < 0) {
                score += message_[0];
            } else {
                add_to_parent(tree, c, psi_.data());
            }
        }
        for (const Clique& c : cliques) {
            const Index columns = c.length / std::max<Index>(1, c.rows);
            assign(tree, c, argmax(columns, row_given(tree, c, psi_.data(), labels)), labels);
        }
        return score;
    }

    // `count` exact samples, count x nodes.
    void sample(const JunctionTree& tree, const PairwisePotentials& potentials, Index count, Random& random,
                std::int32_t* samples) {
        log_partition(tree, potentials);  // leaves the conditionals
        for (Index s = 0; s < count; ++s, samples += potentials.graph.nodes) {
            for (const Clique& c : tree.cliques()) {
                const Index columns = c.length / std::max<Index>(1, c.rows);
                const double* row = row_given(tree, c, psi_.data(), samples);
                double left = random.uniform();
                Index x = 0;
                while (x + 1 < columns && (left -= row[x]) >= 0.0) ++x;
                assign(tree, c, x, samples);
            }
        }
    }

    // The change of the marginals, given in `table`, along a change of the potentials: with S the change of a
    // labelling's score, d mu(x) = mu(x) (E[S | x] - E[S]).
    void differentiate(const JunctionTree& tree, const double* table, const PairwisePotentials& change, double* out) {
        psi_.resize(tree.cliques_length());
        gather(tree, change, psi_.data());
        const auto& cliques = tree.cliques();
        for (std::size_t k = cliques.size(); k-- > 0;) {
            const Clique& c = cliques[k];
            const Index rows = std::max<Index>(1, c.rows), columns = c.length / rows;
            message_.resize(rows);
            for (Index r = 0; r < rows; ++r) {
                const double mass = c.rows > 0 ? table[c.separator + r] : 1.0;
                const double total = dot(columns, table + c.table + r * columns, psi_.data() + c.table + r * columns);
                message_[r] = mass > kTiny ? total / mass : 0.0;
            }
            double* psi = psi_.data() + c.table;
            for (Index r = 0; r < rows; ++r)
                for (Index x = 0; x < columns; ++x) psi[r * columns + x] -= message_[r];
            if (c.parent >= 0) add_to_parent(tree, c, psi_.data());
        }
        for (const Clique& c : cliques) {
            const Index rows = std::max<Index>(1, c.rows), columns = c.length / rows;
            message_.assign(rows, 0.0);
            if (c.parent >= 0) {
                sum_of_parent(tree, c, out, message_.data());
                std::copy(message_.begin(), message_.end(), out + c.separator);
            }
            for (Index r = 0; r < rows; ++r) {
                const double mass = c.rows > 0 ? table[c.separator + r] : 1.0;
                const double relative = mass > kTiny ? message_[r] / mass : 0.0;
                const Index at = c.table + r * columns;
                for (Index x = at; x < at + columns; ++x) out[x] = table[x] * (relative + psi_[x]);
            }
        }
    }

    // From the marginals of cliques and separators: those of nodes, V x K, body(e, matrix) with those of each edge, and
    // larger(q, tensor) with those of each larger clique. Any table will do whose parts agree, as they are linear.
    template <class Body, class Larger>
    void read(const JunctionTree& tree, const double* table, double* nodes, Body&& body, Larger&& larger) {
        const Index K = tree.labels();
        for (const Placement& place : tree.of_nodes()) {
            const Clique& c = tree.cliques()[place.clique];
            if (place.separator >= 0) {
                std::copy(table + place.separator, table + place.separator + K, nodes);
            } else {
                std::fill(nodes, nodes + K, 0.0);
                add_sums(K, c.size, place.positions, 1, table + c.table, nodes);
            }
            nodes += K;
        }
        for (std::size_t e = 0; e < tree.of_edges().size(); ++e) {
            const Placement& place = tree.of_edges()[e];
            const Clique& c = tree.cliques()[place.clique];
            const double* pair = table + c.table;  // all of it, where the clique is the edge
            if (c.size > 2) {
                message_.assign(K * K, 0.0);
                add_sums(K, c.size, place.positions, 2, table + c.table, message_.data());
                pair = message_.data();
            }
            body(static_cast<Index>(e), place.turned ? turn(K, pair) : pair);
        }
        for (std::size_t q = 0; q < tree.of_larger().size(); ++q) {
            const CliquePlacement& place = tree.of_larger()[q];
            const Clique& c = tree.cliques()[place.clique];
            const Index size = static_cast<Index>(place.axes.size());
            message_.assign(table_length(K, size), 0.0);
            add_sums(K, c.size, place.positions.data(), size, table + c.table, message_.data());
            turned_.resize(message_.size());
            reorder(K, size, place.axes.data(), true, message_.data(), turned_.data());
            larger(static_cast<Index>(q), turned_.data());
        }
    }

    // Makes the marginals of neighbouring cliques agree: the distribution with the roots' marginals and then each
    // clique's conditionals.
    void repair(const JunctionTree& tree, double* table) {
        for (const Clique& c : tree.cliques()) {
            double* mu = table + c.table;
            if (c.parent < 0) {
                scale(c.length, 1.0 / sum(c.length, mu), mu);
                continue;
            }
            const Index columns = c.length / c.rows;
            std::fill(table + c.separator, table + c.separator + c.rows, 0.0);
            sum_of_parent(tree, c, table, table + c.separator);
            for (Index r = 0; r < c.rows; ++r) {
                double* row = mu + r * columns;
                const double mass = table[c.separator + r], total = sum(columns, row);
                if (total > 0.0) {
                    scale(columns, mass / total, row);
                } else {
                    std::fill(row, row + columns, mass / static_cast<double>(columns));
                }
            }
        }
    }

   private:
    // psi: the potentials of nodes and edges in the cliques that have them.
    void gather(const JunctionTree& tree, const PairwisePotentials& potentials, double* psi) {
        const Index K = tree.labels();
        for (const Clique& c : tree.cliques())
            if (c.size != 2) std::fill(psi + c.table, psi + c.table + c.length, 0.0);
        for (Index e = 0; e < potentials.graph.edges; ++e) {
            const Placement& place = tree.of_edges()[e];
            const Clique& c = tree.cliques()[place.clique];
            const double* factor = place.turned ? turn(K, potentials.edge_of(e)) : potentials.edge_of(e);
            if (c.size == 2) {  // the edge itself
                std::copy(factor, factor + K * K, psi + c.table);
            } else {
                add_factor(K, c.size, place.positions, 2, factor, psi + c.table);
            }
        }
        for (std::size_t q = 0; q < tree.of_larger().size(); ++q) {
            const CliquePlacement& place = tree.of_larger()[q];
            const Clique& c = tree.cliques()[place.clique];
            const Index size = static_cast<Index>(place.axes.size());
            turned_.resize(table_length(K, size));
            reorder(K, size, place.axes.data(), false, potentials.larger[q], turned_.data());
            add_factor(K, c.size, place.positions.data(), size, turned_.data(), psi + c.table);
        }
        for (Index v = 0; v < potentials.graph.nodes; ++v) {
            const Placement& place = tree.of_nodes()[v];
            const Clique& c = tree.cliques()[place.clique];
            add_factor(K, c.size, place.positions, 1, potentials.node_of(v), psi + c.table);
        }
    }

    // Turns psi into conditionals, from the leaves to the roots; returns the log-partition.
    double collect(const JunctionTree& tree, double* psi) {
        double log_z = 0.0;
        const auto& cliques = tree.cliques();
        for (std::size_t k = cliques.size(); k-- > 0;) {
            const Clique& c = cliques[k];
            const Index rows = std::max<Index>(1, c.rows), columns = c.length / rows;
            double* table = psi + c.table;
            message_.resize(rows);
            exponentiate(rows, columns, table);
            for (Index r = 0; r < rows; ++r) {
                double* row = table + r * columns;
                const double total = sum(columns, row);
                scale(columns, 1.0 / total, row);
                message_[r] += std::log(total);
            }
            if (c.parent < 0) {
                log_z += message_[0];
            } else {
                add_to_parent(tree, c, psi);
            }
        }
        return log_z;
    }

    // table = exp(table - message_), row by row, where message_ is the row's largest entry; or the largest of all,
    // where that underflows nowhere.
    void exponentiate(Index rows, Index columns, double* table) {
        constexpr double kRange = 600.0;
        const double top = maximum(rows * columns, table);
        if (top - minimum(rows * columns, table) < kRange) {
            std::fill(message_.begin(), message_.end(), top);
            exp_shifted(rows * columns, table, top, table);
            return;
        }
        for (Index r = 0; r < rows; ++r) {
            message_[r] = maximum(columns, table + r * columns);
            exp_shifted(columns, table + r * columns, message_[r], table + r * columns);
        }
    }

    // Turns conditionals into marginals, from the roots to the leaves, and fills the separators.
    void distribute(const JunctionTree& tree, double* table) {
        for (const Clique& c : tree.cliques()) {
            if (c.parent < 0) continue;
            const Index columns = c.length / c.rows;
            double* separator = table + c.separator;
            std::fill(separator, separator + c.rows, 0.0);
            sum_of_parent(tree, c, table, separator);
            for (Index r = 0; r < c.rows; ++r) scale(columns, separator[r], table + c.table + r * columns);
        }
    }

    void add_to_parent(const JunctionTree& tree, const Clique& c, double* psi) {
        const Clique& parent = tree.cliques()[c.parent];
        add_factor(tree.labels(), parent.size, tree.shared_in_parent(c), c.shared, message_.data(), psi + parent.table);
    }

    static void sum_of_parent(const JunctionTree& tree, const Clique& c, const double* table, double* separator) {
        const Clique& parent = tree.cliques()[c.parent];
        add_sums(tree.labels(), parent.size, tree.shared_in_parent(c), c.shared, table + parent.table, separator);
    }

    const double* turn(Index K, const double* matrix) {
        turned_.resize(K * K);
        for (Index a = 0; a < K; ++a)
            for (Index b = 0; b < K; ++b) turned_[b * K + a] = matrix[a * K + b];
        return turned_.data();
    }

    // The part of a clique's table that agrees with the labels of the nodes it shares with its parent.
    static const double* row_given(const JunctionTree& tree, const Clique& c, const double* table,
                                   const std::int32_t* labels) {
        const std::int32_t* nodes = tree.nodes(c);
        const Index row = entry_of(tree.labels(), c.shared, [&](Index v) { return labels[nodes[v]]; });
        return table + c.table + row * (c.length / std::max<Index>(1, c.rows));
    }

    // Labels of the other nodes of a clique, by the entry x of that part.
    static void assign(const JunctionTree& tree, const Clique& c, Index x, std::int32_t* labels) {
        const std::int32_t* nodes = tree.nodes(c);
        for (Index v = c.size - 1; v >= c.shared; --v, x /= tree.labels())
            labels[nodes[v]] = static_cast<std::int32_t>(x % tree.labels());
    }

    std::vector<double> psi_, message_, turned_;
};

}  // namespace dualfield
