/* Where the GPU compiler's libraries are. Nothing is loaded and nothing imported for the
 * answer, unless the cheap places hold nothing: files are looked at, by stat.
 *
 * Places, in order: the settings LANEWISE_LIBNVVM, LANEWISE_LIBDEVICE, LANEWISE_NVJITLINK; the
 * wheels under nvidia/ in Python's folders (CUDA 13 names, then CUDA 12); CUDA_HOME, CUDA_PATH;
 * the conda prefix; /usr/local/cuda* and /opt/cuda; LD_LIBRARY_PATH and the system's folders;
 * cuda-pathfinder where installed; last the bare library name. The first place that holds all
 * three wins, so that libNVVM, libdevice and nvJitLink come from one toolkit; only without such
 * a place they are taken one by one. A setting always wins and is never replaced by something
 * found.
 *
 * Why cuda-pathfinder is not asked first: the cache key of each kernel names the files, so that
 * every process with a GPU looks for them, also where all its kernels are in the disk cache.
 * Importing cuda-pathfinder takes 130 to 210 ms there, and it loads the libraries to find them,
 * 28 to 56 ms (cuda-pathfinder 1.9.0 and wheels of CUDA 13.5, Python 3.11, a busy virtual
 * machine with two x86 cores, 2026-11-23); looking at files takes less than one. Nor does it
 * promise three parts of one toolkit, or look at /usr/local/cuda. */
#ifndef LW_LINK_TOOLCHAIN_H
#define LW_LINK_TOOLCHAIN_H

#include "core/base/error.h"
#include "core/base/hash.h"
#include "core/base/text.h"

typedef enum lw_component {
    LW_COMPONENT_NVVM,
    LW_COMPONENT_LIBDEVICE,
    LW_COMPONENT_NVJITLINK,
    LW_N_COMPONENTS
} lw_component;

typedef struct lw_found {
    const char *path;  /* NULL: not found */
    const char *place; /* "setting LANEWISE_LIBNVVM", "wheel", "CUDA_HOME", ... or NULL */
} lw_found;

/* It never changes and lives as long as the process, so pointers into it may be kept. */
typedef struct lw_toolchain {
    lw_found found[LW_N_COMPONENTS];
    const char *tried; /* every place that was tried, one per line, with what was found there */
    lw_digest id;      /* path, size and time of each file found: for cache keys */
} lw_toolchain;

/* What only Python knows. Called without locks; the functions take the GIL themselves. */
typedef struct lw_python_finder {
    /* sys.path, the site folders and sys.prefix, one folder per line; imports nothing. */
    lw_status (*folders)(lw_text *out, lw_error *err);
    /* The answer of cuda-pathfinder for "nvvm", "libdevice" or "nvJitLink"; empty when it finds
     * nothing or is not installed. */
    lw_status (*pathfinder)(const char *name, lw_text *out, lw_error *err);
} lw_python_finder;

void lw_toolchain_set_finder(const lw_python_finder *finder); /* copied; NULL: no Python */

extern const char *const lw_component_names[LW_N_COMPONENTS]; /* "libNVVM", ... */

/* Does not fail when something is not found (found[].path is NULL). The answer is kept until a
 * setting changes. */
lw_status lw_toolchain_get(const lw_toolchain **out, lw_error *err);
/* The same, but when one of the three is missing it is LW_ERR_COMPILER_NOT_FOUND, with each
 * place tried and the command that installs them. */
lw_status lw_toolchain_need(const lw_toolchain **out, lw_error *err);
/* Makes the next get search again, for example after an installation while the process runs. */
void lw_toolchain_forget(void);

/* A digest of path, size and time of our own shared library. In a cache key it distinguishes
 * builds of the same version. */
lw_digest lw_self_id(void);

/* Python's folders, one per line ("" without Python); kept. */
lw_status lw_toolchain_folders(lw_text *out, lw_error *err);
/* Finds a program of the toolkit ("nvdisasm", "cuobjdump") beside the libraries found, in the
 * wheels, in the toolkits' bin folders, or on PATH. False: it is nowhere; `tried` gets the
 * places, one per line. */
bool lw_toolchain_program(const char *name, lw_text *path, lw_text *tried);
/* Finds libnvrtc: by the setting LANEWISE_NVRTC, beside the libraries found, in the wheels and
 * toolkits. `include`: the toolkit's folder of headers, if there is one. */
bool lw_toolchain_nvrtc(lw_text *path, lw_text *include, lw_text *tried);

#endif
