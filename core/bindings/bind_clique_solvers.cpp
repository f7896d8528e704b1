// Solvers that look at single cliques: one class for the entropies that have logarithms, one for those that have not.
#include <string>

#include "bindings/archives.hpp"
#include "bindings/exclusive.hpp"
#include "bindings/field_checks.hpp"
#include "bindings/options.hpp"
#include "fields/chain_field.hpp"
#include "fields/clique_view.hpp"
#include "fields/graph.hpp"
#include "fields/loopy_graph.hpp"
#include "fields/objective.hpp"
#include "solvers/clique_ascent.hpp"

namespace dualfield {
namespace {

using namespace nb::literals;

template <class Rows>
std::shared_ptr<const CliqueView> clique_view(const Chain<Rows>& chain) {
    require(chain.columns().width() == 0, "a chain with dense columns cannot be seen clique by clique");
    return std::make_shared<ChainCliques<Rows>>(chain);
}

std::shared_ptr<const CliqueView> clique_view(const GeneralField& field) {
    if (const auto* loopy = dynamic_cast<const LoopyGraph*>(&field)) {
        require(!loopy->clique_counts().empty(), "this inference has no entropy that is concave clique by clique");
        return std::make_shared<GraphCliques>(*loopy, loopy->clique_counts());
    }
    if (const auto* chain = dynamic_cast<const ErasedChain<AllPairs>*>(&field)) return clique_view(chain->field());
    if (const auto* chain = dynamic_cast<const ErasedChain<ObservedPairs>*>(&field)) return clique_view(chain->field());
    const auto* exact = dynamic_cast<const Graph*>(&field);
    require(exact != nullptr, "the field cannot be seen clique by clique");
    require(exact->forests(), "with exact inference, graphs must be forests to be seen clique by clique");
    return std::make_shared<GraphCliques>(
        *exact, counts_by_structure(exact->blocks(), exact->graphs(),
                                    [](const PairwiseGraph& graph) { return OrientedForests().counts(graph); }));
}

bool has_logarithms(const GeneralField& field) {
    const auto* loopy = dynamic_cast<const LoopyGraph*>(&field);
    return !loopy || loopy->inference() != Inference::kGini;
}
template <class Entropy>
void bind_ascent(nb::module_& m, const char* name) {
    using Solver = CliqueAscent<Entropy>;
    using Options = CliqueAscentOptions;
    nb::class_<Solver> bound(m, name, "Ascent of the dual clique by clique.");
    static std::string signature;
    Signature written("def __init__(self, field: GeneralField, *");
    Options().each(written);
    signature = written.returning("None");
    bound
        .def(
            "__init__",
            [](Solver* self, const GeneralField& field, const nb::kwargs& given) {
                check_trainable(field);
                const Options options = options_from<Options>(given);
                options.check(field);
                require(has_logarithms(field) == std::is_same_v<Entropy, Entropic>,
                        "the solver is for other entropies");
                auto view = clique_view(field);
                nb::gil_scoped_release release;
                new (self) Solver(std::move(view), options);
            },
            "field"_a, "options"_a, nb::keep_alive<1, 2>(), nb::sig(signature.c_str()))
        .def("run", alone<Solver>(&Solver::run), "max_updates"_a, "seconds"_a)
        .def("weights",
             [](const Solver& s) {
                 const Exclusive only(&s);
                 return to_array(s.weights());
             })
        .def("dual_bound", alone<Solver>(&Solver::dual_bound), "now"_a,
             "The largest lower bound on the optimum so far.")
        .def("measured_gap", alone<Solver>(&Solver::measured_gap), "max_passes"_a,
             "What is left to gain at these multipliers, found by going on with a copy.")
        .def("save", &save_archive<Solver>)
        .def("restore", &restore_archive<Solver>, "state"_a)
        .def("begin_again", alone<Solver>(&Solver::begin_again), "old_l2"_a)
        .def_prop_ro("updates_per_pass", at_rest<Solver>(&Solver::cliques))
        .def_prop_ro("left_in_pass", at_rest<Solver>(&Solver::left_in_pass))
        .def_prop_ro("updates", at_rest<Solver>(&Solver::updates))
        .def_prop_ro("evaluations", at_rest<Solver>(&Solver::evaluations))
        .def_prop_ro("outer_iterations", at_rest<Solver>(&Solver::outer_iterations))
        .def_prop_ro("inner_passes", at_rest<Solver>(&Solver::inner_passes))
        .def_prop_ro("rho", at_rest<Solver>(&Solver::rho))
        .def_prop_ro("epsilon", at_rest<Solver>(&Solver::epsilon))
        .def_prop_ro("violation", at_rest<Solver>(&Solver::violation))
        .def_prop_ro("augmented_dual", at_rest<Solver>(&Solver::augmented_dual))
        .def_prop_ro("recorded_gap", at_rest<Solver>(&Solver::recorded_gap))
        .def_prop_ro("waited", at_rest<Solver>(&Solver::waited))
        .def_prop_ro("stalled", at_rest<Solver>(&Solver::stalled))
        .def_prop_ro("diverged", at_rest<Solver>(&Solver::diverged));
}

}  // namespace

void bind_clique_solvers(nb::module_& m) {
    bind_ascent<Entropic>(m, "CliqueAscentEntropic");
    bind_ascent<Gini>(m, "CliqueAscentGini");
    m.def("rounding_allowance", &rounding_allowance, "magnitude"_a,
          "By how much a value computed from terms of this total magnitude may be wrong.");
}

}  // namespace dualfield
