// The state of a run as a dict of arrays, and back.
#pragma once

#include <algorithm>
#include <string>

#include "bindings/arrays.hpp"
#include "solvers/archive.hpp"

namespace dualfield {

class Saver : public Archive {
   public:
    bool loading() const override { return false; }
    void array(const char* name, std::vector<double>& values) override { state_[name] = to_array(values); }
    void array(const char* name, std::vector<Index>& values) override { state_[name] = to_array(values); }
    void array(const char* name, std::vector<std::uint64_t>& values) override { state_[name] = to_array(values); }
    void permutation(const char* name, std::vector<Index>& values) override { array(name, values); }
    void groups(const char* name, std::vector<double>& values, std::size_t, std::size_t) override {
        array(name, values);
    }
    void counts(const char* name, std::initializer_list<Count> items) override {
        std::vector<Index> values;
        for (const Count& count : items) values.push_back(*count.item);
        array(name, values);
    }
    nb::dict state() const { return state_; }

   private:
    nb::dict state_;
};

// Restoring goes over the state twice, first only to see that it fits, so that a state that does not changes nothing.
class Loader : public Archive {
   public:
    Loader(const nb::dict& state, bool check_only) : state_(state), check_only_(check_only) {}
    bool loading() const override { return !check_only_; }
    void array(const char* name, std::vector<double>& values) override { load(name, values); }
    void array(const char* name, std::vector<Index>& values) override { load(name, values); }
    void array(const char* name, std::vector<std::uint64_t>& values) override { load(name, values); }

    void permutation(const char* name, std::vector<Index>& values) override {
        const auto array = entry<Index>(name);
        std::vector<Index> old(values), found(array.data(), array.data() + array.shape(0));
        std::sort(old.begin(), old.end());
        std::sort(found.begin(), found.end());
        require_fit(old == found);
        take(array, values);
    }

    void groups(const char* name, std::vector<double>& values, std::size_t size, std::size_t most) override {
        const auto array = entry<double>(name);
        require_fit(array.shape(0) % size == 0 && array.shape(0) / size <= most);
        take(array, values);
    }

    void counts(const char* name, std::initializer_list<Count> items) override {
        const auto array = entry<Index>(name);
        require_fit(array.shape(0) == items.size());
        const Index* value = array.data();
        for (const Count& count : items) {
            require_fit(0 <= *value && *value <= count.limit);
            if (!check_only_) *count.item = *value;
            ++value;
        }
    }

   private:
    static void require_fit(bool fits) { require(fits, "the saved state does not fit this field"); }

    template <class T>
    Vector<T> entry(const char* name) {
        require(state_.contains(name), "the saved state lacks an entry");
        Vector<T> array;
        require_fit(nb::try_cast(state_[name], array, false));
        return array;
    }

    template <class T>
    void load(const char* name, std::vector<T>& values) {
        const auto array = entry<T>(name);
        require_fit(array.shape(0) == values.size());
        take(array, values);
    }

    template <class T>
    void take(const Vector<T>& array, std::vector<T>& values) {
        if (!check_only_) values.assign(array.data(), array.data() + array.shape(0));
    }

    const nb::dict& state_;
    bool check_only_;
};

template <class Solver>
nb::dict save_archive(Solver& solver) {
    Saver saver;
    solver.archive(saver);
    return saver.state();
}

template <class Solver>
void restore_archive(Solver& solver, const nb::dict& state) {
    Loader check(state, true), load(state, false);
    solver.archive(check);
    solver.archive(load);
}

}  // namespace dualfield
