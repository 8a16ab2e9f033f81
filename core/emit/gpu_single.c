/* sin, cos and tan of f32 on GPUs, as LLVM text without a loop or a table. The results have the
 * bits of libdevice (NVIDIA, of CUDA 13.0 and 13.5): its constants are used, in its order. What
 * is different:
 *
 * - Below 105615, the multiple k of pi / 2 is found by an addition of 1.5 * 2^23 instead of two
 *   conversions between floats and integers, of which a GPU executes 16 in the time of 128
 *   other operations. Between sin and cos of r, there is no branch.
 * - From 105615 on, the argument x = m * 2^E is reduced exactly, by a product of m and bits of
 *   2 / pi (M. Payne, R. Hanek, "Radian reduction for trigonometric functions", SIGNUM
 *   Newsletter 18, 1983). libdevice multiplies m by six words and keeps the seven words of the
 *   product in local memory, of which it reads three. We select the four words that make these
 *   three. The carry from lower words, which is left out, changes no result: all float32
 *   numbers were compared.
 *
 * Why they are here (H200, CUDA 13.0, 1 December 2026; 2^26 elements): sin, cos and tan of
 * numbers of up to 5e8 take 217 to 221 us instead of 529, and sin(x) * cos(x) 234 instead of
 * 964; of small numbers, where the memory is the limit, as long as libdevice's, and 50 of sin
 * and cos in a loop 359 instead of 398 (2^22 elements). The first call of sin(x) * exp(y)
 * takes 22 ms of processor time instead of 25.5. */
#include "core/emit/emit_internal.h"
#include "core/emit/float_text.h"

#define FMA32(to, a, b, c)  FMA_OF("float", "f32", to, a, b, c)
#define INT(to, how, a, b)  LET(to, how " i32 " a ", " b)
#define LONG(to, how, a, b) LET(to, how " i64 " a ", " b)

/* A product that is rounded, also where it is added to something. */
#define PRODUCT32(to, a, b) LET(to, "call float @llvm.nvvm.mul.rn.f(float " a ", float " b ")")

/* clang-format off */
/* The words of 2 / pi, from the highest on. */
#define W5 "2734261102"
#define W4 "1313084713"
#define W3 "4230436817"
#define W2 "4113882560"
#define W1 "3680671129"
#define W0 "1011060801"

/* x = k pi / 2 + r: gives r and k, of which the last two bits count. Of the exponent, bits 5 and
 * 6 say with which word the product begins, the lower ones with which bit of it. */
const char lw_own_angle[] =
    "define internal { float, i32 } @lw_rt_angle(float %x) nounwind alwaysinline {\n"
    "entry:\n"
    PRODUCT32("quarters", "%x", "0x3FE45F3060000000")
    LET("rounded", "fadd float %quarters, 12582912.0")
    LET("kfloat", "fsub float %rounded, 12582912.0")
    LET("knear", "bitcast float %rounded to i32")
    FMA32("r0", "%kfloat", "0xBFF921FB40000000", "%x")
    FMA32("r1", "%kfloat", "0xBE74442D00000000", "%r0")
    FMA32("rnear", "%kfloat", "0xBCF84698A0000000", "%r1")
    LET("size", "call float @llvm.nvvm.fabs.f(float %x)")
    LET("large", "fcmp oge float %size, 105615.0")
    "  br i1 %large, label %far, label %reduced\n"
    "far:\n"
    LET("bits", "bitcast float %x to i32")
    INT("shifted", "shl", "%bits", "8")
    INT("m32", "or", "%shifted", "-2147483648")
    LET("m", "zext i32 %m32 to i64")
    INT("upper", "lshr", "%bits", "23")
    INT("place", "sub", "%upper", "128")
    INT("bit5", "and", "%place", "32")
    LET("has5", "icmp ne i32 %bit5, 0")
    INT("bit6", "and", "%place", "64")
    LET("has6", "icmp ne i32 %bit6, 0")
    PICK_OF("i64", "p5", "%has5", W5, "0")
    PICK_OF("i64", "p4", "%has5", W4, W5)
    PICK_OF("i64", "p3", "%has5", W3, W4)
    PICK_OF("i64", "p2", "%has5", W2, W3)
    PICK_OF("i64", "p1", "%has5", W1, W2)
    PICK_OF("i64", "p0", "%has5", W0, W1)
    PICK_OF("i64", "w3", "%has6", "%p3", "%p5")
    PICK_OF("i64", "w2", "%has6", "%p2", "%p4")
    PICK_OF("i64", "w1", "%has6", "%p1", "%p3")
    PICK_OF("i64", "w0", "%has6", "%p0", "%p2")
    LONG("m0", "mul", "%m", "%w0")
    LONG("carry0", "lshr", "%m0", "32")
    LONG("m1", "mul", "%m", "%w1")
    LONG("sum1", "add", "%m1", "%carry0")
    LONG("carry1", "lshr", "%sum1", "32")
    LONG("m2", "mul", "%m", "%w2")
    LONG("sum2", "add", "%m2", "%carry1")
    LONG("carry2", "lshr", "%sum2", "32")
    LONG("m3", "mul", "%m", "%w3")
    LONG("sum3", "add", "%m3", "%carry2")
    LONG("high", "shl", "%sum3", "32")
    LONG("middle", "and", "%sum2", "4294967295")
    LONG("low", "and", "%sum1", "4294967295")
    LONG("both", "or", "%high", "%middle")
    INT("left32", "and", "%place", "31")
    INT("right32", "sub", "32", "%left32")
    LET("left", "zext i32 %left32 to i64")
    LET("right", "zext i32 %right32 to i64")
    LONG("above", "shl", "%both", "%left")
    LONG("below", "lshr", "%low", "%right")
    LONG("turns", "or", "%above", "%below")    /* in units of 2^-64 */
    LONG("rest", "shl", "%turns", "2")         /* of a quarter turn: below 0 from 1/2 on */
    LONG("sign", "ashr", "%rest", "63")
    LONG("part", "xor", "%rest", "%sign")
    LET("partdouble", "sitofp i64 %part to double")
    LET("angle", "fmul double %partdouble, 0x3BF921FB54442D19") /* pi / 2^65 */
    LET("positive", "fptrunc double %angle to float")
    LET("negative", "fsub float -0.0, %positive")
    LET("isminus", "icmp slt i32 %bits, 0")
    LET("isabove", "icmp slt i64 %rest, 0")
    LET("isnegative", "xor i1 %isminus, %isabove")
    PICK_OF("float", "rfinite", "%isnegative", "%negative", "%positive")
    LONG("quarterlong", "lshr", "%turns", "62")
    LONG("klong", "sub", "%quarterlong", "%sign")
    LET("kpositive", "trunc i64 %klong to i32")
    INT("kminus", "sub", "0", "%kpositive")
    PICK_OF("i32", "kfar", "%isminus", "%kminus", "%kpositive")
    LET("isfinite", "fcmp olt float %size, 0x7FF0000000000000")
    PICK_OF("float", "rfar", "%isfinite", "%rfinite", "0x7FF8000000000000")
    "  br label %reduced\n"
    "reduced:\n"
    LET("r", "phi float [ %rnear, %entry ], [ %rfar, %far ]")
    LET("k", "phi i32 [ %knear, %entry ], [ %kfar, %far ]")
    LET("out0", "insertvalue { float, i32 } undef, float %r, 0")
    LET("out", "insertvalue { float, i32 } %out0, i32 %k, 1")
    "  ret { float, i32 } %out\n}\n";

/* Both polynomials are computed, which a sine and a cosine of the same number share. quarter:
 * what is added to k. %zr is +0 where r is -0, so that the sum is -0. */
#define SINE(name, quarter)                                                                    \
    HEAD_OF("float", "f32", name, "float %r, i32 %k")                                          \
    LET("z", "fmul float %r, %r")                                                              \
    FMA32("s2", "0xBF29A82A60000000", "%z", "0x3F8110BC80000000")                              \
    FMA32("s1", "%s2", "%z", "0xBFC5555500000000")                                             \
    FMA32("zr", "%z", "%r", "0.0")                                                             \
    FMA32("s", "%s1", "%zr", "%r")                                                             \
    FMA32("c3", "0x3EF9758000000000", "%z", "0xBF56C0FDA0000000")                              \
    FMA32("c2", "%c3", "%z", "0x3FA5555760000000")                                             \
    FMA32("c1", "%c2", "%z", "0xBFDFFFFFE0000000")                                             \
    FMA32("c", "%c1", "%z", "1.0")                                                             \
    INT("turn", "add", "%k", quarter)                                                          \
    INT("odd", "and", "%turn", "1")                                                            \
    LET("isodd", "icmp ne i32 %odd, 0")                                                        \
    PICK_OF("float", "y", "%isodd", "%c", "%s")                                                \
    FMA32("yminus", "%y", "-1.0", "0.0")                                                       \
    INT("half", "and", "%turn", "2")                                                           \
    LET("isplus", "icmp eq i32 %half, 0")                                                      \
    PICK_OF("float", "out", "%isplus", "%y", "%yminus")                                        \
    "  ret float %out\n}\n"

const char lw_own_gpu_f32_sin[] = SINE("sin", "0");

const char lw_own_gpu_f32_cos[] = SINE("cos", "1");

/* The size of %r that is left as it is: libdevice does so. */
const char lw_own_gpu_f32_tan[] =
    HEAD_OF("float", "f32", "tan", "float %r, i32 %k")
    LET("z", "fmul float %r, %r")
    FMA32("t4", "0x3F83200000000000", "%z", "0x3F6AC00000000000")
    FMA32("t3", "%t4", "%z", "0x3F98E00000000000")
    FMA32("t2", "%t3", "%z", "0x3FAB600000000000")
    FMA32("t1", "%t2", "%z", "0x3FC1128700000000")
    FMA32("t0", "%t1", "%z", "0x3FD5555100000000")
    LET("cube", "fmul float %z, %r")
    FMA32("t", "%t0", "%cube", "%r")
    LET("rsize", "call float @llvm.nvvm.fabs.f(float %r)")
    LET("isexact", "fcmp oeq float %rsize, 0x3F40168780000000")
    PICK_OF("float", "y", "%isexact", "%r", "%t")
    LET("yminus", "fsub float -0.0, %y")
    LET("inverse", "call float asm \"rcp.approx.ftz.f32 $0, $1;\", \"=f,f\"(float %yminus)" LW_PURE_ASM)
    INT("odd", "and", "%k", "1")
    LET("isodd", "icmp ne i32 %odd, 0")
    PICK_OF("float", "out", "%isodd", "%inverse", "%y")
    "  ret float %out\n}\n";

/* clang-format on */
