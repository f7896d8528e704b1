// A field whose losses are a function in Python.
#include <cmath>

#include "bindings/field_arrays.hpp"
#include "fields/loss_field.hpp"

namespace dualfield {
namespace {

using namespace nb::literals;

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

}  // namespace

void bind_losses(nb::module_& m) {
    nb::class_<PythonLosses, GeneralField>(m, "PythonLosses", "Losses given by a function in Python.")
        .def(
            "__init__",
            [](PythonLosses* self, nb::callable function, Index blocks, Index dimension, Values sample_weight,
               double l2) {
                require(blocks >= 1 && dimension >= 1, "there must be a block and a weight");
                require(std::isfinite(l2) && l2 > 0.0, "l2 must be positive and finite");
                require(!sample_weight || static_cast<Index>(sample_weight->shape(0)) == blocks,
                        "sample_weight must be as many as blocks");
                std::vector<double> weights;
                if (sample_weight) weights.assign(sample_weight->data(), sample_weight->data() + blocks);
                new (self) PythonLosses(std::move(function), blocks, dimension, l2, std::move(weights));
            },
            "function"_a, "blocks"_a, "dimension"_a, "sample_weight"_a.noconvert().none(), "l2"_a);
}

}  // namespace dualfield
