/* The words of a typed list or dict (lanewise/_typed_containers.py), of 64 bits each: counted
 * memory whose first words are numbers, and whose others are cells. A cell holds an array with
 * one axis, and a reference to its memory, until it gets another array. The words are what all
 * holders of a container share, in Python and in compiled code; what its cells hold ends with
 * them. */
#ifndef LW_IR_CELL_WORDS_H
#define LW_IR_CELL_WORDS_H

enum {
    LW_CELLS_BEGIN = 4, /* numbers, in front of the first cell: it is in their cache line */
    /* in a cell: */
    LW_CELL_ADDRESS = 0,
    LW_CELL_EXTENT = 1,
    LW_CELL_MEMORY = 2,
    LW_CELL_WORDS = 3,
};

/* Where they stand, as lanewise/_typed_containers.py counts them: core/py/array changes lists
 * and dicts for Python as the compiled functions of that module do. */
enum {
    LW_TYPED_WORDS = 64, /* of any container */
    LW_TYPED_N = 0,      /* numbers: of items … */
    LW_TYPED_USED = 1,   /* … of entries of a dict, also of those that are deleted … */
    LW_TYPED_FILLED = 2, /* … and of the places that these have taken */
    LW_TYPED_ITEMS = 4,  /* cells: of a list */
    LW_TYPED_HASHES = 4, /* of a dict … */
    LW_TYPED_PLACES = 7,
    LW_TYPED_KEYS = 10,    /* … with those of the values behind those of the keys */
    LW_TYPED_DELETED = -1, /* as the hash of an entry and as the number at its place */
};

/* A slot of a list of arrays (lanewise/_growing_lists_arrays.py) is an array with any axes: the
 * cell with its address and memory, whose extent is 0, and one cell for each axis, with its
 * extent and its stride in bytes. A list that ends with its function has no reference to memory
 * that lives longer, an argument's; a typed list keeps each array (LW_SLOT_KEEP). */
enum {
    LW_SLOT_EXTENT = 0, /* of the cell of an axis; its memory is 0 */
    LW_SLOT_STRIDE = 1,
};

static inline int
lw_slot_words(int ndim)
{
    return LW_CELL_WORDS * (1 + ndim);
}

#define LW_CELLS_NEW "lw_cells_new"
#define LW_CELL_SET  "lw_cell_set"
#define LW_SLOT_KEEP "lw_slot_keep"

#endif
