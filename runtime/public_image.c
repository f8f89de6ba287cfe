/* SPDX-License-Identifier: Apache-2.0 */
/* The public face of the loader: opening files, and looking into them. */
#include <string.h>

#include "format/dims.h"
#include "kernels/kernels.h"
#include "loader/loader.h"
#include "runtime/memory.h"
#include "runtime/session.h"

/* ---- opening ---- */

static enum ipex_status load_options(const struct ipex_image_options *options,
                                     struct ipex_load_options *ret) {
    memset(ret, 0, sizeof *ret);
    if (options == NULL)
        return IPEX_OK;
    if (options->size_of_struct != sizeof *options)
        return IPEX_ERROR_ARGUMENT; /* a message buffer of unknown place cannot be filled */
    ret->report = (struct ipex_report){.text = options->message, .size = options->message_size};
    ret->expect_digest = options->expect_digest;
    ret->verify_data = options->verify_data != 0;
    switch (options->prefault) {
    case IPEX_PREFAULT_NONE:
        ret->prefault = IPEX_LOAD_LAZY;
        return IPEX_OK;
    case IPEX_PREFAULT_WILLNEED:
        ret->prefault = IPEX_LOAD_WILLNEED;
        return IPEX_OK;
    case IPEX_PREFAULT_POPULATE:
        ret->prefault = IPEX_LOAD_POPULATE;
        return IPEX_OK;
    }
    return ipex_fail(&ret->report, IPEX_ERROR_ARGUMENT, "prefault: %d is no such mode",
                     (int)options->prefault);
}

static enum ipex_status begin(const struct ipex_source *source,
                              const struct ipex_image_options *options,
                              struct ipex_load_options *ret) {
    IPEX_TRY(load_options(options, ret));
    IPEX_CHECK(source->path != NULL || source->bytes != NULL || source->fd >= 0, &ret->report,
               IPEX_ERROR_ARGUMENT, "no path, no file in memory and no descriptor is given");
    return IPEX_OK;
}

static enum ipex_status measure(const struct ipex_source *source,
                                const struct ipex_image_options *options, size_t *ret_size) {
    struct ipex_load_options load;
    IPEX_TRY(begin(source, options, &load));
    return ipex_load_measure(source, &load, ret_size);
}

static enum ipex_status open_source(struct ipex_image **ret_image, const struct ipex_source *source,
                                    void *memory, size_t size,
                                    const struct ipex_image_options *options) {
    struct ipex_load_options load;
    IPEX_TRY(begin(source, options, &load));
    /* ipex_load knows how much it needs. */
    IPEX_TRY(ipex_memory_check("an image", memory, size, 0, &load.report));
    return ipex_load(source, memory, size, &load, ret_image);
}

enum ipex_status ipex_image_measure(const char *path, const struct ipex_image_options *options,
                                    size_t *ret_size) {
    const struct ipex_source source = {.path = path, .fd = -1};
    return measure(&source, options, ret_size);
}

enum ipex_status ipex_image_open(struct ipex_image **ret_image, const char *path, void *memory,
                                 size_t size, const struct ipex_image_options *options) {
    const struct ipex_source source = {.path = path, .fd = -1};
    return open_source(ret_image, &source, memory, size, options);
}

enum ipex_status ipex_image_measure_fd(int fd, const struct ipex_image_options *options,
                                       size_t *ret_size) {
    const struct ipex_source source = {.fd = fd};
    return measure(&source, options, ret_size);
}

enum ipex_status ipex_image_from_fd(struct ipex_image **ret_image, int fd, void *memory,
                                    size_t size, const struct ipex_image_options *options) {
    const struct ipex_source source = {.fd = fd};
    return open_source(ret_image, &source, memory, size, options);
}

enum ipex_status ipex_image_measure_memory(const void *file, size_t file_size,
                                           const struct ipex_image_options *options,
                                           size_t *ret_size) {
    const struct ipex_source source = {.bytes = file, .size = file_size, .fd = -1};
    return measure(&source, options, ret_size);
}

enum ipex_status ipex_image_from_memory(struct ipex_image **ret_image, const void *file,
                                        size_t file_size, void *memory, size_t size,
                                        const struct ipex_image_options *options) {
    const struct ipex_source source = {.bytes = file, .size = file_size, .fd = -1};
    return open_source(ret_image, &source, memory, size, options);
}

void ipex_image_close(struct ipex_image *image) {
    if (image != NULL)
        ipex_unload(image);
}

const uint8_t *ipex_image_digest(const struct ipex_image *image) {
    return image->digest;
}

/* ---- looking ---- */

int32_t ipex_image_find_entry(const struct ipex_image *image, const char *entry) {
    if (entry == NULL && image->entries == 1)
        return 0;
    for (int32_t i = 0; i < image->entries; i++)
        if (strcmp(ipex_fb_entry_name(image->entry[i].fb), entry != NULL ? entry : "main") == 0)
            return i;
    return -1;
}

static const struct ipex_image_entry *entry_of(const struct ipex_image *image, const char *entry) {
    const int32_t index = ipex_image_find_entry(image, entry);
    return index >= 0 ? &image->entry[index] : NULL;
}

size_t ipex_image_entry_count(const struct ipex_image *image) {
    return (size_t)image->entries;
}

const char *ipex_image_entry_name(const struct ipex_image *image, size_t index) {
    return index < (size_t)image->entries ? ipex_fb_entry_name(image->entry[index].fb) : NULL;
}

size_t ipex_image_input_count(const struct ipex_image *image, const char *entry) {
    const struct ipex_image_entry *found = entry_of(image, entry);
    return found != NULL ? (size_t)found->inputs : 0;
}

size_t ipex_image_output_count(const struct ipex_image *image, const char *entry) {
    const struct ipex_image_entry *found = entry_of(image, entry);
    return found != NULL ? (size_t)found->outputs : 0;
}

/* The name of the symbol that a dim code is; NULL for others. */
static const char *symbol_of(struct ipex_fb_entry entry, int64_t code) {
    const struct ipex_fb_expr *expr = code < 0 ? &ipex_fb_entry_exprs(entry)[-1 - code] : NULL;
    if (expr == NULL || expr->op != IPEX_EXPR_symbol)
        return NULL;
    return ipex_fb_symbol_name(ipex_fb_entry_symbols(entry, (uint32_t)expr->a));
}

static enum ipex_status describe_port(const struct ipex_image_entry *entry, struct ipex_fb_port fb,
                                      struct ipex_port *ret) {
    const struct ipex_tensor_info *info = &entry->tensor[ipex_fb_port_tensor(fb)];
    int64_t symbols[IPEX_SYMBOLS_MAX];
    struct ipex_dim_values lowest;
    struct ipex_port port = {
        .name = ipex_fb_port_name(fb),
        .dtype = (enum ipex_dtype)info->dtype,
        .rank = info->rank,
    };
    ipex_dims_lowest(entry->fb, symbols);
    IPEX_TRY(ipex_dims_evaluate(entry->fb, symbols, &lowest, NULL));
    for (int32_t d = 0; d < info->rank; d++) {
        const int64_t code = ipex_fb_port_dims(fb)[d];
        (void)ipex_dims_number(&lowest, code, &port.dims[d]); /* the checker has seen to it */
        port.max_dims[d] = info->dims[d]; /* entries are resolved for the highest */
        port.symbol[d] = symbol_of(entry->fb, code);
    }
    *ret = port;
    return IPEX_OK;
}

enum ipex_status ipex_image_input(const struct ipex_image *image, const char *entry, size_t index,
                                  struct ipex_port *ret_port) {
    const struct ipex_image_entry *found = entry_of(image, entry);
    if (found == NULL || index >= (size_t)found->inputs)
        return IPEX_ERROR_NOT_FOUND;
    return describe_port(found, ipex_fb_entry_inputs(found->fb, (uint32_t)index), ret_port);
}

enum ipex_status ipex_image_output(const struct ipex_image *image, const char *entry, size_t index,
                                   struct ipex_port *ret_port) {
    const struct ipex_image_entry *found = entry_of(image, entry);
    if (found == NULL || index >= (size_t)found->outputs)
        return IPEX_ERROR_NOT_FOUND;
    return describe_port(found, ipex_fb_entry_outputs(found->fb, (uint32_t)index), ret_port);
}

static enum ipex_status dim_text(const struct ipex_image_entry *entry, struct ipex_fb_port port,
                                 int32_t axis, char *text, size_t size) {
    if (axis < 0 || (uint32_t)axis >= ipex_fb_port_dims_len(port))
        return IPEX_ERROR_NOT_FOUND;
    ipex_dims_text(entry->fb, ipex_fb_port_dims(port)[axis], text, size);
    return IPEX_OK;
}

enum ipex_status ipex_image_input_dim_text(const struct ipex_image *image, const char *entry,
                                           size_t index, int32_t axis, char *text, size_t size) {
    const struct ipex_image_entry *found = entry_of(image, entry);
    if (found == NULL || index >= (size_t)found->inputs)
        return IPEX_ERROR_NOT_FOUND;
    return dim_text(found, ipex_fb_entry_inputs(found->fb, (uint32_t)index), axis, text, size);
}

enum ipex_status ipex_image_output_dim_text(const struct ipex_image *image, const char *entry,
                                            size_t index, int32_t axis, char *text, size_t size) {
    const struct ipex_image_entry *found = entry_of(image, entry);
    if (found == NULL || index >= (size_t)found->outputs)
        return IPEX_ERROR_NOT_FOUND;
    return dim_text(found, ipex_fb_entry_outputs(found->fb, (uint32_t)index), axis, text, size);
}

size_t ipex_image_symbol_count(const struct ipex_image *image, const char *entry) {
    const struct ipex_image_entry *found = entry_of(image, entry);
    return found != NULL ? ipex_fb_entry_symbols_len(found->fb) : 0;
}

enum ipex_status ipex_image_symbol(const struct ipex_image *image, const char *entry, size_t index,
                                   struct ipex_symbol_info *ret_symbol) {
    if (index >= ipex_image_symbol_count(image, entry))
        return IPEX_ERROR_NOT_FOUND;
    struct ipex_fb_symbol s = ipex_fb_entry_symbols(entry_of(image, entry)->fb, (uint32_t)index);
    *ret_symbol = (struct ipex_symbol_info){.name = ipex_fb_symbol_name(s),
                                            .lo = ipex_fb_symbol_lo(s),
                                            .hi = ipex_fb_symbol_hi(s),
                                            .step = ipex_fb_symbol_step(s)};
    return IPEX_OK;
}

size_t ipex_image_label_count(const struct ipex_image *image, const char *entry) {
    const struct ipex_image_entry *found = entry_of(image, entry);
    return found != NULL ? ipex_fb_entry_labels_len(found->fb) : 0;
}

const char *ipex_image_label(const struct ipex_image *image, const char *entry, size_t index) {
    return index < ipex_image_label_count(image, entry)
               ? ipex_fb_entry_labels(entry_of(image, entry)->fb, (uint32_t)index)
               : NULL;
}

const char *ipex_image_metadata(const struct ipex_image *image, const char *key) {
    const uint32_t count = ipex_fb_model_metadata_len(image->model);
    for (uint32_t i = 0; i < count; i++) {
        const struct ipex_fb_pair pair = ipex_fb_model_metadata(image->model, i);
        if (strcmp(ipex_fb_pair_key(pair), key) == 0)
            return ipex_fb_pair_value(pair);
    }
    return NULL;
}

/* ---- machine ---- */

static uint32_t permitted_features(void) {
    struct ipex_cpu cpu;
    ipex_cpu_detect(&cpu);
    return ipex_amx_detect() == IPEX_AMX_permitted ? cpu.features : cpu.features & ~IPEX_CPU_AMX;
}

enum ipex_isa ipex_isa_detect(void) {
    return ipex_isa_best(permitted_features());
}

int ipex_isa_available(enum ipex_isa isa) {
    return ipex_isa_usable(isa, permitted_features());
}

enum ipex_amx_state ipex_amx_detect(void) {
    int error;
    return ipex_cpu_amx(IPEX_AMX_ASK_LINUX, &error);
}

int ipex_arithmetic_available(enum ipex_arithmetic arithmetic) {
    return ipex_arithmetic_name(arithmetic) != NULL;
}
