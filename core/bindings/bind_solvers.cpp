// Solvers on fields. A solver object is the state of a run: Python decides how long it runs and when it
// stops.
#include <string>

#include "bindings/archives.hpp"
#include "bindings/bound_fields.hpp"
#include "bindings/exclusive.hpp"
#include "bindings/rule_names.hpp"
#include "bindings/trainable.hpp"
#include "solvers/oeg.hpp"
#include "solvers/sdca.hpp"

namespace dualfield {
namespace {

template <class Solver>
void bind_dual(nb::class_<Solver>& bound) {
    using namespace nb::literals;
    bound.def("start", alone<Solver>(&Solver::start), "seconds"_a)
        .def(
            "run",
            [](Solver& solver, Index max_updates, double seconds) {
                const Exclusive only(&solver);
                require(solver.started(), "the run has not started");
                nb::gil_scoped_release release;
                return solver.run(max_updates, seconds);
            },
            "max_updates"_a, "seconds"_a)
        .def(
            "confirm",
            [](Solver& solver, double seconds) {
                const Exclusive only(&solver);
                require(solver.started(), "the run has not started");
                nb::gil_scoped_release release;
                return solver.confirm(seconds);
            },
            "seconds"_a)
        .def("adopt_confirmed",
             [](Solver& solver) {
                 const Exclusive only(&solver);
                 require(solver.confirmed(), "there is no complete confirmation to adopt");
                 nb::gil_scoped_release release;
                 solver.adopt_confirmed();
             })
        .def("confirmed_weights",
             [](const Solver& s) {
                 const Exclusive only(&s);
                 return to_array(s.confirmed_weights());
             })
        .def("save",
             [](Solver& solver) {
                 require(solver.started(), "the run has not started");
                 return save_archive(solver);
             })
        .def("restore", &restore_archive<Solver>, "state"_a)
        .def("widen", alone<Solver>(&Solver::widen))
        .def("begin_again", alone<Solver>(&Solver::begin_again), "old_l2"_a)
        .def("weights",
             [](const Solver& s) {
                 const Exclusive only(&s);
                 return to_array(s.weights());
             })
        .def_prop_ro("certificate", [](const Solver& s) { return certificate_tuple(s.certificate()); })
        .def_prop_ro("stalled", &Solver::stalled)
        .def_prop_ro("diverged", &Solver::diverged)
        .def_prop_ro("dual", alone<Solver>(&Solver::dual))
        .def_prop_ro("gap_estimate", alone<Solver>(&Solver::gap_estimate))
        .def_prop_ro("chi", alone<Solver>(&Solver::chi))
        .def_prop_ro("epsilon", &Solver::epsilon)
        .def_prop_ro("kappa", &Solver::kappa)
        .def_prop_ro("left_in_pass", &Solver::left_in_pass)
        .def_prop_ro("updates", &Solver::updates)
        .def_prop_ro("adopted_at", &Solver::adopted_at)
        .def_prop_ro("oracle_calls", &Solver::oracle_calls)
        .def_prop_ro("evaluations", &Solver::evaluations)
        .def_prop_ro("step_total", &Solver::step_total)
        .def_prop_ro("updates_per_pass", &Solver::draws_per_pass);
}

// Draws after the first pass while nothing changes.
auto sample_blocks(const std::string& sampling, double non_uniformity, Index permutation_every, std::uint64_t seed,
                   Vector<double> sample_weights, Vector<double> smoothness, Vector<double> gaps,
                   Vector<double> lengths, Index draws) {
    const std::size_t blocks = sample_weights.shape(0);
    require(smoothness.shape(0) == blocks && gaps.shape(0) == blocks && lengths.shape(0) == blocks,
            "all arrays must have one number a block");
    std::vector<Index> active;
    for (std::size_t i = 0; i < blocks; ++i)
        if (sample_weights.data()[i] > 0.0) active.push_back(static_cast<Index>(i));
    require(!active.empty() && draws >= 0, "there must be a block of positive weight");
    BlockSampler sampler({sampling_rule(sampling), non_uniformity, permutation_every, seed}, active,
                         static_cast<Index>(blocks));
    for (Index i : active) {
        if (sampler.needs_smoothness()) sampler.set_smoothness(i, sample_weights.data()[i], smoothness.data()[i]);
        sampler.record(i, gaps.data()[i]);
        if (sampler.needs_length()) sampler.record_length(i, lengths.data()[i]);
    }
    Random random(seed);
    for (std::size_t first = 0; first < active.size(); ++first) sampler.draw(random);
    std::vector<Index> drawn(static_cast<std::size_t>(draws));
    for (Index& i : drawn) i = sampler.draw(random);
    return to_array(drawn);
}

Precision precision_of(bool single) { return single ? Precision::kSingle : Precision::kDouble; }

template <class F>
void bind_sdca(nb::module_& m, const char* name) {
    using namespace nb::literals;
    using Solver = SDCA<F>;
    nb::class_<Solver> bound(m, name);
    bound.def(
        "__init__",
        [](Solver* self, const F& field, const std::string& sampling, double non_uniformity, Index permutation_every,
           Index threads, Index window, bool accelerate, bool single, const std::string& step, double subprecision,
           double step_size, const std::string& init, double epsilon, std::uint64_t seed) {
            check_trainable(field);
            const SamplingRule rule = sampling_rule(sampling);
            require(exact(field), "SDCA needs exact inference");
            require(rule != SamplingRule::kResidual || one_node(field), "only a one-node field has residuals");
            require(threads > 0 && window > 0, "there must be a thread and a window");
            new (self)
                Solver(field, {rule, non_uniformity, permutation_every, seed}, {threads, window}, accelerate,
                       {step_rule(step), subprecision, step_size}, {start_rule(init), epsilon}, precision_of(single));
        },
        "field"_a, "sampling"_a, "non_uniformity"_a, "permutation_every"_a, "threads"_a, "window"_a, "accelerate"_a,
        "single"_a, "step"_a, "subprecision"_a, "step_size"_a, "init"_a, "epsilon"_a, "seed"_a, nb::keep_alive<1, 2>());
    bind_dual(bound);
    bound.def_prop_ro("timings", &Solver::timings).def_static("kept_numbers", &Solver::kept_numbers, "field"_a);
}

template <class F>
void bind_oeg(nb::module_& m, const char* name) {
    using namespace nb::literals;
    using Solver = OEG<F>;
    nb::class_<Solver> bound(m, name);
    bound.def(
        "__init__",
        [](Solver* self, const F& field, const std::string& sampling, double non_uniformity, Index permutation_every,
           Index threads, Index window, bool accelerate, bool single, bool secant, std::uint64_t seed) {
            check_trainable(field);
            const SamplingRule rule = sampling_rule(sampling);
            require(exact(field), "OEG needs exact inference");
            require(rule != SamplingRule::kResidual, "OEG has no residuals");
            require(threads > 0 && window > 0, "there must be a thread and a window");
            new (self) Solver(field, {rule, non_uniformity, permutation_every, seed}, {threads, window}, accelerate,
                              secant, precision_of(single));
        },
        "field"_a, "sampling"_a, "non_uniformity"_a, "permutation_every"_a, "threads"_a, "window"_a, "accelerate"_a,
        "single"_a, "secant"_a, "seed"_a, nb::keep_alive<1, 2>());
    bind_dual(bound);
    bound.def_static("kept_numbers", &Solver::kept_numbers, "field"_a);
}

}  // namespace

void bind_solvers(nb::module_& m) {
    using namespace nb::literals;
    m.def("sample_blocks", &sample_blocks, "sampling"_a, "non_uniformity"_a, "permutation_every"_a, "seed"_a,
          "sample_weights"_a.noconvert(), "smoothness"_a.noconvert(), "gaps"_a.noconvert(), "lengths"_a.noconvert(),
          "draws"_a, "The blocks that a sampling rule draws after the first pass.");
    m.def(
        "take_missing_threads", [] { return missing_threads().exchange(0); },
        "The most threads that the system refused a team since the last call.");
    bind_sdca<ChainAll>(m, "SDCAChainAll");
    bind_sdca<ChainObserved>(m, "SDCAChainObserved");
    bind_sdca<Multiclass>(m, "SDCAMulticlass");
    bind_sdca<GeneralField>(m, "SDCAGeneralField");
    bind_oeg<ChainAll>(m, "OEGChainAll");
    bind_oeg<ChainObserved>(m, "OEGChainObserved");
    bind_oeg<Multiclass>(m, "OEGMulticlass");
    bind_oeg<GeneralField>(m, "OEGGeneralField");
}

}  // namespace dualfield
