// A template from choices, within what the bindings accept (core/bindings/bind_text.cpp): a cell names a view, a view a
// column, a gazetteer stands last. Offsets are small: there the ends of sentences are.
#pragma once

#include <stdexcept>

#include "choices.hpp"
#include "text/encoder.hpp"

namespace fuzz {

using dualfield::text::Operation;
using dualfield::text::Outside;
using dualfield::text::Rule;
using dualfield::text::Template;
using dualfield::text::Transform;
using dualfield::text::View;
using dualfield::text::Where;

inline Transform transform(Choices& choices) {
    Transform made{static_cast<Operation>(choices.size(7)), 0, nullptr, {}};
    switch (made.operation) {
        case Operation::lower:
            break;
        case Operation::test:
        case Operation::match:
            made.pattern = std::make_shared<dualfield::text::Pattern>(choices.string(20));  // throws for a bad one
            break;
        case Operation::gazetteer:
            for (std::size_t n = choices.size(4); n > 0; --n) {
                made.entries.emplace_back();
                for (std::size_t words = choices.size(3); words > 0; --words)
                    made.entries.back().push_back(choices.string(6));
            }
            break;
        default:
            made.length = choices.any_size();
    }
    return made;
}

// Throws std::invalid_argument where a pattern is none.
inline Template random_template(Choices& choices, std::size_t columns) {
    Template made{{}, {}, static_cast<Outside>(choices.size(2))};
    for (std::size_t n = 1 + choices.size(3); n > 0; --n) {
        View view{choices.size(columns - 1), {}};
        for (std::size_t steps = choices.size(3); steps > 0; --steps) {
            view.transforms.push_back(transform(choices));
            if (view.transforms.back().operation == Operation::gazetteer) break;
        }
        made.views.push_back(std::move(view));
    }
    for (std::size_t n = choices.size(5); n > 0; --n) {
        Rule rule{{choices.string(5)}, {}, true, choices.flag(), static_cast<Where>(choices.size(2))};
        rule.unigram = !rule.bigram || choices.flag();
        for (std::size_t cells = choices.size(choices.flag() ? 12 : 3); cells > 0; --cells) {
            const std::int64_t offset = choices.byte() < 16 ? choices.number(-20, 20) : choices.number(-3, 3);
            rule.cells.push_back({choices.size(made.views.size() - 1), offset, choices.flag()});
            rule.literals.push_back(choices.string(3));
        }
        made.rules.push_back(std::move(rule));
    }
    return made;
}

}  // namespace fuzz
