// Arithmetic between the table of a clique and tables over some of its variables.
//
// A clique of n variables with K labels each has a table of K^n numbers, the last variable running fastest. A *factor*
// is a table over a subset of them, in the same order: `positions` says where its variables stand in the clique.
#pragma once

#include <array>

#include "base/compiler.hpp"
#include "simd/vector.hpp"

namespace dualfield {

constexpr Index kMostVariables = 62;  // of a clique: 2^62 numbers are beyond any budget

// K^n, or the largest Index where that is beyond it.
inline Index table_length(Index labels, Index variables) {
    Index length = 1;
    for (Index v = 0; v < variables; ++v)
        if (multiply_overflows(length, labels, length)) return std::numeric_limits<Index>::max();
    return length;
}

// Goes through the clique's table in runs of `length` entries. A run belongs to one entry of the factor, or to `length`
// entries. Calls body(start of the run, start of its part of the factor, length, whether that is one entry).
template <class Body>
void for_each_run(Index labels, Index variables, const std::int32_t* positions, Index count, Body&& body) {
    std::array<Index, kMostVariables> digit{}, step{};
    for (Index f = 0; f < count; ++f) step[positions[f]] = table_length(labels, count - 1 - f);
    Index outer = variables;  // the variables that are not within a run
    const bool broadcast = count == 0 || positions[count - 1] < variables - 1;
    if (broadcast) {
        outer = count == 0 ? 0 : positions[count - 1] + 1;
    } else {
        while (outer > 0 && step[outer - 1] > 0) --outer;
    }
    const Index length = table_length(labels, variables - outer);
    const Index runs = table_length(labels, outer);
    Index factor = 0;
    for (Index run = 0; run < runs; ++run) {
        body(run * length, factor, length, broadcast);
        for (Index v = outer - 1; v >= 0; --v) {
            factor += step[v];
            if (++digit[v] < labels) break;
            factor -= labels * step[v];
            digit[v] = 0;
        }
    }
}

// table += factor
inline void add_factor(Index labels, Index variables, const std::int32_t* positions, Index count, const double* factor,
                       double* table) {
    for_each_run(labels, variables, positions, count, [&](Index at, Index from, Index length, bool broadcast) {
        double* run = table + at;
        if (broadcast) {
            const double value = factor[from];
#pragma omp simd
            for (Index k = 0; k < length; ++k) run[k] += value;
        } else {
            axpy(length, 1.0, factor + from, run);
        }
    });
}

// factor += sums of the table over all other variables
inline void add_sums(Index labels, Index variables, const std::int32_t* positions, Index count, const double* table,
                     double* factor) {
    for_each_run(labels, variables, positions, count, [&](Index at, Index to, Index length, bool broadcast) {
        if (broadcast) {
            factor[to] += sum(length, table + at);
        } else {
            axpy(length, 1.0, table + at, factor + to);
        }
    });
}

// A table with its variables in another order: variable v of `out` is variable axes[v] of `in`; or back again.
inline void reorder(Index labels, Index variables, const std::int32_t* axes, bool back, const double* in, double* out) {
    std::array<Index, kMostVariables> digit{}, step{};
    for (Index v = 0; v < variables; ++v) step[v] = table_length(labels, variables - 1 - axes[v]);
    const Index length = table_length(labels, variables);
    Index other = 0;
    for (Index entry = 0; entry < length; ++entry) {
        if (back) {
            out[other] = in[entry];
        } else {
            out[entry] = in[other];
        }
        for (Index v = variables - 1; v >= 0; --v) {
            other += step[v];
            if (++digit[v] < labels) break;
            other -= labels * step[v];
            digit[v] = 0;
        }
    }
}

// Where the entry with these labels of the clique's variables stands in its table.
template <class LabelOf>
Index entry_of(Index labels, Index variables, LabelOf&& label_of) {
    Index entry = 0;
    for (Index v = 0; v < variables; ++v) entry = entry * labels + label_of(v);
    return entry;
}

}  // namespace dualfield
