// What every field says under given weights; multinomial logistic regression; and losses that are a function in Python.
// Arrays are viewed, not copied; the Python object keeps them alive.
#include <cmath>

#include "bindings/dense_arrays.hpp"
#include "bindings/field_arrays.hpp"
#include "bindings/field_checks.hpp"
#include "fields/erased_field.hpp"
#include "fields/loss_field.hpp"
#include "fields/multiclass.hpp"
#include "fields/prediction.hpp"

namespace dualfield {
namespace {

using namespace nb::literals;

void bind_general(nb::module_& m) {
    nb::class_<GeneralField>(m, "GeneralField", "A training problem, of any kind.")
        .def_prop_ro("blocks", &GeneralField::blocks)
        .def_prop_ro("dimension", &GeneralField::dimension)
        .def_prop_ro("labels", &GeneralField::labels)
        .def_prop_ro("l2", &GeneralField::l2)
        .def(
            "primal",
            [](const GeneralField& field, Vector<double> w) {
                check_weights(field, w);
                require(field.labelled(), "the field has no labels to compare with");
                nb::gil_scoped_release release;
                return evaluate_primal(field, w.data(), nullptr);
            },
            "weights"_a.noconvert(), "The objective in sum units.")
        .def(
            "primal_bound",
            [](const GeneralField& field, Vector<double> w) {
                check_weights(field, w);
                require(field.labelled(), "the field has no labels to compare with");
                nb::gil_scoped_release release;
                const PrimalBound found = bound_primal(field, w.data());
                return std::make_pair(found.value, found.magnitude);
            },
            "weights"_a.noconvert(), "(a number not below the objective, what rounding acts on in it)")
        .def(
            "sample_primal",
            [](const GeneralField& field, Vector<double> w, Vector<Index> blocks, double l1) {
                check_weights(field, w);
                require(field.labelled(), "the field has no labels to compare with");
                const Index count = static_cast<Index>(blocks.shape(0));
                for (Index k = 0; k < count; ++k) check_block(field, blocks.data()[k]);
                nb::gil_scoped_release release;
                return evaluate_sample(field, w.data(), blocks.data(), count, l1);
            },
            "weights"_a.noconvert(), "blocks"_a.noconvert(), "l1"_a = 0.0,
            "The losses of some blocks and their share of the penalty.")
        .def(
            "gradient",
            [](const GeneralField& field, Vector<double> w) {
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
            [](const GeneralField& field, Vector<double> w, Vector<double> v) {
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
            [](const GeneralField& field, Vector<double> w, Index first, Index last, Index threads) {
                check_weights(field, w);
                check_range(field, first, last);
                auto path = new_array<std::int32_t, 1>({positions_between(field, first, last)});
                nb::gil_scoped_release release;
                over_blocks(field, first, last, threads, [&](Index a, Index b) {
                    decode_blocks(field, w.data(), a, b, path.data() + positions_between(field, first, a));
                });
                return path;
            },
            "weights"_a.noconvert(), "first"_a, "last"_a, "threads"_a = 1,
            "The best labels of blocks first .. last - 1.")
        .def(
            "marginals",
            [](const GeneralField& field, Vector<double> w, Index first, Index last, Index threads) {
                check_weights(field, w);
                check_range(field, first, last);
                const std::size_t K = extent(field.labels());
                auto out = new_array<double, 2>({positions_between(field, first, last), K});
                nb::gil_scoped_release release;
                over_blocks(field, first, last, threads, [&](Index a, Index b) {
                    infer_blocks(field, w.data(), a, b, out.data() + positions_between(field, first, a) * K);
                });
                return out;
            },
            "weights"_a.noconvert(), "first"_a, "last"_a, "threads"_a = 1,
            "Node marginals of blocks first .. last - 1.")
        .def(
            "potentials",
            [](const GeneralField& field, Vector<double> w, Index i) {
                check_weights(field, w);
                check_block(field, i);
                auto out = new_array<double, 1>({static_cast<std::size_t>(field.compact_size(i))});
                field.score(i, w.data(), out.data());
                return out;
            },
            "weights"_a.noconvert(), "block"_a, "The compact potentials of one block.")
        .def(
            "radius",
            [](const GeneralField& field, Index i) {
                require(field.labelled(), "the field has no labels to compare with");
                check_block(field, i);
                std::vector<double> m(static_cast<std::size_t>(field.compact_size(i)));
                GeneralField::Direction direction;
                field.contrast(i, m.data());
                return std::make_pair(field.pull(i, m.data(), direction), field.radius_bound(i));
            },
            "block"_a, "How far the features of a block lie apart, squared: (an estimate, a bound).");
}

void bind_multiclass(nb::module_& m) {
    using Field = ErasedField<Multiclass>;
    nb::class_<Field, GeneralField>(m, "Multiclass", "Multinomial logistic regression, the one-node field.")
        .def(
            "__init__",
            [](Field* self, Vector<Index> offsets, Vector<Index> indptr, Vector<std::int32_t> indices, Values values,
               Index attributes, Index labels, bool bias, Labels y, Values sample_weight, double l2,
               std::optional<AnyMatrix> points, std::optional<Vector<Index>> chosen, Values shift, Values factor) {
                const Attributes data = attributes_of(offsets, indptr, indices, values, attributes);
                require(data.positions() == data.blocks, "a multiclass block has exactly one position");
                for (Index p = 0; p < data.positions(); ++p)
                    for (Index e = indptr.data()[p] + 1; e < indptr.data()[p + 1]; ++e)
                        require(indices.data()[e - 1] < indices.data()[e], "attributes must increase within a point");
                check_targets(data, labels, y, sample_weight, l2);
                DenseColumns columns;
                if (points) {
                    require(attributes == 0, "points have either attributes or dense columns");
                    columns = chosen_points(*points, chosen, data.blocks, shift, factor);
                }
                new (self)
                    Field(data, labels, bias, data_or_null(y), data_or_null(sample_weight), l2, std::move(columns));
            },
            "offsets"_a.noconvert(), "indptr"_a.noconvert(), "indices"_a.noconvert(), "values"_a.noconvert().none(),
            "attributes"_a, "labels"_a, "bias"_a, "y"_a.noconvert().none(), "sample_weight"_a.noconvert().none(),
            "l2"_a, "points"_a.noconvert().none() = nb::none(), "chosen"_a.noconvert().none() = nb::none(),
            "shift"_a.noconvert().none() = nb::none(), "factor"_a.noconvert().none() = nb::none(),
            nb::keep_alive<1, 2>(), nb::keep_alive<1, 3>(), nb::keep_alive<1, 4>(), nb::keep_alive<1, 5>(),
            nb::keep_alive<1, 9>(), nb::keep_alive<1, 10>(), nb::keep_alive<1, 12>());
}

// Calls loss(i, w) -> (value, gradient). Solvers work without Python's lock, so each call takes it.
class PythonLosses : public LossField {
   public:
    PythonLosses(nb::callable function, Index blocks, Index dimension, double l2, std::vector<double> sample_weight)
        : LossField(blocks, dimension, l2, std::move(sample_weight)), function_(std::move(function)) {}

    double loss(Index i, const double* w, double* gradient) const override {
        const nb::gil_scoped_acquire lock;
        auto weights = new_array<double, 1>({static_cast<std::size_t>(dimension())});
        std::copy(w, w + dimension(), weights.data());
        const auto [value, found] = nb::cast<std::pair<double, Vector<double>>>(function_(i, weights));
        require(static_cast<Index>(found.shape(0)) == dimension(), "a gradient must have one number for each weight");
        if (gradient) std::copy(found.data(), found.data() + dimension(), gradient);
        return value;
    }

   private:
    nb::callable function_;
};

void bind_losses(nb::module_& m) {
    nb::class_<PythonLosses, GeneralField>(m, "PythonLosses", "Losses given by a function in Python.")
        .def(
            "__init__",
            [](PythonLosses* self, nb::callable function, Index blocks, Index dimension, Values sample_weight,
               double l2) {
                require(blocks >= 1 && dimension >= 1, "there must be a block and a weight");
                require(std::isfinite(l2) && l2 >= 0.0, "l2 must be finite and not negative");
                require(!sample_weight || static_cast<Index>(sample_weight->shape(0)) == blocks,
                        "sample_weight must be as many as blocks");
                std::vector<double> weights;
                if (sample_weight) weights.assign(sample_weight->data(), sample_weight->data() + blocks);
                new (self) PythonLosses(std::move(function), blocks, dimension, l2, std::move(weights));
            },
            "function"_a, "blocks"_a, "dimension"_a, "sample_weight"_a.noconvert().none(), "l2"_a);
}

}  // namespace

void bind_fields(nb::module_& m) {
    bind_general(m);
    bind_multiclass(m);
    bind_losses(m);
}

}  // namespace dualfield
