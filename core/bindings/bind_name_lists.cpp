// Sorting and merging lists of names that are too long for one table.
#include <nanobind/stl/string.h>

#include "bindings/arrays.hpp"
#include "bindings/exclusive.hpp"
#include "text/name_merger.hpp"

namespace dualfield {
namespace {

using text::NameList;
using text::NameMerger;
using Bytes = Vector<std::uint8_t>;
using Numbers64 = Vector<std::int64_t>;

NameList list_of(const Bytes& bytes, const Numbers64& bounds, const std::int64_t* counts) {
    require(bounds.shape(0) >= 1 && bounds.data()[0] == 0, "bounds must begin with 0");
    require(never_decreases(bounds), "bounds must not decrease");
    require(bounds.data()[bounds.shape(0) - 1] == static_cast<std::int64_t>(bytes.shape(0)),
            "bounds must end where the bytes do");
    return {{reinterpret_cast<const char*>(bytes.data()), bytes.shape(0)},
            {bounds.data(), bounds.shape(0)},
            {counts, counts ? bounds.shape(0) - 1 : 0}};
}

// The merger, and the arrays that it reads.
class BoundMerger {
   public:
    explicit BoundMerger(const std::vector<std::tuple<Bytes, Numbers64, Numbers64>>& lists)
        : arrays_(lists), merger_(lists_of(lists)) {}

    auto next(std::size_t bytes) {
        const Exclusive only(this);
        NameMerger::Piece piece;
        {
            nb::gil_scoped_release release;
            piece = merger_.next(bytes);
        }
        auto text = new_array<std::uint8_t, 1>({piece.text.size()});
        std::copy(piece.text.begin(), piece.text.end(), text.data());
        nb::list numbers;
        for (const auto& some : piece.numbers) numbers.append(to_array(some));
        return std::make_tuple(text, to_array(piece.bounds), to_array(piece.counts), numbers);
    }

   private:
    static std::vector<NameList> lists_of(const std::vector<std::tuple<Bytes, Numbers64, Numbers64>>& given) {
        std::vector<NameList> lists;
        for (const auto& [bytes, bounds, counts] : given) {
            lists.push_back(list_of(bytes, bounds, counts.data()));
            require(counts.shape(0) == lists.back().size(), "every name needs a count");
        }
        return lists;
    }

    std::vector<std::tuple<Bytes, Numbers64, Numbers64>> arrays_;
    NameMerger merger_;
};

auto sorted_names(Bytes bytes, Numbers64 bounds) {
    const NameList names = list_of(bytes, bounds, nullptr);
    std::vector<std::int64_t> order;
    {
        nb::gil_scoped_release release;
        order = text::sorted_order(names);
    }
    return to_array(order);
}

}  // namespace

void bind_name_lists(nb::module_& m) {
    using namespace nb::literals;
    nb::class_<BoundMerger>(m, "NameMerger", "Sorted lists of names with counts, merged into one.")
        .def(nb::init<const std::vector<std::tuple<Bytes, Numbers64, Numbers64>>&>(), "lists"_a)
        .def("next", &BoundMerger::next, "bytes"_a,
             "(bytes, bounds, counts, the new numbers of the names of each list) of the next names; none at the end");
    m.def("sorted_names", &sorted_names, "bytes"_a.noconvert(), "bounds"_a.noconvert(),
          "The order in which names are sorted.");
}

}  // namespace dualfield
