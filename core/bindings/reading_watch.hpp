// A watch over reading for Python: between pieces of a text it sees Ctrl-C, and calls a function.
#pragma once

#include <nanobind/nanobind.h>

#include "text/watch.hpp"

namespace dualfield {

// The function takes how many bytes have been read, and how many there are; None: only Ctrl-C is seen. To be made and
// destroyed with Python's lock held; the reader works without it.
inline text::Watch reading_watch(const nanobind::object& progress, std::size_t total) {
    return [&progress, total](std::size_t done) {
        const nanobind::gil_scoped_acquire acquire;
        if (PyErr_CheckSignals() != 0) throw nanobind::python_error();
        if (!progress.is_none()) progress(done, total);
    };
}

}  // namespace dualfield
