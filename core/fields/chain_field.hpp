// Chains behind virtual functions: what queries of labellings and of spans need, and what fields made of a chain need.
#pragma once

#include <vector>

#include "fields/chain.hpp"
#include "fields/erased_field.hpp"
#include "fields/many_labels.hpp"
#include "oracles/chain_constrained_forward_backward.hpp"

namespace dualfield {

class ChainField : public GeneralField {
   public:
    Index length(Index i) const { return positions_before(i + 1) - positions_before(i); }

    // The potentials of block i for an oracle; `buffer` holds what theta does not. Where labellings are constrained,
    // -inf for what is impossible.
    virtual ChainPotentials potentials(Index i, const double* theta, std::vector<double>& buffer) const = 0;
    virtual bool constrained() const { return false; }
};

// Calls body with an oracle for the field's potentials.
template <class Body>
auto with_oracle(const ChainField& field, Body&& body) {
    if (!field.constrained()) return body(ForwardBackward());
    return body(ConstrainedForwardBackward());
}

// A chain of which every labelling is possible. Other fields are made of it: those with constraints, or with attributes
// of pairs.
class FreeChain : public ChainField {
   public:
    virtual const Attributes& attributes() const = 0;
    virtual const std::int32_t* truth(Index i) const = 0;
    virtual void add_labelling(Index i, const std::int32_t* y, double a, double* m) const = 0;  // m += a * indicators
    virtual double largest_squared_norm(Index i) const = 0;                                     // at least |F(y)|^2

    // write_edges() writes the edge matrices of a block, edge_matrices() of them. The matrices of neighbouring edges
    // are edge_step() numbers apart; zero where all edges share one matrix.
    virtual Index edge_step() const = 0;
    virtual Index edge_matrices(Index i) const = 0;
    virtual void write_edges(Index i, const double* theta, double* edges) const = 0;
    // Writes the compact marginals that an oracle finds for potentials of block i, and the table unless it is null.
    virtual double infer_by(ConstrainedForwardBackward& oracle, Index i, const ChainPotentials& chain, double* table,
                            double* m, std::vector<double>& edges) const = 0;
};

// A field with the weights and the blocks of a chain that it is made of, which must live as long.
template <class Inner>
class OverChain : public ChainField {
   public:
    explicit OverChain(const Inner& chain) : chain_(chain) {}

    bool labelled() const override { return chain_.labelled(); }
    Index blocks() const override { return chain_.blocks(); }
    Index dimension() const override { return chain_.dimension(); }
    Index labels() const override { return chain_.labels(); }
    double l2() const override { return chain_.l2(); }
    double sample_weight(Index i) const override { return chain_.sample_weight(i); }
    Index positions_before(Index i) const override { return chain_.positions_before(i); }
    using ChainField::apply, ChainField::for_each_range_of;
    void apply(double* w, double a, const Direction& direction, const Part& part) const override {
        chain_.apply(w, a, direction, part);
    }
    double product(const double* w, const Direction& direction, const Part& part) const override {
        return chain_.product(w, direction, part);
    }
    void for_each_range_of(Index i, RangeBody body, const Part& part) const override {
        chain_.for_each_range_of(i, body, part);
    }
    void for_each_range(RangeBody body) const override { chain_.for_each_range(body); }
    double radius_bound(Index i) const override { return chain_.radius_bound(i); }

   protected:
    const Inner& chain_;
};

// A chain of attributes of nodes alone, which SparseChain is made of: see chain.hpp for packed vectors.
class PlainChain : public FreeChain {
   public:
    virtual const ChainShape& shape() const = 0;
    virtual void score_packed(Index i, const double* w, double* theta) const = 0;
    virtual void project_packed(Direction& direction, double* theta) const = 0;
    virtual double pull_packed(Index i, const double* m, Direction& direction) const = 0;
    // Of nodes and of transitions apart; the weights of transitions begin at transition_start().
    virtual Index transition_start() const = 0;
    virtual void score_nodes(Index i, const double* w, double* theta) const = 0;
    virtual OwnAttributes own(const Part& part) const = 0;
    virtual void add_nodes(const OwnAttributes& own, Index i, const double* m, double a, double* w) const = 0;
};

template <class Rows>
class ErasedChain final : public ErasedField<Chain<Rows>, PlainChain> {
    using Base = ErasedField<Chain<Rows>, PlainChain>;
    using Base::field_;

   public:
    using Base::Base;

    std::unique_ptr<Objective> objective() const override {
        if (field_.labels() < ManyLabels<PlainChain>::kFewest) return Base::objective();
        return std::make_unique<ChainsTogetherObjective<ManyLabels<PlainChain>>>(ManyLabels<PlainChain>(*this));
    }
    bool scores_potentials() const override { return true; }
    ChainPotentials potentials(Index i, const double* theta, std::vector<double>&) const override {
        return field_.potentials(i, theta);
    }
    const ChainShape& shape() const override { return field_.shape(); }
    void score_packed(Index i, const double* w, double* theta) const override { field_.score_packed(i, w, theta); }
    void project_packed(typename Base::Direction& direction, double* theta) const override {
        field_.project_packed(direction, theta);
    }
    double pull_packed(Index i, const double* m, typename Base::Direction& direction) const override {
        return field_.pull_packed(i, m, direction);
    }
    Index transition_start() const override { return field_.transition_start(); }
    void score_nodes(Index i, const double* w, double* theta) const override { field_.score_nodes(i, w, theta); }
    OwnAttributes own(const Part& part) const override { return field_.own(part); }
    void add_nodes(const OwnAttributes& own, Index i, const double* m, double a, double* w) const override {
        field_.add_nodes(own, i, m, a, w);
    }
    const Attributes& attributes() const override { return field_.attributes(); }
    const std::int32_t* truth(Index i) const override { return field_.truth(i); }
    void add_labelling(Index i, const std::int32_t* y, double a, double* m) const override {
        field_.add_labelling(i, y, a, m);
    }
    double largest_squared_norm(Index i) const override { return field_.largest_squared_norm(i); }
    Index edge_step() const override { return 0; }
    Index edge_matrices(Index) const override { return 1; }
    void write_edges(Index i, const double* theta, double* edges) const override {
        const ChainPotentials chain = field_.potentials(i, theta);
        std::copy(chain.edge, chain.edge + chain.labels * chain.labels, edges);
    }
    double infer_by(ConstrainedForwardBackward& oracle, Index i, const ChainPotentials& chain, double* table, double* m,
                    std::vector<double>&) const override {
        return field_.infer_by(oracle, i, chain, table, m);
    }
};

// Compiled once, in bindings/bind_chains.cpp.
#ifdef DUALFIELD_MODULE
extern template class ErasedField<Chain<AllPairs>, PlainChain>;
extern template class ErasedField<Chain<ObservedPairs>, PlainChain>;
extern template class ErasedChain<AllPairs>;
extern template class ErasedChain<ObservedPairs>;
#endif

}  // namespace dualfield
