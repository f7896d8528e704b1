// The classes of runs. Nobody else is in a run while one of its functions works, and Python's lock is free meanwhile.
#include <nanobind/stl/array.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include "base/rule_names.hpp"
#include "bindings/archives.hpp"
#include "bindings/exclusive.hpp"
#include "bindings/runs.hpp"
#include "sampling/block_sampler.hpp"
#include "threads/team.hpp"

namespace dualfield {
namespace {

using namespace nb::literals;

// A function of a started run.
template <class Result, class... Arguments>
auto once_started(Result (BoundRun::*method)(Arguments...)) {
    return [method](BoundDual& run, Arguments... arguments) -> Result {
        const Exclusive only(&run);
        require(run.started(), "the run has not started");
        nb::gil_scoped_release release;
        return (run.*method)(arguments...);
    };
}

// A function of a run and of what it has in common with others.
auto with_common(void (BoundDual::*method)(CommonState&)) {
    return [method](BoundDual& run, CommonState& common) {
        const Exclusive only(&run), nobody_else(&common);
        require(run.dimension() == common.weights.size(), "the common state has another number of weights");
        (run.*method)(common);
    };
}
// A function of a run whose other workers are elsewhere.
template <class Result>
auto joined(Result (BoundDual::*method)()) {
    return [method](BoundDual& run) {
        const Exclusive only(&run);
        require(run.joined(), "the run has no other workers");
        return (run.*method)();
    };
}
constexpr Index kMostRounds = Index{1} << 20;  // of a pass

// What such runs exchange, as numbers of a type.
void require_others(BoundDual& run) {
    require(run.started() && run.joined(), "the run has no other workers, or has not started");
    require(run.took_a_round(), "there is nothing to exchange before a round: call advance_a_round first");
}
template <class Real>
nb::object collected(BoundDual& run) {
    const Exclusive only(&run);
    require_others(run);
    auto changes = new_array<Real, 1>({extent(run.collected_size())});
    run.collect(changes.data());
    return nb::cast(changes);
}
template <class Real>
void spread(BoundDual& run, Vector<Real> changes) {
    const Exclusive only(&run);
    require_others(run);
    require(static_cast<Index>(changes.shape(0)) == run.collected_size(), "the number of changes does not fit");
    run.spread(changes.data());
}
template <class Real>
nb::object collected_private(BoundDual& run) {
    const Exclusive only(&run);
    require_others(run);
    auto changes = new_array<Real, 1>({extent(run.dimension())});
    std::fill_n(changes.data(), run.dimension(), Real(0));
    run.collect_private(changes.data());
    return nb::cast(changes);
}
template <class Real>
void spread_private(BoundDual& run, Vector<Real> changes) {
    const Exclusive only(&run);
    require_others(run);
    require(static_cast<Index>(changes.shape(0)) == run.dimension(), "the number of weights does not fit");
    run.spread_private(changes.data());
}
auto confirming(bool (BoundDual::*method)(double, CommonState&)) {
    return [method](BoundDual& run, double seconds, CommonState& common) {
        const Exclusive only(&run), nobody_else(&common);
        require(run.started(), "the run has not started");
        require(run.dimension() == common.sums.weights().size(), "no confirmation of these weights has begun");
        nb::gil_scoped_release release;
        return (run.*method)(seconds, common);
    };
}

void bind_run(nb::module_& m) {
    nb::class_<BoundRun>(m, "Run", "The state of a method at work.")
        .def("run", alone<BoundRun>(&BoundRun::run), "max_updates"_a, "seconds"_a)
        .def("confirm", alone<BoundRun>(&BoundRun::confirm), "seconds"_a,
             "Works on the certificate, by a full pass that changes nothing; true when it is complete.")
        .def("weights",
             [](BoundRun& run) {
                 const Exclusive only(&run);
                 return run.weights();
             })
        .def(
            "confirmed_weights",
            [](const BoundRun& run) {
                const Exclusive only(&run);
                return run.confirmed_weights();
            },
            "The weights that the certificate speaks of.")
        .def("save", &save_archive<BoundRun>)
        .def("restore", &restore_archive<BoundRun>, "state"_a)
        .def_prop_ro(
            "certificate",
            [](const BoundRun& run) {
                const Certificate found = at_rest<BoundRun>(&BoundRun::certificate)(run);
                return std::make_tuple(found.primal, found.dual, found.gap);
            },
            "(primal, dual, gap)")
        .def_prop_ro(
            "left_in_pass", at_rest<BoundRun>(&BoundRun::left_in_pass),
            "What run() has to do to complete the pass: updates, or gradients of blocks where an update takes many.")
        .def_prop_ro("updates", at_rest<BoundRun>(&BoundRun::updates))
        .def_prop_ro("updates_per_pass", at_rest<BoundRun>(&BoundRun::updates_per_pass))
        .def_prop_ro("oracle_calls", at_rest<BoundRun>(&BoundRun::oracle_calls))
        .def_prop_ro("stalled", at_rest<BoundRun>(&BoundRun::stalled), "Whether no further step helps.")
        .def_prop_ro("diverged", at_rest<BoundRun>(&BoundRun::diverged))
        .def(
            "__getattr__",
            [](const BoundRun& run, const std::string& name) {
                for (const auto& [known, number] : at_rest<BoundRun> (&BoundRun::numbers)(run))
                    if (name == known) return number;
                throw nb::attribute_error(name.c_str());
            },
            "name"_a, "A number that this method tells beside what all do.");
}

void bind_dual_run(nb::module_& m) {
    nb::class_<BoundDual, BoundRun>(m, "DualRun", "A method on the dual at work.")
        .def("start", alone<BoundDual>(&BoundDual::start), "seconds"_a)
        .def("run", once_started(&BoundDual::run), "max_updates"_a, "seconds"_a)
        .def("confirm", once_started(&BoundDual::confirm), "seconds"_a)
        .def("adopt_confirmed",
             [](BoundDual& run) {
                 const Exclusive only(&run);
                 require(run.confirmed(), "there is no complete confirmation to adopt");
                 nb::gil_scoped_release release;
                 run.adopt_confirmed();
             })
        .def("save",
             [](BoundDual& run) {
                 require(at_rest<BoundDual>(&BoundDual::started)(run), "the run has not started");
                 return save_archive<BoundRun>(run);
             })
        .def("widen", alone<BoundDual>(&BoundDual::widen))
        .def("begin_again", alone<BoundDual>(&BoundDual::begin_again), "old_l2"_a, "old_l1"_a)
        .def_prop_ro("started", at_rest<BoundDual>(&BoundDual::started))
        .def("take", with_common(&BoundDual::take), "common"_a, "Takes the common state of several partitions.")
        .def("give_back", with_common(&BoundDual::give_back), "common"_a)
        .def("gather", confirming(&BoundDual::gather), "seconds"_a, "common"_a,
             "The first half of a confirming pass over this partition; true when it is complete.")
        .def("judge", confirming(&BoundDual::judge), "seconds"_a, "common"_a, "The second half.")
        .def("adopt_judged",
             [](BoundDual& run) {
                 const Exclusive only(&run);
                 require(run.started() && run.judged(), "this partition has not been judged");
                 nb::gil_scoped_release release;
                 run.adopt_judged();
             })
        .def("save_blocks",
             [](BoundDual& run) {
                 require(at_rest<BoundDual>(&BoundDual::started)(run), "the run has not started");
                 return save_archive(run, &BoundDual::archive_blocks);
             })
        .def(
            "restore_blocks",
            [](BoundDual& run, const nb::dict& state) { restore_archive(run, state, &BoundDual::archive_blocks); },
            "state"_a)
        .def(
            "join",
            [](BoundDual& run, std::uint64_t seed, Index rounds, Index workers, Vector<std::int32_t> owners,
               Vector<double> occurrences) {
                const Exclusive only(&run);
                require(!run.started() && workers > 0, "the run has started, or there are no workers");
                require(rounds > 0 && rounds <= kMostRounds, "a pass must have between 1 and 1,048,576 rounds");
                require(owners.shape(0) == occurrences.shape(0), "there must be two numbers an attribute");
                return run.join(seed, rounds,
                                {workers,
                                 {owners.data(), owners.data() + owners.shape(0)},
                                 {occurrences.data(), occurrences.data() + occurrences.shape(0)}});
            },
            "seed"_a, "rounds"_a, "workers"_a, "owners"_a.noconvert(), "occurrences"_a.noconvert(),
            "Makes this run one of several workers, of which the others are in other processes; owners: how many of "
            "them "
            "have each attribute; occurrences: how often it occurs in all. False where blocks cannot be shared out.")
        .def("advance_a_round",
             [](BoundDual& run) {
                 const Exclusive only(&run);
                 require(run.started() && run.joined(), "the run has no other workers, or has not started");
                 nb::gil_scoped_release release;
                 return run.advance_a_round();
             })
        .def(
            "collect",
            [](BoundDual& run, bool single) { return single ? collected<float>(run) : collected<double>(run); },
            "single"_a, "What is to be added up over all workers after a round, in single or double precision.")
        .def("spread", &spread<float>, "changes"_a.noconvert())
        .def("spread", &spread<double>, "changes"_a.noconvert(), "Takes the sums over all workers.")
        .def(
            "collect_private",
            [](BoundDual& run, bool single) {
                return single ? collected_private<float>(run) : collected_private<double>(run);
            },
            "single"_a, "The same, of the weights of this worker alone, after the last round of a pass.")
        .def("spread_private", &spread_private<float>, "changes"_a.noconvert())
        .def("spread_private", &spread_private<double>, "changes"_a.noconvert())
        .def_prop_ro("rounds_of_a_pass", joined<Index>(&BoundDual::rounds_of_a_pass))
        .def_prop_ro("first_radius", alone<BoundDual>(&BoundDual::first_radius))
        .def(
            "dual_offsets",
            [](const BoundDual& run) { return to_array(at_rest<BoundDual>(&BoundDual::dual_offsets)(run)); },
            "Where the duals of each block begin in what save_blocks() gives.")
        .def_prop_ro("totals", alone<BoundDual>(&BoundDual::totals),
                     "Sums over the blocks: entropies, recorded gaps, and what the last steps left of these.")
        .def_prop_ro("dual", alone<BoundDual>(&BoundDual::dual))
        .def_prop_ro("gap_estimate", alone<BoundDual>(&BoundDual::gap_estimate))
        .def_prop_ro("chi", alone<BoundDual>(&BoundDual::chi))
        .def_prop_ro("epsilon", at_rest<BoundDual>(&BoundDual::epsilon))
        .def_prop_ro("kappa", at_rest<BoundDual>(&BoundDual::kappa))
        .def_prop_ro("adopted_at", at_rest<BoundDual>(&BoundDual::adopted_at))
        .def_prop_ro("evaluations", at_rest<BoundDual>(&BoundDual::evaluations))
        .def_prop_ro("step_total", at_rest<BoundDual>(&BoundDual::step_total));
}

void bind_common_state(nb::module_& m) {
    nb::class_<CommonState>(m, "CommonState", "What the runs on the partitions of one problem have in common.")
        .def(
            "__init__",
            [](CommonState* self, double l1, double l2, std::optional<Vector<double>> centre, Index dimension,
               bool accelerate, std::uint64_t seed, Index threads) {
                require(dimension >= 0 && threads > 0, "there must be a thread, and weights");
                require(!centre || static_cast<Index>(centre->shape(0)) == dimension,
                        "the number of weights does not fit");
                Penalty penalty{{l1, l2}, {}};
                if (centre) penalty.centre.assign(centre->data(), centre->data() + centre->shape(0));
                new (self) CommonState(std::move(penalty), dimension, accelerate, seed, threads);
            },
            "l1"_a, "l2"_a, "centre"_a.noconvert().none(), "dimension"_a, "accelerate"_a, "seed"_a, "threads"_a)
        .def("begin", alone<CommonState>(&CommonState::begin), "mean_radius"_a, "times"_a = 1.0,
             "The first weights, for runs that begin together.")
        .def_prop_ro("kappa",
                     [](const CommonState& common) {
                         const Exclusive only(&common);
                         return common.acceleration.kappa();
                     })
        .def("save_acceleration", [](CommonState& common) { return save_archive(common, &CommonState::archive); })
        .def(
            "restore_acceleration",
            [](CommonState& common, const nb::dict& state) { restore_archive(common, state, &CommonState::archive); },
            "state"_a)
        .def(
            "gathered",
            [](CommonState& common) {
                const Exclusive only(&common);
                require(!common.sums.weights().empty(), "no confirmation has begun");
                return to_array(common.sums.weights().raw());
            },
            "What the blocks have added to the weights so far.")
        .def(
            "set_gathered",
            [](CommonState& common, Vector<double> sums) {
                const Exclusive only(&common);
                require(static_cast<Index>(sums.shape(0)) == common.sums.weights().size(),
                        "the number of weights does not fit");
                std::copy_n(sums.data(), sums.shape(0), common.sums.weights().raw().data());
            },
            "sums"_a.noconvert(), "What all blocks have added, those of other processes too.")
        .def_prop_rw(
            "judged",
            [](const CommonState& common) {
                const Exclusive only(&common);
                return common.sums.added();
            },
            [](CommonState& common, const std::array<double, 3>& sums) {
                const Exclusive only(&common);
                common.sums.set_added(sums);
            },
            "The sums of losses and of entropies so far, and their magnitude; or those of all processes.")
        .def("end_pass", alone<CommonState>(&CommonState::end_pass), "gaps"_a, "entropies"_a)
        .def("look", alone<CommonState>(&CommonState::look), "entropies"_a,
             "(what the gap has beyond the sum of the blocks' gaps, the dual value)")
        .def("begin_confirmation", alone<CommonState>(&CommonState::begin_confirmation))
        .def("end_gathering", alone<CommonState>(&CommonState::end_gathering), "When all partitions have gathered.")
        .def(
            "certificate",
            [](CommonState& common) {
                const Exclusive only(&common);
                require(!common.sums.weights().empty(), "no confirmation has begun");
                const Certificate found = common.certificate();
                return std::make_tuple(found.primal, found.dual, found.gap);
            },
            "(primal, dual, gap), when all partitions have judged.")
        .def("adopt",
             [](CommonState& common) {
                 const Exclusive only(&common);
                 require(!common.sums.weights().empty(), "there is nothing to adopt");
                 common.adopt();
             })
        .def("weights", [](CommonState& common) {
            const Exclusive only(&common);
            return to_array(common.weights.point());
        });
}

void bind_primal_run(nb::module_& m) {
    nb::class_<BoundPrimal, BoundRun>(m, "PrimalRun", "A method on the primal at work.")
        .def(
            "set_weights",
            [](BoundPrimal& run, Vector<double> w) {
                const Exclusive only(&run);
                require(w.shape(0) == run.weights().shape(0), "the number of weights does not fit the field");
                run.set_weights(w.data());
            },
            "weights"_a.noconvert(), "Starts from these weights; before the first run.")
        .def("estimate", alone<BoundPrimal>(&BoundPrimal::estimate),
             "(gap, primal) as far as known without a confirming pass.");
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
    BlockSampler sampler({rule_named<SamplingRule>(sampling), non_uniformity, permutation_every, seed}, active,
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

}  // namespace

void bind_runs(nb::module_& m) {
    bind_run(m);
    bind_common_state(m);
    bind_dual_run(m);
    bind_primal_run(m);
    m.def("sample_blocks", &sample_blocks, "sampling"_a, "non_uniformity"_a, "permutation_every"_a, "seed"_a,
          "sample_weights"_a.noconvert(), "smoothness"_a.noconvert(), "gaps"_a.noconvert(), "lengths"_a.noconvert(),
          "draws"_a, "The blocks that a sampling rule draws after the first pass.");
    m.def("begin_fork", [] { Pool::of_process().begin_fork(); });
    m.def("end_fork", [] { Pool::of_process().end_fork(); });
    m.def("begin_as_child", [] { Pool::of_process().begin_as_child(); });
    m.def(
        "take_missing_threads", [] { return missing_threads().exchange(0); },
        "The most threads that the system refused a team since the last call.");
}

}  // namespace dualfield
