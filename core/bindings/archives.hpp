// The state of a run as a dict of arrays, and back.
#pragma once

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
    void flexible(const char* name, std::vector<double>& values) override { state_[name] = to_array(values); }
    nb::dict state() const { return state_; }

   private:
    nb::dict state_;
};

// Restoring goes over the state twice, first only to see that it fits, so that a state that does not changes nothing.
class Loader : public Archive {
   public:
    Loader(const nb::dict& state, bool check_only) : state_(state), check_only_(check_only) {}
    bool loading() const override { return !check_only_; }
    void array(const char* name, std::vector<double>& values) override { load(name, values, true); }
    void array(const char* name, std::vector<Index>& values) override { load(name, values, true); }
    void array(const char* name, std::vector<std::uint64_t>& values) override { load(name, values, true); }
    void flexible(const char* name, std::vector<double>& values) override { load(name, values, false); }

   private:
    template <class T>
    void load(const char* name, std::vector<T>& values, bool fixed) {
        require(state_.contains(name), "the saved state lacks an entry");
        Vector<T> array;
        require(nb::try_cast(state_[name], array) && (!fixed || array.shape(0) == values.size()),
                "the saved state does not fit this field");
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
