// A field behind virtual functions, for structures whose blocks cost so much that a call of one is nothing: graphs of
// every kind, constrained chains. A solver is compiled once for all of them. field.hpp says what the functions mean.
#pragma once

#include <memory>
#include <stdexcept>
#include <type_traits>

#include "fields/attributes.hpp"
#include "fields/field.hpp"

namespace dualfield {

class Objective;

// A reference to something that can be called with the start and the length of a range of weights.
class RangeBody {
   public:
    template <class Body>
        requires(!std::is_same_v<std::remove_cvref_t<Body>, RangeBody>)
    RangeBody(Body&& body)  // NOLINT: meant to convert
        : body_(const_cast<void*>(static_cast<const void*>(&body))), call_([](void* b, Index start, Index length) {
              (*static_cast<std::remove_reference_t<Body>*>(b))(start, length);
          }) {}
    void operator()(Index start, Index length) const { call_(body_, start, length); }

   private:
    void* body_;
    void (*call_)(void*, Index, Index);
};

class GeneralField {
   public:
    // Scratch that a field keeps from one call to the next.
    class Workspace {
       public:
        template <class Scratch>
        Scratch& as() {
            if (!scratch_) scratch_ = std::make_shared<Scratch>();
            return *static_cast<Scratch*>(scratch_.get());
        }

       private:
        std::shared_ptr<void> scratch_;
    };

    using Direction = BlockCounts;

    struct Decoder {
        Workspace workspace;
        std::vector<std::int32_t> labels;
    };

    virtual ~GeneralField() = default;

    // A way to compute the objective that is faster than block by block; null if the field has none.
    virtual std::unique_ptr<Objective> objective() const { return nullptr; }

    virtual bool exact() const { return true; }      // whether inference is exact
    virtual bool one_node() const { return false; }  // whether blocks are single nodes
    virtual bool labelled() const = 0;
    virtual Index blocks() const = 0;
    virtual Index dimension() const = 0;
    virtual Index labels() const = 0;
    virtual Index compact_size(Index i) const = 0;
    virtual double l2() const = 0;
    virtual double sample_weight(Index i) const = 0;
    virtual Index positions_before(Index i) const = 0;  // the number of nodes in the blocks before i

    virtual void score(Index i, const double* w, double* theta) const = 0;
    virtual bool scores_potentials() const { return false; }  // whether theta holds potentials, not terms of them
    virtual void center(Index i, double* theta) const = 0;
    virtual double magnitude(Index i, const double* theta) const = 0;
    virtual double log_partition(Index i, const double* theta, Workspace& workspace) const = 0;
    virtual double infer(Index i, const double* theta, double* m, Workspace& workspace) const = 0;
    virtual double upper_log_partition(Index i, const double* theta, Workspace& workspace) const {  // proven
        return log_partition(i, theta, workspace);
    }
    // The marginals of the model. infer() may write others: those that training needs.
    virtual void posterior(Index i, const double* theta, double* m, Workspace& workspace) const {
        infer(i, theta, m, workspace);
    }
    virtual void subtract_truth(Index i, double* m) const = 0;
    virtual double true_score(Index i, const double* theta) const = 0;

    // A truth that follows the potentials which a solver on the dual keeps of block i: see expected_chain.hpp.
    // truth_under: writes the truth that belongs to potentials, returns its entropy. move_truth: m += a (t - truth).
    // set_truth: t is the truth from now on. Several threads may call them at once, for different blocks.
    virtual bool truth_follows(Index) const { return false; }
    virtual double truth_under(Index, const double*, double*, Workspace&) const { return refuse(); }
    virtual void move_truth(Index, const double*, double, double*) const { refuse(); }
    virtual void set_truth(Index, const double*, double) const { refuse(); }
    virtual double pull(Index i, const double* m, Direction& direction) const = 0;
    virtual void apply(double* w, double a, const Direction& direction, const Part& part) const = 0;
    void apply(double* w, double a, const Direction& direction) const { apply(w, a, direction, Part{}); }
    virtual double product(const double* w, const Direction& direction, const Part& part) const = 0;
    virtual void project(Direction& direction, double* theta) const = 0;
    virtual void for_each_range_of(Index i, RangeBody body, const Part& part) const = 0;
    void for_each_range_of(Index i, RangeBody body) const { for_each_range_of(i, body, Part{}); }
    virtual void for_each_range(RangeBody body) const = 0;

    // The labels of the block's nodes, and their indicators.
    virtual void decode_labels(Index i, const double* theta, std::int32_t* labels, Workspace& workspace) const = 0;
    virtual void decode(Index i, const double* theta, double* m, Decoder& decoder) const = 0;

    // For Hessian-vector products. infer_table may leave in the table anything that differentiate needs.
    virtual Index table_size(Index i) const = 0;
    virtual double infer_table(Index i, const double* theta, double* table, double* m, Workspace& workspace) const = 0;
    virtual void differentiate(Index i, const double* table, const double* dtheta, double* dm,
                               std::vector<double>& scratch) const = 0;

    // For solvers on the dual; only where inference is exact.
    virtual void contrast(Index, double*) const { refuse(); }
    virtual double radius_bound(Index) const { return refuse(); }
    virtual Segments segments(Index) const { return refuse(), Segments{}; }
    virtual void compact(Index, const double*, double*) const { refuse(); }
    virtual void repair_table(Index, double*) const { refuse(); }
    virtual double infer_untied(Index, const double*, double*, Workspace&) const { return refuse(); }
    virtual void uniform(Index, double*) const { refuse(); }
    virtual void initial_table(Index, double, double*) const { refuse(); }
    virtual double initial_entropy(Index, double) const { return refuse(); }
    virtual void product_table(Index, double, double*) const { refuse(); }
    virtual double product_entropy(Index, double) const { return refuse(); }
    virtual void initial_potentials(Index, double, double*) const { refuse(); }

    Index packed_size(Index i) const { return compact_size(i); }
    void pack_potentials(Index, double*) const {}
    void pack_marginals(Index, double*) const {}
    void unpack_potentials(Index, double*) const {}
    void unpack_marginals(Index, double*) const {}

   protected:
    static double refuse() { throw std::logic_error("this field has no dual, or not this start of it"); }
};

}  // namespace dualfield
