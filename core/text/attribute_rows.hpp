// Named attributes with values, position after position, as the rows of a sparse matrix.
//
// A row is sorted by the attributes' numbers. Values of an attribute that a position names twice are added up, and what
// is zero is left out.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <string_view>
#include <vector>

#include "text/string_table.hpp"

namespace dualfield::text {

class AttributeRows {
   public:
    // Numbers new names as they come.
    AttributeRows() = default;
    // Knows these names only, and leaves out others.
    explicit AttributeRows(const StringTable& known) : known_(&known) {}

    void add(std::string_view name, double value) {
        const Code code = known_ ? known_->find(name) : names_.intern(name);
        all_finite_ = all_finite_ && std::isfinite(value);
        if (code != kNone) add(code, value);
    }
    void add(Code code, double value) { row_.push_back({code, value}); }

    // The position is complete.
    void end_row() {
        const auto by_code = [](const Entry& a, const Entry& b) { return a.code < b.code; };
        if (!std::is_sorted(row_.begin(), row_.end(), by_code)) std::stable_sort(row_.begin(), row_.end(), by_code);
        for (std::size_t k = 0; k < row_.size();) {
            const Code code = row_[k].code;
            double value = 0.0;
            for (; k < row_.size() && row_[k].code == code; ++k) value += row_[k].value;
            if (value == 0.0) continue;
            if (value != 1.0 && all_ones_) values_.assign(indices_.size(), 1.0), all_ones_ = false;
            indices_.push_back(code);
            if (!all_ones_) values_.push_back(value);
        }
        row_.clear();
        ends_.push_back(static_cast<std::int64_t>(indices_.size()));
    }

    std::size_t rows() const { return ends_.size() - 1; }
    bool all_finite() const { return all_finite_; }  // of the values given so far
    bool all_ones() const { return all_ones_; }      // of the values kept so far

    std::vector<std::int64_t>& ends() { return ends_; }
    std::vector<Code>& indices() { return indices_; }
    std::vector<double>& values() { return values_; }  // empty where all are 1
    StringTable& names() { return names_; }
    const std::vector<std::int64_t>& ends() const { return ends_; }
    const std::vector<Code>& indices() const { return indices_; }
    const std::vector<double>& values() const { return values_; }
    const StringTable& names() const { return names_; }

   private:
    struct Entry {
        Code code;
        double value;
    };

    const StringTable* known_ = nullptr;
    StringTable names_;  // where none are given
    std::vector<Entry> row_;
    std::vector<std::int64_t> ends_{0};
    std::vector<Code> indices_;
    std::vector<double> values_;
    bool all_finite_ = true, all_ones_ = true;
};

}  // namespace dualfield::text
