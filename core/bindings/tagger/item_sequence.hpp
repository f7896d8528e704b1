// A sequence that is encoded already: attributes by position, one behind the other.
#pragma once

#include <string>
#include <vector>

#include "bindings/tagger/encoding.hpp"

namespace dualfield::tagging {

struct EncodedSequence {
    struct Attribute {
        std::size_t begin, length;
        double value;
    };

    std::string names;  // a zero byte follows each
    std::vector<Attribute> attributes;
    std::vector<std::size_t> starts;  // of positions, among the attributes

    void begin_position() { starts.push_back(attributes.size()); }
    void attribute(const char* name, std::size_t length, double value) {
        attributes.push_back({names.size(), length, value});
        names.append(name, length + 1);
    }

    // Gives everything to another sink.
    template <class Sink>
    void replay(Sink& sink) const {
        for (std::size_t t = 0; t < starts.size(); ++t) {
            sink.begin_position();
            const std::size_t end = t + 1 < starts.size() ? starts[t + 1] : attributes.size();
            for (std::size_t i = starts[t]; i < end; ++i)
                sink.attribute(&names[attributes[i].begin], attributes[i].length, attributes[i].value);
        }
    }
};

// What is encoded is never changed, only replaced: whoever uses it holds it.
struct ItemSequenceObject {
    PyObject base;
    std::shared_ptr<const EncodedSequence> sequence;
};

inline std::shared_ptr<const EncodedSequence> encoded_sequence(PyObject* self) {
    const ObjectLock lock(self);
    return reinterpret_cast<ItemSequenceObject*>(self)->sequence;
}

}  // namespace dualfield::tagging
