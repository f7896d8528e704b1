// The contract between fields and solvers.
//
// A field is a training problem: n blocks, weights w, and for each block potentials theta_i(w). Solvers speak
// to it in *compact statistics*, one flat vector a block: potentials and expected feature counts have the
// same shape, so <potentials, marginals> is a dot product. Solvers that keep clique marginals also use
// *tables*.
#pragma once

#include <concepts>
#include <vector>

#include "duality/segments.hpp"

namespace dualfield {

template <class F>
concept Field = requires(const F field, typename F::Workspace workspace, typename F::Direction direction, Index i,
                         const double* input, double* output, double number) {
    // Size: blocks, weights, and for block i its compact vector and its table.
    { field.blocks() } -> std::same_as<Index>;
    { field.dimension() } -> std::same_as<Index>;
    { field.compact_size(i) } -> std::same_as<Index>;
    { field.table_size(i) } -> std::same_as<Index>;
    { field.l2() } -> std::same_as<double>;
    { field.sample_weight(i) } -> std::same_as<double>;

    // Potentials of block i under weights w; what exact inference says of given potentials.
    { field.score(i, input, output) };
    { field.log_partition(i, input, workspace) } -> std::same_as<double>;
    { field.infer(i, input, output, workspace) } -> std::same_as<double>;  // log Z; fills the compact marginals
    { field.subtract_truth(i, output) };                                   // m -= indicators of the true labels
    { field.true_score(i, input) } -> std::same_as<double>;                // <potentials, truth>

    // pull: the expected feature counts of a compact vector, merged over the block, with their squared norm;
    // apply: w += a * direction.
    { field.pull(i, input, direction) } -> std::same_as<double>;
    { field.apply(output, number, direction) };

    // Tables of clique marginals, for SDCA.
    { field.segments(i) } -> std::same_as<Segments>;
    { field.infer_table(i, input, output, output, workspace) } -> std::same_as<double>;  // table and compact
    { field.compact(i, input, output) };
    // The start epsilon * uniform + (1 - epsilon) * truth, and its entropy.
    { field.initial_table(i, number, output) };
    { field.initial_entropy(i, number) } -> std::same_as<double>;
};

// Scratch for one block at a time, grown to the largest block seen.
inline double* room(std::vector<double>& buffer, Index size) {
    if (static_cast<Index>(buffer.size()) < size) buffer.resize(size);
    return buffer.data();
}

}  // namespace dualfield
