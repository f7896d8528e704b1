// Blocks shared out among workers: each worker owns a range of blocks and keeps its own copy of the weights they touch.
//
// A worker numbers the attributes of its blocks anew: first its *private* ones, which no other worker's blocks have,
// then the *shared* ones, by class. Workers exchange what they added to shared weights, an attribute of class c after
// every 2^c-th round of steps: the classes are chosen so that a worker meets an attribute about twice between two
// exchanges. Frequent attributes are few and exchanged after each round; rare ones are many and exchanged seldom.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

#include "fields/attributes.hpp"
#include "threads/team.hpp"

namespace dualfield {

// How long workers go on alone. A period is 2^last_class rounds; at its end everything shared has been exchanged.
struct Rounds {
    Index of_a_pass, last_class;

    Index of_a_period() const { return Index{1} << last_class; }
};

// Workers in other processes, whose blocks have attributes of the same numbering.
struct Elsewhere {
    Index workers;                     // in all, those of this process included
    std::vector<std::int32_t> owners;  // by attribute: how many of all workers have it
    std::vector<double> occurrences;   // by attribute: in the blocks of all workers
};

class BlockShares {
   public:
    // One worker's copy of a shared attribute, under the worker's own number for it.
    struct Copy {
        std::int32_t worker, attribute;
    };
    // A shared attribute, and where its copies begin among those of its class.
    struct Shared {
        std::int32_t attribute;
        std::uint32_t copies;
    };

    // Worker w owns the blocks bounds[w] to bounds[w + 1]. With workers elsewhere there is one here, and the shared
    // attributes are listed whether or not it has them, so that the lists of all processes are the same.
    BlockShares(const Attributes& data, std::vector<Index> bounds, const Rounds& rounds, const Elsewhere* elsewhere,
                Team& team)
        : data_(data), bounds_(std::move(bounds)), classes_(rounds.last_class + 1), mine_(workers()) {
        const Index attributes = data.count;
        if (elsewhere &&
            (std::ssize(elsewhere->owners) != attributes || std::ssize(elsewhere->occurrences) != attributes))
            throw std::invalid_argument("the numbers of owners do not fit the attributes");
        std::vector<std::vector<std::int32_t>> counts(workers());  // how often a worker's blocks have each attribute
        each_worker(team, [&](Index w) { counts[w] = occurrences(w); });
        if (elsewhere) check(*elsewhere, counts[0]);
        all_workers_ = elsewhere ? elsewhere->workers : workers();
        const double touches =
            (elsewhere ? kTouchesElsewhere : kTouches) * static_cast<double>(all_workers_ * rounds.of_a_pass);
        std::vector<std::int8_t> kinds(attributes);
        owners_.assign(classes_, 0.0);
        team.over_ranges(attributes, [&](Index first, Index end) {
            for (Index a = first; a < end; ++a) {
                const auto [owners, total] =
                    elsewhere ? std::pair<Index, double>(elsewhere->owners[a], elsewhere->occurrences[a])
                              : owners_of(a, counts);
                kinds[a] = kind_of(owners, total, touches);
            }
        });
        for (Index a = 0; a < attributes; ++a)
            if (kinds[a] >= 0)
                owners_[kinds[a]] += static_cast<double>(elsewhere ? elsewhere->owners[a] : owners_of(a, counts).first);
        each_worker(team, [&](Index w) { number(w, kinds, counts[w]); });
        indices_.resize(data.indptr[data.offsets[bounds_.back()]]);
        each_worker(team, [&](Index w) { renumber(w, counts[w]); });
        list_shared(kinds, counts, team);
    }

    Index workers() const { return std::ssize(bounds_) - 1; }
    Index all_workers() const { return all_workers_; }  // with those elsewhere
    Index first_block(Index worker) const { return bounds_[worker]; }
    Index classes() const { return classes_; }

    // The attributes of all positions, each under the number of the worker that owns its block.
    Attributes view() const {
        Attributes view = data_;
        view.indices = indices_.data();
        return view;
    }

    // A worker's attributes under their common numbers; the first so many are private.
    const std::vector<std::int32_t>& attributes(Index worker) const { return mine_[worker].attributes; }
    Index private_count(Index worker) const { return mine_[worker].shared_from; }

    // For each of a worker's attributes its class, or kPrivate.
    static constexpr std::uint8_t kPrivate = 0;
    const std::uint8_t* classes_of(Index worker) const { return mine_[worker].classes.data(); }  // class + 1

    // The shared attributes of a class; the last one only says where copies end.
    const std::vector<Shared>& shared(Index c) const { return shared_[c]; }
    const std::vector<Copy>& copies(Index c) const { return copies_[c]; }

    // How many workers touch a weight of a class, on average.
    double touching(Index c) const {
        const double shared = static_cast<double>(shared_[c].size() - 1);
        return shared > 0.0 ? owners_[c] / shared : 1.0;
    }

   private:
    // An attribute is exchanged when a worker has met it about so many times.
    static constexpr double kTouches = 2.0, kTouchesElsewhere = 16.0;  // between processes an exchange costs more
    static constexpr std::int8_t kAbsent = -2, kOwned = -1;            // otherwise a class

    struct Mine {
        std::vector<std::int32_t> attributes;
        std::vector<std::uint8_t> classes;
        Index shared_from;
    };

    template <class Body>
    void each_worker(Team& team, Body&& body) const {
        team.for_each(workers(), [&](Index w, Index) { body(w); });
    }

    std::pair<Index, Index> entries(Index w) const {
        return {data_.indptr[data_.offsets[bounds_[w]]], data_.indptr[data_.offsets[bounds_[w + 1]]]};
    }

    std::vector<std::int32_t> occurrences(Index w) const {
        std::vector<std::int32_t> counts(data_.count, 0);
        const auto [first, end] = entries(w);
        for (Index e = first; e < end; ++e) ++counts[data_.indices[e]];
        return counts;
    }

    // Who has an attribute counts himself: what is told of all workers must not be less than what this one has.
    static void check(const Elsewhere& told, const std::vector<std::int32_t>& own) {
        for (std::size_t a = 0; a < own.size(); ++a) {
            const Index owners = told.owners[a], least = own[a] > 0 ? 1 : 0;
            if (owners < least || owners > told.workers || !(told.occurrences[a] >= own[a]))
                throw std::invalid_argument("attribute " + std::to_string(a) + " occurs " + std::to_string(own[a]) +
                                            " times here, so " + std::to_string(owners) + " owners of " +
                                            std::to_string(told.workers) + " and " +
                                            std::to_string(told.occurrences[a]) + " occurrences in all cannot be");
        }
    }

    // How many workers have an attribute, and how often it occurs.
    static std::pair<Index, double> owners_of(Index a, const std::vector<std::vector<std::int32_t>>& counts) {
        Index owners = 0, total = 0;
        for (const auto& of_worker : counts) {
            owners += of_worker[a] > 0;
            total += of_worker[a];
        }
        return {owners, static_cast<double>(total)};
    }

    std::int8_t kind_of(Index owners, double total, double touches) const {
        if (owners < 2) return owners == 0 ? kAbsent : kOwned;
        Index c = 0;
        while (c + 1 < classes_ && std::ldexp(total, static_cast<int>(c + 1)) <= touches) ++c;
        return static_cast<std::int8_t>(c);
    }

    // Numbers a worker's attributes; `count` becomes the map from common numbers to its own.
    void number(Index w, const std::vector<std::int8_t>& kinds, std::vector<std::int32_t>& count) {
        Mine& mine = mine_[w];
        std::vector<Index> next(classes_ + 2, 0);  // private ones, then class by class
        for (std::size_t a = 0; a < kinds.size(); ++a)
            if (count[a] > 0) ++next[kinds[a] + 2];
        for (std::size_t k = 1; k < next.size(); ++k) next[k] += next[k - 1];
        mine.shared_from = next[1];
        mine.attributes.resize(next.back());
        mine.classes.resize(next.back());
        for (std::size_t a = 0; a < kinds.size(); ++a) {
            if (count[a] == 0) continue;
            const Index local = next[kinds[a] + 1]++;
            mine.attributes[local] = static_cast<std::int32_t>(a);
            mine.classes[local] = static_cast<std::uint8_t>(kinds[a] + 1);
            count[a] = static_cast<std::int32_t>(local + 1);  // zero: not there
        }
    }

    void renumber(Index w, const std::vector<std::int32_t>& map) {
        const auto [first, end] = entries(w);
        for (Index e = first; e < end; ++e) indices_[e] = map[data_.indices[e]] - 1;
    }

    void list_shared(const std::vector<std::int8_t>& kinds, const std::vector<std::vector<std::int32_t>>& maps,
                     Team& team) {
        shared_.resize(classes_);
        copies_.resize(classes_);
        team.for_each(classes_, [&](Index c, Index) {
            for (std::size_t a = 0; a < kinds.size(); ++a) {
                if (kinds[a] != c) continue;
                shared_[c].push_back({static_cast<std::int32_t>(a), static_cast<std::uint32_t>(copies_[c].size())});
                for (Index w = 0; w < workers(); ++w)
                    if (maps[w][a] > 0) copies_[c].push_back({static_cast<std::int32_t>(w), maps[w][a] - 1});
            }
            shared_[c].push_back({-1, static_cast<std::uint32_t>(copies_[c].size())});
        });
    }

    Attributes data_;
    std::vector<Index> bounds_;
    Index classes_, all_workers_ = 0;
    std::vector<double> owners_;  // by class, of all its attributes together
    std::vector<Mine> mine_;
    std::vector<std::int32_t> indices_;
    std::vector<std::vector<Shared>> shared_;  // by class
    std::vector<std::vector<Copy>> copies_;
};

}  // namespace dualfield
