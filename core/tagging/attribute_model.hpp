// What tagging one sequence needs of a model: the scores of labels that an attribute adds, and the weights of
// transitions.
//
// A model never changes after it was made, so that any number of threads may use it.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <stdexcept>
#include <string>
#include <vector>

namespace dualfield::tagging {

inline constexpr double kImpossible = -std::numeric_limits<double>::infinity();

// Why bytes cannot be used as a model: a clause that follows "... cannot be used: ".
class Damage : public std::runtime_error {
    using std::runtime_error::runtime_error;
};

// The weights that do not depend on attributes; K labels.
struct Transitions {
    std::size_t labels = 0;
    std::vector<double> weights;  // K x K, from a row to a column; minus infinity where forbidden
    // exp(weight - largest), and the same with rows and columns exchanged, so that both sweeps go along rows
    std::vector<double> factors, factors_to;
    double largest = 0.0;
    std::vector<double> bias, begin, end;  // K each, or empty

    explicit Transitions(std::size_t n_labels) : labels(n_labels), weights(n_labels * n_labels) {}

    // Computes the factors, once the weights are there.
    void finish() {
        largest = kImpossible;
        for (const double weight : weights) largest = std::max(largest, weight);
        if (!std::isfinite(largest)) largest = 0.0;
        factors.resize(weights.size());
        factors_to.resize(weights.size());
        for (std::size_t i = 0; i < labels; ++i)
            for (std::size_t j = 0; j < labels; ++j)
                factors_to[j * labels + i] = factors[i * labels + j] = std::exp(weights[i * labels + j] - largest);
    }
};

class AttributeModel {
   public:
    virtual ~AttributeModel() = default;

    // row[label] += value * weight, for every label that the attribute has a weight with. An unknown attribute adds
    // nothing. A zero byte follows the name. Throws Damage where the file turns out to be damaged.
    virtual void add(const char* name, std::size_t length, double value, double* row) const = 0;
    virtual std::size_t attributes() const = 0;

    const Transitions& transitions() const { return transitions_; }

   protected:
    explicit AttributeModel(std::size_t labels) : transitions_(labels) {}
    Transitions transitions_;
};

}  // namespace dualfield::tagging
