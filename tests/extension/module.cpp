// What an extension binds: the constructor of its field, and a line for its method.
#include "bindings/methods.hpp"
#include "cautious.hpp"
#include "coins.hpp"

NB_MODULE(extension, m) {
    using namespace dualfield;
    using namespace nb::literals;
    nb::class_<Coins, GeneralField>(m, "Coins")
        .def(
            "__init__",
            [](Coins* self, Input<double, 2> points, Vector<std::int32_t> labels, double l2) {
                require(labels.shape(0) > 0 && points.shape(0) == labels.shape(0), "as many labels as points");
                new (self) Coins({points.data(), points.data() + points.size()},
                                 {labels.data(), labels.data() + labels.size()}, l2);
            },
            "points"_a.noconvert(), "labels"_a.noconvert(), "l2"_a);
    bind_method<Cautious>(m, "Cautious");
}
