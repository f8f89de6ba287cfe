/* SPDX-License-Identifier: Apache-2.0 */
/* Build-time generator: a binary schema (flatc -b --schema --bfbs-builtins) -> C.
 *
 *   fbgen read   model.bfbs > model_fb.h         structs, field ids, typed accessors
 *   fbgen tables model.bfbs > model_fb_tables.h  what ipex_fb_verify walks by
 *   fbgen build  model.bfbs > model_fb_build.h   typed helpers over format/fb_build.h
 *
 * Refuses what the schema profile excludes: unions, recursion, tables nested deeper than
 * IPEX_FB_DEPTH, required and deprecated fields, structs with padding or anything but scalars in
 * them, single sub-tables and inline structs. Its input is flatc's output, which it trusts. */
#include <ctype.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "format/fb_read.h"

enum { MAX_FIELDS = 64, MAX_OBJECTS = 64, MAX_NAME = 64 };

/* reflection.BaseType */
enum base_type {
    TYPE_BOOL = 2,
    TYPE_I8,
    TYPE_U8,
    TYPE_I16,
    TYPE_U16,
    TYPE_I32,
    TYPE_U32,
    TYPE_I64,
    TYPE_U64,
    TYPE_F32,
    TYPE_F64,
    TYPE_STRING,
    TYPE_VECTOR,
    TYPE_OBJECT,
};

static const struct {
    const char *name;
    unsigned size;
} scalars[] = {
    [TYPE_BOOL] = {"bool", 1},    [TYPE_I8] = {"int8_t", 1},    [TYPE_U8] = {"uint8_t", 1},
    [TYPE_I16] = {"int16_t", 2},  [TYPE_U16] = {"uint16_t", 2}, [TYPE_I32] = {"int32_t", 4},
    [TYPE_U32] = {"uint32_t", 4}, [TYPE_I64] = {"int64_t", 8},  [TYPE_U64] = {"uint64_t", 8},
    [TYPE_F32] = {"float", 4},    [TYPE_F64] = {"double", 8},
};

/* Field ids of the tables of reflection.fbs. */
enum { TYPE_BASE, TYPE_ELEMENT, TYPE_INDEX };
enum {
    FIELD_NAME,
    FIELD_TYPE,
    FIELD_ID,
    FIELD_OFFSET,
    FIELD_INTEGER,
    FIELD_REAL,
    FIELD_DEPRECATED,
    FIELD_REQUIRED,
};
enum { OBJECT_NAME, OBJECT_FIELDS, OBJECT_IS_STRUCT, OBJECT_ALIGN, OBJECT_SIZE };
enum { SCHEMA_OBJECTS, SCHEMA_ENUMS, SCHEMA_IDENT, SCHEMA_EXTENSION, SCHEMA_ROOT };

struct field {
    char name[MAX_NAME], upper[MAX_NAME];
    unsigned base, element; /* enum base_type; element: of a vector */
    int32_t object;         /* of TYPE_OBJECT as base or element: index into objects */
    unsigned offset;        /* in a struct */
    int64_t integer;        /* default */
    double real;
};

struct object {
    char name[MAX_NAME], upper[MAX_NAME];
    bool is_struct;
    unsigned size, align; /* of a struct */
    unsigned depth;       /* of a table: 1 for the root */
    unsigned fields;
    struct field field[MAX_FIELDS]; /* by id; of a struct by offset */
};

static struct object objects[MAX_OBJECTS];
static unsigned object_count, root_object;
static const uint8_t *object_positions[MAX_OBJECTS];

static void die(const char *format, ...) __attribute__((format(printf, 1, 2), noreturn));
static void die(const char *format, ...) {
    va_list args;
    va_start(args, format);
    fputs("fbgen: ", stderr);
    vfprintf(stderr, format, args);
    fputc('\n', stderr);
    va_end(args);
    exit(1);
}

/* ---- reading the binary schema ---- */

static int64_t read_number(const uint8_t *table, unsigned id, unsigned size, int64_t otherwise) {
    const uint8_t *slot = ipex_fb_slot(table, id);
    uint64_t value = 0;
    if (!slot)
        return otherwise;
    memcpy(&value, slot, size);
    if (size == 4)
        return (int32_t)value;
    return (int64_t)value;
}

/* "ipex.BandGroup" -> "band_group" and "BAND_GROUP". */
static void set_names(const char *full, char name[MAX_NAME], char upper[MAX_NAME]) {
    const char *dot = strrchr(full, '.');
    size_t n = 0;
    for (const char *s = dot ? dot + 1 : full; *s; s++) {
        if (n + 3 > MAX_NAME)
            die("name too long: %s", full);
        if (isupper((unsigned char)*s) && n > 0)
            name[n++] = '_';
        name[n++] = (char)tolower((unsigned char)*s);
    }
    name[n] = 0;
    for (size_t i = 0; i <= n; i++)
        upper[i] = (char)toupper((unsigned char)name[i]);
}

static void read_field(const uint8_t *record, struct field *field) {
    const uint8_t *type = ipex_fb_follow(record, FIELD_TYPE);
    set_names(ipex_fb_text(ipex_fb_follow(record, FIELD_NAME)), field->name, field->upper);
    field->base = (unsigned)read_number(type, TYPE_BASE, 1, 0);
    field->element = (unsigned)read_number(type, TYPE_ELEMENT, 1, 0);
    field->object = (int32_t)read_number(type, TYPE_INDEX, 4, -1);
    field->offset = (unsigned)read_number(record, FIELD_OFFSET, 2, 0);
    field->integer = read_number(record, FIELD_INTEGER, 8, 0);
    const uint8_t *real = ipex_fb_slot(record, FIELD_REAL);
    if (real)
        memcpy(&field->real, real, sizeof field->real);
    if (read_number(record, FIELD_DEPRECATED, 1, 0) || read_number(record, FIELD_REQUIRED, 1, 0))
        die("%s: deprecated and required fields are outside the profile", field->name);
}

static int by_offset(const void *a, const void *b) {
    return (int)((const struct field *)a)->offset - (int)((const struct field *)b)->offset;
}

static void read_object(const uint8_t *record, struct object *object) {
    const uint8_t *fields = ipex_fb_follow(record, OBJECT_FIELDS);
    set_names(ipex_fb_text(ipex_fb_follow(record, OBJECT_NAME)), object->name, object->upper);
    object->is_struct = read_number(record, OBJECT_IS_STRUCT, 1, 0) != 0;
    object->align = (unsigned)read_number(record, OBJECT_ALIGN, 4, 0);
    object->size = (unsigned)read_number(record, OBJECT_SIZE, 4, 0);
    object->fields = ipex_fb_length(fields);
    if (object->fields > MAX_FIELDS)
        die("%s has too many fields", object->name);
    for (unsigned i = 0; i < object->fields; i++) {
        const uint8_t *field = ipex_fb_element(fields, i);
        unsigned id = (unsigned)read_number(field, FIELD_ID, 2, 0);
        if (id >= object->fields)
            die("%s: field ids have gaps", object->name);
        read_field(field, &object->field[id]);
    }
    if (object->is_struct)
        qsort(object->field, object->fields, sizeof object->field[0], by_offset);
}

static void read_schema(const uint8_t *bytes) {
    const uint8_t *schema = bytes + ipex_fb_u32(bytes);
    const uint8_t *list = ipex_fb_follow(schema, SCHEMA_OBJECTS);
    object_count = ipex_fb_length(list);
    if (object_count > MAX_OBJECTS)
        die("too many tables and structs");
    for (unsigned i = 0; i < object_count; i++) {
        object_positions[i] = ipex_fb_element(list, i);
        read_object(object_positions[i], &objects[i]);
        if (object_positions[i] == ipex_fb_follow(schema, SCHEMA_ROOT))
            root_object = i;
    }
}

/* ---- the profile ---- */

static bool is_scalar(unsigned type) {
    return type >= TYPE_BOOL && type <= TYPE_F64;
}

static bool is_table_vector(const struct field *field) {
    return field->base == TYPE_VECTOR && field->element == TYPE_OBJECT &&
           !objects[field->object].is_struct;
}

static void check_struct(const struct object *object) {
    unsigned end = 0;
    for (unsigned i = 0; i < object->fields; i++) {
        const struct field *field = &object->field[i];
        if (!is_scalar(field->base) || field->offset != end)
            die("struct %s: only scalars without padding", object->name);
        end += scalars[field->base].size;
    }
    if (end != object->size || object->align > 8)
        die("struct %s: padding or alignment above 8", object->name);
}

static void check_table(const struct object *object) {
    for (unsigned i = 0; i < object->fields; i++) {
        const struct field *field = &object->field[i];
        bool fits = is_scalar(field->base) || field->base == TYPE_STRING;
        if (field->base == TYPE_VECTOR)
            fits = is_scalar(field->element) || field->element == TYPE_STRING ||
                   field->element == TYPE_OBJECT;
        if (!fits)
            die("%s.%s: a type outside the profile", object->name, field->name);
    }
}

/* Depth of every table by relaxation; a recursive schema grows without end and is refused with the
 * too deep ones. */
static void check_depth(void) {
    objects[root_object].depth = 1;
    for (unsigned round = 0; round <= IPEX_FB_DEPTH; round++)
        for (unsigned i = 0; i < object_count; i++)
            for (unsigned k = 0; objects[i].depth > 0 && k < objects[i].fields; k++) {
                const struct field *field = &objects[i].field[k];
                if (!is_table_vector(field) || objects[field->object].depth > objects[i].depth)
                    continue;
                objects[field->object].depth = objects[i].depth + 1;
                if (objects[i].depth + 1 > IPEX_FB_DEPTH)
                    die("%s.%s: tables nested too deep", objects[i].name, field->name);
            }
}

static void check_profile(void) {
    for (unsigned i = 0; i < object_count; i++)
        if (objects[i].is_struct)
            check_struct(&objects[i]);
        else
            check_table(&objects[i]);
    check_depth();
}

/* ---- model_fb.h ---- */

static void print_struct(const struct object *object) {
    printf("struct ipex_fb_%s {\n", object->name);
    for (unsigned i = 0; i < object->fields; i++)
        printf("    %s %s;\n", scalars[object->field[i].base].name, object->field[i].name);
    printf("};\n_Static_assert(sizeof(struct ipex_fb_%s) == %u, \"as in the schema\");\n\n",
           object->name, object->size);
}

static void print_default(const struct field *field) {
    if (field->base == TYPE_F32 || field->base == TYPE_F64)
        printf("(%s)%.17g", scalars[field->base].name, field->real);
    else
        printf("%lld", (long long)field->integer);
}

static void print_scalar_reader(const struct object *object, const struct field *field) {
    const char *type = scalars[field->base].name;
    printf("static inline %s ipex_fb_%s_%s(struct ipex_fb_%s t) {\n", type, object->name,
           field->name, object->name);
    printf("    const uint8_t *slot = ipex_fb_slot(t.p, IPEX_FB_%s_%s);\n", object->upper,
           field->upper);
    if (field->base == TYPE_BOOL) { /* any byte but 0 is true, but a C bool may hold 0 and 1 only */
        printf("    return slot ? *slot != 0 : ");
        print_default(field);
        printf(";\n}\n");
        return;
    }
    printf("    %s value = ", type);
    print_default(field);
    printf(";\n    if (slot)\n        memcpy(&value, slot, sizeof value);\n    return value;\n}\n");
}

static void print_follow(const struct object *object, const struct field *field) {
    printf("ipex_fb_follow(t.p, IPEX_FB_%s_%s)", object->upper, field->upper);
}

static void print_length(const struct object *object, const struct field *field) {
    printf("static inline uint32_t ipex_fb_%s_%s_len(struct ipex_fb_%s t) {\n    return "
           "ipex_fb_length(",
           object->name, field->name, object->name);
    print_follow(object, field);
    printf(");\n}\n");
}

static void print_string_reader(const struct object *object, const struct field *field) {
    printf("static inline const char *ipex_fb_%s_%s(struct ipex_fb_%s t) {\n    return "
           "ipex_fb_text(",
           object->name, field->name, object->name);
    print_follow(object, field);
    printf(");\n}\n");
    print_length(object, field);
}

static void print_strings_reader(const struct object *object, const struct field *field) {
    printf("static inline const char *ipex_fb_%s_%s(struct ipex_fb_%s t, uint32_t i) {\n    return "
           "ipex_fb_text(ipex_fb_element(",
           object->name, field->name, object->name);
    print_follow(object, field);
    printf(", i));\n}\n");
    printf("static inline uint32_t ipex_fb_%s_%s_length(struct ipex_fb_%s t, uint32_t i) {\n"
           "    return ipex_fb_length(ipex_fb_element(",
           object->name, field->name, object->name);
    print_follow(object, field);
    printf(", i));\n}\n");
    print_length(object, field);
}

static void print_tables_reader(const struct object *object, const struct field *field) {
    const char *element = objects[field->object].name;
    printf("static inline struct ipex_fb_%s ipex_fb_%s_%s(struct ipex_fb_%s t, uint32_t i) {\n"
           "    return (struct ipex_fb_%s){ipex_fb_element(",
           element, object->name, field->name, object->name, element);
    print_follow(object, field);
    printf(", i)};\n}\n");
    print_length(object, field);
}

static const char *element_type(const struct field *field, char buffer[2 * MAX_NAME]) {
    if (is_scalar(field->element))
        return scalars[field->element == TYPE_BOOL ? TYPE_U8 : field->element].name;
    snprintf(buffer, 2 * MAX_NAME, "struct ipex_fb_%s", objects[field->object].name);
    return buffer;
}

static void print_vector_reader(const struct object *object, const struct field *field) {
    char buffer[2 * MAX_NAME];
    printf("static inline const %s *ipex_fb_%s_%s(struct ipex_fb_%s t) {\n    return "
           "ipex_fb_elements(",
           element_type(field, buffer), object->name, field->name, object->name);
    print_follow(object, field);
    printf(");\n}\n");
    print_length(object, field);
}

static void print_reader(const struct object *object, const struct field *field) {
    if (is_scalar(field->base))
        print_scalar_reader(object, field);
    else if (field->base == TYPE_STRING)
        print_string_reader(object, field);
    else if (field->element == TYPE_STRING)
        print_strings_reader(object, field);
    else if (is_table_vector(field))
        print_tables_reader(object, field);
    else
        print_vector_reader(object, field);
}

static void print_read_header(void) {
    printf("#ifndef IPEX_FORMAT_MODEL_FB_H\n#define IPEX_FORMAT_MODEL_FB_H\n\n"
           "#include \"format/fb_read.h\"\n\n");
    for (unsigned i = 0; i < object_count; i++)
        if (objects[i].is_struct)
            print_struct(&objects[i]);
        else
            printf("struct ipex_fb_%s {\n    const uint8_t *p;\n};\n\n", objects[i].name);
    for (unsigned i = 0; i < object_count; i++) {
        const struct object *object = &objects[i];
        if (object->is_struct)
            continue;
        printf("enum ipex_fb_%s_id {\n", object->name);
        for (unsigned k = 0; k < object->fields; k++)
            printf("    IPEX_FB_%s_%s,\n", object->upper, object->field[k].upper);
        printf("    IPEX_FB_%s_FIELDS,\n};\n", object->upper);
        for (unsigned k = 0; k < object->fields; k++)
            print_reader(object, &object->field[k]);
        printf("\n");
    }
    printf("static inline struct ipex_fb_%s ipex_fb_root(const void *bytes) {\n"
           "    const uint8_t *p = bytes;\n    return (struct ipex_fb_%s){p + ipex_fb_u32(p)};\n"
           "}\n\n#endif\n",
           objects[root_object].name, objects[root_object].name);
}

/* ---- model_fb_tables.h ---- */

static void print_row(const struct field *field) {
    unsigned size = 4, align = 4, table = 0;
    const char *kind = "VECTOR";
    if (is_scalar(field->base)) {
        kind = "SCALAR";
        size = align = scalars[field->base].size;
    } else if (field->base == TYPE_STRING) {
        kind = "STRING";
    } else if (field->element == TYPE_STRING) {
        kind = "STRINGS";
    } else if (is_table_vector(field)) {
        kind = "TABLES";
        table = (unsigned)field->object;
    } else if (field->element == TYPE_OBJECT) {
        size = objects[field->object].size;
        align = objects[field->object].align;
    } else {
        size = align = scalars[field->element].size;
    }
    printf("    {IPEX_FB_%s, %u, %u, %u}, /* %s */\n", kind, size, align, table, field->name);
}

static void print_tables_header(void) {
    printf("#include \"format/fb_read.h\"\n\n");
    for (unsigned i = 0; i < object_count; i++) {
        if (objects[i].is_struct)
            continue;
        printf("static const struct ipex_fb_field ipex_fb_%s_fields[] = {\n", objects[i].name);
        for (unsigned k = 0; k < objects[i].fields; k++)
            print_row(&objects[i].field[k]);
        printf("};\n\n");
    }
    printf("static const struct ipex_fb_table ipex_fb_tables[] = {\n");
    for (unsigned i = 0; i < object_count; i++)
        if (objects[i].is_struct)
            printf("    {NULL, 0}, /* struct %s */\n", objects[i].name);
        else
            printf("    {ipex_fb_%s_fields, %u},\n", objects[i].name, objects[i].fields);
    printf("};\n\nstatic const struct ipex_fb_schema ipex_fb_schema = {ipex_fb_tables, %u};\n",
           root_object);
}

/* ---- model_fb_build.h ---- */

static void print_put(const struct object *object, const struct field *field) {
    const char *name = object->name;
    bool scalar = is_scalar(field->base);
    printf("static inline void ipex_fb_%s_put_%s(struct ipex_fb_builder *b, %s value) {\n", name,
           field->name, scalar ? scalars[field->base].name : "uint32_t");
    if (!scalar) {
        printf("    ipex_fb_put_ref(b, IPEX_FB_%s_%s, value);\n}\n", object->upper, field->upper);
        return;
    }
    printf("    if (value != ");
    print_default(field);
    printf(")\n        ipex_fb_put(b, IPEX_FB_%s_%s, &value, sizeof value);\n}\n", object->upper,
           field->upper);
}

static void print_make(const struct object *object, const struct field *field) {
    char buffer[2 * MAX_NAME];
    bool in_struct = field->element == TYPE_OBJECT;
    if (field->base != TYPE_VECTOR || field->element == TYPE_STRING || is_table_vector(field))
        return;
    printf("static inline uint32_t ipex_fb_%s_make_%s(struct ipex_fb_builder *b, const %s *values, "
           "uint32_t count) {\n    return ipex_fb_vector(b, values, count, sizeof *values, %u);\n"
           "}\n",
           object->name, field->name, element_type(field, buffer),
           in_struct ? objects[field->object].align : scalars[field->element].size);
}

static void print_build_header(void) {
    printf("#ifndef IPEX_FORMAT_MODEL_FB_BUILD_H\n#define IPEX_FORMAT_MODEL_FB_BUILD_H\n\n"
           "#include \"format/fb_build.h\"\n#include \"format/model_fb.h\"\n\n");
    for (unsigned i = 0; i < object_count; i++)
        for (unsigned k = 0; !objects[i].is_struct && k < objects[i].fields; k++) {
            print_put(&objects[i], &objects[i].field[k]);
            print_make(&objects[i], &objects[i].field[k]);
        }
    printf("\n#endif\n");
}

static uint8_t *read_file(const char *path) {
    FILE *file = fopen(path, "rb");
    if (!file || fseek(file, 0, SEEK_END) != 0)
        die("cannot read %s", path);
    long size = ftell(file);
    rewind(file);
    uint8_t *bytes = size >= 8 ? malloc((size_t)size) : NULL;
    if (!bytes || fread(bytes, 1, (size_t)size, file) != (size_t)size)
        die("cannot read %s", path);
    fclose(file);
    if (memcmp(bytes + 4, "BFBS", 4) != 0)
        die("%s is not a binary schema", path);
    return bytes;
}

int main(int argc, char **argv) {
    if (argc != 3)
        die("usage: fbgen read|tables|build SCHEMA.bfbs");
    uint8_t *bytes = read_file(argv[2]);
    read_schema(bytes);
    check_profile();
    printf("/* SPDX-License-Identifier: Apache-2.0 */\n"
           "/* Generated by format/gen/fbgen.c from format/model.fbs; do not edit. */\n");
    if (strcmp(argv[1], "read") == 0)
        print_read_header();
    else if (strcmp(argv[1], "tables") == 0)
        print_tables_header();
    else if (strcmp(argv[1], "build") == 0)
        print_build_header();
    else
        die("unknown output %s", argv[1]);
    free(bytes);
    return ferror(stdout) || fflush(stdout) != 0;
}
