// The structured perceptron: Collins (2002). Blocks in a random order each pass; with y^ the best labelling of block i
// under w,
//     w <- w + c_i (F_i - F(x_i, y^)).
// It minimises no likelihood, so there is nothing to certify. The average over all steps usually tags better.
#pragma once

#include "solvers/primal/lazy_weights.hpp"
#include "solvers/primal/mistake_driven.hpp"

namespace dualfield {

struct PerceptronOptions {
    bool average;
    std::uint64_t seed;

    void each(auto&& option) {
        option("average", average);
        option("seed", seed);
    }
};

template <DecodingField F>
class Perceptron : public MistakeDriven<F, Perceptron<F>> {
    using Base = MistakeDriven<F, Perceptron<F>>;
    using Base::field_, Base::direction_;

   public:
    using Options = PerceptronOptions;

    Perceptron(const F& field, const Options& options)
        : Base(field, options.seed),
          average_(options.average),
          weights_(field, average_ ? Lazy::averaging : Lazy::shrinking) {}

    std::vector<double> weights() const {
        std::vector<double> w(field_.dimension());
        average_ ? weights_.read_average(w.data()) : weights_.read(w.data());
        return w;
    }

    void set_weights(const double* w) { weights_.set(w); }  // before the first run()

    void archive(Archive& archive) {
        weights_.archive(archive);
        this->archive_progress(archive);
    }

    // The loss is the share of wrong labels.
    bool visit(Index i) {
        weights_.score(i, this->room_for_potentials(i));
        const bool wrong = this->differs(i);
        if (wrong) {
            const double c = field_.sample_weight(i);
            if (!this->bounded(c * c * field_.pull(i, this->difference(), direction_))) return true;
            weights_.add(-c, direction_);
            this->add_loss(static_cast<double>(this->wrong_labels(i)) / static_cast<double>(this->nodes(i)));
        }
        if (average_) weights_.count();
        return wrong;
    }

   private:
    bool average_;
    LazyWeights<F> weights_;
};

}  // namespace dualfield
