/* Functions of f64 that we compute ourselves on GPUs, as LLVM text without a call or table,
 * and but for what is special of exp and log without a branch: a GPU executes one operation of
 * float64 for two others, and a branch keeps ptxas from computing several elements side by
 * side.
 *
 * exp   Argument reduction by k = round(x / ln 2), which float32 finds without the float64
 * unit, with ln 2 in two parts (Cody and Waite, "Software Manual for the Elementary Functions",
 *       1980), and a polynomial for e^r; two factors 2^h 2^g reach results that are subnormal.
 * log   x = 2^e m, sqrt(1/2) <= m < sqrt(2), w = (m - 1) / (m + 1), log m = 2 atanh w. The
 * upper half of w, whose sum with e ln 2 / 2 is exact, is added last; its rest is the exact
 *       remainder of the division, by the inverse of m + 1.
 * erf   1 - e^-p with p = |x| + |x| r(|x|), and r a polynomial up to where erf is 1 (N. Juffa's
 *       form, which libdevice has, too); e^-p as above, but so that 1 - e^-p keeps its digits.
 *
 * The polynomials are minimax fits by Remez's exchange, weighted for the function's relative
 * error; tests/special/gpu_double.py computes them. The errors are at most 0.87, 0.56 and 1.90
 * units in the last place (tests/py/test_gpu_double.py).
 *
 * Why they are here: instructions for one element in the kernel of a ufunc, without those that
 * hardly any element needs, and how many of them are operations of the float64 unit (sm_90,
 * CUDA 13.0, coefficients as parts of the instructions). The bits do not depend on the version
 * of CUDA.
 *
 *               exp      log      erf
 *   ours        36, 13   68, 22   74, 39
 *   libdevice   34, 15   89, 30   77, 42 */
#include "core/emit/float_text.h"
#include "core/emit/emit_internal.h"

/* ---- how the text is written ---- */

#define NEG(to, a)         SUB(to, "-0.0", a)
#define INT(to, how, a, b) LET(to, how " i32 " a ", " b)
#define IF(to, if_, a, b)  LET(to, "select i1 " if_ ", i32 " a ", i32 " b)

/* The halves of a float64: a pair, of which 1 is the upper one. */
#define PAIR(to, a)         LET(to, "bitcast double " a " to <2 x i32>")
#define UPPER(to, pair)     LET(to, "extractelement <2 x i32> " pair ", i32 1")
#define PUT(to, pair, v, k) LET(to, "insertelement <2 x i32> " pair ", i32 " v ", i32 " k)
#define DOUBLE(to, pair)    LET(to, "bitcast <2 x i32> " pair " to double")

/* clang-format off */
/* k = round(a / ln 2): as a float64, and in the last bits of an int. */
#define ROUND(a)                                                                               \
    LET("near", "fptrunc double " a " to float")                                               \
    LET("kround", "call float @llvm.fma.f32(float %near, float 0x3FF7154760000000, float 12582912.0)")\
    LET("ksingle", "fsub float %kround, 12582912.0")                                           \
    LET("k", "fpext float %ksingle to double")                                                 \
    LET("kbits", "bitcast float %kround to i32")

/* %p = e^r of a = k ln 2 + r */
#define EXP(a)                                                                                 \
    ROUND(a)                                                                                   \
    NEG("kminus", "%k")                                                                        \
    FMA("r0", "%kminus", "0x3FE62E42FEFA39EF", a)                                              \
    FMA("r", "%kminus", "0x3C7ABC9E3B39803F", "%r0")                                           \
    FMA("p8", "0x3E5ADD15D176F695", "%r", "0x3E928AEE1B761BD6")                                \
    FMA("p7", "%p8", "%r", "0x3EC71DEF7FA47068")                                               \
    FMA("p6", "%p7", "%r", "0x3EFA01998862C35D")                                               \
    FMA("p5", "%p6", "%r", "0x3F2A01A013BAEB64")                                               \
    FMA("p4", "%p5", "%r", "0x3F56C16C184B7692")                                               \
    FMA("p3", "%p4", "%r", "0x3F811111111251AC")                                               \
    FMA("p2", "%p3", "%r", "0x3FA5555555550600")                                               \
    FMA("p1", "%p2", "%r", "0x3FC5555555555502")                                               \
    FMA("pbig", "%p1", "%r", "0x3FE000000000000A")                                             \
    FMA("pone", "%pbig", "%r", "1.0")                                                          \
    FMA("p", "%pone", "%r", "1.0")                                                             \
    PAIR("ppair", "%p")                                                                        \
    UPPER("pupper", "%ppair")

/* %sum = log of the positive normal number with this pair and upper half, plus bias ln 2 */
#define LOG(pair, upper, bias)                                                                 \
    INT("shifted", "sub", upper, "1072079006") /* sqrt(1/2) */                                 \
    INT("exponent0", "ashr", "%shifted", "20")                                                 \
    INT("exponent", "add", "%exponent0", bias)                                                 \
    LET("e", "sitofp i32 %exponent to double")                                                 \
    INT("fraction", "and", "%shifted", "1048575")                                              \
    INT("hupper", "add", "%fraction", "1071030430") /* sqrt(1/2) / 2 */                        \
    PUT("hpair", pair, "%hupper", "1")                                                         \
    DOUBLE("half", "%hpair") /* m / 2 */                                                       \
    ADD("a", "%half", "-0.5")                                                                  \
    ADD("b", "%half", "0.5")                                                                   \
    LET("y0", "call double asm \"rcp.approx.ftz.f64 $0, $1;\", \"=d,d\"(double %b)" LW_PURE_ASM)\
    NEG("bminus", "%b")                                                                        \
    FMA("u0", "%bminus", "%y0", "1.0")                                                         \
    FMA("u", "%u0", "%u0", "%u0")                                                              \
    FMA("y", "%u", "%y0", "%y0")                                                               \
    MUL("w", "%a", "%y")                                                                       \
    MUL("z", "%w", "%w")                                                                       \
    FMA("l5", "0x3FC2F04EE60E6CC9", "%z", "0x3FC39A1CF9FDCA59")                                \
    FMA("l4", "%l5", "%z", "0x3FC74663DAFE12C9")                                               \
    FMA("l3", "%l4", "%z", "0x3FCC71C5211ADB93")                                               \
    FMA("l2", "%l3", "%z", "0x3FD24924941E349F")                                               \
    FMA("l1", "%l2", "%z", "0x3FD999999997FF0B")                                               \
    FMA("lsum", "%l1", "%z", "0x3FE5555555555592")                                             \
    MUL("lz", "%z", "%lsum")                                                                   \
    PAIR("wpair", "%w")                                                                        \
    PUT("toppair", "%wpair", "0", "0")                                                         \
    DOUBLE("top", "%toppair")                                                                  \
    SUB("less", "%a", "%top")                                                                  \
    NEG("topminus", "%top")                                                                    \
    FMA("remains", "%topminus", "%a", "%less")                                                 \
    PAIR("ypair", "%y")                                                                        \
    UPPER("yupper", "%ypair")                                                                  \
    INT("y2upper", "add", "%yupper", "1048576")                                                \
    PUT("y2pair", "%ypair", "%y2upper", "1")                                                   \
    DOUBLE("y2", "%y2pair")                                                                    \
    MUL("rest", "%remains", "%y2")                                                             \
    FMA("tail0", "%w", "%lz", "%rest")                                                         \
    FMA("tail", "%e", "0xBD48432A1B0E2634", "%tail0")                                          \
    FMA("head", "%e", "0x3FD62E42FEFA4000", "%top")                                            \
    FMA("sum", "%head", "2.0", "%tail")

/* %c: |x|, or a number for which the result is 1 */
#define ERF                                                                                    \
    FMA("c22", "0xBCF03F4D8A19982D", "%c", "0x3D46D249AA5977CE")                               \
    FMA("c21", "%c22", "%c", "0xBD8DB6261ADA37DB")                                             \
    FMA("c20", "%c21", "%c", "0x3DC7BDB618EF9936")                                             \
    FMA("c19", "%c20", "%c", "0xBDF9F10CAA82F569")                                             \
    FMA("c18", "%c19", "%c", "0x3E245A8DC639A965")                                             \
    FMA("c17", "%c18", "%c", "0xBE473A3F35DB9642")                                             \
    FMA("c16", "%c17", "%c", "0x3E62A722C4535531")                                             \
    FMA("c15", "%c16", "%c", "0xBE71C51E4C29B62A")                                             \
    FMA("c14", "%c15", "%c", "0xBE46D198F5274C6A")                                             \
    FMA("c13", "%c14", "%c", "0x3EA31464CB3B00C7")                                             \
    FMA("c12", "%c13", "%c", "0xBEC1106460580DE1")                                             \
    FMA("c11", "%c12", "%c", "0x3ECA405843F5FAF5")                                             \
    FMA("c10", "%c11", "%c", "0x3ECA9E0270682EC7")                                             \
    FMA("c9", "%c10", "%c", "0xBEFF03D290DF8BF3")                                              \
    FMA("c8", "%c9", "%c", "0x3F10E347ABD9187D")                                               \
    FMA("c7", "%c8", "%c", "0x3EFB2985161D6E8C")                                               \
    FMA("c6", "%c7", "%c", "0xBF43566350033C39")                                               \
    FMA("c5", "%c6", "%c", "0x3F5BCA691130ED54")                                               \
    FMA("c4", "%c5", "%c", "0xBF2B6B6A0C5FB283")                                               \
    FMA("c3", "%c4", "%c", "0xBF939668590C2125")                                               \
    FMA("c2", "%c3", "%c", "0x3FBA4F4E2A1AA778")                                               \
    FMA("c1", "%c2", "%c", "0x3FE45F306DC9C8CF")                                               \
    FMA("crest", "%c1", "%c", "0x3FC06EBA8214DB68")                                            \
    FMA("p", "%crest", "%c", "%c")                                                             \
    ROUND("%p")                                                                                \
    NEG("kminus", "%k")                                                                        \
    FMA("r", "%kminus", "0x3FE62E42FEFA39EF", "%p")                                            \
    FMA("q8", "0x3E5AE5F9FD17E8D9", "%r", "0xBE928A1662F70288")                                \
    FMA("q7", "%q8", "%r", "0x3EC71DE8E32C9C58")                                               \
    FMA("q6", "%q7", "%r", "0xBEFA019A79E584D4")                                               \
    FMA("q5", "%q6", "%r", "0x3F2A01A01730EDB2")                                               \
    FMA("q4", "%q5", "%r", "0xBF56C16C17EF7936")                                               \
    FMA("q3", "%q4", "%r", "0x3F8111111111934B")                                               \
    FMA("q2", "%q3", "%r", "0xBFA555555555212D")                                               \
    FMA("q1", "%q2", "%r", "0x3FC5555555555539")                                               \
    FMA("qsum", "%q1", "%r", "0xBFE0000000000005")                                             \
    MUL("qr", "%qsum", "%r")                                                                   \
    FMA("q", "%qr", "%r", "%r") /* 1 - e^-r */                                                 \
    INT("sshift", "shl", "%kbits", "20")                                                       \
    INT("supper", "sub", "1072693248", "%sshift")                                              \
    PUT("spair", "<i32 0, i32 0>", "%supper", "1")                                             \
    DOUBLE("s", "%spair") /* 2^-k */                                                           \
    SUB("sless", "1.0", "%s")                                                                  \
    FMA("size", "%s", "%q", "%sless")                                                          \
    INT("sign", "and", "%upper", "-2147483648")                                                \
    PAIR("sizepair", "%size")                                                                  \
    UPPER("sizeupper", "%sizepair")                                                            \
    INT("outupper", "or", "%sizeupper", "%sign")                                               \
    PUT("outpair", "%sizepair", "%outupper", "1")                                              \
    DOUBLE("out", "%outpair")


/* Where the result may be infinite, subnormal or 0: 2^k as two factors. */
const char lw_own_gpu_f64_exp[] =
    HEAD("exp", "double %x")
    "entry:\n"
    EXP("%x")
    LET("size", "call float @llvm.nvvm.fabs.f(float %near)")
    LET("usual", "fcmp olt float %size, 708.0")
    "  br i1 %usual, label %plain, label %rare\n"
    "plain:\n"
    INT("kshift", "shl", "%kbits", "20")
    INT("outupper", "add", "%pupper", "%kshift")
    PUT("outpair", "%ppair", "%outupper", "1")
    DOUBLE("out", "%outpair")
    "  ret double %out\n"
    "rare:\n"
    INT("kint", "sub", "%kbits", "1262485504") /* 12582912.0 */
    INT("h", "ashr", "%kint", "1")
    INT("g", "sub", "%kint", "%h")
    INT("hshift", "shl", "%h", "20")
    INT("hupper", "add", "%pupper", "%hshift")
    PUT("hpair", "%ppair", "%hupper", "1")
    DOUBLE("part", "%hpair")
    INT("gshift", "shl", "%g", "20")
    INT("gupper", "add", "%gshift", "1072693248")
    PUT("gpair", "<i32 0, i32 0>", "%gupper", "1")
    DOUBLE("factor", "%gpair")
    MUL("scaled", "%part", "%factor")
    LET("low", "fcmp olt double %x, -750.0")
    LET("above0", "select i1 %low, double 0.0, double %scaled")
    LET("high", "fcmp ogt double %x, 750.0")
    LET("far", "select i1 %high, double 0x7FF0000000000000, double %above0")
    LET("isnan", "fcmp uno double %x, %x")
    LET("result", "select i1 %isnan, double %x, double %far")
    TAIL("%result");

const char lw_own_gpu_f64_log_normal[] =
    HEAD("log_normal", "double %x")
    PAIR("pair", "%x")
    UPPER("upper", "%pair")
    LOG("%pair", "%upper", "0")
    TAIL("%sum");

/* x inf + inf is inf for inf, and NaN for NaN and numbers below 0. */
const char lw_own_gpu_f64_log[] =
    HEAD("log", "double %x")
    "entry:\n"
    PAIR("pair0", "%x")
    UPPER("upper0", "%pair0")
    LET("low", "icmp slt i32 %upper0, 1048576")
    MUL("raised", "%x", "0x4350000000000000") /* 2^54 */
    LET("v", "select i1 %low, double %raised, double %x")
    IF("bias", "%low", "-54", "0")
    PAIR("pair", "%v")
    UPPER("upper", "%pair")
    INT("above", "sub", "%upper", "1048576")
    LET("special", "icmp uge i32 %above, 2145386496")
    "  br i1 %special, label %rare, label %usual\n"
    "usual:\n"
    LOG("%pair", "%upper", "%bias")
    "  ret double %sum\n"
    "rare:\n"
    FMA("other", "%x", "0x7FF0000000000000", "0x7FF0000000000000")
    LET("zero", "fcmp oeq double %x, 0.0")
    LET("out", "select i1 %zero, double 0xFFF0000000000000, double %other")
    TAIL("%out");

/* 5.90625: from there on the result is 1. */
const char lw_own_gpu_f64_erf[] =
    HEAD("erf", "double %x")
    PAIR("pair", "%x")
    UPPER("upper", "%pair")
    INT("positive", "and", "%upper", "2147483647")
    LET("whole", "call double @llvm.nvvm.fabs.d(double %x)")
    LET("far", "fcmp oge double %whole, 5.90625")
    IF("cupper", "%far", "1075290112", "%positive")
    PUT("cpair", "%pair", "%cupper", "1")
    DOUBLE("c", "%cpair")
    ERF
    TAIL("%out");

/* clang-format on */
