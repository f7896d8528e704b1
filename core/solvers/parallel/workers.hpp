// Workers: each takes steps on the blocks that it owns, with its own copy of the weights that they touch.
//
// A worker sees its own steps at once, and those of the others when the weights are exchanged: see block_shares.hpp for
// when, and damping.hpp for what it assumes of them until then. Work goes in rounds. In a round a worker takes steps
// until it has done its share of the pass, then all wait, exchange the classes of weights whose turn it is, and wait
// again. A period of rounds ends with an exchange of everything; only there a run may stop. How many workers there are
// decides the result; how many threads serve them, and their timing, does not.
//
// Or the others are in other processes, and here is one worker alone: then the caller takes its rounds one by one, adds
// up over all processes what collect() gives after each, and hands the sums to spread(); see join().
#pragma once

#include <array>
#include <cmath>
#include <memory>
#include <utility>
#include <vector>

#include "base/archive.hpp"
#include "base/compiler.hpp"
#include "base/deadline.hpp"
#include "base/random.hpp"
#include "base/zeros.hpp"
#include "duality/elastic_net.hpp"
#include "fields/field.hpp"
#include "sampling/block_samplers.hpp"
#include "solvers/parallel/damping.hpp"
#include "solvers/parallel/visit.hpp"
#include "threads/barrier.hpp"
#include "threads/team.hpp"

namespace dualfield {

// What is saved of workers: so many numbers of each, and then their damping; nothing of runs without workers.
constexpr Index kNumbersOfAWorker = 12;
inline void archive_numbers(Archive& archive, std::vector<double>& workers, std::vector<double>& damping) {
    constexpr Index kMost = Index{1} << 20;
    archive.flexible("workers", workers, kNumbersOfAWorker, kMost);
    archive.flexible("damping", damping, Damping::kNumbers, kMost);
}

template <SharedOutField F, class Note>
class Workers {
    using Shares = typename F::Shares;

    struct Worker {
        explicit Worker(std::uint64_t seed) : random(seed) {}

        Random random;
        Index drawn = 0;                    // steps of the pass, so far
        double cost = 0.0, expected = 0.0;  // of the steps of the pass: so far, and in all
        Zeros<double> raw, point;           // its area; no point where it is the raw weights
        std::vector<std::uint8_t> touched;  // by attribute, since its last exchange
        typename F::Direction direction;
        std::vector<double> change, by_class, squares;
        double norm = 0.0;
        Index updates = 0;                          // in this period
        std::vector<std::pair<Index, Note>> notes;  // of this round
    };

    class OwnVisit final : public Visit<Note> {
       public:
        OwnVisit(const Workers& workers, Worker& worker, Index index, Index block, bool is_first, double l2, Step& step,
                 Note& note, Index& oracle_calls, Index& evaluations)
            : Visit<Note>(block, is_first, step, note, oracle_calls, evaluations),
              workers_(workers),
              worker_(worker),
              index_(index),
              l2_(l2) {}

        void score(double* theta) override {
            workers_.field_.score_own(*workers_.shares_, index_, this->block(), workers_.point(worker_), theta);
        }

        double quadratic(const double* change, double) override {
            const Index i = this->block(), size = workers_.field_.compact_size(i);
            std::copy(change, change + size, room(worker_.change, size));
            worker_.norm = workers_.field_.pull(i, change, worker_.direction);
            return workers_.damping_->factor() * workers_.field_.sample_weight(i) / l2_ * worker_.norm;
        }

       private:
        const Workers& workers_;
        Worker& worker_;
        Index index_;
        double l2_;
    };

   public:
    // Each has a sampler.
    Workers(const F& field, const BlockSamplers& samplers, std::uint64_t seed) : field_(field) {
        for (Index w = 0; w < samplers.workers(); ++w) workers_.emplace_back(seed + static_cast<std::uint64_t>(w));
        Index most = 0;
        for (Index w = 0; w < samplers.workers(); ++w) most = std::max(most, samplers[w].draws_per_pass());
        divide_pass(std::clamp(most / kLeastBlocksOfARound, Index{1}, kMostRoundsOfAPass));
    }
    // One worker, and others elsewhere, who have as many rounds in a pass.
    Workers(const F& field, std::uint64_t seed, Index rounds, Elsewhere elsewhere)
        : field_(field), elsewhere_(std::make_unique<Elsewhere>(std::move(elsewhere))) {
        workers_.emplace_back(seed);
        divide_pass(std::max(rounds, Index{1}));
    }

    bool others_elsewhere() const { return elsewhere_ != nullptr; }
    Index rounds_of_a_pass() const { return rounds_.of_a_pass; }
    bool between_passes() const { return round_ == 0; }
    // Whether a round has been taken from the weights as they are, so that there are changes to collect.
    bool took_a_round() const { return loaded_; }

    // The weights have been changed by others: workers must read them again.
    void weights_moved() { loaded_ = false; }

    // One period of steps; returns how many there were.
    //     fetch.operator()<Step>(i)  brings what is kept of block i into the cache: see prefetching.hpp
    //     propose(visit, member)     finds a step
    //     record(found, worker)      of several workers at the same time
    //     commit(block, note)        of one after the other, at the end of a round
    template <class Weights, class Fetch, class Propose, class Record, class Commit>
    Index advance(Team& team, Weights& weights, double l2, BlockSamplers& samplers, Fetch&& fetch, Propose&& propose,
                  Record&& record, Commit&& commit) {
        load(team, weights, samplers);
        const Index count = std::ssize(workers_), c = shares_->classes();
        threshold_ = weights.threshold();
        plain_ = weights.plain();
        sums_.assign(count * c, Sums{});
        for (Worker& worker : workers_) {
            worker.updates = 0;
            worker.squares.assign(c, 0.0);
        }
        if (round_ == 0 && !amid_)
            for (Index w = 0; w < count; ++w) begin_pass(workers_[w], samplers, w);
        const Index first = round_, end = first + rounds_.of_a_period();
        barrier_.begin(team.size());
        team.run([&](Index member) {
            try {
                for (Index round = first; round < end; ++round) {
                    for (Index w = member; w < count; w += team.size())
                        take_steps(w, member, round, l2, samplers[w], fetch, propose, record);
                    if (!barrier_.wait(member)) return;
                    for (Index k = 1; k < c; ++k) {
                        if ((round - first + 1) % (Index{1} << shares_->period(k)) != 0) continue;
                        for (Index w = member; w < count; w += team.size()) exchange(k, w, weights.raw().data());
                    }
                    if (member == 0)
                        for (Worker& worker : workers_)
                            for (const auto& [block, note] : worker.notes) commit(block, note);
                    if (!barrier_.wait(member)) return;
                }
            } catch (...) {
                barrier_.give_up();
                throw;
            }
        });
        round_ = end == rounds_.of_a_pass ? 0 : end;
        amid_ = amid_ && round_ > 0;
        learn();
        stored_ = false;
        Index updates = 0;
        for (const Worker& worker : workers_) updates += worker.updates;
        return updates;
    }

    // With others elsewhere: the steps of one round; returns how many there were. The arguments are those of advance().
    template <class Weights, class Fetch, class Propose, class Record, class Commit>
    Index advance_a_round(Team& team, Weights& weights, double l2, BlockSamplers& samplers, Fetch&& fetch,
                          Propose&& propose, Record&& record, Commit&& commit) {
        load(team, weights, samplers);
        Worker& worker = workers_[0];
        threshold_ = weights.threshold();
        plain_ = weights.plain();
        worker.updates = 0;
        if (round_ % rounds_.of_a_period() == 0) {
            sums_.assign(shares_->classes(), Sums{});
            worker.squares.assign(shares_->classes(), 0.0);
        }
        if (round_ == 0) begin_pass(worker, samplers, 0);
        take_steps(0, 0, round_, l2, samplers[0], fetch, propose, record);
        for (const auto& [block, note] : worker.notes) commit(block, note);
        return worker.updates;
    }

    // After a round: what the worker has added to the weights of the classes whose turn it is, one weight after the
    // other, and for each class their squared norm. Every process has as many numbers, in the same order.
    Index collected_size() const {
        Index size = shares_->classes();
        for_each_due([&](Index, Index, Index length, auto&&) { size += length; });
        return size;
    }
    // In single precision, for instance: what is rounded off is found by the next confirming pass.
    template <class Real>
    void collect(const double* weights, Real* changes) {
        std::vector<double> squares(shares_->classes(), 0.0);
        for_each_due([&](Index c, Index at, Index length, auto&& copies) {
            std::fill(changes, changes + length, Real(0));
            copies([&](Index, Index own, Index attribute) {
                if (attribute >= 0 && !std::exchange(workers_[0].touched[attribute], std::uint8_t{0})) return;
                const double* area = workers_[0].raw.data() + own;
                const double unit = 1.0 / damping_->factors()[c];
                double square = 0.0;
                for (Index k = 0; k < length; ++k) {
                    changes[k] = static_cast<Real>(unit * (area[k] - weights[at + k]));
                    square += static_cast<double>(changes[k]) * changes[k];
                }
                squares[c] += square;
            });
            changes += length;
        });
        for (const double square : squares) *changes++ = static_cast<Real>(square);
    }
    // The sums of these numbers over all processes. The weights take them, and the round is over.
    template <class Real, class Weights>
    void spread(const Real* changes, Weights& weights) {
        double* w = weights.raw().data();
        for_each_due([&](Index c, Index at, Index length, auto&& copies) {
            double square = 0.0;
            for (Index k = 0; k < length; ++k) {
                square += static_cast<double>(changes[k]) * changes[k];
                w[at + k] += changes[k];
            }
            sums_[c].of_sum += square;
            if (!plain_) weights.settle(at, length);
            copies([&](Index, Index own, Index) {
                std::copy_n(w + at, length, workers_[0].raw.data() + own);
                if (!plain_) std::copy_n(weights.point().data() + at, length, workers_[0].point.data() + own);
            });
            changes += length;
        });
        for (Index c = 0; c < shares_->classes(); ++c) sums_[c].sum_of += changes[c];
        round_ = (round_ + 1) % rounds_.of_a_pass;
        if (round_ % rounds_.of_a_period() == 0) learn();
    }

    // Between two passes: what the worker has added to weights that no other one touches, at their place among all
    // weights, the others being zero; and the sums of these over all processes.
    template <class Real>
    void collect_private(const double* weights, Real* changes) const {
        shares_->for_each_private_range(0, [&](Index at, Index own, Index length) {
            for (Index k = 0; k < length; ++k)
                changes[at + k] = static_cast<Real>(workers_[0].raw[own + k] - weights[at + k]);
        });
    }
    template <class Real, class Weights>
    void spread_private(Team& team, const Real* changes, Weights& weights) {
        double* w = weights.raw().data();
        team.over_ranges(weights.size(), [&](Index first, Index end) {
            for (Index k = first; k < end; ++k) w[k] += changes[k];
        });
        weights.settle(team);
        loaded_ = false;
    }

    // The weights take what is in the workers' areas alone.
    template <class Weights>
    void store(Team& team, Weights& weights) {
        if (stored_ || elsewhere_) return;
        stored_ = true;
        double* w = weights.raw().data();
        team.for_each(std::ssize(workers_), [&](Index k, Index) {
            const double* area = workers_[k].raw.data();
            shares_->for_each_private_range(
                k, [&](Index at, Index own, Index length) { std::copy(area + own, area + own + length, w + at); });
        });
        weights.settle(team);
    }

    // sums += unit c_i * the counts of counted(i, member), compact vectors, over all blocks that may be drawn. In
    // slices; true when it is complete. The workers' areas are used for it.
    template <class Counted>
    bool count(const Deadline& deadline, Team& team, const BlockSamplers& samplers, Zeros<double>& sums, double unit,
               Counted&& counted) {
        constexpr Index kOfASlice = 64;
        share_out(team, samplers);
        loaded_ = false;
        const Index workers = std::ssize(workers_);
        if (counted_ == 0)
            team.for_each(workers, [&](Index w, Index) {
                Worker& worker = workers_[w];
                make_area(worker, w);
                std::fill(worker.raw.begin(), worker.raw.end(), 0.0);
            });
        for (bool more = true; more; counted_ += kOfASlice) {
            if (counted_ > 0 && deadline.passed()) return false;
            team.for_each(workers, [&](Index w, Index member) {
                Worker& worker = workers_[w];
                const std::span<const Index> order = samplers.active_of(w);
                worker.by_class.resize(shares_->classes());
                for (Index k = counted_; k < std::min(counted_ + kOfASlice, std::ssize(order)); ++k) {
                    const double a = unit * field_.sample_weight(order[k]);
                    std::fill(worker.by_class.begin(), worker.by_class.end(), a);
                    field_.add_own(*shares_, w, order[k], counted(order[k], member), worker.by_class.data(),
                                   worker.raw.data(), worker.touched.data());
                }
            });
            more = false;
            for (Index w = 0; w < workers; ++w) more = more || counted_ + kOfASlice < std::ssize(samplers.active_of(w));
        }
        counted_ = 0;
        team.for_each(workers, [&](Index part, Index) {
            const double* area = workers_[part].raw.data();
            shares_->for_each_private_range(
                part, [&](Index at, Index own, Index length) { axpy(length, 1.0, area + own, sums.data() + at); });
            for (Index c = 1; c < shares_->classes(); ++c)
                shares_->for_each_shared_range(c, part, workers, [&](Index at, Index length, auto&& copies, auto&&) {
                    copies([&](Index w, Index own, Index) {
                        axpy(length, 1.0, workers_[w].raw.data() + own, sums.data() + at);
                    });
                });
        });
        return true;
    }

    void begin_again() {
        round_ = 0;
        amid_ = false;
        loaded_ = false;
    }

    // Of a run with another number of workers, the pass goes on about where it was, with other random numbers.
    void archive(Archive& archive, const BlockSamplers& samplers) {
        const Index count = std::ssize(workers_);
        std::vector<double> numbers, damping;
        for (const Worker& worker : workers_) {
            for (const std::uint64_t word : worker.random.state())  // halves of words: exact as doubles
                for (const std::uint64_t half : {word >> 32, word & 0xffffffffU})
                    numbers.push_back(static_cast<double>(half));
            numbers.insert(numbers.end(), {static_cast<double>(worker.drawn), worker.cost, worker.expected,
                                           static_cast<double>(round_)});
        }
        if (damping_) damping_->append_to(damping);
        archive_numbers(archive, numbers, damping);
        if (!archive.loading()) return;
        loaded_ = false;
        restored_ = std::move(damping);
        damping_.reset();
        amid_ = false;
        if (!take(numbers, samplers)) {
            const Index position = samplers.draws() % samplers.draws_per_pass();
            const double done = static_cast<double>(position) / static_cast<double>(samplers.draws_per_pass());
            round_ = begin_of_period(static_cast<Index>(done * static_cast<double>(rounds_.of_a_pass)));
            amid_ = position > 0;
            for (Index w = 0; w < count; ++w) {
                begin_pass(workers_[w], samplers, w);
                workers_[w].drawn = samplers.drawn(w);
                workers_[w].cost = done * workers_[w].expected;
            }
        }
    }

   private:
    void divide_pass(Index rounds) {
        while ((kPeriodsOfAPass << (rounds_.last_class + 1)) <= rounds) ++rounds_.last_class;
        rounds_.of_a_pass = std::max(rounds >> rounds_.last_class, Index{1}) << rounds_.last_class;
    }

    // body(class, where in all weights, length, copies) for the shared weights whose turn it is after this round.
    template <class Body>
    void for_each_due(Body&& body) const {
        for (Index c = 1; c < shares_->classes(); ++c) {
            if ((round_ + 1) % (Index{1} << shares_->period(c)) != 0) continue;
            shares_->for_each_shared_range(
                c, 0, 1, [&](Index at, Index length, auto&& copies, auto&&) { body(c, at, length, copies); });
        }
    }

    static constexpr Index kNumbers = kNumbersOfAWorker;
    // What matters for the number of passes is how much of a pass goes on unseen by others; short rounds wait longer.
    static constexpr Index kLeastBlocksOfARound = 2, kMostRoundsOfAPass = 256, kPeriodsOfAPass = 2;
    static constexpr Index kMeasuredEvery = 8;  // steps

    struct alignas(64) Sums {
        double of_sum = 0.0, sum_of = 0.0;
    };

    Index begin_of_period(Index round) const { return round >> rounds_.last_class << rounds_.last_class; }

    // Whether these numbers were saved by as many workers.
    bool take(const std::vector<double>& numbers, const BlockSamplers& samplers) {
        const Index count = std::ssize(workers_);
        if (std::ssize(numbers) != kNumbers * count) return false;
        const auto counted = [](double number, Index most) {
            return number >= 0.0 && number <= static_cast<double>(most) ? static_cast<Index>(number) : Index{0};
        };
        const double* own = numbers.data();
        round_ = begin_of_period(counted(own[kNumbers - 1], rounds_.of_a_pass - 1));
        for (Index w = 0; w < count; ++w, own += kNumbers) {
            Random::State words;
            for (std::size_t k = 0; k < words.size(); ++k)
                words[k] = static_cast<std::uint64_t>(counted(own[2 * k], 0xffffffff)) << 32 |
                           static_cast<std::uint64_t>(counted(own[2 * k + 1], 0xffffffff));
            workers_[w].random.set_state(words);
            workers_[w].drawn = counted(own[8], samplers[w].draws_per_pass());
            workers_[w].cost = own[9];
            workers_[w].expected = own[10];
        }
        return true;
    }

    const double* point(const Worker& worker) const { return plain_ ? worker.raw.data() : worker.point.data(); }

    // Shares out the blocks where that has not been done, and copies the weights into the workers' areas.
    template <class Weights>
    void load(Team& team, const Weights& weights, const BlockSamplers& samplers) {
        share_out(team, samplers);
        if (!damping_) {
            damping_ = std::make_unique<Damping>(shares_->touching());
            if (std::ssize(restored_) == Damping::kNumbers * shares_->classes()) damping_->take(restored_.data());
            restored_.clear();
        }
        if (loaded_) return;
        loaded_ = true;
        counted_ = 0;
        team.for_each(std::ssize(workers_), [&](Index w, Index) {
            Worker& worker = workers_[w];
            make_area(worker, w);
            if (worker.point.empty() && !weights.plain()) worker.point = Zeros<double>(shares_->area(w));
            shares_->for_each_range(w, [&](Index at, Index own, Index length) {
                std::copy_n(weights.raw().data() + at, length, worker.raw.data() + own);
                if (!weights.plain()) std::copy_n(weights.point().data() + at, length, worker.point.data() + own);
            });
        });
    }

    void share_out(Team& team, const BlockSamplers& samplers) {
        if (shares_) return;
        shares_ = field_.share_out(samplers.bounds(), rounds_, elsewhere_.get(), team);
        loaded_ = false;
    }

    void make_area(Worker& worker, Index w) const {
        if (worker.raw.empty()) worker.raw = Zeros<double>(shares_->area(w));
        worker.touched.assign(shares_->rows(w).attributes(), 0);
    }

    void begin_pass(Worker& worker, const BlockSamplers& samplers, Index w) const {
        const BlockSampler& sampler = samplers[w];
        worker.drawn = 0;
        if (sampler.draws_per_pass() == 0) return;
        if (sampler.permutes() || !(worker.cost > 0.0)) {
            worker.expected = 0.0;
            for (Index i : sampler.order()) worker.expected += cost(samplers.bounds()[w] + i);
        } else {
            worker.expected = worker.cost;  // of the pass before
        }
        worker.cost = 0.0;
    }

    double cost(Index i) const { return static_cast<double>(field_.compact_size(i)); }

    // Until the worker has done its share of the pass, up to the end of this round.
    template <class Fetch, class Propose, class Record>
    void take_steps(Index w, Index member, Index round, double l2, BlockSampler& sampler, Fetch&& fetch,
                    Propose&& propose, Record&& record) {
        Worker& worker = workers_[w];
        worker.notes.clear();
        const bool last = round + 1 == rounds_.of_a_pass;
        const double goal = worker.expected * static_cast<double>(round + 1) / static_cast<double>(rounds_.of_a_pass);
        const double usual = worker.expected / static_cast<double>(std::max(sampler.draws_per_pass(), Index{1}));
        std::array<Index, BlockSampler::kAtOnce> blocks;
        constexpr Index kMost = BlockSampler::kAtOnce;
        while (worker.drawn < sampler.draws_per_pass() && (last || worker.cost < goal)) {
            Index count = std::min(sampler.draws_per_pass() - worker.drawn, kMost);
            if (!last) count = std::min(count, 1 + static_cast<Index>((goal - worker.cost) / usual));
            count = sampler.draw(worker.random, count, blocks.data());
            worker.drawn += count;
            for (Index k = 0; k < count; ++k) fetch_block<0>(w, blocks[k], sampler, fetch);
            for (Index k = 0; k < count; ++k) fetch_block<1>(w, blocks[k], sampler, fetch);
            for (Index k = 0; k < count; ++k) {
                if (k + 1 < count) fetch_block<2>(w, blocks[k + 1], sampler, fetch);
                take_step(worker, w, shares_->first_block(w) + blocks[k], member, l2, propose, record);
            }
        }
    }

    template <int Step, class Fetch>
    DUALFIELD_INLINE void fetch_block(Index w, Index own, const BlockSampler& sampler, Fetch&& fetch) const {
        const Index i = shares_->first_block(w) + own;
        if (Step == 0) sampler.prefetch(own);
        fetch.template operator()<Step>(i);
        field_.template prefetch_own<Step>(*shares_, i);
    }

    template <class Propose, class Record>
    void take_step(Worker& worker, Index w, Index i, Index member, double l2, Propose&& propose, Record&& record) {
        Step step;
        auto& [block, note] = worker.notes.emplace_back(i, Note{});
        Index oracle_calls = 0, evaluations = 0;
        OwnVisit visit(*this, worker, w, i, w == 0, l2, step, note, oracle_calls, evaluations);
        propose(visit, member);
        const double factor = -step.share * field_.sample_weight(i) / l2;
        const double length = step.size > 0.0 ? std::abs(factor) * std::sqrt(worker.norm) : 0.0;
        record(Found<Note>{i, step, length, note, oracle_calls, evaluations}, w);
        worker.cost += cost(i);
        ++worker.updates;
        if (!(step.size > 0.0)) return;
        worker.by_class.resize(shares_->classes());
        for (Index c = 0; c < shares_->classes(); ++c) worker.by_class[c] = factor * damping_->factors()[c];
        field_.add_own(*shares_, w, i, worker.change.data(), worker.by_class.data(), worker.raw.data(),
                       worker.touched.data());
        if (!plain_)
            field_.for_each_own_range_of(*shares_, w, i, [&](Index start, Index length) {
                soft_threshold(length, threshold_, worker.raw.data() + start, worker.point.data() + start);
            });
        if (worker.updates % kMeasuredEvery == 0)
            field_.add_squares_by_class(*shares_, w, i, worker.change.data(), worker.squares.data());
    }

    // A worker's part of the weights of a class, for all: the weights take what all workers have added, and all see it.
    void exchange(Index c, Index part, double* weights) {
        Sums sums;
        const double damping = damping_->factors()[c];
        std::vector<double>& buffer = workers_[part].change;
        shares_->for_each_shared_range(
            c, part, std::ssize(workers_), [&](Index at, Index length, auto&& copies, auto&& ahead) {
                ahead([&](Index worker, Index own, Index) {
                    const double* area = workers_[worker].raw.data() + own;
                    for (Index k = 0; k < length; k += 8) prefetch_line_to_write(area + k);
                });
                double* w = weights + at;
                bool touched = false;
                copies([&](Index worker, Index, Index attribute) {
                    touched = touched || attribute < 0 || workers_[worker].touched[attribute];
                });
                if (!touched) return;
                double* sum = room(buffer, length);
                std::fill(sum, sum + length, 0.0);
                double squares = 0.0;
                copies([&](Index worker, Index own, Index attribute) {
                    if (attribute >= 0 && !std::exchange(workers_[worker].touched[attribute], std::uint8_t{0})) return;
                    const double* area = workers_[worker].raw.data() + own;
#pragma omp simd reduction(+ : squares)
                    for (Index k = 0; k < length; ++k) {
                        const double added = area[k] - w[k];
                        sum[k] += added;
                        squares += added * added;
                    }
                });
                const double unit = 1.0 / damping;
                sums.sum_of += unit * unit * squares;
                sums.of_sum += unit * unit * squared_norm(length, sum);
                axpy(length, unit, sum, w);
                copies([&](Index worker, Index own, Index) {
                    std::copy_n(w, length, workers_[worker].raw.data() + own);
                    if (!plain_) soft_threshold(length, threshold_, w, workers_[worker].point.data() + own);
                });
            });
        Sums& all = sums_[c * std::ssize(workers_) + part];
        all.of_sum += sums.of_sum;
        all.sum_of += sums.sum_of;
    }

    // After a period.
    void learn() {
        const Index count = std::ssize(workers_);
        for (Index c = 1; c < shares_->classes(); ++c) {
            Sums sums;
            for (Index w = 0; w < count; ++w) {
                sums.of_sum += sums_[c * count + w].of_sum;
                sums.sum_of += sums_[c * count + w].sum_of;
            }
            damping_->exchanged(c, sums.of_sum, sums.sum_of);
        }
        std::vector<double> squares(shares_->classes(), 0.0);
        for (const Worker& worker : workers_)
            for (std::size_t c = 0; c < squares.size(); ++c) squares[c] += worker.squares[c];
        damping_->stepped(squares);
        damping_->end_period();
    }

    const F& field_;
    Rounds rounds_{1, 0};
    std::unique_ptr<const Elsewhere> elsewhere_;  // none: all workers are here
    std::vector<Worker> workers_;
    std::unique_ptr<Shares> shares_;
    std::unique_ptr<Damping> damping_;
    std::vector<double> restored_;  // what was saved of the damping, until the blocks have been shared out
    std::vector<Sums> sums_;        // by class, then by part
    Barrier barrier_;
    Index round_ = 0;    // of the pass
    bool amid_ = false;  // in a pass that was begun by other workers
    Index counted_ = 0;  // how many blocks of each worker, in count()
    bool loaded_ = false, stored_ = true;
    bool plain_ = true;
    double threshold_ = 0.0;
};

}  // namespace dualfield
