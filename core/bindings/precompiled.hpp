// What nearly all sources of the bindings include.
#pragma once

#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include "bindings/archives.hpp"
#include "bindings/field_arrays.hpp"
#include "bindings/field_checks.hpp"
#include "fields/prediction.hpp"
