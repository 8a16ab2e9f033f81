/* The readers of the keywords' values, which the table in keywords.c names. */
#ifndef LW_PY_KEYWORDS_INTERNAL_H
#define LW_PY_KEYWORDS_INTERNAL_H

#include "core/py/numpy_api.h"

#include "core/py/compiled/keywords.h"

typedef struct lw_keyword_reader {
    lw_door door;
    lw_door_options *options;
    lw_door_arguments *arguments;
    const char *keyword;
    size_t at; /* offset of the field that the row of the keyword names */
} lw_keyword_reader;

/* Each returns -1 with an exception that names the keyword, what was expected and what came. */
#define FLAG(field)
#define OBJECT(field)
#define BY(function)                                 int lw_keyword_##function(lw_keyword_reader *r, PyObject *value);
#define KEYWORD(name, doors, read, shown, type, doc) read
#include "core/tables/keywords.def"
#undef BY
#undef OBJECT
#undef FLAG
/* True or False, in a field of the options. */
int lw_keyword_flag(lw_keyword_reader *r, PyObject *value);
bool *lw_keyword_flag_at(lw_door_options *options, size_t at);
/* Any object, in a field of the arguments; None leaves the field as it is. */
int lw_keyword_object(lw_keyword_reader *r, PyObject *value);

/* By the setting `target`. */
lw_target_choice lw_default_target(void);

#endif
