// A field of a type of its own behind the virtual functions of GeneralField. A method whose blocks cost far more than a
// virtual call is compiled once, for GeneralField; a hot method asks for field() and is compiled for its type.
#pragma once

#include <memory>
#include <utility>
#include <vector>

#include "fields/general_field.hpp"
#include "fields/objective.hpp"

namespace dualfield {

// Base: GeneralField, or what it derives from it.
template <TangentField F, class Base = GeneralField>
    requires PotentialField<F> && DecodingField<F>
class ErasedField : public Base {
   public:
    using typename Base::Decoder, typename Base::Direction, typename Base::Workspace;

    template <class... Arguments>
    explicit ErasedField(Arguments&&... arguments) : field_(std::forward<Arguments>(arguments)...) {}

    const F& field() const { return field_; }

    // Sums over many blocks know the type, so that a thread keeps to its part of the weights.
    std::unique_ptr<Objective> objective() const override { return make_objective(field_); }

    bool one_node() const override { return F::kOneNode; }
    bool labelled() const override { return field_.labelled(); }
    Index blocks() const override { return field_.blocks(); }
    Index dimension() const override { return field_.dimension(); }
    Index labels() const override { return field_.labels(); }
    Index compact_size(Index i) const override { return field_.compact_size(i); }
    double l2() const override { return field_.l2(); }
    double sample_weight(Index i) const override { return field_.sample_weight(i); }
    Index positions_before(Index i) const override { return field_.positions_before(i); }

    void score(Index i, const double* w, double* theta) const override { field_.score(i, w, theta); }
    void center(Index i, double* theta) const override { field_.center(i, theta); }
    double magnitude(Index i, const double* theta) const override { return field_.magnitude(i, theta); }
    double log_partition(Index i, const double* theta, Workspace& workspace) const override {
        return field_.log_partition(i, theta, oracle_of(workspace));
    }
    double infer(Index i, const double* theta, double* m, Workspace& workspace) const override {
        return field_.infer(i, theta, m, oracle_of(workspace));
    }
    void subtract_truth(Index i, double* m) const override { field_.subtract_truth(i, m); }
    double true_score(Index i, const double* theta) const override { return field_.true_score(i, theta); }
    double pull(Index i, const double* m, Direction& direction) const override { return field_.pull(i, m, direction); }
    void apply(double* w, double a, const Direction& direction, const Part& part) const override {
        field_.apply(w, a, direction, part);
    }
    double product(const double* w, const Direction& direction, const Part& part) const override {
        return field_.product(w, direction, part);
    }
    void project(Direction& direction, double* theta) const override { field_.project(direction, theta); }
    void for_each_range_of(Index i, RangeBody body, const Part& part) const override {
        field_.for_each_range_of(i, body, part);
    }
    void for_each_range(RangeBody body) const override { field_.for_each_range(body); }

    void decode_labels(Index i, const double* theta, std::int32_t* labels, Workspace& workspace) const override {
        field_.decode_labels(i, theta, labels, workspace.template as<Scratch>().decoder);
    }
    void decode(Index i, const double* theta, double* m, Decoder& decoder) const override {
        field_.decode(i, theta, m, decoder.workspace.template as<Scratch>().decoder);
    }

    Index table_size(Index i) const override { return field_.table_size(i); }
    double infer_table(Index i, const double* theta, double* table, double* m, Workspace& workspace) const override {
        return field_.infer_table(i, theta, table, m, oracle_of(workspace));
    }
    void differentiate(Index i, const double* table, const double* dtheta, double* dm,
                       std::vector<double>& scratch) const override {
        field_.differentiate(i, table, dtheta, dm, scratch);
    }

    void contrast(Index i, double* m) const override { field_.contrast(i, m); }
    double radius_bound(Index i) const override { return field_.radius_bound(i); }
    Segments segments(Index i) const override { return field_.segments(i); }
    void compact(Index i, const double* table, double* m) const override { field_.compact(i, table, m); }
    void repair_table(Index i, double* table) const override { field_.repair_table(i, table); }
    double infer_untied(Index i, const double* theta, double* table, Workspace& workspace) const override {
        return field_.infer_untied(i, theta, table, oracle_of(workspace));
    }
    void uniform(Index i, double* m) const override { field_.uniform(i, m); }
    void initial_table(Index i, double epsilon, double* table) const override {
        field_.initial_table(i, epsilon, table);
    }
    double initial_entropy(Index i, double epsilon) const override { return field_.initial_entropy(i, epsilon); }
    void product_table(Index i, double epsilon, double* table) const override {
        field_.product_table(i, epsilon, table);
    }
    double product_entropy(Index i, double epsilon) const override { return field_.product_entropy(i, epsilon); }
    void initial_potentials(Index i, double epsilon, double* theta) const override {
        field_.initial_potentials(i, epsilon, theta);
    }

   protected:
    F field_;

   private:
    struct Scratch {
        typename F::Workspace oracle;
        typename F::Decoder decoder;
    };
    static typename F::Workspace& oracle_of(Workspace& workspace) { return workspace.template as<Scratch>().oracle; }
};

}  // namespace dualfield
