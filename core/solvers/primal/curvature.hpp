// The curvature as quasi-Newton methods know it: the last steps s, and the changes y of the gradient along them.
//
// The two-loop recursion (Nocedal 1980) multiplies by the inverse Hessian that they describe,
//     H <- (I - s y^T / <s, y>) H (I - y s^T / <s, y>) + s s^T / <s, y>,     first H = <s, y> / |y|^2 of the last pair.
// All its vectors are combinations of the pairs and of the vector g that it is applied to, so that it can run on their
// coefficients, given <s_i, y_j> and <y_i, y_j> for i <= j, <s_i, g> and <y_i, g> (Chen, Wang and Zhou 2014). On
// millions of weights H costs what is read and written. Here that is every pair twice, once for the products and once
// for the combination; the recursion on vectors also reads or writes the one it works on six times a pair.
//
// Pairs are kept in single precision, which halves that: H need only be positive and describe the curvature about
// right.
// All products are those of the pairs as kept, and taken in double precision, so that H is what the formula says.
#pragma once

#include <algorithm>
#include <cmath>
#include <memory>
#include <type_traits>
#include <utility>
#include <vector>

#include "base/archive.hpp"
#include "base/compiler.hpp"
#include "simd/vector.hpp"
#include "threads/chunks.hpp"

namespace dualfield {

class Curvature {
   public:
    Curvature(Index dimension, Index most) : dimension_(dimension), most_(most) {}

    Curvature(Curvature&&) = default;

    bool empty() const { return pairs_.empty(); }
    void clear() {
        pairs_.clear();
        products_.clear();
    }

    // Keeps the step between two points and the change of the gradient, unless the gradient did not grow along it.
    void remember(const double* from, const double* to, const double* gradient_from, const double* gradient_to,
                  Team& team) {
        Pair pair = count() < most_ ? new_pair() : take_oldest();
        Filled filled = fill(pair, from, to, gradient_from, gradient_to, team);
        pair.unit_s = unit_of(filled.largest_s);
        pair.unit_y = unit_of(filled.largest_y);
        if (pair.unit_s != 1.0 || pair.unit_y != 1.0) filled = fill(pair, from, to, gradient_from, gradient_to, team);
        if (filled.product > 0.0 && std::isfinite(filled.product)) pairs_.push_back(std::move(pair));
    }

    // out = H g; without any pair out = g. Calls then(first, end) for each stretch of out while it is still in the
    // cache, and returns the sum of the results of these calls.
    template <class Then>
    double apply(const double* g, double* out, Team& team, Then&& then) {
        return apply_to(EveryWeight{}, g, out, team, then);
    }

    // The same in the subspace of the weights k with free(k). s and y are restricted to it; g must be zero elsewhere,
    // and so is out. How the gradient changed along fixed weights says nothing about the free ones.
    template <class Free, class Then>
    double apply_within(Free&& free, const double* g, double* out, Team& team, Then&& then) {
        products_.clear();  // they belong to other free weights
        const double total = apply_to(free, g, out, team, then);
        products_.clear();
        return total;
    }

    void archive(Archive& archive) {
        const Index d = dimension_;
        std::vector<double> flat;
        for (const Pair& pair : pairs_) {
            for (Index k = 0; k < d; ++k) flat.push_back(pair.unit_s * pair.s[k]);
            for (Index k = 0; k < d; ++k) flat.push_back(pair.unit_y * pair.y[k]);
        }
        archive.flexible("corrections", flat, 2 * d, most_);
        if (!archive.loading()) return;
        clear();
        for (auto at = flat.begin(); at < flat.end(); at += 2 * d) {
            Pair& pair = pairs_.emplace_back(new_pair());
            pair.unit_s = unit_of(largest_magnitude(d, &*at));
            pair.unit_y = unit_of(largest_magnitude(d, &*at + d));
            for (Index k = 0; k < d; ++k) {
                pair.s[k] = static_cast<float>(at[k] / pair.unit_s);
                pair.y[k] = static_cast<float>(at[d + k] / pair.unit_y);
            }
        }
    }

   private:
    // Weights: long enough that memory streams, and the few vectors at work stay in the cache.
    static constexpr Index kBlock = 8192;

    struct Pair {
        std::unique_ptr<float[]> s, y;  // uninitialised: each thread writes its part first
        double unit_s = 1.0, unit_y = 1.0;
    };
    struct Filled {
        double product, largest_s, largest_y;
    };
    struct Products {
        double s, y;
    };
    // H g = scale * g + sum_i pairs[i].s s_i + pairs[i].y y_i
    struct Combination {
        double scale = 1.0;
        std::vector<Products> pairs;
    };
    struct EveryWeight {};
    // All vectors over some weights: those of a block, or the free ones among them.
    struct View {
        Index size;
        std::vector<const float*> s, y;
        const double* g;
        std::vector<std::int32_t> places;          // of the free weights in the block
        std::vector<float> selected;               // the pairs' values there
        std::vector<double> selected_g, combined;  // g's, and the result's
    };

    Index count() const { return static_cast<Index>(pairs_.size()); }

    Pair new_pair() const {
        return {std::make_unique_for_overwrite<float[]>(dimension_),
                std::make_unique_for_overwrite<float[]>(dimension_)};
    }

    // The power of two by which numbers up to this size are divided before they are stored as floats. It is 1 unless
    // they come near the limits of floats.
    static double unit_of(double largest) {
        constexpr double kSmall = 0x1p-60, kLarge = 0x1p+100;
        if (!(largest > 0.0) || !std::isfinite(largest) || (kSmall < largest && largest < kLarge)) return 1.0;
        return std::ldexp(1.0, std::ilogb(largest));
    }

    // Writes the differences, in the units of the pair.
    Filled fill(Pair& pair, const double* from, const double* to, const double* gradient_from,
                const double* gradient_to, Team& team) const {
        float *s = pair.s.get(), *y = pair.y.get();
        const double by_s = 1.0 / pair.unit_s, by_y = 1.0 / pair.unit_y;
        std::vector<Filled> of_members(team.size(), {0.0, 0.0, 0.0});
        const std::vector<double> product =
            sums_over_chunks(team, dimension_, 1, [&](Index first, Index end, double* sum, Index member) {
                double total = 0.0, largest_s = 0.0, largest_y = 0.0;
#pragma omp simd reduction(+ : total) reduction(max : largest_s, largest_y)
                for (Index k = first; k < end; ++k) {
                    const double step = to[k] - from[k], change = gradient_to[k] - gradient_from[k];
                    s[k] = static_cast<float>(by_s * step);
                    y[k] = static_cast<float>(by_y * change);
                    total += static_cast<double>(s[k]) * static_cast<double>(y[k]);
                    largest_s = std::abs(step) > largest_s ? std::abs(step) : largest_s;
                    largest_y = std::abs(change) > largest_y ? std::abs(change) : largest_y;
                }
                *sum = total;
                Filled& found = of_members[member];
                found.largest_s = std::max(found.largest_s, largest_s);
                found.largest_y = std::max(found.largest_y, largest_y);
            });
        Filled all{product[0], 0.0, 0.0};
        for (const Filled& found : of_members) {
            all.largest_s = std::max(all.largest_s, found.largest_s);
            all.largest_y = std::max(all.largest_y, found.largest_y);
        }
        return all;
    }

    Pair take_oldest() {
        Pair oldest = std::move(pairs_.front());
        pairs_.erase(pairs_.begin());
        if (!products_.empty()) products_.erase(products_.begin());
        for (std::vector<Products>& of_pair : products_) of_pair.erase(of_pair.begin());
        return oldest;
    }

    template <class Free, class Then>
    double apply_to(const Free& free, const double* g, double* out, Team& team, Then&& then) {
        if (static_cast<Index>(views_.size()) < team.size()) views_.resize(team.size());
        const Combination combination = recur(find_products(free, g, team));
        return sums_over_chunks(team, dimension_, 1, [&](Index first, Index end, double* sum, Index member) {
            View& view = views_[member];
            for (Index at = first; at < end; at += kBlock) {
                const Index stop = std::min(end, at + kBlock);
                const bool selected = look_at(at, stop, free, g, view);
                double* result = selected ? view.combined.data() : out + at;
                combine(combination, view, result);
                if (selected) {
                    std::fill(out + at, out + stop, 0.0);
                    for (Index p = 0; p < view.size; ++p) out[at + view.places[p]] = result[p];
                }
                *sum += then(at, stop);
            }
        })[0];
    }

    // Points the view to the weights at .. stop - 1. Returns true if some of them are not free; then the view holds
    // copies of the free ones.
    template <class Free>
    bool look_at(Index at, Index stop, const Free& free, const double* g, View& view) const {
        const Index n = count();
        view.size = stop - at;
        view.g = g + at;
        view.s.resize(n);
        view.y.resize(n);
        for (Index i = 0; i < n; ++i) {
            view.s[i] = pairs_[i].s.get() + at;
            view.y[i] = pairs_[i].y.get() + at;
        }
        if constexpr (std::is_same_v<Free, EveryWeight>)
            return false;
        else {
            view.places.clear();
            for (Index k = at; k < stop; ++k)
                if (free(k)) view.places.push_back(static_cast<std::int32_t>(k - at));
            const Index size = static_cast<Index>(view.places.size());
            if (size == view.size) return false;
            view.size = size;
            view.combined.resize(kBlock);
            view.selected_g.resize(kBlock);
            view.selected.resize(2 * n * kBlock);
            float* to = view.selected.data();
            const auto select = [&](const float*& x) {
                for (Index p = 0; p < size; ++p) to[p] = x[view.places[p]];
                x = std::exchange(to, to + size);
            };
            for (Index i = 0; i < n; ++i) select(view.s[i]), select(view.y[i]);
            for (Index p = 0; p < size; ++p) view.selected_g[p] = view.g[view.places[p]];
            view.g = view.selected_g.data();
            return true;
        }
    }

    // Completes products_, and returns <s_i, g> and <y_i, g>.
    template <class Free>
    std::vector<Products> find_products(const Free& free, const double* g, Team& team) {
        const Index n = count(), known = static_cast<Index>(products_.size());
        if (n == 0) return {};
        Index wanted = n;
        for (Index j = known; j < n; ++j) wanted += j + 1;
        const std::vector<double> sums =
            sums_over_chunks(team, dimension_, 2 * wanted, [&](Index first, Index end, double* sum, Index member) {
                View& view = views_[member];
                for (Index at = first; at < end; at += kBlock) {
                    look_at(at, std::min(end, at + kBlock), free, g, view);
                    add_products(view, known, sum);
                }
            });
        const double* sum = sums.data();
        const auto take = [&](Index size, double unit) {
            std::vector<Products> taken(size);
            for (Index i = 0; i < size; ++i, sum += 2)
                taken[i] = {unit * pairs_[i].unit_s * sum[0], unit * pairs_[i].unit_y * sum[1]};
            return taken;
        };
        for (Index j = known; j < n; ++j) products_.push_back(take(j + 1, pairs_[j].unit_y));
        return take(n, 1.0);
    }

    static void add_products(const View& view, Index known, double* sums) {
        const Index n = static_cast<Index>(view.s.size());
        for (Index j = known; j < n; ++j)
            for (Index i = 0; i <= j; ++i, sums += 2) add_two(view, i, view.y[j], sums);
        for (Index i = 0; i < n; ++i, sums += 2) add_two(view, i, view.g, sums);
    }

    // sums += <s_i, x>, <y_i, x>. Not inlined: whether a product was found when its pair was new or after a state was
    // restored, it is to be rounded alike.
    template <class Number>
    DUALFIELD_NOINLINE static void add_two(const View& view, Index i, const Number* x, double* sums) {
        const float *s = view.s[i], *y = view.y[i];
        double with_s = 0.0, with_y = 0.0;
#pragma omp simd reduction(+ : with_s, with_y)
        for (Index k = 0; k < view.size; ++k) {
            with_s += static_cast<double>(s[k]) * static_cast<double>(x[k]);
            with_y += static_cast<double>(y[k]) * static_cast<double>(x[k]);
        }
        sums[0] += with_s;
        sums[1] += with_y;
    }

    void combine(const Combination& combination, const View& view, double* result) const {
#pragma omp simd
        for (Index k = 0; k < view.size; ++k) result[k] = combination.scale * view.g[k];
        for (std::size_t i = 0; i < view.s.size(); ++i) {
            const float *s = view.s[i], *y = view.y[i];
            const double of_s = combination.pairs[i].s * pairs_[i].unit_s;
            const double of_y = combination.pairs[i].y * pairs_[i].unit_y;
#pragma omp simd
            for (Index k = 0; k < view.size; ++k)
                result[k] += of_s * static_cast<double>(s[k]) + of_y * static_cast<double>(y[k]);
        }
    }

    // The two loops, on coefficients. Pairs along which the gradient did not grow enough, 1 / <s, y> not positive or
    // too large, are passed over.
    Combination recur(const std::vector<Products>& with_g) const {
        const Index n = count();
        Combination result;
        result.pairs.assign(n, {0.0, 0.0});
        std::vector<Index> used;  // newest first
        std::vector<double> projections(n, 0.0);
        for (Index i = n - 1; i >= 0; --i) {
            const double inverse = 1.0 / products_[i][i].s;
            if (!(inverse > 0.0 && std::isfinite(inverse))) continue;
            if (used.empty()) result.scale = products_[i][i].s / products_[i][i].y;
            double product = with_g[i].s;  // <s_i, g - sum of projections y_j>
            for (Index j : used) product -= projections[j] * products_[j][i].s;
            projections[i] = inverse * product;
            used.push_back(i);
        }
        for (auto i = used.rbegin(); i != used.rend(); ++i) {
            double product = with_g[*i].y;  // <y_i, g - sum of projections y_j>
            for (Index j : used) product -= projections[j] * products_[std::max(*i, j)][std::min(*i, j)].y;
            product *= result.scale;
            for (auto j = used.rbegin(); j != i; ++j) product += result.pairs[*j].s * products_[*i][*j].s;
            result.pairs[*i].s = projections[*i] - product / products_[*i][*i].s;
            result.pairs[*i].y = -result.scale * projections[*i];
        }
        return result;
    }

    Index dimension_, most_;
    std::vector<Pair> pairs_;                      // oldest first
    std::vector<std::vector<Products>> products_;  // of pair j, if computed: <s_i, y_j> and <y_i, y_j> for i <= j
    std::vector<View> views_;                      // one for each thread
};

}  // namespace dualfield
