// The most probable labellings of eight chains at a time that share few potentials of pairs: number c of a vector
// belongs to chain c. The scores are those of SparseViterbi to the last bit.
//
// Of the labels before that have no pair with j, the best is one of the few best labels, or else all of them are looked
// at. That happens for labels j with many pairs, or seldom.
#pragma once

#include <algorithm>
#include <vector>

#include "base/aligned.hpp"
#include "oracles/chain_sparse.hpp"
#include "oracles/chain_together.hpp"

namespace dualfield {

class SparseViterbiTogether {
   public:
    static constexpr Index kChains = 8;

    // `edge`: a potential for each of the pairs, which must stay as long as they are used.
    void set_edges(const LabelPairs& pairs, const double* edge) {
        pairs_ = &pairs;
        by_column_.resize(pairs.count());
        for (Index k = 0; k < pairs.count(); ++k) by_column_[k] = edge[pairs.place()[k]];
        searched_.assign(pairs.labels(), -1);
    }

    // Writes the labels of the best path of each chain of at least one node; ties go to the lower label.
    void decode(const NodePotentials* chains, std::int32_t* const* paths) {
        const Index K = pairs_->labels(), row = K * kChains;
        Index longest = 0;
        for (Index c = 0; c < kChains; ++c) longest = std::max(longest, chains[c].length);
        room(best_, longest * row);
        room(others_, row);
        std::fill(searched_.begin(), searched_.end(), -1);
        for (Index t = 0; t < longest; ++t) {
            double* best = &best_[t * row];
            if (t == 0) {
                std::fill(best, best + row, 0.0);
            } else {
                step(t, best - row, best);
            }
            add_nodes(chains, t, best);
        }
        for (Index c = 0; c < kChains; ++c)
            if (chains[c].length > 0) go_back(c, chains[c].length, paths[c]);
    }

   private:
    static constexpr Index kTop = 3;

    // The best labels of each chain, and their scores.
    struct Top {
        Piece scores[kTop];
        Index labels[kTop][kChains];
    };

    static void find_top(Index K, const double* before, Top& top) {
        const Piece least = Piece{} + kImpossible;
        for (Index r = 0; r < kTop; ++r) {
            top.scores[r] = least;
            for (Index c = 0; c < kChains; ++c) top.labels[r][c] = -1;
        }
        for (Index k = 0; k < K; ++k) {
            Piece here;
            load(before + 8 * k, here);
            if (!any_below(top.scores[kTop - 1], here)) continue;
            for (Index c = 0; c < kChains; ++c) {
                if (!(here[c] > top.scores[kTop - 1][c])) continue;
                Index r = kTop - 1;
                for (; r > 0 && here[c] > top.scores[r - 1][c]; --r) {
                    top.scores[r][c] = top.scores[r - 1][c];
                    top.labels[r][c] = top.labels[r - 1][c];
                }
                top.scores[r][c] = here[c];
                top.labels[r][c] = k;
            }
        }
    }

    void step(Index t, const double* before, double* best) {
        const Index K = pairs_->labels();
        Top top;
        find_top(K, before, top);
        const Piece impossible = Piece{} + kImpossible;
        for (Index j = 0; j < K; ++j) store(pairs_->is_open(j) ? top.scores[0] : impossible, &others_[8 * j]);
        for (Index c = 0; c < kChains; ++c) {
            const Index first = top.labels[0][c];
            if (first < 0) continue;
            for (Index s = pairs_->row_start(first); s < pairs_->row_start(first + 1); ++s) {
                const Index j = pairs_->to()[s];
                if (!pairs_->is_open(j)) continue;
                Index r = 1;
                while (r < kTop && top.labels[r][c] >= 0 && pairs_->holds(top.labels[r][c], j)) ++r;
                others_[8 * j + c] = r < kTop ? top.scores[r][c] : best_without_pair(t, j, before, c);
            }
        }
        const std::int32_t* from = pairs_->from();
        for (Index j = 0; j < K; ++j) {
            Piece tops[2], edge;
            load(&others_[8 * j], tops[0]);
            tops[1] = tops[0];
            Index k = pairs_->column_start(j);
            const Index end = pairs_->column_start(j + 1);
            for (; k + 2 <= end; k += 2)
                for_each_piece<2>([&](Index p) DUALFIELD_INLINE {
                    Piece score;
                    load(before + 8 * Index{from[k + p]}, score);
                    score += eight(by_column_[k + p]);
                    raise(score, tops[p]);
                });
            if (k < end) {
                load(before + 8 * Index{from[k]}, edge);
                edge += eight(by_column_[k]);
                raise(edge, tops[0]);
            }
            raise(tops[1], tops[0]);
            store(tops[0], best + 8 * j);
        }
    }
    DUALFIELD_INLINE static Piece eight(double x) { return Piece{} + x; }

    // Found for all chains when the first one asks at a position.
    double best_without_pair(Index t, Index j, const double* before, Index c) {
        if (searched_[j] != t) {
            searched_[j] = t;
            found_.resize(8 * pairs_->labels());
            Piece best = Piece{} + kImpossible, here;
            Index k = pairs_->column_start(j);
            const Index end = pairs_->column_start(j + 1);
            for (Index i = 0; i < pairs_->labels(); ++i) {
                if (k < end && pairs_->from()[k] == i) {
                    ++k;
                    continue;
                }
                load(before + 8 * i, here);
                raise(here, best);
            }
            store(best, &found_[8 * j]);
        }
        return found_[8 * j + c];
    }

    // Nothing is added beyond a chain's end.
    void add_nodes(const NodePotentials* chains, Index t, double* best) const {
        const Index K = pairs_->labels();
        for (Index k = 0; k < K; k += 8) {
            const Index some = std::min<Index>(8, K - k);
            Piece rows[8];
            for_each_piece<8>([&](Index c) DUALFIELD_INLINE {
                rows[c] = Piece{};
                if (t < chains[c].length) load_first(some, chains[c].node + t * K + k, 0.0, rows[c]);
            });
            transpose(rows);
            for (Index j = 0; j < some; ++j) {
                Piece score;
                load(best + 8 * (k + j), score);
                score += rows[j];
                store(score, best + 8 * (k + j));
            }
        }
    }

    void go_back(Index c, Index T, std::int32_t* path) {
        const Index K = pairs_->labels();
        candidates_.resize(K);
        const auto scores_at = [&](Index t) {
            const double* best = &best_[t * K * kChains + c];
            for (Index k = 0; k < K; ++k) candidates_[k] = best[k * kChains];
        };
        scores_at(T - 1);
        path[T - 1] = first_best();
        for (Index t = T - 1; t > 0; --t) {
            const Index j = path[t];
            const double* before = &best_[(t - 1) * K * kChains + c];
            if (pairs_->is_open(j)) {
                scores_at(t - 1);
            } else {
                std::fill(candidates_.begin(), candidates_.end(), kImpossible);
            }
            for (Index k = pairs_->column_start(j); k < pairs_->column_start(j + 1); ++k)
                candidates_[pairs_->from()[k]] = before[pairs_->from()[k] * kChains] + by_column_[k];
            path[t - 1] = first_best();
        }
    }
    std::int32_t first_best() const {
        const double top = maximum(std::ssize(candidates_), candidates_.data());
        const auto first = std::find(candidates_.begin(), candidates_.end(), top);
        return first == candidates_.end() ? 0 : static_cast<std::int32_t>(first - candidates_.begin());
    }

    const LabelPairs* pairs_ = nullptr;
    AlignedVector best_, others_;  // T rows of scores; one row: the best before that has no pair
    std::vector<double> by_column_, candidates_, found_;
    std::vector<Index> searched_;  // the position for which found_ holds
};

}  // namespace dualfield
