// A chain model of a dualfield model file: names of attributes in one text, and weights by attribute and label.
//
// Arrays are used where they lie. With the file's own index of names opening looks at the sizes and the transitions
// only, whatever the number of attributes; what a look-up reads is compared with the bounds then, and read once, so
// that a file that changes while it is mapped can give wrong labels but not lead out of its memory. A file of a version
// without the index gets a hash table when it is opened, in one pass over its names.
#pragma once

#include <span>
#include <string_view>

#include "tagging/attribute_model.hpp"
#include "tagging/name_index.hpp"
#include "text/string_table.hpp"

namespace dualfield::tagging {

struct StoredArrays {
    std::span<const double> weights;        // one of the two is empty
    std::span<const float> single_weights;  // files may hold float32
    std::span<const std::int32_t> transitions;
    std::span<const std::int64_t> row_starts;  // both empty where every attribute has a weight with every label
    std::span<const std::int32_t> row_labels;
    bool observed;
    std::span<const char> text;
    std::span<const std::int64_t> offsets;
    bool indexed;
    std::span<const std::int32_t> index;  // of the names, where `indexed`
    bool bias, begin, end;
    std::span<const char> allowed_transitions, allowed_begin, allowed_end;  // empty: everything is allowed
};

class StoredChain final : public AttributeModel {
   public:
    // Needs the arrays as long as it lives; throws Damage where they do not fit each other.
    StoredChain(const StoredArrays& arrays, std::size_t labels) : AttributeModel(labels), arrays_(arrays) {
        check_names();
        check_rows();
        const std::size_t K = labels;
        std::size_t place = arrays.observed ? arrays.row_labels.size() : attributes_ * K;
        const std::size_t switches = std::size_t{arrays.bias} + arrays.begin + arrays.end;
        const std::size_t expected = place + arrays.transitions.size() + switches * K;
        if (weights() != expected)
            throw Damage("it should have " + std::to_string(expected) + " weights but has " +
                         std::to_string(weights()));
        std::int64_t before = -1;
        for (const std::int32_t flat : arrays.transitions) {
            if (flat <= before || static_cast<std::size_t>(flat) >= K * K) throw Damage("its transitions are damaged");
            transitions_.weights[static_cast<std::size_t>(flat)] = finite_weight(place++);
            before = flat;
        }
        for (const auto& [is_there, row] :
             {std::pair{arrays.bias, &transitions_.bias}, std::pair{arrays.begin, &transitions_.begin},
              std::pair{arrays.end, &transitions_.end}}) {
            if (!is_there) continue;
            row->resize(K);
            for (double& one : *row) one = finite_weight(place++);
        }
        forbid();
        transitions_.finish();
    }

    std::size_t attributes() const override { return attributes_; }

    std::uint32_t expect(const char* name, std::size_t length) const override {
        return arrays_.indexed ? index_.expect(name, length) : 0;
    }

    void add(std::span<Wanted> wanted, double* scores) const override {
        if (arrays_.indexed) {
            for (Wanted& one : wanted) one.place = index_.place_of(one.hash);
            for (const Wanted& one : wanted)
                if (one.place != kNowhere) index_.ask_for_text(one.place);
        }
        for (Wanted& one : wanted) {
            one.place = find(one);
            if (one.place != kNowhere) ask_for_row(one.place);
        }
        for (const Wanted& one : wanted)
            if (one.place != kNowhere && arrays_.observed) ask_for_observed(one.place);
        for (const Wanted& one : wanted)
            if (one.place != kNowhere) add_row(one.place, one.value, scores + one.row);
    }

   private:
    std::size_t weights() const { return std::max(arrays_.weights.size(), arrays_.single_weights.size()); }
    double weight(std::size_t place) const {
        return arrays_.weights.empty() ? static_cast<double>(arrays_.single_weights[place]) : arrays_.weights[place];
    }

    double finite_weight(std::size_t place) const {
        const double found = weight(place);
        if (!std::isfinite(found)) throw Damage("some weights are not finite");
        return found;
    }

    std::size_t find(const Wanted& one) const {
        if (arrays_.indexed) return index_.number_of(one.name, one.length, one.hash, one.place);
        const text::Code number = names_.find({one.name, one.length});
        return number == text::kNone ? kNowhere : static_cast<std::size_t>(number);
    }

    // Asks for the weights of an attribute, or for where they begin.
    void ask_for_row(std::size_t number) const {
        if (arrays_.observed) return prefetch_line(&arrays_.row_starts[number]);
        const std::size_t first = number * transitions_.labels;
        ask_for_weight(first);
        ask_for_weight(first + transitions_.labels - 1);
    }

    void ask_for_observed(std::size_t number) const {
        const std::int64_t begin = arrays_.row_starts[number];
        if (begin < 0 || begin >= static_cast<std::int64_t>(arrays_.row_labels.size())) return;
        prefetch_line(&arrays_.row_labels[static_cast<std::size_t>(begin)]);
        ask_for_weight(static_cast<std::size_t>(begin));
    }

    void ask_for_weight(std::size_t place) const {
        if (arrays_.weights.empty())
            prefetch_line(&arrays_.single_weights[place]);
        else
            prefetch_line(&arrays_.weights[place]);
    }

    void check_names() {
        const auto& offsets = arrays_.offsets;
        if (offsets.empty() || offsets.front() != 0 || offsets.back() != static_cast<std::int64_t>(arrays_.text.size()))
            throw Damage("its vocabulary_offsets are damaged");
        attributes_ = offsets.size() - 1;
        if (arrays_.indexed) {
            index_ = NameIndex(arrays_.text, offsets, arrays_.index);
            return;
        }
        if (!std::is_sorted(offsets.begin(), offsets.end())) throw Damage("its vocabulary_offsets are damaged");
        names_ = text::StringTable({arrays_.text.data(), arrays_.text.size()}, offsets);
        if (names_.size() != attributes_) throw Damage("a name occurs twice in its vocabulary");
    }

    void check_rows() const {
        if (!arrays_.observed) return;
        const auto& starts = arrays_.row_starts;
        if (starts.size() != attributes_ + 1 || starts.front() != 0 ||
            starts.back() != static_cast<std::int64_t>(arrays_.row_labels.size()))
            throw Damage("its table of observed pairs is damaged");
    }

    // Minus infinity where a transition, or a first or last label, is not allowed.
    void forbid() {
        const std::size_t K = transitions_.labels;
        const auto apply = [](std::span<const char> allowed, std::vector<double>& weights, std::size_t size) {
            if (allowed.empty()) return;
            if (allowed.size() != size) throw Damage("its masks of constraints are damaged");
            weights.resize(size);
            for (std::size_t i = 0; i < size; ++i)
                if (!allowed[i]) weights[i] = kImpossible;
        };
        apply(arrays_.allowed_transitions, transitions_.weights, K * K);
        apply(arrays_.allowed_begin, transitions_.begin, K);
        apply(arrays_.allowed_end, transitions_.end, K);
    }

    void add_row(std::size_t number, double value, double* row) const {
        if (arrays_.weights.empty())
            add_row(arrays_.single_weights, number, value, row);
        else
            add_row(arrays_.weights, number, value, row);
    }

    template <class Number>
    void add_row(std::span<const Number> weights, std::size_t number, double value, double* row) const {
        const std::size_t K = transitions_.labels;
        bool finite = true;
        if (!arrays_.observed) {
            const Number* from = &weights[number * K];
            for (std::size_t j = 0; j < K; ++j) {
                row[j] += static_cast<double>(from[j]) * value;
                finite &= std::isfinite(from[j]);
            }
        } else {
            const std::int64_t begin = arrays_.row_starts[number], end = arrays_.row_starts[number + 1];
            if (begin < 0 || end < begin || end > static_cast<std::int64_t>(arrays_.row_labels.size()))
                throw Damage("its table of observed pairs is damaged");
            for (auto i = static_cast<std::size_t>(begin); i < static_cast<std::size_t>(end); ++i) {
                const std::int32_t label = arrays_.row_labels[i];
                if (label < 0 || static_cast<std::size_t>(label) >= K)
                    throw Damage("its table of observed pairs is damaged");
                row[label] += static_cast<double>(weights[i]) * value;
                finite &= std::isfinite(weights[i]);
            }
        }
        if (!finite) throw Damage("some weights are not finite");
    }

    StoredArrays arrays_;
    std::size_t attributes_ = 0;
    NameIndex index_;  // one of the two is empty
    text::StringTable names_;
};

}  // namespace dualfield::tagging
