// What every field offers to Python under given weights.
#pragma once

#include "bindings/arrays.hpp"
#include "fields/objective.hpp"
#include "fields/prediction.hpp"

namespace dualfield {

template <class F>
void check_weights(const F& field, const Vector<double>& w) {
    require(static_cast<Index>(w.shape(0)) == field.dimension(), "the number of weights does not fit the field");
}

template <class F>
void check_range(const F& field, Index first, Index last) {
    require(0 <= first && first <= last && last <= field.blocks(), "the range of blocks is out of bounds");
}

template <class F>
void check_block(const F& field, Index i) {
    require(0 <= i && i < field.blocks(), "the number of the block is out of bounds");
}

inline std::size_t positions_between(const Multiclass&, Index first, Index last) {
    return static_cast<std::size_t>(last - first);
}

template <class Rows>
std::size_t positions_between(const Chain<Rows>& field, Index first, Index last) {
    return static_cast<std::size_t>(first == last ? 0 : field.offset(last) - field.offset(first));
}

inline std::size_t positions_between(const GeneralField& field, Index first, Index last) {
    return static_cast<std::size_t>(field.positions_before(last) - field.positions_before(first));
}

template <class F>
void bind_common(nb::class_<F>& bound) {
    using namespace nb::literals;
    bound.def_prop_ro("blocks", &F::blocks)
        .def_prop_ro("dimension", &F::dimension)
        .def_prop_ro("labels", &F::labels)
        .def_prop_ro("l2", &F::l2)
        .def(
            "primal",
            [](const F& field, Vector<double> w) {
                check_weights(field, w);
                require(field.labelled(), "the field has no labels to compare with");
                nb::gil_scoped_release release;
                return evaluate_primal(field, w.data(), nullptr);
            },
            "weights"_a.noconvert(), "The objective in sum units.")
        .def(
            "primal_bound",
            [](const F& field, Vector<double> w) {
                check_weights(field, w);
                require(field.labelled(), "the field has no labels to compare with");
                nb::gil_scoped_release release;
                const PrimalBound found = bound_primal(field, w.data());
                return std::make_pair(found.value, found.magnitude);
            },
            "weights"_a.noconvert(), "(a number not below the objective, what rounding acts on in it)")
        .def(
            "sample_primal",
            [](const F& field, Vector<double> w, Vector<Index> blocks) {
                check_weights(field, w);
                require(field.labelled(), "the field has no labels to compare with");
                const Index count = static_cast<Index>(blocks.shape(0));
                for (Index k = 0; k < count; ++k) check_block(field, blocks.data()[k]);
                nb::gil_scoped_release release;
                return evaluate_sample(field, w.data(), blocks.data(), count);
            },
            "weights"_a.noconvert(), "blocks"_a.noconvert(),
            "The losses of some blocks and their share of the penalty.")
        .def(
            "gradient",
            [](const F& field, Vector<double> w) {
                check_weights(field, w);
                require(field.labelled(), "the field has no labels to compare with");
                auto gradient = new_array<double, 1>({w.shape(0)});
                double value = 0.0;
                {
                    nb::gil_scoped_release release;
                    value = evaluate_primal(field, w.data(), gradient.data());
                }
                return std::make_pair(value, gradient);
            },
            "weights"_a.noconvert(), "(objective in sum units, its gradient)")
        .def(
            "hessian_product",
            [](const F& field, Vector<double> w, Vector<double> v) {
                check_weights(field, w);
                check_weights(field, v);
                require(field.labelled(), "the field has no labels to compare with");
                auto product = new_array<double, 1>({w.shape(0)});
                nb::gil_scoped_release release;
                evaluate_hessian_product(field, w.data(), v.data(), product.data());
                return product;
            },
            "weights"_a.noconvert(), "vector"_a.noconvert(), "The Hessian of the objective times a vector.")
        .def(
            "decode",
            [](const F& field, Vector<double> w, Index first, Index last) {
                check_weights(field, w);
                check_range(field, first, last);
                auto path = new_array<std::int32_t, 1>({positions_between(field, first, last)});
                nb::gil_scoped_release release;
                decode_blocks(field, w.data(), first, last, path.data());
                return path;
            },
            "weights"_a.noconvert(), "first"_a, "last"_a, "The best labels of blocks first .. last - 1.")
        .def(
            "marginals",
            [](const F& field, Vector<double> w, Index first, Index last) {
                check_weights(field, w);
                check_range(field, first, last);
                auto out = new_array<double, 2>(
                    {positions_between(field, first, last), static_cast<std::size_t>(field.labels())});
                nb::gil_scoped_release release;
                infer_blocks(field, w.data(), first, last, out.data());
                return out;
            },
            "weights"_a.noconvert(), "first"_a, "last"_a, "Node marginals of blocks first .. last - 1.")
        .def(
            "potentials",
            [](const F& field, Vector<double> w, Index i) {
                check_weights(field, w);
                check_block(field, i);
                auto out = new_array<double, 1>({static_cast<std::size_t>(field.compact_size(i))});
                field.score(i, w.data(), out.data());
                return out;
            },
            "weights"_a.noconvert(), "block"_a, "The compact potentials of one block.")
        .def(
            "radius",
            [](const F& field, Index i) {
                require(field.labelled(), "the field has no labels to compare with");
                check_block(field, i);
                std::vector<double> m(static_cast<std::size_t>(field.compact_size(i)));
                typename F::Direction direction;
                field.contrast(i, m.data());
                return std::make_pair(field.pull(i, m.data(), direction), field.radius_bound(i));
            },
            "block"_a, "How far the features of a block lie apart, squared: (an estimate, a bound).");
}

}  // namespace dualfield
