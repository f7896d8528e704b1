// The contract between fields and solvers.
//
// A field is a training problem: n blocks, weights w, and for each block potentials theta_i(w). Solvers speak
// to it in *compact statistics*, one flat vector a block: potentials and expected feature counts have the
// same shape, so <potentials, marginals> is a dot product. Solvers that keep clique marginals also use
// *tables*.
#pragma once

#include <algorithm>
#include <concepts>
#include <memory>
#include <numeric>
#include <vector>

#include "duality/segments.hpp"
#include "fields/attributes.hpp"
#include "fields/block_shares.hpp"

namespace dualfield {

// The feature counts of one block, as fields on sequences and graphs keep them.
struct BlockCounts {
    Index block = -1;
    std::vector<double> rows;   // of counts, as BlockRows arranges them
    std::vector<double> dense;  // all other weights
    std::vector<double> pairs;  // a count for each weight of the block's attributes of pairs, where there are such
};

// What every solver needs.
template <class F>
concept Field = requires(const F& field, typename F::Workspace workspace, typename F::Direction direction, Index i,
                         const double* input, double* output, double number) {
    // Size: blocks, weights, and the compact vector of block i.
    { field.blocks() } -> std::same_as<Index>;
    { field.dimension() } -> std::same_as<Index>;
    { field.compact_size(i) } -> std::same_as<Index>;
    { field.l2() } -> std::same_as<double>;
    { field.sample_weight(i) } -> std::same_as<double>;

    // score: potentials of block i under weights w. center: subtracts a constant from the potentials of each clique,
    // which changes no probability and keeps digits. magnitude: the size of what rounding can act on in them.
    { field.score(i, input, output) };
    { field.center(i, output) };
    { field.magnitude(i, input) } -> std::same_as<double>;

    // What exact inference says of given potentials; infer also fills the compact marginals.
    { field.log_partition(i, input, workspace) } -> std::same_as<double>;
    { field.infer(i, input, output, workspace) } -> std::same_as<double>;

    // m -= indicators of the true labels; <potentials, truth>.
    { field.subtract_truth(i, output) };
    { field.true_score(i, input) } -> std::same_as<double>;

    // pull: the expected feature counts of a compact vector, merged over the block, with their squared norm;
    // apply: w += a * direction, all of it or one of several disjoint parts of the weights; product: <w, direction>
    // over a part. project: the potentials of the direction's block under the direction as weights.
    { field.pull(i, input, direction) } -> std::same_as<double>;
    { field.apply(output, number, direction) };
    { field.apply(output, number, direction, Part{}) };
    { field.product(input, direction, Part{}) } -> std::same_as<double>;
    { field.project(direction, output) };

    // The weights that a block touches, all of them or those of a part, or the weights of all blocks, as body(start,
    // length) of disjoint ranges: without parts, those of two blocks are the same range or have nothing in common.
    {
        field.for_each_range_of(i, [](Index, Index) {})
    };
    {
        field.for_each_range_of(i, [](Index, Index) {}, Part{})
    };
    {
        field.for_each_range([](Index, Index) {})
    };
};

// What solvers on the dual need to know of R_i = max_y |F(x_i, y_i) - F(x_i, y)|^2, how far the features of a block lie
// apart.
template <class F>
concept DualField = Field<F> && requires(const F& field, Index i, double* output) {
    // The indicators of the labelling that has everywhere the label rarest in y_i, less those of y_i. The squared norm
    // of their feature counts estimates R_i: never above it, and exact where no feature is negative, every pair has its
    // weight and the label is absent from y_i.
    { field.contrast(i, output) };
    { field.radius_bound(i) } -> std::same_as<double>;  // at least R_i
};

// A field whose truth may follow the potentials that a solver on the dual keeps; general_field.hpp says how.
template <class F>
concept FollowingField = Field<F> && requires(const F& field, typename F::Workspace workspace, Index i,
                                              const double* input, double* output, double number) {
    { field.truth_follows(i) } -> std::same_as<bool>;
    { field.truth_under(i, input, output, workspace) } -> std::same_as<double>;
    { field.move_truth(i, input, number, output) };
    { field.set_truth(i, input, number) };
};

// A field whose potentials and counts several threads can find together, each of its own part of the weights: then no
// core waits for weights that another one wrote last.
template <class F>
concept PartedField =
    Field<F> && requires(const F& field, const typename F::Own& own, Index i, const double* input, double* output,
                         double number, std::vector<std::vector<double>> parts, std::vector<double> scratch) {
        // own: what a part has of all blocks. score_part: what its weights give to block i, in so many numbers;
        // join_parts: the potentials, from what all parts give.
        { field.own(Part{}) } -> std::same_as<typename F::Own>;
        { field.part_size(i) } -> std::same_as<Index>;
        { field.score_part(own, i, input, output) };
        { field.join_parts(i, input, parts, output) };
        // Over the weights of the part, with the feature counts of a compact vector: w += a * counts, which is what
        // pull() and apply() do, without the norm; and <w, counts>.
        { field.add_part(own, i, input, number, output) };
        { field.product_part(own, i, input, input, scratch) } -> std::same_as<double>;
        // Into the cache, what score_part needs of block i: 1, where its attributes are; 2, the attributes; and what
        // pull needs.
        { field.template prefetch_part<1>(own, i) };
        { field.template prefetch_part<2>(own, i) };
        { field.prefetch_counts(i) };
    };

// A field whose blocks can be shared out among workers, each with a copy of the weights that its blocks touch, its
// *area*: see block_shares.hpp.
template <class F>
concept SharedOutField =
    Field<F> &&
    requires(const F& field, const typename F::Shares& shares, Index i, const double* input, double* output,
             std::vector<Index> bounds, Rounds rounds, const Elsewhere* elsewhere, Team& team, std::uint8_t* touched) {
        { field.may_be_shared_out() } -> std::same_as<bool>;
        // Worker w gets the blocks bounds[w] to bounds[w + 1].
        { field.share_out(bounds, rounds, elsewhere, team) } -> std::same_as<std::unique_ptr<typename F::Shares>>;
        // score() with an area in place of the weights; area += by_class[class] * the counts of a compact vector,
        // with a mark at each of the worker's attributes that is touched; squares[class] += about the squared norm of
        // counts.
        { field.score_own(shares, i, i, input, output) };
        { field.add_own(shares, i, i, input, input, output, touched) };
        { field.add_squares_by_class(shares, i, i, input, output) };
        {
            field.for_each_own_range_of(shares, i, i, [](Index, Index) {})
        };
    };

// A field that can fetch into the cache what a step reads of block i. Step 0: where its positions are; step 1: where
// their attributes are; step 2: the attributes.
template <class F>
concept FetchedField = Field<F> && requires(const F& field, Index i) {
    { field.template prefetch<0>(i) };
    { field.template prefetch<2>(i) };
};

// The type of a field's part, or an empty type if the field has no parts.
template <class F>
struct OwnOf {
    struct Type {};
};
template <PartedField F>
struct OwnOf<F> {
    using Type = typename F::Own;
};

// What solvers need that keep tables of clique marginals.
template <class F>
concept TableField = DualField<F> && requires(const F& field, typename F::Workspace workspace, Index i,
                                              const double* input, double* output, double number) {
    { field.table_size(i) } -> std::same_as<Index>;
    { *field.segments(i).begin() } -> std::convertible_to<Segment>;
    { field.infer_table(i, input, output, output, workspace) } -> std::same_as<double>;  // fills table and compact
    { field.compact(i, input, output) };
    { field.repair_table(i, output) };  // makes the marginals of neighbouring cliques agree, to the last digit

    // Inference on potentials of any clique, given in the layout of the table; fills the table.
    { field.infer_untied(i, input, output, workspace) } -> std::same_as<double>;

    // The compact marginals of the uniform distribution; the start epsilon * uniform + (1 - epsilon) * truth, and its
    // entropy; independent nodes, each that mixture, and their entropy.
    { field.uniform(i, output) };
    { field.initial_table(i, number, output) };
    { field.initial_entropy(i, number) } -> std::same_as<double>;
    { field.product_table(i, number, output) };
    { field.product_entropy(i, number) } -> std::same_as<double>;
};

// What solvers need that keep potentials: the mixture of two blocks' potentials is again one compact vector.
template <class F>
concept PotentialField = DualField<F> && requires(const F& field, Index i, double* output, double number) {
    // The potentials of independent nodes, each wrong with probability epsilon. (Where labels are constrained: of those
    // that are allowed.)
    { field.initial_potentials(i, number, output) };

    // Potentials and marginals in less room, where some entries follow from others. Packing changes potentials by
    // constants at most, and entries of marginals only where potentials are constant: no distribution, entropy, feature
    // count or product of the two changes. All of it in place.
    { field.packed_size(i) } -> std::same_as<Index>;
    { field.pack_potentials(i, output) };
    { field.pack_marginals(i, output) };
    { field.unpack_potentials(i, output) };
    { field.unpack_marginals(i, output) };
};

// What Hessian-vector products need: given the table of marginals, the change of the compact marginals along a change
// of the potentials, Cov(F) dtheta.
template <class F>
concept TangentField = TableField<F> && requires(const F& field, Index i, const double* input, double* output,
                                                 std::vector<double> scratch) {
    { field.differentiate(i, input, input, output, scratch) };
};

// What the perceptron needs: the indicators of the best labelling.
template <class F>
concept DecodingField =
    Field<F> && requires(const F& field, Index i, const double* input, double* output, typename F::Decoder decoder) {
        { field.decode(i, input, output, decoder) };
    };

// The blocks of positive sample weight.
template <class F>
std::vector<Index> active_blocks(const F& field) {
    std::vector<Index> active;
    for (Index i = 0; i < field.blocks(); ++i)
        if (field.sample_weight(i) > 0.0) active.push_back(i);
    return active;
}

// An order of `count` blocks for threads that take the next one when they are free: the longest first, so that none
// waits long at the end.
template <class F, class BlockOf>
void longest_first(const F& field, Index count, BlockOf&& block_of, std::vector<Index>& order) {
    order.resize(count);
    std::iota(order.begin(), order.end(), Index{0});
    if (count == 1) return;
    std::stable_sort(order.begin(), order.end(), [&](Index x, Index y) {
        return field.compact_size(block_of(x)) > field.compact_size(block_of(y));
    });
}

// Scratch for one block at a time, grown to the largest block seen.
inline double* room(std::vector<double>& buffer, Index size) {
    if (static_cast<Index>(buffer.size()) < size) buffer.resize(size);
    return buffer.data();
}

}  // namespace dualfield
