// One caller at a time: a run works without Python's lock, so a second thread could enter it, or read it, in the middle
// of an update.
#pragma once

#include <mutex>
#include <stdexcept>
#include <unordered_set>

#include "bindings/arrays.hpp"

namespace dualfield {

// As long as it lives, nobody else has the run. Raised to Python as RuntimeError.
class Exclusive {
   public:
    explicit Exclusive(const void* run) : run_(run) {
        const std::lock_guard lock(mutex());
        if (!in_use().insert(run).second) refuse();
    }
    ~Exclusive() {
        const std::lock_guard lock(mutex());
        in_use().erase(run_);
    }
    Exclusive(const Exclusive&) = delete;
    Exclusive& operator=(const Exclusive&) = delete;

    // Calls a short function while nobody has the run. Whoever wants it meanwhile waits, and is not refused.
    template <class Look>
    static auto at_rest(const void* run, Look look) {
        const std::lock_guard lock(mutex());
        if (in_use().contains(run)) refuse();
        return look();
    }

   private:
    [[noreturn]] static void refuse() {
        throw std::runtime_error(
            "this run is in use by another thread; give each thread an estimator, or a state, of its own.");
    }
    static std::mutex& mutex() {
        static std::mutex one;
        return one;
    }
    static std::unordered_set<const void*>& in_use() {
        static std::unordered_set<const void*> runs;
        return runs;
    }

    const void* run_;
};

// A method of a run for Python: nobody else is in it meanwhile, and Python's lock is free.
template <class Solver, class Result, class Base, class... Arguments>
auto alone(Result (Base::*method)(Arguments...)) {
    return [method](Solver& solver, Arguments... arguments) -> Result {
        const Exclusive only(&solver);
        nb::gil_scoped_release release;
        return (solver.*method)(arguments...);
    };
}
template <class Solver, class Result, class Base, class... Arguments>
auto alone(Result (Base::*method)(Arguments...) const) {
    return [method](const Solver& solver, Arguments... arguments) -> Result {
        const Exclusive only(&solver);
        nb::gil_scoped_release release;
        return (solver.*method)(arguments...);
    };
}

// What a run tells without work, for Python.
template <class Solver, class Result, class Base>
auto at_rest(Result (Base::*getter)() const) {
    return [getter](const Solver& solver) -> Result {
        return Exclusive::at_rest(&solver, [&] { return (solver.*getter)(); });
    };
}

}  // namespace dualfield
