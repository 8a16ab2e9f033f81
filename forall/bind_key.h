/* The key of a call's argument types, as bytes. For each argument, followed by the items of
 * tuples:
 *   SCALAR dtype, WEAK dtype, NONE, ELLIPSIS
 *   ARRAY dtype layout|readonly<<4 ndim [address of the lw_arg_record, where dtype is void]
 *   RECORD readonly<<4 address of the lw_arg_record
 *   TUPLE n, LIST n, NAMED n address of the class
 *   OBJECT address of the lw_object_shape
 *   MEMBER address of the enum class
 *   STATIC address of its lw_static_entry
 * and one last byte, END: whether byte offsets fit 31 bits (NARROW), whether an index may be
 * negative (SIGNED). */
#ifndef LW_FORALL_BIND_KEY_H
#define LW_FORALL_BIND_KEY_H

enum lw_key_tag {
    LW_KEY_SCALAR = 1,
    LW_KEY_WEAK,
    LW_KEY_ARRAY,
    LW_KEY_RECORD,
    LW_KEY_TUPLE,
    LW_KEY_LIST,
    LW_KEY_NAMED,
    LW_KEY_OBJECT,
    LW_KEY_MEMBER,
    LW_KEY_NONE,
    LW_KEY_ELLIPSIS,
    LW_KEY_STATIC,
    LW_KEY_END /* the low bits of the last byte */
};

enum { LW_KEY_NARROW = 32, LW_KEY_SIGNED = 64 };

#endif
