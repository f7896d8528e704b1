// What Python sees of a run, whatever its method and its field: a class for all methods on the dual, one for those on
// the primal. A run is a state: Python decides how long it works and when it stops.
#pragma once

#include <cstdint>
#include <tuple>
#include <utility>
#include <vector>

#include "base/archive.hpp"
#include "base/numbers.hpp"
#include "bindings/arrays.hpp"
#include "duality/certificate.hpp"
#include "fields/block_shares.hpp"
#include "solvers/dual/common_state.hpp"

namespace dualfield {

using Weights = Output<double, 1>;

class BoundRun {
   public:
    virtual ~BoundRun() = default;
    virtual Index run(Index max_updates, double seconds) = 0;
    virtual bool confirm(double seconds) = 0;
    virtual Certificate certificate() const = 0;
    virtual Weights weights() = 0;
    virtual Weights confirmed_weights() const = 0;
    virtual void archive(Archive& archive) = 0;
    virtual Index left_in_pass() const = 0;
    virtual Index updates() const = 0;
    virtual Index updates_per_pass() const = 0;  // what run() counts
    virtual Index oracle_calls() const = 0;
    virtual bool stalled() const = 0;
    virtual bool diverged() const = 0;
    virtual Numbers numbers() const = 0;  // what this method tells beside what all do
};

class BoundDual : public BoundRun {
   public:
    virtual bool start(double seconds) = 0;
    virtual bool started() const = 0;
    virtual bool confirmed() const = 0;
    virtual void adopt_confirmed() = 0;
    virtual void widen() = 0;
    virtual void begin_again(double old_l2, double old_l1) = 0;
    virtual void take(CommonState& common) = 0;
    virtual void give_back(CommonState& common) = 0;
    virtual bool gather(double seconds, CommonState& common) = 0;
    virtual bool judge(double seconds, CommonState& common) = 0;
    virtual bool judged() const = 0;
    virtual void adopt_judged() = 0;
    virtual Index dimension() const = 0;
    virtual void archive_blocks(Archive& archive) = 0;
    virtual std::tuple<double, double, double> totals() const = 0;
    virtual std::vector<Index> dual_offsets() const = 0;
    virtual bool join(std::uint64_t seed, Index rounds, Elsewhere elsewhere) = 0;
    virtual bool joined() const = 0;
    virtual bool took_a_round() = 0;  // of a joined run
    virtual Index advance_a_round() = 0;
    virtual Index collected_size() = 0;
    virtual void collect(float* changes) = 0;
    virtual void collect(double* changes) = 0;
    virtual void spread(const float* changes) = 0;
    virtual void spread(const double* changes) = 0;
    virtual void collect_private(float* changes) = 0;
    virtual void collect_private(double* changes) = 0;
    virtual void spread_private(const float* changes) = 0;
    virtual void spread_private(const double* changes) = 0;
    virtual Index rounds_of_a_pass() = 0;
    virtual double first_radius() = 0;
    virtual double dual() = 0;
    virtual double gap_estimate() = 0;
    virtual double chi() const = 0;
    virtual double epsilon() const = 0;
    virtual double kappa() const = 0;
    virtual Index adopted_at() const = 0;
    virtual Index evaluations() const = 0;
    virtual double step_total() const = 0;
};

class BoundPrimal : public BoundRun {
   public:
    virtual void set_weights(const double* w) = 0;
    virtual std::pair<double, double> estimate() = 0;  // (gap, primal), as far as known without a confirming pass
};

// The parts that are the same for both kinds.
template <class Kind, class Method>
class BoundAs : public Kind {
   public:
    template <class... Arguments>
    explicit BoundAs(Arguments&&... arguments) : method_(std::forward<Arguments>(arguments)...) {}

    Index run(Index max_updates, double seconds) override { return method_.run(max_updates, seconds); }
    bool confirm(double seconds) override {
        if constexpr (requires { method_.confirm(seconds); }) return method_.confirm(seconds);
        return true;
    }
    Certificate certificate() const override {
        if constexpr (requires { method_.certificate(); }) return method_.certificate();
        return {};
    }
    Weights weights() override { return weights_of(method_); }
    Weights confirmed_weights() const override {
        if constexpr (requires { method_.confirmed_weights(); })
            return to_array(method_.confirmed_weights());
        else
            return weights_of(method_);
    }
    void archive(Archive& archive) override { method_.archive(archive); }
    Index left_in_pass() const override { return method_.left_in_pass(); }
    Index updates() const override { return method_.updates(); }
    Index updates_per_pass() const override { return method_.updates_per_pass(); }
    Index oracle_calls() const override { return method_.oracle_calls(); }
    bool stalled() const override { return method_.stalled(); }
    bool diverged() const override { return method_.diverged(); }
    Numbers numbers() const override {
        if constexpr (requires { method_.numbers(); }) return method_.numbers();
        return {};
    }

   protected:
    Method method_;

   private:
    // Of many weights a method that works on threads writes a copy on all of them.
    template <class Weighted>
    static Weights weights_of(Weighted& method) {
        if constexpr (requires(double* w) { method.write_weights(w); }) {
            auto weights = new_array<double, 1>({extent(method.dimension())});
            method.write_weights(weights.data());
            return weights;
        } else {
            return to_array(method.weights());
        }
    }
};

template <class Method>
class BoundDualOf final : public BoundAs<BoundDual, Method> {
    using Base = BoundAs<BoundDual, Method>;
    using Base::method_;

   public:
    using Base::Base;
    bool start(double seconds) override { return method_.start(seconds); }
    bool started() const override { return method_.started(); }
    bool confirmed() const override { return method_.confirmed(); }
    void adopt_confirmed() override { method_.adopt_confirmed(); }
    void widen() override { method_.widen(); }
    void begin_again(double old_l2, double old_l1) override { method_.begin_again(old_l2, old_l1); }
    void take(CommonState& common) override { method_.take(common); }
    void give_back(CommonState& common) override { method_.give_back(common); }
    bool gather(double seconds, CommonState& common) override { return method_.gather(seconds, common); }
    bool judge(double seconds, CommonState& common) override { return method_.judge(seconds, common); }
    bool judged() const override { return method_.judged(); }
    void adopt_judged() override { method_.adopt_judged(); }
    Index dimension() const override { return std::ssize(method_.weights()); }
    void archive_blocks(Archive& archive) override { method_.archive_blocks(archive); }
    std::tuple<double, double, double> totals() const override {
        const auto found = method_.totals();
        return {found.entropies, found.recorded, found.remaining};
    }
    std::vector<Index> dual_offsets() const override {
        if constexpr (requires { method_.dual_offsets(); }) return method_.dual_offsets();
        return {};
    }
    bool join(std::uint64_t seed, Index rounds, Elsewhere elsewhere) override {
        return method_.join(seed, rounds, std::move(elsewhere));
    }
    bool joined() const override { return method_.joined(); }
    bool took_a_round() override { return method_.took_a_round(); }
    Index advance_a_round() override { return method_.advance_a_round(); }
    Index collected_size() override { return method_.collected_size(); }
    void collect(float* changes) override { method_.collect(changes); }
    void collect(double* changes) override { method_.collect(changes); }
    void spread(const float* changes) override { method_.spread(changes); }
    void spread(const double* changes) override { method_.spread(changes); }
    void collect_private(float* changes) override { method_.collect_private(changes); }
    void collect_private(double* changes) override { method_.collect_private(changes); }
    void spread_private(const float* changes) override { method_.spread_private(changes); }
    void spread_private(const double* changes) override { method_.spread_private(changes); }
    Index rounds_of_a_pass() override { return method_.rounds_of_a_pass(); }
    double first_radius() override { return method_.first_radius(); }
    double dual() override { return method_.dual(); }
    double gap_estimate() override { return method_.gap_estimate(); }
    double chi() const override { return method_.chi(); }
    double epsilon() const override { return method_.epsilon(); }
    double kappa() const override { return method_.kappa(); }
    Index adopted_at() const override { return method_.adopted_at(); }
    Index evaluations() const override { return method_.evaluations(); }
    double step_total() const override { return method_.step_total(); }
};

template <class Method>
class BoundPrimalOf final : public BoundAs<BoundPrimal, Method> {
    using Base = BoundAs<BoundPrimal, Method>;
    using Base::method_;

   public:
    using Base::Base;
    void set_weights(const double* w) override { method_.set_weights(w); }
    std::pair<double, double> estimate() override {
        if constexpr (requires { method_.estimate(); }) return method_.estimate();
        const Certificate last = Base::certificate();
        return {last.gap, last.primal};
    }
};

}  // namespace dualfield
