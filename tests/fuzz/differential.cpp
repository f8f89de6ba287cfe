/* SPDX-License-Identifier: Apache-2.0 */
/* The FlatBuffers library is the oracle: what our verifier accepts, flatbuffers::Verifier accepts
 * too, with the schema that flatc compiles to C++. differential FILE.ipex... --mutations N; TAP.
 * (Ours refuses more: the header, sharing, nesting.) */
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <string>
#include <vector>

#include "model_generated.h"

extern "C" {
#include "tests/fuzz/verify.h"
#include "tests/fuzz/mutate.h"
}

static std::vector<uint8_t> read_metadata(const char *path) {
    uint8_t header[128];
    uint64_t size = 0;
    std::FILE *file = std::fopen(path, "rb");
    if (!file || std::fread(header, 1, sizeof header, file) != sizeof header) {
        std::fprintf(stderr, "differential: cannot read %s\n", path);
        std::exit(1);
    }
    std::memcpy(&size, header + 32, sizeof size);
    std::vector<uint8_t> bytes(size);
    std::rewind(file);
    bytes.resize(std::fread(bytes.data(), 1, bytes.size(), file));
    std::fclose(file);
    return bytes;
}

static bool theirs(const uint8_t *bytes, size_t size) {
    flatbuffers::Verifier verifier(bytes, size);
    return verifier.VerifyBuffer<ipex::Model>(
        nullptr); // the identifier is the header check's business
}

int main(int argc, char **argv) {
    if (argc < 4 || std::strcmp(argv[argc - 2], "--mutations") != 0) {
        std::fprintf(stderr, "usage: differential FILE.ipex... --mutations N\n");
        return 2;
    }
    const long mutants = std::strtol(argv[argc - 1], nullptr, 10);
    std::vector<std::vector<uint8_t>> seeds;
    for (int i = 1; i < argc - 2; i++) {
        seeds.push_back(read_metadata(argv[i]));
        bool both = verify_metadata(seeds.back().data(), seeds.back().size()) &&
                    theirs(seeds.back().data(), seeds.back().size());
        if (!both) {
            std::printf("not ok - both accept %s\n", argv[i]);
            return 1;
        }
    }
    long ours = 0, both = 0, only_theirs = 0;
    for (long i = 0; i < mutants; i++) {
        const std::vector<uint8_t> &seed = seeds[static_cast<size_t>(i) % seeds.size()];
        auto *bytes = static_cast<uint8_t *>(std::aligned_alloc(64, seed.size()));
        std::memcpy(bytes, seed.data(), seed.size());
        mutate_metadata(bytes, seed.size(), static_cast<uint64_t>(i), 1);
        bool we = verify_metadata(bytes, seed.size()), they = theirs(bytes, seed.size());
        ours += we;
        both += we && they;
        only_theirs += !we && they;
        if (we && !they)
            std::printf("# mutant %ld of %s: accepted here, refused by the library\n", i,
                        argv[1 + i % (argc - 3)]);
        std::free(bytes);
    }
    bool good = ours == both && ours > mutants / 20 && ours < mutants;
    std::printf("%s - %ld mutants: %ld accepted here, %ld of them by the FlatBuffers library too, "
                "%ld by it "
                "alone\n",
                good ? "ok" : "not ok", mutants, ours, both, only_theirs);
    return !good;
}
