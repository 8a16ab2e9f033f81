/* NumPy's structured dtypes, read through their attributes: like the whole reader, this does
 * without NumPy's C interface. */

#include "core/front/read/read_internal.h"

#include <string.h>

/* Deeper nesting is a mistake; it is limited because the reader of records is recursive. */
enum { MAX_NESTING = 16 };

typedef struct record_reader {
    lw_arena *arena;
    PyObject *whole;
    uint32_t depth;
} record_reader;

static int spec_of(record_reader *w, PyObject *descr, const char *path, lw_arg_record **out);

/* ---- one field ---- */

static bool
has_fields(PyObject *descr)
{
    PyObject *names = PyObject_GetAttrString(descr, "names");
    bool result = names != NULL && PyTuple_Check(names);

    Py_XDECREF(names);
    lw_read_clear();
    return result;
}

/* 'S' or 'U', the letter of a dtype of bytes or texts; 0: it is another, or of a foreign byte
 * order, or its items are empty. */
static char
text_kind(PyObject *descr)
{
    PyObject *kind = PyObject_GetAttrString(descr, "kind"),
             *native = PyObject_GetAttrString(descr, "isnative"),
             *size = PyObject_GetAttrString(descr, "itemsize");
    const char *letter = kind && PyUnicode_Check(kind) ? PyUnicode_AsUTF8(kind) : NULL;
    bool known = letter && (*letter == 'S' || *letter == 'U') && native == Py_True && size &&
                 PyLong_AsLong(size) > 0;
    char result = known ? *letter : 0;

    Py_XDECREF(kind);
    Py_XDECREF(native);
    Py_XDECREF(size);
    lw_read_clear();
    return result;
}

static int
complain(const record_reader *w, const char *path, PyObject *descr)
{
    PyObject *native = PyObject_GetAttrString(descr, "isnative");
    bool swapped = native == Py_False;

    Py_XDECREF(native);
    PyErr_Clear();
    PyErr_Format(
        PyExc_TypeError,
        "field `%.200s` of %.200R has dtype %.200R: records in compiled code have fields of "
        "numbers, strings, of arrays of them and of other records, in native byte order%s",
        path, w->whole, descr, swapped ? "; pass r.astype(r.dtype.newbyteorder('='))" : "");
    return -1;
}

static int
take_item(record_reader *w, PyObject *descr, const char *path, lw_arg_field *field)
{
    lw_arg_record *nested = NULL;

    if (has_fields(descr) || text_kind(descr)) {
        if (spec_of(w, descr, path, &nested) < 0)
            return -1;
        field->record = nested;
        return 0;
    }
    field->dtype = lw_read_numpy_dtype(descr);
    return field->dtype == LW_DT_void ? complain(w, path, descr) : 0;
}

static int
take_shape(record_reader *w, PyObject *shape, lw_arg_field *field)
{
    Py_ssize_t n = PyTuple_GET_SIZE(shape);
    int64_t *extents = lw_arena_take(w->arena, ((size_t)n + 1) * sizeof *extents);

    if (extents == NULL) {
        PyErr_NoMemory();
        return -1;
    }
    for (Py_ssize_t i = 0; i < n; i++)
        extents[i] = PyLong_AsLongLong(PyTuple_GET_ITEM(shape, i));
    field->ndim = (uint32_t)n;
    field->shape = extents;
    return PyErr_Occurred() ? -1 : 0;
}

/* dtype.subdtype: (item dtype, shape), or None. */
static int
take_sub(record_reader *w, PyObject *descr, const char *path, lw_arg_field *field)
{
    PyObject *sub = PyObject_GetAttrString(descr, "subdtype");
    int result = -1;

    if (sub != NULL && PyTuple_Check(sub) && PyTuple_GET_SIZE(sub) == 2) {
        if (take_shape(w, PyTuple_GET_ITEM(sub, 1), field) == 0)
            result = take_item(w, PyTuple_GET_ITEM(sub, 0), path, field);
    } else if (sub != NULL) {
        result = take_item(w, descr, path, field);
    }
    Py_XDECREF(sub);
    return result;
}

/* ---- the record ---- */

static uint32_t
field_align(const lw_arg_field *field)
{
    return field->record ? field->record->align
                         : lw_dtypes[lw_dtypes[field->dtype].parts].size_bytes;
}

static uint32_t
record_align(const lw_arg_record *record)
{
    uint32_t most = 1;

    for (uint32_t i = 0; i < record->n; i++) {
        uint32_t align = field_align(&record->fields[i]);

        if (record->fields[i].offset % align)
            return 1;
        most = align > most ? align : most;
    }
    return record->itemsize % most ? 1 : most;
}

static void
print_field(const lw_arg_field *field, lw_text *out)
{
    lw_text_addf(out, "%s: %s", field->name,
                 field->record ? field->record->name : lw_dtypes[field->dtype].public_name);
    for (uint32_t i = 0; i < field->ndim; i++)
        lw_text_addf(out, "%s%lld%s", i ? ", " : "[", (long long)field->shape[i],
                     i + 1 == field->ndim ? "]" : "");
}

/* Longer names are cut, because messages repeat them. */
enum { MAX_NAME = 72 };

/* "Record(x: float32, v: float64[3])" */
static const char *
record_name(record_reader *w, const lw_arg_record *record)
{
    lw_text text = {0};
    const char *name;

    if (record->class_id)
        lw_text_addf(&text, "%.40s(", ((const PyTypeObject *)record->class_id)->tp_name);
    else
        lw_text_add(&text, "Record(");
    for (uint32_t i = 0; i < record->n; i++) {
        lw_text_add(&text, i ? ", " : "");
        if (text.n > MAX_NAME && i + 1 < record->n) {
            lw_text_add(&text, "…");
            break;
        }
        print_field(&record->fields[i], &text);
    }
    lw_text_add(&text, ")");
    name = text.failed ? NULL : lw_arena_strdup(w->arena, lw_text_get(&text));
    lw_text_reset(&text);
    return name;
}

/* entry: (dtype, offset) or (dtype, offset, title); path: the name of the record around it,
 * "a.b". */
static int
take_field(record_reader *w, PyObject *name, PyObject *entry, const char *path,
           lw_arg_field *field)
{
    const char *text = PyUnicode_AsUTF8(name);
    lw_text full = {0};
    int result = -1;

    if (entry == NULL || text == NULL)
        return -1;
    lw_text_addf(&full, "%s%s%s", path, *path ? "." : "", text);
    field->name = lw_arena_strdup(w->arena, text);
    field->offset = (uint32_t)PyLong_AsUnsignedLong(PyTuple_GET_ITEM(entry, 1));
    if (field->name == NULL || full.failed)
        PyErr_NoMemory();
    else
        result = take_sub(w, PyTuple_GET_ITEM(entry, 0), lw_text_get(&full), field);
    lw_text_reset(&full);
    return result;
}

static int
take_fields(record_reader *w, PyObject *descr, PyObject *names, const char *path,
            lw_arg_field *fields)
{
    PyObject *rows = PyObject_GetAttrString(descr, "fields"), *entry;
    int result = rows ? 0 : -1;

    for (Py_ssize_t i = 0; result == 0 && i < PyTuple_GET_SIZE(names); i++) {
        entry = PyObject_GetItem(rows, PyTuple_GET_ITEM(names, i));
        result = take_field(w, PyTuple_GET_ITEM(names, i), entry, path, &fields[i]);
        Py_XDECREF(entry);
    }
    Py_XDECREF(rows);
    return result;
}

/* The class of which lanewise.extending.dtype_of has made the dtype; the dtype's type keeps it
 * alive. */
static const void *
class_of_records(PyObject *descr)
{
    PyObject *type = PyObject_GetAttrString(descr, "type");
    PyObject *class = type ? PyObject_GetAttrString(type, LW_CLASS_OF_RECORDS) : NULL;
    bool is_class = class != NULL && PyType_Check(class) && PyType_Check(type);

    lw_read_clear();
    Py_XDECREF(type);
    Py_XDECREF(class);
    return is_class ? class : NULL;
}

static int
fill(record_reader *w, PyObject *descr, PyObject *names, const char *path,
     lw_arg_record *record)
{
    size_t n = (size_t)PyTuple_GET_SIZE(names);
    lw_arg_field *fields = lw_arena_take(w->arena, (n + 1) * sizeof *fields);
    PyObject *size = PyObject_GetAttrString(descr, "itemsize");
    long itemsize = size ? PyLong_AsLong(size) : -1;

    Py_XDECREF(size);
    if (fields == NULL)
        PyErr_NoMemory();
    if (PyErr_Occurred())
        return -1;
    if (w->depth >= MAX_NESTING || n == 0 || itemsize <= 0 || itemsize > INT32_MAX)
        return complain(w, *path ? path : "(all of it)", descr);
    w->depth++;
    if (take_fields(w, descr, names, path, fields) < 0)
        return -1;
    w->depth--;
    record->n = (uint32_t)n;
    record->itemsize = (uint32_t)itemsize;
    record->fields = fields;
    record->align = record_align(record);
    record->class_id = class_of_records(descr);
    record->descr = descr;
    record->name = record_name(w, record);
    if (record->name == NULL)
        PyErr_NoMemory();
    return record->name ? 0 : -1;
}

/* An item of an array of bytes, "S12", or of strings, "U12": as many numbers of a byte, or of
 * the four bytes of a code point, zeros behind the text. */
static int
fill_text(record_reader *w, PyObject *descr, char kind, lw_arg_record *record)
{
    PyObject *size = PyObject_GetAttrString(descr, "itemsize");
    long itemsize = size ? PyLong_AsLong(size) : -1;
    lw_text name = {0};

    Py_XDECREF(size);
    if (itemsize <= 0 || itemsize > INT32_MAX)
        return complain(w, "(all of it)", descr);
    record->text = kind;
    record->itemsize = (uint32_t)itemsize;
    record->align = kind == 'U' ? 4 : 1;
    record->descr = descr;
    lw_text_addf(&name, "%c%ld", kind, itemsize / (long)record->align);
    record->name = name.failed ? NULL : lw_arena_strdup(w->arena, lw_text_get(&name));
    lw_text_reset(&name);
    if (record->name == NULL)
        PyErr_NoMemory();
    return record->name ? 0 : -1;
}

static int
spec_of(record_reader *w, PyObject *descr, const char *path, lw_arg_record **out)
{
    PyObject *names = PyObject_GetAttrString(descr, "names");
    lw_arg_record *record = lw_arena_take(w->arena, sizeof *record);
    char kind = text_kind(descr);
    int result = -1;

    if (record != NULL)
        *record = (lw_arg_record){0};
    if (record == NULL)
        PyErr_NoMemory();
    else if (kind != 0)
        result = fill_text(w, descr, kind, record);
    else if (names != NULL)
        result = fill(w, descr, names, path, record);
    Py_XDECREF(names);
    *out = record;
    return result;
}

int
lw_read_record(PyObject *dtype, lw_arena *arena, lw_arg_record **out)
{
    record_reader w = {.arena = arena, .whole = dtype};

    *out = NULL;
    if (has_fields(dtype) || text_kind(dtype))
        return spec_of(&w, dtype, "", out);
    PyErr_Format(PyExc_TypeError, "expected a dtype with fields, got %.200R", dtype);
    return -1;
}
