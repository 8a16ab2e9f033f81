/* The project's version, once; it is part of every cache key. */
#ifndef LW_TABLES_VERSION_H
#define LW_TABLES_VERSION_H

#define LW_VERSION "0.1.0"

#endif
