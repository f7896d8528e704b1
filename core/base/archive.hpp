// The state of a run: one list of its parts serves for saving and for restoring.
//
// A run has a function archive(Archive&) that names each of its vectors and numbers; saving reads them, restoring
// writes them. A state may come from an untrusted file, so every number that is used as an index is checked.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <vector>

#include "base/random.hpp"

namespace dualfield {

class Archive {
   public:
    virtual ~Archive() = default;

    virtual bool loading() const = 0;

    // An array whose size the field fixes.
    virtual void span(const char* name, double* values, Index size) = 0;
    virtual void span(const char* name, float* values, Index size) = 0;
    virtual void array(const char* name, std::vector<double>& values) = 0;
    virtual void array(const char* name, std::vector<float>& values) = 0;
    virtual void array(const char* name, std::vector<Index>& values) = 0;
    virtual void array(const char* name, std::vector<std::uint64_t>& values) = 0;

    // An array whose size may change: a multiple of `unit` numbers, at most `most` times.
    virtual void flexible(const char* name, std::vector<double>& values, Index unit, Index most) = 0;

    virtual void permutation(const char* name, std::vector<Index>& order) = 0;
    virtual void index(const char* name, Index& value, Index largest) = 0;
    virtual void bounded(const char* name, std::vector<Index>& values,
                         Index largest) = 0;  // of a known size, from 0 on

    template <class T>
    void scalars(const char* name, std::initializer_list<T*> items) {
        listed(items, [&](std::vector<T>& values) { array(name, values); });
    }

    // Numbers that go up from zero, so far from the largest that adding to them cannot overflow.
    void counters(const char* name, std::vector<Index>& values) { bounded(name, values, kLargestCounter); }
    void counters(const char* name, std::initializer_list<Index*> items) {
        listed(items, [&](std::vector<Index>& values) { bounded(name, values, kLargestCounter); });
    }

    void flag(const char* name, bool& value) {
        Index number = value ? 1 : 0;
        index(name, number, 1);
        value = number != 0;
    }

    void generator(const char* name, Random& random) {
        Random::State words = random.state();
        scalars<std::uint64_t>(name, {&words[0], &words[1], &words[2], &words[3]});
        random.set_state(words);
    }

   private:
    static constexpr Index kLargestCounter = Index{1} << 60;

    template <class T, class Body>
    static void listed(std::initializer_list<T*> items, Body&& body) {
        std::vector<T> values;
        for (const T* item : items) values.push_back(*item);
        body(values);
        auto value = values.begin();
        for (T* item : items) *item = *value++;
    }
};

}  // namespace dualfield
