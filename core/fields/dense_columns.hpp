// Columns of numbers that every position has, such as an embedding, beside its attributes: arrays of the caller, one a
// block, read where they lie. Each column has a weight for every label.
//
// With X the T x D numbers of a block, W the D x K weights and M its marginals, potentials are X W and counts X^T M.
// Both are found tile by tile: a tile of X becomes double precision in the first cache, so that all sums are those of
// double precision whatever the type of X. There each column may also be shifted and scaled, which costs nothing: where
// columns differ in size by orders of magnitude, the standardised problem is far better conditioned.
#pragma once

#include <cmath>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <tuple>
#include <utility>
#include <vector>

#include "fields/attributes.hpp"
#include "simd/block_products.hpp"
#include "simd/vector.hpp"

namespace dualfield {

class DenseColumns {
    static constexpr Index kTileRows = 24, kTileColumns = 128;
    static constexpr Index kTileStride = kTileColumns + 8;  // rows do not compete for the same lines of the cache

    template <class Body>
    auto with_numbers(Index i, Body&& body) const {
        if (single_) return body(static_cast<const float*>(blocks_[i].numbers));
        return body(static_cast<const double*>(blocks_[i].numbers));
    }

    static auto score_tile(Index K, const double* w, double* theta) {
        return [=](Index t, Index rows, Index d, Index columns, const double* tile) {
            add_matrix_product(rows, columns, K, 1.0, {tile, kTileStride, 1}, w + d * K, theta + t * K);
        };
    }
    static auto count_tile(Index K, const double* m, double a, double* w) {
        return [=](Index t, Index rows, Index d, Index columns, const double* tile) {
            add_matrix_product(columns, rows, K, a, {tile, 1, kTileStride}, m + t * K, w + d * K);
        };
    }

    // body(first row, rows, first column, columns, tile), rows of the tile kTileStride apart.
    template <class Body>
    void for_each_tile(Index i, const Part& part, Body&& body) const {
        if (width_ == 0) return;
        with_numbers(i, [&](const auto* x) { tiles(length(i), part, [&](Index t) { return x + t * width_; }, body); });
    }
    template <class Body>
    void for_each_tile(std::span<const Index> points, const Part& part, Body&& body) const {
        const auto all = [&]<class Number>(const Number*) {
            const auto row = [&](Index t) { return static_cast<const Number*>(blocks_[points[t]].numbers); };
            tiles(static_cast<Index>(points.size()), part, row, body);
        };
        if (width_ > 0 && !points.empty()) with_numbers(points[0], all);
    }

    // The columns from d on.
    template <class Number>
    void copy_to(Index columns, const Number* row, Index d, double* out) const {
        if (!standard_) {
            std::copy(row, row + columns, out);
            return;
        }
        const double* shift = standard_->shift.data() + d;
        const double* factor = standard_->factor.data() + d;
        for (Index c = 0; c < columns; ++c) out[c] = (static_cast<double>(row[c]) - shift[c]) * factor[c];
    }

    template <class RowOf, class Body>
    void tiles(Index count, const Part& part, RowOf&& row_of, Body&& body) const {
        alignas(64) double tile[kTileRows * kTileStride];
        const auto [first, end] = columns_of(part);
        for (Index d = first; d < end; d += kTileColumns) {
            const Index columns = std::min(kTileColumns, end - d);
            for (Index t = 0; t < count; t += kTileRows) {
                const Index rows = std::min(kTileRows, count - t);
                for (Index r = 0; r < rows; ++r) copy_to(columns, row_of(t + r) + d, d, tile + r * kTileStride);
                body(t, rows, d, columns, tile);
            }
        }
    }

   public:
    // One block: its first number, rows of `width` numbers next to each other; and how many rows.
    struct Block {
        const void* numbers;
        Index length;
    };

    // Column d is to be (x_d - shift_d) * factor_d.
    struct Standard {
        std::vector<double> shift, factor;
    };

    DenseColumns() = default;
    DenseColumns(Index width, bool single, std::vector<Block> blocks, std::shared_ptr<const Standard> standard)
        : width_(width), single_(single), blocks_(std::move(blocks)), standard_(std::move(standard)) {}

    Index width() const { return width_; }
    Index blocks() const { return static_cast<Index>(blocks_.size()); }
    Index length(Index i) const { return blocks_[i].length; }

    // The columns whose weights belong to a part: first to second - 1.
    std::pair<Index, Index> columns_of(const Part& part) const {
        return {width_ * part.index / part.count, width_ * (part.index + 1) / part.count};
    }

    // theta += X w, over the columns of a part; w begins with the weights of column 0.
    void add_scores(Index i, Index K, const double* w, const Part& part, double* theta) const {
        for_each_tile(i, part, score_tile(K, w, theta));
    }
    // w += a X^T m, over the columns of a part
    void add_counts(Index i, Index K, const double* m, double a, const Part& part, double* w) const {
        for_each_tile(i, part, count_tile(K, m, a, w));
    }

    // The same of blocks of one position each, some together: their potentials and marginals lie one after the other.
    void add_scores(std::span<const Index> points, Index K, const double* w, const Part& part, double* theta) const {
        for_each_tile(points, part, score_tile(K, w, theta));
    }
    void add_counts(std::span<const Index> points, Index K, const double* m, double a, const Part& part,
                    double* w) const {
        for_each_tile(points, part, count_tile(K, m, a, w));
    }

    // The sum over columns of (sum_t |x_td|)^2.
    double largest_squared_norm(Index i) const {
        std::vector<double> sums(width_, 0.0);
        for_each_tile(i, {}, [&](Index, Index rows, Index d, Index columns, const double* tile) {
            for (Index t = 0; t < rows; ++t)
                for (Index c = 0; c < columns; ++c) sums[d + c] += std::abs(tile[t * kTileStride + c]);
        });
        return squared_norm(width_, sums.data());
    }

    // |X|^2
    double squared_norm_of(Index i) const {
        double total = 0.0;
        for_each_tile(i, {}, [&](Index, Index rows, Index, Index columns, const double* tile) {
            for (Index t = 0; t < rows; ++t) total += squared_norm(columns, tile + t * kTileStride);
        });
        return total;
    }

    // Block, row and column of the first number that is not finite.
    std::optional<std::tuple<Index, Index, Index>> first_not_finite() const {
        for (Index i = 0; i < blocks(); ++i) {
            const Index place = with_numbers(i, [&]<class Number>(const Number* x) {
                const Index size = length(i) * width_;
                int outside = 0;
                for (Index k = 0; k < size; ++k) outside |= !(std::abs(x[k]) <= std::numeric_limits<Number>::max());
                if (!outside) return Index{-1};
                Index k = 0;
                while (std::isfinite(x[k])) ++k;
                return k;
            });
            if (place >= 0) return std::tuple(i, place / width_, place % width_);
        }
        return std::nullopt;
    }

   private:
    Index width_ = 0;
    bool single_ = false;  // whether numbers are of single precision
    std::vector<Block> blocks_;
    std::shared_ptr<const Standard> standard_;  // null: columns are as they are
};

}  // namespace dualfield
