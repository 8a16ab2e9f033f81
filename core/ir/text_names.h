/* The functions of core/host/texts.h, of which code for the CPU gets the names. */
#ifndef LW_IR_TEXT_NAMES_H
#define LW_IR_TEXT_NAMES_H

#define LW_TEXT_LENGTH  "lw_text_length_of" /* code points of a string */
#define LW_TEXT_COMPARE "lw_text_compare"   /* -1, 0 or 1 */
#define LW_TEXT_CONTAINS                                                                       \
    "lw_text_contains"                /* whether the second string is part of the first        \
                                       */
#define LW_TEXTS_SORT "lw_texts_sort" /* places of words, by their strings */

#endif
