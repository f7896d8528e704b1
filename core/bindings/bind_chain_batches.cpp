// Inference on many chains in one call, without copies of the potentials.
#include <nanobind/stl/optional.h>

#include <optional>

#include "bindings/span_arrays.hpp"
#include "oracles/chain_batch.hpp"
#include "oracles/chain_kbest.hpp"
#include "oracles/chain_sampling.hpp"

namespace dualfield {
namespace {

using namespace nb::literals;

// float32 or float64, of any strides.
using Potentials = nb::ndarray<nb::ro, nb::ndim<3>, nb::device::cpu>;

// A new array of the type of the potentials, filled with zeros.
nb::ndarray<nb::numpy> zeros_like(bool single, std::initializer_list<std::size_t> shape) {
    std::size_t size = checked_size(shape, sizeof(double));
    const std::size_t bytes = size * (single ? sizeof(float) : sizeof(double));
    auto data = std::make_unique<char[]>(bytes == 0 ? 1 : bytes);
    nb::capsule owner(data.get(), [](void* p) noexcept { delete[] static_cast<char*>(p); });
    return {data.release(), shape.size(), shape.begin(),
            owner,          nullptr,      single ? nb::dtype<float>() : nb::dtype<double>()};
}

class BoundBatch {
   public:
    BoundBatch(Potentials node, Vector<Index> rows, Vector<Index> offsets, Vector<double> begin, Input<double, 2> edge,
               Vector<double> end, Index threads)
        : node_(node), threads_(threads) {
        const bool single = node.dtype() == nb::dtype<float>();
        require(single || node.dtype() == nb::dtype<double>(), "potentials must be float32 or float64");
        const Index K = node.shape(2);
        const std::size_t labels = node.shape(2);
        require(K >= 1, "a chain needs at least one label");
        require(
            begin.shape(0) == labels && end.shape(0) == labels && edge.shape(0) == labels && edge.shape(1) == labels,
            "begin, edge and end must be K, K x K and K");
        batch_.labels = K;
        batch_.chains = static_cast<Index>(offsets.shape(0)) - 1;
        const Index positions = rows.shape(0);
        require(batch_.chains >= 0 && offsets.data()[0] == 0 && offsets.data()[batch_.chains] == positions &&
                    never_decreases(offsets),
                "offsets must run from 0 to the number of positions");
        table_rows_ = static_cast<Index>(node.shape(0) * node.shape(1));
        for (Index n = 0; n < positions; ++n)
            require(0 <= rows.data()[n] && rows.data()[n] < table_rows_, "a row is out of range");
        batch_.node = {const_cast<void*>(node.data()), single};
        batch_.columns = std::max<Index>(1, node.shape(1));
        for (std::size_t axis = 0; axis < 3; ++axis) batch_.steps[axis] = node.stride(axis);
        batch_.rows.assign(rows.data(), rows.data() + positions);
        batch_.offsets.assign(offsets.data(), offsets.data() + batch_.chains + 1);
        batch_.begin.assign(begin.data(), begin.data() + K);
        batch_.edge.assign(edge.data(), edge.data() + K * K);
        batch_.end.assign(end.data(), end.data() + K);
    }

    auto values(std::optional<Input<Index, 2>> tags, std::optional<Input<std::uint8_t, 3>> allowed, bool gradients) {
        const std::size_t K = extent(batch_.labels), chains = extent(batch_.chains), none = gradients ? 1 : 0;
        require(!tags || static_cast<Index>(tags->size()) == table_rows_, "tags must have an entry for each row");
        require(!allowed || static_cast<Index>(allowed->size()) == table_rows_ * batch_.labels,
                "allowed must have an entry for each row and label");
        auto values = new_array<double, 1>({chains});
        std::fill(values.data(), values.data() + chains, 0.0);
        const bool single = batch_.node.single;
        auto nodes = zeros_like(single, {none * node_.shape(0), node_.shape(1), K});
        auto edges = zeros_like(single, {none * chains, K, K});
        auto ends = zeros_like(single, {none * chains, 2, K});
        {
            nb::gil_scoped_release release;
            batch_values(
                batch_, tags ? tags->data() : nullptr, allowed ? allowed->data() : nullptr, threads_,
                {values.data(), gradients, {nodes.data(), single}, {edges.data(), single}, {ends.data(), single}});
        }
        return std::make_tuple(values, nodes, edges, ends);
    }

    auto viterbi(Index padding) {
        auto labels = padded_labels(1, padding);
        auto scores = new_array<double, 1>({extent(batch_.chains)});
        std::fill(scores.data(), scores.data() + batch_.chains, 0.0);
        nb::gil_scoped_release release;
        for_each_chain(batch_, threads_, [&](Index chain, ChainWorker& worker) {
            worker.path.resize(extent(batch_.length(chain)));
            scores.data()[chain] = worker.viterbi.decode(worker.read(batch_, chain), worker.path.data());
            place(chain, worker.path.data(), labels.data());
        });
        return std::make_pair(labels, scores);
    }

    auto kbest(Index k, Index padding) {
        require(k >= 1, "k must be at least 1");
        auto labels = padded_labels(k, padding);
        auto scores = new_array<double, 2>({extent(k), extent(batch_.chains)});
        std::fill(scores.data(), scores.data() + k * batch_.chains, kImpossible);
        for (Index chain = 0; chain < batch_.chains; ++chain)
            if (batch_.length(chain) == 0) scores.data()[chain] = 0.0;  // its one labelling is empty
        nb::gil_scoped_release release;
        for_each_chain(batch_, threads_, [&](Index chain, ChainWorker& worker) {
            const Index T = batch_.length(chain), most = std::min(k, labellings(T, batch_.labels));
            std::vector<std::int32_t> paths(extent(most * T));
            std::vector<double> found(extent(most));
            const Index count = KBest().decode(worker.read(batch_, chain), most, paths.data(), found.data());
            for (Index p = 0; p < count; ++p) {
                scores.data()[p * batch_.chains + chain] = found[extent(p)];
                place(chain, &paths[extent(p * T)], labels.data() + p * table_rows_);
            }
        });
        return std::make_pair(labels, scores);
    }

    auto sample(Index count, std::uint64_t seed, Index padding) {
        require(count >= 0, "the number of samples must not be negative");
        auto labels = padded_labels(count, padding);
        nb::gil_scoped_release release;
        for_each_chain(batch_, threads_, [&](Index chain, ChainWorker& worker) {
            const Index T = batch_.length(chain);
            std::vector<std::int32_t> paths(extent(count * T));
            // Neighbouring seeds are spread by splitmix64, from numbers that no other chain's stream uses.
            Random seeds(seed), random(seeds.next() + static_cast<std::uint64_t>(chain) * 0xd1342543de82ef95ULL);
            sample_posterior(worker.read(batch_, chain), count, random, worker.plain, paths.data());
            for (Index s = 0; s < count; ++s) place(chain, &paths[extent(s * T)], labels.data() + s * table_rows_);
        });
        return labels;
    }

    // H = log Z - sum of marginals times potentials.
    auto entropy() {
        auto out = new_array<double, 1>({extent(batch_.chains)});
        std::fill(out.data(), out.data() + batch_.chains, 0.0);
        nb::gil_scoped_release release;
        for_each_chain(batch_, threads_, [&](Index chain, ChainWorker& worker) {
            const ChainPotentials& potentials = worker.read(batch_, chain);
            const Index K = batch_.labels, T = potentials.length;
            auto &nodes = worker.nodes, &edges = worker.edges;
            nodes.resize(extent(T * K)), edges.resize(extent(K * K));
            double entropy = worker.marginals(potentials, nodes.data(), nullptr, edges.data());
            for (Index k = 0; k < T * K; ++k)
                if (nodes[extent(k)] > 0.0) entropy -= nodes[extent(k)] * potentials.node[k];
            for (Index k = 0; T > 1 && k < K * K; ++k)
                if (edges[extent(k)] > 0.0) entropy -= edges[extent(k)] * potentials.edge[k];
            out.data()[chain] = std::max(entropy, 0.0);
        });
        return out;
    }

    auto span_probabilities(Vector<std::int32_t> kinds, Input<std::int8_t, 2> steps, Input<Index, 2> spans) {
        const Index count = spans.shape(0);
        const SpanRules rules = rules_of(kinds, steps);
        require(rules.labels() == batch_.labels && spans.shape(1) == 4,
                "kinds must be K, spans rows of (chain, begin, end, kind)");
        std::vector<Index> first(extent(batch_.chains + 1), count);
        for (Index s = count - 1; s >= 0; --s) {
            const Index* span = spans.data() + 4 * s;
            require(0 <= span[0] && span[0] < batch_.chains && (s == count - 1 || span[0] <= span[4]),
                    "spans must be ordered by chain");
            check_span(rules, batch_.length(span[0]), span + 1);
            first[extent(span[0])] = s;
        }
        for (Index chain = batch_.chains - 1; chain >= 0; --chain)
            if (first[extent(chain)] == count) first[extent(chain)] = first[extent(chain) + 1];
        auto out = new_array<double, 1>({extent(count)});
        nb::gil_scoped_release release;
        for_each_chain(batch_, threads_, [&](Index chain, ChainWorker& worker) {
            if (first[extent(chain)] == first[extent(chain) + 1]) return;
            SpanOracle oracle;
            oracle.prepare(worker.read(batch_, chain), worker);
            for (Index s = first[extent(chain)]; s < first[extent(chain) + 1]; ++s) {
                const Index* span = spans.data() + 4 * s;
                out.data()[s] = oracle.probability(rules, {span[1], span[2], span[3]});
            }
        });
        return out;
    }

   private:
    // count labellings of the whole table, padding wherever no chain has a position.
    Output<Index, 3> padded_labels(Index count, Index padding) const {
        auto labels = new_array<Index, 3>({extent(count), node_.shape(0), node_.shape(1)});
        std::fill(labels.data(), labels.data() + count * table_rows_, padding);
        return labels;
    }

    void place(Index chain, const std::int32_t* path, Index* table) const {
        for (Index t = 0; t < batch_.length(chain); ++t) table[batch_.rows_of(chain)[t]] = path[t];
    }

    Potentials node_;
    ChainBatch batch_;
    Index table_rows_ = 0, threads_;
};

}  // namespace

void bind_chain_batches(nb::module_& m) {
    nb::class_<BoundBatch>(m, "ChainBatch", "Many chains that share their edge potentials.")
        .def(nb::init<Potentials, Vector<Index>, Vector<Index>, Vector<double>, Input<double, 2>, Vector<double>,
                      Index>(),
             "node"_a.noconvert(), "rows"_a.noconvert(), "offsets"_a.noconvert(), "begin"_a.noconvert(),
             "edge"_a.noconvert(), "end"_a.noconvert(), "threads"_a)
        .def("values", &BoundBatch::values, "tags"_a.noconvert().none(), "allowed"_a.noconvert().none(), "gradients"_a,
             "(log Z or log-likelihoods, and their gradients in nodes, edges, first and last nodes)")
        .def("viterbi", &BoundBatch::viterbi, "padding"_a, "(labels, scores)")
        .def("kbest", &BoundBatch::kbest, "k"_a, "padding"_a, "(labels, scores), best first")
        .def("sample", &BoundBatch::sample, "count"_a, "seed"_a, "padding"_a)
        .def("entropy", &BoundBatch::entropy)
        .def("span_probabilities", &BoundBatch::span_probabilities, "kinds"_a.noconvert(), "steps"_a.noconvert(),
             "spans"_a.noconvert(), "Probabilities of spans, rows of (chain, begin, end, kind) ordered by chain.");
}

}  // namespace dualfield
