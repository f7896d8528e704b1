// Passive aggressive learning: Crammer et al. (2006). Blocks in a random order each pass; with y^ the best labelling of
// block i under w, D = F_i - F(x_i, y^), and d the number of labels that are wrong in y^, the loss and the step are
//     loss = <w, F(x_i, y^)> - <w, F_i> + sqrt(d),     w <- w + c_i tau D,
//     PA:     tau = loss / |D|^2,         the shortest step to a loss of zero
//     PA-I:   tau = min(c, loss / |D|^2)
//     PA-II:  tau = loss / (|D|^2 + 1 / (2 c)).
// Without sensitivity to the errors, sqrt(d) is 1. It minimises no likelihood, so there is nothing to certify.
#pragma once

#include <algorithm>

#include "solvers/primal/lazy_weights.hpp"
#include "solvers/primal/mistake_driven.hpp"

namespace dualfield {

enum class Slack { none, linear, squared };  // PA, PA-I, PA-II

inline RuleNames<Slack> names_of(Slack) {
    return {{"none", Slack::none}, {"linear", Slack::linear}, {"squared", Slack::squared}};
}

struct PAOptions {
    Slack slack;
    double c;
    bool error_sensitive, average;
    std::uint64_t seed;

    void each(auto&& option) {
        option("slack", slack);
        option("c", c);
        option("error_sensitive", error_sensitive);
        option("average", average);
        option("seed", seed);
    }
};

template <DecodingField F>
class PA : public MistakeDriven<F, PA<F>> {
    using Base = MistakeDriven<F, PA<F>>;
    using Base::field_, Base::direction_;

   public:
    using Options = PAOptions;

    PA(const F& field, const Options& options)
        : Base(field, options.seed),
          options_(options),
          weights_(field, options.average ? Lazy::averaging : Lazy::shrinking) {}

    std::vector<double> weights() const {
        std::vector<double> w(field_.dimension());
        options_.average ? weights_.read_average(w.data()) : weights_.read(w.data());
        return w;
    }

    void set_weights(const double* w) { weights_.set(w); }  // before the first run()

    void archive(Archive& archive) {
        weights_.archive(archive);
        this->archive_progress(archive);
    }

    bool visit(Index i) {
        weights_.score(i, this->room_for_potentials(i));
        const bool wrong = this->differs(i);
        if (wrong) {
            const double c = field_.sample_weight(i), norm = field_.pull(i, this->difference(), direction_);
            const double margin =
                options_.error_sensitive ? std::sqrt(static_cast<double>(this->wrong_labels(i))) : 1.0;
            const double loss = this->excess(i) + margin, step = c * length(loss, norm);
            if (!this->bounded(step * step * norm)) return true;
            weights_.add(-step, direction_);
            this->add_loss(c * loss);
        }
        if (options_.average) weights_.count();
        return wrong;
    }

   private:
    // The step tau. It is zero for two labellings with the same features: no weights tell them apart.
    double length(double loss, double norm) const {
        if (norm == 0.0) return 0.0;
        switch (options_.slack) {
            case Slack::linear:
                return std::min(options_.c, loss / norm);
            case Slack::squared:
                return loss / (norm + 0.5 / options_.c);
            default:
                return loss / norm;
        }
    }

    Options options_;
    LazyWeights<F> weights_;
};

}  // namespace dualfield
