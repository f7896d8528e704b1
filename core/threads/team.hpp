// A few threads that work on the same thing, in phases.
//
// A team lives as long as one slice of work: nothing of it is left when a solver returns to its caller, so that
// processes may fork between slices and no pool competes with those of other libraries.
//
// The system may refuse a thread: there are too many, or no memory for its stack. The team is then smaller than asked
// for, which callers see by size(), and missing_threads() tells Python, which warns.
#pragma once

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <new>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "base/compiler.hpp"
#include "base/index.hpp"

namespace dualfield {

// The most threads that any team has lacked since this was last set to zero.
inline std::atomic<Index>& missing_threads() {
    static std::atomic<Index> missing{0};
    return missing;
}

class Team {
   public:
    explicit Team(Index size) {
        try {
            threads_.reserve(static_cast<std::size_t>(size - 1));
            for (Index member = 1; member < size; ++member) threads_.emplace_back([this, member] { serve(member); });
        } catch (const std::system_error&) {
            report_missing(size - this->size());
        } catch (const std::bad_alloc&) {
            report_missing(size - this->size());
        }
    }
    ~Team() {
        work_ = nullptr;
        begin();
        for (std::thread& thread : threads_) thread.join();
    }
    Team(const Team&) = delete;
    Team& operator=(const Team&) = delete;

    Index size() const { return static_cast<Index>(threads_.size()) + 1; }

    // body(member) on every member, the caller being member 0; returns when all are done. What one of them throws is
    // thrown here.
    template <class Body>
    void run(Body&& body) {
        if (threads_.empty()) return body(Index{0});
        work_ = [](void* b, Index member) { (*static_cast<std::remove_reference_t<Body>*>(b))(member); };
        body_ = const_cast<void*>(static_cast<const void*>(&body));
        waiting_for_.store(static_cast<int>(threads_.size()), std::memory_order_relaxed);
        begin();
        call(0);
        wait_until(waiting_for_, [](int left) { return left == 0; });
        if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
    }

    // body(k, member) for all k < n, each on the member that is free first.
    template <class Body>
    void for_each(Index n, Body&& body) {
        if (threads_.empty()) {
            for (Index k = 0; k < n; ++k) body(k, Index{0});
            return;
        }
        std::atomic<Index> next{0};
        run([&](Index member) {
            for (Index k; (k = next.fetch_add(1, std::memory_order_relaxed)) < n;) body(k, member);
        });
    }

    // body(first, end) over ranges of about equal size that make up [0, n).
    template <class Body>
    void over_ranges(Index n, Body&& body) {
        run([&](Index member) { body(n * member / size(), n * (member + 1) / size()); });
    }

    // A thread that waits looks again so many times, with a pause in between, before it lets others run.
    static constexpr int kLooks = 4000;
    static void pause() { pause_processor(); }

   private:
    static void report_missing(Index count) {
        Index most = missing_threads().load();
        while (most < count && !missing_threads().compare_exchange_weak(most, count)) {
        }
    }

    void begin() {
        phase_.fetch_add(1, std::memory_order_release);
        phase_.notify_all();
    }

    void serve(Index member) {
        for (int seen = 0;;) {
            wait_until(phase_, [&](int phase) { return phase != seen; });
            ++seen;
            if (!work_) return;
            call(member);
            if (waiting_for_.fetch_sub(1, std::memory_order_acq_rel) == 1) waiting_for_.notify_one();
        }
    }

    void call(Index member) {
        try {
            work_(body_, member);
        } catch (...) {
            const std::lock_guard lock(failing_);
            failure_ = std::current_exception();
        }
    }

    // Phases last some hundred microseconds: looking again for a while is cheaper than going to sleep.
    template <class Condition>
    static void wait_until(const std::atomic<int>& value, Condition&& condition) {
        for (int look = 0; look < kLooks; ++look) {
            if (condition(value.load(std::memory_order_acquire))) return;
            pause();
        }
        for (int now; !condition(now = value.load(std::memory_order_acquire));)
            value.wait(now, std::memory_order_acquire);
    }

    std::vector<std::thread> threads_;
    void (*work_)(void*, Index) = nullptr;
    void* body_ = nullptr;
    std::atomic<int> phase_{0}, waiting_for_{0};
    std::mutex failing_;
    std::exception_ptr failure_;
};

}  // namespace dualfield
