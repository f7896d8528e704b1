// The state of a run as a dict of arrays, and back.
#pragma once

#include <algorithm>
#include <string>

#include "base/archive.hpp"
#include "bindings/exclusive.hpp"

namespace dualfield {

class Saver : public Archive {
   public:
    bool loading() const override { return false; }
    void span(const char* name, double* values, Index size) override { save(name, values, size); }
    void span(const char* name, float* values, Index size) override { save(name, values, size); }
    void array(const char* name, std::vector<double>& values) override { state_[name] = to_array(values); }
    void array(const char* name, std::vector<float>& values) override { state_[name] = to_array(values); }
    void array(const char* name, std::vector<Index>& values) override { state_[name] = to_array(values); }
    void array(const char* name, std::vector<std::uint64_t>& values) override { state_[name] = to_array(values); }
    void flexible(const char* name, std::vector<double>& values, Index, Index) override { array(name, values); }
    void permutation(const char* name, std::vector<Index>& order) override { array(name, order); }
    void index(const char* name, Index& value, Index) override { state_[name] = to_array(std::vector<Index>{value}); }
    void bounded(const char* name, std::vector<Index>& values, Index) override { array(name, values); }
    nb::dict state() const { return state_; }

   private:
    template <class T>
    void save(const char* name, const T* values, Index size) {
        auto array = new_array<T, 1>({static_cast<std::size_t>(size)});
        std::copy(values, values + size, array.data());
        state_[name] = array;
    }

    nb::dict state_;
};

// Restoring goes over the state twice, first only to see that it fits, so that a state that does not changes nothing.
class Loader : public Archive {
   public:
    Loader(const nb::dict& state, bool check_only) : state_(state), check_only_(check_only) {}
    bool loading() const override { return !check_only_; }
    void span(const char* name, double* values, Index size) override { load_span(name, values, size); }
    void span(const char* name, float* values, Index size) override { load_span(name, values, size); }
    void array(const char* name, std::vector<double>& values) override { load(name, values); }
    void array(const char* name, std::vector<float>& values) override { load(name, values); }
    void array(const char* name, std::vector<Index>& values) override { load(name, values); }
    void array(const char* name, std::vector<std::uint64_t>& values) override { load(name, values); }

    void flexible(const char* name, std::vector<double>& values, Index unit, Index most) override {
        const auto given = entry<double>(name);
        const Index size = static_cast<Index>(given.shape(0));
        fit(size % unit == 0 && size / unit <= most);
        take(given, values);
    }

    void permutation(const char* name, std::vector<Index>& order) override {
        const auto given = entry<Index>(name);
        std::vector<Index> sorted_old(order), sorted_new(given.data(), given.data() + given.shape(0));
        std::sort(sorted_old.begin(), sorted_old.end());
        std::sort(sorted_new.begin(), sorted_new.end());
        fit(sorted_old == sorted_new);
        take(given, order);
    }

    void index(const char* name, Index& value, Index largest) override {
        const auto given = entry<Index>(name);
        fit(given.shape(0) == 1 && 0 <= given.data()[0] && given.data()[0] <= largest);
        if (!check_only_) value = given.data()[0];
    }

    void bounded(const char* name, std::vector<Index>& values, Index largest) override {
        const auto given = entry<Index>(name);
        fit(given.shape(0) == values.size());
        for (std::size_t k = 0; k < given.shape(0); ++k) fit(0 <= given.data()[k] && given.data()[k] <= largest);
        take(given, values);
    }

   private:
    static void fit(bool condition) { require(condition, "the saved state does not fit this field"); }

    template <class T>
    Vector<T> entry(const char* name) {
        require(state_.contains(name), "the saved state lacks an entry");
        Vector<T> given;
        fit(nb::try_cast(state_[name], given, false));  // of exactly this type: nothing is converted, nothing lost
        return given;
    }

    template <class T>
    void load_span(const char* name, T* values, Index size) {
        const auto given = entry<T>(name);
        fit(static_cast<Index>(given.shape(0)) == size);
        if (!check_only_) std::copy(given.data(), given.data() + size, values);
    }

    template <class T>
    void load(const char* name, std::vector<T>& values) {
        const auto given = entry<T>(name);
        fit(given.shape(0) == values.size());
        take(given, values);
    }

    template <class T>
    void take(const Vector<T>& given, std::vector<T>& values) {
        if (!check_only_) values.assign(given.data(), given.data() + given.shape(0));
    }

    const nb::dict& state_;
    bool check_only_;
};

// `archive` is a function of the solver: what is saved, or restored.
template <class Solver, class Base>
nb::dict save_archive(Solver& solver, void (Base::*archive)(Archive&)) {
    const Exclusive only(&solver);
    Saver saver;
    (solver.*archive)(saver);
    return saver.state();
}
template <class Solver>
nb::dict save_archive(Solver& solver) {
    return save_archive(solver, &Solver::archive);
}

template <class Solver, class Base>
void restore_archive(Solver& solver, const nb::dict& state, void (Base::*archive)(Archive&)) {
    const Exclusive only(&solver);
    Loader check(state, true), load(state, false);
    (solver.*archive)(check);
    (solver.*archive)(load);
}
template <class Solver>
void restore_archive(Solver& solver, const nb::dict& state) {
    restore_archive(solver, state, &Solver::archive);
}

}  // namespace dualfield
