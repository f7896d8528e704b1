// Sorted lists of names with counts become one sorted list, some names at a time.
//
// A list may lie in a file that is mapped into memory: it is read once, from its first name to its last. A name that
// several lists have is one name of the result, and its counts are added up. For each list the merger also tells which
// number each of its names has in the result. Names are compared byte by byte.
#pragma once

#include <algorithm>
#include <cstdint>
#include <functional>
#include <numeric>
#include <queue>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace dualfield::text {

// Name n is text[bounds[n] .. bounds[n + 1]).
struct NameList {
    std::string_view text;
    std::span<const std::int64_t> bounds, counts;

    std::size_t size() const { return bounds.size() - 1; }
    std::string_view operator[](std::size_t n) const {
        return text.substr(static_cast<std::size_t>(bounds[n]), static_cast<std::size_t>(bounds[n + 1] - bounds[n]));
    }
};

// The order in which the names of a list are sorted.
inline std::vector<std::int64_t> sorted_order(const NameList& names) {
    std::vector<std::int64_t> order(names.size());
    std::iota(order.begin(), order.end(), std::int64_t{0});
    std::sort(order.begin(), order.end(), [&](std::int64_t x, std::int64_t y) {
        return names[static_cast<std::size_t>(x)] < names[static_cast<std::size_t>(y)];
    });
    return order;
}

class NameMerger {
   public:
    explicit NameMerger(std::vector<NameList> lists) : lists_(std::move(lists)), next_(lists_.size(), 0) {
        for (std::size_t list = 0; list < lists_.size(); ++list) wait(list);
    }

    // Some names of the result and, of each list, the numbers of those of its names that are among them.
    struct Piece {
        std::string text;
        std::vector<std::int64_t> bounds{0}, counts;
        std::vector<std::vector<std::int64_t>> numbers;
    };

    // The next names, until there are so many bytes; none where the lists are at their end.
    Piece next(std::size_t bytes) {
        Piece piece;
        piece.numbers.resize(lists_.size());
        while (!waiting_.empty() && piece.text.size() < bytes) {
            const std::string_view name = waiting_.top().first;
            std::int64_t count = 0;
            while (!waiting_.empty() && waiting_.top().first == name) {
                const std::size_t list = waiting_.top().second;
                waiting_.pop();
                count += lists_[list].counts[next_[list]++];
                piece.numbers[list].push_back(merged_);
                wait(list);
            }
            piece.text += name;
            piece.bounds.push_back(static_cast<std::int64_t>(piece.text.size()));
            piece.counts.push_back(count);
            ++merged_;
        }
        return piece;
    }

   private:
    void wait(std::size_t list) {
        if (next_[list] < lists_[list].size()) waiting_.emplace(lists_[list][next_[list]], list);
    }

    using First = std::pair<std::string_view, std::size_t>;  // the first name that a list has left
    std::vector<NameList> lists_;
    std::vector<std::size_t> next_;
    std::priority_queue<First, std::vector<First>, std::greater<>> waiting_;
    std::int64_t merged_ = 0;
};

}  // namespace dualfield::text
