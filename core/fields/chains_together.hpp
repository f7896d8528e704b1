// The objective and the marginals of a chain with many labels, several blocks at a time: see
// oracles/chain_together.hpp. The counts of edges are summed over the blocks of a group before they are added.
//
// What is asked of the field, beside what field.hpp says:
//     Edges, write_edges(w, edges)           what the oracle has of edges; edges are numbered as it numbers them
//     score_nodes(i, w, theta)               potentials of nodes, T x K, and eight numbers of room
//     masked(), mask_nodes(i, theta)         whether labels may be impossible; -inf for those that are
//     edge_magnitude(w)                      the largest magnitude of an edge's potential
//     edge_score(edges, w, before, now)      the potential of a pair of labels, less the largest of all pairs
//     edge_place(before, now)                the number of a pair, or -1
//     add_edges_of(i, m, a, counts)          counts += a * the edges' part of a compact vector
//     own_nodes(part), add_nodes(own, i, nodes, a, w), add_edges(part, counts, a, w)    w += a * counts of a part
#pragma once

#include <array>
#include <optional>
#include <tuple>
#include <utility>

#include "fields/objective.hpp"
#include "oracles/chain_together.hpp"

namespace dualfield {

// Blocks of similar length, some at a time: of each window, the longest first.
template <class F>
void group_by_length(const F& field, Index window, const Index* blocks, Index count, std::vector<Index>& order) {
    order.assign(blocks, blocks + count);
    for (Index first = 0; first < count; first += window)
        std::stable_sort(order.begin() + first, order.begin() + std::min(count, first + window),
                         [&](Index x, Index y) { return field.length(x) > field.length(y); });
}

// Held: a field, or a reference to one.
template <class Held>
class ChainsTogetherObjective final : public Objective {
    using F = std::remove_cvref_t<Held>;
    using Oracle = ForwardBackwardTogether<typename F::Edges>;
    static constexpr Index kChains = Oracle::kChains, kGroups = 4;  // in a window

   public:
    explicit ChainsTogetherObjective(const F& field) : field_(field) {}

    using Objective::add;
    Index add(const Index* blocks, Index count, const double* w, double* gradient, Team& team,
              const Deadline& deadline) override {
        if (static_cast<Index>(workers_.size()) < team.size()) workers_ = std::vector<Worker>(team.size());
        if (static_cast<Index>(own_.size()) != team.size()) own_ = std::vector<std::optional<Own>>(team.size());
        if (static_cast<Index>(slots_.size()) < OrderedHandOver::places(team))
            slots_.resize(OrderedHandOver::places(team));
        field_.write_edges(w, edges_);
        edge_magnitude_ = field_.edge_magnitude(w);
        group_by_length(field_, kGroups * kChains, blocks, count, order_);
        const Index groups = (count + kChains - 1) / kChains;
        Index done = run(0, groups, w, gradient, team, [&] { return deadline.passed(); });
        const Index whole = std::min(groups, (done + kGroups - 1) / kGroups * kGroups);
        if (done < whole) done += run(done, whole - done, w, gradient, team, [] { return false; });
        return std::min(count, done * kChains);
    }

   private:
    using Own = decltype(std::declval<const F&>().own_nodes(Part{}));

    struct alignas(64) Worker {
        Oracle oracle;
        typename F::Workspace alone;
        std::vector<double> potentials, alone_potentials, alone_marginals;
    };
    // The result of a group: marginals less the truth; those of edges times the sample weight, and summed.
    struct alignas(64) Slot {
        std::vector<double> nodes, edges;  // edges as the oracle numbers them
        std::array<Index, kChains> blocks;
        std::array<double, kChains> weights, losses, magnitudes;
        double* nodes_of[kChains];
        Index count;
    };

    // The groups first .. first + count - 1, or those before it is time to stop; returns how many.
    template <class Stop>
    Index run(Index first, Index count, const double* w, double* gradient, Team& team, Stop&& stop) {
        return hand_over_.run(
            team, count,
            [&](Index k, Index place, Index member) {
                look_at(first + k, w, gradient != nullptr, workers_[member], slots_[place]);
            },
            [&](Index, Index place, Index member) { take(slots_[place], gradient, {member, team.size()}); }, stop);
    }

    void look_at(Index group, const double* w, bool with_gradient, Worker& worker, Slot& slot) {
        const Index K = field_.labels(), first = group * kChains;
        slot.count = std::min<Index>(kChains, std::ssize(order_) - first);
        Index numbers = 0;
        for (Index c = 0; c < slot.count; ++c) {
            slot.blocks[c] = order_[first + c];
            numbers += field_.length(slot.blocks[c]) * K;
        }
        double* theta = room(worker.potentials, numbers + kRoom);
        double* nodes = with_gradient ? room(slot.nodes, numbers + kRoom) : nullptr;
        NodePotentials chains[kChains];
        double log_z[kChains], weights[kChains] = {};
        for (Index c = 0; c < slot.count; ++c) {
            const Index i = slot.blocks[c], T = field_.length(i);
            weights[c] = slot.weights[c] = field_.sample_weight(i);
            slot.nodes_of[c] = nodes;
            if (weights[c] > 0.0) {
                field_.score_nodes(i, w, theta);
                slot.magnitudes[c] = weights[c] * doubtful(magnitude(i, theta));
                field_.mask_nodes(i, theta);
                for (Index t = 0; t < T; ++t) subtract_maximum(K, theta + t * K);
                chains[c] = {T, theta, field_.masked()};
            }
            theta += T * K;
            if (nodes) nodes += T * K;
        }
        if (with_gradient) {
            slot.edges.assign(edges_.counts(), 0.0);
            worker.oracle.marginals(edges_, chains, weights, log_z, slot.nodes_of, slot.edges.data());
        } else {
            worker.oracle.log_partitions(edges_, chains, log_z);
        }
        for (Index c = 0; c < slot.count; ++c)
            if (weights[c] > 0.0) finish(c, w, chains[c].node, log_z[c], with_gradient, worker, slot);
    }

    // The loss of a chain, and its truth taken from the counts.
    void finish(Index c, const double* w, const double* theta, double log_z, bool with_gradient, Worker& worker,
                Slot& slot) {
        const Index K = field_.labels(), i = slot.blocks[c], T = field_.length(i);
        const double a = slot.weights[c];
        const std::int32_t* y = field_.truth(i);
        double true_score = 0.0;
        if (std::isnan(log_z)) {
            std::tie(log_z, true_score) = look_at_alone(c, w, with_gradient, worker, slot);
        } else {
            for (Index t = 0; t < T; ++t) true_score += theta[t * K + y[t]];
            for (Index t = 1; t < T; ++t) true_score += field_.edge_score(edges_, w, y[t - 1], y[t]);
        }
        slot.losses[c] = a * (log_z - true_score);
        slot.magnitudes[c] += a * (std::abs(log_z) + std::abs(true_score));
        if (!with_gradient) return;
        for (Index t = 0; t < T; ++t) slot.nodes_of[c][t * K + y[t]] -= 1.0;
        for (Index t = 1; t < T; ++t) {
            const Index place = field_.edge_place(y[t - 1], y[t]);
            if (place >= 0) slot.edges[place] -= a;
        }
    }

    // The field's own oracle knows what to do where potentials are too far apart.
    std::pair<double, double> look_at_alone(Index c, const double* w, bool with_gradient, Worker& worker, Slot& slot) {
        const Index i = slot.blocks[c], size = field_.compact_size(i), nodes = field_.length(i) * field_.labels();
        double* theta = room(worker.alone_potentials, size);
        double* m = room(worker.alone_marginals, size);
        field_.score(i, w, theta);
        field_.center(i, theta);
        const double log_z =
            with_gradient ? field_.infer(i, theta, m, worker.alone) : field_.log_partition(i, theta, worker.alone);
        if (with_gradient) {
            std::copy(m, m + nodes, slot.nodes_of[c]);
            field_.add_edges_of(i, m, slot.weights[c], slot.edges.data());
        }
        return {log_z, field_.true_score(i, theta)};
    }

    double magnitude(Index i, const double* theta) const {
        const Index K = field_.labels(), T = field_.length(i);
        double total = static_cast<double>(T - 1) * edge_magnitude_;
        for (Index t = 0; t < T; ++t) total += largest_magnitude(K, theta + t * K);
        return total * rounding_growth(field_.compact_size(i));
    }

    void take(const Slot& slot, double* gradient, const Part& part) {
        if (gradient) {
            if (!own_[part.index]) own_[part.index] = field_.own_nodes(part);
            for (Index c = 0; c < slot.count; ++c)
                if (slot.weights[c] > 0.0)
                    field_.add_nodes(*own_[part.index], slot.blocks[c], slot.nodes_of[c], slot.weights[c], gradient);
            field_.add_edges(part, slot.edges.data(), 1.0, gradient);
        }
        if (part.index > 0) return;
        for (Index c = 0; c < slot.count; ++c) {
            if (!(slot.weights[c] > 0.0)) continue;
            losses_.add(slot.losses[c]);
            magnitude_ += slot.magnitudes[c];
            ++oracle_calls_;
        }
    }

    static constexpr Index kRoom = 8;  // for what NodeFeatures writes past the last node

    Held field_;
    typename F::Edges edges_;
    double edge_magnitude_ = 0.0;
    std::vector<Index> order_;
    std::vector<Worker> workers_;
    std::vector<Slot> slots_;
    std::vector<std::optional<Own>> own_;
    OrderedHandOver hand_over_;
};

}  // namespace dualfield
