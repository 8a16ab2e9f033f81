/* Python's AST seen from C: node kinds by a hash of type pointers, fields by interned names. No
 * C structs of CPython are used, so that one source serves 3.10 to 3.14 and later versions: an
 * unknown class is LW_AST_UNKNOWN, an absent field NULL. */
#ifndef LW_FRONT_READ_AST_H
#define LW_FRONT_READ_AST_H

#include <Python.h>

#include "core/front/tree.h"

/* clang-format off */
#define LW_AST_KINDS(X) \
    X(AnnAssign) X(Assert) X(Assign) X(AsyncFor) X(AsyncFunctionDef) X(AsyncWith) \
    X(Attribute) X(AugAssign) X(Await) X(BinOp) X(BoolOp) X(Break) X(Call) X(ClassDef) \
    X(Compare) X(Constant) X(Continue) X(Delete) X(Dict) X(DictComp) X(ExceptHandler) X(Expr) \
    X(For) X(FormattedValue) X(FunctionDef) X(GeneratorExp) X(Global) X(If) X(IfExp) \
    X(Import) X(ImportFrom) X(JoinedStr) X(Lambda) X(List) X(ListComp) X(Match) X(MatchAs) \
    X(MatchClass) X(MatchMapping) X(MatchOr) X(MatchSequence) X(MatchSingleton) X(MatchStar) \
    X(MatchValue) X(Name) X(NamedExpr) X(Nonlocal) X(Pass) X(Raise) X(Return) X(Set) \
    X(SetComp) X(Slice) X(Starred) X(Subscript) X(TemplateStr) X(Try) X(TryStar) X(Tuple) \
    X(TypeAlias) X(UnaryOp) X(While) X(With) X(Yield) X(YieldFrom) X(Add) X(Sub) X(Mult) \
    X(Div) X(FloorDiv) X(Mod) X(Pow) X(MatMult) X(LShift) X(RShift) X(BitAnd) X(BitOr) \
    X(BitXor) X(USub) X(UAdd) X(Invert) X(Not) X(And) X(Or) X(Eq) X(NotEq) X(Lt) X(LtE) X(Gt) \
    X(GtE) X(Is) X(IsNot) X(In) X(NotIn) X(Store) X(Del)
/* clang-format on */

typedef enum lw_ast_kind {
    LW_AST_UNKNOWN = 0,
#define KIND(name) LW_AST_##name,
    LW_AST_KINDS(KIND)
#undef KIND
        LW_N_AST_KINDS
} lw_ast_kind;

/* clang-format off */
#define LW_AST_FIELDS(X) \
    X(annotation) X(arg) X(args) X(asname) X(attr) X(body) X(bases) X(cases) X(cause) \
    X(col_offset) X(comparators) X(conversion) X(ctx) X(decorator_list) X(defaults) X(elt) X(elts) \
    X(end_col_offset) X(end_lineno) X(exc) X(finalbody) X(format_spec) X(func) X(guard) \
    X(handlers) X(id) X(items) X(iter) X(keywords) X(kw_defaults) X(kwarg) X(kwonlyargs) \
    X(left) X(lineno) X(lower) X(msg) X(name) X(names) X(op) X(operand) X(ops) \
    X(optional_vars) X(orelse) X(pattern) X(patterns) X(posonlyargs) X(returns) X(right) \
    X(simple) X(slice) X(step) X(subject) X(target) X(targets) X(test) X(type) X(upper) \
    X(value) X(values) X(vararg) X(_fields)
/* clang-format on */

enum { LW_AST_SLOTS = 256 }; /* a power of two, over twice the number of kinds */

typedef struct lw_ast {
    PyObject *module; /* _ast */
    PyObject *base;   /* _ast.AST */
    struct {
        PyTypeObject *type; /* borrowed: module holds it */
        lw_ast_kind kind;
    } slots[LW_AST_SLOTS];
#define FIELD(name) PyObject *name;
    LW_AST_FIELDS(FIELD)
#undef FIELD
} lw_ast;

/* -1 with an exception set. Reset is always allowed after init. */
int lw_ast_init(lw_ast *ast);
void lw_ast_reset(lw_ast *ast);
/* The tree of a text; start: Py_file_input or Py_eval_input; flags: of the compiler, besides
 * the one for trees. NULL with an exception. */
PyObject *lw_ast_parse(const char *text, const char *filename, int start, int flags);
lw_ast_kind lw_ast_kind_of(const lw_ast *ast, PyObject *node);
/* The field of a node, borrowed from the node (trees never change while they are read); NULL
 * without an exception when it is absent or None. */
PyObject *lw_ast_get(PyObject *node, PyObject *field);
/* The same for a list: returns its length (0 when absent) and sets *list to the list, borrowed,
 * or to NULL. */
Py_ssize_t lw_ast_list(PyObject *node, PyObject *field, PyObject **list);
/* Whether it holds for a node of the tree: 1, 0, or -1 with an exception. */
int lw_ast_any(const lw_ast *ast, PyObject *root,
               bool (*holds)(const lw_ast *ast, PyObject *node));
/* A position field; 0 when absent. */
uint32_t lw_ast_number(PyObject *node, PyObject *field);

/* PyErr_Clear for code that goes on without the value. A MemoryError and what is no Exception,
 * such as a KeyboardInterrupt, are remembered for this thread: the value may have mattered, so
 * that the reading as a whole must fail. */
void lw_read_clear(void);
/* Whether a KeyboardInterrupt or the like was cleared since this was last asked; it is set
 * again. */
bool lw_read_lost_interrupt(void);
/* Whether a MemoryError was cleared since this was last asked. */
bool lw_read_lost_memory(void);

#endif
