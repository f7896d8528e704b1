// What SAG and SAGA share: the last gradient of every block, kept as compact marginals, their sum d, which block comes
// next, and the Lipschitz constants that set the step.
//
//     d = sum_i g_i,   g_i = c_i (E_{m_i} F - F_i)
// with m_i the marginals at the block's last visit, at first the indicators of the truth, so that g_i = 0. The
// objective is in mean units here: 1/n sum_i c_i loss_i + lambda/2 |w|^2, lambda = l2/n.
#pragma once

#include <algorithm>
#include <vector>

#include "sampling/weighted_tree.hpp"
#include "solvers/lazy_weights.hpp"
#include "solvers/primal_run.hpp"
#include "solvers/smoothness.hpp"

namespace dualfield {

// uniform: one Lipschitz constant for all. nus, nus_star: one a block, and blocks that change fast are drawn more often.
enum class GradientSampling { uniform, nus, nus_star };

template <Field F, class Method>
class AverageGradientRun : public PrimalRun<F, AverageGradientRun<F, Method>> {
    using Base = PrimalRun<F, AverageGradientRun<F, Method>>;
    friend Base;

   public:
    AverageGradientRun(const F& field, GradientSampling sampling, std::uint64_t seed)
        : Base(field, seed),
          weights_(field, Lazy::drifting),
          sampling_(sampling),
          search_(field),
          constants_(sampling == GradientSampling::uniform ? 0 : field.blocks()),
          visits_(field.blocks(), 0),
          quiet_(field.blocks(), 0),
          skip_(field.blocks(), 0),
          losses_(field.blocks(), 0.0),
          offsets_{0} {
        for (Index i = 0; i < field.blocks(); ++i)
            offsets_.push_back(offsets_.back() + (field.sample_weight(i) > 0.0 ? field.compact_size(i) : 0));
        marginals_.assign(offsets_.back(), 0.0);
        for (Index i : Base::active_) {
            field.subtract_truth(i, memory(i));
            scale(field.compact_size(i), -1.0, memory(i));
        }
        unseen_ = Base::active_;
    }

    Index per_pass() const { return Base::active_count(); }
    void read(double* w) const { weights_.read(w); }
    void set(const double* w) { weights_.set(w); }
    Index seen() const { return seen_; }
    double smoothness() const { return sampling_ == GradientSampling::uniform ? constant_ : mean_constant(); }

    // (gap, primal) as far as the kept gradients tell: |d + l2 w|^2 / (2 l2), and the losses as last seen.
    std::pair<double, double> estimate() {
        if (seen_ < Base::active_count()) return {std::numeric_limits<double>::infinity(), 1.0};
        std::vector<double> w(Base::field_.dimension());
        weights_.read(w.data());
        const double l2 = Base::field_.l2();
        double primal = 0.5 * l2 * squared_norm(Base::field_.dimension(), w.data());
        for (Index i : Base::active_) primal += Base::field_.sample_weight(i) * losses_[i];
        double square = 0.0;
        for (Index k = 0; k < Base::field_.dimension(); ++k) {
            const double slope = weights_.drift()[k] + l2 * w[k];
            square += slope * slope;
        }
        return {0.5 * square / l2, primal};
    }

   protected:
    using Direction = typename F::Direction;

    GradientSampling sampling() const { return sampling_; }
    double common_constant() const { return constant_; }
    double mean_constant() const { return seen_ > 0 ? constants_.total() / static_cast<double>(seen_) : 1.0; }
    double largest_constant() const { return largest_; }

    // With what probability a block of constant L is drawn, times n.
    double relative_probability(double L) const {
        switch (sampling_) {
            case GradientSampling::uniform:
                return 1.0;
            case GradientSampling::nus:
                return seen_ < Base::active_count() ? 1.0 : (L + offset()) / (mean_constant() + offset());
            case GradientSampling::nus_star:
                return constants_.total() > 0.0 ? 0.5 + 0.5 * L / mean_constant() : 1.0;
        }
        return 1.0;
    }

    LazyWeights<F> weights_;

   private:
    void update() {
        const Index i = draw();
        const F& field = Base::field_;
        const Index size = field.compact_size(i);
        const double probability =
            relative_probability(sampling_ == GradientSampling::uniform ? 0.0 : constants_.weight(i));
        double* theta = room(theta_, size);
        double* m = room(fresh_, size);
        weights_.score(i, theta);
        losses_[i] = Base::infer(i, theta, m);
        if (Base::diverged_) return;
        if (visits_[i]++ == 0) ++seen_;
        adapt(i, theta, losses_[i], m);

        double* old = memory(i);
#pragma omp simd
        for (Index k = 0; k < size; ++k) {
            const double change = m[k] - old[k];
            old[k] = m[k];
            m[k] = change;
        }
        const double c = field.sample_weight(i);
        if (!Base::sane(c * std::sqrt(field.pull(i, m, direction_)))) {
            Base::diverged_ = true;
            return;
        }
        static_cast<Method*>(this)->move(c, direction_, probability);
        if (++since_settled_ >= 4 * Base::active_count()) {
            weights_.settle();
            since_settled_ = 0;
        }
    }

    Index draw() {
        const Index n = Base::active_count();
        if (sampling_ == GradientSampling::uniform) return Base::active_[Base::random_.below(n)];
        if (sampling_ == GradientSampling::nus_star) {
            if (Base::random_.uniform() < 0.5 || !(constants_.total() > 0.0))
                return Base::active_[Base::random_.below(n)];
            return constants_.find(Base::random_.uniform());
        }
        if (Base::random_.below(n) < n - seen_) {  // an unseen block, in a random order
            std::swap(unseen_[Base::random_.below(n - seen_)], unseen_[n - seen_ - 1]);
            return unseen_[n - seen_ - 1];
        }
        // In proportion to L_i + L_mean + 2 lambda among the seen: a mixture of L_i and of a uniform draw.
        const double flat = static_cast<double>(seen_) * offset();
        if (Base::random_.uniform() * (constants_.total() + flat) < constants_.total())
            return constants_.find(Base::random_.uniform());
        Index i = Base::active_[Base::random_.below(n)];
        while (visits_[i] == 0) i = Base::active_[Base::random_.below(n)];
        return i;
    }

    double offset() const { return mean_constant() + 2.0 * Base::lambda(); }

    // Adapts the Lipschitz constant at the visit of block i.
    void adapt(Index i, const double* theta, double loss, const double* m) {
        if (sampling_ == GradientSampling::uniform) {
            constant_ = search_.search(i, theta, loss, m, constant_);
            Base::oracle_calls_ += search_.take_oracle_calls();
            constant_ *= std::exp2(-1.0 / static_cast<double>(Base::active_count()));
            return;
        }
        double before = constants_.weight(i);
        if (visits_[i] == 1) before = first_constant();
        double L = before;
        if (sampling_ == GradientSampling::nus) {
            if (visits_[i] > 1) L *= 0.5;
            L = search_.search(i, theta, loss, m, L);
        } else if (skip_[i] > 0) {
            --skip_[i];
        } else {
            L *= visits_[i] > 1 ? 0.9 : 1.0;
            const double tried = L;
            L = search_.search(i, theta, loss, m, L);
            quiet_[i] = L == tried ? quiet_[i] + 1 : 0;
            skip_[i] = quiet_[i] > 0 ? Index{1} << std::min<Index>(quiet_[i] - 1, 20) : 0;
        }
        Base::oracle_calls_ += search_.take_oracle_calls();
        constants_.set(i, L);
        if (L >= largest_) {
            largest_ = L;
        } else if (before == largest_) {
            largest_ = 0.0;
            for (Index j : Base::active_) largest_ = std::max(largest_, constants_.weight(j));
        }
    }

    // Schmidt's code starts each at 1, nus* at the mean of those seen.
    double first_constant() const {
        return sampling_ == GradientSampling::nus_star && seen_ > 1
                   ? constants_.total() / static_cast<double>(seen_ - 1)
                   : 1.0;
    }

    double* memory(Index i) { return marginals_.data() + offsets_[i]; }

    void archive_method(Archive& archive) {
        weights_.archive(archive);
        archive.array("marginals", marginals_);
        archive.array("losses", losses_);
        archive.array("visits", visits_);
        archive.array("quiet", quiet_);
        archive.array("skip", skip_);
        archive.scalars("smoothness", {&constant_, &largest_});
        archive.scalars("since_settled", {&since_settled_});
        seen_ = std::count_if(visits_.begin(), visits_.end(), [](Index visits) { return visits > 0; });
        std::vector<double> constants(sampling_ == GradientSampling::uniform ? 0 : visits_.size());
        for (std::size_t i = 0; i < constants.size(); ++i) constants[i] = constants_.weight(static_cast<Index>(i));
        archive.array("constants", constants);
        for (std::size_t i = 0; i < constants.size(); ++i) constants_.set(static_cast<Index>(i), constants[i]);
        archive.permutation("unseen", unseen_);
    }

    GradientSampling sampling_;
    SmoothnessSearch<F> search_;
    double constant_ = 1.0, largest_ = 0.0;  // the common L; the largest L_i
    WeightedTree constants_;                 // L_i; zero for blocks not yet seen
    std::vector<Index> visits_;
    std::vector<Index> quiet_, skip_;  // searches in a row that changed nothing; visits that will not search
    std::vector<double> losses_;       // at the last visit
    std::vector<Index> unseen_;        // the first n - seen_ are the blocks that nus has not drawn
    Index seen_ = 0, since_settled_ = 0;
    std::vector<Index> offsets_;
    std::vector<double> marginals_;  // m_i, block after block; none for blocks of sample weight zero
    Direction direction_;
    std::vector<double> theta_, fresh_;  // scratch
};

}  // namespace dualfield
