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

   private:
    using Own = typename OwnOf<F>::Type;

    const F& field_;
    std::vector<std::optional<Own>> owned_;
};

}  // namespace dualfield
