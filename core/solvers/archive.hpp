// What the state of a run consists of, listed once for saving and for restoring.
//
// A run has a function archive(Archive&) that names each of its vectors and numbers; saving reads them, restoring
// writes them. Sizes are fixed by the field, except in `groups`. What the run uses as an index goes through `permutation`
// or `counts`, so that a damaged state cannot lead it outside its arrays.
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

    // The same numbers in any order.
    virtual void permutation(const char* name, std::vector<Index>& values) = 0;

    // Whole groups of so many numbers, and not more groups than that.
    virtual void groups(const char* name, std::vector<double>& values, std::size_t size, std::size_t most) = 0;

    // Numbers from zero to their limits.
    struct Count {
        Index* item;
        Index limit;
    };
    virtual void counts(const char* name, std::initializer_list<Count> items) = 0;

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
