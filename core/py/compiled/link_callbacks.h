/* setup_callback and teardown_callback of cuda.LinkableCode. */
#ifndef LW_PY_LINK_CALLBACKS_H
#define LW_PY_LINK_CALLBACKS_H

#include "core/py/compiled/link_read.h"

#include "core/device/module.h"

/* After a module that holds the code is loaded: calls what is to be called, once for each
 * module and code however often it is asked, and sees to the other end. -1 with an exception.
 */
int lw_link_loaded(const lw_link_set *set, lw_image *image);

#endif
