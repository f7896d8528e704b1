// What is proven of a relaxed objective at given weights, whether or not inference has converged.
//
// With U_i and L_i the sides of the relaxed log-partition of block i (loopy_graph.hpp), L_i the value of marginals mu_i
// that agree, any other weights w' have log Z_i(w') >= <theta_i(w'), mu_i> + H(mu_i). So with g the gradient that the
// mu_i give,
//     P(w) <= l2/2 |w|^2 + sum_i c_i (U_i - <theta_i, truth_i>),
//     P(w') >= l2/2 |w|^2 + sum_i c_i (L_i - <theta_i, truth_i>) - |g|^2 / (2 l2)    for all w'.
// Both bounds are widened by the rounding errors that they and g may have.
#pragma once

#include <vector>

#include "duality/certificate.hpp"
#include "fields/loopy_graph.hpp"

namespace dualfield {

inline Certificate bound_relaxed(const LoopyGraph& field, const double* w) {
    LoopyGraph::Workspace oracle;
    LoopyGraph::Direction direction;
    std::vector<double> theta, m, gradient(w, w + field.dimension());
    const double l2 = field.l2(), penalty = 0.5 * l2 * squared_norm(field.dimension(), w);
    scale(field.dimension(), l2, gradient.data());
    CompensatedSum upper, lower;
    double magnitude = penalty, terms = std::sqrt(2.0 * l2 * penalty);  // what rounding acts on in values, and in g
    for (const Index i : active_blocks(field)) {
        const Index size = field.compact_size(i);
        const double c = field.sample_weight(i);
        field.score(i, w, room(theta, size));
        magnitude += c * field.magnitude(i, theta.data()) * rounding_growth(size);
        field.center(i, theta.data());
        const LoopyGraph::Sides sides = field.sides(i, theta.data(), room(m, size), oracle);
        const double true_score = field.true_score(i, theta.data());
        upper.add(c * (sides.upper - true_score));
        lower.add(c * (sides.lower - true_score));
        magnitude += c * (sides.magnitude * rounding_growth(size) + std::abs(true_score));
        terms += 2.0 * c * std::sqrt(field.pull(i, m.data(), direction));
        field.subtract_truth(i, m.data());
        field.pull(i, m.data(), direction);
        field.apply(gradient.data(), c, direction, {});
    }
    const double allowance = rounding_allowance(magnitude);
    const double norm = std::sqrt(squared_norm(field.dimension(), gradient.data())) + rounding_allowance(terms);
    const double primal = upper.value() + penalty + allowance;
    const double dual = lower.value() + penalty - 0.5 / l2 * norm * norm - allowance;
    return {primal, dual, primal - dual};
}

}  // namespace dualfield
