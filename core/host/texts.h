/* What compiled code asks of strings that it knows only by their words (core/ir/format.h),
 * those in lists and dicts: their length, their order, their parts. */
#ifndef LW_HOST_TEXTS_H
#define LW_HOST_TEXTS_H

/* Makes the functions of core/ir/text_names.h known to the loader of compiled code. */
void lw_texts_register(void);

#endif
