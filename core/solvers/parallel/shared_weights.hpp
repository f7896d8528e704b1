// The weights that the steps of a window read and change, on one thread or on several.
//
// Where the field has parts (PartedField), each thread reads and writes only its own part of the weights, so that most
// weights stay in the cache of one core: the thread computes its part of every block's potentials, and applies its part
// of every step.
#pragma once

#include <utility>
#include <vector>

#include "base/compiler.hpp"
#include "fields/field.hpp"
#include "fields/own_parts.hpp"

namespace dualfield {

template <Field F>
class SharedWeights {
   public:
    // Of one block of a window.
    struct Exchange {
        Index block;
        double factor;                           // weights += factor * direction, or the counts of change
        typename F::Direction direction;         // neither is looked at where the step is zero
        std::vector<double> change;              // in place of the direction, where threads have parts
        std::vector<std::vector<double>> parts;  // of the block's potentials, then: each thread has found its own
    };

    SharedWeights(const F& field, Index threads) : field_(field), threads_(threads), own_parts_(field) {}

    // For a team of `threads` members, between two windows. Returns whether exchanges need new room.
    bool divide(Index threads) {
        own_parts_.divide(threads);
        return std::exchange(threads_, threads) != threads;
    }

    OwnParts<F>& own_parts() { return own_parts_; }

    void make_room(Exchange& exchange) const { exchange.parts.resize(in_parts() ? threads_ : 0); }

    // The potentials of the block; where threads have parts, after score_part() by all of them.
    void score(const Exchange& exchange, const double* w, double* theta) const {
        if constexpr (PartedField<F>) {
            if (in_parts()) return field_.join_parts(exchange.block, w, exchange.parts, theta);
        }
        field_.score(exchange.block, w, theta);
    }
    void score_part(Exchange& exchange, const double* w, const Part& part) {
        if constexpr (PartedField<F>) {
            if (!in_parts()) return;
            double* sums = room(exchange.parts[part.index], field_.part_size(exchange.block));
            field_.score_part(own_parts_[part.index], exchange.block, w, sums);
        }
    }

    // The squared norm of the counts of a change of the block's marginals, and what the weights will take: the
    // direction, or where threads have parts the change, since a direction is longer and half of it would go from core
    // to core.
    double pull(Exchange& exchange, const double* change, typename F::Direction& scratch) const {
        if (!in_parts()) return field_.pull(exchange.block, change, exchange.direction);
        const Index size = field_.compact_size(exchange.block);
        std::copy(change, change + size, room(exchange.change, size));
        return field_.pull(exchange.block, change, scratch);
    }

    // <w, factor * direction> over the weights of a part.
    double product(const Exchange& exchange, const double* w, const Part& part, std::vector<double>& scratch) {
        if constexpr (PartedField<F>) {
            if (in_parts())
                return exchange.factor *
                       field_.product_part(own_parts_[part.index], exchange.block, exchange.change.data(), w, scratch);
        }
        return exchange.factor * field_.product(w, exchange.direction, part);
    }
    void take(const Exchange& exchange, double* w, const Part& part) {
        if constexpr (PartedField<F>) {
            if (in_parts())
                return field_.add_part(own_parts_[part.index], exchange.block, exchange.change.data(), exchange.factor,
                                       w);
        }
        field_.apply(w, exchange.factor, exchange.direction, part);
    }

    // What take() will need: some changes come from other cores.
    DUALFIELD_INLINE void prefetch_change(const Exchange& exchange) const {
        if constexpr (PartedField<F>)
            if (in_parts()) prefetch_all(field_.part_size(exchange.block), exchange.change.data());
    }
    // What score_part() will need: 1, where the attributes are; 2, the attributes.
    template <int Step>
    DUALFIELD_INLINE void prefetch_part(Index block, const Part& part) {
        if constexpr (PartedField<F>)
            if (in_parts()) field_.template prefetch_part<Step>(own_parts_[part.index], block);
    }
    // What pull() will need.
    DUALFIELD_INLINE void prefetch_counts(Index block) const {
        if constexpr (PartedField<F>) field_.prefetch_counts(block);
    }

   private:
    bool in_parts() const { return PartedField<F> && threads_ > 1; }

    const F& field_;
    Index threads_;
    OwnParts<F> own_parts_;
};

}  // namespace dualfield
