// Edges of which few pairs of labels have a potential of their own, for chains that are worked on together: see
// chain_sparse.hpp for the sums, and chain_together.hpp for how they are used.
#pragma once

#include "oracles/chain_sparse.hpp"
#include "oracles/chain_together.hpp"

namespace dualfield {

class SparseEdgesTogether {
   public:
    static constexpr Index kPieces = 1;

    // `edge`: a potential for each of the pairs, -inf for one that is impossible. Those of all other pairs are zero, or
    // -inf where they lead to a closed label.
    void set(const LabelPairs& pairs, const double* edge) {
        pairs_ = &pairs;
        const Index S = pairs.count();
        top_ = lowest_ = 0.0;
        for (Index s = 0; s < S; ++s) {
            top_ = std::max(top_, edge[s]);
            lowest_ = std::min(lowest_, edge[s] > kImpossible ? edge[s] : 0.0);
        }
        lowest_ -= top_;
        background_ = std::exp(-top_);
        exp_shifted(S, edge, top_, room(exp_, S));
        double *by_row = room(by_row_, S), *by_column = room(by_column_, S);
        for (Index s = 0; s < S; ++s) by_row[s] = exp_[s] - background_of(pairs.to()[s]);
        for (Index k = 0; k < S; ++k) by_column[k] = by_row[pairs.place()[k]];
    }

    Index labels() const { return pairs_->labels(); }
    Index counts() const { return pairs_->count(); }
    double top() const { return top_; }  // the largest potential
    double lowest() const { return lowest_; }

    void forwards(const double* a, const double* sums, double* out) const {
        Piece all;
        load(sums, all);
        all *= background_;
        for (Index j = 0; j < labels(); ++j) {
            const Index first = pairs_->column_start(j), end = pairs_->column_start(j + 1);
            Piece total = gathered(first, end, pairs_->from(), by_column_.data(), a);
            if (pairs_->is_open(j)) total += all;
            if (pairs_->is_open(j) && any_below(total, all * kCancelled))
                sum_directly(all, total, [&](Index c) {
                    Index k = first;
                    double direct = 0.0;
                    for (Index i = 0; i < labels(); ++i)
                        direct += a[8 * i + c] *
                                  (k < end && pairs_->from()[k] == i ? exp_[pairs_->place()[k++]] : background_);
                    return direct;
                });
            store(total, out + 8 * j);
        }
    }

    void backwards(const double* b, double* out) const {
        Piece all{};
        for (Index j = 0; j < labels(); ++j)
            if (pairs_->is_open(j)) add_product(1.0, b + 8 * j, all);
        all *= background_;
        for (Index i = 0; i < labels(); ++i) {
            const Index first = pairs_->row_start(i), end = pairs_->row_start(i + 1);
            Piece total = all + gathered(first, end, pairs_->to(), by_row_.data(), b);
            if (any_below(total, all * kCancelled))
                sum_directly(all, total, [&](Index c) {
                    Index s = first;
                    double direct = 0.0;
                    for (Index j = 0; j < labels(); ++j)
                        direct += b[8 * j + c] * (s < end && pairs_->to()[s] == j ? exp_[s++] : background_of(j));
                    return direct;
                });
            store(total, out + 8 * i);
        }
    }

    void add(Index n, Index row, const double* leaving, const double* arriving, double* edge_sum) const {
        for (Index i = 0; i < labels(); ++i)
            for (Index s = pairs_->row_start(i); s < pairs_->row_start(i + 1); ++s) {
                const double *from = leaving + i * row, *to = arriving + pairs_->to()[s] * row;
                Piece sums[2];
                clear(sums);
                Index k = 0;
                for (; k + 16 <= n; k += 16) {
                    add_products(from + k, to + k, sums[0]);
                    add_products(from + k + 8, to + k + 8, sums[1]);
                }
                if (k < n) add_products(from + k, to + k, sums[0]);
                edge_sum[s] += exp_[s] * total(sums[0] + sums[1]);
            }
    }

   private:
    // If the two sums cancel to less than this share, the column is summed directly.
    static constexpr double kCancelled = 1e-3;

    double background_of(Index j) const { return pairs_->is_open(j) ? background_ : 0.0; }

    // sum_k factors[k] x[at[k]] over first .. end - 1. Several sums at a time: a processor waits for none of them.
    DUALFIELD_INLINE static Piece gathered(Index first, Index end, const std::int32_t* at, const double* factors,
                                           const double* x) {
        Piece sums[4];
        clear(sums);
        Index k = first;
        for (; k + 4 <= end; k += 4)
            for_each_piece<4>([&](Index p)
                                  DUALFIELD_INLINE { add_product(factors[k + p], x + 8 * Index{at[k + p]}, sums[p]); });
        for (; k < end; ++k) add_product(factors[k], x + 8 * Index{at[k]}, sums[0]);
        return (sums[0] + sums[1]) + (sums[2] + sums[3]);
    }

    // Only for those chains of which the sums cancel, so that no chain's result depends on another one's.
    template <class Direct>
    DUALFIELD_NOINLINE static void sum_directly(const Piece& all, Piece& total, Direct&& direct) {
        double totals[8];
        store(total, totals);
        for (Index c = 0; c < 8; ++c)
            if (totals[c] < kCancelled * all[c]) totals[c] = direct(c);
        load(totals, total);
    }

    const LabelPairs* pairs_ = nullptr;
    double top_ = 0.0, lowest_ = 0.0, background_ = 1.0;
    AlignedVector exp_, by_row_, by_column_;  // exp(edge - top), by rows; less the background
};

}  // namespace dualfield
