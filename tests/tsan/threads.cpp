// Everything that runs on several threads, on small generated data, to be compiled with -fsanitize=thread: a data race
// ends the programme with another code than 0, and so does a result that depends on threads where it must not.
//
// Chains with all pairs and with observed ones, whose sums are written differently; the dual methods in windows and by
// workers that own blocks, with and without acceleration; their confirming pass; the relay by which gradients are found, also where it fails; L-BFGS, Hybrid's
// growing samples, OWL-QN; SAG and SAGA; prediction; teams of several callers; and
// the attributes of column files.

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <stdexcept>
#include <thread>
#include <vector>

#include "fields/chain.hpp"
#include "fields/prediction.hpp"
#include "solvers/lbfgs.hpp"
#include "solvers/oeg.hpp"
#include "solvers/owlqn.hpp"
#include "solvers/sag.hpp"
#include "solvers/saga.hpp"
#include "solvers/sdca.hpp"
#include "text/encoding_on_threads.hpp"

using namespace dualfield;

namespace {

constexpr Index kThreads = 3, kBlocks = 120, kLabels = 9, kAttributes = 2500, kPerPosition = 6;
constexpr double kForever = 1e9;

void require(bool holds, const char* what) {
    if (holds) return;
    std::fprintf(stderr, "threads.cpp: expected that %s\n", what);
    std::exit(1);
}

// Labels at random, and attributes some of which tell the label.
struct Sentences {
    std::vector<Index> offsets{0}, indptr{0};
    std::vector<std::int32_t> indices, labels;

    Sentences() {
        Random random(1);
        for (Index i = 0; i < kBlocks; ++i) {
            const Index length = 1 + random.below(12);
            for (Index t = 0; t < length; ++t) {
                labels.push_back(static_cast<std::int32_t>(random.below(kLabels)));
                indices.push_back(random.uniform() < 0.7 ? labels.back() : 0);
                for (Index a = 1; a < kPerPosition; ++a)
                    indices.push_back(static_cast<std::int32_t>(kLabels + random.below(kAttributes - kLabels)));
                indptr.push_back(static_cast<Index>(indices.size()));
            }
            offsets.push_back(offsets.back() + length);
        }
    }

    Attributes attributes() const {
        return {kBlocks, offsets.data(), indptr.data(), indices.data(), nullptr, kAttributes};
    }
};

template <class Solver>
void ascend(Solver&& solver) {
    while (!solver.start(kForever)) {
    }
    for (int pass = 0; pass < 5; ++pass) solver.run(solver.draws_per_pass(), kForever);
    while (!solver.confirm(kForever)) {
    }
    require(std::isfinite(solver.certificate().gap) && solver.certificate().gap >= 0.0, "a dual run has a certificate");
    solver.adopt_confirmed();
    solver.run(solver.draws_per_pass(), kForever);
}

// make(threads) on one thread and on several: the same weights.
template <class Make>
void descend(Make&& make) {
    auto alone = make(1), shared = make(kThreads);
    for (auto* solver : {&alone, &shared}) {
        solver->run(12 * solver->total(), kForever);
        while (!solver->confirm(kForever)) {
        }
    }
    require(alone.updates() > 3, "a gradient method takes steps");
    require(alone.weights() == shared.weights(), "gradient methods do not depend on threads");
    require(alone.certificate().gap == shared.certificate().gap, "their certificates do not either");
}

// Windows of the same size on one thread and on several: the same weights.
template <class Solver, class F, class... Penalty>
void average(const F& field, GradientSampling sampling, Penalty... l1) {
    constexpr Index kWindow = 6;
    const AverageGradientOptions one{sampling, 1, kWindow, 0}, several{sampling, kThreads, kWindow, 0};
    Solver alone(field, {one, l1...}), shared(field, {several, l1...});
    for (auto* solver : {&alone, &shared}) {
        for (int pass = 0; pass < 10; ++pass) solver->run(solver->updates_per_pass(), kForever);
        solver->estimate();
        while (!solver->confirm(kForever)) {
        }
    }
    require(!shared.diverged() && shared.seen() > kBlocks / 2, "an average gradient method takes steps");
    require(alone.weights() == shared.weights(), "windows do not depend on threads");
    require(alone.certificate().gap == shared.certificate().gap, "their certificates do not either");
}

template <class Rows>
void predict(const Chain<Rows>& field, const Zeros<double>& w) {
    const ErasedChain<Rows> erased(field);
    const auto ask = [&](Index threads, std::vector<std::int32_t>& path, std::vector<double>& marginals) {
        const Index positions = field.offset(kBlocks);
        path.resize(positions);
        marginals.resize(positions * kLabels);
        Team(threads).over_ranges(kBlocks, [&](Index first, Index last) {
            decode_blocks(field, w.data(), first, last, path.data() + field.offset(first));
            infer_blocks(erased, w.data(), first, last, marginals.data() + field.offset(first) * kLabels);
        });
    };
    std::vector<std::int32_t> path, shared_path;
    std::vector<double> marginals, shared_marginals;
    ask(1, path, marginals);
    ask(kThreads, shared_path, shared_marginals);
    require(path == shared_path && marginals == shared_marginals, "predictions do not depend on threads");
}

template <class F>
void run_all(const F& field) {
    const SamplingOptions sampling{SamplingRule::kGap, 0.8, 3, 0};
    const Concurrency windows{kThreads, 8 * kThreads, 0}, workers{kThreads, 1, kThreads + 1};
    for (const bool accelerate : {false, true})
        for (const double l1 : {0.0, 0.1}) {
            const Precision precision = accelerate ? Precision::kSingle : Precision::kDouble;
            for (const Concurrency& concurrency : {windows, workers}) {
                const DualOptions options{l1, {}, sampling, concurrency, accelerate, precision};
                ascend(OEG<F>(field, {options, true}));
                ascend(SDCA<F>(field, {options, {StepRule::kNewton, 1e-3, 0.0}, {StartRule::kMixture, 0.0}}));
            }
        }
    descend([&](Index threads) { return LBFGS<F>(field, {5, kBlocks, 1.0, threads, 0}); });
    descend([&](Index threads) { return LBFGS<F>(field, {5, 10, 1.2, threads, 0}); });
    descend([&](Index threads) { return OWLQN<F>(field, {5, 0.05, {}, threads}); });
    for (const auto sampling : {GradientSampling::uniform, GradientSampling::nus, GradientSampling::nus_star}) {
        average<SAG<F>>(field, sampling);
        for (const double l1 : {0.0, 0.05}) average<SAGA<F>>(field, sampling, l1);
    }
    LBFGS<F> trained(field, {5, kBlocks, 1.0, 1, 0});
    trained.run(5 * trained.total(), kForever);
    predict(field, trained.weights());
}

// Every member takes all things in order; where one fails, to make or to take, the others do not wait for it for ever.
void relay() {
    constexpr Index kThings = 500;
    Team team(kThreads);
    OrderedHandOver relay;
    std::vector<Index> things(OrderedHandOver::places(team));
    std::vector<std::vector<Index>> taken(kThreads);
    const auto make = [&](Index k, Index place, Index) { things[place] = k; };
    relay.run(team, kThings, make, [&](Index, Index place, Index member) { taken[member].push_back(things[place]); });
    for (const auto& of_one : taken) {
        require(std::ssize(of_one) == kThings, "each member takes everything");
        require(std::is_sorted(of_one.begin(), of_one.end()), "things are taken in their order");
    }
    const auto nothing = [](Index, Index, Index) {};
    const auto fail = [](Index k, Index, Index member) {
        if (k == kThings / 2 && member == kThreads - 1) throw std::runtime_error("failed");
    };
    const auto fail_anywhere = [&](Index k, Index place, Index) { fail(k, place, kThreads - 1); };
    for (const bool making : {true, false}) {
        bool failed = false;
        try {
            if (making) {
                relay.run(team, kThings, fail_anywhere, nothing);
            } else {
                relay.run(team, kThings, nothing, fail);
            }
        } catch (const std::runtime_error&) {
            failed = true;
        }
        require(failed, "what a member throws is thrown to the caller");
    }
}

// Work that stops early is that of the first things, whoever did it.
void stopped_relay() {
    constexpr Index kThings = 5000;
    Team team(kThreads);
    OrderedHandOver relay;
    for (int repeat = 0; repeat < 20; ++repeat) {
        std::vector<Index> taken(kThreads, 0);
        std::atomic<Index> made{0};
        const Index done = relay.run(
            team, kThings, [&](Index, Index, Index) { made.fetch_add(1); },
            [&](Index k, Index, Index member) { require(taken[member]++ == k, "things are taken in order"); },
            [&] { return made.load() > 100 * repeat; });
        require(done == made.load(), "what has been begun is made");
        for (const Index count : taken) require(count == done, "and everybody takes it");
    }
}

// Teams of several callers and teams within teams; between them the threads that wait end, as they do before a fork.
void many_teams() {
    std::atomic<Index> sum{0};
    std::vector<std::thread> callers;
    for (int caller = 0; caller < 3; ++caller)
        callers.emplace_back([&] {
            for (int repeat = 0; repeat < 20; ++repeat)
                Team(kThreads).for_each(
                    4, [&](Index, Index) { Team(2).for_each(5, [&](Index, Index) { sum.fetch_add(1); }); });
        });
    for (int fork = 0; fork < 10; ++fork) {
        Pool::of_process().begin_fork();
        Pool::of_process().end_fork();
        std::this_thread::yield();
    }
    for (std::thread& caller : callers) caller.join();
    require(sum.load() == 3 * 20 * 4 * 5, "teams do all of their work");
}

// The attributes of a column file, with the numbers that one thread gives them.
void encode() {
    Random random(2);
    text::StringTable words;
    auto column = std::make_shared<text::Column>();
    text::Tokens tokens;
    for (Index i = 0; i < 300; ++i) {
        for (Index t = 0; t <= random.below(9); ++t) {
            column->codes.push_back(words.intern("word" + std::to_string(random.below(1 + random.below(800)))));
            tokens.lines.push_back(0);
        }
        tokens.offsets.push_back(static_cast<std::int64_t>(column->codes.size()));
    }
    column->values = std::make_shared<text::StringTable>(std::move(words));
    tokens.columns.push_back(column);
    text::Template source{{{0, {}}}, {}, text::Outside::crfpp};
    for (const std::int64_t offset : {-1, 0, 1})
        source.rules.push_back({{"w", ""}, {{0, offset, false}}, true, false, text::Where::anywhere});
    source.rules.push_back({{"p", "/", ""}, {{0, 0, false}, {0, 1, false}}, true, false, text::Where::anywhere});
    const auto given = text::Encoder(source, tokens, false, {}).encode(2).names;
    for (const std::int64_t min_count : {1, 3})
        for (const bool newly : {true, false}) {
            if (min_count > 1 && !newly) continue;
            const text::Numbering numbering{newly ? nullptr : given, 0};
            const text::EncodedTokens alone = text::Encoder(source, tokens, false, numbering).encode(min_count);
            Team team(kThreads);
            text::EncodingOnThreads encoding(source, tokens, false, numbering, min_count, team);
            std::vector<std::int64_t> indptr(encoding.tokens() + 1);
            std::vector<text::Code> indices(encoding.entries());
            std::vector<double> values(encoding.valued() ? encoding.entries() : 0);
            encoding.write(indptr.data(), indices.data(), encoding.valued() ? values.data() : nullptr);
            require(indptr == alone.indptr && indices == alone.indices && values == alone.values,
                    "attributes do not depend on threads");
            if (!newly) continue;
            require(encoding.names()->size() == alone.names->size() && encoding.names()->text() == alone.names->text(),
                    "nor do their names");
            for (std::size_t n = 0; n < alone.names->size(); ++n) {
                const auto code = static_cast<text::Code>(n);
                require(encoding.names()->find((*alone.names)[code]) == code, "and all of them are found");
            }
        }
}

}  // namespace

int main() {
    relay();
    stopped_relay();
    many_teams();
    encode();
    const Sentences data;
    ChainShape shape{kLabels, {}, true, true, true};
    for (std::int32_t k = 0; k < kLabels * kLabels; ++k) shape.transitions.push_back(k);
    run_all(
        Chain<AllPairs>(data.attributes(), AllPairs(kAttributes, kLabels), shape, data.labels.data(), nullptr, 0.5));
    std::vector<Index> starts;
    std::vector<std::int32_t> row_labels;
    observed_pairs(data.attributes(), data.labels.data(), kLabels, starts, row_labels);
    run_all(Chain<ObservedPairs>(data.attributes(),
                                 ObservedPairs(kAttributes, kLabels, starts.data(), row_labels.data()), shape,
                                 data.labels.data(), nullptr, 0.5));
    std::puts("no data race, and the same results on one thread and on several");
}
