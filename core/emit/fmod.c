/* The remainder of a division as LLVM text, exact as in libm and libdevice, which compute it by
 * a loop over the bits of the quotient. Where the quotient of the sizes a and b is below 2^m,
 * with m bits of a fraction, its whole part q follows from a rounded division: it is off by one
 * at most, upwards, as rounding keeps the order. Both a - q b and a - (q + 1) b are numbers of
 * the type, so that a fused multiply-add gives them without rounding. Larger quotients, and
 * operands that are infinite or NaN, are left to the library.
 *
 * On the host no instruction raises a flag but `inexact`: the tests are of bits, and b / b
 * takes the place of a / b below 1, which could underflow.
 *
 * ns an element, 10^5 float64, quotients below 200, one thread of an EPYC (family 25, model
 * 17), gcc 12.2, 2026-11-30: 1.5, glibc 2.36 24. */
#include "core/emit/emit_internal.h"
#include "core/emit/float_text.h"

#define BEGIN(type, suffix) HEAD_OF(type, suffix, "fmod", type " %x, " type " %y") "entry:\n"
#define BRANCH(near)        "  br i1 " near ", label %usual, label %rare\nusual:\n"

/* clang-format off */
/* %size = fmod(%a, %b) */
#define REST(type, trunc, bits)                                                                \
    LET("small", "fcmp olt " type " %a, %b")                                                   \
    PICK_OF(type, "top", "%small", "%b", "%a")                                                 \
    LET("ratio", "fdiv " type " %top, %b")                                                     \
    CALL1_OF(type, "q", trunc, "%ratio")                                                       \
    LET("minus", "fsub " type " -0.0, %q")                                                     \
    FMA_OF(type, "f" bits, "rest", "%minus", "%b", "%top")                                     \
    LET("below", "fcmp olt " type " %rest, 0.0")                                               \
    LET("above", "fadd " type " %rest, %b")                                                    \
    PICK_OF(type, "whole", "%below", "%above", "%rest")                                        \
    PICK_OF(type, "size", "%small", "%a", "%whole")

#define END(type, out, library)                                                                \
    "  ret " type " " out "\n"                                                                 \
    "rare:\n"                                                                                  \
    LET("far", "call " type " @" library "(" type " %x, " type " %y)")                         \
    "  ret " type " %far\n}\n"

/* least: the least normal number; most: how many patterns from there to the largest; down: m,
 * as part of an exponent */
#define ON_HOST(type, int, bits, least, most, infinity, down, library)                         \
    BEGIN(type, "f" bits)                                                                      \
    CALL1_OF(type, "a", "fabs.f" bits, "%x")                                                   \
    CALL1_OF(type, "b", "fabs.f" bits, "%y")                                                   \
    LET("abits", "bitcast " type " %a to " int)                                                \
    LET("bbits", "bitcast " type " %b to " int)                                                \
    LET("above.least", "sub " int " %bbits, " least)                                           \
    LET("b.normal", "icmp ult " int " %above.least, " most)                                    \
    LET("a.finite", "icmp ult " int " %abits, " infinity)                                      \
    LET("a.down", "sub " int " %abits, " down)                                                 \
    LET("close", "icmp slt " int " %a.down, %bbits")                                           \
    BOTH("finite", "%b.normal", "%a.finite")                                                   \
    BOTH("near", "%close", "%finite")                                                          \
    BRANCH("%near")                                                                            \
    REST(type, "trunc.f" bits, bits)                                                           \
    LET("out", "call " type " @llvm.copysign.f" bits "(" type " %size, " type " %x)")          \
    END(type, "%out", library)

/* An infinite b is a case of %small. down: 2^-m */
#define ON_GPU(type, int, bits, letter, down, sign, library)                                   \
    BEGIN(type, "f" bits)                                                                      \
    CALL1_OF(type, "a", "nvvm.fabs." letter, "%x")                                             \
    CALL1_OF(type, "b", "nvvm.fabs." letter, "%y")                                             \
    LET("a.down", "fmul " type " %a, " down)                                                   \
    LET("near", "fcmp olt " type " %a.down, %b")                                               \
    BRANCH("%near")                                                                            \
    REST(type, "nvvm.trunc." letter, bits)                                                     \
    LET("xbits", "bitcast " type " %x to " int)                                                \
    LET("sign", "and " int " %xbits, " sign)                                                   \
    LET("sizebits", "bitcast " type " %size to " int)                                          \
    LET("outbits", "or " int " %sizebits, %sign")                                              \
    LET("out", "bitcast " int " %outbits to " type)                                            \
    END(type, "%out", library)

const char lw_own_host_f32_fmod[] =
    ON_HOST("float", "i32", "32", "8388608", "2130706432", "2139095040", "192937984", "fmodf");

const char lw_own_host_f64_fmod[] =
    ON_HOST("double", "i64", "64", "4503599627370496", "9214364837600034816",
            "9218868437227405312", "234187180623265792", "fmod");

const char lw_own_gpu_f32_fmod[] =
    ON_GPU("float", "i32", "32", "f", "0x3E80000000000000", "-2147483648", "__nv_fmodf");

const char lw_own_gpu_f64_fmod[] =
    ON_GPU("double", "i64", "64", "d", "0x3CB0000000000000", "-9223372036854775808",
           "__nv_fmod");
/* clang-format on */
