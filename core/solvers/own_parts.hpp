// Which attributes belong to which thread, where a field has parts (PartedField): found when a thread first asks.
#pragma once

#include <optional>
#include <vector>

#include "fields/field.hpp"

namespace dualfield {

template <Field F>
class OwnParts {
   public:
    explicit OwnParts(const F& field) : field_(field) {}

    // For a team of so many.
    void divide(Index threads) {
        if (static_cast<Index>(owned_.size()) != threads) owned_ = std::vector<std::optional<Own>>(threads);
    }

    const auto& operator[](Index member) {
        if (!owned_[member]) owned_[member] = field_.own({member, static_cast<Index>(owned_.size())});
        return *owned_[member];
    }

    // Over the weights of a member, w += a * the counts of block i: of marginals m where the field has parts, and otherwise
    // as pull() has left them in the direction.
    void add_counts(Index i, const double* m, const typename F::Direction& direction, double a, double* w,
                    Index member) {
        if constexpr (PartedField<F>) {
            field_.add_part((*this)[member], i, m, a, w);
        } else {
            field_.apply(w, a, direction, {member, static_cast<Index>(owned_.size())});
        }
    }

   private:
    using Own = typename OwnOf<F>::Type;

    const F& field_;
    std::vector<std::optional<Own>> owned_;
};

}  // namespace dualfield
