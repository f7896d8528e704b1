// The linear-chain field.
//
// Block i is a sequence of T positions with K labels. Its score sums, over positions, the weights of the
// (attribute, label) and (column, label) pairs and the label's bias; over neighbours, the weight of the (label, label)
// transition; and the weights of the first label (begin) and of the last (end).
//
// Weights:  [ attribute x label | column x label | transition | bias | begin | end ], each part optional but the first.
// Compact:  [ T x K nodes | K x K sum over edges ].
// Table:    [ (T-1) x K x K edges | T x K nodes ]; edges count +1, interior nodes -1; a single node counts +1.
#pragma once

#include <memory>
#include <vector>

#include "base/compiler.hpp"
#include "duality/entropy.hpp"
#include "fields/chain_shares.hpp"
#include "fields/node_features.hpp"
#include "oracles/chain_forward_backward.hpp"
#include "oracles/chain_tangent.hpp"
#include "oracles/chain_viterbi.hpp"

namespace dualfield {

struct ChainShape {
    Index labels;
    std::vector<std::int32_t> transitions;  // flat indices from * K + to of the transitions that have a weight
    bool bias, begin, end;
};

// The label of K that y has least often.
inline std::int32_t rarest_label(Index K, Index T, const std::int32_t* y) {
    std::vector<Index> occurrences(K, 0);
    for (Index t = 0; t < T; ++t) ++occurrences[y[t]];
    return static_cast<std::int32_t>(std::min_element(occurrences.begin(), occurrences.end()) - occurrences.begin());
}

// Functions that work on a whole block are not inlined: each is compiled once, not once for every method.
#define DUALFIELD_ONCE DUALFIELD_NOINLINE

template <class Rows>
class Chain {
   public:
    static constexpr bool kOneNode = false;
    using Workspace = ForwardBackward;
    using Direction = BlockCounts;

    struct Decoder {
        Viterbi viterbi;
        std::vector<std::int32_t> path;
    };

    // `labels` and `sample_weight` may be null: without labels the field can score and infer, not train.
    Chain(Attributes data, Rows rows, ChainShape shape, const std::int32_t* labels, const double* sample_weight,
          double l2, DenseColumns columns = {})
        : nodes_(data, rows, shape.labels, labels != nullptr, std::move(columns)),
          shape_(std::move(shape)),
          labels_(labels),
          sample_weight_(sample_weight),
          l2_(l2),
          unweighted_(first_unweighted(shape_)),
          transition_start_(nodes_.size()),
          bias_start_(transition_start_ + static_cast<Index>(shape_.transitions.size())),
          begin_start_(bias_start_ + (shape_.bias ? shape_.labels : 0)),
          end_start_(begin_start_ + (shape_.begin ? shape_.labels : 0)),
          dimension_(end_start_ + (shape_.end ? shape_.labels : 0)) {}

    bool labelled() const { return labels_ != nullptr; }
    Index blocks() const { return nodes_.data().blocks; }
    Index dimension() const { return dimension_; }
    Index labels() const { return shape_.labels; }
    Index length(Index i) const { return nodes_.length(i); }
    Index offset(Index i) const { return nodes_.offset(i); }
    Index positions_before(Index i) const { return offset(i); }
    double l2() const { return l2_; }
    double sample_weight(Index i) const { return sample_weight_ ? sample_weight_[i] : 1.0; }

    // For code that works on single nodes and edges.
    const Attributes& attributes() const { return nodes_.data(); }
    const Rows& rows() const { return nodes_.rows(); }
    const DenseColumns& columns() const { return nodes_.columns(); }
    const ChainShape& shape() const { return shape_; }
    Index transition_start() const { return transition_start_; }
    const std::int32_t* truth(Index i) const { return labels_ + offset(i); }

    // body(start) for each row of K weights, bias, begin or end, that a node has whatever its attributes.
    template <class Body>
    void for_each_dense_row(Index i, Index t, Body&& body) const {
        if (shape_.bias) body(bias_start_);
        if (shape_.begin && t == 0) body(begin_start_);
        if (shape_.end && t == length(i) - 1) body(end_start_);
    }

    Index compact_size(Index i) const { return (length(i) + labels()) * labels(); }
    Index table_size(Index i) const { return ((length(i) - 1) * labels() + length(i)) * labels(); }

    // The compact vector of potentials as a chain for the oracles.
    ChainPotentials potentials(Index i, const double* theta) const {
        return {length(i), labels(), theta, theta + length(i) * labels(), 0};
    }

    // Writes the compact marginals that an oracle finds for potentials of block i, and the table unless it is null.
    template <class Oracle>
    double infer_by(Oracle& oracle, Index i, const ChainPotentials& chain, double* table, double* m) const {
        const Index K = labels(), T = length(i);
        double* nodes = table ? table + (T - 1) * K * K : m;
        const double log_z = oracle.marginals(chain, nodes, table, m + T * K);
        if (table) std::copy(nodes, nodes + T * K, m);
        return log_z;
    }

    DUALFIELD_ONCE void score(Index i, const double* w, double* theta) const {
        const double* dense = w + transition_start_;
        nodes_.score(i, w, bias_in(dense), theta);
        add_dense(i, dense, theta);
    }

    // The same for nodes alone, and for packed vectors, see below. Potentials need room for eight more numbers after
    // the nodes.
    DUALFIELD_ONCE void score_nodes(Index i, const double* w, double* theta) const {
        const double* dense = w + transition_start_;
        nodes_.score(i, w, bias_in(dense), theta);
        add_ends(i, dense, theta);
    }
    DUALFIELD_ONCE void score_packed(Index i, const double* w, double* theta) const {
        score_nodes(i, w, theta);
        std::copy(w + transition_start_, w + transition_start_ + packed_transitions(i), theta + length(i) * labels());
    }
    DUALFIELD_ONCE void project_packed(Direction& direction, double* theta) const {
        const Index i = direction.block;
        const double* dense = direction.dense.data();
        nodes_.project(i, direction.rows, bias_in(dense), theta);
        add_ends(i, dense, theta);
        std::copy(dense, dense + packed_transitions(i), theta + length(i) * labels());
    }
    DUALFIELD_ONCE double pull_packed(Index i, const double* m, Direction& direction) const {
        return pull_by(i, m, direction, [&](double* dense) {
            const double* edge_sum = m + length(i) * labels();
            const Index some = packed_transitions(i);
            std::fill(std::copy(edge_sum, edge_sum + some, dense), dense + shape_.transitions.size(), 0.0);
        });
    }

    template <int Step>
    DUALFIELD_INLINE void prefetch(Index i) const {
        nodes_.template prefetch<Step>(i);
        if (Step == 1) prefetch_line(truth(i));
    }

    using Own = OwnAttributes;
    Own own(const Part& part) const { return nodes_.own(part); }
    DUALFIELD_INLINE void prefetch_counts(Index i) const { nodes_.prefetch_counts(i); }
    template <int Step>
    DUALFIELD_INLINE void prefetch_part(const Own& own, Index i) const {
        nodes_.template prefetch_part<Step>(own, i);
    }
    Index part_size(Index i) const { return (length(i) + 1) * labels() + 8; }
    DUALFIELD_ONCE void score_part(const Own& own, Index i, const double* w, double* sums) const {
        nodes_.score_part(own, i, w, sums);
    }
    // Only for two parts or more.
    DUALFIELD_ONCE void join_parts(Index i, const double* w, const std::vector<std::vector<double>>& parts,
                                   double* theta) const {
        const double* dense = w + transition_start_;
        const Index nodes = length(i) * labels();
        add(nodes, parts[0].data(), parts[1].data(), theta);
        for (std::size_t part = 2; part < parts.size(); ++part) axpy(nodes, 1.0, parts[part].data(), theta);
        nodes_.add_bias(i, bias_in(dense), theta);
        add_dense(i, dense, theta);
    }

    // Of the weights that belong to no attribute, transitions are divided among the parts. Bias, begin and end belong
    // to the first part.
    DUALFIELD_ONCE void add_part(const Own& own, Index i, const double* m, double a, double* w) const {
        add_nodes(own, i, m, a, w);
        add_transitions(own.part, m + length(i) * labels(), a, w);
    }
    // The same of nodes alone, bias, begin and end among them; and of transitions alone.
    DUALFIELD_ONCE void add_nodes(const Own& own, Index i, const double* m, double a, double* w) const {
        nodes_.add_part(own, i, m, a, w);
        if (own.part.index > 0) return;
        for_each_dense_node(i, m, [&](Index start, const double* node) { axpy(labels(), a, node, w + start); });
    }
    void add_transitions(const Part& part, const double* edge, double a, double* w) const {
        for_each_transition_of(part, [&](Index s, Index pair) { w[transition_start_ + s] += a * edge[pair]; });
    }
    DUALFIELD_ONCE double product_part(const Own& own, Index i, const double* m, const double* w,
                                       std::vector<double>& scratch) const {
        double* sums = room(scratch, part_size(i));
        nodes_.score_part(own, i, w, sums);
        double total = dot(length(i) * labels(), sums, m);
        const double* edge = m + length(i) * labels();
        for_each_transition_of(own.part, [&](Index s, Index pair) { total += w[transition_start_ + s] * edge[pair]; });
        if (own.part.index > 0) return total;
        for_each_dense_node(i, m, [&](Index start, const double* node) { total += dot(labels(), node, w + start); });
        return total;
    }

    // See SharedOutField.
    using Shares = ChainShares<Rows>;
    bool may_be_shared_out() const { return nodes_.columns().width() == 0; }
    std::unique_ptr<Shares> share_out(std::vector<Index> bounds, const Rounds& rounds, const Elsewhere* elsewhere,
                                      Team& team) const {
        return std::make_unique<Shares>(BlockShares(nodes_.data(), std::move(bounds), rounds, elsewhere, team),
                                        nodes_.rows(), dimension_ - transition_start_);
    }
    DUALFIELD_ONCE void score_own(const Shares& shares, Index worker, Index i, const double* area,
                                  double* theta) const {
        const double* dense = area + shares.dense_start(worker);
        nodes_.score_own(shares.view(), shares.rows(worker), i, area, theta);
        nodes_.add_bias(i, bias_in(dense), theta);
        add_dense(i, dense, theta);
    }
    DUALFIELD_ONCE void add_own(const Shares& shares, Index worker, Index i, const double* m, const double* by_class,
                                double* area, std::uint8_t* touched) const {
        nodes_.add_own(shares.view(), shares.rows(worker), shares.classes_of(worker), i, m, by_class, area, touched);
        const double a = by_class[shares.dense_class()];
        const double* edge = m + length(i) * labels();
        double* dense = area + shares.dense_start(worker);
        for_each_transition_of({}, [&](Index s, Index pair) { dense[s] += a * edge[pair]; });
        for_each_dense_node(
            i, m, [&](Index start, const double* node) { axpy(labels(), a, node, dense + start - transition_start_); });
    }
    DUALFIELD_ONCE void add_squares_by_class(const Shares& shares, Index worker, Index i, const double* m,
                                             double* squares) const {
        nodes_.add_squares_by_class(shares.view(), shares.rows(worker), shares.classes_of(worker), i, m, squares);
        double& dense = squares[shares.dense_class()];
        const double* edge = m + length(i) * labels();
        for_each_transition_of({}, [&](Index, Index pair) { dense += edge[pair] * edge[pair]; });
        for_each_dense_node(i, m, [&](Index, const double* node) { dense += squared_norm(labels(), node); });
    }
    // Fetches into the cache what score_own reads of block i. Step 1: where its attributes are; step 2: the attributes.
    template <int Step>
    DUALFIELD_INLINE void prefetch_own(const Shares& shares, Index i) const {
        if (Step == 1) nodes_.prefetch_counts(i);
        if (Step == 2) shares.view().prefetch(offset(i), offset(i) + length(i));
    }
    // The ranges of its area that a worker touches for block i, some of them more than once.
    template <class Body>
    void for_each_own_range_of(const Shares& shares, Index worker, Index i, Body&& body) const {
        const Rows& rows = shares.rows(worker);
        const Attributes& view = shares.view();
        for (Index e = view.indptr[offset(i)]; e < view.indptr[offset(i) + length(i)]; ++e)
            if (rows.length(view.indices[e]) > 0) body(rows.start(view.indices[e]), rows.length(view.indices[e]));
        if (dimension_ > transition_start_) body(shares.dense_start(worker), dimension_ - transition_start_);
    }

    DUALFIELD_ONCE void project(Direction& direction, double* theta) const {
        const double* dense = direction.dense.data();
        nodes_.project(direction.block, direction.rows, bias_in(dense), theta);
        add_dense(direction.block, dense, theta);
    }

    DUALFIELD_ONCE void center(Index i, double* theta) const {
        const Index K = labels(), T = length(i);
        for (Index t = 0; t < T; ++t) subtract_maximum(K, theta + t * K);
        if (T > 1) subtract_maximum(K * K, theta + T * K);
    }

    DUALFIELD_ONCE double magnitude(Index i, const double* theta) const {
        const Index K = labels(), T = length(i);
        double total = 0.0;
        for (Index t = 0; t < T; ++t) total += largest_magnitude(K, theta + t * K);
        if (T > 1) total += static_cast<double>(T - 1) * largest_magnitude(K * K, theta + T * K);
        return total;
    }

    DUALFIELD_ONCE double log_partition(Index i, const double* theta, Workspace& oracle) const {
        return oracle.log_partition(potentials(i, theta));
    }

    DUALFIELD_ONCE double infer(Index i, const double* theta, double* m, Workspace& oracle) const {
        return infer_by(oracle, i, potentials(i, theta), nullptr, m);
    }

    DUALFIELD_ONCE double infer_table(Index i, const double* theta, double* table, double* m, Workspace& oracle) const {
        return infer_by(oracle, i, potentials(i, theta), table, m);
    }

    DUALFIELD_ONCE double infer_untied(Index i, const double* theta, double* table, Workspace& oracle) const {
        const Index K = labels(), T = length(i), edges = (T - 1) * K * K;
        return oracle.marginals({T, K, theta + edges, theta, K * K}, table + edges, table, nullptr);
    }

    DUALFIELD_ONCE void compact(Index i, const double* table, double* m) const {
        const Index K = labels(), T = length(i);
        const double* nodes = table + (T - 1) * K * K;
        std::copy(nodes, nodes + T * K, m);
        double* edge_sum = m + T * K;
        std::fill(edge_sum, edge_sum + K * K, 0.0);
        for (Index t = 0; t < T - 1; ++t) axpy(K * K, 1.0, table + t * K * K, edge_sum);
    }

    // m += a * the indicators of a labelling
    void add_labelling(Index i, const std::int32_t* y, double a, double* m) const {
        const Index K = labels(), T = length(i);
        for (Index t = 0; t < T; ++t) m[t * K + y[t]] += a;
        for (Index t = 1; t < T; ++t) m[(T + y[t - 1]) * K + y[t]] += a;
    }

    DUALFIELD_ONCE void subtract_truth(Index i, double* m) const { add_labelling(i, truth(i), -1.0, m); }

    DUALFIELD_ONCE double true_score(Index i, const double* theta) const {
        const Index K = labels(), T = length(i);
        const std::int32_t* y = labels_ + offset(i);
        double total = 0.0;
        for (Index t = 0; t < T; ++t) total += theta[t * K + y[t]];
        for (Index t = 1; t < T; ++t) total += theta[(T + y[t - 1]) * K + y[t]];
        return total;
    }

    DUALFIELD_ONCE double pull(Index i, const double* m, Direction& direction) const {
        return pull_by(i, m, direction, [&](double* dense) {
            const double* edge_sum = m + length(i) * labels();
            for_each_transition_of({}, [&](Index s, Index pair) { dense[s] = edge_sum[pair]; });
        });
    }

    DUALFIELD_ONCE void apply(double* w, double a, const Direction& direction, const Part& part = {}) const {
        nodes_.apply(direction.block, w, a, direction.rows, part);
        for_each_dense_range_of(part, [&](Index first, Index length) {
            axpy(length, a, direction.dense.data() + first, w + transition_start_ + first);
        });
    }

    // <w, direction> over the weights of the part.
    DUALFIELD_ONCE double product(const double* w, const Direction& direction, const Part& part) const {
        double total = nodes_.product(direction.block, w, direction.rows, part);
        for_each_dense_range_of(part, [&](Index first, Index length) {
            total += dot(length, direction.dense.data() + first, w + transition_start_ + first);
        });
        return total;
    }

    template <class Body>
    void for_each_range_of(Index i, Body&& body, const Part& part = {}) const {
        nodes_.for_each_range_of(i, body, part);
        for_each_dense_range_of(part, [&](Index first, Index length) { body(transition_start_ + first, length); });
    }

    template <class Body>
    void for_each_range(Body&& body) const {
        nodes_.for_each_range(body);
        if (dimension_ > transition_start_) body(transition_start_, dimension_ - transition_start_);
    }

    DUALFIELD_ONCE void differentiate(Index i, const double* table, const double* dtheta, double* dm,
                                      std::vector<double>& scratch) const {
        const Index nodes = length(i) * labels();
        chain_tangent(potentials(i, dtheta), table, room(scratch, nodes + labels()), dm, dm + nodes);
    }

    void decode_labels(Index i, const double* theta, std::int32_t* labels, Decoder& decoder) const {
        decoder.viterbi.decode(potentials(i, theta), labels);
    }
    DUALFIELD_ONCE void decode(Index i, const double* theta, double* m, Decoder& decoder) const {
        decoder.path.resize(length(i));
        decode_labels(i, theta, decoder.path.data(), decoder);
        std::fill(m, m + compact_size(i), 0.0);
        add_labelling(i, decoder.path.data(), 1.0, m);
    }

    DUALFIELD_ONCE void contrast(Index i, double* m) const {
        std::fill(m, m + compact_size(i), 0.0);
        add_labelling(i, std::vector<std::int32_t>(length(i), rarest_label(labels(), length(i), truth(i))).data(), 1.0,
                      m);
        subtract_truth(i, m);
    }

    // R_i <= (|F(y_i)| + max_y |F(y)|)^2, the latter bounded part by part.
    DUALFIELD_ONCE double radius_bound(Index i) const {
        std::vector<double> m(compact_size(i), 0.0);
        Direction direction;
        subtract_truth(i, m.data());
        const double root = std::sqrt(pull(i, m.data(), direction)) + std::sqrt(largest_squared_norm(i));
        return root * root;
    }

    double largest_squared_norm(Index i) const {
        const double positions = static_cast<double>(length(i)),
                     pairs = shape_.transitions.empty() ? 0.0 : positions - 1.0;
        return nodes_.largest_squared_norm(i) + pairs * pairs + (shape_.bias ? positions * positions : 0.0) +
               (shape_.begin ? 1.0 : 0.0) + (shape_.end ? 1.0 : 0.0);
    }

    Segments segments(Index i) const {
        const Index K = labels(), T = length(i);
        if (T == 1) return {{{{0, K, 1.0}, {0, 0, 0.0}}}, 1};
        const Index edges = (T - 1) * K * K;
        return {{{{0, edges, 1.0}, {edges + K, (T - 2) * K, -1.0}}}, 2};
    }

    // Makes the marginals consistent: keeps the first edge's marginal and each later edge's conditional probabilities.
    DUALFIELD_ONCE void repair_table(Index i, double* table) const {
        const Index K = labels(), T = length(i);
        double* nodes = table + (T - 1) * K * K;
        if (T == 1) return scale(K, 1.0 / sum(K, nodes), nodes);
        const double total = sum(K * K, table);
        for (Index k = 0; k < K; ++k) nodes[k] = sum(K, table + k * K) / total;
        std::fill(nodes + K, nodes + T * K, 0.0);
        for (Index t = 0; t < T - 1; ++t)
            for (Index k = 0; k < K; ++k) {
                double* row = table + (t * K + k) * K;
                const double mass = nodes[t * K + k], row_sum = sum(K, row);
                if (row_sum > 0.0) {
                    scale(K, mass / row_sum, row);
                } else {
                    std::fill(row, row + K, mass / static_cast<double>(K));
                }
                axpy(K, 1.0, row, nodes + (t + 1) * K);
            }
    }

    DUALFIELD_ONCE void uniform(Index i, double* m) const {
        const Index K = labels(), T = length(i);
        std::fill(m, m + T * K, 1.0 / static_cast<double>(K));
        std::fill(m + T * K, m + (T + K) * K, static_cast<double>(T - 1) / static_cast<double>(K * K));
    }

    DUALFIELD_ONCE void initial_table(Index i, double epsilon, double* table) const {
        const Index K = labels(), T = length(i);
        const std::int32_t* y = labels_ + offset(i);
        double* nodes = table + (T - 1) * K * K;
        std::fill(table, nodes, epsilon / static_cast<double>(K * K));
        std::fill(nodes, nodes + T * K, epsilon / static_cast<double>(K));
        for (Index t = 0; t < T; ++t) nodes[t * K + y[t]] += 1.0 - epsilon;
        for (Index t = 1; t < T; ++t) table[((t - 1) * K + y[t - 1]) * K + y[t]] += 1.0 - epsilon;
    }

    DUALFIELD_ONCE double initial_entropy(Index i, double epsilon) const {
        const Index K = labels(), T = length(i);
        const double node = mixture_entropy(K, epsilon);
        if (T == 1) return node;
        return static_cast<double>(T - 1) * mixture_entropy(K * K, epsilon) - static_cast<double>(T - 2) * node;
    }

    DUALFIELD_ONCE void product_table(Index i, double epsilon, double* table) const {
        const Index K = labels(), T = length(i);
        const std::int32_t* y = labels_ + offset(i);
        double* nodes = table + (T - 1) * K * K;
        std::fill(nodes, nodes + T * K, epsilon / static_cast<double>(K));
        for (Index t = 0; t < T; ++t) nodes[t * K + y[t]] += 1.0 - epsilon;
        for (Index t = 0; t < T - 1; ++t)
            for (Index k = 0; k < K; ++k)
                for (Index j = 0; j < K; ++j) table[(t * K + k) * K + j] = nodes[t * K + k] * nodes[(t + 1) * K + j];
    }

    double product_entropy(Index i, double epsilon) const {
        return static_cast<double>(length(i)) * mixture_entropy(labels(), epsilon);
    }

    DUALFIELD_ONCE void initial_potentials(Index i, double epsilon, double* theta) const {
        const Index K = labels(), T = length(i);
        const std::int32_t* y = labels_ + offset(i);
        std::fill(theta, theta + compact_size(i), 0.0);
        for (Index t = 0; t < T; ++t) theta[t * K + y[t]] = strength_of(K, epsilon);
    }

    // Packed: [ T x K nodes | one number for each transition that has a weight ]; a single node has nothing of
    // transitions.
    // The potentials of all other transitions are one constant, taken to be zero; their marginals share what the former
    // leave of T - 1.
    Index packed_size(Index i) const { return length(i) * labels() + packed_transitions(i); }

    DUALFIELD_ONCE void pack_potentials(Index i, double* theta) const {
        if (complete(i) || length(i) == 1) return;
        double* edge = theta + length(i) * labels();
        const double elsewhere = edge[unweighted_];
        for (std::size_t s = 0; s < shape_.transitions.size(); ++s) edge[s] = edge[shape_.transitions[s]] - elsewhere;
    }

    DUALFIELD_ONCE void pack_marginals(Index i, double* m) const {
        if (complete(i) || length(i) == 1) return;
        double* edge = m + length(i) * labels();
        for (std::size_t s = 0; s < shape_.transitions.size(); ++s) edge[s] = edge[shape_.transitions[s]];
    }

    DUALFIELD_ONCE void unpack_potentials(Index i, double* packed) const {
        if (!complete(i)) unpack_edges(packed_transitions(i), 0.0, packed + length(i) * labels());
    }

    DUALFIELD_ONCE void unpack_marginals(Index i, double* packed) const {
        if (complete(i)) return;
        const Index weighted = packed_transitions(i), all = labels() * labels();
        double* edge = packed + length(i) * labels();
        const double rest = static_cast<double>(length(i) - 1) - sum(weighted, edge);
        unpack_edges(weighted, rest / static_cast<double>(all - weighted), edge);
    }

   private:
    // Whether the packed vector is the compact one: every transition has a weight.
    bool complete(Index i) const { return unweighted_ < 0 && length(i) > 1; }
    Index packed_transitions(Index i) const {
        return length(i) > 1 ? static_cast<Index>(shape_.transitions.size()) : 0;
    }

    // Works in place, from the back. Transitions are in increasing order, so no number is overwritten before it moves.
    void unpack_edges(Index packed, double elsewhere, double* edge) const {
        Index k = labels() * labels();
        while (packed-- > 0) {
            const Index place = shape_.transitions[packed];
            const double number = edge[packed];
            while (--k > place) edge[k] = elsewhere;
            edge[place] = number;
        }
        std::fill(edge, edge + k, elsewhere);
    }

    // The first transition without a weight, or -1 if all have one.
    static Index first_unweighted(const ChainShape& shape) {
        Index k = 0;
        for (std::int32_t transition : shape.transitions) {
            if (transition != k) break;
            ++k;
        }
        return k < shape.labels * shape.labels ? k : -1;
    }

    // The part of the dense weights, or counts, that is the bias; null where there is none.
    const double* bias_in(const double* dense) const {
        return shape_.bias ? dense + bias_start_ - transition_start_ : nullptr;
    }

    // Calls body(s, pair) for the transitions of a part.
    template <class Body>
    void for_each_dense_range_of(const Part& part, Body&& body) const {
        const Index all = std::ssize(shape_.transitions), size = dimension_ - transition_start_;
        const Index first = all * part.index / part.count, end = all * (part.index + 1) / part.count;
        if (part.count == 1) {
            if (size > 0) body(Index{0}, size);
            return;
        }
        if (end > first) body(first, end - first);
        if (part.index == 0 && size > all) body(all, size - all);
    }
    template <class Body>
    void for_each_transition_of(const Part& part, Body&& body) const {
        const Index all = std::ssize(shape_.transitions), end = all * (part.index + 1) / part.count;
        const std::int32_t* pairs = shape_.transitions.data();
        if (unweighted_ < 0) {  // all pairs in order: a loop that the compiler can vectorise
            for (Index s = all * part.index / part.count; s < end; ++s) body(s, s);
        } else {
            for (Index s = all * part.index / part.count; s < end; ++s) body(s, Index{pairs[s]});
        }
    }

    // Calls body(start, node): the node's marginals are the counts of the K weights from `start` on.
    template <class Body>
    void for_each_dense_node(Index i, const double* m, Body&& body) const {
        for (Index t = 0; t < length(i); ++t)
            for_each_dense_row(i, t, [&](Index start) { body(start, m + t * labels()); });
    }

    // pull() for any layout of m: count_transitions(counts) reads the counts of transitions from it.
    template <class Count>
    double pull_by(Index i, const double* m, Direction& direction, Count&& count_transitions) const {
        const Index K = labels(), T = length(i);
        direction.block = i;
        const double norm = nodes_.pull(i, m, direction.rows);
        direction.dense.resize(dimension_ - transition_start_);
        double* dense = direction.dense.data();
        count_transitions(dense);
        dense += shape_.transitions.size();
        if (shape_.bias) {
            std::fill(dense, dense + K, 0.0);
            for (Index t = 0; t < T; ++t) axpy(K, 1.0, m + t * K, dense);
            dense += K;
        }
        if (shape_.begin) dense = std::copy(m, m + K, dense);
        if (shape_.end) std::copy(m + (T - 1) * K, m + T * K, dense);
        return norm + squared_norm(static_cast<Index>(direction.dense.size()), direction.dense.data());
    }

    void add_ends(Index i, const double* dense, double* theta) const {
        const Index K = labels(), T = length(i);
        if (shape_.begin) axpy(K, 1.0, dense + begin_start_ - transition_start_, theta);
        if (shape_.end) axpy(K, 1.0, dense + end_start_ - transition_start_, theta + (T - 1) * K);
    }

    // Adds the weights of transitions, begin and end to the potentials.
    void add_dense(Index i, const double* dense, double* theta) const {
        const Index K = labels(), T = length(i);
        add_ends(i, dense, theta);
        double* edge = theta + T * K;
        if (unweighted_ >= 0) std::fill(edge, edge + K * K, 0.0);
        for_each_transition_of({}, [&](Index s, Index pair) { edge[pair] = dense[s]; });
    }

    NodeFeatures<Rows> nodes_;
    ChainShape shape_;
    const std::int32_t* labels_;
    const double* sample_weight_;
    double l2_;
    Index unweighted_;  // a transition without a weight
    Index transition_start_, bias_start_, begin_start_, end_start_, dimension_;
};

#undef DUALFIELD_ONCE

#ifdef DUALFIELD_MODULE  // compiled in bindings/bind_chains.cpp
extern template class Chain<AllPairs>;
extern template class Chain<ObservedPairs>;
#endif

}  // namespace dualfield
