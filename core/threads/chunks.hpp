// Passes over vectors as long as the weights, on the threads of a team.
//
// Vectors are cut into chunks of a fixed size, and each thread takes a range of chunks. Each chunk has a sum of its
// own, and these are added in the order of the chunks. So sums are the same to the last bit on any number of threads.
#pragma once

#include <algorithm>
#include <array>
#include <vector>

#include "base/zeros.hpp"
#include "threads/team.hpp"

namespace dualfield {

constexpr Index kChunk = 8192;

// body(first, end, chunk, member) for the chunks [first, end) that make up [0, n).
template <class Body>
void for_each_chunk(Team& team, Index n, Body&& body) {
    const Index chunks = (n + kChunk - 1) / kChunk;
    team.run([&](Index member) {
        for (Index c = chunks * member / team.size(); c < chunks * (member + 1) / team.size(); ++c)
            body(c * kChunk, std::min(n, (c + 1) * kChunk), c, member);
    });
}

// Writes zeros to a vector that has not been written yet, so that the system provides its memory now.
template <class T>
void write_zeros(Team& team, Zeros<T>& values) {
    team.over_ranges(std::ssize(values),
                     [&](Index first, Index end) { std::fill(values.begin() + first, values.begin() + end, T{0}); });
}

// body(first, end, sums, member) adds the `count` sums of a chunk to `sums`; returns those of all chunks.
template <class Body>
std::vector<double> sums_over_chunks(Team& team, Index n, Index count, Body&& body) {
    std::vector<double> of_chunks((n + kChunk - 1) / kChunk * count, 0.0), total(count, 0.0);
    for_each_chunk(team, n, [&](Index first, Index end, Index chunk, Index member) {
        body(first, end, of_chunks.data() + chunk * count, member);
    });
    for (std::size_t k = 0; k < of_chunks.size(); ++k) total[k % count] += of_chunks[k];
    return total;
}

// The same for a known number of sums: body(first, end) returns those of a chunk.
template <std::size_t N, class Body>
std::array<double, N> sum_over_chunks(Team& team, Index n, Body&& body) {
    const std::vector<double> sums = sums_over_chunks(team, n, N, [&](Index first, Index end, double* of_chunk, Index) {
        const std::array<double, N> found = body(first, end);
        std::copy(found.begin(), found.end(), of_chunk);
    });
    std::array<double, N> total{};
    std::copy_n(sums.begin(), N, total.begin());
    return total;
}

}  // namespace dualfield
