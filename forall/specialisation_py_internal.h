/* What the files of specialisations (specialisation_py.c, specialisation_key_py.c,
 * specialisation_sig_py.c, specialisation_text_py.c, declared_py.c, entry_py.c) share with each
 * other and with the jit files. */
#ifndef LW_FORALL_SPECIAL_PARTS_PY_H
#define LW_FORALL_SPECIAL_PARTS_PY_H

#include "forall/kernel_py.h"

/* The tree of its function; with static values, the one that was read with them. */
static inline const lw_tree *
lw_specialisation_tree(const lw_specialisation *specialisation)
{
    return specialisation->tree ? specialisation->tree : specialisation->function->tree;
}

/* Of the reading that made the tree. */
static inline const lw_captures *
lw_specialisation_captures(const lw_specialisation *specialisation)
{
    if (specialisation->tree == NULL)
        return specialisation->function->captures;
    return specialisation->origin ? specialisation->origin->captures : specialisation->captures;
}

/* An empty specialisation, whose types of arguments, *specs, are still to be filled in but for
 * the index. NULL with an exception. */
lw_specialisation *lw_specialisation_new(lw_function *self, lw_arg_spec **specs);
/* Says of the index whether it counts from 0, by the specialisation's `negative`. */
void lw_specialisation_set_counts(const lw_specialisation *specialisation, lw_arg_spec *specs);
/* The parameters from `from` on take their defaults. */
void lw_specialisation_set_defaults(const lw_specialisation *specialisation, uint32_t from,
                                    lw_arg_spec *specs);
/* The specialisation of a call's key, not yet lowered. NULL with an exception. */
lw_specialisation *lw_specialisation_of_key(lw_function *self, const lw_bound *bound);
/* Infers the types and lowers the body; gives the warnings. -1 with an exception. */
int lw_specialisation_lower(lw_specialisation *specialisation);
/* Adds it to those that calls find. */
void lw_specialisation_publish(lw_function *self, lw_specialisation *specialisation);
/* The tree's constant None, added where it has none. 0: no memory. */
uint32_t lw_none_constant(lw_tree *tree);
uint32_t lw_ellipsis_constant(lw_tree *tree);
/* A tree that is in use has both: other threads read it. false: memory is out. */
bool lw_add_argument_constants(lw_tree *tree);
/* Infers the types again, for lowering and for inspection. NULL with an exception. */
lw_typed *lw_specialisation_infer(const lw_specialisation *specialisation);
/* Infers the types for a signature with other options than the specialisation's own, without
 * keeping the result: for functions that kernels call. NULL with an exception. */
lw_typed *lw_function_infer(lw_function *self, const lw_signature *signature,
                            const lw_front_options *options);
/* Their _explain(sig): both typings as text, for lw.explain. */
PyObject *lw_function_explain(PyObject *self, PyObject *sig);
/* How far a call's argument is from a declared one: 0 the same, -1 it cannot be passed. */
int lw_spec_fits(const lw_arg_spec *declared, const lw_arg_spec *given, lw_typing typing);
/* ---- parallel_py.c ---- */
/* Refuses check={"race"} where it has a loop over prange: nothing looks for races there. -1
 * with an exception. */
int lw_specialisation_check_races(const lw_specialisation *specialisation,
                                  const lw_typed *typed);
/* Rewrites its loops over prange for all cores. -1 with an exception (E168). */
int lw_specialisation_parallel(lw_specialisation *specialisation);
/* The location in the tree of a location of the module; 0: there is none. */
uint32_t lw_place_in_tree(const lw_tree *tree, const lw_module *module, uint32_t loc);

/* Finds the declared specialisation that calls of these types run: specialisation->target, with
 * the numbers that it has in other types in specialisation->casts. -1 with an exception (E181).
 */
int lw_specialisation_choose(lw_specialisation *specialisation);
/* The number's type that annotates parameter i; void: none. */
lw_dtype lw_annotated_dtype(const lw_tree *tree, uint32_t i);
/* Of a specialisation that was compiled for its arguments: Python ints must fit the
 * annotations. */
int lw_specialisation_note_bounds(lw_specialisation *specialisation);
/* Applies these casts to a call's values. -1 with an exception. */
int lw_specialisation_cast_values(const lw_specialisation *specialisation, lw_bound *bound);
/* "float32[::1]" */
void lw_spec_print(const lw_arg_spec *spec, lw_text *out);
/* "float32, float32[::1]" */
void lw_specialisation_print(const lw_specialisation *specialisation, lw_text *out);
/* One form of this entry's code, as bytes or str. NULL with an exception. */
PyObject *lw_specialisation_form(const lw_specialisation *specialisation,
                                 const lw_entry_key *key, int cc, const char *form);
/* The resources that the kernel of this entry needs on a GPU. -1 with an exception. */
int lw_specialisation_info(const lw_specialisation *specialisation, const lw_entry_key *key,
                           int cc, lw_cubin_info *out);
/* Frees its machine code. */
void lw_specialisation_drop_entries(lw_specialisation *specialisation);

#endif
