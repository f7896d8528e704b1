// A chain of which only some labellings are allowed: p(y | x) ~ exp(score) over those, nothing elsewhere.
//
// What is allowed: the first and the last label, the pairs of neighbouring labels, and at each position some of the
// labels.
// Weights and features are those of the chain that it is made of. Potentials stay finite here, so that <potentials,
// marginals> is a number; the forbidden ones become -inf on their way to an oracle, which gives exact zeros back.
#pragma once

#include <map>
#include <stdexcept>
#include <string>

#include "fields/chain_field.hpp"

namespace dualfield {

// Masks, true where allowed.
struct AllowedLabels {
    const bool* transitions;  // K x K, from x to
    const bool* begin;        // K
    const bool* end;          // K
    const bool* positions;    // all positions x K; null: every label everywhere
};

[[noreturn]] inline void refuse_block(Index i, Index length, const char* which, Index reached) {
    throw std::invalid_argument(
        "sequence " + std::to_string(i) + ", of length " + std::to_string(length) + ", has no labelling " + which +
        ": whatever comes before, nothing is possible at position " + std::to_string(reached) + ".");
}

class ConstrainedChain : public OverChain<FreeChain> {
   public:
    // Needs the chain as long as it lives, the masks only now. Throws where a block has no allowed labelling.
    ConstrainedChain(const FreeChain& chain, const AllowedLabels& allowed)
        : ConstrainedChain(chain, allowed, chain.labelled()) {}

    Index compact_size(Index i) const override { return chain_.compact_size(i); }
    Index table_size(Index i) const override { return chain_.table_size(i); }

    void score(Index i, const double* w, double* theta) const override { chain_.score(i, w, theta); }
    void project(Direction& direction, double* theta) const override { chain_.project(direction, theta); }
    double magnitude(Index i, const double* theta) const override { return chain_.magnitude(i, theta); }
    void subtract_truth(Index i, double* m) const override { chain_.subtract_truth(i, m); }
    double true_score(Index i, const double* theta) const override { return chain_.true_score(i, theta); }
    double pull(Index i, const double* m, Direction& direction) const override { return chain_.pull(i, m, direction); }
    void compact(Index i, const double* table, double* m) const override { chain_.compact(i, table, m); }
    Segments segments(Index i) const override { return chain_.segments(i); }
    void differentiate(Index i, const double* table, const double* dtheta, double* dm,
                       std::vector<double>& scratch) const override {
        chain_.differentiate(i, table, dtheta, dm, scratch);
    }

    // Subtracts the largest potential among the allowed labels and pairs.
    void center(Index i, double* theta) const override {
        const Index K = labels(), T = length(i);
        const auto lower = [](Index n, auto&& counts, double* x) {
            double top = kImpossible;
#pragma omp simd reduction(max : top)
            for (Index k = 0; k < n; ++k) top = counts(k) && x[k] > top ? x[k] : top;
#pragma omp simd
            for (Index k = 0; k < n; ++k) x[k] -= top;
        };
        for (Index t = 0; t < T; ++t) lower(K, [at = live(i) + t * K](Index k) { return at[k] != 0; }, theta + t * K);
        if (T > 1) lower(K * K, [this](Index k) { return edge_mask_[k] == 0.0; }, theta + T * K);
    }

    double log_partition(Index i, const double* theta, Workspace& workspace) const override {
        auto& scratch = workspace.as<Scratch>();
        return scratch.oracle.log_partition(potentials(i, theta, scratch.masked));
    }

    double infer(Index i, const double* theta, double* m, Workspace& workspace) const override {
        auto& scratch = workspace.as<Scratch>();
        return chain_.infer_by(scratch.oracle, i, potentials(i, theta, scratch.masked), nullptr, m, scratch.edges);
    }

    double infer_table(Index i, const double* theta, double* table, double* m, Workspace& workspace) const override {
        auto& scratch = workspace.as<Scratch>();
        return chain_.infer_by(scratch.oracle, i, potentials(i, theta, scratch.masked), table, m, scratch.edges);
    }

    double infer_untied(Index i, const double* theta, double* table, Workspace& workspace) const override {
        auto& scratch = workspace.as<Scratch>();
        const Index K = labels(), T = length(i), edges = (T - 1) * K * K;
        double* masked = room(scratch.masked, table_size(i));
        std::copy(theta, theta + edges, masked);
        mask_edges(T - 1, masked);
        mask_nodes(T, live(i), theta + edges, masked + edges);
        return scratch.oracle.marginals({T, K, masked + edges, masked, K * K}, table + edges, table, nullptr);
    }

    // The best labelling of any potentials, for decoding and the perceptron.
    void decode_labels(Index i, const double* theta, std::int32_t* labels, Workspace& workspace) const override {
        auto& scratch = workspace.as<Scratch>();
        scratch.viterbi.decode(potentials(i, theta, scratch.masked), labels);
    }

    void decode(Index i, const double* theta, double* m, Decoder& decoder) const override {
        decoder.labels.resize(length(i));
        decode_labels(i, theta, decoder.labels.data(), decoder.workspace);
        std::fill(m, m + compact_size(i), 0.0);
        chain_.add_labelling(i, decoder.labels.data(), 1.0, m);
    }

    // The potentials of block i for an oracle: -inf for dead labels and forbidden pairs.
    bool constrained() const override { return true; }
    ChainPotentials potentials(Index i, const double* theta, std::vector<double>& masked) const override {
        return potentials_within(i, live(i), theta, masked);
    }

    // The allowed labelling that has as many labels rare in y_i as possible.
    void contrast(Index i, double* m) const override {
        const Index K = labels(), T = length(i);
        const std::int32_t* y = chain_.truth(i);
        std::vector<double> theta(compact_size(i), 0.0), occurrences(K, 0.0);
        for (Index t = 0; t < T; ++t) occurrences[y[t]] -= 1.0;
        for (Index t = 0; t < T; ++t) std::copy(occurrences.begin(), occurrences.end(), theta.begin() + t * K);
        Decoder decoder;
        decode(i, theta.data(), m, decoder);
        subtract_truth(i, m);
    }

    // A row that has underflowed to zero gets its mass spread over the allowed entries.
    void repair_table(Index i, double* table) const override {
        const Index K = labels(), T = length(i);
        for (Index t = 1; t < T - 1; ++t)
            for (Index k = 0; k < K; ++k) {
                double* row = table + (t * K + k) * K;
                if (sum(K, row) > 0.0) continue;
                for (Index j = 0; j < K; ++j) row[j] = allowed(k, j) && live(i)[(t + 1) * K + j] ? 1.0 : 0.0;
            }
        chain_.repair_table(i, table);
    }

    // Uniform over the allowed labellings.
    void uniform(Index i, double* m) const override {
        Workspace workspace;
        infer(i, std::vector<double>(compact_size(i), 0.0).data(), m, workspace);
    }

    void initial_table(Index i, double epsilon, double* table) const override {
        const Index K = labels(), T = length(i);
        const std::int32_t* y = chain_.truth(i);
        if (epsilon > 0.0) {
            Scratch scratch;
            uniform_table(i, table, scratch);
            scale(table_size(i), epsilon, table);
        } else {
            std::fill(table, table + table_size(i), 0.0);
        }
        double* nodes = table + (T - 1) * K * K;
        for (Index t = 0; t < T; ++t) nodes[t * K + y[t]] += 1.0 - epsilon;
        for (Index t = 1; t < T; ++t) table[((t - 1) * K + y[t - 1]) * K + y[t]] += 1.0 - epsilon;
    }

    // With u the uniform distribution's marginals of a clique and u_y that of the true labels, its entropy is
    //     -x log x - epsilon log epsilon (1 - u_y) - epsilon sum over other labels of u log u,
    // where x = 1 - epsilon + epsilon u_y.
    double initial_entropy(Index i, double epsilon) const override {
        const Profile& profile = profiles_[i];
        const Index edges = length(i) - 1, nodes = static_cast<Index>(profile.of_truth.size()) - edges;
        const double* u = profile.of_truth.data();
        const double log_epsilon = epsilon > 0.0 ? std::log(epsilon) : 0.0;
        const double sign = edges > 0 ? -1.0 : 1.0;  // of the nodes
        return -(negative_top(edges, epsilon, u) + sign * negative_top(nodes, epsilon, u + edges) +
                 epsilon * (log_epsilon * profile.off_truth + profile.negative_entropy));
    }

    // Each wrong label has the potential -s. For s from infinity to 0 the distribution goes from the truth alone to the
    // uniform one over the allowed labellings.
    void initial_potentials(Index i, double epsilon, double* theta) const override {
        const Index K = labels(), T = length(i);
        std::fill(theta, theta + compact_size(i), 0.0);
        std::fill(theta, theta + T * K, -strength_of(K, epsilon));
        for (Index t = 0; t < T; ++t) theta[t * K + chain_.truth(i)[t]] = 0.0;
    }

   protected:
    struct Scratch {
        ConstrainedForwardBackward oracle;
        Viterbi viterbi;
        std::vector<double> masked, other, edges;
    };

    // starting: whether a dual method will begin here, which takes the uniform distribution.
    ConstrainedChain(const FreeChain& chain, const AllowedLabels& allowed, bool starting)
        : OverChain(chain), edge_mask_(chain.labels() * chain.labels(), 0.0) {
        const Index K = labels();
        for (Index k = 0; k < K * K; ++k)
            if (!allowed.transitions[k]) edge_mask_[k] = kImpossible;
        find_live(allowed, "that the constraints and the allowed sets leave", live_);
        if (starting) prepare_starts(allowed.positions != nullptr);
    }

    // Finds the labels that some allowed labelling has, all positions x K. If a block has none, the error names the
    // rules by `which`.
    void find_live(const AllowedLabels& allowed, const char* which, std::vector<char>& live) const {
        const Index K = labels(), positions = positions_before(blocks());
        live.assign(positions * K, 0);
        std::vector<double> mask, kept;
        std::map<Index, Index> found;  // length -> its place: without sets at positions only the length matters
        for (Index i = 0; i < blocks(); ++i) {
            const Index T = length(i), first = positions_before(i) * K;
            const auto [same, is_new] = found.try_emplace(T, first);
            if (!is_new && !allowed.positions) {
                std::copy_n(live.begin() + same->second, T * K, live.begin() + first);
                continue;
            }
            mask.assign(T * K, 0.0);
            kept.resize(T * K);
            for (Index k = 0; k < K; ++k) {
                if (!allowed.begin[k]) mask[k] = kImpossible;
                if (!allowed.end[k]) mask[(T - 1) * K + k] = kImpossible;
            }
            for (Index k = 0; allowed.positions && k < T * K; ++k)
                if (!allowed.positions[first + k]) mask[k] = kImpossible;
            const Index reached = keep_live({T, K, mask.data(), edge_mask_.data(), 0}, kept.data());
            if (reached < T) refuse_block(i, T, which, reached);
            for (Index k = 0; k < T * K; ++k) live[first + k] = static_cast<char>(kept[k] > kImpossible);
        }
    }

    ChainPotentials potentials_within(Index i, const char* live, const double* theta,
                                      std::vector<double>& masked) const {
        const Index K = labels(), T = length(i), matrices = chain_.edge_matrices(i);
        double* copy = room(masked, (T + matrices * K) * K);
        mask_nodes(T, live, theta, copy);
        chain_.write_edges(i, theta, copy + T * K);
        mask_edges(matrices, copy + T * K);
        return {T, K, copy, copy + T * K, chain_.edge_step()};
    }

    bool all_allowed() const {
        return std::all_of(edge_mask_.begin(), edge_mask_.end(), [](double mask) { return mask == 0.0; }) &&
               std::all_of(live_.begin(), live_.end(), [](char live) { return live != 0; });
    }

    const char* live(Index i) const { return live_.data() + positions_before(i) * labels(); }
    bool allowed(Index from, Index to) const { return edge_mask_[from * labels() + to] == 0.0; }

   private:
    // What the uniform distribution gives to a block's true labels: for initial_entropy.
    struct Profile {
        std::vector<double> of_truth;   // u_y of edges and interior nodes, or of the only node
        double off_truth = 0.0;         // sum of +-(1 - u_y)
        double negative_entropy = 0.0;  // sum of +-(u log u), without the true labels
        double log_count = 0.0;         // of the allowed labellings
    };

    void mask_nodes(Index T, const char* live, const double* theta, double* out) const {
        const Index size = T * labels();
#pragma omp simd
        for (Index k = 0; k < size; ++k) out[k] = live[k] ? theta[k] : kImpossible;
    }

    void mask_edges(Index matrices, double* edges) const {
        const Index size = labels() * labels();
        for (Index m = 0; m < matrices; ++m, edges += size) {
#pragma omp simd
            for (Index k = 0; k < size; ++k) edges[k] += edge_mask_[k];
        }
    }

    double uniform_table(Index i, double* table, Scratch& scratch) const {
        const std::vector<double> zero(compact_size(i), 0.0);
        return chain_.infer_by(scratch.oracle, i, potentials(i, zero.data(), scratch.masked), table,
                               room(scratch.other, compact_size(i)), scratch.edges);
    }

    // Without sets at positions, blocks of one length share the uniform distribution.
    void prepare_starts(bool each_its_own) {
        profiles_.resize(blocks());
        std::map<Index, std::vector<Index>> alike;
        for (Index i = 0; i < blocks(); ++i) alike[each_its_own ? i : length(i)].push_back(i);
        Scratch scratch;
        std::vector<double> table;
        for (const auto& [key, members] : alike) {
            const double log_count = uniform_table(members.front(), room(table, table_size(members.front())), scratch);
            for (Index i : members) profiles_[i] = profile_of(i, table.data(), log_count);
        }
    }

    Profile profile_of(Index i, const double* table, double log_count) const {
        const Index K = labels(), T = length(i);
        const std::int32_t* y = chain_.truth(i);
        const double* nodes = table + (T - 1) * K * K;
        Profile profile;
        profile.log_count = log_count;
        const auto add = [&](double count, Index n, const double* u, Index truth) {
            profile.of_truth.push_back(u[truth]);
            profile.off_truth += count * (1.0 - u[truth]);
            profile.negative_entropy += count * (negative_entropy(n, u) - negative_entropy(1, u + truth));
        };
        for (Index t = 0; t < T - 1; ++t) add(1.0, K * K, table + t * K * K, y[t] * K + y[t + 1]);
        for (Index t = 1; t < T - 1; ++t) add(-1.0, K, nodes + t * K, y[t]);
        if (T == 1) add(1.0, K, nodes, y[0]);
        return profile;
    }

    // sum of x log x, x = 1 - epsilon + epsilon u
    static double negative_top(Index n, double epsilon, const double* u) {
        double total = 0.0;
#pragma omp simd reduction(+ : total)
        for (Index k = 0; k < n; ++k) {
            const double x = 1.0 - epsilon + epsilon * u[k];
            total += x * fast_log(x > kTiny ? x : kTiny);
        }
        return total;
    }

    std::vector<double> edge_mask_;  // K x K: 0 where allowed, -inf elsewhere
    std::vector<char> live_;         // all positions x K
    std::vector<Profile> profiles_;
};

}  // namespace dualfield
