// Inference on many chains in one call, on potentials that lie where the caller has them.
//
// The chains share one matrix of edge potentials, and potentials of the first and of the last label. Node potentials
// are float32 or float64 with any strides; a list says which row each position has, so that padding, gaps and either
// order of the axes cost nothing. A chain is copied to float64 when its turn comes, one at a time on each thread.
#pragma once

#include <cmath>
#include <cstdio>
#include <stdexcept>

#include "oracles/chain_constrained_forward_backward.hpp"
#include "oracles/chain_viterbi.hpp"
#include "threads/team.hpp"

namespace dualfield {

// Numbers in memory that somebody else owns, float32 or float64.
struct Numbers {
    void* data = nullptr;
    bool single = false;  // float32

    // out[k] = number at start + k * step, for k < count.
    void read(Index start, Index step, Index count, double* out) const {
        single ? copy(static_cast<const float*>(data) + start, step, count, out)
               : copy(static_cast<const double*>(data) + start, step, count, out);
    }
    void write(Index start, Index count, const double* values) const {
        if (single) {
            std::transform(values, values + count, static_cast<float*>(data) + start,
                           [](double value) { return static_cast<float>(value); });
        } else {
            std::copy(values, values + count, static_cast<double*>(data) + start);
        }
    }

   private:
    template <class T>
    static void copy(const T* from, Index step, Index count, double* out) {
        if (step == 1) {
            std::copy(from, from + count, out);
        } else {
            for (Index k = 0; k < count; ++k) out[k] = static_cast<double>(from[k * step]);
        }
    }
};

struct ChainBatch {
    Index labels = 0, chains = 0;
    Numbers node;             // rows of K numbers: row r stands at index (r / columns, r % columns) of a table
    Index columns = 1;        // of that table
    Index steps[3] = {};      // from row to row of the table, column to column, label to label
    std::vector<Index> rows;  // of all positions, chain after chain
    std::vector<Index> offsets;
    std::vector<double> begin, edge, end;  // K, K x K, K

    Index length(Index chain) const { return offsets[chain + 1] - offsets[chain]; }
    // Chain by chain: the row of each position.
    const Index* rows_of(Index chain) const { return rows.data() + offsets[chain]; }
    // Where a position is in the caller's table, for messages.
    Index place(Index chain, Index t) const { return rows_of(chain)[t] % columns; }
};

// What one thread needs to work on chains, one after the other.
class ChainWorker {
   public:
    ForwardBackward plain;
    ConstrainedForwardBackward constrained;
    Viterbi viterbi;
    std::vector<double> nodes, edges, other_nodes, other_edges;
    std::vector<std::int32_t> path;

    // The potentials of a chain of at least one position; `allowed`, rows x K or null, forbids labels.
    const ChainPotentials& read(const ChainBatch& batch, Index chain, const std::uint8_t* allowed = nullptr) {
        const Index K = batch.labels, T = batch.length(chain);
        given_.resize(T * K);
        for (Index t = 0; t < T; ++t) {
            const Index row = batch.rows_of(chain)[t];
            double* node = &given_[t * K];
            batch.node.read(row / batch.columns * batch.steps[0] + row % batch.columns * batch.steps[1], batch.steps[2],
                            K, node);
            check_numbers(batch, chain, t, node);
            if (allowed)
                for (Index k = 0; k < K; ++k)
                    if (!allowed[row * K + k]) node[k] = kImpossible;
        }
        for (Index k = 0; k < K; ++k) {
            given_[k] += batch.begin[k];
            given_[(T - 1) * K + k] += batch.end[k];
        }
        chain_ = {T, K, given_.data(), batch.edge.data(), 0};
        constrained_ = has_impossible(chain_);
        if (constrained_) {
            live_.resize(T * K);
            const Index reached = keep_live(chain_, live_.data());
            if (reached < T)
                refuse("sequence %ld: no labelling is possible up to position %ld%s", chain,
                       batch.place(chain, reached), allowed ? kAmongAllowed : kForbidden);
            chain_.node = live_.data();
        }
        return chain_;
    }

    // The next functions work on the chain that read() returned last.
    double log_partition(const ChainPotentials& chain) {
        return constrained_ ? constrained.log_partition(chain) : plain.log_partition(chain);
    }
    double marginals(const ChainPotentials& chain, double* nodes, double* edges, double* edge_sum) {
        return constrained_ ? constrained.marginals(chain, nodes, edges, edge_sum)
                            : plain.marginals(chain, nodes, edges, edge_sum);
    }

    // The score of a labelling; tags hold one for each row of the table.
    double score(const ChainBatch& batch, Index chain, const Index* tags) const {
        double score = 0.0;
        for (Index t = 0, before = 0; t < chain_.length; ++t) {
            const Index tag = tags[batch.rows_of(chain)[t]];
            if (tag < 0 || tag >= chain_.labels)
                refuse("sequence %ld, position %ld: a tag is out of range%s", chain, batch.place(chain, t),
                       "; expected 0 to the number of labels less one, or leave the position out by the mask");
            score += chain_.node_row(t)[tag] + (t > 0 ? chain_.edge_row(t - 1, before)[tag] : 0.0);
            if (!(score > kImpossible))
                refuse("sequence %ld, position %ld: the tag is impossible there%s", chain, batch.place(chain, t),
                       kForbidden);
            before = tag;
        }
        return score;
    }

   private:
    static constexpr double kLargest = 1e300;
    static constexpr const char* kForbidden = "; constraints or potentials of -inf forbid it";
    static constexpr const char* kAmongAllowed = "; constraints or potentials of -inf forbid all that the labels allow";

    [[noreturn]] static void refuse(const char* text, Index chain, Index position, const char* more) {
        char message[300];
        std::snprintf(message, sizeof message, text, static_cast<long>(chain), static_cast<long>(position), more);
        throw std::invalid_argument(message);
    }

    static void check_numbers(const ChainBatch& batch, Index chain, Index t, const double* node) {
        int bad = 0;
        for (Index k = 0; k < batch.labels; ++k) bad |= !(std::abs(node[k]) <= kLargest) & (node[k] != kImpossible);
        if (bad)
            refuse("sequence %ld, position %ld: a potential is nan, inf or too large%s", chain, batch.place(chain, t),
                   "; potentials must be finite, at most 1e300 in size, or -inf for what is impossible");
    }

    ChainPotentials chain_{};
    bool constrained_ = false;
    std::vector<double> given_, live_;
};

// body(chain, worker) for every chain that has a position, on up to `threads` threads.
template <class Body>
void for_each_chain(const ChainBatch& batch, Index threads, Body&& body) {
    // Starting a thread takes as long as some thousand steps of a recursion.
    constexpr Index kLeastWork = 20'000;
    const Index work = static_cast<Index>(batch.rows.size()) * batch.labels * batch.labels;
    Team team(std::clamp<Index>(std::min(work / kLeastWork, batch.chains), 1, std::max<Index>(threads, 1)));
    std::vector<ChainWorker> workers(static_cast<std::size_t>(team.size()));
    team.for_each(batch.chains, [&](Index chain, Index member) {
        if (batch.length(chain) > 0) body(chain, workers[static_cast<std::size_t>(member)]);
    });
}

// Where log-likelihoods or log-partitions and their gradients are written. Rows that no chain has are not written.
struct BatchValues {
    double* values;  // a number for each chain
    bool gradients;
    Numbers nodes;  // rows x K, where gradients
    Numbers edges;  // chains x K x K
    Numbers ends;   // chains x 2 x K: the rows of `nodes` of the first and of the last position
};

// log Z of each chain; or, where there are tags or sets of allowed labels, log p(tags), or log p(allowed), which is
//     log Z restricted to what is allowed - log Z.
// Their gradients in the potentials are marginals; or the indicators of the tags, or the restricted marginals, less
// them.
inline void batch_values(const ChainBatch& batch, const Index* tags, const std::uint8_t* allowed, Index threads,
                         const BatchValues& out) {
    const Index K = batch.labels;
    for_each_chain(batch, threads, [&](Index chain, ChainWorker& worker) {
        const Index T = batch.length(chain);
        const Index* rows = batch.rows_of(chain);
        auto &nodes = worker.nodes, &edges = worker.edges;
        auto &other_nodes = worker.other_nodes, &other_edges = worker.other_edges;
        nodes.resize(T * K), edges.resize(K * K);
        const auto log_partition = [&](const ChainPotentials& potentials, auto& of_nodes, auto& of_edges) {
            return out.gradients ? worker.marginals(potentials, of_nodes.data(), nullptr, of_edges.data())
                                 : worker.log_partition(potentials);
        };
        const double log_z = log_partition(worker.read(batch, chain), nodes, edges);
        double value = log_z;
        if (tags) value = worker.score(batch, chain, tags) - log_z;
        if (allowed) {
            other_nodes.resize(T * K), other_edges.resize(K * K);
            value = log_partition(worker.read(batch, chain, allowed), other_nodes, other_edges) - log_z;
        }
        out.values[chain] = value;
        if (!out.gradients) return;
        if (tags || allowed) {
            for (double& x : nodes) x = -x;
            for (double& x : edges) x = -x;
        }
        for (Index t = 0; tags && t < T; ++t) {
            nodes[t * K + tags[rows[t]]] += 1.0;
            if (t > 0) edges[tags[rows[t - 1]] * K + tags[rows[t]]] += 1.0;
        }
        if (allowed) {
            for (Index k = 0; k < T * K; ++k) nodes[k] += other_nodes[k];
            for (Index k = 0; k < K * K; ++k) edges[k] += other_edges[k];
        }
        for (Index t = 0; t < T; ++t) out.nodes.write(rows[t] * K, K, &nodes[t * K]);
        out.edges.write(chain * K * K, K * K, edges.data());
        out.ends.write(2 * chain * K, K, nodes.data());
        out.ends.write((2 * chain + 1) * K, K, &nodes[(T - 1) * K]);
    });
}

}  // namespace dualfield
