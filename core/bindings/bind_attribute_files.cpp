// CRFsuite's attribute files: bytes in, arrays out, and back.
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>

#include <array>

#include "bindings/arrays.hpp"
#include "bindings/reading_watch.hpp"
#include "text/attribute_reader.hpp"
#include "text/attribute_writer.hpp"

namespace dualfield {
namespace {

using SharedTable = std::shared_ptr<text::StringTable>;

auto read_attributes(nb::bytes data, SharedTable names, std::int64_t first_line, const nb::object& progress) {
    const std::string_view bytes(data.c_str(), data.size());
    const text::Watch watch = reading_watch(progress, bytes.size());
    text::AttributeFile file;
    {
        nb::gil_scoped_release release;
        file = text::AttributeReader(names, first_line).read(bytes, watch);
    }
    std::optional<Output<double, 1>> values, weights;
    if (!file.attributes.values.empty()) values = to_array(file.attributes.values);
    if (!file.weights.empty()) weights = to_array(file.weights);
    return std::make_tuple(to_array(file.offsets), to_array(file.attributes.indptr), to_array(file.attributes.indices),
                           values, file.attributes.names,
                           std::make_shared<text::StringTable>(std::move(file.label_names)), to_array(file.labels),
                           weights);
}

nb::bytes write_attributes(Vector<std::int64_t> offsets, Vector<std::int64_t> indptr, Vector<text::Code> indices,
                           std::optional<Vector<double>> values, SharedTable names, SharedTable label_names,
                           Vector<text::Code> labels, std::optional<Vector<double>> weights) {
    const std::size_t sequences = offsets.shape(0) - 1, positions = indptr.shape(0) - 1, entries = indices.shape(0);
    require(offsets.shape(0) >= 1 && indptr.shape(0) >= 1, "offsets and indptr must not be empty");
    require(offsets.data()[sequences] == static_cast<std::int64_t>(positions), "offsets must end at the positions");
    require(indptr.data()[positions] == static_cast<std::int64_t>(entries), "indptr must end at the entries");
    require(labels.shape(0) == positions, "every position needs a label");
    require(!values || values->shape(0) == entries, "every entry needs a value");
    require(!weights || weights->shape(0) == sequences, "every sequence needs a weight");
    const text::AttributeArrays arrays{{offsets.data(), sequences + 1}, {indptr.data(), positions + 1},
                                       {indices.data(), entries},       values ? values->data() : nullptr,
                                       {labels.data(), positions},      weights ? weights->data() : nullptr};
    std::string written;
    {
        nb::gil_scoped_release release;
        written = text::written_attributes(arrays, *names, *label_names);
    }
    return nb::bytes(written.data(), written.size());
}

}  // namespace

void bind_attribute_files(nb::module_& m) {
    using namespace nb::literals;
    m.def("read_attributes", &read_attributes, "data"_a, "names"_a.none(), "first_line"_a,
          "progress"_a.none() = nb::none(),
          "(offsets, indptr, indices, values or None, new names or None, names of labels, labels, weights or None)");
    m.def("write_attributes", &write_attributes, "offsets"_a.noconvert(), "indptr"_a.noconvert(),
          "indices"_a.noconvert(), "values"_a.none().noconvert(), "names"_a, "label_names"_a, "labels"_a.noconvert(),
          "weights"_a.none().noconvert());
}

}  // namespace dualfield
