// Attributes of all positions of a data set, as a view of compressed sparse rows.
//
// Position p carries attributes indices[indptr[p] .. indptr[p+1]) with the given values (all one where
// `values` is null). Block i covers positions offsets[i] .. offsets[i+1).
#pragma once

#include <vector>

#include "math/vector.hpp"

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
};

// For each block its distinct attributes, and for each entry which of them it is. A direction is then built
// in a small dense buffer, and its norm is exact where an attribute occurs at several positions.
class DistinctAttributes {
   public:
    explicit DistinctAttributes(const Attributes& data) {
        offsets_.reserve(data.blocks + 1);
        offsets_.push_back(0);
        local_.resize(data.indptr[data.positions()]);
        std::vector<Index> seen_in(data.count, -1);
        std::vector<std::int32_t> local_of(data.count);
        for (Index i = 0; i < data.blocks; ++i) {
            const Index first = offsets_.back();
            for (Index e = data.indptr[data.offsets[i]]; e < data.indptr[data.offsets[i + 1]]; ++e) {
                const std::int32_t a = data.indices[e];
                if (seen_in[a] != i) {
                    seen_in[a] = i;
                    local_of[a] = static_cast<std::int32_t>(static_cast<Index>(distinct_.size()) - first);
                    distinct_.push_back(a);
                }
                local_[e] = local_of[a];
            }
            offsets_.push_back(static_cast<Index>(distinct_.size()));
        }
        distinct_.shrink_to_fit();
    }

    Index count(Index i) const { return offsets_[i + 1] - offsets_[i]; }
    const std::int32_t* attributes(Index i) const { return distinct_.data() + offsets_[i]; }
    std::int32_t local(Index entry) const { return local_[entry]; }

   private:
    std::vector<Index> offsets_;
    std::vector<std::int32_t> distinct_, local_;
};

}  // namespace dualfield
