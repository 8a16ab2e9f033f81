/* Shared by the files of the reader only.
 *
 *   python.c    entry point: work list of functions, bodies
 *   scope.c     which variable, global, cell or builtin a name means
 *   params.c    parameters, defaults, annotations
 *   constant.c  Python objects -> constants    callable.c  callables    numpy.c  those of NumPy
 *   attribute.c attributes of frozen objects
 *   fold.c      exact folding with Python's own arithmetic
 *   expr.c      expressions     stmt.c  statements, patterns
 *   array_function.c  functions of whole arrays, ufuncs with an output
 *   ufunc_method.c    reduce, accumulate, at and the like of ufuncs
 *   external.c  functions in other languages    declared.c  with signatures
 *   linked.c    code that callables bring along
 *   classes/    classes of the user's and their objects, enum members, types with a model
 *   overload.c  which callables and names are overloaded; trees with implementations
 *   captures/   what was frozen, and whether it has changed
 *
 * A reader function returns 0 (node) or -1 (int) when reading must stop: r->status says why
 * (LW_ERR_PYTHON: exception set). Unsupported code does not stop it: it becomes an ERROR
 * node. */
#ifndef LW_FRONT_READ_INTERNAL_H
#define LW_FRONT_READ_INTERNAL_H

#include <Python.h>

#include "core/front/diagnose.h"
#include "core/front/read/ast.h"
#include "core/front/read/python.h"

/* Functions that one function may reach; a helper that pulls in half a library ends here with
 * an error. */
enum { LW_READ_MAX_FUNCTIONS = 4096 };

/* The `except` or `finally` whose statements are being read. */
typedef struct lw_read_caught {
    const struct lw_read_caught *outer;
    PyObject *name; /* borrowed: of the exception, or NULL */
    bool is_finally;
} lw_read_caught;

/* A function that is being read: its variables by name. `parent` is the function around it. */
typedef struct lw_scope {
    struct lw_scope *parent;
    const lw_read_caught *caught;
    uint32_t fn;
    PyObject *vars;      /* dict: name -> variable number */
    PyObject *globals;   /* set: names declared global */
    PyObject *nonlocals; /* set: names declared nonlocal */
} lw_scope;

typedef struct lw_read_work {
    PyObject *function; /* owned: a PyFunction */
    PyObject *self;     /* owned: of a bound method, or NULL */
    uint32_t fn;
} lw_read_work;

typedef struct lw_reader {
    lw_ast ast;
    lw_tree *tree;
    lw_error *err;
    lw_status status;
    lw_captures *captures;        /* NULL: the caller does not want them */
    LW_ARRAY(PyObject *) objects; /* by constant: the Python object, owned, or NULL */
    LW_ARRAY(lw_read_work) queue;
    PyObject *constant_of; /* dict: id -> constant; objects keeps the ids unique */
    PyObject *function_of; /* dict: ids of function, its self, its maker -> fn */
    PyObject *named;       /* dict: id -> row of names.def; built at first need */
    PyObject *named_kept;  /* list: keeps those ids unique */
    PyObject *numpy;       /* the module if it is loaded, else NULL; owned */
    bool numpy_looked;
    PyObject *earlier; /* list: what readers of the trees before this one have read, so that the
                          ids in function_of stay theirs; or NULL */
    PyObject *overloaded; /* dict: ids of overloaded callables; NULL: there are none */
    /* the function being read */
    PyObject *function, *self;    /* borrowed from the work list */
    PyObject *globals, *builtins; /* borrowed from the function */
    bool may_lack_text;           /* the first function: lw_read_function_later */
    bool is_settled; /* it is in a private module of ours: its names are looked up once, and no
                        call compares them again */
    const char *self_name; /* parameter bound to self, or NULL */
    lw_scope *scope;
    uint32_t n_copies;      /* bodies that unroll.c has read */
    bool continue_is_break; /* in a loop that unroll.c has written out */
    uint32_t file;
    int32_t line_offset;
} lw_reader;

/* Record a Python exception (returns 0) or lack of memory. */
uint32_t lw_read_failed(lw_reader *r);
uint32_t lw_read_no_memory(lw_reader *r);
/* Copies into the tree's arena; NULL after lw_read_no_memory. */
const char *lw_read_text(lw_reader *r, const char *text);
const char *lw_read_str(lw_reader *r, PyObject *str);

/* ---- nodes (python.c) ---- */
uint32_t lw_read_loc(lw_reader *r, PyObject *ast_node);
uint32_t lw_read_node(lw_reader *r, lw_node node);
/* The same with a list for the operands b and c. */
uint32_t lw_read_list_node(lw_reader *r, lw_node node, const uint32_t *items, uint32_t n);
typedef LW_ARRAY(uint32_t) lw_read_items;
/* Reads each element of a node's list into items. false: reading must stop, or *error, an ERROR
 * node, stands for the whole list. */
bool lw_read_each(lw_reader *r, PyObject *ast_node, PyObject *field,
                  uint32_t (*read)(lw_reader *r, PyObject *element), lw_read_items *items,
                  uint32_t *error);
bool lw_read_item(lw_reader *r, lw_read_items *items, uint32_t node); /* false: stop */

/* ---- classes/members.c ---- */
/* The class and its members; NULL: stop. */
const lw_enum *lw_read_enum_class(lw_reader *r, PyObject *class);
/* Reads the class of a member with it; constant: that of the member. false: stop. */
bool lw_read_enum(lw_reader *r, PyObject *member, uint32_t constant);

/* ---- ufunc_method.c ---- */
bool lw_read_is_ufunc(lw_reader *r, PyObject *object); /* NumPy's or one of vectorize */
/* A call of `np.add.reduce` and its like becomes a call of a function that loops; other calls
 * do not change. false: stop. */
bool lw_read_ufunc_method(lw_reader *r, uint32_t *callee, lw_read_items *items);

/* ---- ufuncs with an output (array_function.c) ---- */
/* A call of a ufunc with an output becomes a call of a function that loops over it; other calls
 * do not change. false: stop. */
bool lw_read_array_ufunc(lw_reader *r, uint32_t *callee, lw_read_items *items);

/* ---- functions of whole arrays (array_function.c) ---- */
/* The fn that implements np.sum and its like with loops; 0 and status OK: it is none of
 * them. */
uint32_t lw_read_array_function(lw_reader *r, PyObject *object);
/* Whether it is a function of scipy.special; what to say where compiled code does not have it.
 */
bool lw_read_is_special(PyObject *object);
/* What the leading parameters of lanewise.special's function are (lw_fn.takes); NULL: it is
 * none.
 */
const char *lw_read_special_takes(const char *name);
const char *lw_read_special_hint(lw_reader *r,
                                 PyObject *object); /* NULL: it is none, or stop */
/* For a call of sum, min, max, any, all or a method whose argument may be an array: reads the
 * function that implements it for arrays. false: stop. */
bool lw_read_maybe_array_function(lw_reader *r, uint32_t *callee, const lw_read_items *items);
/* The fn of an operator or attribute of array_functions.def. 0: stop. */
uint32_t lw_read_own_function(lw_reader *r, const char *name);
/* `sum(e for v in it)`: a CALL of a nested function that loops. 0 and status OK: the call is
 * not of this kind. */
uint32_t lw_read_generator(lw_reader *r, PyObject *call, uint32_t callee, uint32_t loc);
/* A list comprehension as a call of the function that makes the list; 0 and status OK: it
 * cannot be compiled. */
uint32_t lw_read_list_comprehension(lw_reader *r, PyObject *comprehension, uint32_t loc);
/* An error that is raised only if this code is reached: a diagnostic of the tree, or an ERROR
 * node with one. The format makes the sentence. */
uint32_t lw_read_diag(lw_reader *r, uint32_t loc, lw_fault fault, const char *format, ...)
    __attribute__((format(printf, 4, 5)));
uint32_t lw_read_error(lw_reader *r, PyObject *ast_node, lw_fault fault, const char *format,
                       ...) __attribute__((format(printf, 4, 5)));
bool lw_read_is_error(const lw_reader *r, uint32_t node);
/* The fn of a Python function object, which is put on the work list when it is first seen.
 * made: the object of ours that holds it, if that has signatures of its own; or NULL. */
uint32_t lw_read_function_constant(lw_reader *r, PyObject *function, PyObject *self,
                                   PyObject *made);
/* The fn of a def or lambda inside the current function. */
uint32_t lw_read_nested(lw_reader *r, PyObject *ast_node);

/* ---- names (scope.c) ---- */
int lw_scope_init(lw_reader *r, lw_scope *scope, lw_scope *parent, uint32_t fn);
void lw_scope_reset(lw_reader *r, lw_scope *scope);
uint32_t lw_scope_add(lw_reader *r, lw_scope *scope, PyObject *name);
/* Add the names that a list of statements (or one expression) binds. */
int lw_scope_scan(lw_reader *r, lw_scope *scope, PyObject *ast_node);
/* A NAME or CONSTANT node for reading `name`; a NAME or ERROR node for storing to it. */
uint32_t lw_read_name(lw_reader *r, PyObject *ast_node, PyObject *name);
uint32_t lw_read_name_store(lw_reader *r, PyObject *ast_node, PyObject *name);

/* ---- constants (constant.c) ---- */
/* The constant of an object; 0: stop. */
uint32_t lw_read_constant(lw_reader *r, PyObject *object);
/* Of what was captured by a name of `space` (name NULL: a cell), and is guarded: an operand, if
 * lw_captures_is_operand says so. */
uint32_t lw_read_captured(lw_reader *r, PyObject *space, PyObject *name, PyObject *value);
uint32_t lw_read_constant_text(lw_reader *r, lw_constant_kind kind, const char *text,
                               const char *help);
uint32_t lw_read_constant_node(lw_reader *r, PyObject *object, uint32_t loc);
/* The Python object of a CONSTANT node, borrowed; NULL for other nodes. */
PyObject *lw_read_object(const lw_reader *r, uint32_t node);
/* object.name of a frozen object: 1 with *out (new reference), 0 not known when it is read, 2
 * there is no such attribute, -1 stop. */
int lw_read_attribute(lw_reader *r, PyObject *object, PyObject *name, PyObject **out);
/* The error E150: the object that `node` reads an attribute of has none of this name. */
uint32_t lw_read_missing_attribute(lw_reader *r, PyObject *node, PyObject *object,
                                   PyObject *name);
/* The constant of an object that may annotate a variable or parameter; 0: it may not (or stop).
 */
uint32_t lw_read_annotation(lw_reader *r, PyObject *annotation);
/* The constant of a type that is written as in signatures; 0 and status OK: it is neither a
 * number nor a tuple of numbers. */
uint32_t lw_read_type_text(lw_reader *r, const char *text);
enum { LW_READ_MOST_ITEMS = 64 }; /* of a tuple type that an annotation may name */
/* The constant of a tuple type, from the constants of its items; 0: no memory. */
uint32_t lw_read_tuple_type(lw_reader *r, const uint32_t *types, uint32_t n);

/* A constant that stands for `object` (may be NULL). */
uint32_t lw_read_push(lw_reader *r, PyObject *object, lw_constant constant);
uint32_t lw_read_push_dtype(lw_reader *r, PyObject *object, lw_dtype dtype);
/* The field names of a namedtuple class (new reference), or NULL. */
PyObject *lw_read_field_names(PyObject *type);

/* ---- callables (callable.c) ---- */
/* The row of names.def of a callable, 0: none. */
uint32_t lw_read_named(lw_reader *r, PyObject *object);
/* The constant of a callable; 0 and status OK: compiled code cannot call it. */
uint32_t lw_read_callable(lw_reader *r, PyObject *object);

/* ---- NumPy (numpy.c) ---- */
bool lw_read_is_numpy(lw_reader *r, PyObject *object, const char *class_name);
/* Whether it is np.iinfo(dtype) or np.finfo(dtype), which never change; is_limits recognises
 * their results. */
bool lw_read_is_made_now(lw_reader *r, PyObject *object);
bool lw_read_asks_limits(lw_reader *r, PyObject *callee, PyObject *arg);
bool lw_read_is_limits(lw_reader *r, PyObject *object);
lw_dtype lw_read_numpy_dtype(PyObject *dtype);                /* void: none of ours */
lw_dtype lw_read_numpy_class(lw_reader *r, PyObject *object); /* np.float32 and the like */
/* 0 and status OK: not of a type that compiled code knows, or too large. */
uint32_t lw_read_numpy_scalar(lw_reader *r, PyObject *object);
uint32_t lw_read_numpy_array(lw_reader *r, PyObject *object);
/* Arrays on devices, of any library, and their stand-ins on the host. */
bool lw_read_is_live(PyObject *object);
uint32_t lw_read_live_array(lw_reader *r, PyObject *object); /* 0 and status OK: it is none */
bool lw_read_is_masked(PyObject *object);

/* ---- code to link (linked.c) ---- */
/* Notes what __lanewise_link__ or __numba_cuda_link__ of a callable names. *out: its number; 0:
 * it has neither, or `inner` (or NULL) has the same value. false: stop. */
bool lw_read_linked(lw_reader *r, PyObject *object, PyObject *inner, uint32_t *out);
/* The same of a class: makes: for making objects, else for their methods. */
bool lw_read_linked_class(lw_reader *r, PyObject *class, bool makes, uint32_t *out);
/* What a method without code of its own has from `of`, the object or class that it is found in.
 */
bool lw_read_linked_method(lw_reader *r, PyObject *of, uint32_t fn, uint32_t *out);
/* The constant of an attribute's value, which may be such a method. */
uint32_t lw_read_linked_attribute(lw_reader *r, PyObject *of, PyObject *value);

/* ---- functions in other languages (external.c) ---- */
uint32_t lw_read_external(lw_reader *r, PyObject *object); /* 0 and status OK: none */
/* Whether it is a function of ctypes or cffi, or of types.WrapperAddressProtocol. */
bool lw_read_is_foreign(PyObject *object);
/* Such a function, by its address; 0 and status OK: it is none. */
uint32_t lw_read_foreign(lw_reader *r, PyObject *object);

/* ---- functions that differ on CPUs and GPUs (external.c) ---- */
typedef struct lw_sides {
    const char *name;
    uint32_t on_cpu, on_gpu; /* constants of what is called with the same arguments */
    uint32_t like;           /* the fn whose parameters it has; 0: … */
    uint32_t n_params;       /* … it has so many, without names */
    bool returns_nothing;    /* whatever is called returns */
} lw_sides;

/* The fn that calls either. */
uint32_t lw_read_sides(lw_reader *r, const lw_sides *sides);

/* ---- functions with signatures (declared.c) ---- */
/* The fn of the function inside an object, with the signatures that the object was made
 * with. */
uint32_t lw_read_declared(lw_reader *r, PyObject *object, PyObject *function, PyObject *self);

/* ---- parameters (params.c); false: stop ---- */
bool lw_read_params(lw_reader *r, PyObject *args);
bool lw_read_live_defaults(lw_reader *r, uint32_t fn);
bool lw_read_nested_defaults(lw_reader *r, uint32_t fn, PyObject *args);
bool lw_read_live_annotations(lw_reader *r, uint32_t fn);
/* The parameters in r->scope of a function of which there is only the code. */
bool lw_read_params_of_code(lw_reader *r, PyCodeObject *code);
/* The types that `locals=` gives to variables and parameters. */
bool lw_read_local_types(lw_reader *r, uint32_t fn);

/* ---- folding (fold.c): new references; NULL without exception: not folded ---- */
PyObject *lw_fold_unary(lw_pyop op, PyObject *x);
PyObject *lw_fold_binary(lw_pyop op, PyObject *x, PyObject *y);
PyObject *lw_fold_compare(lw_pyop op, PyObject *x, PyObject *y);
PyObject *lw_fold_subscript(PyObject *x, PyObject *index);
/* A method of an exact Python number or of a text that is called while functions are read:
 * x.bit_length(), "text".upper(). */
bool lw_fold_is_method(PyObject *object, const char *name);
/* *too_large: the result would be (lw_fold_refuse raises E130). */
PyObject *lw_fold_call(lw_reader *r, uint32_t callee, const lw_read_items *items,
                       bool *too_large);
/* Python numbers, str, None, members of enum classes and tuples of them. */
bool lw_fold_is_basic(PyObject *x);
/* 1, 0, or -1: not known when it is read. */
int lw_fold_truth(PyObject *x);
/* Whether the result would have so many digits that it can only be a mistake. */
bool lw_fold_too_large(lw_pyop op, PyObject *x, PyObject *y);
/* E130 at the operator or call whose result would be that large. */
uint32_t lw_fold_refuse(lw_reader *r, PyObject *node);
/* The largest number in a format, which is its width or its precision; NULL: 0. */
double lw_fold_width(PyObject *spec);

/* ---- folding of members, texts and dicts (fold_static.c) ---- */
bool lw_fold_is_enum(PyObject *x);                            /* a class with members */
bool lw_fold_is_member(PyObject *x);                          /* a member of one */
PyObject *lw_fold_isinstance(PyObject *x, PyObject *classes); /* texts, None, members */
/* A method of str without effects whose result is not much larger than its arguments. */
bool lw_fold_is_text_method(const char *name);
/* Whether `format % argument` and format.format(argument) have a bounded size. */
bool lw_fold_fits_format(PyObject *format, PyObject *argument);
/* A text's part; slice: a SLICE node with constant bounds. */
PyObject *lw_fold_text_slice(lw_reader *r, PyObject *text, uint32_t slice);
/* object[index], `key in dict`, dict.get(key, default): items of dicts are guarded. NULL with
 * r->status set, too. */
PyObject *lw_fold_item(lw_reader *r, PyObject *object, PyObject *index);
PyObject *lw_fold_in_dict(lw_reader *r, PyObject *key, PyObject *dict);
PyObject *lw_fold_get(lw_reader *r, PyObject *callee, PyObject *const *args, uint32_t n);

/* ---- loops over texts, members, functions (unroll.c) ---- */
/* The items, of which at least one can be no variable: a new tuple, or NULL. */
PyObject *lw_read_static_items(lw_reader *r, uint32_t iterable);
/* Whether the jumps in the body of the `for` allow it to be written out. */
bool lw_read_can_unroll(lw_reader *r, PyObject *node);
bool lw_read_unrolled(lw_reader *r, PyObject *node, uint32_t loc, PyObject *items,
                      lw_read_items *out); /* false: stop */
/* The statements of a field join `out`; false: stop. */
bool lw_read_into(lw_reader *r, PyObject *node, PyObject *field, lw_read_items *out);

/* ---- exceptions/ ---- */
/* The constant of an exception class, and that of one which a handler catches; 0: stop. */
uint32_t lw_read_exception_class(lw_reader *r, PyObject *class);
uint32_t lw_read_caught_class(lw_reader *r, PyObject *class);
uint32_t lw_read_assert(lw_reader *r, PyObject *node, uint32_t loc);
uint32_t lw_read_raise(lw_reader *r, PyObject *node, uint32_t loc);
uint32_t lw_read_try(lw_reader *r, PyObject *node, uint32_t loc);
/* Whether the expression is the name of an exception that a handler around it has caught; *out:
 * how many handlers are between. */
bool lw_read_is_caught(const lw_reader *r, PyObject *node, uint32_t *out);
/* Whether the name is that of such an exception. */
bool lw_read_names_caught(const lw_reader *r, PyObject *name);

/* ---- code ---- */
uint32_t lw_read_block(lw_reader *r, PyObject *node, PyObject *field); /* a BODY */
uint32_t lw_read_expr(lw_reader *r, PyObject *ast_node);
/* The same for an expression that is only examined: a list or set reads as a tuple. */
uint32_t lw_read_iterable(lw_reader *r, PyObject *ast_node);
/* An expression; a list is read as a tuple. */
uint32_t lw_read_list_value(lw_reader *r, PyObject *node);
/* An f-string: a CONSTANT or JOINED node. */
uint32_t lw_read_fstring(lw_reader *r, PyObject *ast_node, uint32_t loc);
uint32_t lw_read_target(lw_reader *r, PyObject *ast_node);
lw_pyop lw_read_operator(const lw_reader *r, PyObject *ast_operator);
/* The expression in this field of an AST node. */
uint32_t lw_read_field(lw_reader *r, PyObject *ast_node, PyObject *field);
/* The node of a folded value, whose reference is stolen; 0 when it is NULL: nothing was folded,
 * or reading stops. */
uint32_t lw_read_folded(lw_reader *r, PyObject *value, uint32_t loc);

/* ---- call.c ---- */
uint32_t lw_read_call(lw_reader *r, PyObject *ast_node, uint32_t loc);
uint32_t lw_read_body(lw_reader *r, PyObject *statements, bool drop_docstring);
uint32_t lw_read_annotation_expr(lw_reader *r, PyObject *ast_node);

/* ---- classes (classes/) ---- */
/* The constant of a class whose objects are their fields; 0 and status OK: it is none. */
uint32_t lw_read_class(lw_reader *r, PyObject *object);
/* local_class.c: the name of an exception class that a function defines. New reference; NULL:
 * an exception is set. */
PyObject *lw_local_class_name(PyObject *class, PyObject *module, PyObject *qualname);
/* The same for a class of which objects are made, although it has no `__init__`: others of them
 * are mere names for functions and constants. */
uint32_t lw_read_class_of_objects(lw_reader *r, PyObject *object);
/* The constant of an object of such a class; 0 and status OK: it is none. */
uint32_t lw_read_user_object(lw_reader *r, PyObject *object);
/* The class that stands for Python's `slice` (new reference, or NULL with an exception). */
PyObject *lw_read_slice_class(void);
/* The constant of that class; 0: stop. */
uint32_t lw_read_slice_type(lw_reader *r);
/* A slice of Python's as a constant; 0 and status OK: its bounds are no integers. */
uint32_t lw_read_slice_constant(lw_reader *r, PyObject *object);
/* dict.c: a node, or 0: the dict is none of those that can be looked into at run time (status
 * LW_OK), or the key is known. */
uint32_t lw_read_dict_item(lw_reader *r, PyObject *dict, uint32_t key, uint32_t loc);
uint32_t lw_read_dict_keys(lw_reader *r, PyObject *dict, uint32_t loc);
uint32_t lw_read_dict_get(lw_reader *r, uint32_t callee, const lw_read_items *items,
                          uint32_t loc);
/* D.keys(), D.values() and D.items(), as tuples. */
uint32_t lw_read_dict_view(lw_reader *r, uint32_t callee, const lw_read_items *items,
                           uint32_t loc);
/* Arguments of len, zip and the like: dicts become the tuples of their keys. */
void lw_read_dict_arguments(lw_reader *r, uint32_t callee, lw_read_items *items, uint32_t loc);
/* max(x, key=f) and min(x, default=v): *callee becomes the function that has these parameters;
 * false: stop. */
bool lw_read_extreme(lw_reader *r, uint32_t *callee, lw_read_items *items, uint32_t loc);
/* slice(…) as the tuple of its bounds; 0 and status OK: another call. */
uint32_t lw_read_slice_call(lw_reader *r, PyObject *node, uint32_t callee,
                            const lw_read_items *items, uint32_t loc);
/* The ASSIGN that a call of setattr or object.__setattr__ means as a statement; 0 and status
 * OK: it is none of them. */
uint32_t lw_read_setattr(lw_reader *r, uint32_t call, uint32_t loc);
/* object.__new__(C); 0 and status OK: the call is another one. */
uint32_t lw_read_new(lw_reader *r, uint32_t callee, const lw_read_items *items, uint32_t loc);
/* super() and super(C, self). */
uint32_t lw_read_super(lw_reader *r, PyObject *call, uint32_t loc);
/* The classes whose objects a record and records in it are. false: stop. */
bool lw_read_classes_of(lw_reader *r, const struct lw_arg_record *record);
/* Whether the class has a `__new__` or `__init__` that its author wrote. */
bool lw_read_class_makes_itself(PyObject *object);
/* The members of a class as those of a type whose values are its objects. false: stop. */
bool lw_read_members(lw_reader *r, PyObject *object, lw_class *out);
int lw_read_guard(lw_reader *r, PyObject *object, const char *name, PyObject *value);

/* ---- types with a model (classes/struct.c) ---- */
/* The constant of such a type; 0 and status OK: it is none. */
uint32_t lw_read_struct(lw_reader *r, PyObject *object);
/* The fn of a call of a class whose objects have such a type; made: a tuple of both. */
uint32_t lw_read_struct_call(lw_reader *r, PyObject *made);
/* The constant of a frozen object that typeof_impl gives such a type; 0 and status OK: it gives
 * it none. */
uint32_t lw_read_struct_object(lw_reader *r, PyObject *object);
/* Whether it is such an object and has a constant already: what its attributes are, its type
 * says. */
bool lw_read_is_struct(lw_reader *r, PyObject *object);
/* (python.c) A function without a text, and a location in it. */
uint32_t lw_read_new_fn(lw_reader *r, const char *name);
uint32_t lw_read_bare_loc(lw_reader *r, const char *path);

/* ---- the work list (python.c) ---- */
/* false: r->status says why; lw_reader_reset follows in any case. */
bool lw_reader_init(lw_reader *r, lw_error *err);
/* Whether Ctrl-C has come in the middle, which then is what r fails with: lw_read_clear may
 * have taken it for an object that lacks some attribute. */
bool lw_read_interrupted(lw_reader *r);
void lw_reader_reset(lw_reader *r);
/* Reads what is on the work list, which grows meanwhile; text: of the first function, or
 * NULL. */
void lw_read_queue(lw_reader *r, PyObject *text);

/* ---- unroll.c ---- */
/* The function as it is to be read, a new reference, or NULL with an exception.
 * lanewise/_rewriting.py has to be imported, walks over the AST in Python and copies it, so
 * only functions that may need it get there. */
PyObject *lw_read_rewritten(lw_reader *r, PyObject *node);

/* ---- overloads (overload.c) ---- */
/* Whether overloads of any of these have been registered since that version. */
bool lw_overloads_touch(PyObject *watched, uint64_t since);
/* Before anything is read: which callables and names are overloaded. */
bool lw_read_overloads(lw_reader *r);
bool lw_read_is_overloaded(lw_reader *r, PyObject *object);
/* Whether it is a "lanewise.Ufunc", "lanewise.Gufunc", or one bound to an object. */
bool lw_read_is_of_type(PyObject *object, const char *name);
/* Whether overloads of a callable are registered, for its constant; false: stop. */
bool lw_read_overloaded(lw_reader *r, PyObject *object, PyObject *id, lw_constant *out);
/* Whether overloads of methods or attributes of this name are registered. */
bool lw_read_is_overloaded_name(lw_reader *r, PyObject *name);
/* Once all is read: what it takes to extend the tree. */
bool lw_read_keep(lw_reader *r, bool of_tree);

/* ---- captures (captures/) ---- */
lw_captures *lw_captures_new(void);
/* Captures of a function that is read later, for the tree of these ones. */
lw_captures *lw_captures_extending(lw_captures *captures);
/* They go with those that they extend from now on. */
void lw_captures_extend(lw_captures *extension);
/* kept: taken, whatever the reader made; of_tree: the tree owns the captures. */
void lw_captures_keep(lw_captures *captures, lw_tree *tree, PyObject *kept, bool of_tree);
PyObject *lw_captures_kept(const lw_captures *captures); /* borrowed, or NULL */
/* It is not needed any more: a newer tree has it all. */
void lw_captures_drop_kept(lw_captures *captures);
/* key: the id of a callable or the name of an attribute. */
int lw_captures_watch(lw_captures *captures, PyObject *key);
void
lw_captures_finish(lw_captures *captures); /* nothing more will be added; NULL is allowed */
int lw_captures_add_name(lw_captures *captures, PyObject *dict, PyObject *name,
                         PyObject *value);
/* A provider of code to link; its number, from 1; 0 without captures; -1 with an exception. */
Py_ssize_t lw_captures_add_linked(lw_captures *captures, PyObject *provider);
/* Keeps the class of members alive, which results of calls need. */
int lw_captures_add_enum(lw_captures *captures, PyObject *class);
/* The function's code, and the defaults of its parameters. */
int lw_captures_add_function(lw_captures *captures, PyObject *function);
/* The contents of a list or array; the names under which they were found have guards of their
 * own. */
int lw_captures_add_list(lw_captures *captures, PyObject *list);
/* items: a copy of the dict, as it was read. */
int lw_captures_add_dict(lw_captures *captures, PyObject *dict, PyObject *items);
int lw_captures_add_array(lw_captures *captures, PyObject *array);
/* The dtype lives as long as the captures (lw_arg_record.descr). */
int lw_captures_hold_dtype(lw_captures *captures, PyObject *dtype);
int lw_captures_add_cell(lw_captures *captures, PyObject *cell, PyObject *name);
/* The name in this dict, or this cell, was looked up and is not bound: it stands for the
 * function itself. Binding it to the function, or to what a decorator makes of it, is no
 * change. */
void lw_captures_is_own(lw_captures *captures, PyObject *space, PyObject *name,
                        PyObject *function);
int lw_captures_add_attribute(lw_captures *captures, PyObject *object, PyObject *name,
                              PyObject *value);

/* Whether the name is to be an operand (lw_captures_operands), and the value is a number. */
bool lw_captures_is_operand(PyObject *space, PyObject *name, PyObject *value);
/* The constant of the tree that it has become, or 0; and sets it, for a name that is guarded.
 */
uint32_t lw_captures_operand(lw_captures *captures, PyObject *space, PyObject *name);
void lw_captures_set_operand(lw_captures *captures, PyObject *space, PyObject *name,
                             struct lw_varying *varying, uint32_t constant);

/* ---- hint.c: what may help where an object cannot be compiled ---- */

/* Its module, by __module__: a text, new reference, or NULL without an exception. Not the
 * module that functools.wraps has copied from a function of another package. */
PyObject *lw_module_of(PyObject *object);
/* Whether its module is of this package: "numba.core.types.scalars" is of "numba". */
bool lw_comes_from(PyObject *object, const char *package);
/* The attribute, if it is a text: new reference, or NULL without an exception. */
PyObject *lw_attribute_text(PyObject *object, const char *name);
/* Whether it is a generator of Python's module random. */
bool lw_is_random(PyObject *object);
/* The method that a call of this object runs; NULL, borrowed: it has none with Python source.
 */
PyObject *lw_call_method_of(PyObject *object);
/* NULL: it starts no debugger. */
const char *lw_hint_for_debugger(PyObject *object);
/* What may help with an object of lanewise whose call runs its function many times, or several
 * functions, as forall and reduce make: compiled code cannot call it. NULL: it is another one.
 */
const char *lw_runs_loop(PyObject *object);
/* Whether it is a public function of lanewise that Python calls, such as set_num_threads: that
 * it has a source does not help, because errors would be about lines that the user has not
 * written. */
bool lw_is_for_python(PyObject *object);
/* Whether it is a public function of lanewise.reductions. */
bool lw_is_of_reductions(PyObject *object);
const char *lw_hint_for(lw_reader *r, PyObject *object);

#endif
