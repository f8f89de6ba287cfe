/* SPDX-License-Identifier: Apache-2.0 */
/* ipex.h: load an .ipex file and run it.
 *
 *   image    the file: checked, mapped read-only, immutable, shared by threads and sessions
 *   session  one user of the image: resolved plan and arena, in one block of the caller's
 *            memory; one thread at a time
 *   pool     worker threads that sessions may share (none needed)
 *
 *   ipex_image_measure   -> ipex_image_open   -> ipex_session_measure -> ipex_session_init
 *   -> ipex_run ...      -> ipex_session_finish -> ipex_image_close
 *
 * The library never allocates, prints, exits, reads the environment, or opens what it was not told
 * to open. After ipex_session_init a run with one thread makes no system call; with more, only
 * futex. Results go through ret_* parameters and are not touched on failure. Option structs start
 * with size_of_struct: `struct ipex_session_options options = {.size_of_struct = sizeof options}`
 * is all defaults, and NULL options are defaults too. */
#ifndef IPEX_H
#define IPEX_H

#include <stddef.h>
#include <stdint.h>

#include "format/ipex_status.h"
#include "format/ipex_types.h"

#ifdef __cplusplus
extern "C" {
#endif

#define IPEX_VERSION_STRING "0.1.0"
#define IPEX_RANK_MAX       8
#define IPEX_MEMORY_ALIGN   64 /* alignment of every block of memory given to the library */

struct ipex_image;
struct ipex_session;
struct ipex_pool;

/* ---- image ---- */

enum ipex_prefault {
    IPEX_PREFAULT_NONE = 0,     /* pages come in when first touched */
    IPEX_PREFAULT_WILLNEED = 1, /* start reading now, in the background */
    IPEX_PREFAULT_POPULATE = 2, /* return when every page is mapped */
};

struct ipex_image_options {
    size_t size_of_struct;
    const uint8_t
        *expect_digest; /* 32 bytes, ipex_image_digest of the only file to open; or NULL */
    enum ipex_prefault prefault;
    int verify_data; /* nonzero: check the SHA-256 of all data now (reads the whole file) */
    char *message;   /* filled on failure with what is wrong and where; may be NULL */
    size_t message_size;
};

/* Bytes of memory that opening `path` needs (a copy of the metadata and tables over it, not the
 * weights). Reads the header only. ERROR_ARGUMENT, ERROR_FILE_IO, _MAGIC, _VERSION, _FEATURE,
 * _HEADER, _LIMIT. */
IPEX_WARN_UNUSED enum ipex_status
ipex_image_measure(const char *path, const struct ipex_image_options *options, size_t *ret_size);

/* Opens, maps and checks a file; nothing in it is used before the check has passed, and the check
 * cannot be switched off. memory: `size` bytes from ipex_image_measure or more, aligned to
 * IPEX_MEMORY_ALIGN, the caller's, must outlive the image; it holds the image. The file must not
 * change while it is open (replace files by rename). On failure nothing stays open or mapped. Any
 * ERROR_FILE_*, ERROR_MODEL_*, ERROR_MEMORY, ERROR_ARGUMENT. Thread-safe. */
IPEX_WARN_UNUSED enum ipex_status ipex_image_open(struct ipex_image **ret_image, const char *path,
                                                  void *memory, size_t size,
                                                  const struct ipex_image_options *options);

/* The same over a file descriptor (read and mapped from offset 0; the descriptor may be closed
 * afterwards), for sandboxed processes. */
IPEX_WARN_UNUSED enum ipex_status
ipex_image_measure_fd(int fd, const struct ipex_image_options *options, size_t *ret_size);
IPEX_WARN_UNUSED enum ipex_status ipex_image_from_fd(struct ipex_image **ret_image, int fd,
                                                     void *memory, size_t size,
                                                     const struct ipex_image_options *options);

/* The same over bytes in memory: `file` aligned to 4096, must outlive the image and not change. */
IPEX_WARN_UNUSED enum ipex_status
ipex_image_measure_memory(const void *file, size_t file_size,
                          const struct ipex_image_options *options, size_t *ret_size);
IPEX_WARN_UNUSED enum ipex_status ipex_image_from_memory(struct ipex_image **ret_image,
                                                         const void *file, size_t file_size,
                                                         void *memory, size_t size,
                                                         const struct ipex_image_options *options);

/* Unmaps. Every session of the image must be finished. NULL is allowed. */
void ipex_image_close(struct ipex_image *image);

/* SHA-256 over header and metadata, which holds the digests of all data: the identity of the file.
 * 32 bytes, lives as long as the image. */
const uint8_t *ipex_image_digest(const struct ipex_image *image);

/* ---- introspection ---- */

/* An input or output of an entry. Dims may depend on symbols, sizes that each run chooses: a batch,
 * the length of a text, the height of a picture. */
struct ipex_port {
    const char *name;
    enum ipex_dtype dtype;
    int32_t rank;
    int64_t dims[IPEX_RANK_MAX];       /* with all symbols at their lowest ... */
    int64_t max_dims[IPEX_RANK_MAX];   /* ... and at their highest; the same where a dim is fixed */
    const char *symbol[IPEX_RANK_MAX]; /* the symbol that a dim is; NULL for numbers and
                                          expressions */
};

/* A size that each run chooses: any multiple of step from lo to hi. */
struct ipex_symbol_info {
    const char *name;
    int64_t lo, hi, step;
};

/* Names live as long as the image. NULL or false past the end. entry: NULL is "main", or the only
 * entry. */
size_t ipex_image_entry_count(const struct ipex_image *image);
const char *ipex_image_entry_name(const struct ipex_image *image, size_t index);
size_t ipex_image_input_count(const struct ipex_image *image, const char *entry);
size_t ipex_image_output_count(const struct ipex_image *image, const char *entry);
IPEX_WARN_UNUSED enum ipex_status ipex_image_input(const struct ipex_image *image,
                                                   const char *entry, size_t index,
                                                   struct ipex_port *ret_port);
IPEX_WARN_UNUSED enum ipex_status ipex_image_output(const struct ipex_image *image,
                                                    const char *entry, size_t index,
                                                    struct ipex_port *ret_port);
/* Symbols of an entry; none when all its dims are fixed. */
size_t ipex_image_symbol_count(const struct ipex_image *image, const char *entry);
IPEX_WARN_UNUSED enum ipex_status ipex_image_symbol(const struct ipex_image *image,
                                                    const char *entry, size_t index,
                                                    struct ipex_symbol_info *ret_symbol);
/* Dim `axis` of a port as text: "3", "height", "height/32 + 1". Cut to `size` bytes with the zero
 * at its end. ERROR_NOT_FOUND. */
IPEX_WARN_UNUSED enum ipex_status ipex_image_input_dim_text(const struct ipex_image *image,
                                                            const char *entry, size_t index,
                                                            int32_t axis, char *text, size_t size);
IPEX_WARN_UNUSED enum ipex_status ipex_image_output_dim_text(const struct ipex_image *image,
                                                             const char *entry, size_t index,
                                                             int32_t axis, char *text, size_t size);
size_t ipex_image_label_count(const struct ipex_image *image, const char *entry);
const char *ipex_image_label(const struct ipex_image *image, const char *entry, size_t index);
/* Value of a metadata key of the source model; NULL when it has none. */
const char *ipex_image_metadata(const struct ipex_image *image, const char *key);

/* ---- machine ---- */

/* The best level of this machine, and whether a level can be used on it; amx only where the process
 * has permission. */
enum ipex_isa ipex_isa_detect(void);
int ipex_isa_available(enum ipex_isa isa);
/* Whether this process may use AMX. Linux gives its tiles to a process that asks, for all threads
 * and for good; the library asks only where a session has request_amx. Where the CPU has AMX, this
 * and the two above look it up by a system call, arch_prctl(ARCH_GET_XCOMP_PERM). */
enum ipex_amx_state ipex_amx_detect(void);
/* Whether a profile can be computed by this library (at every level, with the same bits). */
int ipex_arithmetic_available(enum ipex_arithmetic arithmetic);

/* ---- threads ---- */

struct ipex_pool_options {
    size_t size_of_struct;
    int32_t threads; /* the calling thread included; at least 1 */
    int32_t pin;     /* nonzero: worker i is bound to the i-th CPU of the process's affinity mask */
    int32_t spin_us; /* how long an idle worker spins at most before it sleeps; 0: default (200) */
    char *message;
    size_t message_size;
};

/* Workers live in the caller's memory (their stacks too) and take no signals but a profiler's and
 * those that a thread brings on itself. ERROR_ARGUMENT, ERROR_MEMORY, ERROR_SYSTEM. Threads beyond
 * the CPUs of the process's affinity mask, as it is when the pool is made, stay asleep unless they
 * are pinned: they could only take turns with the others. Sessions on different threads may share a
 * pool: their steps take turns; where as many are running as the pool has threads awake, each
 * computes on the thread that called it. Same bits. A child of fork has no
 * workers: there sessions on its copy of the pool compute on the thread that called them, too,
 * where none was running on the pool when the parent forked. */
IPEX_WARN_UNUSED enum ipex_status ipex_pool_measure(const struct ipex_pool_options *options,
                                                    size_t *ret_size);
IPEX_WARN_UNUSED enum ipex_status ipex_pool_init(struct ipex_pool **ret_pool,
                                                 const struct ipex_pool_options *options,
                                                 void *memory, size_t size);
/* Stops and joins the workers. No session may be running on it. NULL is allowed. */
void ipex_pool_finish(struct ipex_pool *pool);

/* ---- session ---- */

/* One step of the plan, for reports. Strings live as long as the session; of one with symbols until
 * its next run. */
struct ipex_step_info {
    const char *name;     /* source nodes */
    const char *op;       /* plan operator */
    const char *kernel;   /* "conv_f32__avx512" */
    int64_t flops;        /* of the direct algorithm: 2 per multiply-add */
    int64_t spared_flops; /* of these, those that Winograd does without, or that lie in padding */
    int64_t bytes;        /* inputs read + weights read + outputs written, once each */
    int64_t jobs;
    int32_t node, nodes; /* it belongs to this node of the file, or does so many from it on */
};

/* A tensor's place in the arena, for reports. Views lie in the place of what they look at, tensors
 * of a band group in none; copies that a step makes for itself are not told. */
struct ipex_storage_info {
    const char *name;
    int64_t offset, bytes; /* 0 bytes: constants, views, and what has no place of its own */
    int32_t first, last;   /* nodes between which it is kept; first is -1: an input, last the number
                            * of nodes: an output, -1: an input that none reads */
};

/* Sizes that a session must be able to run: part of a symbol's range in the file. What a session
 * needs grows with its highest sizes. Several for one symbol are taken one after the other, each
 * in place of what was said of its ends before; one that leaves no size is refused. */
struct ipex_dim_range {
    const char *entry; /* NULL: all entries that have the symbol */
    const char *symbol;
    int64_t lo, hi; /* both included; 0: the end of the file's range */
};

struct ipex_session_options {
    size_t size_of_struct;
    const char *entry; /* NULL: all entries; else only this one (less memory) */
    enum ipex_isa isa;
    /* Of products on bf16: what the file pins. Where it pins none, any bf16 profile; AUTO takes
     * bf16_amx at level amx and bf16_dp at all others. Files without them compute in f32. */
    enum ipex_arithmetic arithmetic;
    struct ipex_pool *pool; /* NULL: one thread; must outlive the session */
    /* Or the caller's own threads: calls fn(arg, i) for every i in [0, n), in any order, on any
     * thread, and returns when all are done. Called for every step that is long enough, and for
     * every time step of a large LSTM or GRU. */
    void (*parallel_for)(void *user, void (*fn)(void *arg, int i), void *arg, int n);
    void *parallel_user;
    int32_t parallel_threads; /* how many may run at once, with parallel_for */
    const int *cancel; /* NULL, or looked at between steps: nonzero ends with ERROR_CANCELLED */
    const struct ipex_dim_range *dims; /* [n_dims]; symbols without a range keep the file's */
    size_t n_dims;
    int32_t l2_bytes; /* L2 cache of one core, for block sizes; 0: what the CPU says, and 1 MiB
                         where cores differ */
    int no_bands;    /* nonzero: a step for every node, also where several could run band by band */
    int request_amx; /* nonzero: where the CPU has AMX, measure and init ask Linux for permission to
                        use it, by arch_prctl(ARCH_REQ_XCOMP_PERM). Refused, isa AUTO is the next
                        best level, and ipex_session_amx says so. 0: isa AUTO leaves AMX alone, and
                        isa amx wants a process that has permission already */
    char *message;
    size_t message_size;
};

struct ipex_requirements {
    size_t memory; /* bytes for ipex_session_init: plan + states + arena + scratch */
    size_t plan, states, arena, scratch;
};

/* Memory for a session with these options (the same options must be given to init); enough for all
 * sizes of its range. ERROR_ARGUMENT, ERROR_NOT_FOUND, ERROR_ISA, ERROR_ARITHMETIC, and
 * ERROR_MODEL_* where a narrower range ends at sizes that the model cannot have. */
IPEX_WARN_UNUSED enum ipex_status ipex_session_measure(const struct ipex_image *image,
                                                       const struct ipex_session_options *options,
                                                       struct ipex_requirements *ret_requirements);

/* memory: aligned to IPEX_MEMORY_ALIGN, the caller's, must outlive the session; it holds the
 * session. From about 16 MiB on huge pages pay (2 MiB alignment, madvise MADV_HUGEPAGE): init is
 * five times as fast and runs gain a few per cent; for a quick start from 2 MiB on. Touches every
 * page of it, and at level amx a tile on the calling thread and on every thread of the pool: Linux
 * then makes room for it (8 KiB of its own memory). Threads of parallel_for do so at their first
 * step. As measure, and ERROR_MEMORY. On failure the memory holds nothing that needs freeing. */
IPEX_WARN_UNUSED enum ipex_status ipex_session_init(struct ipex_session **ret_session,
                                                    const struct ipex_image *image,
                                                    const struct ipex_session_options *options,
                                                    void *memory, size_t size);

/* Ends a session; its memory is the caller's again. NULL is allowed. */
void ipex_session_finish(struct ipex_session *session);

/* A tensor of the caller's. As input: data, dtype, dims; strides in elements (all 0: dense
 * row-major), may be negative or 0-stride broadcast; the dims of all inputs together choose the
 * symbols. As output: with data, the result is written there (dims must be the result's; strides as
 * above, no overlaps). With data NULL, data, dtype, rank, dims and strides are filled with a view
 * into the session's arena, valid until the next run or finish. */
struct ipex_tensor {
    const char *name; /* NULL: the position counts; else the port of that name */
    void *data;
    enum ipex_dtype dtype;
    int32_t rank;
    int64_t dims[IPEX_RANK_MAX];
    int64_t strides[IPEX_RANK_MAX];
};

struct ipex_run_options {
    size_t size_of_struct;
    uint64_t deadline_ns; /* CLOCK_MONOTONIC; 0: none. Looked at between steps */
    uint64_t *step_ticks; /* NULL, or room for steps + 1: TSC before each step, after the last */
    size_t step_ticks_count;
};

/* Runs one entry (NULL: "main", or the only one). Every input must be given; outputs that are not
 * given are not returned. Inputs and outputs may not overlap each other. The result is a function
 * of file, inputs and arithmetic profile only. On failure outputs hold nothing useful. Inputs of
 * other sizes than in the run before make the run a little longer, by what binding its steps takes;
 * they take no memory and no system call. A thread with 64 KiB of stack can run. ERROR_SHAPE also
 * when the sizes are outside the session's range, or when between its ends shapes do not fit
 * together. ERROR_ARGUMENT, ERROR_NOT_FOUND, ERROR_SHAPE, ERROR_DTYPE, ERROR_CANCELLED,
 * ERROR_DEADLINE; ipex_session_message says more. One thread at a time per session. */
IPEX_WARN_UNUSED enum ipex_status ipex_run(struct ipex_session *session, const char *entry,
                                           const struct ipex_tensor *inputs, size_t n_inputs,
                                           struct ipex_tensor *outputs, size_t n_outputs);
IPEX_WARN_UNUSED enum ipex_status ipex_run_with(struct ipex_session *session, const char *entry,
                                                const struct ipex_tensor *inputs, size_t n_inputs,
                                                struct ipex_tensor *outputs, size_t n_outputs,
                                                const struct ipex_run_options *options);

/* What the last failed run of this session has to say; "" when it succeeded. */
const char *ipex_session_message(const struct ipex_session *session);

/* What a session resolved to. */
enum ipex_isa ipex_session_isa(const struct ipex_session *session);
enum ipex_arithmetic ipex_session_arithmetic(const struct ipex_session *session);
/* As it was when the session was made: `refused` where that was the answer to its request,
 * `not_requested` where it had none. */
enum ipex_amx_state ipex_session_amx(const struct ipex_session *session);
/* Of a pool those that are awake: at most as many as there are CPUs, unless they are pinned. */
int32_t ipex_session_threads(const struct ipex_session *session);
/* With symbols: at the sizes of the last run, and at the highest before the first. */
size_t ipex_session_step_count(const struct ipex_session *session, const char *entry);
IPEX_WARN_UNUSED enum ipex_status ipex_session_step(const struct ipex_session *session,
                                                    const char *entry, size_t index,
                                                    struct ipex_step_info *ret_step);
/* index: of the tensor in the file. ERROR_NOT_FOUND past the last. Sizes as above. */
IPEX_WARN_UNUSED enum ipex_status ipex_session_storage(const struct ipex_session *session,
                                                       const char *entry, size_t index,
                                                       struct ipex_storage_info *ret_storage);

#ifdef __cplusplus
}
#endif
#endif
