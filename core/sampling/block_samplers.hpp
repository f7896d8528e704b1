// A sampler for each worker: worker w draws among the blocks bounds[w] to bounds[w + 1], and its sampler numbers them
// from zero. Blocks are given here by their common numbers.
#pragma once

#include <algorithm>
#include <cmath>
#include <span>
#include <string>
#include <vector>

#include "sampling/block_sampler.hpp"

namespace dualfield {

class BlockSamplers {
   public:
    // `active`: the blocks that may be drawn, in increasing order.
    BlockSamplers(const SamplingOptions& options, const std::vector<Index>& active, std::vector<Index> bounds)
        : bounds_(std::move(bounds)), active_(active) {
        auto next = active.begin();
        for (std::size_t w = 0; w + 1 < bounds_.size(); ++w) {
            std::vector<Index> own;
            for (; next != active.end() && *next < bounds_[w + 1]; ++next) own.push_back(*next - bounds_[w]);
            samplers_.emplace_back(options, std::move(own), bounds_[w + 1] - bounds_[w]);
        }
    }

    Index workers() const { return std::ssize(samplers_); }
    const std::vector<Index>& bounds() const { return bounds_; }
    BlockSampler& operator[](Index worker) { return samplers_[worker]; }
    const BlockSampler& operator[](Index worker) const { return samplers_[worker]; }

    // The blocks that may be drawn, in increasing order.
    const std::vector<Index>& active() const { return active_; }
    std::span<const Index> active_of(Index worker) const {
        const auto first = std::lower_bound(active_.begin(), active_.end(), bounds_[worker]);
        return {first, std::lower_bound(first, active_.end(), bounds_[worker + 1])};
    }
    Index draws_per_pass() const { return std::ssize(active_); }

    // Several threads may call this at once for blocks of different workers.
    void record(Index i, double gap) {
        const Index w = worker_of(i);
        samplers_[w].record(i - bounds_[w], gap);
    }
    void record_length(Index i, double length) {
        const Index w = worker_of(i);
        samplers_[w].record_length(i - bounds_[w], length);
    }
    void set_smoothness(Index i, double sample_weight, double smoothness) {
        const Index w = worker_of(i);
        samplers_[w].set_smoothness(i - bounds_[w], sample_weight, smoothness);
    }

    // The number of draws so far; the number that a worker has made in the current pass.
    Index draws() const {
        Index draws = 0;
        for (const BlockSampler& sampler : samplers_) draws += sampler.draws();
        return draws;
    }
    Index drawn(Index w) const {
        return samplers_[w].draws() - draws() / draws_per_pass() * samplers_[w].draws_per_pass();
    }

    bool needs_smoothness() const { return samplers_[0].needs_smoothness(); }
    bool needs_length() const { return samplers_[0].needs_length(); }

    double recorded_total() const {
        double total = 0.0;
        for (const BlockSampler& sampler : samplers_) total += sampler.recorded_total();
        return total;
    }
    // chi(g) = sqrt(mean g^2) / mean g over all blocks.
    double non_uniformity_of_gaps() const {
        double squares = 0.0;
        for (const BlockSampler& sampler : samplers_) squares += sampler.recorded_squares();
        const double n = static_cast<double>(draws_per_pass());
        return squares > 0.0 ? std::sqrt(n * squares) / recorded_total() : 1.0;
    }

    void begin_again() {
        for (BlockSampler& sampler : samplers_) sampler.begin_again();
    }

    // Saves the state as one sampler of all blocks would. The owner of each worker saves how far its pass has come.
    void archive(Archive& archive) {
        BlockSampler::State all = samplers_[0].state();
        for (Index w = 1; w < workers(); ++w) {
            const BlockSampler::State own = samplers_[w].state();
            all.draws += own.draws;
            for (Index i : own.order) all.order.push_back(i + bounds_[w]);
            for (auto part :
                 {&BlockSampler::State::factors, &BlockSampler::State::recorded, &BlockSampler::State::drawing})
                (all.*part).insert((all.*part).end(), (own.*part).begin(), (own.*part).end());
        }
        all.archive(archive);
        if (!archive.loading()) return;
        for (Index w = 0; w < workers(); ++w) samplers_[w].restore(share_of(all, w));
    }

   private:
    Index worker_of(Index i) const {
        if (samplers_.size() == 1) return 0;
        return std::upper_bound(bounds_.begin() + 1, bounds_.end() - 1, i) - bounds_.begin() - 1;
    }

    // Loads a worker's part of a state of all blocks. The worker's pass is about as far as the saved one, and the draws
    // of all workers add up to the saved number.
    BlockSampler::State share_of(const BlockSampler::State& all, Index w) const {
        const Index first = bounds_[w], end = bounds_[w + 1];
        const Index pass = all.draws / draws_per_pass(), position = all.draws % draws_per_pass();
        const auto drawn_before = [&](Index bound) {
            const Index blocks = std::lower_bound(active_.begin(), active_.end(), bound) - active_.begin();
            return pass * blocks + position * blocks / draws_per_pass();
        };
        BlockSampler::State own{drawn_before(end) - drawn_before(first), {}, {}, {}, {}};
        for (Index i : all.order)
            if (first <= i && i < end) own.order.push_back(i - first);
        for (auto part : {&BlockSampler::State::factors, &BlockSampler::State::recorded, &BlockSampler::State::drawing})
            if (!(all.*part).empty()) (own.*part).assign((all.*part).begin() + first, (all.*part).begin() + end);
        return own;
    }

    std::vector<Index> bounds_, active_;
    std::vector<BlockSampler> samplers_;
};

// Divides the blocks into a range for each worker, with about equal sums of costs. Returns the bounds of the ranges.
template <class CostOf>
std::vector<Index> equal_ranges(Index blocks, Index workers, CostOf&& cost_of) {
    double all = 0.0, so_far = 0.0;
    for (Index i = 0; i < blocks; ++i) all += cost_of(i);
    std::vector<Index> bounds{0};
    for (Index i = 0; i < blocks; ++i) {
        const Index share = std::ssize(bounds);
        so_far += cost_of(i);
        if (share < workers && so_far * static_cast<double>(workers) >= all * static_cast<double>(share))
            bounds.push_back(i + 1);
    }
    bounds.resize(workers, blocks);
    bounds.push_back(blocks);
    return bounds;
}

}  // namespace dualfield
