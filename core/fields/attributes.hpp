// Attributes of all positions of a data set, as a view of compressed sparse rows.
//
// Position p carries attributes indices[indptr[p] .. indptr[p+1]) with the given values (all one where
// `values` is null). Block i covers positions offsets[i] .. offsets[i+1).
#pragma once

#include <algorithm>
#include <span>
#include <vector>

#include "base/compiler.hpp"
#include "simd/vector.hpp"

namespace dualfield {

struct Attributes {
    Index blocks;
    const Index* offsets;
    const Index* indptr;
    const std::int32_t* indices;
    const double* values;
    Index count;  // how many distinct attributes there are

    Index positions() const { return offsets[blocks]; }
    Index length(Index i) const { return offsets[i + 1] - offsets[i]; }
    double value(Index entry) const { return values ? values[entry] : 1.0; }

    // The first attributes of some positions are needed soon; the processor sees by itself that the others follow.
    DUALFIELD_INLINE void prefetch(Index first, Index end) const {
        const Index start = indptr[first], n = std::min(indptr[end] - start, kFetched);
        prefetch_all(n, indices + start);
        if (values) prefetch_all(n, values + start);
    }
    static constexpr Index kFetched = 256;
};

// One of several threads that share the weights: each writes a part of them.
struct Part {
    Index index = 0, count = 1;
};

// The attributes of one part, at every position. Nothing is stored where the part is all attributes.
struct OwnAttributes {
    Part part;
    std::int32_t end;  // the first attribute after those of the part
    std::vector<Index> indptr;
    std::vector<std::int32_t> indices;
    std::vector<double> values;  // none where all are one

    Attributes view(const Attributes& all) const {
        if (part.count == 1) return all;
        return {all.blocks, all.offsets, indptr.data(), indices.data(), values.empty() ? nullptr : values.data(),
                all.count};
    }
};

// How the feature counts of a block are stored: as rows. First come the rows of its nodes, which serve every attribute
// that occurs once in the block, with value one. Any other attribute has a row of its own after them, as does every
// attribute of a position that has more than kMostOnce. A *target* says which row is added to the weights of which
// attribute. The targets of a block are in the order of their attributes.
class BlockRows {
   public:
    struct Target {
        std::int32_t attribute, row;
    };

    // `weights`: the number of weights of all attributes together.
    BlockRows(const Attributes& data, Index weights) {
        starts_.reserve(data.blocks + 1);
        starts_.push_back(0);
        shared_starts_.reserve(data.blocks + 1);
        shared_starts_.push_back(0);
        positions_.reserve(data.positions() + 1);
        positions_.push_back(0);
        const Index entries = data.indptr[data.positions()];  // memory is taken only as far as it is written
        targets_.reserve(entries);
        rows_.reserve(entries);
        std::vector<Seen> seen(data.count);
        for (Index i = 0; i < data.blocks; ++i) {
            const auto length = static_cast<std::int32_t>(data.length(i));
            std::int32_t shared = 0;
            for (Index p = data.offsets[i]; p < data.offsets[i + 1]; ++p) {
                const bool few = data.indptr[p + 1] - data.indptr[p] <= kMostOnce;
                for (Index e = data.indptr[p]; e < data.indptr[p + 1]; ++e) {
                    Seen& a = seen[data.indices[e]];
                    if (few && a.last_block != i && data.value(e) == 1.0) {
                        a.row = kOnce;
                    } else if (a.last_block != i || a.row == kOnce) {
                        a.row = shared++;
                        owners_.push_back(data.indices[e]);
                    }
                    a.last_block = i;
                }
            }
            for (std::int32_t t = 0; t < length; ++t) {
                const Index p = data.offsets[i] + t;
                for (Index e = data.indptr[p]; e < data.indptr[p + 1]; ++e) {
                    Seen& a = seen[data.indices[e]];
                    ++a.entries;
                    if (a.row != kOnce) {
                        rows_.push_back(a.row);
                        if (data.values) values_.push_back(data.values[e]);
                    }
                    if (a.last_block == i) {
                        targets_.push_back({data.indices[e], a.row == kOnce ? t : length + a.row});
                        ++a.targets;
                        a.last_block = -1;  // its target exists already
                    }
                }
                positions_.push_back(static_cast<Index>(rows_.size()));
            }
            std::sort(targets_.begin() + starts_.back(), targets_.end(),
                      [](const Target& x, const Target& y) { return x.attribute < y.attribute; });
            starts_.push_back(static_cast<Index>(targets_.size()));
            shared_starts_.push_back(static_cast<Index>(owners_.size()));
        }
        targets_.shrink_to_fit();
        owners_.shrink_to_fit();
        rows_.shrink_to_fit();
        values_.shrink_to_fit();
        divide(seen, weights);
    }

    // At most so many attributes of a position have no row of their own, so that they can be counted in a byte.
    static constexpr Index kMostOnce = 255;

    // See FetchedField.
    template <int Step>
    DUALFIELD_INLINE void prefetch(Index i, const Attributes& data) const {
        constexpr Index kMost = Attributes::kFetched;
        if (Step == 0) {
            prefetch_line(&starts_[i]);
            prefetch_line(&shared_starts_[i]);
        } else if (Step == 1) {
            prefetch_all(std::min(starts_[i + 1] - starts_[i], kMost), targets_.data() + starts_[i]);
            prefetch_counts(i, data);
        }
    }

    // Fetches into the cache what counting reads of block i.
    DUALFIELD_INLINE void prefetch_counts(Index i, const Attributes& data) const {
        const Index first = data.offsets[i], n = std::min(data.length(i) + 1, Attributes::kFetched);
        prefetch_all(n, positions_.data() + first);
        prefetch_all(n, data.indptr + first);
        prefetch_line(&shared_starts_[i]);
    }

    // The number of rows after those of the nodes, and the attributes that they belong to.
    Index shared(Index i) const { return shared_starts_[i + 1] - shared_starts_[i]; }
    const std::int32_t* owners(Index i) const { return owners_.data() + shared_starts_[i]; }

    // The targets of block i: all, or those of a part.
    std::span<const Target> targets(Index i) const {
        return {targets_.data() + starts_[i], static_cast<std::size_t>(starts_[i + 1] - starts_[i])};
    }
    std::span<const Target> targets(Index i, const Part& part) const {
        const auto all = targets(i);
        if (part.count == 1) return all;
        const auto from = [&](std::int32_t first) {
            return std::lower_bound(all.begin(), all.end(), first,
                                    [](const Target& x, std::int32_t a) { return x.attribute < a; });
        };
        return {from(first_of(part.index, part.count)), from(first_of(part.index + 1, part.count))};
    }

    OwnAttributes own(const Attributes& data, const Part& part) const {
        const std::int32_t first = first_of(part.index, part.count), end = first_of(part.index + 1, part.count);
        OwnAttributes own{part, end, {}, {}, {}};
        if (part.count == 1) return own;
        const auto mine = [=](std::int32_t a) { return Index{a >= first} & Index{a < end}; };
        const Index entries = data.indptr[data.positions()];
        Index count = 0, kept = 0;
        for (Index e = 0; e < entries; ++e) count += mine(data.indices[e]);
        own.indptr.reserve(data.positions() + 1);
        own.indptr.push_back(0);
        own.indices.resize(count + 1);  // every entry is written and the unwanted overwritten, which saves a branch
        if (data.values) own.values.resize(count + 1);
        for (Index p = 0; p < data.positions(); ++p) {
            for (Index e = data.indptr[p]; e < data.indptr[p + 1]; ++e) {
                own.indices[kept] = data.indices[e];
                if (data.values) own.values[kept] = data.values[e];
                kept += mine(data.indices[e]);
            }
            own.indptr.push_back(kept);
        }
        return own;
    }

    // Calls body(row, value) for the entries of position p whose attributes have rows of their own.
    template <class Body>
    void for_each_shared(Index p, Body&& body) const {
        for (Index r = positions_[p]; r < positions_[p + 1]; ++r) body(rows_[r], values_.empty() ? 1.0 : values_[r]);
    }
    Index shared_entries(Index p) const { return positions_[p + 1] - positions_[p]; }

   private:
    static constexpr std::int32_t kOnce = -1;
    static constexpr Index kShares = 64;

    // What is counted of an attribute while all blocks are read. One record holds it, since attributes come in no
    // order and each costs a cache line.
    struct Seen {
        Index last_block = -1;
        std::int32_t row = 0;                    // in the present block: kOnce, or the row among the shared ones
        std::uint32_t entries = 0, targets = 0;  // over all blocks
    };

    // The first attribute of a part.
    std::int32_t first_of(Index part, Index count) const { return bounds_[part * kShares / count]; }

    // Divides the attributes into shares that take about the same time. An attribute costs time for its entries and its
    // targets, and more if it is rare, since its weights have then left the cache.
    void divide(const std::vector<Seen>& seen, Index weights) {
        constexpr Index kSeldom = 64;
        const Index fetched = 1 + weights / (4 * std::max(std::ssize(seen), std::ptrdiff_t{1}));
        const auto effort = [&](const Seen& a) {
            return Index{a.entries} + a.targets + fetched * std::min(Index{a.targets}, kSeldom);
        };
        bounds_.assign(kShares + 1, static_cast<std::int32_t>(seen.size()));
        bounds_[0] = 0;
        Index all = 0, so_far = 0, share = 1;
        for (const Seen& a : seen) all += effort(a);
        for (std::size_t a = 0; a < seen.size(); ++a) {
            so_far += effort(seen[a]);
            for (; share < kShares && so_far * kShares >= share * all; ++share)
                bounds_[share] = static_cast<std::int32_t>(a + 1);
        }
    }

    std::vector<Index> starts_, shared_starts_, positions_;
    std::vector<std::int32_t> owners_, rows_, bounds_;
    std::vector<Target> targets_;
    std::vector<double> values_;  // none where all are one
};

}  // namespace dualfield
