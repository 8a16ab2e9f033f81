/* sin and cos of f32 that we compute ourselves on GPUs, as LLVM text without a loop or table.
 * libdevice's code for large arguments has both, in local memory. In a kernel with sin and exp,
 * libNVVM and ptxas take 19.5 ms for ours and 23.9 ms for libdevice's, and the machine code has
 * 128 instructions and 160 (sm_90, CUDA 13.0, an EPYC, 2026-12-01). Elements below 105615 take
 * no conversion between integers and floats, of which a GPU executes 16 for 128 other
 * operations.
 *
 * Below 105615 the argument is reduced by k = round(x 2 / pi), with pi / 2 in three parts (Cody
 * and Waite, "Software Manual for the Elementary Functions", 1980). From there on x = m 2^E,
 * and m is multiplied by 96 bits of 2 / pi, those that make no multiple of four quarters and
 * are not too small to matter (M. Payne, R. Hanek, "Radian reduction for trigonometric
 * functions", SIGNUM Newsletter 18, 1983): the upper 64 bits of the product's last 96 are
 * quarters in units of 2^-62. Then one polynomial is computed, that of sin or that of cos, by
 * the parity of k.
 *
 * H200, 2^26 elements, in us, ours and libdevice's: sin 131, 132; of numbers of up to 5e8 229,
 * 524; 50 of sin and cos in a loop, 2^22 elements: 385, 398. A program with both sin and cos
 * calls libdevice (math.c).
 *
 * The numbers are from tests/special/sine_single.py. The errors are at most 1.54 units in the
 * last place (tests/py/test_gpu_single.py). */
#include "core/emit/emit_internal.h"
#include "core/emit/float_text.h"

#define FMA32(to, a, b, c)  FMA_OF("float", "f32", to, a, b, c)
#define INT(to, how, a, b)  LET(to, how " i32 " a ", " b)
#define LONG(to, how, a, b) LET(to, how " i64 " a ", " b)

/* clang-format off */
/* One of four neighbouring pairs of the words of 2 / pi. */
#define PAIR(to, a, b, c, d)                                                                   \
    PICK_OF("i64", to "01", "%odd.word", b, a)                                                 \
    PICK_OF("i64", to "23", "%odd.word", d, c)                                                 \
    PICK_OF("i64", to, "%far.word", "%" to "23", "%" to "01")

/* 32 bits of a pair, from bit `shift` on, as an i64. */
#define WINDOW(to, pair)                                                                       \
    LONG(to "long", "lshr", pair, "%down")                                                     \
    LONG(to, "and", "%" to "long", "4294967295")

/* The number of the quarter is in the last two bits of %near or %far. quarter: added to it. */
#define SINE(name, quarter)                                                                    \
    HEAD_OF("float", "f32", name, "float %x") "entry:\n"                                       \
    FMA32("kround", "%x", "0x3FE45F3060000000", "12582912.0")                                  \
    LET("k", "fsub float %kround, 12582912.0")                                                 \
    LET("near", "bitcast float %kround to i32")                                                \
    FMA32("near0", "%k", "0xBFF921FB40000000", "%x")                                           \
    FMA32("near1", "%k", "0xBE74442D00000000", "%near0")                                       \
    FMA32("near2", "%k", "0xBCF8469880000000", "%near1")                                       \
    LET("size", "call float @llvm.nvvm.fabs.f(float %x)")                                      \
    LET("large", "fcmp oge float %size, 105615.0")                                             \
    "  br i1 %large, label %rare, label %reduced\n"                                            \
    "rare:\n"                                                                                  \
    LET("bits", "bitcast float %x to i32")                                                     \
    INT("fraction", "and", "%bits", "8388607")                                                 \
    INT("mint", "or", "%fraction", "8388608")                                                  \
    LET("m", "zext i32 %mint to i64")                                                          \
    INT("above", "lshr", "%bits", "23")                                                        \
    INT("exponent", "and", "%above", "255")                                                    \
    INT("at", "sub", "%exponent", "143") /* of 2^16, the first of these numbers' */            \
    INT("odd.bit", "and", "%at", "32")                                                         \
    LET("odd.word", "icmp ne i32 %odd.bit, 0")                                                 \
    INT("far.bit", "and", "%at", "64")                                                         \
    LET("far.word", "icmp ne i32 %far.bit, 0")                                                 \
    INT("shift", "and", "%at", "31")                                                           \
    INT("downint", "sub", "32", "%shift")                                                      \
    LET("down", "zext i32 %downint to i64")                                                    \
    PAIR("a", "22936644556890634", "-5249189411832327253", "-7710703882942637458",             \
         "-1658843711730241206")                                                               \
    PAIR("b", "-5249189411832327253", "-7710703882942637458", "-1658843711730241206",          \
         "-2274967301933620792")                                                               \
    PAIR("c", "-7710703882942637458", "-1658843711730241206", "-2274967301933620792",          \
         "-3702484700221200207")                                                               \
    WINDOW("u", "%a")                                                                          \
    WINDOW("v", "%b")                                                                          \
    WINDOW("w", "%c")                                                                          \
    LONG("wm", "mul", "%w", "%m")                                                              \
    LONG("carry", "lshr", "%wm", "32")                                                         \
    LONG("vm", "mul", "%v", "%m")                                                              \
    LONG("lower", "add", "%vm", "%carry")                                                      \
    LONG("um", "mul", "%u", "%m")                                                              \
    LONG("upper", "shl", "%um", "32")                                                          \
    LONG("p", "add", "%upper", "%lower")                                                       \
    LONG("phalf", "add", "%p", "2305843009213693952") /* 2^61 */                               \
    LONG("whole", "and", "%phalf", "-4611686018427387904") /* 2^62 and 2^63 */                 \
    LONG("rest", "sub", "%p", "%whole")                                                        \
    LET("restdouble", "sitofp i64 %rest to double")                                            \
    LET("angle", "fmul double %restdouble, 0x3C1921FB54442D18") /* pi / 2^63 */                \
    LET("positive", "fptrunc double %angle to float")                                          \
    LONG("qlong", "lshr", "%whole", "62")                                                      \
    LET("q", "trunc i64 %qlong to i32")                                                        \
    LET("below", "icmp slt i32 %bits, 0")                                                      \
    LET("rminus", "fsub float -0.0, %positive")                                                \
    INT("qminus", "sub", "0", "%q")                                                            \
    PICK_OF("float", "rfinite", "%below", "%rminus", "%positive")                              \
    PICK_OF("i32", "far", "%below", "%qminus", "%q")                                           \
    LET("isfinite", "fcmp olt float %size, 0x7FF0000000000000")                                \
    LET("nan", "fmul float %x, 0.0")                                                           \
    PICK_OF("float", "rfar", "%isfinite", "%rfinite", "%nan")                                  \
    "  br label %reduced\n"                                                                    \
    "reduced:\n"                                                                               \
    LET("r", "phi float [ %near2, %entry ], [ %rfar, %rare ]")                                 \
    LET("kbits", "phi i32 [ %near, %entry ], [ %far, %rare ]")                                 \
    INT("turn", "add", "%kbits", quarter)                                                      \
    INT("odd", "and", "%turn", "1")                                                            \
    LET("iscos", "icmp ne i32 %odd, 0")                                                        \
    PICK_OF("float", "one", "%iscos", "1.0", "%r")                                             \
    LET("z", "fmul float %r, %r")                                                              \
    FMA32("c3", "0x3EF99E8140000000", "%z", "0xBF56C0C280000000")                              \
    PICK_OF("float", "p3", "%iscos", "%c3", "0xBF29951F80000000")                              \
    PICK_OF("float", "q2", "%iscos", "0x3FA55554A0000000", "0x3F81107740000000")               \
    PICK_OF("float", "q1", "%iscos", "-0.5", "0xBFC5555460000000")                             \
    FMA32("p2", "%p3", "%z", "%q2")                                                            \
    FMA32("p1", "%p2", "%z", "%q1")                                                            \
    FMA32("zone", "%z", "%one", "0.0") /* +0 where x is -0 */                                  \
    FMA32("y", "%p1", "%zone", "%one")                                                         \
    INT("half", "and", "%turn", "2")                                                           \
    LET("isplus", "icmp eq i32 %half, 0")                                                      \
    LET("yminus", "fsub float -0.0, %y")                                                       \
    PICK_OF("float", "out", "%isplus", "%y", "%yminus")                                        \
    "  ret float %out\n}\n"

const char lw_own_gpu_f32_sin[] = SINE("sin", "0");

const char lw_own_gpu_f32_cos[] = SINE("cos", "1");

/* clang-format on */
