/* The tree of a user's function: what the reader makes of Python's AST, and all that later
 * passes know of the function. It is free of Python (names, numbers and texts are copied) and
 * lives in one arena.
 *
 * A tree holds every function that can be reached from the first one (callees, nested
 * functions), each read once per function object. Indices are 32-bit; 0 means none everywhere
 * ([0] is unused). A constant is a constant: a value known when the function is read or typed.
 */
#ifndef LW_FRONT_TREE_H
#define LW_FRONT_TREE_H

#include <stdatomic.h>

#include "core/base/arena.h"
#include "core/base/array.h"
#include "core/base/error.h"
#include "core/base/hash.h"
#include "core/base/text.h"
#include "core/tables/dtypes.h"

typedef enum lw_node_kind {
    LW_NODE_NONE = 0,
#define NODE(name, text, args, doc) LW_NODE_##name,
#include "core/tables/nodes.def"
    LW_N_NODE_KINDS
} lw_node_kind;

/* Python's operators. Every table of operators has this order. */
typedef enum lw_pyop {
    LW_PY_NONE = 0,
    LW_PY_ADD,
    LW_PY_SUB,
    LW_PY_MUL,
    LW_PY_DIV,
    LW_PY_FLOORDIV,
    LW_PY_MOD,
    LW_PY_POW,
    LW_PY_MATMUL,
    LW_PY_LSHIFT,
    LW_PY_RSHIFT,
    LW_PY_BITAND,
    LW_PY_BITOR,
    LW_PY_BITXOR,
    LW_PY_NEG,
    LW_PY_POS,
    LW_PY_INVERT,
    LW_PY_NOT,
    LW_PY_AND,
    LW_PY_OR,
    LW_PY_EQ,
    LW_PY_NE,
    LW_PY_LT,
    LW_PY_LE,
    LW_PY_GT,
    LW_PY_GE,
    LW_PY_IS,
    LW_PY_IS_NOT,
    LW_PY_IN,
    LW_PY_NOT_IN,
    LW_N_PYOPS
} lw_pyop;

extern const char *const lw_pyop_text[LW_N_PYOPS]; /* "+", "not in", … (core/front/tree.c) */
/* "__add__", "__contains__": the method that a class has for the operator; NULL: none. */
extern const char *const lw_pyop_method[LW_N_PYOPS];
extern const char *const lw_node_text[LW_N_NODE_KINDS];

/* c of a FIELD: {x}, {x!s}, {x!r} */
typedef enum lw_field_conversion {
    LW_FIELD_PLAIN,
    LW_FIELD_STR,
    LW_FIELD_REPR
} lw_field_conversion;

/* lw_node.flags */
enum {
    LW_NODE_STORE = 1,  /* an assignment target */
    LW_NODE_LIST = 2,   /* TUPLE: a list */
    LW_NODE_FORCED = 4, /* ATTRIBUTE: assigned whether the class is frozen or not; CALL: of the
                           class itself, whatever overloads there are */
    LW_NODE_LENT = 8, /* SUBSCRIPT: the item is only used where it is taken; FOR: its body gives
                         no other value to the variable that it runs over, and calls only
                         methods of lists and functions such as len */
};

typedef struct lw_node {
    uint16_t kind;
    uint8_t op, flags;
    uint32_t loc; /* index into tree->locs */
    uint32_t a, b, c;
} lw_node;

typedef struct lw_loc {
    uint32_t file;           /* index into tree->files */
    uint32_t line, end_line; /* from 1 */
    uint32_t col, end_col;   /* UTF-8 bytes from 0, end exclusive */
} lw_loc;

/* A class of the user's. In compiled code an object of it is the tuple of its fields. An object
 * begins without any; `__init__`, methods and assignments from outside add them. */
typedef enum lw_class_member_kind {
    LW_MEMBER_METHOD,
    LW_MEMBER_PROPERTY,
    LW_MEMBER_STATIC,   /* takes no self: a static method or a class method */
    LW_MEMBER_CONSTANT, /* an attribute of the class */
    LW_MEMBER_UFUNC,    /* a method decorated with vectorize or guvectorize */
} lw_class_member_kind;

typedef struct lw_class_member {
    const char *name;
    lw_class_member_kind kind;
    uint32_t index;  /* into tree->fns; CONSTANT, UFUNC: into tree->constants */
    uint32_t setter; /* PROPERTY: fn of its setter, or 0 */
    uint32_t owner;  /* which class of the order of resolution has it: index in lw_class.mro */
    uint32_t linked; /* its class's provider of code to link, as of constants; 0: none, or the
                        function has its own */
} lw_class_member;

static inline bool
lw_member_is_method(const lw_class_member *member)
{
    return member->kind == LW_MEMBER_METHOD || member->kind == LW_MEMBER_STATIC ||
           member->kind == LW_MEMBER_UFUNC;
}

/* Classes of lanewise/_growing_lists.py and lanewise/_growing_dicts.py. */
typedef enum lw_grown_kind {
    LW_GROWN_NONE,
    LW_GROWN_LIST,
    LW_GROWN_DICT,
    LW_GROWN_SET,
    LW_GROWN_VIEW, /* what keys(), values() and items() give */
} lw_grown_kind;

/* Of classes of the package whose objects are the items of containers, or say of what type they
 * are. */
typedef enum lw_item_role {
    LW_ITEMS_NONE,
    LW_ITEMS_ARRAYS,     /* the items of a list of arrays (lanewise/_growing_lists_arrays.py) */
    LW_ITEMS_ARRAY_KIND, /* says that items are arrays */
    LW_ITEMS_CONTAINERS, /* of typed lists or dicts (lanewise/_typed_containers.py) */
    LW_ITEMS_TEXTS,      /* of strings (lanewise/_growing_lists_texts.py) */
} lw_item_role;

typedef struct lw_class {
    const char *name;
    const void *id;         /* tells classes apart; live while the tree is read */
    const void *const *mro; /* n_mro ids: itself and what it is derived from */
    uint32_t n_mro;
    uint32_t constant;   /* its LW_K_CLASS */
    bool is_namedtuple;  /* derived from tuple: its operators are those of tuples */
    bool is_tuple;       /* the same, and no method says otherwise of items and length */
    bool has_special;    /* it has a method or constant of the name `__…` */
    bool compares_equal; /* == and != compare the fields, as dataclasses generate it */
    bool is_ordered;     /* so do <, <=, > and >= */
    bool is_frozen;      /* a dataclass whose fields are not assigned again */
    lw_grown_kind grown; /* which of Python's containers it stands for */
    bool is_typed;       /* of a typed list or dict, which Python and compiled code share */
    lw_item_role items;  /* which items of such containers its objects are */
    bool is_slice;       /* it stands for Python's slice (lanewise/_slices.py) */
    const char *const *order; /* n_order names: fields of all objects are in this order, … */
    uint32_t n_order;
    const char *const *slots; /* … and, unless NULL, objects can have no others than these */
    uint32_t n_slots;
    const char *const *registered; /* n_registered names of fields whose types are fixed, … */
    const uint32_t *types;         /* … and these types: LW_K_DTYPE constants */
    uint32_t n_registered;
    const char **compared; /* n_compared names: which fields these are */
    uint32_t n_compared;
    uint32_t linked;    /* the provider of code that making an object needs, as of constants */
    uint32_t make;      /* of a type with a model: fn that makes a value from its members */
    uint32_t n_members; /* in the order of resolution: of several of one name the first counts,
                           and `super()` finds the others */
    const lw_class_member *members;
    const struct lw_struct *structure; /* a type with a model; NULL: a class */
} lw_class;

/* What a type with a model (lanewise.extending.register_model) consists of. Its lw_class has
 * the members of the Python class of its objects, where that is known, and stands for the type:
 * its id is the type object's, and its function makes a value from the members. */
typedef struct lw_struct {
    uint32_t n;
    const char *const *names;              /* n, of its members: the names of the tuple */
    const char *const *attributes;         /* n: of Python's objects */
    const struct lw_sig_type *types;       /* n; NONE: … */
    const struct lw_class *const *structs; /* … it is such a type itself */
    uint32_t n_visible;
    const char *const *visible; /* n_visible attributes of values in compiled code … */
    const uint32_t *members;    /* … and the numbers of the members that they read */
} lw_struct;

typedef enum lw_constant_kind {
    LW_K_UNDEFINED, /* text: the name; an error (E150) when evaluated. help: "did you mean" or
                       NULL */
    LW_K_NONE,
    LW_K_BOOL,    /* i */
    LW_K_INT,     /* Python int within int64: i */
    LW_K_UINT,    /* Python int in 2^63 … 2^64-1: u */
    LW_K_BIGINT,  /* outside of both: text = decimal digits with sign; d = nearest double */
    LW_K_FLOAT,   /* Python float: d */
    LW_K_COMPLEX, /* Python complex: d, im */
    LW_K_STR,     /* text */
    LW_K_BYTES,   /* bytes, n of them; text: how Python writes them */
    LW_K_TUPLE,  /* items (constant indices), n; names or NULL (namedtuple); text: class name or
                    NULL */
    LW_K_SCALAR, /* NumPy scalar, strong: dtype, and i / u / d / (d, im) by its kind */
    LW_K_DTYPE,  /* a type used as a value: calling it casts. dtype; text = its name */
    LW_K_PYTYPE, /* the Python types int float bool complex as values: u = 0, 1, 2, 3 */
    LW_K_NAMED,  /* a function of names.def: u = row (lw_name_id) */
    LW_K_FUNCTION, /* a Python function: u = index into tree->fns (it is read lazily: see
                      fns[u].problem) */
    LW_K_EXTERNAL, /* a function in another language: bytes = its lw_external (external.h), text
                      its name */
    LW_K_MODULE,   /* text = name; attributes are resolved by the reader */
    LW_K_RECORD, /* a structured dtype as a value: bytes = its lw_arg_record (typed.h), text its
                    name */
    LW_K_ARRAY,  /* a small constant table: dtype, n = ndim, items = shape, bytes in C order; of
                    records: dtype void, and record. live: it is used where it lies, and has
                    neither items nor bytes */
    LW_K_ELLIPSIS,
    LW_K_CLASS,     /* a class of the user's: user_class, text its name */
    LW_K_EXCEPTION, /* text = class name ("ValueError"; "module:Outer.Bad" for others than
                       builtins), help = constant message or NULL; bytes = its lw_exception */
    LW_K_OBJECT, /* anything else: text = how to name it in E152, help = hint or NULL; a member
                  * of an enum class: n = 2, items = its value (0: it is none that code can
                  * use) and name, i = its truth or -1, bytes = its lw_enum; n = 1:
                  * NotImplemented */
} lw_constant_kind;

/* The class of a member of an enum class. */
typedef struct lw_enum {
    const void *id; /* of the class; its captures hold it */
    const char *name;
    uint32_t n; /* members that a value at run time may be: it is the number of one of these; 0:
                   none may (core/front/read/classes/members.c) */
    const uint32_t *members; /* n constants, in the order of the class, without aliases */
    int truth;               /* what all of these have, or -1 */
    bool refuses;            /* a call of it with another value than theirs is a ValueError */
    uint32_t n_flags; /* of a class that is derived from enum.Flag and has its operators: all
                         members, combinations included; of others none */
    struct lw_flag {
        int64_t value, inverse; /* inverse: of ~member */
        uint32_t constant;
    } * flags;
    uint32_t n_numbers; /* of a class whose members are the integers that their values are, as
                           of enum.IntEnum: its members; of others none */
    struct lw_numbered {
        int64_t value;
        uint32_t name, constant;
    } * numbers;
    int64_t lo, hi; /* of these values */
    /* of a class of numbers that is derived from enum.Flag, with its operators: ~member is the
     * member with the other ones of these bits; 0: of others */
    int64_t all_bits;
    const lw_class *methods; /* methods and properties of members; NULL: they have none */
} lw_enum;

/* The class of an exception: the names, as in `text`, of it and its bases, and, where a handler
 * catches it, those of Python's own classes that are derived from it. Both end with NULL. */
typedef struct lw_exception {
    const char *const *bases, *const *derived;
} lw_exception;

/* An array from outside that code reads and writes where it lies: a device array. Of `n` axes,
 * as its constant says. */
typedef struct lw_live_array {
    uint64_t address;
    const int64_t *shape, *strides; /* in bytes */
    bool readonly, on_gpu;
} lw_live_array;

typedef struct lw_constant {
    lw_constant_kind kind;
    lw_dtype dtype;
    union {
        int64_t i;
        uint64_t u;
        double d;
    };
    double im;
    uint32_t n;
    const uint32_t *items;
    const char *const *names;
    const char *text, *help;
    const void *bytes; /* OBJECT: of a class, its identity; see lw_class.id; INT, UINT: of a
                          member of an enum class, its identity, or NULL */
    const struct lw_enum *members;      /* INT: the class whose member it is, or NULL */
    const struct lw_arg_record *record; /* ARRAY of records */
    const lw_live_array *live;          /* ARRAY, or NULL */
    struct lw_varying *varying; /* a number that changes between calls (varying.h): the value
                                   here is that of the reading; or NULL */
    uint32_t linked; /* a callable's provider of code to link (lw_captures_linked), from 1; 0:
                        it has none */
    const lw_class *user_class; /* CLASS; TUPLE: its class, or NULL */
    bool is_list;               /* TUPLE: of a list */
    bool stands_for_type;       /* TUPLE: in place of the type of an array, a tuple and so on */
    bool overloaded;            /* a callable for which overloads are registered … */
    bool prefers_literals;      /* … of which some are to be asked with literals first */
    bool is_gufunc;             /* how it loops is asked as an overload is … */
    bool takes_values;          /* … with all constants among its arguments */
    bool is_ufunc;              /* FUNCTION: of a Ufunc, whose operands broadcast … */
    uint64_t excluded, fixed; /* … but for these of its parameters, bit i: parameter i, which
                                 are whole arrays, and constants */
} lw_constant;

typedef enum lw_param_kind {
    LW_PARAM_POSITIONAL,
    LW_PARAM_KEYWORD_ONLY,
    LW_PARAM_VARARG
} lw_param_kind;

typedef struct lw_fn_param {
    const char *name;
    uint32_t var;              /* its variable */
    uint32_t default_constant; /* 0: none */
    uint32_t annotation;       /* constant of the annotation (DTYPE, …); 0: none */
    lw_param_kind kind;
    bool unnamed; /* POSITIONAL, before `/`: no keyword is its name */
} lw_fn_param;

typedef struct lw_fn_capture {
    uint32_t var;        /* in this nested function */
    uint32_t parent_var; /* in the function it is defined in */
} lw_fn_capture;

typedef struct lw_var {
    const char *name;
    uint32_t annotation; /* constant of the type that `locals=` gives it; 0: none */
} lw_var;

typedef struct lw_fn {
    const char *name; /* "<lambda>" for lambdas */
    uint32_t file, line;
    uint32_t parent; /* nested functions: the function they are defined in; 0: none */
    bool is_lambda;  /* its body is one RETURN */
    bool generated;  /* the reader has made it: what is wrong in it is said of its call */
    bool takes_none; /* though it is of the package: arguments and results may be None or a
                        value */
    bool of_package; /* its integers wrap: check={"overflow"} skips it; its typing is "weak" */
    bool compact;    /* of linear algebra: where it is long, its loops are not unrolled */
    bool iterates;   /* an `__iter__`: it returns `iter(x)`, which stands here as x */
    LW_ARRAY(lw_fn_param) params;
    LW_ARRAY(lw_var) vars; /* [0] unused; parameters first */
    LW_ARRAY(lw_fn_capture) captures;
    uint32_t body;                /* BODY node */
    uint32_t first_node, n_nodes; /* what was read with it: its nodes, and those of the
                                     functions in it */
    uint32_t loc;                 /* of the def */
    uint32_t return_annotation;   /* constant; 0: none */
    uint32_t problem; /* the diagnostic to raise when it is called (no source, wrong syntax); 0:
                         none */
    const char *implements; /* the function of whole arrays that this one implements, as the
                               user calls it ("np.dot"); or NULL */
    bool inlined;           /* inlined into its caller, because doors must see its loops */
    uint8_t shared;         /* lw_shared of core/ir/ir.h: one copy for several calls */
    const char *takes;      /* what the leading parameters of such a function, or of one of
                               lanewise.special, are: the letters of
                               core/tables/array_functions.def; or NULL */
    const struct lw_signature *declared; /* n_declared; a call converts to one of them */
    uint32_t n_declared;
    bool declared_safe; /* by safe casts only, as a ufunc chooses its loop */
    uint32_t linked;    /* the function's own provider, as of constants */
} lw_fn;

/* How many parameters take arguments by position. They are the first ones. */
uint32_t lw_fn_positional(const lw_fn *fn);

/* A function of lanewise/_array_functions.py that inference may call once types are known. */
typedef struct lw_array_function {
    const char *name;
    uint32_t fn;
} lw_array_function;

/* A method or an attribute for which overloads are registered, of whatever types. */
typedef struct lw_overloaded_name {
    const char *name;
    uint8_t kind; /* lw_overload_kind */
    bool prefers_literals;
} lw_overloaded_name;

/* What Python answered when inference asked for the implementation that an overloaded function,
 * method or attribute has for given types (core/front/overload.h). */
typedef struct lw_overload_answer {
    const char *key;
    uint32_t fn;         /* the implementation; 0: there is none */
    const char *refused; /* why none: a line for each candidate; NULL: nothing is registered for
                            such an object, and the name means what it means otherwise */
} lw_overload_answer;

/* An error found while reading, raised only where the code is reached. */
typedef struct lw_diag {
    lw_status status;
    char code[8];
    uint32_t loc;        /* 0: the location of the call */
    const char *message; /* one sentence */
    const char *label;   /* beside the caret */
    const char *help;    /* or NULL */
} lw_diag;

typedef struct lw_file {
    const char *path;
    uint32_t first_line, n_lines; /* lines are kept for the functions that were read */
    const char *const *lines;     /* without newline; lines[i] is line first_line + i */
} lw_file;

typedef struct lw_tree {
    lw_arena arena;
    LW_ARRAY(lw_node) nodes;
    LW_ARRAY(uint32_t) lists;
    LW_ARRAY(lw_constant) constants;
    LW_ARRAY(lw_loc) locs;
    LW_ARRAY(lw_fn) fns; /* [1] is the user's function */
    LW_ARRAY(lw_diag) diags;
    LW_ARRAY(lw_file) files;
    LW_ARRAY(lw_array_function) array_functions;
    LW_ARRAY(const lw_class *) given; /* the classes of arguments that are objects; or NULL */
    LW_ARRAY(const lw_enum *) enums;  /* the classes of members */
    LW_ARRAY(lw_overloaded_name) overloaded;
    LW_ARRAY(lw_overload_answer) answers;
    struct lw_tree *base; /* the tree that this one extends by answers (lw_tree_extend); NULL:
                             it was read as a whole */
    _Atomic(struct lw_tree *) latest; /* of a base: the newest one that extends it, or NULL;
                                         owned */
    struct lw_tree *before;           /* of others: the one that it has followed */
    void *reading; /* what the reader needs to extend it; NULL: it is not extended. Owned by
                      what `forget` belongs to */
    void (*forget)(void *reading); /* called before the tree goes */
    struct lw_tree *older; /* the tree that this one has replaced; other threads may still read
                              it. Owned */
    struct lw_varyings *varyings; /* of a base: the constants that are operands; or NULL */
} lw_tree;

/* What objects have by this name that have no field of it, or NULL: it is not there, or no
 * constant. */
const lw_constant *lw_class_constant(const lw_tree *tree, const lw_class *class,
                                     const char *name);
/* Whether a field comes before another one in all objects of the class. */
bool lw_class_orders(const lw_class *class, const char *x, const char *y);
/* The class of this identity, or NULL. */
const lw_class *lw_tree_class(const lw_tree *tree, const void *id);
lw_status lw_tree_new(lw_tree **out, lw_error *err);
void lw_tree_free(lw_tree *tree);
/* A tree that begins as a copy of this one, with the same indices, to which more is added. It
 * borrows what this one points to and is freed by lw_tree_free, unless lw_tree_publish has
 * given it to its base. */
lw_status lw_tree_extend(lw_tree *tree, lw_tree **out, lw_error *err);
/* Makes it the latest of its base, if no other one has become that since; it lives as long as
 * the base then. */
bool lw_tree_publish(lw_tree *extended);
/* The newest tree that extends this one, or itself. */
lw_tree *lw_tree_latest(const lw_tree *base);
/* Whether the node is `x.ctypes.data`, the address of an array; the node `x.ctypes` has the
 * array as its value. */
bool lw_tree_is_address(const lw_tree *tree, uint32_t node);
/* One line a node; for golden tests, in builds with LW_WINDOWS. */
void lw_tree_print(const lw_tree *tree, lw_text *out);
/* The enum class of this identity, or NULL. */
const lw_enum *lw_tree_enum(const lw_tree *tree, const void *id);
/* The class of a constant that is a member of one (see LW_K_OBJECT), or NULL. */
const lw_enum *lw_constant_enum(const lw_constant *constant);
/* A constant of the tree as Python would write it, or what it is. */
void lw_constant_print(const lw_tree *tree, uint32_t constant, lw_text *out);

/* ---- items that are used where they are taken ----
 *
 * `x[i][k]`, `x[i].append(v)`, `len(x[i])`, while nothing changes x: where they are lists and
 * dicts, their container lends them, so that no reference to them is counted
 * (core/front/infer/list.c). */

/* Marks those that a new node uses (LW_NODE_LENT). */
void lw_mark_lent(lw_tree *tree, const lw_node *node);
/* The same of an ASSIGN of the function: `.lent 1 = x[i]`, which lanewise/_list_displays.py
 * writes in front of what it is used for. */
void lw_mark_lent_to(lw_tree *tree, const lw_fn *fn, uint32_t assign);
/* The same of a FOR, whose target and body have been read behind its iterable. */
void lw_mark_lent_loop(lw_tree *tree, uint32_t loop);

#endif
