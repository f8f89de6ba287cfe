/* SPDX-License-Identifier: Apache-2.0 */
/* Which entries the file gets, and what the command line says of each. An option that names an
 * entry is for that one; one that does not is for every entry that it fits. */
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "format/check_parts.h"
#include "tools/convert/convert.h"
#include "tools/convert/pixels.h"
#include "tools/convert/import_scope.h"
#include "tools/text_table.h"

/* ---- entries ---- */

static bool is_entry_name(const char *name) {
    size_t length = strlen(name);
    if (!length || length > IPEX_PORT_NAME_MAX)
        return false;
    for (; *name; name++)
        if (!((*name >= '0' && *name <= '9') || (*name >= 'A' && *name <= 'Z') ||
              (*name >= 'a' && *name <= 'z') || *name == '_' || *name == '-' || *name == '.'))
            return false;
    return true;
}

static struct ipex_convert_entry *find_entry(const struct ipex_convert *c, const char *name,
                                             size_t length) {
    for (size_t i = 0; i < c->entries; i++)
        if (strlen(c->entry[i].name) == length && !strncmp(c->entry[i].name, name, length))
            return &c->entry[i];
    return NULL;
}

static const char *list_entries(const struct ipex_convert *c, struct ipex_arena *arena) {
    const char *list = "";
    for (size_t i = 0; i < c->entries; i++)
        list = ipex_arena_printf(arena, "%s%s%s", list, i ? ", " : "", c->entry[i].name);
    return list;
}

static void add_entry(struct ipex_convert *c, const char *name, const char *path) {
    struct ipex_convert_entry *entry = &c->entry[c->entries++];
    *entry = (struct ipex_convert_entry){.name = name, .model_path = path};
}

/* The positional model is entry main. */
static bool take_entries(struct ipex_convert *c, const struct ipex_cli_verb *verb) {
    c->entry = ipex_arena_array(&c->arena, c->entry_list.count + 1, sizeof *c->entry);
    if (c->model_path)
        add_entry(c, "main", c->model_path);
    for (size_t i = 0; i < c->entry_list.count; i++) {
        const char *path, *item = c->entry_list.item[i];
        size_t length;
        if (!ipex_cli_split(item, &length, &path)) {
            ipex_cli_wrong(verb, "--entry %s: NAME=MODEL.onnx is expected", item);
            return false;
        }
        const char *name = ipex_arena_strndup(&c->arena, item, length);
        if (!is_entry_name(name)) {
            ipex_cli_wrong(verb,
                           "--entry %s: a name has letters, digits, '_', '-' and '.', at most %d",
                           item, IPEX_PORT_NAME_MAX);
            return false;
        }
        if (find_entry(c, name, length)) {
            ipex_cli_wrong(verb, "--entry %s: there is an entry %s already%s", item, name,
                           c->model_path && !strcmp(name, "main") ? ", the model without --entry"
                                                                  : "");
            return false;
        }
        add_entry(c, name, path);
    }
    if (c->entries && c->entries <= IPEX_ENTRIES_MAX)
        return true;
    if (c->entries)
        ipex_cli_wrong(verb, "%zu entries: a file has at most %d", c->entries, IPEX_ENTRIES_MAX);
    else
        ipex_cli_wrong(verb,
                       "MODEL.onnx is missing (or --entry NAME=MODEL.onnx for each of several)");
    return false;
}

/* The entry that "ENTRY:REST" or "ENTRY=REST" speaks of; NULL, and all of the text, where nothing
 * before the separator is the name of one. */
static struct ipex_convert_entry *split_entry(const struct ipex_convert *c, const char *text,
                                              char separator, const char **ret_rest) {
    const char *at = strchr(text, separator);
    struct ipex_convert_entry *entry = at ? find_entry(c, text, (size_t)(at - text)) : NULL;
    *ret_rest = entry ? at + 1 : text;
    return entry;
}

/* ---- sizes ---- */

static bool parse_integer(const char *text, int64_t *ret, const char **ret_end) {
    return ipex_cli_size(text, ret, ret_end) && *ret <= IPEX_MAX_DIM;
}

/* N, LO..HI or LO..HI:STEP */
static bool parse_range(const char *text, struct ipex_dim_option *dim) {
    const char *end;
    dim->step = 1;
    if (*text && !strchr("0123456789+-. ", *text) && !strstr(text, "..")) {
        dim->same = text;
        return true;
    }
    if (!parse_integer(text, &dim->lo, &end))
        return false;
    dim->hi = dim->lo;
    if (*end && (strncmp(end, "..", 2) || !parse_integer(end + 2, &dim->hi, &end)))
        return false;
    if (*end && (*end != ':' || !parse_integer(end + 1, &dim->step, &end)))
        return false;
    return !*end && dim->lo <= dim->hi && dim->lo % dim->step == 0 && dim->hi % dim->step == 0;
}

/* Two options of one name may say the same, not different things. */
static bool add_dim(struct ipex_convert_entry *entry, const struct ipex_dim_option *dim) {
    struct ipex_import_options *import = &entry->import;
    for (size_t i = 0; i < import->dims; i++) {
        struct ipex_dim_option *known = &import->dim[i];
        if (strcmp(known->name, dim->name))
            continue;
        if (known->shared == dim->shared)
            return known->lo == dim->lo && known->hi == dim->hi && known->step == dim->step &&
                   !strcmp(known->same ? known->same : "", dim->same ? dim->same : "");
        if (known->shared) /* what names the entry counts more */
            *known = *dim;
        return true;
    }
    import->dim[import->dims++] = *dim;
    return true;
}

/* A size, or the lowest of a range, that is a number too low. */
static bool is_below_one(const char *range) {
    char *end;
    const long long lo = strtoll(range, &end, 10);
    return end != range && lo < 1 && (!*end || !strncmp(end, "..", 2));
}

/* NAME=RANGE of "--dim item" is wrong. */
static void refuse_dim(const struct ipex_cli_verb *verb, const char *item, const char *range) {
    if (range && is_below_one(range))
        (void)ipex_cli_failed("%s: --dim %s: the least size is 1, as nothing that a run takes or "
                              "gives is empty",
                              verb->name, item);
    else
        (void)ipex_cli_wrong(
            verb,
            "--dim %s: NAME=N, NAME=LO..HI[:STEP] or NAME=OTHER is expected, from 1 "
            "to %lld, LO and HI multiples of STEP",
            item, (long long)IPEX_MAX_DIM);
}

static bool take_dim(struct ipex_convert *c, const struct ipex_cli_verb *verb, const char *item) {
    const char *text, *range = NULL;
    size_t length;
    struct ipex_convert_entry *only = split_entry(c, item, ':', &text);
    struct ipex_dim_option dim = {.shared = !only && c->entries > 1};
    if (!ipex_cli_split(text, &length, &range) || !parse_range(range, &dim)) {
        refuse_dim(verb, item, range);
        return false;
    }
    dim.name = ipex_arena_strndup(&c->arena, text, length);
    for (size_t e = 0; e < c->entries; e++)
        if ((!only || only == &c->entry[e]) && !add_dim(&c->entry[e], &dim)) {
            ipex_cli_wrong(verb, "--dim %s: another --dim gives %s other sizes", item, dim.name);
            return false;
        }
    return true;
}

static bool parse_shape(const char *text, struct ipex_shape_option *shape) {
    const char *end = text;
    for (; shape->rank < IPEX_MAX_RANK; text = end + 1) {
        if (!parse_integer(text, &shape->dims[shape->rank++], &end))
            return false;
        if (*end != 'x')
            return !*end;
    }
    return false;
}

/* As add_dim. */
static bool add_shape(struct ipex_convert_entry *entry, const struct ipex_shape_option *shape) {
    struct ipex_import_options *import = &entry->import;
    for (size_t i = 0; i < import->shapes; i++) {
        struct ipex_shape_option *known = &import->shape[i];
        if (strcmp(known->name, shape->name))
            continue;
        if (known->shared == shape->shared)
            return known->rank == shape->rank &&
                   !memcmp(known->dims, shape->dims, sizeof known->dims);
        if (known->shared)
            *known = *shape;
        return true;
    }
    import->shape[import->shapes++] = *shape;
    return true;
}

static bool take_shape(struct ipex_convert *c, const struct ipex_cli_verb *verb, const char *item) {
    const char *text, *dims;
    size_t length;
    struct ipex_convert_entry *only = split_entry(c, item, ':', &text);
    struct ipex_shape_option shape = {.shared = !only && c->entries > 1};
    if (!ipex_cli_split(text, &length, &dims) || !parse_shape(dims, &shape)) {
        ipex_cli_wrong(verb, "--input %s: NAME=1x3x224x224 is expected, at most %d dims", item,
                       IPEX_MAX_RANK);
        return false;
    }
    shape.name = ipex_arena_strndup(&c->arena, text, length);
    for (size_t e = 0; e < c->entries; e++)
        if ((!only || only == &c->entry[e]) && !add_shape(&c->entry[e], &shape)) {
            ipex_cli_wrong(verb, "--input %s: another --input gives %s another shape", item,
                           shape.name);
            return false;
        }
    return true;
}

static bool take_sizes(struct ipex_convert *c, const struct ipex_cli_verb *verb) {
    for (size_t e = 0; e < c->entries; e++) {
        struct ipex_convert_entry *entry = &c->entry[e];
        struct ipex_import_options *import = &entry->import;
        import->dim = ipex_arena_array(&c->arena, c->dims.count + 1, sizeof *import->dim);
        import->shape = ipex_arena_array(&c->arena, c->shapes.count + 1, sizeof *import->shape);
        import->prefix = c->entries > 1 ? ipex_arena_printf(&c->arena, "%s:", entry->name) : "";
    }
    for (size_t i = 0; i < c->dims.count; i++)
        if (!take_dim(c, verb, c->dims.item[i]))
            return false;
    for (size_t i = 0; i < c->shapes.count; i++)
        if (!take_shape(c, verb, c->shapes.item[i]))
            return false;
    return true;
}

/* ---- constants ---- */

/* A text that ends in .npy or .pb is a file. */
static bool names_file(const char *text) {
    const char *dot = strrchr(text, '.');
    return dot && (!strcmp(dot, ".npy") || !strcmp(dot, ".pb"));
}

/* As add_dim, but a constant is never given twice: whether two files hold the same is not asked. */
static bool add_constant(struct ipex_convert_entry *entry, const struct ipex_const_option *given) {
    struct ipex_import_options *import = &entry->import;
    for (size_t i = 0; i < import->constants; i++) {
        struct ipex_const_option *known = &import->constant[i];
        if (strcmp(known->name, given->name))
            continue;
        if (known->shared == given->shared)
            return false;
        if (known->shared)
            *known = *given;
        return true;
    }
    import->constant[import->constants++] = *given;
    return true;
}

static int take_constant(struct ipex_convert *c, const struct ipex_cli_verb *verb, size_t i) {
    const char *text, *value, *item = c->constants.item[i];
    size_t length;
    struct ipex_convert_entry *only = split_entry(c, item, ':', &text);
    struct ipex_const_option *given = &c->constant[i];
    if (!ipex_cli_split(text, &length, &value) || !*value)
        return ipex_cli_wrong(verb, "--const %s: NAME=VALUE or NAME=FILE.npy is expected", item);
    given->name = ipex_arena_strndup(&c->arena, text, length);
    given->text = value;
    given->is_file = names_file(value);
    given->shared = !only && c->entries > 1;
    if (given->is_file && ipex_tensor_read(value, &given->tensor, &c->report) != IPEX_OK)
        return ipex_cli_failed("--const %s: %s", given->name, c->text);
    for (size_t e = 0; e < c->entries; e++)
        if ((!only || only == &c->entry[e]) && !add_constant(&c->entry[e], given))
            return ipex_cli_wrong(verb, "--const %s is given twice", given->name);
    return IPEX_EXIT_DONE;
}

static int take_constants(struct ipex_convert *c, const struct ipex_cli_verb *verb) {
    size_t count = c->constants.count;
    int code = IPEX_EXIT_DONE;
    c->constant = ipex_arena_array(&c->arena, count + 1, sizeof *c->constant);
    for (size_t e = 0; e < c->entries; e++)
        c->entry[e].import.constant = ipex_arena_array(&c->arena, count + 1, sizeof *c->constant);
    for (size_t i = 0; i < count && code == IPEX_EXIT_DONE; i++)
        code = take_constant(c, verb, i);
    return code;
}

/* ---- pictures ---- */

/* As add_constant. */
static bool add_image(struct ipex_convert_entry *entry, const struct ipex_image_option *image) {
    struct ipex_import_options *import = &entry->import;
    for (size_t i = 0; i < import->images; i++) {
        struct ipex_image_option *known = &import->image[i];
        if (strcmp(known->name, image->name))
            continue;
        if (known->shared == image->shared)
            return false;
        if (known->shared)
            *known = *image;
        return true;
    }
    import->image[import->images++] = *image;
    return true;
}

static bool take_image(struct ipex_convert *c, const struct ipex_cli_verb *verb, const char *item) {
    struct ipex_image_option image;
    const char *text, *wrong;
    struct ipex_convert_entry *only = split_entry(c, item, ':', &text);
    if (!ipex_image_parse(text, &c->arena, &image, &wrong)) {
        ipex_cli_wrong(verb, "--image %s: %s", item, wrong);
        return false;
    }
    image.shared = !only && c->entries > 1;
    for (size_t e = 0; e < c->entries; e++)
        if ((!only || only == &c->entry[e]) && !add_image(&c->entry[e], &image)) {
            ipex_cli_wrong(verb, "--image %s is given twice", image.name);
            return false;
        }
    return true;
}

static bool take_images(struct ipex_convert *c, const struct ipex_cli_verb *verb) {
    for (size_t e = 0; e < c->entries; e++) {
        struct ipex_import_options *import = &c->entry[e].import;
        import->image = ipex_arena_array(&c->arena, c->images.count + 1, sizeof *import->image);
    }
    for (size_t i = 0; i < c->images.count; i++)
        if (!take_image(c, verb, c->images.item[i]))
            return false;
    return true;
}

/* ---- files ---- */

/* The entry that an option "[ENTRY=]PATH" is for: with one entry it need not be named. NULL after a
 * message. */
static struct ipex_convert_entry *entry_of_path(struct ipex_convert *c,
                                                const struct ipex_cli_verb *verb,
                                                const char *option, const char *item,
                                                const char **ret_path) {
    struct ipex_convert_entry *entry = split_entry(c, item, '=', ret_path);
    if (!entry && c->entries == 1)
        entry = &c->entry[0];
    if (!entry)
        ipex_cli_wrong(verb, "--%s %s: with several entries, ENTRY=... says which; they are: %s",
                       option, item, list_entries(c, &c->arena));
    else if (!**ret_path) {
        ipex_cli_wrong(verb, "--%s %s: nothing behind the '='", option, item);
        entry = NULL;
    }
    return entry;
}

static bool take_files(struct ipex_convert *c, const struct ipex_cli_verb *verb) {
    const char *path;
    for (size_t i = 0; i < c->labels.count; i++) {
        struct ipex_convert_entry *entry =
            entry_of_path(c, verb, "labels", c->labels.item[i], &path);
        if (!entry)
            return false;
        if (entry->labels_path) {
            ipex_cli_wrong(verb, "--labels %s: entry %s has labels from %s already",
                           c->labels.item[i], entry->name, entry->labels_path);
            return false;
        }
        entry->labels_path = path;
    }
    for (size_t i = 0; i < c->golden_from.count; i++) {
        struct ipex_convert_entry *entry =
            entry_of_path(c, verb, "golden-from", c->golden_from.item[i], &path);
        if (!entry)
            return false;
        ipex_cli_list_add(&entry->golden_from, path);
    }
    return true;
}

/* ---- all ---- */

static bool take_precision(struct ipex_convert *c, const struct ipex_cli_verb *verb) {
    const char *const given[2] = {c->dtype, c->weights};
    for (int i = 0; i < 2; i++)
        if (given[i] && strcmp(given[i], "f32") && strcmp(given[i], "bf16")) {
            ipex_cli_wrong(verb, "--%s %s: f32 or bf16 is expected", i ? "weights" : "dtype",
                           given[i]);
            return false;
        }
    const bool dtype = c->dtype && !strcmp(c->dtype, "bf16");
    const bool weights = c->weights && !strcmp(c->weights, "bf16");
    if (dtype && c->weights && !weights) {
        ipex_cli_wrong(verb, "--dtype bf16 multiplies by bf16 weights: --weights f32 contradicts");
        return false;
    }
    c->precision = dtype     ? IPEX_PRECISION_bf16
                   : weights ? IPEX_PRECISION_bf16_weights
                             : IPEX_PRECISION_f32;
    return true;
}

static bool take_arithmetic(struct ipex_convert *c, const struct ipex_cli_verb *verb) {
    static const enum ipex_arithmetic profiles[] = {IPEX_ARITHMETIC_bf16_dp,
                                                    IPEX_ARITHMETIC_bf16_amx};
    if (!c->profile)
        return true;
    for (size_t i = 0; i < sizeof profiles / sizeof *profiles; i++)
        if (!strcmp(c->profile, ipex_arithmetic_name(profiles[i])))
            c->arithmetic = profiles[i];
    if (c->arithmetic == IPEX_ARITHMETIC_AUTO)
        ipex_cli_wrong(verb, "--arithmetic %s: bf16-dp or bf16-amx is expected", c->profile);
    else if (c->precision != IPEX_PRECISION_bf16)
        ipex_cli_wrong(verb, "--arithmetic %s: only with --dtype bf16", c->profile);
    else
        return true;
    return false;
}

static bool take_activations(struct ipex_convert *c, const struct ipex_cli_verb *verb) {
    const char *given = c->activations_text;
    if (!given)
        return true;
    c->activations = !strcmp(given, "i8") ? IPEX_ACTIVATIONS_i8 : IPEX_ACTIVATIONS_f32;
    if (strcmp(given, "f32") && strcmp(given, "i8")) {
        ipex_cli_wrong(verb, "--activations %s: f32 or i8 is expected", given);
        return false;
    }
    return true;
}

const char *ipex_convert_text(struct ipex_convert *c, const char *text) {
    if (ipex_check_text(text, (uint32_t)strlen(text), UINT32_MAX, "", NULL) == IPEX_OK)
        return text;
    char *ascii = ipex_arena_strdup(&c->arena, text);
    ipex_make_ascii(ascii);
    return ascii;
}

/* "x=x.npy" of "x=folder/x.npy": folders of this machine say nothing on others. */
static void leave_folders_out(struct ipex_convert *c) {
    for (size_t i = 0; i < c->constants.count; i++) {
        const char *item = c->constants.item[i], *file = c->constant[i].text;
        const char *slash = strrchr(file, '/');
        if (c->constant[i].is_file && slash)
            c->constants.item[i] =
                ipex_arena_printf(&c->arena, "%.*s%s", (int)(file - item), item, slash + 1);
    }
}

static const char *describe(struct ipex_convert *c) {
    const struct {
        const char *option;
        const struct ipex_cli_list *list;
    } lists[] = {
        {"dim", &c->dims}, {"input", &c->shapes}, {"const", &c->constants}, {"image", &c->images}};
    const char *text = "";
    for (size_t k = 0; k < sizeof lists / sizeof *lists; k++)
        for (size_t i = 0; i < lists[k].list->count; i++)
            text = ipex_arena_printf(&c->arena, "%s%s--%s %s", text, *text ? " " : "",
                                     lists[k].option, lists[k].list->item[i]);
    if (c->dtype)
        text = ipex_arena_printf(&c->arena, "%s%s--dtype %s", text, *text ? " " : "", c->dtype);
    if (c->weights)
        text = ipex_arena_printf(&c->arena, "%s%s--weights %s", text, *text ? " " : "", c->weights);
    if (c->activations_text)
        text = ipex_arena_printf(&c->arena, "%s%s--activations %s", text, *text ? " " : "",
                                 c->activations_text);
    if (c->profile)
        text = ipex_arena_printf(&c->arena, "%s --arithmetic %s", text, c->profile);
    if (c->speed || c->size)
        text = ipex_arena_printf(&c->arena, "%s%s%s", text, *text ? " " : "",
                                 c->speed ? "--speed" : "--size");
    return ipex_convert_text(c, text);
}

int ipex_convert_take_options(struct ipex_convert *c, const struct ipex_cli_verb *verb) {
    if (c->speed && c->size)
        return ipex_cli_wrong(verb, "--speed and --size contradict each other");
    if (!take_entries(c, verb) || !take_sizes(c, verb) || !take_images(c, verb) ||
        !take_files(c, verb) || !take_precision(c, verb) || !take_arithmetic(c, verb) ||
        !take_activations(c, verb))
        return IPEX_EXIT_USAGE;
    const int code = take_constants(c, verb);
    if (code != IPEX_EXIT_DONE)
        return code;
    leave_folders_out(c);
    c->options_text = describe(c);
    return code;
}

static bool dim_used(const struct ipex_convert *c, const char *name) {
    for (size_t e = 0; e < c->entries; e++) {
        const struct ipex_import_options *import = &c->entry[e].import;
        for (size_t i = 0; i < import->dims; i++)
            if (import->dim[i].used && !strcmp(import->dim[i].name, name))
                return true;
    }
    return false;
}

static bool shape_used(const struct ipex_convert *c, const char *name) {
    for (size_t e = 0; e < c->entries; e++) {
        const struct ipex_import_options *import = &c->entry[e].import;
        for (size_t i = 0; i < import->shapes; i++)
            if (import->shape[i].used && !strcmp(import->shape[i].name, name))
                return true;
    }
    return false;
}

static bool constant_used(const struct ipex_convert *c, const char *name) {
    for (size_t e = 0; e < c->entries; e++) {
        const struct ipex_const_option *given = ipex_import_find_given(&c->entry[e].import, name);
        if (given && given->used)
            return true;
    }
    return false;
}

static bool image_used(const struct ipex_convert *c, const char *name) {
    for (size_t e = 0; e < c->entries; e++) {
        const struct ipex_import_options *import = &c->entry[e].import;
        for (size_t i = 0; i < import->images; i++)
            if (import->image[i].used && !strcmp(import->image[i].name, name))
                return true;
    }
    return false;
}

/* Of the options that one entry was given with all others. */
static bool check_shared(const struct ipex_convert *c, const struct ipex_cli_verb *verb,
                         const struct ipex_import_options *import) {
    for (size_t i = 0; i < import->dims; i++)
        if (import->dim[i].shared && !dim_used(c, import->dim[i].name)) {
            ipex_cli_wrong(verb, "--dim %s: no entry has an input with a dimension of that name",
                           import->dim[i].name);
            return false;
        }
    for (size_t i = 0; i < import->shapes; i++)
        if (import->shape[i].shared && !shape_used(c, import->shape[i].name)) {
            ipex_cli_wrong(verb, "--input %s: no entry has an input of that name",
                           import->shape[i].name);
            return false;
        }
    for (size_t i = 0; i < import->images; i++)
        if (import->image[i].shared && !image_used(c, import->image[i].name)) {
            ipex_cli_wrong(verb, "--image %s: no entry has an input of that name",
                           import->image[i].name);
            return false;
        }
    for (size_t i = 0; i < import->constants; i++)
        if (import->constant[i].shared && !constant_used(c, import->constant[i].name)) {
            ipex_cli_wrong(verb, "--const %s: no entry has an input of that name",
                           import->constant[i].name);
            return false;
        }
    return true;
}

static bool same_file(const char *a, const char *b) {
    struct stat first, second;
    return a && !stat(a, &first) && !stat(b, &second) && first.st_dev == second.st_dev &&
           first.st_ino == second.st_ino;
}

/* The target is none of the files that are read: it would take their place. */
static bool target_is_apart(const struct ipex_convert *c, const struct ipex_cli_verb *verb) {
    const char *what = NULL;
    for (size_t e = 0; e < c->entries && !what; e++)
        what = ipex_onnx_reads(&c->entry[e].model, c->output)  ? "a model or its weights"
               : same_file(c->entry[e].labels_path, c->output) ? "the labels"
                                                               : NULL;
    for (size_t i = 0; i < c->constants.count && !what; i++)
        if (c->constant[i].is_file && same_file(c->constant[i].text, c->output))
            what = "a constant";
    if (what)
        ipex_cli_wrong(verb, "-o %s: this is %s that is read: give another name", c->output, what);
    return !what;
}

bool ipex_convert_check_options(const struct ipex_convert *c, const struct ipex_cli_verb *verb) {
    if (!target_is_apart(c, verb))
        return false;
    for (size_t e = 0; e < c->entries; e++)
        if (!check_shared(c, verb, &c->entry[e].import))
            return false;
    return true;
}
