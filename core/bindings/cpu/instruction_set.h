/* The best instruction set of this CPU for which a core module may have been built.
 *
 * Features are asked for one by one: not every supported compiler knows the names "x86-64-v2" to "-v4" here.
 */
#ifndef DUALFIELD_BINDINGS_CPU_INSTRUCTION_SET_H
#define DUALFIELD_BINDINGS_CPU_INSTRUCTION_SET_H

static const char* instruction_set(void) {
#if defined(__x86_64__) && (defined(__GNUC__) || defined(__clang__))
    __builtin_cpu_init();
    if (!(__builtin_cpu_supports("ssse3") && __builtin_cpu_supports("sse4.2") && __builtin_cpu_supports("popcnt"))) {
        return "v1";
    }
    if (!(__builtin_cpu_supports("avx2") && __builtin_cpu_supports("bmi") && __builtin_cpu_supports("bmi2") &&
          __builtin_cpu_supports("fma"))) {
        return "v2";
    }
    if (!(__builtin_cpu_supports("avx512f") && __builtin_cpu_supports("avx512bw") &&
          __builtin_cpu_supports("avx512cd") && __builtin_cpu_supports("avx512dq") &&
          __builtin_cpu_supports("avx512vl"))) {
        return "v3";
    }
    return "v4";
#else
    return "generic";
#endif
}

#endif
