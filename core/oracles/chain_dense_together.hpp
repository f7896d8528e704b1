// Edges of which every pair of labels has a potential, for chains with many labels that are worked on together: see
// chain_together.hpp. A step over an edge is a product of matrices, labels x labels times labels x chains. The
// exponentials are kept in panels of a few labels, so that sums stay in registers while a panel is read.
#pragma once

#include <vector>

#include "oracles/chain_together.hpp"

namespace dualfield {

class DenseEdgesTogether {
   public:
#ifdef __AVX512F__
    static constexpr Index kPieces = 2;
#else
    static constexpr Index kPieces = 1;
#endif

    // `edge`: K x K potentials.
    void set(Index K, std::vector<double> edge) {
        labels_ = K;
        top_ = maximum(K * K, edge.data());
        lowest_ = minimum(K * K, edge.data()) - top_;
        potentials_ = std::move(edge);
        for (double& x : potentials_) x -= top_;
        std::vector<double> exps(K * K);
        exp_shifted(K * K, potentials_.data(), 0.0, exps.data());
        const Index panels = (K + kPanel - 1) / kPanel;
        double *to = room(to_, panels * kPanel * K), *from = room(from_, panels * kPanel * K);
        for (Index first = 0; first < panels * kPanel; first += kPanel)
            for (Index i = 0; i < K; ++i)
                for (Index j = first; j < first + kPanel; ++j) {
                    *to++ = j < K ? exps[i * K + j] : 0.0;
                    *from++ = j < K ? exps[j * K + i] : 0.0;
                }
    }

    Index labels() const { return labels_; }
    Index counts() const { return labels_ * labels_; }
    double top() const { return top_; }
    double lowest() const { return lowest_; }
    // Less the largest.
    double potential(Index i, Index j) const { return potentials_[i * labels_ + j]; }

    void forwards(const double* a, const double*, double* out) const { multiply(to_.data(), a, out); }
    void backwards(const double* b, double* out) const { multiply(from_.data(), b, out); }

    // Tiles of labels after an edge stay in the second cache while all labels before it pass.
    void add(Index n, Index row, const double* leaving, const double* arriving, double* edge_sum) const {
        constexpr Index kTile = 64;
        for (Index tile = 0; tile < labels_; tile += kTile)
            for (Index i = 0; i < labels_; i += kRows)
                for (Index j = tile; j < std::min(labels_, tile + kTile); j += kColumns)
                    add_block(i, j, n, row, leaving, arriving, edge_sum);
    }

   private:
#ifdef __AVX512F__
    static constexpr Index kPanel = 12, kRows = 6, kColumns = 4;
#elif defined(__AVX__)
    static constexpr Index kPanel = 6, kRows = 2, kColumns = 2;
#else
    static constexpr Index kPanel = 2, kRows = 2, kColumns = 2;
#endif
    static constexpr Index kChains = 8 * kPieces;

    // out[j] = sum_i x[i] E_ij, E in panels of labels j.
    void multiply(const double* panel, const double* x, double* out) const {
        for (Index first = 0; first < labels_; first += kPanel) {
            Piece sums[kPanel * kPieces];
            clear(sums);
            const double* message = x;
            for (Index i = 0; i < labels_; ++i, panel += kPanel, message += kChains) {
                Piece pieces[kPieces];
                for_each_piece<kPieces>([&](Index p) DUALFIELD_INLINE { load(message + 8 * p, pieces[p]); });
                for_each_piece<kPanel * kPieces>(
                    [&](Index s) DUALFIELD_INLINE { sums[s] += panel[s / kPieces] * pieces[s % kPieces]; });
            }
            const Index some = std::min(kPanel, labels_ - first);
            for_each_piece<kPanel * kPieces>([&](Index s) DUALFIELD_INLINE {
                if (s / kPieces < some) store(sums[s], out + (first + s / kPieces) * kChains + 8 * (s % kPieces));
            });
        }
    }

    // Where there are fewer labels left, the last one stands in for those that are missing.
    void add_block(Index i, Index j, Index n, Index row, const double* leaving, const double* arriving,
                   double* edge_sum) const {
        const double *from[kRows], *to[kColumns];
        for (Index r = 0; r < kRows; ++r) from[r] = leaving + std::min(i + r, labels_ - 1) * row;
        for (Index c = 0; c < kColumns; ++c) to[c] = arriving + std::min(j + c, labels_ - 1) * row;
        Piece sums[kRows * kColumns];
        clear(sums);
        for (Index k = 0; k < n; k += 8) {
            Piece columns[kColumns];
            for_each_piece<kColumns>([&](Index c) DUALFIELD_INLINE { load(to[c] + k, columns[c]); });
            for_each_piece<kRows>([&](Index r) DUALFIELD_INLINE {
                Piece piece;
                load(from[r] + k, piece);
                for_each_piece<kColumns>([&](Index c)
                                             DUALFIELD_INLINE { sums[r * kColumns + c] += piece * columns[c]; });
            });
        }
        double totals[kRows * kColumns];
        for_each_piece<kRows * kColumns / kRowsAtOnce>([&](Index s) DUALFIELD_INLINE {
            Piece some[kRowsAtOnce];
            for_each_piece<kRowsAtOnce>([&](Index r) DUALFIELD_INLINE { some[r] = sums[s * kRowsAtOnce + r]; });
            store_totals(some, totals + s * kRowsAtOnce);
        });
        const Index rows = std::min(kRows, labels_ - i), columns = std::min(kColumns, labels_ - j);
        const double* exps = &to_[(j / kPanel * labels_ + i) * kPanel + j % kPanel];  // a block lies within a panel
        for (Index r = 0; r < rows; ++r)
            for (Index c = 0; c < columns; ++c)
                edge_sum[(i + r) * labels_ + j + c] += exps[r * kPanel + c] * totals[r * kColumns + c];
    }

    Index labels_ = 0;
    double top_ = 0.0, lowest_ = 0.0;
    std::vector<double> potentials_;
    AlignedVector to_, from_;  // exp(potential) in panels of labels after an edge, and of labels before it
};

}  // namespace dualfield
