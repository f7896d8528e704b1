// An estimate of the duality gap at some weights, from a gradient of the losses that is only roughly theirs.
#pragma once

#include <numeric>
#include <utility>
#include <vector>

#include "duality/elastic_net.hpp"

namespace dualfield {

// (gap, primal). `slopes` is the gradient of the losses, `losses` their sum.
inline std::pair<double, double> estimate_gap(const ElasticNet& penalty, const std::vector<double>& w,
                                              const std::vector<double>& slopes, double losses, Team& team) {
    const Index n = static_cast<Index>(w.size());
    if (!penalty.plain()) {
        std::vector<double> gradient(slopes);
        axpy(n, penalty.l2, w.data(), gradient.data());
        const auto [value, bound] =
            penalty.look(n, w.data(), gradient.data(), losses, team, [](double) { return 0.0; });
        return {losses + value - bound, losses + value};
    }
    std::vector<double> lengths(team.size()), squares(team.size());
    team.run([&](Index member) {
        const Index first = n * member / team.size(), end = n * (member + 1) / team.size();
        lengths[member] = squared_norm(end - first, w.data() + first);
        double square = 0.0;
        for (Index k = first; k < end; ++k) {
            const double slope = slopes[k] + penalty.l2 * w[k];
            square += slope * slope;
        }
        squares[member] = square;
    });
    double primal = 0.5 * penalty.l2 * std::accumulate(lengths.begin(), lengths.end(), 0.0);
    primal += losses;
    return {0.5 * std::accumulate(squares.begin(), squares.end(), 0.0) / penalty.l2, primal};
}

}  // namespace dualfield
