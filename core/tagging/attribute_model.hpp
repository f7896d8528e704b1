// What tagging one sequence needs of a model: the scores of labels that an attribute adds, and the weights of
// transitions.
//
// A model never changes after it was made, so that any number of threads may use it.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
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

// An attribute on its way through the steps of a look-up. A zero byte follows the name.
struct Wanted {
    const char* name;
    std::size_t length;
    double value;
    std::size_t row;     // where the scores of its position begin
    std::uint32_t hash;  // what `expect` gave
    std::size_t place;   // where the next step looks
};

// A look-up follows a chain of places: the index, the name, the list of weights, the weights. Each lies somewhere else
// in a file of many megabytes, so a look-up alone waits for memory at every step. Some attributes together take each
// step one after the other, and ask for the places of the next step ahead.
class AttributeModel {
   public:
    // No attribute: an unknown one leads here.
    static constexpr std::size_t kNowhere = static_cast<std::size_t>(-1);

    virtual ~AttributeModel() = default;

    // The hash by which a name is looked up; asks for its place in the index ahead of `add`.
    virtual std::uint32_t expect(const char* name, std::size_t length) const = 0;

    // scores[row + label] += value * weight, for each attribute in its turn and every label that it has a weight with.
    // An unknown attribute adds nothing. Throws Damage where the file turns out to be damaged.
    virtual void add(std::span<Wanted> wanted, double* scores) const = 0;
    virtual std::size_t attributes() const = 0;

    const Transitions& transitions() const { return transitions_; }

   protected:
    explicit AttributeModel(std::size_t labels) : transitions_(labels) {}
    Transitions transitions_;
};

}  // namespace dualfield::tagging
