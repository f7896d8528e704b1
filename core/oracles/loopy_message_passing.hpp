// Messages over a pairwise graph until they stop changing: in sequence, all at once, or the most changed first.
//
// The belief of node t is theta_t + sum over its edges of rho_e log M_{e->t}; a message over edge e from t is computed
// from the belief of t less log M_{e->t} (loopy_message_kernels.hpp). With rho = 1 this is belief propagation, with the
// probabilities of a mixture of forests the tree-reweighted one (Wainwright et al., 2005). Damping mixes the logarithms
// of the old and the new message. A message counts as changed by how far the log-odds between any two labels move,
// before damping, so that damping cannot pass for convergence.
#pragma once

#include "oracles/loopy_message_kernels.hpp"
#include "sampling/max_tree.hpp"

namespace dualfield {

enum class Schedule {
    kSequential,  // in the order of SweepOrder, each message from the newest beliefs
    kParallel,    // all from the beliefs of the sweep before
    kResidual,    // always the message that would change most (Elidan, McGraw and Koller, 2006)
};

struct PropagationOptions {
    double damping = 0.0;  // in [0, 1): the share of the old message
    Index max_sweeps = 200;
    double tolerance = 1e-8;
    Schedule schedule = Schedule::kSequential;
};

struct Passage {
    bool converged;
    Index sweeps;     // of 2 E messages each
    double residual;  // the largest change in the last sweep
};

template <Algebra algebra>
class MessagePassing {
   public:
    // `warm`: from the messages of the last call, if it was on the same graph with as many labels.
    Passage run(const PairwisePotentials& potentials, const double* rho, const PropagationOptions& options, bool warm) {
        const Index stride = potentials.labels == 2 ? 1 : potentials.labels;
        const bool known = !order_.build(potentials.graph) && labels_ == potentials.labels;
        potentials_ = potentials;
        labels_ = potentials.labels;
        stride_ = stride;
        const Index M = order_.messages();
        kernels_.prepare(potentials, rho, order_);
        weights_.resize(M);
        for (Index p = 0; p < M; ++p) weights_[p] = kernels_.probability(order_.number[p] / 2);
        if (!warm || !known) messages_.assign(M * stride, 0.0);
        fresh_.resize(M * stride);
        for (auto* rows : {&cavities_, &computed_}) rows->assign(kTogether * labels_ + padded(labels_), 0.0);
        refresh_beliefs();
        if (M == 0) return {true, 0, 0.0};
        const Passage passage = options.schedule == Schedule::kResidual ? pass_by_residual(options) : pass(options);
        refresh_beliefs();
        return passage;
    }

    const SweepOrder& order() const { return order_; }
    const MessageKernels<algebra>& kernels() const { return kernels_; }

    // What beliefs leave out of a node's potentials, so that large ones cost no precision.
    double offset(Index v) const {
        const double* node = potentials_.node_of(v);
        return labels_ == 2 ? node[0] : maximum(labels_, node);
    }

    // K numbers each, the first of them zero where there are two.
    void belief(Index v, double* out) const { copy_row(&beliefs_[v * stride_], out); }
    void message(Index p, double* out) const { copy_row(&messages_[p * stride_], out); }

    // The belief of the source of the message at place p, less what came to it over the same edge.
    void cavity(Index p, double* out) const {
        const double* belief = &beliefs_[order_.source[p] * stride_];
        const double* back = &messages_[order_.opposite[p] * stride_];
        if (labels_ == 2) {
            out[0] = 0.0;
            out[1] = belief[0] - back[0];
        } else {
            for (Index k = 0; k < labels_; ++k) out[k] = belief[k] - back[k];
        }
    }

   private:
    static constexpr Index kTogether = 64;  // messages whose scratch stays in the nearest cache
    // Beliefs are kept up to date by differences; so often they are summed anew, before rounding adds up.
    static constexpr Index kRefreshEvery = 8;
    // Changes below so many units in the last place of the largest belief are rounding.
    static constexpr double kRounding = 16 * std::numeric_limits<double>::epsilon();

    void copy_row(const double* row, double* out) const {
        if (labels_ == 2) {
            out[0] = 0.0;
            out[1] = row[0];
        } else {
            std::copy(row, row + labels_, out);
        }
    }

    void refresh_beliefs() {
        const Index V = potentials_.graph.nodes;
        beliefs_.assign(V * stride_, 0.0);
        for (Index v = 0; v < V; ++v) {
            const double* node = potentials_.node_of(v);
            if (labels_ == 2) {
                beliefs_[v] = node[1] - node[0];
            } else {
                const double shift = offset(v);
                for (Index k = 0; k < labels_; ++k) beliefs_[v * stride_ + k] = node[k] - shift;
            }
        }
        for (Index p = 0; p < order_.messages(); ++p) {
            double* belief = &beliefs_[order_.target[p] * stride_];
            const double* message = &messages_[p * stride_];
            for (Index k = 0; k < stride_; ++k) belief[k] += weights_[p] * message[k];
        }
        rounding_ = V > 0 ? kRounding * largest_magnitude(V * stride_, beliefs_.data()) : 0.0;
    }

    Passage pass(const PropagationOptions& options) {
        const Index M = order_.messages();
        const bool parallel = options.schedule == Schedule::kParallel;
        double residual = 0.0;
        for (Index sweep = 1; sweep <= options.max_sweeps; ++sweep) {
            residual = 0.0;
            if (parallel) {
                compute(0, M);
                residual = apply(0, M, 1.0 - options.damping);
            } else {
                for (std::size_t k = 1; k < order_.batches.size(); ++k) {
                    const Index first = order_.batches[k - 1], last = order_.batches[k];
                    compute(first, last);
                    residual = std::max(residual, apply(first, last, 1.0 - options.damping));
                }
            }
            if (residual <= std::max(options.tolerance, rounding_)) return {true, sweep, residual};
            if (sweep % kRefreshEvery == 0) refresh_beliefs();
        }
        return {false, options.max_sweeps, residual};
    }

    // New messages into fresh_, from beliefs and messages that stay as they are meanwhile.
    void compute(Index first, Index last) {
        if (labels_ != 2) {
            with_known_labels(labels_, [&](auto known) { compute_rows<known()>(first, last); });
            return;
        }
        const double* beliefs = beliefs_.data();
        const double* messages = messages_.data();
        const std::int32_t* source = order_.source.data();
        const std::int32_t* opposite = order_.opposite.data();
        double* fresh = fresh_.data();
#pragma omp simd
        for (Index p = first; p < last; ++p) fresh[p] = kernels_.binary(p, beliefs[source[p]] - messages[opposite[p]]);
        if (!kernels_.any_wide()) return;
        for (Index p = first; p < last; ++p)
            if (kernels_.wide(p)) fresh[p] = kernels_.exact_binary(p, beliefs[source[p]] - messages[opposite[p]]);
    }

    template <Index known>
    void compute_rows(Index first, Index last) {
        const Index K = known > 0 ? known : labels_;
        for (Index from = first; from < last; from += kTogether) {
            const Index count = std::min(kTogether, last - from);
            for (Index i = 0; i < count; ++i) {
                const double* belief = &beliefs_[order_.source[from + i] * K];
                const double* back = &messages_[order_.opposite[from + i] * K];
                double* cavity = &cavities_[i * K];
#pragma omp simd
                for (Index k = 0; k < K; ++k) cavity[k] = belief[k] - back[k];
            }
            kernels_.template messages<known>(from, count, cavities_.data(), computed_.data());
            std::copy(computed_.begin(), computed_.begin() + count * K, &fresh_[from * K]);
        }
    }

    // Moves the messages by `step` towards fresh_; the largest change of log-odds that the full step would make.
    double apply(Index first, Index last, double step) {
        double residual = 0.0;
        if (labels_ == 2) {
            double* fresh = fresh_.data();
            double* messages = messages_.data();
#pragma omp simd reduction(max : residual)
            for (Index p = first; p < last; ++p) {
                const double change = fresh[p] - messages[p];
                const double size = std::abs(change);
                residual = size > residual ? size : residual;
                messages[p] += step * change;
                fresh[p] = step * change;
            }
            const std::int32_t* target = order_.target.data();
            for (Index p = first; p < last; ++p) beliefs_[target[p]] += weights_[p] * fresh[p];
            return residual;
        }
        return with_known_labels(labels_, [&](auto known) { return apply_rows<known()>(first, last, step); });
    }

    template <Index known>
    double apply_rows(Index first, Index last, double step) {
        const Index K = known > 0 ? known : labels_;
        double residual = 0.0;
        for (Index p = first; p < last; ++p) {
            const double* fresh = &fresh_[p * K];
            double* message = &messages_[p * K];
            double* belief = &beliefs_[order_.target[p] * K];
            const double weight = weights_[p];
            double low = std::numeric_limits<double>::infinity(), high = -low;
#pragma omp simd reduction(min : low) reduction(max : high)
            for (Index k = 0; k < K; ++k) {
                const double change = fresh[k] - message[k];
                low = change < low ? change : low;
                high = change > high ? change : high;
                message[k] += step * change;
                belief[k] += weight * (step * change);
            }
            residual = high - low > residual ? high - low : residual;
        }
        return residual;
    }

    // Pending messages wait in fresh_; after one is applied, those that leave its target are computed again.
    Passage pass_by_residual(const PropagationOptions& options) {
        const Index M = order_.messages();
        const double step = 1.0 - options.damping;
        MaxTree residuals(M);
        compute(0, M);
        for (Index p = 0; p < M; ++p) residuals.set(p, pending(p));
        Index updates = 0;
        while (residuals.top() > std::max(options.tolerance, rounding_)) {
            if (updates == options.max_sweeps * M) return {false, options.max_sweeps, residuals.top()};
            const Index p = residuals.find();
            apply(p, p + 1, step);
            ++updates;
            if (updates % (kRefreshEvery * M) == 0) refresh_beliefs();
            compute(p, p + 1);
            residuals.set(p, pending(p));
            const Index v = order_.target[p];
            for (Index k = order_.starts[v]; k < order_.starts[v + 1]; ++k) {
                const Index out = order_.place_of[order_.incoming[k] ^ 1];
                // Without rho, an edge hands nothing back of what came over it.
                if (out == order_.opposite[p] && weights_[p] == 1.0) continue;
                compute(out, out + 1);
                residuals.set(out, pending(out));
            }
        }
        return {true, (updates + M - 1) / M, residuals.top()};
    }

    double pending(Index p) const {
        const double* fresh = &fresh_[p * stride_];
        const double* message = &messages_[p * stride_];
        if (labels_ == 2) return std::abs(fresh[0] - message[0]);
        double low = fresh[0] - message[0], high = low;
        for (Index k = 1; k < labels_; ++k) {
            low = std::min(low, fresh[k] - message[k]);
            high = std::max(high, fresh[k] - message[k]);
        }
        return high - low;
    }

    PairwisePotentials potentials_{};
    Index labels_ = 0, stride_ = 1;  // two labels: log-odds, one number; otherwise rows of K
    double rounding_ = 0.0;
    SweepOrder order_;
    MessageKernels<algebra> kernels_;
    std::vector<double> beliefs_, messages_, fresh_, weights_, cavities_, computed_;
};

}  // namespace dualfield
