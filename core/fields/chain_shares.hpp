// The weights of a chain as the workers of BlockShares keep them. A worker's area is laid out like the weights of a
// chain: [ rows of its attributes | dense ], where the dense weights, of transitions, bias, begin and end, are shared
// by all workers and make a class of their own.
#pragma once

#include <vector>

#include "fields/block_shares.hpp"

namespace dualfield {

template <class Rows>
class ChainShares {
   public:
    ChainShares(BlockShares blocks, const Rows& all, Index dense)
        : blocks_(std::move(blocks)), view_(blocks_.view()), all_(all), dense_(dense) {
        for (Index w = 0; w < blocks_.workers(); ++w) rows_.push_back(all.of(blocks_.attributes(w)));
    }
    ChainShares(const ChainShares&) = delete;
    ChainShares& operator=(const ChainShares&) = delete;

    const BlockShares& blocks() const { return blocks_; }
    const Attributes& view() const { return view_; }
    const Rows& rows(Index worker) const { return rows_[worker]; }
    const std::uint8_t* classes_of(Index worker) const { return blocks_.classes_of(worker); }
    Index workers() const { return blocks_.workers(); }
    Index first_block(Index worker) const { return blocks_.first_block(worker); }

    // Classes: 0 of private weights, then those of shared attributes, last the dense one.
    Index classes() const { return blocks_.classes() + 2; }
    Index dense_class() const { return blocks_.classes() + 1; }
    // After how many rounds the weights of a class are exchanged: 2^period(c).
    Index period(Index c) const { return c == dense_class() ? 0 : c - 1; }

    // How many workers touch a weight of each class, on average.
    std::vector<double> touching() const {
        std::vector<double> touching(classes(), 1.0);
        for (Index c = 1; c < dense_class(); ++c) touching[c] = blocks_.touching(c - 1);
        touching[dense_class()] = static_cast<double>(blocks_.all_workers());
        return touching;
    }

    Index dense_start(Index worker) const { return rows_[worker].size(); }
    Index area(Index worker) const { return rows_[worker].size() + dense_ + kRoom; }

    // body(where in all weights, where in the worker's area, length) for private weights, or for all that it has.
    template <class Body>
    void for_each_private_range(Index worker, Body&& body) const {
        for_each_row(worker, blocks_.private_count(worker), body);
    }
    template <class Body>
    void for_each_range(Index worker, Body&& body) const {
        for_each_row(worker, rows_[worker].attributes(), body);
        if (dense_ > 0) body(all_.size(), dense_start(worker), dense_);
    }

    // The k-th of `count` parts of the shared weights of a class: body(where in all weights, length, copies, ahead),
    // where copies(visit) calls visit(worker, where in its area, its number for the attribute, or -1). ahead(visit)
    // does so for a range that comes soon.
    template <class Body>
    void for_each_shared_range(Index c, Index k, Index count, Body&& body) const {
        if (c == dense_class()) {
            const Index first = dense_ * k / count, end = dense_ * (k + 1) / count;
            if (first < end)
                body(
                    all_.size() + first, end - first,
                    [&](auto&& visit) {
                        for (Index w = 0; w < workers(); ++w) visit(w, dense_start(w) + first, Index{-1});
                    },
                    [](auto&&) {});
            return;
        }
        const auto& shared = blocks_.shared(c - 1);
        const auto& copies = blocks_.copies(c - 1);
        const std::size_t n = shared.size() - 1;
        for (std::size_t s = n * k / count; s < n * (k + 1) / count; ++s) {
            const Index length = all_.length(shared[s].attribute);
            if (length == 0) continue;
            const auto visit_copies = [&](std::size_t at, auto&& visit) {
                for (std::uint32_t c = shared[at].copies; c < shared[at + 1].copies; ++c)
                    visit(copies[c].worker, rows_[copies[c].worker].start(copies[c].attribute),
                          Index{copies[c].attribute});
            };
            body(
                all_.start(shared[s].attribute), length, [&](auto&& visit) { visit_copies(s, visit); },
                [&](auto&& visit) {
                    if (s + kAhead < n) visit_copies(s + kAhead, visit);
                });
        }
    }

   private:
    static constexpr std::size_t kAhead = 3;
    static constexpr Index kRoom = 64;  // rows are read over whole pieces; and no two areas share a cache line

    template <class Body>
    void for_each_row(Index worker, Index count, Body&& body) const {
        const auto& attributes = blocks_.attributes(worker);
        for (Index a = 0; a < count; ++a) {
            const Index length = all_.length(attributes[a]);
            if (length > 0) body(all_.start(attributes[a]), rows_[worker].start(static_cast<std::int32_t>(a)), length);
        }
    }

    BlockShares blocks_;
    Attributes view_;
    const Rows& all_;
    Index dense_;
    std::vector<Rows> rows_;
};

}  // namespace dualfield
