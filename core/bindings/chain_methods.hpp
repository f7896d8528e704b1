// What fields on chains offer beside what all do: lists of labellings.
#pragma once

#include "bindings/field_methods.hpp"

namespace dualfield {

template <class F, class... Base>
void bind_chain(nb::class_<F, Base...>& bound) {
    using namespace nb::literals;
    bound
        .def(
            "chain_potentials",
            [](const F& field, Vector<double> w, Index i) {
                check_weights(field, w);
                check_block(field, i);
                std::vector<double> theta(field.compact_size(i)), masked;
                score_block(field, w.data(), i, theta.data());
                const ChainPotentials chain = chain_of_block(field, i, theta.data(), masked);
                const std::size_t T = static_cast<std::size_t>(chain.length),
                                  K = static_cast<std::size_t>(chain.labels),
                                  matrices = static_cast<std::size_t>(chain.edge_matrices());
                auto node = new_array<double, 2>({T, K});
                auto edge = new_array<double, 3>({matrices, K, K});
                std::copy(chain.node, chain.node + T * K, node.data());
                std::copy(chain.edge, chain.edge + matrices * K * K, edge.data());
                return std::make_pair(node, edge);
            },
            "weights"_a.noconvert(), "block"_a,
            "(node, edge) potentials of one block, as oracles take them; -inf for what is impossible.")
        .def(
            "kbest",
            [](const F& field, Vector<double> w, Index i, Index k) {
                check_weights(field, w);
                check_block(field, i);
                require(k >= 1, "k must be at least 1");
                k = std::min(k, labellings(field.length(i), field.labels()));
                const std::size_t T = static_cast<std::size_t>(field.length(i));
                std::vector<std::int32_t> paths(checked_size({static_cast<std::size_t>(k), T}, sizeof(std::int32_t)));
                std::vector<double> log_p(static_cast<std::size_t>(k));
                Index found = 0;
                {
                    nb::gil_scoped_release release;
                    found = kbest_of_block(field, w.data(), i, k, paths.data(), log_p.data());
                }
                auto out = new_array<std::int32_t, 2>({static_cast<std::size_t>(found), T});
                std::copy(paths.begin(), paths.begin() + found * field.length(i), out.data());
                log_p.resize(static_cast<std::size_t>(found));
                return std::make_pair(out, to_array(log_p));
            },
            "weights"_a.noconvert(), "block"_a, "k"_a, "(labels, log-probabilities), best first.")
        .def(
            "sample",
            [](const F& field, Vector<double> w, Index i, Index count, std::uint64_t seed) {
                check_weights(field, w);
                check_block(field, i);
                require(count >= 0, "the number of samples must not be negative");
                auto out = new_array<std::int32_t, 2>(
                    {static_cast<std::size_t>(count), static_cast<std::size_t>(field.length(i))});
                nb::gil_scoped_release release;
                Random random(seed);
                sample_block(field, w.data(), i, count, random, out.data());
                return out;
            },
            "weights"_a.noconvert(), "block"_a, "count"_a, "seed"_a, "Exact samples of the labels of one block.");
}

}  // namespace dualfield
