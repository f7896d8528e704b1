// Drives one target without libFuzzer: g++ and its sanitizers are enough.
//
// The target is compiled with -fsanitize-coverage=trace-pc, so that every basic block calls __sanitizer_cov_trace_pc. A
// pair of blocks that follow each other is an edge; an input that takes an edge a new number of times, counted in
// powers of two, is kept and mutated further. The same seed gives the same inputs.
//
// A child runs the target and keeps the present input in memory that it shares with its parent. When the child dies, by
// a sanitizer, a claim, an exception that nobody catches or the time limit, the parent writes that input to a file, and
// a new child goes on.

#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <random>
#include <string>
#include <vector>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size);

// Leaks of a child that ends early say nothing. An allocation of a gigabyte from 2 KiB of input is a defect.
extern "C" const char* __asan_default_options() {
    return "detect_leaks=0:quarantine_size_mb=8:malloc_context_size=12:max_allocation_size_mb=1024:handle_abort=1";
}
extern "C" const char* __ubsan_default_options() { return "print_stacktrace=1"; }

namespace {

using Input = std::vector<std::uint8_t>;
namespace fs = std::filesystem;

constexpr std::size_t kLongest = 2048, kMap = 1 << 16;
constexpr int kSecondsAnInput = 10;

struct Shared {
    std::uint64_t inputs, loaded, pairs, begun_with, kept;
    std::size_t size;
    std::uint8_t input[kLongest];
    std::uint8_t seen[kMap];  // which counts of an edge have occurred, a bit each
};
Shared* shared = nullptr;

// ---- coverage -----------------------------------------------------------------------------------------------------

std::uint8_t counts[kMap];
std::uint32_t touched[kMap];
std::size_t touched_size = 0;
std::uintptr_t block_before = 0;

std::uint8_t bucket(std::uint8_t count) {
    if (count < 4) return static_cast<std::uint8_t>(1 << (count - 1));
    return count < 8 ? 8 : count < 16 ? 16 : count < 32 ? 32 : count < 128 ? 64 : 128;
}

// Whether the run that has ended took an edge a new number of times.
bool anything_new() {
    bool found = false;
    for (std::size_t n = 0; n < touched_size; ++n) {
        const std::uint8_t bit = bucket(counts[touched[n]]);
        if (shared->seen[touched[n]] & bit) continue;
        shared->seen[touched[n]] |= bit;
        ++shared->pairs;
        found = true;
    }
    return found;
}

void forget_run() {
    for (std::size_t n = 0; n < touched_size; ++n) counts[touched[n]] = 0;
    touched_size = 0;
    block_before = 0;
}

}  // namespace

extern "C" __attribute__((no_sanitize("address"), no_sanitize("undefined"))) void __sanitizer_cov_trace_pc() {
    // Relative to this function: the same wherever the system has loaded the program.
    const auto here = reinterpret_cast<std::uintptr_t>(__builtin_return_address(0)) -
                      reinterpret_cast<std::uintptr_t>(&__sanitizer_cov_trace_pc);
    const std::uintptr_t block = (here * 0x9E3779B97F4A7C15u) >> 40;
    const std::uint32_t edge = static_cast<std::uint32_t>((block ^ block_before) % kMap);
    block_before = block >> 1;
    if (counts[edge] == 0) touched[touched_size++] = edge;
    if (counts[edge] < 255) ++counts[edge];
}

namespace {

// ---- one input ----------------------------------------------------------------------------------------------------

volatile std::sig_atomic_t seconds_of_this_input = 0;

void tick(int) {
    seconds_of_this_input = seconds_of_this_input + 1;
    if (seconds_of_this_input <= kSecondsAnInput) return;
    constexpr char said[] = "fuzz: an input took more than 10 s\n";
    [[maybe_unused]] const auto written = write(2, said, sizeof said - 1);
    std::abort();  // the sanitizer then shows where
}

void begin_ticking() {
    std::signal(SIGALRM, tick);
    const itimerval every_second{{1, 0}, {1, 0}};
    setitimer(ITIMER_REAL, &every_second, nullptr);
}

bool run(const Input& input) {
    shared->size = input.size();
    if (!input.empty()) std::memcpy(shared->input, input.data(), input.size());
    ++shared->inputs;
    seconds_of_this_input = 0;
    forget_run();
    LLVMFuzzerTestOneInput(input.data(), input.size());
    return anything_new();
}

// ---- mutations ----------------------------------------------------------------------------------------------------

class Mutator {
   public:
    Mutator(std::uint64_t seed, std::vector<Input> dictionary) : random_(seed), dictionary_(std::move(dictionary)) {}

    Input next(const std::vector<Input>& corpus) {
        const Input &one = corpus[chosen(corpus.size())], &other = corpus[chosen(corpus.size())];
        Input input = below(4) && other.size() < one.size() ? other : one;  // short inputs run fast
        for (std::size_t n = std::size_t{1} << below(4); n > 0; --n) mutate(input, corpus);
        if (input.size() > kLongest) input.resize(kLongest);
        return input;
    }

   private:
    std::size_t below(std::size_t n) { return n == 0 ? 0 : static_cast<std::size_t>(random_() % n); }
    // Half of the time one of the last that were found.
    std::size_t chosen(std::size_t n) { return below(2) ? below(n) : n - 1 - below(std::min<std::size_t>(n, 16)); }

    void mutate(Input& input, const std::vector<Input>& corpus) {
        switch (below(12)) {
            case 0:
                if (!input.empty()) input[below(input.size())] ^= static_cast<std::uint8_t>(1 << below(8));
                break;
            case 1:
                if (!input.empty()) input[below(input.size())] = static_cast<std::uint8_t>(random_());
                break;
            case 2:
                if (!input.empty()) input[below(input.size())] = awkward_byte();
                break;
            case 3:  // a number of 1, 2, 4 or 8 bytes
                overwrite(input, number());
                break;
            case 4:
                put(input, number());
                break;
            case 5: {
                const std::size_t begin = below(input.size()), size = below(std::min<std::size_t>(64, input.size()));
                const auto first = input.begin() + static_cast<std::ptrdiff_t>(begin);
                input.erase(first, first + static_cast<std::ptrdiff_t>(std::min(size, input.size() - begin)));
                break;
            }
            case 6:
                put(input, piece(input, 64));
                break;
            case 7:  // the same piece again and again: long runs
                for (Input repeated = piece(input, 8); below(32) && input.size() < kLongest;) put(input, repeated);
                break;
            case 8:
                if (!dictionary_.empty()) put(input, dictionary_[below(dictionary_.size())]);
                break;
            case 9:
                if (!dictionary_.empty()) overwrite(input, dictionary_[below(dictionary_.size())]);
                break;
            case 10:  // the beginning of one and the end of another
                if (const Input& other = corpus[below(corpus.size())]; !other.empty()) {
                    input.resize(below(input.size() + 1));
                    input.insert(input.end(), other.begin() + static_cast<std::ptrdiff_t>(below(other.size())),
                                 other.end());
                }
                break;
            default:
                overwrite(input, piece(corpus[below(corpus.size())], 128));
        }
    }

    std::uint8_t awkward_byte() {
        constexpr std::uint8_t bytes[] = {0, 1, 9, 10, 13, 32, 64, 127, 128, 192, 240, 255, ':', '\\', '@', '-'};
        return bytes[below(std::size(bytes))];
    }

    Input number() {
        constexpr std::uint64_t awkward[] = {0, 1, 127, 128, 255, 256, 32767, 65535, 1u << 31, ~0u, 1ull << 62, ~0ull};
        std::uint64_t value = below(2) ? awkward[below(std::size(awkward))] : below(300);
        Input bytes(std::size_t{1} << below(4));
        for (std::uint8_t& byte : bytes) byte = static_cast<std::uint8_t>(value), value >>= 8;
        return bytes;
    }

    Input piece(const Input& input, std::size_t most) {
        if (input.empty()) return {awkward_byte()};
        const std::size_t begin = below(input.size()), size = 1 + below(std::min(most, input.size() - begin));
        const auto first = input.begin() + static_cast<std::ptrdiff_t>(begin);
        return {first, first + static_cast<std::ptrdiff_t>(size)};
    }

    void put(Input& input, const Input& bytes) {
        const Input copied = bytes;
        input.insert(input.begin() + static_cast<std::ptrdiff_t>(below(input.size() + 1)), copied.begin(),
                     copied.end());
    }

    void overwrite(Input& input, const Input& bytes) {
        if (input.empty()) return;
        const std::size_t begin = below(input.size()), size = std::min(bytes.size(), input.size() - begin);
        std::copy_n(bytes.begin(), size, input.begin() + static_cast<std::ptrdiff_t>(begin));
    }

    std::mt19937_64 random_;
    std::vector<Input> dictionary_;
};

// ---- files --------------------------------------------------------------------------------------------------------

Input content_of(const fs::path& path) {
    std::ifstream file(path, std::ios::binary);
    Input content{std::istreambuf_iterator<char>(file), {}};
    if (content.size() > kLongest) content.resize(kLongest);
    return content;
}

// Files, and the files of folders by their names.
std::vector<fs::path> files_of(const std::vector<fs::path>& given) {
    std::vector<fs::path> files;
    for (const fs::path& path : given) {
        if (!fs::is_directory(path)) {
            files.push_back(path);
            continue;
        }
        std::vector<fs::path> inside(fs::directory_iterator(path), {});
        std::sort(inside.begin(), inside.end());
        files.insert(files.end(), inside.begin(), inside.end());
    }
    return files;
}

void save(const fs::path& folder, const std::uint8_t* data, std::size_t size) {
    std::uint64_t hash = 14695981039346656037ull;
    for (std::size_t n = 0; n < size; ++n) hash = (hash ^ data[n]) * 1099511628211ull;
    char name[32];
    std::snprintf(name, sizeof name, "%016llx", static_cast<unsigned long long>(hash));
    fs::create_directories(folder);
    std::ofstream(folder / name, std::ios::binary)
        .write(reinterpret_cast<const char*>(data), static_cast<std::streamsize>(size));
    if (folder.filename() == "crashes") std::fprintf(stderr, "fuzz: the input is in %s\n", (folder / name).c_str());
}

// libFuzzer's format: a string in quotes a line, \xNN for a byte.
std::vector<Input> read_dictionary(const std::string& path) {
    std::vector<Input> tokens;
    std::ifstream file(path);
    for (std::string line; std::getline(file, line);) {
        const std::size_t begin = line.find('"'), end = line.rfind('"');
        if (line.starts_with('#') || begin == line.npos || begin == end) continue;
        Input token;
        for (std::size_t n = begin + 1; n < end; ++n) {
            if (line[n] == '\\' && line[n + 1] == 'x') {
                token.push_back(static_cast<std::uint8_t>(std::stoi(line.substr(n + 2, 2), nullptr, 16)));
                n += 3;
            } else {
                n += line[n] == '\\';
                token.push_back(static_cast<std::uint8_t>(line[n]));
            }
        }
        tokens.push_back(token);
    }
    return tokens;
}

// ---- the run ------------------------------------------------------------------------------------------------------

struct Options {
    std::string name = "target", dictionary;
    fs::path finds = "finds";
    double seconds = 0.0;  // of mutation; 0: the given files only
    std::uint64_t seed = 1;
    int most_crashes = 5;
    std::vector<fs::path> given;
};

Options parsed(int count, char** arguments) {
    Options options;
    for (int n = 1; n < count; ++n) {
        const std::string word = arguments[n];
        if (!word.starts_with("--")) {
            options.given.emplace_back(word);
            continue;
        }
        const std::string value = n + 1 < count ? arguments[++n] : "";
        if (word == "--name")
            options.name = value;
        else if (word == "--dictionary")
            options.dictionary = value;
        else if (word == "--finds")
            options.finds = value;
        else if (word == "--seconds")
            options.seconds = std::stod(value);
        else if (word == "--seed")
            options.seed = std::stoull(value);
        else if (word == "--most-crashes")
            options.most_crashes = std::stoi(value);
        else {
            std::fprintf(stderr, "driver: unknown option %s\n", word.c_str());
            std::exit(2);
        }
    }
    return options;
}

using Clock = std::chrono::steady_clock;

// In the child. Inputs that an earlier child has loaded, also one that ended it, are not run again.
void fuzz(const Options& options, Clock::time_point until) {
    begin_ticking();
    std::vector<Input> corpus;
    const std::vector<fs::path> files = files_of(options.given);
    for (std::size_t n = 0; n < files.size(); ++n) {
        corpus.push_back(content_of(files[n]));
        if (n < shared->loaded) continue;
        shared->loaded = n + 1;
        run(corpus.back());
    }
    if (shared->begun_with == 0) shared->begun_with = shared->pairs;
    if (options.seconds <= 0.0) return;
    if (fs::is_directory(options.finds / "kept"))
        for (const fs::path& path : files_of({options.finds / "kept"})) corpus.push_back(content_of(path));
    if (corpus.empty()) corpus.emplace_back();
    Mutator mutator(options.seed + 1000003 * shared->inputs, read_dictionary(options.dictionary));
    for (std::uint64_t n = 0; n % 16 != 0 || Clock::now() < until; ++n) {
        Input input = mutator.next(corpus);
        if (!run(input)) continue;
        save(options.finds / "kept", input.data(), input.size());
        corpus.push_back(std::move(input));
        ++shared->kept;
    }
}

}  // namespace

int main(int count, char** arguments) {
    const Options options = parsed(count, arguments);
    void* memory = mmap(nullptr, sizeof(Shared), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (memory == MAP_FAILED) return 2;
    shared = static_cast<Shared*>(memory);
    const auto begin = Clock::now();
    const auto until =
        begin + std::chrono::duration_cast<Clock::duration>(std::chrono::duration<double>(options.seconds));
    int crashes = 0;
    while (crashes < options.most_crashes) {
        const pid_t child = fork();
        if (child < 0) return 2;
        if (child == 0) {
            fuzz(options, until);
            _exit(0);
        }
        int status = 0;
        waitpid(child, &status, 0);
        if (WIFEXITED(status) && WEXITSTATUS(status) == 0) break;
        ++crashes;
        save(options.finds / "crashes", shared->input, shared->size);
    }
    const double seconds = std::chrono::duration<double>(Clock::now() - begin).count();
    std::printf("fuzz target=%s inputs=%llu per_second=%.0f pairs=%llu new=%llu kept=%llu crashes=%d\n",
                options.name.c_str(), static_cast<unsigned long long>(shared->inputs),
                static_cast<double>(shared->inputs) / seconds, static_cast<unsigned long long>(shared->pairs),
                static_cast<unsigned long long>(shared->pairs - shared->begun_with),
                static_cast<unsigned long long>(shared->kept), crashes);
    return crashes == 0 ? 0 : 1;
}
