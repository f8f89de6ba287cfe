/* SPDX-License-Identifier: Apache-2.0 */
/* linear and conv: both are a batch-reduce product over segments of K (format/tile.h). Here their
 * geometry is found, and the work is cut so that what a job walks over again and again stays in L2:
 * either the job's weights (lines outside) or the job's lines (panels outside), whichever moves
 * fewer bytes. */
#include "runtime/bind.h"
#include "runtime/cut.h"
#include "runtime/loops.h"

/* Rows of a matrix that are handled as one line of pixels: a multiple of the row blocks of all
 * micro-kernels (14, 12, 6, 4). Several threads may take other multiples of the largest of them. In
 * bf16-amx lines are whole tiles of 16 rows, for jobs are cut between them, and multiples of the
 * row blocks that have its order (12, 6). */
struct matrix_line {
    int64_t usual, least, most, step;
};
static const struct matrix_line matrix_line_blocks = {84, 56, 112, 14};
static const struct matrix_line matrix_line_tiles = {96, 48, 144, 48};

/* A job below this many flops costs more to hand out than another thread saves, on bytes too, where
 * it takes a quarter of the time; tiles make so many times as many. */
#define JOB_FLOPS    1000000
#define TILES_RATE   4
#define INTEGER_RATE 4 /* of vpdpbusd */

static bool set_i32(int32_t *field, int64_t value) {
    *field = (int32_t)value;
    return ipex_fits_i32(value) && value >= 0;
}

/* What the operands' dtypes decide. */
struct sizes {
    int64_t x;         /* bytes of an element */
    int64_t k_per_row; /* of a tile of the weight */
    int64_t rate;      /* flops that take as long as one of vectors of f32 */
    int64_t job_flops; /* of a job, at least */
};

/* Whether pixels are taken 16 at a time, as profile bf16-amx does. */
static bool takes_tiles(const struct ipex_bind *bind) {
    return bind->setup->arithmetic == IPEX_ARITHMETIC_bf16_amx &&
           bind->input[0]->dtype == IPEX_DTYPE_bf16;
}

static bool is_integer(const struct ipex_bind *bind) {
    return bind->input[1]->dtype == IPEX_DTYPE_i8;
}

/* Whether a level adds four products of bytes at a time. */
static bool dots_of_four(enum ipex_isa isa) {
    return isa == IPEX_ISA_avx_vnni || isa >= IPEX_ISA_avx512_vnni;
}

static struct sizes sizes_of(const struct ipex_bind *bind) {
    const bool tiles = bind->setup->isa == IPEX_ISA_amx && takes_tiles(bind);
    const bool dots = is_integer(bind) && dots_of_four(bind->setup->isa);
    return (struct sizes){ipex_dtype_size((enum ipex_dtype)bind->input[0]->dtype),
                          ipex_tile_k_per_row((enum ipex_dtype)bind->input[1]->dtype),
                          tiles  ? TILES_RATE
                          : dots ? INTEGER_RATE
                                 : 1,
                          JOB_FLOPS * (tiles ? TILES_RATE : 1)};
}

/* Bytes of weights that one panel of one group has. */
static int64_t panel_bytes(const struct ipex_conv_args *args, const struct sizes *sizes) {
    return (int64_t)args->segments_h * args->segments_w *
           ipex_ceil_div(args->k, IPEX_TILE_ROWS * sizes->k_per_row) * IPEX_TILE_BYTES;
}

static int64_t line_flops(const struct ipex_conv_args *args, int64_t panels) {
    const int64_t columns = args->planar ? args->n : panels * IPEX_PANEL;
    return ipex_mul_sat(2 * ipex_conv_depth(args), args->pixels * columns);
}

/* One thread's blocks: see the head of the file. */
static void block_for_cache(struct ipex_conv_args *args, const struct sizes *sizes,
                            int64_t panels) {
    const int64_t budget = args->cache_l2 / 2;
    const int64_t per_panel = panel_bytes(args, sizes);
    const int64_t weights = per_panel * panels;
    const int64_t line = ipex_max_i64(1, args->x_line) * sizes->x;
    const int64_t lines_that_fit = ipex_max_i64(1, ipex_min_i64(args->lines, budget / line));
    /* Groups read parts of the same lines one after the other. */
    args->lines_per_job = args->groups > 1 ? (int32_t)lines_that_fit : args->lines;
    args->panels_per_job = (int32_t)panels;
    args->panels_outside = false;
    args->weights_far = weights > budget;
    if (!args->weights_far)
        return;
    const int64_t panels_that_fit =
        ipex_min_i64(panels, ipex_max_i64(4, budget / per_panel / 4 * 4));
    const int64_t lines_total = line * args->lines;
    const int64_t moved_panels_outside =
        ipex_mul_sat(weights, ipex_ceil_div(args->lines, lines_that_fit));
    const int64_t moved_lines_outside =
        ipex_mul_sat(lines_total, ipex_ceil_div(panels, panels_that_fit));
    /* Halves, because the products may be saturated. */
    args->panels_outside =
        moved_panels_outside / 2 + lines_total / 2 <= moved_lines_outside / 2 + weights / 2;
    if (args->panels_outside)
        args->lines_per_job = (int32_t)lines_that_fit;
    else
        args->panels_per_job = (int32_t)panels_that_fit;
}

/* Cuts lines into as many jobs as all threads want. */
static void cut_lines(const struct ipex_setup *setup, const struct sizes *sizes,
                      struct ipex_conv_args *args, int64_t panels) {
    const int64_t flops = line_flops(args, args->panels_per_job);
    const struct ipex_cut cut = {
        .count = args->lines,
        .times = ipex_mul_sat(args->images * ipex_conv_sets(args),
                              ipex_ceil_div(panels, args->panels_per_job)),
        .least = ipex_units_worth(sizes->job_flops, flops),
        .most = args->lines_per_job,
        .multiple = 1,
        /* Rows of x that a job shares with the next one are transposed in both. */
        .again = args->planar ? 0.25 * (args->segments_h - 1) : 0.0,
    };
    args->lines_per_job = (int32_t)ipex_cut_even(&cut, setup->threads);
}

/* A product of fewer rows takes as long, since it reads all weights, from L2 or from farther. */
#define FEW_ROWS     4
#define FEW_ROWS_FAR 8

/* Panels that a job's beginning takes as long as: of few rows it waits for weights that are not on
 * their way yet (2 threads: 12 and 16 rows of 768x3072 in as few jobs take 0.91 and 0.92 of the
 * time, bytes of 8 rows of 2048x5632 0.84; 32 rows of MiniLM 0.99, 64 the same). */
#define ROWS_THAT_WAIT 32
#define PANELS_WAITED  2.0
#define PANELS_BEGUN   0.125

static void cut_panels(const struct ipex_setup *setup, const struct sizes *sizes,
                       struct ipex_conv_args *args, int64_t panels) {
    const int64_t rows = (int64_t)args->lines_per_job * args->pixels;
    const int64_t flops =
        ipex_mul_sat(2 * ipex_conv_depth(args) * IPEX_PANEL,
                     ipex_max_i64(args->weights_far ? FEW_ROWS_FAR : FEW_ROWS, rows));
    const struct ipex_cut cut = {
        .count = panels,
        .times = ipex_mul_sat(args->images * ipex_conv_sets(args),
                              ipex_ceil_div(args->lines, args->lines_per_job)),
        .least = ipex_max_i64(2, ipex_units_worth(sizes->job_flops, flops)),
        .most = args->panels_per_job,
        .multiple = 2, /* products of one panel are slower */
        .again = rows <= ROWS_THAT_WAIT ? PANELS_WAITED : PANELS_BEGUN,
    };
    args->panels_per_job = (int32_t)ipex_cut_even(&cut, setup->threads);
}

/* Rows of a thread from which on it may read all weights, however far they are: they come as fast
 * as they are used, and what a thread writes the next layer finds in its cache (encoders of 128 to
 * 1,500 positions take 0.96 to 0.98 of the time; 50 and 32 rows 1.07 and 1.01). */
#define THREAD_ROWS 56

/* Whether threads have about as many lines each, and rows enough. */
static bool shares_lines(const struct ipex_setup *setup, const struct ipex_conv_args *args) {
    const int64_t lines = (int64_t)args->images * args->lines, threads = setup->threads;
    const int64_t most = ipex_ceil_div(lines, threads);
    return ipex_mul_sat(most, args->pixels) >= THREAD_ROWS && most * threads * 16 <= lines * 17;
}

/* First along the dimension that does not share what the cache holds, but for many lines; along the
 * other one where that is not enough. */
static void block_for_threads(const struct ipex_setup *setup, const struct sizes *sizes,
                              struct ipex_conv_args *args, int64_t panels) {
    const bool panels_first =
        args->panels_outside && args->panels_per_job > 2 && !shares_lines(setup, args);
    if (panels_first)
        cut_panels(setup, sizes, args, panels);
    else
        cut_lines(setup, sizes, args, panels);
    if (ipex_conv_jobs(args) >= setup->threads)
        return;
    if (panels_first)
        cut_lines(setup, sizes, args, panels);
    else
        cut_panels(setup, sizes, args, panels);
}

/* With one thread, or many lines, whole-tensor jobs would leave a late thread with everything:
 * blocks of about this many flops at most. */
#define JOB_FLOPS_MOST 40000000

static void block_lines(struct ipex_conv_args *args, const struct sizes *sizes) {
    const int64_t flops = line_flops(args, args->panels_per_job);
    const int64_t most = ipex_max_i64(1, JOB_FLOPS_MOST * sizes->rate / ipex_max_i64(1, flops));
    if (!args->panels_outside && args->lines_per_job > most)
        args->lines_per_job = (int32_t)most;
}

static void choose_blocks(const struct ipex_setup *setup, const struct sizes *sizes,
                          struct ipex_conv_args *args) {
    const int64_t panels = ipex_ceil_div(args->n, IPEX_PANEL);
    args->cache_l2 = setup->l2_bytes;
    args->fetches_y = setup->splits_512;
    block_for_cache(args, sizes, panels);
    block_lines(args, sizes);
    block_for_threads(setup, sizes, args, panels);
}

/* Stores of 512 bits in two passes: a few wait for their data beside products, those of a whole
 * block keep products waiting, 60 cycles of the 28 K that 14 rows of two panels take (Zen 4: 1x1 16
 * to 96 at 112x112 takes 0.9 of the time in blocks of 7 rows, 64 to 256 at 56x56 0.98, depths from
 * 128 on as long). A hard swish between products and stores has the same effect. */
#define FEW_STORES_DEPTH  64
#define FEW_STORES_ROWS   7
#define FEW_STORES_BLOCKS 16 /* of fewer, it is the first products of each that wait */

static bool few_stores(const struct ipex_bind *bind) {
    const struct ipex_conv_args *args = &bind->args.conv;
    const bool narrow = args->n <= 3 * IPEX_PANEL / 2; /* blocks of one panel */
    const int64_t block = FEW_STORES_ROWS * 2 * IPEX_PANEL;
    const bool few = ipex_mul_sat(ipex_conv_rows(args), args->n) < FEW_STORES_BLOCKS * block;
    return bind->setup->splits_512 && !ipex_act_is_swish(args->act) && !narrow && !few &&
           ipex_conv_depth(args) <= FEW_STORES_DEPTH;
}

/* Rows that share a set of L1 leave a quarter of its ways to what passes: 9 of 12 fit a block of
 * three panels (Zen 5: 197x3072 x 768 takes 0.93 of the time of 6 rows by four panels; bf16, which
 * has none of three, 64 to 197x4096 x 1024 0.92 to 0.96). So they do where a pass over y follows
 * its stores (197x768 x 3072 with GELU 0.985 of 14 rows by two). */
#define WAYS_FOR_THREE_PANELS 12

static bool has_ways(const struct ipex_bind *bind) {
    return bind->setup->l1_ways >= WAYS_FOR_THREE_PANELS;
}

static int32_t most_rows(const struct ipex_bind *bind) {
    const struct ipex_conv_args *args = &bind->args.conv;
    const bool f32 = bind->input[1]->dtype == IPEX_DTYPE_f32;
    const bool passes =
        !ipex_act_is_clamp(args->act) && !ipex_act_in_blocks(args->act, args->act_a);
    const bool x = !args->spread && ipex_rows_share_set(args->x_pixel * sizes_of(bind).x);
    const bool y = f32 && passes && args->n > 2 * IPEX_PANEL &&
                   ipex_rows_share_set(args->y_pixel * (int64_t)sizeof(float));
    if (has_ways(bind) && (x || y))
        return bind->setup->l1_ways * 3 / 4;
    return f32 && !x && few_stores(bind) ? FEW_STORES_ROWS : 0;
}

static void choose_kernel(struct ipex_bind *bind) {
    if (is_integer(bind))
        IPEX_BIND_KERNEL(bind, conv_u8, conv);
    else if (bind->input[1]->dtype != IPEX_DTYPE_bf16)
        IPEX_BIND_KERNEL(bind, conv_f32, conv);
    else if (bind->input[0]->dtype != IPEX_DTYPE_bf16)
        IPEX_BIND_KERNEL(bind, conv_bf16w, conv);
    else
        IPEX_BIND_BF16_KERNEL(bind, conv, conv);
}

/* Few columns leave most lanes of a panel empty, and pay for transposing x: a line of it, where
 * neighbouring pixels share elements (planar), else 8 elements of 8 pixels (few). Fewer elements
 * than that are a line's, too: of one column, of two to four if lines are long, but for CPUs where
 * 512 bits take two passes and empty lanes cost half, or where one unit transposes. More columns,
 * but not enough to fill a half panel or a whole one, pay where a line's chains are long enough and
 * every element of x takes part in so many products a column. (Nearly full ones ask for larger
 * windows, for the CPUs named above.) What does not depend on dims decides on scratch. */
#define FEW_LEAST_K             8
#define PLANAR_COLUMNS_MOST     12
#define PLANAR_LEAST_K          24
#define PLANAR_LEAST_PIXELS     32 /* of more columns */
#define PLANAR_LEAST_OWN_PIXELS 64 /* of few, whose pixels share nothing */

static const int8_t least_products[PLANAR_COLUMNS_MOST + 1] = {
    [5] = 9, [6] = 9, [7] = 12, [8] = 12, [9] = 9, [10] = 9, [11] = 12, [12] = 12,
};

static int64_t most_own_columns(const struct ipex_setup *setup) {
    if (setup->isa >= IPEX_ISA_avx512)
        return setup->splits_512 || setup->few_shuffles ? 1 : IPEX_FEW_COLUMNS;
    return setup->few_shuffles ? IPEX_FEW_COLUMNS - 1 : IPEX_FEW_COLUMNS;
}

static bool has_few_columns(const struct ipex_bind *bind) {
    const struct ipex_conv_args *args = &bind->args.conv;
    if (bind->input[1]->dtype != IPEX_DTYPE_f32 || args->groups != 1 || args->segments_w != 1 ||
        args->n > PLANAR_COLUMNS_MOST || args->x_pixel <= 0)
        return false;
    if (args->x_pixel >= args->k) /* what lies between pixels is transposed too */
        return args->k < FEW_LEAST_K && args->n <= most_own_columns(bind->setup) &&
               2 * args->x_pixel <= (args->n == 1 ? 8 : 3) * (int64_t)args->k;
    const int64_t stride_h = bind->op == IPEX_OP_conv ? bind->ints[IPEX_CONV_STRIDE_H] : 1;
    return args->n <= IPEX_FEW_COLUMNS ||
           (args->k >= PLANAR_LEAST_K && (int64_t)args->k * args->segments_h >=
                                             least_products[args->n] * stride_h * args->x_pixel);
}

static int64_t planar_least_pixels(const struct ipex_conv_args *args) {
    if (args->n > IPEX_FEW_COLUMNS)
        return PLANAR_LEAST_PIXELS;
    return args->n > 1 && args->x_pixel >= args->k ? PLANAR_LEAST_OWN_PIXELS : IPEX_PANEL;
}

static bool is_planar(const struct ipex_bind *bind) {
    const struct ipex_conv_args *args = &bind->args.conv;
    return has_few_columns(bind) && args->pixels >= planar_least_pixels(args) &&
           (args->last_pixels == args->pixels || args->segments_h == 1);
}

bool ipex_last_columns_few(const struct ipex_bind *bind, int64_t n, int64_t pixels, int64_t k,
                           int64_t x_pixel) {
    const int64_t last = n % IPEX_PANEL;
    return last > 0 && last <= IPEX_FEW_COLUMNS && pixels >= IPEX_PANEL && k >= FEW_LEAST_K &&
           bind->input[0]->dtype == IPEX_DTYPE_f32 && bind->input[1]->dtype == IPEX_DTYPE_f32 &&
           !ipex_rows_share_set(x_pixel * (int64_t)sizeof(float));
}

/* Those of a linear layer or a convolution. */
static bool has_few_last(const struct ipex_bind *bind) {
    const struct ipex_conv_args *args = &bind->args.conv;
    const int64_t pixels = args->segments_h == 1 ? ipex_conv_rows(args) : args->pixels;
    const int64_t x_bytes =
        ipex_mul_sat((int64_t)args->lines * (int64_t)sizeof(float), ipex_max_i64(0, args->x_line));
    return ipex_last_columns_few(bind, args->n, pixels, args->k, args->x_pixel) &&
           args->groups == 1 && !args->planar && !args->spread &&
           (args->n < IPEX_PANEL || x_bytes <= 8 * (int64_t)args->cache_l2);
}

/* Pixels of a line that is cut anyway: as many as fit L1 transposed, but so many that elements
 * which two lanes see are no more than the others. */
static int64_t planar_line(const struct ipex_conv_args *args) {
    const int64_t overlap = ipex_max_i64(0, args->k - args->x_pixel);
    const int64_t elements = ipex_max_i64(512, 2 * overlap);
    return IPEX_PANEL * ipex_max_i64(4, (elements - overlap) / args->x_pixel);
}

/* Rows of x that share sets of L1 are copied where blocks of three panels may not have 9 of them
 * (which take as long), that is little beside the products, and L2 holds the copy. Returns the
 * scratch of as many rows or fewer. */
#define SPREAD_ROWS    7
#define SPREAD_COLUMNS 192

static size_t spread_rows(struct ipex_bind *bind) {
    struct ipex_conv_args *args = &bind->args.conv;
    if (bind->input[0]->dtype != IPEX_DTYPE_f32 || args->planar || args->groups != 1 ||
        args->segments_h * args->segments_w != 1 || args->n < SPREAD_COLUMNS || has_ways(bind) ||
        !ipex_rows_share_set(args->x_pixel * (int64_t)sizeof(float)))
        return ipex_conv_scratch(args);
    const size_t row = ipex_conv_spread_row(args);
    const int64_t rows = ipex_conv_rows(args), most = bind->setup->l2_bytes / (int64_t)row;
    args->spread = rows >= SPREAD_ROWS && rows <= most;
    return (size_t)ipex_min_i64(rows, most) * row;
}

/* Groups of 8 columns fill half a panel each. Of three, AVX-512 would compute a fourth in vain. */
static bool has_eights(const struct ipex_bind *bind) {
    const struct ipex_conv_args *args = &bind->args.conv;
    const bool fills = args->groups != 3 || bind->setup->isa < IPEX_ISA_avx512;
    return bind->input[0]->dtype == IPEX_DTYPE_f32 && args->groups > 1 && args->n == 8 && fills &&
           args->padding_w.dilation == 0 &&
           (args->segments_w == 1 || (args->x_kw > 0 && args->x_pixel % args->x_kw == 0));
}

/* Rows of a matrix are cut into lines that may be longer where there are fewer rows: room for the
 * longest. */
static size_t eights_scratch(const struct ipex_bind *bind) {
    struct ipex_conv_args longest = bind->args.conv;
    const int64_t rows = ipex_min_i64(ipex_conv_rows(&longest), matrix_line_blocks.most);
    longest.pixels = (int32_t)ipex_max_i64(longest.pixels, rows);
    return ipex_conv_scratch(&longest);
}

/* Of all products those in the padding that are left out. In integers: a run at other sizes binds
 * too, and leaves the caller's floating-point flags as they were. */
static int64_t spared_flops(const struct ipex_conv_args *args, int64_t flops) {
    const int64_t taps = args->columns ? args->columns : args->segments_w;
    const int64_t rows = (int64_t)args->lines * args->segments_h;
    const int64_t columns = (int64_t)args->pixels * taps;
    const int64_t rows_out =
        ipex_kernel_rows_left_out(&args->padding, args->lines, args->segments_h);
    const int64_t columns_out = ipex_kernel_rows_left_out(&args->padding_w, args->pixels, taps);
    if (rows_out + columns_out == 0)
        return 0;
    return ipex_mul_sat(
        flops / rows / columns,
        ipex_add_sat(ipex_mul_sat(rows_out, columns), ipex_mul_sat(rows - rows_out, columns_out)));
}

/* Operands 1.. of linear and conv are the same: weight, bias, residual; then the epilogue. */
static void set_operands(struct ipex_bind *bind, int32_t act, int64_t x_shift) {
    struct ipex_conv_args *args = &bind->args.conv;
    args->act = act;
    args->act_a = bind->floats[0];
    args->act_b = bind->floats[1];
    IPEX_BIND_REF(bind, conv, x, 0, x_shift);
    IPEX_BIND_REF(bind, conv, w, 1, 0);
    IPEX_BIND_BIAS(bind, conv, (int64_t)args->groups * args->n);
    if (bind->input[3] != NULL && bind->input[3]->dtype == IPEX_DTYPE_u8)
        IPEX_BIND_REF(bind, conv, residual_u8, 3, 0);
    else if (bind->input[3] != NULL && bind->input[3]->dtype == IPEX_DTYPE_bf16)
        IPEX_BIND_REF(bind, conv, residual_bf16, 3, 0);
    else if (bind->input[3] != NULL)
        IPEX_BIND_REF(bind, conv, residual, 3, 0);
    if (is_integer(bind)) {
        IPEX_BIND_REF(bind, conv, scale, 4, 0);
        args->r_scale = bind->floats[IPEX_RESIDUAL_SCALE];
        args->y_scale = bind->floats[IPEX_Y_SCALE];
        args->y_zero = bind->floats[IPEX_Y_ZERO];
    }
    if (bind->input[5] != NULL) {
        IPEX_BIND_REF(bind, conv, middle, 5, 0);
        args->middles = (int32_t)bind->input[5]->dims[0];
        memcpy(args->m_cut, &bind->floats[IPEX_MIDDLE_CUTS], sizeof args->m_cut);
    }
    if (bind->output->dtype == IPEX_DTYPE_u8)
        IPEX_BIND_REF(bind, conv, y_u8, IPEX_REF_OUTPUT, 0);
    else if (bind->output->dtype == IPEX_DTYPE_bf16)
        IPEX_BIND_REF(bind, conv, y_bf16, IPEX_REF_OUTPUT, 0);
    else
        IPEX_BIND_REF(bind, conv, y, IPEX_REF_OUTPUT, 0);
}

static enum ipex_bound finish(struct ipex_bind *bind, int32_t act, int64_t x_shift) {
    struct ipex_conv_args *args = &bind->args.conv;
    const struct sizes sizes = sizes_of(bind);
    set_operands(bind, act, x_shift);
    args->eights = has_eights(bind);
    choose_blocks(bind->setup, &sizes, args);
    bind->jobs = ipex_conv_jobs(args);
    bind->scratch = args->eights ? eights_scratch(bind) : spread_rows(bind);
    args->most_rows = most_rows(bind);
    args->few = has_few_last(bind);
    bind->flops = ipex_mul_sat(ipex_info_numel(bind->output), 2 * ipex_conv_depth(args));
    bind->spared_flops = spared_flops(args, bind->flops);
    choose_kernel(bind);
    return IPEX_BOUND;
}

/* Rows of the thread that has most, where each takes its share of lines. */
static int64_t slowest_rows(int64_t images, int64_t rows, int64_t line, int64_t threads) {
    const int64_t lines = ipex_mul_sat(images, ipex_ceil_div(rows, line));
    return ipex_min_i64(ipex_ceil_div(lines, threads), lines) * line;
}

/* Few rows: as many lines for every thread, whose rows the next layer finds in its cache, where L2
 * keeps the weights or they are rows enough; else one line, of which every thread takes some
 * panels, if there are enough. Returns 0 where there are too many rows, or too few for that. */
#define SHARE_LEAST   14
#define SHARES_MOST   4 /* lines of a thread */
#define THREAD_PANELS 4

static int64_t shared_line(const struct ipex_bind *bind, int64_t images, int64_t rows,
                           int64_t most) {
    const struct ipex_conv_args *args = &bind->args.conv;
    const struct sizes sizes = sizes_of(bind);
    const int64_t threads = bind->setup->threads, shares = ipex_ceil_div(rows, threads * most);
    const int64_t share = ipex_ceil_div(rows, threads * shares);
    const int64_t panels = ipex_ceil_div(args->n, IPEX_PANEL);
    const bool near = panels * panel_bytes(args, &sizes) <= bind->setup->l2_bytes / 2;
    if (threads == 1 || images > 1 || takes_tiles(bind) || rows < SHARE_LEAST)
        return 0;
    if (share >= (near ? SHARE_LEAST : THREAD_ROWS))
        return shares <= SHARES_MOST ? share : 0;
    return rows <= most && !near && panels >= THREAD_PANELS * threads ? rows : 0;
}

/* Pixels of a line such that threads have about equal shares. */
static int64_t matrix_line(const struct ipex_bind *bind, int64_t images, int64_t rows) {
    if (has_few_columns(bind))
        return ipex_max_i64(1, ipex_min_i64(rows, planar_line(&bind->args.conv)));
    const struct matrix_line *lines = takes_tiles(bind) ? &matrix_line_tiles : &matrix_line_blocks;
    const int64_t threads = bind->setup->threads;
    const int64_t shared = shared_line(bind, images, rows, lines->most);
    int64_t ret = shared ? shared : lines->usual;
    if (threads > 1 && rows > lines->least && !shared)
        for (int64_t line = lines->least; line <= lines->most; line += lines->step)
            if (slowest_rows(images, rows, line, threads) <
                slowest_rows(images, rows, ret, threads))
                ret = line;
    return ipex_max_i64(1, ipex_min_i64(rows, ret));
}

/* Lays M rows out as lines, of each of `images`. */
static bool set_rows(struct ipex_bind *bind, int64_t images, int64_t rows) {
    struct ipex_conv_args *args = &bind->args.conv;
    const int64_t pixels = matrix_line(bind, images, rows);
    const int64_t lines = ipex_ceil_div(rows, pixels);
    args->x_line = pixels * args->x_pixel;
    args->y_line = pixels * args->y_pixel;
    args->r_line = pixels * args->r_pixel;
    return set_i32(&args->images, images) && set_i32(&args->lines, lines) &&
           set_i32(&args->pixels, pixels) &&
           set_i32(&args->last_pixels, rows - (lines - 1) * pixels);
}

enum ipex_bound ipex_bind_linear(struct ipex_bind *bind) {
    struct ipex_conv_args *args = &bind->args.conv;
    const struct ipex_tensor_info *x = bind->input[0], *y = bind->output, *r = bind->input[3];
    const int32_t leading = x->rank - 1;
    struct ipex_tiles tiles;
    if (bind->input[1]->dtype == IPEX_DTYPE_f16)
        return ipex_bind_linear_f16(bind);
    if (!ipex_tiles_of((enum ipex_dtype)bind->input[1]->dtype, bind->input[1]->dims, 2, &tiles))
        return IPEX_BOUND_TOO_LARGE;
    if (!ipex_info_stride(x, 0, leading, &args->x_pixel) ||
        !ipex_info_stride(y, 0, leading, &args->y_pixel) ||
        !ipex_info_stride(r, 0, leading, &args->r_pixel))
        return IPEX_BOUND_NEEDS_DENSE;
    int64_t rows = 1;
    for (int32_t d = 0; d < leading; d++)
        rows *= x->dims[d];
    args->groups = args->segments_h = args->segments_w = 1;
    if (!set_i32(&args->k, tiles.k) || !set_i32(&args->n, tiles.n) || !set_rows(bind, 1, rows))
        return IPEX_BOUND_TOO_LARGE;
    args->planar = is_planar(bind);
    return finish(bind, bind->ints[0], 0);
}

/* Kernel 1x1 with stride 1: pixels of neighbouring lines follow each other wherever no operand has
 * gaps between its lines. */
static bool flatten(struct ipex_bind *bind) {
    const struct ipex_tensor_info *x = bind->input[0], *y = bind->output, *r = bind->input[3];
    struct ipex_conv_args *args = &bind->args.conv;
    int64_t x_all, y_all, r_all;
    if (ipex_info_stride(x, 0, 3, &x_all) && ipex_info_stride(y, 0, 3, &y_all) &&
        ipex_info_stride(r, 0, 3, &r_all)) {
        args->x_pixel = x_all;
        args->y_pixel = y_all;
        args->r_pixel = r_all;
        return set_rows(bind, 1, y->dims[0] * y->dims[1] * y->dims[2]);
    }
    if (ipex_info_stride(x, 1, 3, &x_all) && ipex_info_stride(y, 1, 3, &y_all) &&
        ipex_info_stride(r, 1, 3, &r_all)) {
        args->x_pixel = x_all;
        args->y_pixel = y_all;
        args->r_pixel = r_all;
        return set_rows(bind, y->dims[0], y->dims[1] * y->dims[2]);
    }
    return true;
}

/* Lines of one pixel (a convolution along one axis, the image's height): they follow each other as
 * pixels do, and register blocks take those together. */
static bool lines_are_pixels(struct ipex_bind *bind) {
    struct ipex_conv_args *args = &bind->args.conv;
    args->x_pixel = args->x_line;
    args->y_pixel = args->y_line;
    args->r_pixel = args->r_line;
    return set_rows(bind, bind->output->dims[0], bind->output->dims[1]);
}

static bool set_image_strides(struct ipex_bind *bind) {
    const struct ipex_tensor_info *x = bind->input[0], *y = bind->output, *r = bind->input[3];
    const int32_t *attr = bind->ints;
    struct ipex_conv_args *args = &bind->args.conv;
    args->x_image = x->strides[0];
    args->x_line = attr[IPEX_CONV_STRIDE_H] * x->strides[1];
    args->x_pixel = attr[IPEX_CONV_STRIDE_W] * x->strides[2];
    args->x_kh = attr[IPEX_CONV_DILATION_H] * x->strides[1];
    args->x_kw = attr[IPEX_CONV_DILATION_W] * x->strides[2];
    args->y_image = y->strides[0];
    args->y_line = y->strides[1];
    args->y_pixel = y->strides[2];
    if (r != NULL) {
        args->r_image = r->strides[0];
        args->r_line = r->strides[1];
        args->r_pixel = r->strides[2];
    }
    return set_i32(&args->images, y->dims[0]) && set_i32(&args->lines, y->dims[1]) &&
           set_i32(&args->pixels, y->dims[2]) && set_i32(&args->last_pixels, y->dims[2]);
}

/* What is around x stands for zero, but is not: the bias makes up for it. */
static bool has_other_zeros(const struct ipex_bind *bind) {
    return is_integer(bind) && bind->input[0]->halo_value != 0;
}

/* What lies above and below x, whose kernel rows are left out: not where neighbouring lines may be
 * one block's pixels, as those of a column are, and those of a tile. */
static struct ipex_padding padding(const struct ipex_bind *bind) {
    return bind->output->dims[2] == 1 || takes_tiles(bind) || has_other_zeros(bind)
               ? (struct ipex_padding){.above = 0}
               : ipex_bind_padding(bind, 0);
}

/* What lies beside x, whose taps are left out where they are apart; not of one line or column,
 * which may be cut in other ways. */
static struct ipex_padding padding_w(const struct ipex_bind *bind) {
    const int64_t *y = bind->output->dims;
    const int32_t *window = bind->ints;
    const bool apart = window[IPEX_CONV_DILATION_W] > 1 && window[IPEX_CONV_KERNEL_W] > 1;
    return !apart || y[1] == 1 || y[2] == 1 || takes_tiles(bind) || has_other_zeros(bind)
               ? (struct ipex_padding){.above = 0}
               : ipex_bind_padding(bind, 1);
}

/* Whether the kernel is taken column by column: as the file has it, but for what may be cut in
 * other ways, and where no column is taken by all pixels. */
static bool takes_columns(const struct ipex_bind *bind, const struct ipex_padding *padding) {
    const int64_t *y = bind->output->dims;
    const int64_t before = ipex_max_i64(0, padding->above);
    const int64_t behind = ipex_max_i64(0, padding->below);
    return bind->ints[IPEX_CONV_COLUMNS] && y[1] > 1 && y[2] > 1 && !takes_tiles(bind) &&
           before + behind < bind->ints[IPEX_CONV_KERNEL_W] &&
           ipex_ceil_div(ipex_max_i64(before, behind), padding->stride) < y[2];
}

/* From x's first element to the first tap of the first window. */
static int64_t first_tap(const struct ipex_bind *bind) {
    const int64_t *strides = bind->input[0]->strides;
    return -bind->ints[IPEX_CONV_PAD_TOP] * strides[1] -
           bind->ints[IPEX_CONV_PAD_LEFT] * strides[2];
}

enum ipex_bound ipex_bind_conv(struct ipex_bind *bind) {
    const struct ipex_tensor_info *x = bind->input[0], *w = bind->input[1];
    const int32_t *attr = bind->ints;
    struct ipex_conv_args *args = &bind->args.conv;
    struct ipex_tiles tiles;
    if (!ipex_tiles_of((enum ipex_dtype)w->dtype, w->dims, w->rank, &tiles))
        return IPEX_BOUND_TOO_LARGE;
    const int32_t kernel_h = attr[IPEX_CONV_KERNEL_H], kernel_w = attr[IPEX_CONV_KERNEL_W];
    /* Where a kernel row is one segment its taps are neighbours in x: the checker sees to it. */
    const bool whole_rows = w->dims[3] == kernel_w;
    args->segments_h = kernel_h;
    args->segments_w = whole_rows ? 1 : kernel_w;
    args->x_group = x->dims[3] / attr[IPEX_CONV_GROUPS];
    if (!set_image_strides(bind) || !set_i32(&args->groups, tiles.groups) ||
        !set_i32(&args->k, tiles.k) || !set_i32(&args->n, tiles.n))
        return IPEX_BOUND_TOO_LARGE;
    const bool pointwise = kernel_h == 1 && kernel_w == 1 && attr[IPEX_CONV_STRIDE_H] == 1 &&
                           attr[IPEX_CONV_STRIDE_W] == 1 && attr[IPEX_CONV_PAD_TOP] == 0 &&
                           attr[IPEX_CONV_PAD_LEFT] == 0 && attr[IPEX_CONV_PAD_BOTTOM] == 0 &&
                           attr[IPEX_CONV_PAD_RIGHT] == 0;
    if (pointwise && !bind->lines && !flatten(bind))
        return IPEX_BOUND_TOO_LARGE;
    args->padding = padding(bind);
    args->padding_w = padding_w(bind);
    const struct ipex_padding beside = ipex_bind_padding(bind, 1);
    if (takes_columns(bind, &beside)) {
        args->padding_w = beside;
        args->columns = kernel_w;
    }
    args->planar = !args->columns && is_planar(bind);
    /* A signal's only line is cut like a matrix, so that work can be shared out along it. */
    const bool signal =
        !pointwise && !bind->lines && args->lines == 1 && !(args->planar && args->segments_h > 1);
    if (signal) {
        args->padding.stride = 0; /* all lines are that line */
        if (!set_rows(bind, args->images, args->pixels))
            return IPEX_BOUND_TOO_LARGE;
    }
    if (!pointwise && !bind->lines && bind->output->dims[2] == 1 && !lines_are_pixels(bind))
        return IPEX_BOUND_TOO_LARGE;
    return finish(bind, attr[IPEX_CONV_ACT], first_tap(bind));
}

bool ipex_bind_depthwise_u8(struct ipex_bind *bind) {
    const int32_t *attr = bind->ints;
    struct ipex_conv_args *args = &bind->args.conv;
    args->segments_h = attr[IPEX_CONV_KERNEL_H];
    args->segments_w = attr[IPEX_CONV_KERNEL_W];
    args->groups = 1;
    args->k = (int32_t)(bind->input[0]->dims[3] / attr[IPEX_CONV_GROUPS]);
    if (!set_image_strides(bind) || !set_i32(&args->n, bind->output->dims[3]))
        return false;
    set_operands(bind, attr[IPEX_CONV_ACT], first_tap(bind));
    return true;
}
