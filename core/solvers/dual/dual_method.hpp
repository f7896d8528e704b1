// What a block-coordinate method on the dual must have, so that DualRun can run it.
#pragma once

#include <concepts>

#include "base/archive.hpp"
#include "base/index.hpp"

namespace dualfield {

template <class M>
concept DualMethod = requires(M& method, const M& fixed, Index i, typename M::Worker& worker, typename M::Visit& visit,
                              const typename M::Note& note, double* m, double old_l2, Archive& archive) {
    // The start: a first visit to each block, a choice made once, then the dual variables of each block.
    { method.prepare(i) };
    { method.choose_start() };
    { method.initialise(i) };

    // One step on block i: moves its dual variables and describes the step in `visit`; several threads call it at once,
    // for different blocks. committed: the step has been recorded, in the order of the draws.
    { method.propose(i, worker, visit) };
    { method.committed(i, note) };

    // Writes the compact marginals of block i, those of a distribution to the last digit, and returns their entropy;
    // and makes what is kept agree with them.
    { method.stored(i, m, worker) } -> std::same_as<double>;
    { method.repair(i, worker) };

    // The penalty has changed from old_l2; the dual variables are kept in double precision from now on.
    { method.change_l2(old_l2) };
    { method.widen_duals() };

    // Names what is saved; and shows every array that holds something of each block, which is fetched before the
    // block's turn.
    { method.archive_duals(archive) };
    {
        fixed.for_each_kept([](const auto&) {})
    };
};

}  // namespace dualfield
