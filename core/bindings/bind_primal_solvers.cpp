// Solvers on the primal. A solver object is the state of a run: Python decides how long it runs and when it stops.
#include <string>

#include "bindings/archives.hpp"
#include "bindings/bound_fields.hpp"
#include "bindings/exclusive.hpp"
#include "bindings/field_arrays.hpp"
#include "bindings/trainable.hpp"
#include "solvers/adagrad.hpp"
#include "solvers/lbfgs.hpp"
#include "solvers/owlqn.hpp"
#include "solvers/perceptron.hpp"
#include "solvers/sag.hpp"
#include "solvers/saga.hpp"
#include "solvers/sgd.hpp"
#include "solvers/smd.hpp"
#include "solvers/svrg.hpp"

namespace dualfield {
namespace {

using namespace nb::literals;

// What every run has.
template <class Solver>
void bind_run(nb::class_<Solver>& bound) {
    bound.def("run", alone<Solver>(&Solver::run), "max_updates"_a, "seconds"_a)
        .def("weights",
             [](Solver& s) {
                 const Exclusive only(&s);
                 return to_array(s.weights());
             })
        .def(
            "set_weights",
            [](Solver& s, Vector<double> w) {
                const Exclusive only(&s);
                require(w.shape(0) == s.weights().size(), "the number of weights does not fit the field");
                s.set_weights(w.data());
            },
            "weights"_a.noconvert(), "Starts from these weights; before the first run.")
        .def("save", &save_archive<Solver>)
        .def("restore", &restore_archive<Solver>, "state"_a)
        .def_prop_ro(
            "left_in_pass", &Solver::left_in_pass,
            "What run() has to do to complete the pass: updates, or gradients of blocks where an update takes many.")
        .def_prop_ro("updates", &Solver::updates)
        .def_prop_ro("oracle_calls", &Solver::oracle_calls)
        .def_prop_ro("stalled", &Solver::stalled, "Whether no further step helps.")
        .def_prop_ro("diverged", &Solver::diverged);
}

template <class Solver>
void bind_stochastic(nb::class_<Solver>& bound) {
    bind_run(bound);
    bound.def("confirm", alone<Solver>(&Solver::confirm), "seconds"_a)
        .def("confirmed_weights",
             [](const Solver& s) {
                 const Exclusive only(&s);
                 require(s.confirmed(), "there is no complete confirmation");
                 return to_array(s.confirmed_weights());
             })
        .def_prop_ro("certificate", [](const Solver& s) { return certificate_tuple(s.certificate()); })
        .def_prop_ro("best_dual", &Solver::best_dual)
        .def_prop_ro("updates_per_pass", &Solver::updates_per_pass);
}

template <class Solver, class F>
void bind_average_gradient(nb::module_& m, const char* name) {
    nb::class_<Solver> bound(m, name);
    bound.def(
        "__init__",
        [](Solver* self, const F& field, int sampling, Index threads, Index window, std::uint64_t seed) {
            check_trainable(field);
            require(0 <= sampling && sampling <= 2, "there is no such sampling");
            require(threads >= 1, "there must be a thread");
            require(window >= 1, "a window has at least one block");
            new (self) Solver(field, static_cast<GradientSampling>(sampling), threads, window, seed);
        },
        "field"_a, "sampling"_a, "threads"_a, "window"_a, "seed"_a, nb::keep_alive<1, 2>());
    bind_stochastic(bound);
    bound.def("estimate", alone<Solver>(&Solver::estimate)).def_prop_ro("smoothness", &Solver::smoothness);
}

template <class F>
void bind_svrg(nb::module_& m, const char* name) {
    using Solver = SVRG<F>;
    nb::class_<Solver> bound(m, name);
    bound.def(
        "__init__",
        [](Solver* self, const F& field, Index inner_passes, std::uint64_t seed) {
            check_trainable(field);
            require(inner_passes >= 1, "inner_passes must be at least 1");
            new (self) Solver(field, inner_passes, seed);
        },
        "field"_a, "inner_passes"_a, "seed"_a, nb::keep_alive<1, 2>());
    bind_stochastic(bound);
    bound.def("estimate", alone<Solver>(&Solver::estimate)).def_prop_ro("smoothness", &Solver::smoothness);
}

template <class F>
void bind_sgd(nb::module_& m, const char* name) {
    using Solver = SGD<F>;
    nb::class_<Solver> bound(m, name);
    bound.def(
        "__init__",
        [](Solver* self, const F& field, int schedule, double eta, Index batch, Index average_after,
           std::uint64_t seed) {
            check_trainable(field);
            require(batch >= 1, "a batch has at least one block");
            require(0 <= schedule && schedule <= 2, "there is no such schedule");
            new (self) Solver(field, static_cast<StepSchedule>(schedule), eta, batch, average_after, seed);
        },
        "field"_a, "schedule"_a, "eta"_a, "batch"_a, "average_after"_a, "seed"_a, nb::keep_alive<1, 2>());
    bind_stochastic(bound);
    bound.def_prop_ro("eta", &Solver::eta);
}

template <class F>
void bind_adagrad(nb::module_& m, const char* name) {
    using Solver = AdaGrad<F>;
    nb::class_<Solver> bound(m, name);
    bound.def(
        "__init__",
        [](Solver* self, const F& field, double eta, double delta, Index batch, std::uint64_t seed) {
            check_trainable(field);
            require(batch >= 1, "a batch has at least one block");
            new (self) Solver(field, eta, delta, batch, seed);
        },
        "field"_a, "eta"_a, "delta"_a, "batch"_a, "seed"_a, nb::keep_alive<1, 2>());
    bind_stochastic(bound);
    bound.def_prop_ro("eta", &Solver::eta);
}

template <class F>
void bind_smd(nb::module_& m, const char* name) {
    using Solver = SMD<F>;
    nb::class_<Solver> bound(m, name);
    bound.def(
        "__init__",
        [](Solver* self, const F& field, double eta, double meta, double decay, Index batch, std::uint64_t seed) {
            check_trainable(field);
            require(batch >= 1, "a batch has at least one block");
            new (self) Solver(field, eta, meta, decay, batch, seed);
        },
        "field"_a, "eta"_a, "meta"_a, "decay"_a, "batch"_a, "seed"_a, nb::keep_alive<1, 2>());
    bind_stochastic(bound);
    bound.def_prop_ro("eta", &Solver::eta);
}

template <class F>
void bind_perceptron(nb::module_& m, const char* name) {
    using Solver = Perceptron<F>;
    nb::class_<Solver> bound(m, name);
    bound.def(
        "__init__",
        [](Solver* self, const F& field, bool average, std::uint64_t seed) {
            check_trainable(field);
            new (self) Solver(field, average, seed);
        },
        "field"_a, "average"_a, "seed"_a, nb::keep_alive<1, 2>());
    bind_run(bound);
    bound.def_prop_ro("updates_per_pass", &Solver::updates_per_pass)
        .def_prop_ro("mistakes", &Solver::mistakes)
        .def_prop_ro("mistakes_of_pass", &Solver::mistakes_of_pass);
}

template <class Solver>
void bind_quasi_newton(nb::class_<Solver>& bound) {
    bind_run(bound);
    bound.def("confirm", alone<Solver>(&Solver::confirm), "seconds"_a)
        .def_prop_ro("certificate", [](const Solver& s) { return certificate_tuple(s.certificate()); })
        .def_prop_ro("complete", &Solver::complete)
        .def_prop_ro("sample", &Solver::sample)
        .def_prop_ro("gradient_norm", &Solver::gradient_norm)
        .def_prop_ro("evaluations", &Solver::evaluations);
}

template <class F>
void bind_lbfgs(nb::module_& m, const char* name) {
    using Solver = LBFGS<F>;
    nb::class_<Solver> bound(m, name);
    bound.def(
        "__init__",
        [](Solver* self, const F& field, Index corrections, Index first_sample, double growth, Index threads,
           std::uint64_t seed) {
            check_trainable(field);
            require(corrections >= 1, "corrections must be at least 1");
            require(first_sample >= 1, "first_sample must be at least 1");
            require(growth >= 1.0, "growth must be at least 1");
            require(threads >= 1, "there must be a thread");
            new (self) Solver(field, corrections, first_sample, growth, threads, seed);
        },
        "field"_a, "corrections"_a, "first_sample"_a, "growth"_a, "threads"_a, "seed"_a, nb::keep_alive<1, 2>());
    bind_quasi_newton(bound);
}

template <class F>
void bind_owlqn(nb::module_& m, const std::string& field) {
    using Solver = OWLQN<F>;
    nb::class_<Solver> bound(m, ("OWLQN" + field).c_str());
    bound.def(
        "__init__",
        [](Solver* self, const F& field, Index corrections, double l1, Values centre, Index threads) {
            check_labelled(field);
            require(corrections >= 1, "corrections must be at least 1");
            require(std::isfinite(l1) && l1 >= 0.0, "l1 must be finite and not negative");
            require(l1 > 0.0 || field.l2() > 0.0, "one of l1 and l2 must be positive");
            require(!centre || static_cast<Index>(centre->shape(0)) == field.dimension(),
                    "the centre must have as many numbers as there are weights");
            require(threads >= 1, "there must be a thread");
            new (self) Solver(field, corrections, l1, data_or_null(centre), threads);
        },
        "field"_a, "corrections"_a, "l1"_a, "centre"_a.noconvert().none(), "threads"_a, nb::keep_alive<1, 2>());
    bind_quasi_newton(bound);
}

template <class F>
void bind_all(nb::module_& m, const std::string& field) {
    bind_average_gradient<SAG<F>, F>(m, ("SAG" + field).c_str());
    bind_average_gradient<SAGA<F>, F>(m, ("SAGA" + field).c_str());
    bind_svrg<F>(m, ("SVRG" + field).c_str());
    bind_sgd<F>(m, ("SGD" + field).c_str());
    bind_adagrad<F>(m, ("AdaGrad" + field).c_str());
    bind_smd<F>(m, ("SMD" + field).c_str());
    bind_perceptron<F>(m, ("Perceptron" + field).c_str());
    bind_lbfgs<F>(m, ("LBFGS" + field).c_str());
    bind_owlqn<F>(m, field);
}

}  // namespace

void bind_primal_solvers(nb::module_& m) {
    bind_all<ChainAll>(m, "ChainAll");
    bind_all<ChainObserved>(m, "ChainObserved");
    bind_all<Multiclass>(m, "Multiclass");
    bind_all<GeneralField>(m, "GeneralField");
}

}  // namespace dualfield
