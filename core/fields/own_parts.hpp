// Which attributes belong to which thread, where a field has parts (PartedField): found when a thread first asks.
#pragma once

#include <algorithm>
#include <optional>
#include <vector>

#include "fields/field.hpp"

namespace dualfield {

template <Field F>
class OwnParts {
   public:
    explicit OwnParts(const F& field) : field_(field) {}

    // Prepares for a team of so many threads.
    void divide(Index threads) {
        if (static_cast<Index>(owned_.size()) != threads) owned_ = std::vector<std::optional<Own>>(threads);
    }

    const auto& operator[](Index member) {
        if (!owned_[member]) owned_[member] = field_.own({member, static_cast<Index>(owned_.size())});
        return *owned_[member];
    }

    // What one thread hands over to all threads for a block, so that each updates its own weights. If the field has
    // parts, it is a copy of the marginals m, from which each thread computes its part of the counts. Otherwise it is
    // the counts. A copy, because the thread needs m again for its next block while the others still read.
    struct Counts {
        std::vector<double> marginals;
        typename F::Direction direction;
    };
    void hand_over(Index i, const double* m, Counts& counts) const {
        if constexpr (PartedField<F>) {
            const Index size = field_.compact_size(i);
            std::copy(m, m + size, room(counts.marginals, size));
        } else {
            field_.pull(i, m, counts.direction);
        }
    }
    // w += a * counts
    void take(Index i, const Counts& counts, double a, double* w, Index member) {
        if constexpr (PartedField<F>) {
            field_.add_part((*this)[member], i, counts.marginals.data(), a, w);
        } else {
            field_.apply(w, a, counts.direction, {member, static_cast<Index>(owned_.size())});
        }
    }

   private:
    using Own = typename OwnOf<F>::Type;

    const F& field_;
    std::vector<std::optional<Own>> owned_;
};

}  // namespace dualfield
