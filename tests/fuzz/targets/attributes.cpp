// Attribute files: what is read and can be written reads back as the same labels, attributes, values and weights.
#include <map>
#include <stdexcept>

#include "choices.hpp"
#include "text/attribute_reader.hpp"
#include "text/attribute_writer.hpp"

using namespace dualfield::text;

namespace {

void check(const AttributeFile& file, std::size_t names) {
    const auto& [indptr, indices, values, table] = file.attributes;
    fuzz::claim(file.offsets.front() == 0 && file.offsets.back() == static_cast<std::int64_t>(file.labels.size()),
                "offsets begin with 0 and end at the tokens' number");
    fuzz::claim(indptr.size() == file.labels.size() + 1, "every token has its attributes");
    fuzz::claim(indptr.back() == static_cast<std::int64_t>(indices.size()), "indptr ends at the entries");
    fuzz::claim(values.empty() || values.size() == indices.size(), "every entry has a value");
    fuzz::claim(file.weights.empty() || file.weights.size() + 1 == file.offsets.size(), "every sequence has a weight");
    for (std::size_t t = 0; t + 1 < indptr.size(); ++t)
        for (auto e = static_cast<std::size_t>(indptr[t]); e < static_cast<std::size_t>(indptr[t + 1]); ++e) {
            fuzz::claim(indices[e] >= 0 && static_cast<std::size_t>(indices[e]) < names, "a code names an attribute");
            fuzz::claim(static_cast<std::int64_t>(e) == indptr[t] || indices[e - 1] < indices[e], "codes increase");
        }
}

// By names, since an attribute that is left out may have had a number.
std::map<std::string, double> attributes_at(const AttributeFile& file, std::size_t t) {
    std::map<std::string, double> found;
    const EncodedTokens& attributes = file.attributes;
    for (auto e = static_cast<std::size_t>(attributes.indptr[t]);
         e < static_cast<std::size_t>(attributes.indptr[t + 1]); ++e)
        found[std::string((*attributes.names)[attributes.indices[e]])] =
            attributes.values.empty() ? 1.0 : attributes.values[e];
    return found;
}

void check_round_trip(const AttributeFile& file) {
    const EncodedTokens& attributes = file.attributes;
    std::string written;
    try {
        written = written_attributes({file.offsets, attributes.indptr, attributes.indices,
                                      attributes.values.empty() ? nullptr : attributes.values.data(), file.labels,
                                      file.weights.empty() ? nullptr : file.weights.data()},
                                     *attributes.names, file.label_names);
    } catch (const std::invalid_argument&) {
        return;  // a name that cannot be written
    }
    const AttributeFile again = AttributeReader(nullptr, 1).read(written);
    check(again, again.attributes.names->size());
    fuzz::claim(again.offsets == file.offsets, "sequences read back");
    fuzz::claim(again.weights == file.weights, "weights read back");
    for (std::size_t t = 0; t < file.labels.size(); ++t) {
        fuzz::claim(again.label_names[again.labels[t]] == file.label_names[file.labels[t]], "labels read back");
        fuzz::claim(attributes_at(again, t) == attributes_at(file, t), "attributes read back");
    }
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
    fuzz::Choices choices(data, size);
    const fuzz::Choices::Rest rest(choices);
    try {
        AttributeFile file = AttributeReader(nullptr, 1).read(rest.text());
        check(file, file.attributes.names->size());
        check_round_trip(file);
        const std::shared_ptr<const StringTable> names = file.attributes.names;
        const AttributeFile again = AttributeReader(names, 7).read(rest.text());
        check(again, names->size());
        fuzz::claim(again.attributes.indices == file.attributes.indices, "a given table gives the same numbers");
        fuzz::claim(again.attributes.values == file.attributes.values, "a given table gives the same values");
    } catch (const std::invalid_argument&) {  // a line at fault
    }
    return 0;
}
