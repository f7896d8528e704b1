// Questions about one sequence whose labels have scores: the best labelling, and probabilities.
//
// Written for sequences of a few positions and up to some dozen labels, where a call takes a microsecond or two: the
// work is done on plain rows of doubles, in memory that is kept from one sequence to the next.
#pragma once

#include <cstdint>

#include "tagging/attribute_model.hpp"

namespace dualfield::tagging {

// Rules, or weights beyond all numbers, forbid every labelling of a sequence.
class NoLabelling : public std::domain_error {
   public:
    NoLabelling() : std::domain_error("no labelling of this sequence is possible: each has a score of -inf.") {}
};

// The best labelling. Of labels with the same score the first wins, at the last position and then, going back, at each
// before it, as in CRFsuite.
class Viterbi {
   public:
    // `scores` is T x K, T at least 1; the path is valid until the next call.
    const std::vector<std::uint32_t>& decode(const Transitions& chain, const std::vector<double>& scores) {
        const std::size_t K = chain.labels, T = scores.size() / K;
        // arrival[t][j] = max_i best[t - 1][i] + weight[i][j], and best[t][j] = arrival[t][j] + score[t][j]
        best_.resize(T * K);
        arrival_.resize(T * K);
        std::copy_n(scores.begin(), K, best_.begin());
        for (std::size_t t = 1; t < T; ++t) {
            const double* before = &best_[(t - 1) * K];
            double* arrival = &arrival_[t * K];
            std::fill_n(arrival, K, kImpossible);
            for (std::size_t i = 0; i < K; ++i) {
                const double* weights = &chain.weights[i * K];
                const double reached = before[i];
                for (std::size_t j = 0; j < K; ++j) {
                    const double score = reached + weights[j];
                    arrival[j] = arrival[j] < score ? score : arrival[j];
                }
            }
            for (std::size_t j = 0; j < K; ++j) best_[t * K + j] = arrival[j] + scores[t * K + j];
        }
        // Going back, the label before is the first that gives the maximum: the same sum is computed again.
        path_.resize(T);
        const double* last = &best_[(T - 1) * K];
        path_[T - 1] = 0;
        for (std::size_t j = 1; j < K; ++j)
            if (last[path_[T - 1]] < last[j]) path_[T - 1] = static_cast<std::uint32_t>(j);
        if (last[path_[T - 1]] == kImpossible) throw NoLabelling();
        for (std::size_t t = T - 1; t > 0; --t) {
            const std::size_t to = path_[t];
            const double* before = &best_[(t - 1) * K];
            std::uint32_t from = 0;
            while (from < K && before[from] + chain.weights[from * K + to] != arrival_[t * K + to]) ++from;
            path_[t - 1] = from < K ? from : 0;  // none only where scores are not numbers
        }
        return path_;
    }

   private:
    std::vector<double> best_, arrival_;
    std::vector<std::uint32_t> path_;
};

// The score of a labelling: exp(score - log partition) is its probability.
inline double score_of(const Transitions& chain, const std::vector<double>& scores, const std::uint32_t* path) {
    const std::size_t K = chain.labels, T = scores.size() / K;
    double score = scores[path[0]];
    for (std::size_t t = 1; t < T; ++t) score += chain.weights[path[t - 1] * K + path[t]] + scores[t * K + path[t]];
    return score;
}

// Marginals and the log partition, by the forward-backward recursion.
//
// Rows are kept as factors exp(score - largest of the row), and messages add up to one. That is exact to rounding as
// long as no sum is tiny: a term that was lost to underflow is below 1e-307, so beside a sum of at least kTiny it
// does not count. Otherwise all is done once more with logarithms.
class Marginals {
   public:
    double log_partition() const { return log_partition_; }
    const std::vector<double>& probabilities() const { return marginals_; }  // T x K

    // `scores` is T x K, T at least 1.
    void compute(const Transitions& chain, const std::vector<double>& scores) {
        if (!with_factors(chain, scores)) with_logarithms(chain, scores);
    }

   private:
    static constexpr double kTiny = 1e-250;

    static double sum(const double* row, std::size_t K) {
        double total = 0.0;
        for (std::size_t j = 0; j < K; ++j) total += row[j];
        return total;
    }
    // Divides a row by its sum, which is returned.
    static double normalise(double* row, std::size_t K) {
        const double total = sum(row, K), inverse = 1.0 / total;
        for (std::size_t j = 0; j < K; ++j) row[j] *= inverse;
        return total;
    }

    bool with_factors(const Transitions& chain, const std::vector<double>& scores) {
        const std::size_t K = chain.labels, T = scores.size() / K;
        factors_.resize(T * K);
        marginals_.resize(T * K);
        message_.assign(K, 1.0);
        log_partition_ = static_cast<double>(T - 1) * chain.largest;
        double product = 1.0;  // of sums, whose logarithm is taken once in a while
        for (std::size_t t = 0; t < T; ++t) {
            const double* row = &scores[t * K];
            double* forward = &marginals_[t * K];
            double* factor = &factors_[t * K];
            const double largest = *std::max_element(row, row + K);
            for (std::size_t j = 0; j < K; ++j) factor[j] = std::exp(row[j] - largest);
            std::fill_n(forward, K, t == 0 ? 1.0 : 0.0);
            if (t > 0) multiply(&marginals_[(t - 1) * K], chain.factors, forward, K);
            for (std::size_t j = 0; j < K; ++j) forward[j] *= factor[j];
            const double total = normalise(forward, K);
            if (!(total >= kTiny && total <= 1 / kTiny)) return false;
            log_partition_ += largest;
            product *= total;
            if (product < 1e-50 || product > 1e50 || t + 1 == T) {
                log_partition_ += std::log(product);
                product = 1.0;
            }
        }
        for (std::size_t t = T - 1; t > 0; --t) {
            // message[i] = sum_j factor[i][j] exp(score[t][j]) message[j]
            incoming_.resize(K);
            for (std::size_t j = 0; j < K; ++j) incoming_[j] = message_[j] * factors_[t * K + j];
            std::fill(message_.begin(), message_.end(), 0.0);
            multiply(incoming_.data(), chain.factors_to, message_.data(), K);
            if (!(normalise(message_.data(), K) >= kTiny)) return false;
            double* marginal = &marginals_[(t - 1) * K];
            for (std::size_t j = 0; j < K; ++j) marginal[j] *= message_[j];
            if (!(normalise(marginal, K) >= kTiny)) return false;
        }
        return true;
    }

    // to[j] += sum_i from[i] matrix[i][j]
    static void multiply(const double* from, const std::vector<double>& matrix, double* to, std::size_t K) {
        for (std::size_t i = 0; i < K; ++i) {
            const double factor = from[i];
            const double* row = &matrix[i * K];
            for (std::size_t j = 0; j < K; ++j) to[j] += factor * row[j];
        }
    }

    // log sum_i exp(term(i))
    template <class Term>
    static double log_sum(std::size_t K, Term term) {
        double largest = kImpossible, total = 0.0;
        for (std::size_t i = 0; i < K; ++i) {
            const double one = term(i);
            if (std::isnan(one)) return one;
            largest = std::max(largest, one);
        }
        if (!std::isfinite(largest)) return largest;
        for (std::size_t i = 0; i < K; ++i) total += std::exp(term(i) - largest);
        return largest + std::log(total);
    }

    void with_logarithms(const Transitions& chain, const std::vector<double>& scores) {
        const std::size_t K = chain.labels, T = scores.size() / K;
        const double* weights = chain.weights.data();
        factors_ = scores;  // here: forward messages, as logarithms
        for (std::size_t t = 1; t < T; ++t)
            for (std::size_t j = 0; j < K; ++j) {
                const double* before = &factors_[(t - 1) * K];
                factors_[t * K + j] += log_sum(K, [&](std::size_t i) { return before[i] + weights[i * K + j]; });
            }
        log_partition_ = log_sum(K, [&](std::size_t j) { return factors_[(T - 1) * K + j]; });
        if (log_partition_ == kImpossible) throw NoLabelling();
        if (!std::isfinite(log_partition_))
            throw std::domain_error(
                "the scores of this sequence are beyond all numbers: give attributes finite values.");
        message_.assign(K, 0.0);
        for (std::size_t t = T; t-- > 0;) {
            if (t + 1 < T) {
                incoming_ = message_;
                for (std::size_t i = 0; i < K; ++i)
                    message_[i] = log_sum(
                        K, [&](std::size_t j) { return weights[i * K + j] + scores[(t + 1) * K + j] + incoming_[j]; });
            }
            // The sum over labels is the partition at every position, up to the rounding of large scores.
            const auto both = [&](std::size_t j) { return factors_[t * K + j] + message_[j]; };
            const double total = log_sum(K, both);
            for (std::size_t j = 0; j < K; ++j) marginals_[t * K + j] = std::exp(both(j) - total);
        }
    }

    std::vector<double> factors_, marginals_, message_, incoming_;
    double log_partition_ = 0.0;
};

}  // namespace dualfield::tagging
