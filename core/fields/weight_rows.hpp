// The weights of (attribute, label) pairs: which pairs have one, and where it is.
//
// Two layouts with one interface. AllPairs: attribute-major, K weights a row. ObservedPairs: only the pairs seen in
// training, attribute-major as well, each row a short list of labels. Feature counts are gathered for all K labels, a
// *count row*; the layout says which of them belong to a weight. Count rows lie `stride` apart, K or K padded.
#pragma once

#include <cstdint>
#include <limits>
#include <memory>
#include <vector>

#include "base/compiler.hpp"
#include "fields/attributes.hpp"
#include "simd/pieces.hpp"
#include "simd/sparse_rows.hpp"

namespace dualfield {

class AllPairs {
   public:
    static constexpr bool kAllPairs = true;

    AllPairs(Index attributes, Index labels) : attributes_(attributes), labels_(labels) {}

    // Rows for some of the attributes, numbered anew.
    AllPairs of(const std::vector<std::int32_t>& attributes) const { return {std::ssize(attributes), labels_}; }

    Index attributes() const { return attributes_; }
    Index size() const { return attributes_ * labels_; }
    Index start(std::int32_t attribute) const { return attribute * labels_; }

    // Fetches the weights of an attribute that is needed soon; before that, what tells where they are. Always inlined:
    // a call of what does nothing but fetch counts as one without effect, and is removed.
    DUALFIELD_INLINE void prefetch(const double* w, std::int32_t attribute) const {
        const double* row = w + start(attribute);
        for (Index k = 0; k < labels_; k += 8) prefetch_line(row + k);
    }
    template <Index B>
    DUALFIELD_INLINE void prefetch_pieces(const double* w, std::int32_t attribute, Index first) const {
        const double* row = w + start(attribute) + 8 * first;
        for_each_piece<B>([&](Index p) DUALFIELD_INLINE { prefetch_line(row + 8 * p); });
    }
    DUALFIELD_INLINE void prefetch_record(std::int32_t) const {}

    // scores += value * w[attribute]; may also change what follows scores, up to the stride.
    void score(const double* w, std::int32_t attribute, double value, Index stride, double* scores) const {
        if (stride > labels_ && start(attribute) + stride <= size()) {
            padded_axpy(stride, value, w + start(attribute), scores);
        } else {
            axpy(labels_, value, w + start(attribute), scores);
        }
    }

    // sums += value * w[attribute] over the B pieces of eight labels from piece `first` on; what lies beyond the last
    // label is anything. Nothing is read from w + readable on: there another thread may be writing.
    template <Index B>
    DUALFIELD_INLINE void gather(const double* w, std::int32_t attribute, double value, Index first, Index readable,
                                 Piece (&sums)[B]) const {
        const double* row = w + start(attribute) + 8 * first;
        double last[8 * B];
        if (start(attribute) + 8 * (first + B) > readable) [[unlikely]] {
            std::fill(last, last + 8 * B, 0.0);
            std::copy(row, w + start(attribute) + std::min(labels_, 8 * (first + B)), last);
            row = last;
        }
        for_each_piece<B>([&](Index p) DUALFIELD_INLINE { add_product(value, row + 8 * p, sums[p]); });
    }

    // w[attribute] += a * row, whose padding up to the stride is zero.
    void add(double* w, std::int32_t attribute, double a, Index stride, const double* row) const {
        if (stride > labels_ && start(attribute) + stride <= size()) {
            padded_axpy(stride, a, row, w + start(attribute));
        } else {
            axpy(labels_, a, row, w + start(attribute));
        }
    }

    // The squared norm of those counts of a row that have a weight.
    double squared_norm_in_row(std::int32_t, Index stride, const double* counts) const {
        return squared_norm(stride, counts);
    }

    // out += a * the part of `counts` that the attribute has weights for
    void add_masked(std::int32_t, double a, Index stride, const double* counts, double* out) const {
        axpy(stride, a, counts, out);
    }

    // w[attribute] += a * counts, the row being B pieces, of which the last may not be whole; any number of them for B
    // = 0.
    template <Index B = 0>
    DUALFIELD_INLINE void apply(double* w, std::int32_t attribute, double a, const double* counts) const {
        if constexpr (B == 0) {
            axpy(labels_, a, counts, w + start(attribute));
        } else {
            add_pieces<B>(labels_, a, counts, w + start(attribute));
        }
    }

    // <w[attribute], counts>
    double product(const double* w, std::int32_t attribute, const double* counts) const {
        return dot(labels_, w + start(attribute), counts);
    }

    // Sets to zero the counts of a row that have no weight.
    void mask(std::int32_t, Index, double*) const {}

    Index length(std::int32_t) const { return labels_; }

   private:
    Index attributes_, labels_;
};

class ObservedPairs {
   public:
    static constexpr bool kAllPairs = false;

    // starts: attributes + 1 offsets into `labels`, the labels of each row in increasing order. Kept as one record per
    // attribute, where its row starts and a bit for each of its labels: every visit of an attribute looks them up, so
    // the fewer cache lines the better.
    ObservedPairs(Index attributes, Index label_count, const Index* starts, const std::int32_t* labels)
        : ObservedPairs(attributes, label_count) {
        for (Index a = 0; a <= attributes; ++a) {
            std::uint32_t* record = table_->data() + a * (1 + words_);
            record[0] = static_cast<std::uint32_t>(starts[a]);
            if (a == attributes) break;
            for (Index s = starts[a]; s < starts[a + 1]; ++s)
                record[1 + labels[s] / kPlaces] |= std::uint32_t{1} << labels[s] % kPlaces;
        }
    }

    // Rows for some of the attributes, numbered anew.
    ObservedPairs of(const std::vector<std::int32_t>& attributes) const {
        ObservedPairs rows(std::ssize(attributes), label_count_);
        std::uint32_t* record = rows.table_->data();
        std::uint32_t start = 0;
        for (const std::int32_t a : attributes) {
            std::copy_n(records_ + a * (1 + words_), 1 + words_, record);
            record[0] = start;
            start += static_cast<std::uint32_t>(length(a));
            record += 1 + words_;
        }
        record[0] = start;
        return rows;
    }

    // The most weights, since a record counts them in 32 bits.
    static constexpr Index kMaxWeights = std::numeric_limits<std::uint32_t>::max();

    Index attributes() const { return attributes_; }
    Index label_count() const { return label_count_; }

    Index size() const { return start(static_cast<std::int32_t>(attributes_)); }
    Index start(std::int32_t attribute) const { return records_[attribute * (1 + words_)]; }
    Index length(std::int32_t attribute) const { return start(attribute + 1) - start(attribute); }

    DUALFIELD_INLINE void prefetch(const double* w, std::int32_t attribute) const {
        const double* row = w + start(attribute);
        // Both ends: rows of more than two lines belong to frequent attributes, which are in the cache anyway.
        prefetch_line(row);
        prefetch_line(row + length(attribute));
    }
    template <Index B>
    DUALFIELD_INLINE void prefetch_pieces(const double* w, std::int32_t attribute, Index first) const {
        if (first == 0) prefetch(w, attribute);
    }
    DUALFIELD_INLINE void prefetch_record(std::int32_t attribute) const {
        prefetch_line(records_ + attribute * (1 + words_));
    }

    // Groups of pieces begin at a multiple of eight, which is where a word begins: so which word holds which piece is
    // known when compiling, and the sums stay in registers.
    template <Index B>
    DUALFIELD_INLINE void gather(const double* w, std::int32_t attribute, double value, Index first, Index /*readable*/,
                                 Piece (&sums)[B]) const {
        const std::uint32_t* record = records_ + attribute * (1 + words_);
        const double* weights = w + record[0];
        const std::uint32_t* words = record + 1;
        for (; first > 0; first -= kPiecesAWord) weights += std::popcount(*words++);
        const std::uint32_t bits[2] = {words[0], B > kPiecesAWord ? words[1] : 0u};
        const double* starts[2] = {weights, weights + std::popcount(bits[0])};
        for_each_piece<B>([&](Index p) DUALFIELD_INLINE {
            add_expanded_piece(bits[p / kPiecesAWord], static_cast<int>(p % kPiecesAWord), value,
                               starts[p / kPiecesAWord], sums[p]);
        });
    }

    void score(const double* w, std::int32_t attribute, double value, Index stride, double* scores) const {
        for_each_word(attribute, stride, [&](std::uint32_t bits, Index s, Index k, Index n) {
            add_expanded(bits, value, w + s, n, scores + k);
        });
    }

    // body(k) for the labels that an attribute has weights for.
    template <class Body>
    void for_each_label(std::int32_t attribute, Body&& body) const {
        for_each_word(attribute, label_count_, [&](std::uint32_t bits, Index, Index k, Index) {
            for (; bits; bits &= bits - 1) body(k + std::countr_zero(bits));
        });
    }

    double squared_norm_in_row(std::int32_t attribute, Index stride, const double* counts) const {
        Piece squares = {};
        add_squares(attribute, stride, counts, squares);
        return total(squares);
    }

    // squares += the squares of those counts, in any of the eight sums.
    void add_squares(std::int32_t attribute, Index stride, const double* counts, Piece& squares) const {
        for_pieces([&]<int N>() {
            for_each_word(attribute, stride, [&](std::uint32_t bits, Index, Index k, Index) {
                add_squares_at<N>(bits, counts + k, squares);
            });
        });
    }

    void add_masked(std::int32_t attribute, double a, Index stride, const double* counts, double* out) const {
        for_each_word(attribute, stride, [&](std::uint32_t bits, Index, Index k, Index) {
            for (; bits; bits &= bits - 1) out[k + std::countr_zero(bits)] += a * counts[k + std::countr_zero(bits)];
        });
    }

    template <Index B = 0>
    DUALFIELD_INLINE void apply(double* w, std::int32_t attribute, double a, const double* counts) const {
        if constexpr (B > 0 && B <= kPiecesAWord) {
            const std::uint32_t* record = records_ + 2 * attribute;
            add_compressed<B>(record[1], a, counts, w + record[0]);
        } else {
            for_each_word(attribute, label_count_, [&](std::uint32_t bits, Index s, Index k, Index) {
                add_compressed<kPiecesAWord>(bits, a, counts + k, w + s);
            });
        }
    }

    double product(const double* w, std::int32_t attribute, const double* counts) const {
        double total = 0.0;
        for_each_word(attribute, label_count_, [&](std::uint32_t bits, Index s, Index k, Index) {
            for (; bits; bits &= bits - 1) total += w[s++] * counts[k + std::countr_zero(bits)];
        });
        return total;
    }

    void mask(std::int32_t attribute, Index stride, double* counts) const {
        const std::uint32_t* words = records_ + attribute * (1 + words_) + 1;
        for (Index word = 0; word < words_; ++word)  // words without a bit too: their counts are cleared
            clear_outside(words[word], std::min(kPlaces, stride - kPlaces * word), counts + kPlaces * word);
    }

   private:
    static constexpr Index kPiecesAWord = kPlaces / 8;

    // Records of zeros.
    ObservedPairs(Index attributes, Index label_count)
        : attributes_(attributes),
          label_count_(label_count),
          words_((label_count + kPlaces - 1) / kPlaces),
          table_(std::make_shared<std::vector<std::uint32_t>>((attributes + 1) * (1 + words_), 0)),
          records_(table_->data()) {}

    // body.operator()<N>() for the pieces that a word has: fewer than four only where there are few labels.
    template <class Body>
    void for_pieces(Body&& body) const {
        if (label_count_ <= 8) return body.template operator()<1>();
        if (label_count_ <= 16) return body.template operator()<2>();
        if (label_count_ <= 24) return body.template operator()<3>();
        body.template operator()<4>();
    }

    // body(bits, where their weights start, the label of the first bit, how many places up to the stride)
    template <class Body>
    void for_each_word(std::int32_t attribute, Index stride, Body&& body) const {
        const std::uint32_t* record = records_ + attribute * (1 + words_);
        if (words_ == 1) return body(record[1], record[0], 0, stride);
        Index s = record[0];
        for (Index word = 0; word < words_; ++word) {
            const std::uint32_t bits = record[1 + word];
            if (bits) body(bits, s, kPlaces * word, std::min(kPlaces, stride - kPlaces * word));
            s += std::popcount(bits);
        }
    }

    Index attributes_, label_count_, words_;
    std::shared_ptr<std::vector<std::uint32_t>> table_;
    const std::uint32_t* records_;
};

// The (attribute, label) pairs that occur in labelled data, as the arrays that ObservedPairs views.
inline void observed_pairs(const Attributes& data, const std::int32_t* labels, Index K, std::vector<Index>& starts,
                           std::vector<std::int32_t>& row_labels) {
    const Index words = (K + 63) / 64;
    std::vector<std::uint64_t> seen(data.count * words, 0);
    for (Index p = 0; p < data.positions(); ++p)
        for (Index e = data.indptr[p]; e < data.indptr[p + 1]; ++e)
            seen[data.indices[e] * words + labels[p] / 64] |= std::uint64_t{1} << (labels[p] % 64);
    starts.assign(1, 0);
    row_labels.clear();
    for (Index a = 0; a < data.count; ++a) {
        for (Index k = 0; k < K; ++k)
            if (seen[a * words + k / 64] >> (k % 64) & 1) row_labels.push_back(static_cast<std::int32_t>(k));
        starts.push_back(static_cast<Index>(row_labels.size()));
    }
}

}  // namespace dualfield
