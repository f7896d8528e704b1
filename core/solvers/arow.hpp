// Adaptive regularisation of weights: Crammer, Kulesza and Dredze (2009), with a diagonal covariance. Weights are
// normal with means w and variances v, all of which begin at the same value. Blocks in a random order each pass; with
// y^ the best labelling of block i under w, D = F_i - F(x_i, y^), and d the number of labels that are wrong in y^,
//     loss = <w, F(x_i, y^)> - <w, F_i> + d
//     w_k <- w_k + loss / (gamma + sum_j v_j D_j^2) v_k D_k
//     v_k <- 1 / (1 / v_k + D_k^2 / gamma).
// It minimises no likelihood, so there is nothing to certify.
#pragma once

#include "solvers/primal/mistake_driven.hpp"

namespace dualfield {

struct AROWOptions {
    double variance, gamma;
    std::uint64_t seed;

    void each(auto&& option) {
        option("variance", variance);
        option("gamma", gamma);
        option("seed", seed);
    }
};

template <DecodingField F>
class AROW : public MistakeDriven<F, AROW<F>> {
    using Base = MistakeDriven<F, AROW<F>>;
    using Base::field_, Base::direction_;

   public:
    using Options = AROWOptions;

    AROW(const F& field, const Options& options)
        : Base(field, options.seed),
          gamma_(options.gamma),
          means_(field.dimension(), 0.0),
          variances_(field.dimension(), options.variance),
          counts_(field.dimension(), 0.0) {}

    std::vector<double> weights() const { return means_; }
    void set_weights(const double* w) { std::copy(w, w + means_.size(), means_.begin()); }  // before the first run()

    void archive(Archive& archive) {
        archive.array("means", means_);
        archive.array("variances", variances_);
        this->archive_progress(archive);
    }

    bool visit(Index i) {
        field_.score(i, means_.data(), this->room_for_potentials(i));
        if (!this->differs(i)) return false;
        field_.pull(i, this->difference(), direction_);
        field_.apply(counts_.data(), -1.0, direction_);  // D, among zeros
        const double c = field_.sample_weight(i);
        const double loss = this->excess(i) + static_cast<double>(this->wrong_labels(i));
        double spread = 0.0, squared_length = 0.0;
        field_.for_each_range_of(i, [&](Index start, Index length) {
            for (Index k = start; k < start + length; ++k) {
                const double change = variances_[k] * counts_[k];
                spread += change * counts_[k];
                squared_length += change * change;
            }
        });
        const double step = c * loss / (gamma_ + spread);
        if (this->bounded(step * step * squared_length)) {
            field_.for_each_range_of(i, [&](Index start, Index length) {
                for (Index k = start; k < start + length; ++k) {
                    if (counts_[k] == 0.0) continue;
                    means_[k] += step * variances_[k] * counts_[k];
                    variances_[k] = 1.0 / (1.0 / variances_[k] + counts_[k] * counts_[k] / gamma_);
                }
            });
            this->add_loss(c * loss);
        }
        field_.for_each_range_of(i, [&](Index start, Index length) {
            std::fill(counts_.data() + start, counts_.data() + start + length, 0.0);
        });
        return true;
    }

   private:
    double gamma_;
    std::vector<double> means_, variances_;
    std::vector<double> counts_;  // of one block at a time, zero in between
};

}  // namespace dualfield
