// States of runs: a saved one, changed anywhere, is refused or restored, and a restored run goes on without a fault.
//
// core/bindings/archives.hpp reads a state from a dict of arrays; this reads it from a map with the same checks, so
// that no
// Python is needed. What the checks let pass is what the solvers must bear.
#include <map>
#include <stdexcept>
#include <variant>

#include "base/archive.hpp"
#include "choices.hpp"
#include "fields/chain.hpp"
#include "solvers/adagrad.hpp"
#include "solvers/lbfgs.hpp"
#include "solvers/oeg.hpp"
#include "solvers/owlqn.hpp"
#include "solvers/perceptron.hpp"
#include "solvers/sag.hpp"
#include "solvers/saga.hpp"
#include "solvers/sdca.hpp"
#include "solvers/sgd.hpp"
#include "solvers/smd.hpp"
#include "solvers/svrg.hpp"

using namespace dualfield;

namespace {

using Entry = std::variant<std::vector<double>, std::vector<float>, std::vector<Index>, std::vector<std::uint64_t>>;
using State = std::map<std::string, Entry>;

class Saver : public Archive {
   public:
    bool loading() const override { return false; }
    void span(const char* name, double* values, Index size) override {
        state[name] = std::vector<double>(values, values + size);
    }
    void span(const char* name, float* values, Index size) override {
        state[name] = std::vector<float>(values, values + size);
    }
    void array(const char* name, std::vector<double>& values) override { state[name] = values; }
    void array(const char* name, std::vector<float>& values) override { state[name] = values; }
    void array(const char* name, std::vector<Index>& values) override { state[name] = values; }
    void array(const char* name, std::vector<std::uint64_t>& values) override { state[name] = values; }
    void flexible(const char* name, std::vector<double>& values, Index, Index) override { array(name, values); }
    void permutation(const char* name, std::vector<Index>& order) override { array(name, order); }
    void index(const char* name, Index& value, Index) override { state[name] = std::vector<Index>{value}; }
    void bounded(const char* name, std::vector<Index>& values, Index) override { array(name, values); }

    State state;
};

class Loader : public Archive {
   public:
    Loader(const State& state, bool check_only) : state_(state), check_only_(check_only) {}
    bool loading() const override { return !check_only_; }
    void span(const char* name, double* values, Index size) override { load_span(name, values, size); }
    void span(const char* name, float* values, Index size) override { load_span(name, values, size); }
    void array(const char* name, std::vector<double>& values) override { load(name, values); }
    void array(const char* name, std::vector<float>& values) override { load(name, values); }
    void array(const char* name, std::vector<Index>& values) override { load(name, values); }
    void array(const char* name, std::vector<std::uint64_t>& values) override { load(name, values); }
    void flexible(const char* name, std::vector<double>& values, Index unit, Index most) override {
        const auto& given = entry<double>(name);
        fit(std::ssize(given) % unit == 0 && std::ssize(given) / unit <= most);
        if (!check_only_) values = given;
    }
    void permutation(const char* name, std::vector<Index>& order) override {
        std::vector<Index> sorted_old(order), sorted_new = entry<Index>(name);
        std::sort(sorted_old.begin(), sorted_old.end());
        std::sort(sorted_new.begin(), sorted_new.end());
        fit(sorted_old == sorted_new);
        if (!check_only_) order = entry<Index>(name);
    }
    void index(const char* name, Index& value, Index largest) override {
        const auto& given = entry<Index>(name);
        fit(given.size() == 1 && 0 <= given[0] && given[0] <= largest);
        if (!check_only_) value = given[0];
    }
    void bounded(const char* name, std::vector<Index>& values, Index largest) override {
        const auto& given = entry<Index>(name);
        fit(given.size() == values.size());
        fit(std::all_of(given.begin(), given.end(), [&](Index one) { return 0 <= one && one <= largest; }));
        if (!check_only_) values = given;
    }

   private:
    static void fit(bool condition) {
        if (!condition) throw std::invalid_argument("the saved state does not fit this field");
    }
    template <class T>
    const std::vector<T>& entry(const char* name) {
        fit(state_.contains(name) && std::holds_alternative<std::vector<T>>(state_.at(name)));
        return std::get<std::vector<T>>(state_.at(name));
    }
    template <class T>
    void load_span(const char* name, T* values, Index size) {
        fit(std::ssize(entry<T>(name)) == size);
        if (!check_only_) std::copy_n(entry<T>(name).begin(), size, values);
    }
    template <class T>
    void load(const char* name, std::vector<T>& values) {
        fit(entry<T>(name).size() == values.size());
        if (!check_only_) values = entry<T>(name);
    }

    const State& state_;
    bool check_only_;
};

// Three sequences, three labels, five attributes.
struct Sentences {
    std::vector<Index> offsets{0, 1, 4, 6}, indptr{0, 2, 3, 5, 5, 7, 8};
    std::vector<std::int32_t> indices{0, 1, 2, 0, 4, 1, 3, 2}, labels{0, 2, 1, 1, 0, 2};
    Attributes attributes() const { return {3, offsets.data(), indptr.data(), indices.data(), nullptr, 5}; }
};

constexpr Index kMany = Index{1} << 60;  // counters beyond it would overflow by being counted

void change(fuzz::Choices& choices, State& state) {
    for (std::size_t n = choices.size(6); n > 0; --n) {
        auto at = std::next(state.begin(), static_cast<std::ptrdiff_t>(choices.size(state.size() - 1)));
        std::visit(
            [&](auto& values) {
                using Number = typename std::decay_t<decltype(values)>::value_type;
                const std::uint8_t how = choices.byte();
                if (how >= 250) return values.resize(choices.size(64));
                if (values.empty()) return;
                const auto drawn = [&] {
                    if constexpr (std::is_floating_point_v<Number>) {
                        return static_cast<Number>(choices.real());
                    } else {
                        if (choices.byte() < 128) return static_cast<Number>(choices.number(-2, 8));
                        return static_cast<Number>(choices.number(-kMany, kMany));
                    }
                };
                if (how >= 200) {
                    std::fill(values.begin(), values.end(), drawn());
                } else if (how >= 160) {
                    std::swap(values[choices.size(values.size() - 1)], values[choices.size(values.size() - 1)]);
                } else {
                    values[choices.size(values.size() - 1)] = drawn();
                }
            },
            at->second);
        if (choices.byte() >= 252) state.erase(at);
    }
}

constexpr double kForever = 5.0;  // seconds; what is to do takes much less

// A state may say of a run that it has diverged before it began: then there is nothing to confirm, ever.
template <class Work>
void attempt(Work&& work) {
    for (int tries = 0; tries < 4 && !work(); ++tries) {
    }
}

template <class Solver>
void advance(Solver& solver) {
    if constexpr (requires { solver.start(kForever); }) {
        attempt([&] { return solver.start(kForever); });
        solver.run(2 * solver.draws_per_pass(), kForever);
        attempt([&] { return solver.confirm(kForever); });
    } else if constexpr (requires { solver.total(); }) {
        solver.run(2 * solver.total(), kForever);
        attempt([&] { return solver.confirm(kForever); });
    } else {
        solver.run(2 * solver.updates_per_pass(), kForever);
        if constexpr (requires { solver.estimate(); }) solver.estimate();
        if constexpr (requires { solver.confirm(kForever); }) attempt([&] { return solver.confirm(kForever); });
    }
}

// make() gives a new run each time.
template <class Make>
void restore(fuzz::Choices& choices, Make&& make) {
    auto first = make();
    if (choices.flag()) advance(first);
    if constexpr (requires { first.start(kForever); }) attempt([&] { return first.start(kForever); });
    Saver saver;
    first.archive(saver);
    State state = saver.state;
    change(choices, state);
    auto second = make();
    try {
        Loader check(state, true), load(state, false);
        second.archive(check);
        second.archive(load);
    } catch (const std::invalid_argument&) {
        advance(second);  // a refused state has changed nothing
        return;
    }
    advance(second);
    Saver again;
    second.archive(again);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    fuzz::Choices choices(data, size);
    static const Sentences sentences;
    using F = Chain<AllPairs>;
    ChainShape shape{3, {0, 1, 2, 3, 4, 5, 6, 7, 8}, true, true, true};
    const F field(sentences.attributes(), AllPairs(5, 3), shape, sentences.labels.data(), nullptr, 0.5);
    const bool option = choices.flag();
    const SamplingRule rules[] = {SamplingRule::kGap, SamplingRule::kUniform};
    const SamplingOptions sampling{rules[choices.size(1)], 0.8, 3, 0};
    const Concurrency one{1, 4};
    const auto precision = option ? Precision::kSingle : Precision::kDouble;
    const double l1 = option ? 0.1 : 0.0;
    const DualOptions options{l1, {}, sampling, one, option, precision};
    const auto gradients = static_cast<GradientSampling>(choices.size(2));
    switch (choices.size(10)) {
        case 0:
            restore(choices, [&] { return OEG<F>(field, {options, true}); });
            break;
        case 1:
            restore(choices, [&] {
                return SDCA<F>(field, {options, {StepRule::kNewton, 1e-3, 0.0}, {StartRule::kMixture, 0.0}});
            });
            break;
        case 2:
            restore(choices, [&] { return LBFGS<F>(field, {4, option ? 1 : 3, option ? 1.5 : 1.0, 1, 0}); });
            break;
        case 3:
            restore(choices, [&] { return OWLQN<F>(field, {4, 0.05, {}, 1}); });
            break;
        case 4:
            restore(choices, [&] { return SAG<F>(field, {gradients, 1, 2, 0}); });
            break;
        case 5:
            restore(choices, [&] { return SAGA<F>(field, {{gradients, 1, 2, 0}, l1}); });
            break;
        case 6:
            restore(choices, [&] { return SVRG<F>(field, {l1, 2, 0}); });
            break;
        case 7:
            restore(choices, [&] {
                return SGD<F>(field, {l1, static_cast<StepSchedule>(gradients), 0.1, 2, option ? 1 : 0, 0});
            });
            break;
        case 8:
            restore(choices, [&] { return AdaGrad<F>(field, {l1, 0.1, 1e-6, 2, 0}); });
            break;
        case 9:
            restore(choices, [&] { return SMD<F>(field, {0.1, 0.1, 0.99, 2, 0}); });
            break;
        default:
            restore(choices, [&] { return Perceptron<F>(field, {option, 0}); });
    }
    return 0;
}
