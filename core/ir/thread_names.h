/* The functions of the host's thread pool (core/host/thread_pool.h) that compiled code calls:
 * get_num_threads() and get_thread_id(). */
#ifndef LW_IR_THREAD_NAMES_H
#define LW_IR_THREAD_NAMES_H

#define LW_NUM_THREADS "lw_num_threads"
#define LW_THREAD_ID   "lw_thread_id"

#endif
