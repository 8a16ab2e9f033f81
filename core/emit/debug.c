/* Line tables: a scope for every function and a location for every line of its text, in the
 * form that LLVM 7 and today's LLVM both read. Inlined helpers keep their own scope, so tools
 * show the line of the user's Python. A function without a location of its own is at line 0. */
#include "core/emit/emit_internal.h"

#include <string.h>

/* ptxas cannot read a quote or a backslash in a path, however it is escaped. */
static void
add_quoted(lw_text *out, const char *text, size_t n_bytes)
{
    lw_text_add(out, "\"");
    for (size_t i = 0; i < n_bytes; i++) {
        unsigned char c = (unsigned char)text[i];
        if (c == '"' || c == '\\' || c < 0x20)
            lw_text_add(out, "_");
        else if (c > 0x7e)
            lw_text_addf(out, "\\%02X", c);
        else
            lw_text_add_n(out, text + i, 1);
    }
    lw_text_add(out, "\"");
}

static uint32_t
add_file(lw_emitter *e, uint32_t file)
{
    const char *path = file < e->module->files.n ? e->module->files.data[file] : NULL;
    const char *slash = path ? strrchr(path, '/') : NULL;
    const char *name = slash ? slash + 1 : path ? path : "unknown";
    uint32_t number;
    lw_text text;

    lw_text_init(&text);
    lw_text_add(&text, "!DIFile(filename: ");
    add_quoted(&text, name, strlen(name));
    lw_text_add(&text, ", directory: ");
    add_quoted(&text, path, slash ? (size_t)(slash - path) : 0);
    lw_text_add(&text, ")");
    number = lw_metadata(e, "$s", lw_text_get(&text));
    e->out->failed |= text.failed;
    lw_text_reset(&text);
    return number;
}

uint32_t
lw_debug_file(lw_emitter *e, uint32_t file)
{
    if (e->debug_files[file] == 0)
        e->debug_files[file] = add_file(e, file);
    return e->debug_files[file];
}

lw_status
lw_debug_start(lw_emitter *e)
{
    bool variables = e->options->variables;

    if (!((e->gpu && e->options->lineinfo) || variables) || e->module->files.n < 2)
        return LW_OK;
    e->places = lw_alloc_zero(e->module->locs.n, sizeof *e->places);
    e->debug_files = lw_alloc_zero(e->module->files.n, sizeof *e->debug_files);
    if (e->places == NULL || e->debug_files == NULL)
        return lw_fail_memory(e->err);
    e->debug_unit = lw_metadata(e,
                                "distinct !DICompileUnit(language: DW_LANG_C99, file: !$u, "
                                "producer: \"lanewise\", isOptimized: $s, runtimeVersion: 0, "
                                "emissionKind: $s)",
                                add_file(e, 1), variables ? "false" : "true",
                                variables ? "FullDebug" : "DebugDirectivesOnly");
    return LW_OK;
}

/* The function whose location a kernel gets that was generated around a user's function. */
static const lw_func *
source_of(const lw_emitter *e)
{
    const lw_module *module = e->module;

    for (uint32_t i = 0; e->func->line == 0 && i < module->funcs.n; i++)
        if (module->funcs.data[i]->line != 0)
            return module->funcs.data[i];
    return e->func;
}

/* The number is taken after the file's node has been written: lw_metadata writes the nodes of
 * its arguments first. */
void
lw_debug_function(lw_emitter *e)
{
    const lw_func *func = e->func, *source = source_of(e);
    const char *name = func->python_name ? func->python_name : func->name;
    bool variables = e->options->variables;
    uint32_t file, types;
    lw_text quoted, linkage;

    if (e->debug_unit == 0)
        return;
    /* Helpers have no source: inlined, they have the location of their call. Line 0 would not
     * do, because libNVVM repeats `.loc` for it inside of calls, which ptxas cannot parse. */
    if (func->linkage != LW_KERNEL && func->line == 0)
        return;
    memset(e->places, 0, e->module->locs.n * sizeof *e->places);
    file = add_file(e, source->file ? source->file : 1);
    types = lw_metadata(e, "!DISubroutineType(types: !{null})");
    lw_text_init(&quoted);
    lw_text_init(&linkage);
    add_quoted(&quoted, name, strlen(name));
    if (!variables) /* with it, debuggers know the function by that name alone */
        lw_text_addf(&linkage, "linkageName: \"%s\", ", func->name);
    e->scope =
        lw_metadata(e,
                    "distinct !DISubprogram(name: $s, $sscope: !$u, "
                    "file: !$u, line: $u, type: !$u, isLocal: false, isDefinition: true, "
                    "scopeLine: $u, isOptimized: $s, unit: !$u)",
                    lw_text_get(&quoted), lw_text_get(&linkage), file, file, source->line,
                    types, source->line, variables ? "false" : "true", e->debug_unit);
    /* On the host what precedes the first statement, where parameters are stored, is part of
     * the prologue for gdb if it has no line: a breakpoint at a function is behind it. */
    e->place = lw_metadata(e, "!DILocation(line: $u, column: 0, scope: !$u)",
                           e->gpu ? source->line : 0, e->scope);
    e->places[0] = e->place;
    e->out->failed |= quoted.failed || linkage.failed;
    lw_text_reset(&quoted);
    lw_text_reset(&linkage);
}

void
lw_debug_inst(lw_emitter *e)
{
    const lw_ir_loc *loc = &e->module->locs.data[e->inst->loc];
    uint32_t scope = e->scope;

    if (scope == 0)
        return;
    if (e->places[e->inst->loc] == 0) {
        if (loc->file && loc->file != e->func->file)
            scope =
                lw_metadata(e, "!DILexicalBlockFile(scope: !$u, file: !$u, discriminator: 0)",
                            e->scope, add_file(e, loc->file));
        e->places[e->inst->loc] = lw_metadata(
            e, "!DILocation(line: $u, column: $u, scope: !$u)", loc->line, loc->col + 1, scope);
    }
    e->place = e->places[e->inst->loc];
}

void
lw_debug_end(lw_emitter *e)
{
    if (e->debug_unit == 0)
        return;
    lw_text_addf(e->out, "!llvm.dbg.cu = !{!%u}\n!llvm.module.flags = !{!%u", e->debug_unit,
                 lw_metadata(e, "!{i32 1, !\"Debug Info Version\", i32 3}"));
    if (!e->gpu)
        lw_text_addf(e->out, ", !%u", lw_metadata(e, "!{i32 2, !\"Dwarf Version\", i32 4}"));
    lw_text_add(e->out, "}\n");
}
