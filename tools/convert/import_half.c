/* SPDX-License-Identifier: Apache-2.0 */
/* Half precision in the source: constants of float16 and bfloat16 are widened to f32, which is
 * exact, and so is every value computed of them; casts to these types round nothing. What is
 * multiplied in bf16 is the dtype policy's choice alone (dtype.c), and what is stored in 16 bits
 * that of lossless.c, too, the same for every model.
 * All of it is told: each cast in the ledger, the sum as a note. */
#include "tools/convert/import_half.h"

#include "tools/convert/import_build.h"

bool ipex_import_is_half(int64_t onnx_type) {
    return onnx_type == IPEX_ONNX_FLOAT16 || onnx_type == IPEX_ONNX_BFLOAT16;
}

static const char *type_name(int64_t onnx_type) {
    return onnx_type == IPEX_ONNX_FLOAT16 ? "float16" : "bfloat16";
}

struct ipex_value *ipex_import_half_constant(struct ipex_import *import, const char *name,
                                             const struct ipex_onnx_tensor *tensor) {
    struct ipex_value *stored = ipex_graph_constant(
        import->graph, name, tensor->type == IPEX_ONNX_FLOAT16 ? IPEX_DTYPE_f16 : IPEX_DTYPE_bf16,
        tensor->rank, tensor->dims, tensor->data);
    import->half_constants++;
    return ipex_build_cast(import, stored, IPEX_DTYPE_f32);
}

void ipex_import_half_cast(struct ipex_import *import, int64_t onnx_type) {
    import->half_casts++;
    ipex_ledger_add(import->graph->ledger, "half", import->label, IPEX_REASON_applied,
                    ipex_arena_printf(&import->graph->arena,
                                      "a cast to %s that rounds nothing: values stay in f32",
                                      type_name(onnx_type)));
}

/* "x, y": the ports of half precision. */
static const char *list_ports(struct ipex_import *import, const struct ipex_onnx_value *port,
                              size_t ports, const char *before) {
    for (size_t i = 0; i < ports; i++)
        if (ipex_import_is_half(port[i].type))
            before = ipex_arena_printf(&import->graph->arena, "%s%s%s (%s)", before,
                                       *before ? ", " : "", port[i].name, type_name(port[i].type));
    return before;
}

void ipex_import_half_note(struct ipex_import *import) {
    const struct ipex_onnx_graph *source = &import->model->graph;
    struct ipex_arena *arena = &import->graph->arena;
    const char *ports = list_ports(import, source->output, source->outputs,
                                   list_ports(import, source->input, source->inputs, ""));
    if (!import->half_constants && !import->half_casts && !*ports)
        return;
    const char *note = ipex_arena_printf(
        arena,
        "half precision in the model is computed in f32: %zu constants are widened (of which "
        "weights of layers may be stored as they are: lossless), %zu casts round nothing%s%s "
        "(--weights bf16 and --dtype bf16 choose bf16)\n",
        import->half_constants, import->half_casts, *ports ? "; f32 in the file: " : "", ports);
    import->notes = ipex_arena_printf(arena, "%s%s", import->notes ? import->notes : "", note);
}
