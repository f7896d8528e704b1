// The threads of this process that wait for work. A team borrows some and gives them back.
//
// If no thread is free the pool makes one, so a team never waits for another team. Teams within teams and teams of
// several callers cannot block each other. Threads that wait sleep, and take no time from those of other
// libraries. Before a process forks, the threads that wait end, so that parent and child begin with an empty pool.
#pragma once

#include <memory>
#include <mutex>
#include <new>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

#include "base/index.hpp"
#include "threads/waiting.hpp"

namespace dualfield {

class Pool {
   public:
    // One thread. A team that has borrowed it gives it one function at a time.
    class Worker {
       public:
        Worker() : thread_([this] { serve(); }) {}

        // work(context, member), on this thread.
        void begin(void (*work)(void*, Index), void* context, Index member) {
            work_ = work;
            context_ = context;
            member_ = member;
            change(kBusy);
        }
        void wait() const {
            wait_until(state_, [](int state) { return state == kIdle; });
        }
        void end() {
            change(kEnded);
            thread_.join();
        }

       private:
        enum State : int { kIdle, kBusy, kEnded };

        void change(State state) {
            state_.store(state, std::memory_order_release);
            state_.notify_all();
        }
        void serve() {
            for (;;) {
                wait_until(state_, [](int state) { return state != kIdle; });
                if (state_.load(std::memory_order_acquire) == kEnded) return;
                work_(context_, member_);
                change(kIdle);
            }
        }

        void (*work_)(void*, Index) = nullptr;
        void* context_ = nullptr;
        Index member_ = 0;
        alignas(64) std::atomic<int> state_{kIdle};
        std::thread thread_;  // the last member: it begins when all others are there
    };
    using Workers = std::vector<std::unique_ptr<Worker>>;

    // It is never taken down, since a thread may still give workers back while the process ends.
    static Pool& of_process() {
        static Pool& pool = *new Pool;
        static const AtExit last{pool};
        return pool;
    }

    // Lends so many threads, or fewer if the system refuses to make one. Then one of the new threads is ended too: the
    // others need the memory of its stack when they begin.
    Workers borrow(Index count) {
        Workers workers;
        Index known = 0;
        try {
            workers.reserve(static_cast<std::size_t>(count));
            {
                const std::lock_guard lock(mutex_);
                for (; known < count && !idle_.empty(); ++known) {
                    workers.push_back(std::move(idle_.back()));
                    idle_.pop_back();
                }
            }
            while (std::ssize(workers) < count) workers.push_back(std::make_unique<Worker>());
            return workers;
        } catch (const std::system_error&) {
        } catch (const std::bad_alloc&) {
        }
        if (std::ssize(workers) > known) {
            workers.back()->end();
            workers.pop_back();
        }
        return workers;
    }

    // Workers without work.
    void give_back(Workers& workers) {
        const std::lock_guard lock(mutex_);
        for (; !workers.empty(); workers.pop_back()) {
            try {
                idle_.push_back(std::move(workers.back()));
            } catch (const std::bad_alloc&) {
                workers.back()->end();
            }
        }
    }

    // Called around a fork, by the thread that forks. The waiting threads end, and no team can borrow one until the
    // fork is over.
    void begin_fork() {
        mutex_.lock();
        forking_ = true;
        end_idle();
    }
    void end_fork() {
        forking_ = false;
        mutex_.unlock();
    }
    // Called in the child. If the pool did not hear of the fork before, its list names threads that only the parent
    // has.
    void begin_as_child() {
        if (forking_) return end_fork();
        for (std::unique_ptr<Worker>& worker : idle_) static_cast<void>(worker.release());
        idle_.clear();
    }

   private:
    struct AtExit {
        Pool& pool;
        ~AtExit() {
#ifndef _WIN32  // where threads have ended before this is called
            const std::lock_guard lock(pool.mutex_);
            pool.end_idle();
#endif
        }
    };

    Pool() = default;

    void end_idle() {
        for (const std::unique_ptr<Worker>& worker : idle_) worker->end();
        idle_.clear();
    }

    std::mutex mutex_;
    bool forking_ = false;
    Workers idle_;
};

}  // namespace dualfield
