// A few threads that run the same function together, one phase after another.
//
// A team borrows its threads from the pool of the process (pool.hpp) when it first works together, and gives them back
// at its end.
//
// The system may refuse a thread: there are too many, or no memory for its stack. The team is then smaller than asked
// for, which callers see by size(), and missing_threads() tells Python, which warns.
#pragma once

#include <algorithm>
#include <atomic>
#include <exception>
#include <mutex>
#include <utility>

#include "base/compiler.hpp"
#include "base/index.hpp"
#include "threads/pool.hpp"

namespace dualfield {

// The most threads that any team has lacked since this was last set to zero.
inline std::atomic<Index>& missing_threads() {
    static std::atomic<Index> missing{0};
    return missing;
}

class Team {
   public:
    explicit Team(Index size) {
        if (size <= 1) return;
        workers_ = Pool::of_process().borrow(size - 1);
        report_missing(size - this->size());
    }
    ~Team() {
        if (workers_.empty()) return;
        if (at_work_) {
            work_ = nullptr;
            begin();
            for (const auto& worker : workers_) worker->wait();
        }
        Pool::of_process().give_back(workers_);
    }
    Team(const Team&) = delete;
    Team& operator=(const Team&) = delete;

    Index size() const { return static_cast<Index>(workers_.size()) + 1; }

    // Runs body(member) on every member; the caller is member 0. Returns when all are done. An exception of a member is
    // thrown here.
    template <class Body>
    void run(Body&& body) {
        if (workers_.empty()) return body(Index{0});
        if (!at_work_) summon();
        work_ = [](void* b, Index member) { (*static_cast<std::remove_reference_t<Body>*>(b))(member); };
        body_ = const_cast<void*>(static_cast<const void*>(&body));
        waiting_for_.store(static_cast<int>(workers_.size()), std::memory_order_relaxed);
        begin();
        call(0);
        wait_until(waiting_for_, [](int left) { return left == 0; });
        if (failure_) std::rethrow_exception(std::exchange(failure_, nullptr));
    }

    // Runs body(k, member) for all k < n. A member that is free takes the next k.
    template <class Body>
    void for_each(Index n, Body&& body) {
        if (workers_.empty()) {
            for (Index k = 0; k < n; ++k) body(k, Index{0});
            return;
        }
        std::atomic<Index> next{0};
        run([&](Index member) {
            for (Index k; (k = next.fetch_add(1, std::memory_order_relaxed)) < n;) body(k, member);
        });
    }

    // Runs body(first, end) over ranges of about equal size that make up [0, n).
    template <class Body>
    void over_ranges(Index n, Body&& body) {
        run([&](Index member) { body(n * member / size(), n * (member + 1) / size()); });
    }

   private:
    static void report_missing(Index count) {
        Index most = missing_threads().load();
        while (most < count && !missing_threads().compare_exchange_weak(most, count)) {
        }
    }

    void summon() {
        at_work_ = true;
        Index place = 0;
        for (const auto& worker : workers_)
            worker->begin([](void* team, Index member) { static_cast<Team*>(team)->serve(member); }, this, ++place);
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

    Pool::Workers workers_;
    bool at_work_ = false;  // whether the workers serve this team
    void (*work_)(void*, Index) = nullptr;
    void* body_ = nullptr;
    alignas(64) std::atomic<int> phase_{0};        // on a cache line of its own: all members read it
    alignas(64) std::atomic<int> waiting_for_{0};  // on another: all members write it
    std::mutex failing_;
    std::exception_ptr failure_;
};

}  // namespace dualfield
