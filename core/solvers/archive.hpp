// What the state of a run consists of, listed once for saving and for restoring.
//
// A run has a function archive(Archive&) that names each of its vectors and numbers; saving reads them, restoring
// writes them. Sizes are fixed by the field, except where `flexible` says so.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <vector>

#include "math/random.hpp"

namespace dualfield {

class Archive {
   public:
    virtual ~Archive() = default;

    virtual bool loading() const = 0;
    virtual void array(const char* name, std::vector<double>& values) = 0;
    virtual void array(const char* name, std::vector<Index>& values) = 0;
    virtual void array(const char* name, std::vector<std::uint64_t>& values) = 0;
    virtual void flexible(const char* name, std::vector<double>& values) = 0;

    template <class T>
    void scalars(const char* name, std::initializer_list<T*> items) {
        std::vector<T> values;
        for (const T* item : items) values.push_back(*item);
        array(name, values);
        auto value = values.begin();
        for (T* item : items) *item = *value++;
    }

    void generator(const char* name, Random& random) {
        Random::State words = random.state();
        scalars<std::uint64_t>(name, {&words[0], &words[1], &words[2], &words[3]});
        random.set_state(words);
    }
};

}  // namespace dualfield
