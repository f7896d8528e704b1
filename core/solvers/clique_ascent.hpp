// Ascent of the dual clique by clique, without an oracle: IDAL (Hu and Obozinski) and the methods it is compared with.
//
// One update of a clique c, a node or an edge of any block, at D_rho(mu, xi) (clique_state.hpp):
//     g     = Psi_c^T w + A_c^T (xi - A mu / rho)     (the slope without the entropy)
//     nu    = a candidate                             (CandidateRule)
//     gamma = argmax of D_rho along delta = nu - mu   (clique_entropies.hpp)
//     mu_c += gamma delta,   w -= gamma c_i / l2 Psi_c delta
// A pass is as many updates as there are cliques. After every inner_passes of them the multipliers follow,
//     xi -= A mu / rho,
// one step of gradient descent on d(xi) = max_mu D_rho(mu, xi), which is rho-smooth. Without multipliers, xi = 0 stays:
// then the limit is that of another problem, in which disagreement costs but is not forbidden.
#pragma once

#include <limits>
#include <memory>
#include <utility>
#include <vector>

#include "base/deadline.hpp"
#include "sampling/block_sampler.hpp"
#include "solvers/clique/clique_state.hpp"

namespace dualfield {

// Where a clique may move to. Active sets (Yen et al. 2016): a state has mass only once it has been chosen; at each
// visit the best of those without, by g, gets some by a line search of its own, for the slope of a Shannon entropy at
// zero is infinite; then all that have mass move as usual.
enum class CandidateRule {
    kProximal,  // that of the entropy
    kVertex,    // the state of the steepest slope: Frank and Wolfe
    kActiveSet,
};

inline RuleNames<CandidateRule> names_of(CandidateRule) {
    return {{"proximal", CandidateRule::kProximal},
            {"vertex", CandidateRule::kVertex},
            {"active", CandidateRule::kActiveSet}};
}

struct CliqueAscentOptions {
    double rho;
    Index inner_passes;
    bool multipliers;
    bool adapt;  // double inner_passes, then rho, while |A mu| does not fall
    CandidateRule candidate;
    double subprecision;  // of the line search
    double epsilon;       // of the start; NaN takes the best one
    SamplingOptions sampling;

    void each(auto&& option) {
        option("rho", rho);
        option("inner_passes", inner_passes);
        option("multipliers", multipliers);
        option("adapt", adapt);
        option("candidate", candidate);
        option("subprecision", subprecision);
        option("epsilon", epsilon);
        sampling.each(option);
    }
    void check(const auto&) const {
        check_option(std::isfinite(rho) && rho > 0.0, "rho must be positive and finite");
        check_option(inner_passes >= 1, "inner_passes must be at least 1");
        check_option(std::isnan(epsilon) || (0.0 < epsilon && epsilon <= 1.0), "epsilon must be in (0, 1]");
        check_option(sampling.rule == SamplingRule::kUniform || sampling.rule == SamplingRule::kGap,
                     "cliques have gaps alone");
    }
};

template <class Entropy>
class CliqueAscent {
   public:
    CliqueAscent(std::shared_ptr<const CliqueView> view, const CliqueAscentOptions& options)
        : view_(std::move(view)),
          options_(options),
          state_(*view_),
          random_(options.sampling.seed),
          sampler_(options.sampling, all(state_.cliques()), state_.cliques()),
          by_gap_(options.sampling.rule != SamplingRule::kUniform),
          gaps_(by_gap_ ? 0 : state_.cliques(), 0.0),
          rho_(options.rho),
          inner_passes_(options.inner_passes),
          least_rho_(kLeastShareOfRho * options.rho) {
        const CliqueShape edge = state_.edge_shape();
        g_.resize(edge.pairs);
        nu_.resize(edge.pairs);
        delta_.resize(std::max(edge.padded_size(), state_.node_shape().padded_size()));
        counts_.resize(edge.pairs);
        epsilon_ = state_.begin(has_active_sets() ? 0.0 : options.epsilon);
        if (has_active_sets()) activate_truth();
        std::vector<double>& w = state_.weights();
        if (!std::isfinite(
                squared_norm(static_cast<Index>(w.size()), w.data()))) {  // the start is beyond floating point
            diverged_ = true;
            std::fill(w.begin(), w.end(), 0.0);
        }
        dual_bound(true);
    }

    // Runs updates until there were `max_updates` or the time is over; returns how many there were.
    Index run(Index max_updates, double seconds) {
        constexpr Index kBetweenLooks = 64;  // at the clock: an update is short
        const Deadline deadline(seconds);
        Index done = 0;
        while (done < max_updates && !diverged_) {
            update(sampler_.draw(random_));
            ++done;
            ++updates_;
            if (updates_ % cliques() == 0) end_pass();
            if (done % kBetweenLooks == 0 && deadline.passed()) break;
        }
        return done;
    }

    Index cliques() const { return state_.cliques(); }
    Index updates() const { return updates_; }
    Index left_in_pass() const { return cliques() - updates_ % cliques(); }
    Index evaluations() const { return evaluations_; }
    Index outer_iterations() const { return outer_; }
    Index inner_passes() const { return inner_passes_; }
    double rho() const { return rho_; }
    double epsilon() const { return epsilon_; }
    bool diverged() const { return diverged_; }
    // No clique moves any more, and multipliers would not either.
    bool stalled() const { return idle_ >= 2 * cliques() && (!options_.multipliers || violation_ <= kAgreed); }
    const std::vector<double>& weights() const { return state_.weights(); }

    // Values at the end of the last outer iteration, or of the last pass if the method has no multipliers: |A mu|,
    // D_rho, the sum of the gaps that the cliques had at their last visits. waited() counts the outer iterations since
    // |A mu| last fell.
    double violation() const { return violation_; }
    double augmented_dual() const { return augmented_; }
    double recorded_gap() const { return recorded_; }
    Index waited() const { return waited_; }

    // The largest lower bound on the optimum so far: dual values of marginals made to agree, less the rounding in them.
    // The bound is computed once per outer iteration, and on request.
    double dual_bound(bool now) {
        if (bounded_at_ != outer_ || now) {
            const auto repaired = state_.repaired_dual();
            const double bound = repaired.dual - rounding_allowance(repaired.magnitude);
            if (bound > dual_bound_) dual_bound_ = bound;  // false for NaN
            bounded_at_ = outer_;
        }
        return dual_bound_;
    }

    // An estimate of max_mu D_rho(mu, xi) - D_rho. A copy of the run goes on, with the multipliers fixed, until one
    // pass gains less than a thousandth of all that the copy has gained.
    double measured_gap(Index max_passes) const {
        CliqueAscent copy(*this);
        copy.options_.multipliers = copy.options_.adapt = false;
        double total = 0.0;
        for (Index pass = 0; pass < max_passes; ++pass) {
            copy.ascent_ = 0.0;
            for (Index k = 0; k < cliques(); ++k) copy.update(copy.sampler_.order()[k]);
            total += copy.ascent_;
            if (!(copy.ascent_ > 1e-3 * total)) break;
        }
        return total;
    }

    void archive(Archive& archive) {
        state_.archive(archive);
        sampler_.archive(archive);
        archive.array("gaps", gaps_);
        archive.generator("random", random_);
        archive.counters("counters", {&updates_, &evaluations_, &outer_, &inner_passes_, &inner_done_, &idle_, &waited_,
                                      &since_change_, &bounded_at_});
        archive.scalars("numbers",
                        {&rho_, &epsilon_, &violation_, &augmented_, &recorded_, &least_, &least_rho_, &dual_bound_});
        if (has_active_sets() && archive.loading()) find_active();
    }

    // Call this after loading the state of a run whose problem differs only in l2.
    void begin_again(double old_l2) {
        scale(static_cast<Index>(state_.weights().size()), old_l2 / view_->l2(), state_.weights().data());
        sampler_.begin_again();
        updates_ = evaluations_ = outer_ = inner_done_ = idle_ = waited_ = since_change_ = 0;
        least_rho_ = kLeastShareOfRho * options_.rho;
        bounded_at_ = 0;
        dual_bound_ = -std::numeric_limits<double>::infinity();
        dual_bound(true);
        least_ = std::numeric_limits<double>::infinity();
        rho_ = options_.rho;
        inner_passes_ = options_.inner_passes;
    }

   private:
    // Both counts are outer iterations. kLeastBetweenChanges: the minimum between two changes of rho or of the inner
    // passes. kPatience: the time in which |A mu| must fall by the factor kProgress. Chosen on chains of 20 to 100
    // nodes and grids of 20 x 20, with l2 from 0.03 to 1.
    static constexpr Index kLeastBetweenChanges = 10, kPatience = 30, kMostInnerPasses = 16;
    static constexpr double kProgress = 0.99, kRunaway = 3.0, kSettled = 10.0, kAgreed = 1e-9;
    static constexpr double kLeastShareOfRho = 1.0 / 1024.0;

    static std::vector<Index> all(Index n) {
        std::vector<Index> numbers(n);
        std::iota(numbers.begin(), numbers.end(), 0);
        return numbers;
    }

    void end_pass() {
        ++inner_done_;
        if (options_.multipliers && inner_done_ < inner_passes_) return;
        inner_done_ = 0;
        violation_ = state_.violation();
        augmented_ = state_.augmented_dual(rho_);
        recorded_ = by_gap_ ? sampler_.recorded_total() : sum(cliques(), gaps_.data());
        diverged_ = diverged_ || !std::isfinite(augmented_);
        ++outer_;
        if (!options_.multipliers) return;
        state_.move_multipliers(rho_);
        follow_progress();
    }

    // A small rho makes the multipliers faster and the cliques slower. If the gaps of the cliques are small beside the
    // disagreement |A mu|, rho is lowered. If the disagreement does not fall, the cliques first get more inner passes;
    // if that does not help, rho is raised and stays so.
    void follow_progress() {
        const bool falls = violation_ < kProgress * least_;
        least_ = std::min(least_, violation_);
        waited_ = falls ? 0 : waited_ + 1;
        ++since_change_;
        if (!options_.adapt || since_change_ < kLeastBetweenChanges || violation_ <= kAgreed) return;
        const bool runs_away = violation_ > kRunaway * least_;
        const bool settled = !sampler_.followed_gaps() && recorded_ < kSettled * violation_ * violation_ / (2.0 * rho_);
        if (settled && !runs_away && 0.5 * rho_ >= least_rho_) {
            rho_ *= 0.5;
        } else if (runs_away || waited_ >= kPatience) {
            if (inner_passes_ < kMostInnerPasses) {
                inner_passes_ *= 2;
            } else {
                rho_ *= 2.0;
                least_rho_ = rho_;
            }
            least_ = violation_;
        } else {
            return;
        }
        since_change_ = waited_ = 0;
    }

    void update(Index clique) {
        const Index e = clique - state_.node_count();
        const bool is_edge = e >= 0;
        const CliquePlace& place = is_edge ? state_.edge(e) : state_.node(clique);
        double* mu = is_edge ? state_.edge_mu(e) : state_.node_mu(clique);
        char* active = has_active_sets() ? active_.data() + active_start(clique) : nullptr;
        if (active) enter(clique, place, mu, active);

        const CliquePoint at = point(clique, place, mu, active);
        const double gap =
            options_.candidate == CandidateRule::kVertex ? steepest(at) : entropy_.propose(at, nu_.data());
        record(clique, place.weight * gap);
        if (!std::isfinite(gap)) {
            diverged_ = true;
            return;
        }
        for (Index k = 0; k < at.shape.pairs; ++k) delta_[k] = nu_[k] - mu[k];
        const double step = move(clique, at, mu);
        idle_ = step > 0.0 ? 0 : idle_ + 1;
    }

    // Only sampling by gaps needs the sampler's tree, which takes longer to update than a list.
    void record(Index clique, double gap) {
        if (by_gap_) {
            sampler_.record(clique, gap);
        } else {
            gaps_[clique] = gap;
        }
    }

    // The clique at its present marginals. Writes its slope into g_.
    CliquePoint point(Index clique, const CliquePlace& place, const double* mu, const char* active) {
        const Index e = clique - state_.node_count();
        const bool is_edge = e >= 0;
        if (is_edge) {
            state_.write_edge_slope(e, rho_, state_.weights().data(), g_.data());
        } else {
            state_.write_node_slope(clique, rho_, state_.weights().data(), g_.data());
        }
        const double ends = is_edge ? 2.0 : static_cast<double>(state_.degree(clique));
        return {
            is_edge ? state_.edge_shape() : state_.node_shape(),   place.count, mu, g_.data(), state_.entropy(clique),
            ends / rho_ + place.weight / view_->l2() * place.norm, active};
    }

    // Sets nu_ to the state of the largest slope. Returns the slope along nu - mu.
    double steepest(const CliquePoint& at) {
        Entropy::slope(at, nu_.data());
        const Index best = argmax(at.shape.pairs, nu_.data());
        const double along = nu_[best] - dot(at.shape.pairs, nu_.data(), at.mu);
        std::fill(nu_.begin(), nu_.begin() + at.shape.pairs, 0.0);
        nu_[best] = 1.0;
        return along;
    }

    // Moves the clique along delta_ by the best step, and returns that step.
    double move(Index clique, const CliquePoint& at, double* mu) {
        std::fill(delta_.begin() + at.shape.pairs, delta_.begin() + at.shape.padded_size(), 0.0);
        const Index e = clique - state_.node_count();
        const bool is_edge = e >= 0;
        const CliquePlace& place = is_edge ? state_.edge(e) : state_.node(clique);
        const double share = place.weight / view_->l2();
        double quadratic = 0.0;
        if (is_edge) {
            state_.sum_ends(delta_.data());
            quadratic = squared_norm(2 * at.shape.labels, delta_.data() + at.shape.pairs) / rho_ +
                        share * view_->pull_edge(place.block, place.number, delta_.data(), counts_.data());
        } else {
            quadratic =
                static_cast<double>(state_.degree(clique)) / rho_ * squared_norm(at.shape.pairs, delta_.data()) +
                share * view_->pull_node(place.block, place.number, delta_.data());
        }
        const double residual = dot(at.shape.pairs, at.g, delta_.data());
        const LineSearchResult found = entropy_.search(at, delta_.data(), residual, quadratic, options_.subprecision);
        evaluations_ += found.evaluations;
        if (!std::isfinite(residual) || !std::isfinite(quadratic)) diverged_ = true;
        if (!(found.step > 0.0) || diverged_) return 0.0;
        axpy(at.shape.size(), found.step, delta_.data(), mu);
        double* w = state_.weights().data();
        if (is_edge) {
            view_->apply_edge(place.block, place.number, -found.step * share, counts_.data(), w);
        } else {
            view_->apply_node(place.block, place.number, -found.step * share, delta_.data(), w);
        }
        state_.entropy(clique) = found.entropy;
        ascent_ += place.weight * found.ascent;
        return found.step;
    }

    bool has_active_sets() const { return options_.candidate == CandidateRule::kActiveSet; }
    Index active_start(Index clique) const {
        const Index K = state_.labels(), e = clique - state_.node_count();
        return e < 0 ? clique * K : (state_.node_count() + e * K) * K;
    }

    void activate_truth() {
        active_.assign(active_start(cliques()), 0);
        for (Index v = 0; v < state_.node_count(); ++v) active_[active_start(v) + state_.true_node(v)] = 1;
        for (Index e = 0; e < state_.edge_count(); ++e)
            active_[active_start(state_.node_count() + e) + state_.true_edge(e)] = 1;
    }

    void find_active() {
        const Index nodes = state_.node_count(), K = state_.labels();
        for (Index v = 0; v < nodes; ++v)
            for (Index k = 0; k < K; ++k) active_[active_start(v) + k] = state_.node_mu(v)[k] > 0.0;
        for (Index e = 0; e < state_.edge_count(); ++e)
            for (Index k = 0; k < K * K; ++k) active_[active_start(nodes + e) + k] = state_.edge_mu(e)[k] > 0.0;
    }

    // Gives mass to the best of the states that have none, if that raises the dual.
    void enter(Index clique, const CliquePlace& place, double* mu, char* active) {
        const CliquePoint at = point(clique, place, mu, active);
        Index best = -1;
        for (Index k = 0; k < at.shape.pairs; ++k)
            if (!active[k] && (best < 0 || g_[k] > g_[best])) best = k;
        if (best < 0) return;
        for (Index k = 0; k < at.shape.pairs; ++k) delta_[k] = (k == best ? 1.0 : 0.0) - mu[k];
        if (move(clique, at, mu) > 0.0) active[best] = 1;
    }

    std::shared_ptr<const CliqueView> view_;
    CliqueAscentOptions options_;
    CliqueState<Entropy> state_;
    Entropy entropy_;
    Random random_;
    BlockSampler sampler_;
    bool by_gap_;
    std::vector<double> gaps_;  // of each clique, at its last visit
    double rho_;
    Index inner_passes_;
    std::vector<char> active_;
    std::vector<double> g_, nu_, delta_, counts_;
    double epsilon_ = 0.0, ascent_ = 0.0;
    double violation_ = std::numeric_limits<double>::quiet_NaN(), augmented_ = violation_, recorded_ = violation_;
    double least_ = std::numeric_limits<double>::infinity();
    double least_rho_, dual_bound_ = -std::numeric_limits<double>::infinity();
    Index bounded_at_ = 0;  // the outer iteration of the last bound
    Index updates_ = 0, evaluations_ = 0, outer_ = 0, inner_done_ = 0, idle_ = 0, waited_ = 0, since_change_ = 0;
    bool diverged_ = false;
};

}  // namespace dualfield
