/* Functions of f64 that we compute ourselves on the host, as LLVM text without a branch, call
 * or table: LLVM's vectoriser spreads them over whatever width the processor has, and every
 * element goes through the same IEEE operations wherever it lies. They need a fused
 * multiply-add; elsewhere, and with `precise`, libm is called.
 *
 * exp   Argument reduction by k = round(x / ln 2) with ln 2 in two parts (Cody and Waite,
 *       "Software Manual for the Elementary Functions", 1980), a polynomial for e^r, and two
 *       factors 2^k1 * 2^k2 that reach subnormal results with one rounding.
 * expm1, tanh  the same reduction; tanh |x| = t / (t + 2) with t = e^(2|x|) - 1.
 * log   x = 2^e m, sqrt(1/2) <= m < sqrt(2), f = m - 1, s = f / (m + 1), log m = 2 atanh s;
 *       summed as f - s (f - R(s^2)), which keeps s's rounding error small (K. C. Ng's log in
 *       Berkeley's libm).
 * pow   2^(y log2 |x|), the logarithm in double-double but for its series' tail (T. J. Dekker,
 *       "A floating-point technique for extending the available precision", 1971; exact
 *       products by fma): |y log2 x| < 1075 is off by less than 2^-53. What is special follows
 *       annex F of C.
 *
 * The polynomials are minimax fits for these ranges: Remez's exchange in 300 bits, weighted for
 * the function's relative error.
 *
 * Why they are here: ns an element beside libmvec of glibc 2.36, 4096 elements in the L1 cache,
 * one thread of a Xeon with AVX-512 (family 6, model 167), gcc 12.2 and LLVM 22, 2026-11-23, by
 * `python bench/vector_math.py`.
 *
 *            exp   log   expm1  tanh  pow
 *   ours     0.49  0.77  0.49   0.77  2.49
 *   libmvec  0.60  0.95  0.76   1.49  2.41
 *
 * pow stays for its bits: they are the same in a vector, in a loop's remainder and alone, while
 * libm's and libmvec's differ, so that a forall's or a gufunc's results would depend on where
 * an element lies. It is off by two units in the last place at most, libmvec's by four. */
#include "core/emit/float_text.h"
#include "core/emit/emit_internal.h"

/* ---- how the text is written ---- */

#define DIV(to, a, b)      LET(to, "fdiv double " a ", " b)
#define NEG(to, a)         LET(to, "fneg double " a)
#define IS(to, how, a, b)  LET(to, "fcmp " how " double " a ", " b)
#define INT(to, how, a, b) LET(to, how " i64 " a ", " b)
#define BITS(to, a)        LET(to, "bitcast double " a " to i64")
#define FLOAT(to, a)       LET(to, "bitcast i64 " a " to double")

/* (1 + r q) 2^k for |k| <= 1100, where k is in the last bits of t = ROUND + k: half of it as
 * one factor, which is exact, half as the other, which rounds once where it must. */
#define ROUND "6755399441057790.0" /* 1.5 * 2^52 + 2 * 1023 */
#define SCALE(to, r, q, t)                                                                     \
    BITS("scale.t", t)                                                                         \
    INT("scale.half", "lshr", "%scale.t", "1")                                                 \
    INT("scale.rest", "sub", "%scale.t", "%scale.half")                                        \
    INT("scale.bits1", "shl", "%scale.half", "52")                                             \
    INT("scale.bits2", "shl", "%scale.rest", "52")                                             \
    FLOAT("scale.1", "%scale.bits1")                                                           \
    FLOAT("scale.2", "%scale.bits2")                                                           \
    MUL("scale.r", r, "%scale.1")                                                              \
    FMA("scale.p", "%scale.r", q, "%scale.1")                                                  \
    MUL(to, "%scale.p", "%scale.2")

/* a > 0, finite: e and m with a = 2^e m, and f = m - 1, d = m + 1 rounded. */
#define SPLIT(a)                                                                               \
    IS("tiny", "olt", a, "0x0010000000000000")                                                 \
    PICK("raise", "%tiny", "0x4350000000000000", "1.0") /* 2^54 */                             \
    PICK("bias", "%tiny", "4503599627371573.0", "4503599627371519.0")                          \
    MUL("raised", a, "%raise")                                                                 \
    BITS("abits", "%raised")                                                                   \
    INT("shifted", "add", "%abits", "2638147582215219") /* 1.0 - sqrt(1/2), as bits */         \
    INT("ebits", "lshr", "%shifted", "52")                                                     \
    INT("emagic", "or", "%ebits", "4841369599423283200") /* 2^52 */                            \
    FLOAT("efloat", "%emagic")                                                                 \
    SUB("e", "%efloat", "%bias")                                                               \
    INT("fraction", "and", "%shifted", "4503599627370495")                                     \
    INT("mbits", "add", "%fraction", "4604544271217802189") /* sqrt(1/2) */                    \
    FLOAT("m", "%mbits")                                                                       \
    SUB("f", "%m", "1.0")                                                                      \
    ADD("d", "%m", "1.0")

/* Polynomials are evaluated in pairs of coefficients (one level of G. Estrin, 1960), which
 * halves the dependence chain for one more product. */
#define FIVE_PAIRS(to, x, p)                                                                   \
    MUL(x ".2", "%" x, "%" x)                                                                  \
    FMA(p "69", "%" x ".2", "%" p "89", "%" p "67")                                            \
    FMA(p "49", "%" x ".2", "%" p "69", "%" p "45")                                            \
    FMA(p "29", "%" x ".2", "%" p "49", "%" p "23")                                            \
    FMA(to, "%" x ".2", "%" p "29", "%" p "01")

/* e^a - 1 for a >= -40 as 2 (s w + (s - 1/2)): s = 2^(k-1), w = e^r - 1. Twice at the end,
 * since 2^1024 is no number. */
#define EXPM1(to, a)                                                                           \
    FMA("t", a, "0x3FF71547652B82FE", "6755399441056766.0") /* 1.5 * 2^52 + 1022 */            \
    SUB("k", "%t", "6755399441056766.0")                                                       \
    NEG("minus", "%k")                                                                         \
    FMA("r0", "%minus", "0x3FE62E42FEFA39EF", a)                                               \
    FMA("r", "%minus", "0x3C7ABC9E3B39803F", "%r0")                                            \
    FMA("p01", "%r", "0x3FC555555555555B", "0x3FE0000000000000")                               \
    FMA("p23", "%r", "0x3F8111111110EC64", "0x3FA5555555555503")                               \
    FMA("p45", "%r", "0x3F2A01A01B37B73E", "0x3F56C16C16C30430")                               \
    FMA("p67", "%r", "0x3EC71DDF027FCEF9", "0x3EFA01A0136A29DA")                               \
    FMA("p89A", "%r", "0x3E21E3D3E79C7916", "0x3E5AF6BDB00101F7")                              \
    FMA("p89", "%r", "%p89A", "0x3E927E5B42D787D0")                                            \
    FIVE_PAIRS("p0", "r", "p")                                                                 \
    FMA("w", "%r.2", "%p0", "%r")                                                              \
    BITS("tbits", "%t")                                                                        \
    INT("sbits", "shl", "%tbits", "52")                                                        \
    FLOAT("s", "%sbits")                                                                       \
    SUB("less", "%s", "0.5")                                                                   \
    FMA("half", "%s", "%w", "%less")                                                           \
    ADD(to, "%half", "%half")

/* clang-format off */

const char lw_own_host_f64_exp[] =
    HEAD("exp", "double %x")
    IS("high", "ogt", "%x", "710.0")
    PICK("below", "%high", "710.0", "%x")
    IS("low", "olt", "%below", "-746.0")
    PICK("v", "%low", "-746.0", "%below")
    FMA("t", "%v", "0x3FF71547652B82FE", ROUND)
    SUB("k", "%t", ROUND)
    NEG("minus", "%k")
    FMA("r0", "%minus", "0x3FE62E42FEFA39EF", "%v")
    FMA("r", "%minus", "0x3C7ABC9E3B39803F", "%r0")
    FMA("p01", "%r", "0x3FC55555555554FA", "0x3FE000000000000A")
    FMA("p23", "%r", "0x3F81111111127B4C", "0x3FA5555555550889")
    FMA("p45", "%r", "0x3F2A01A012A80FBE", "0x3F56C16C18427007")
    FMA("p67", "%r", "0x3EC71DF250C90C39", "0x3EFA0199A1564ED5")
    FMA("p89", "%r", "0x3E5AD7FBB857ACA2", "0x3E928AD69F13FC87")
    FIVE_PAIRS("p0", "r", "p")
    FMA("q", "%r", "%p0", "1.0")
    SCALE("out", "%r", "%q", "%t")
    TAIL("%out");

const char lw_own_host_f64_expm1[] =
    HEAD("expm1", "double %x")
    IS("high", "ogt", "%x", "710.0")
    PICK("below", "%high", "710.0", "%x")
    IS("low", "olt", "%below", "-40.0")
    PICK("v", "%low", "-40.0", "%below")
    EXPM1("result", "%v")
    CALL1("size", "fabs", "%x")
    IS("tiny", "olt", "%size", "0x3C90000000000000") /* 2^-54 */
    PICK("out", "%tiny", "%x", "%result")
    TAIL("%out");

/* tanh a = t / (t + 2), t = e^(2a) - 1 */
const char lw_own_host_f64_tanh[] =
    HEAD("tanh", "double %x")
    CALL1("size", "fabs", "%x")
    ADD("twice", "%size", "%size")
    IS("high", "ogt", "%twice", "44.0")
    PICK("v", "%high", "44.0", "%twice")
    EXPM1("top", "%v")
    ADD("bottom", "%top", "2.0")
    DIV("ratio", "%top", "%bottom")
    LET("signed", "call double @llvm.copysign.f64(double %ratio, double %x)")
    IS("tiny", "olt", "%size", "0x3E30000000000000") /* 2^-28 */
    PICK("out", "%tiny", "%x", "%signed")
    TAIL("%out");

/* Below 0 the quotient is inf / d, which leads to inf - inf; at 0 it is -1 / 0. */
const char lw_own_host_f64_log[] =
    HEAD("log", "double %x")
    SPLIT("%x")
    IS("negative", "olt", "%x", "0.0")
    IS("zero", "oeq", "%x", "0.0")
    PICK("top0", "%zero", "-1.0", "%f")
    PICK("top", "%negative", "0x7FF0000000000000", "%top0")
    PICK("bottom", "%zero", "0.0", "%d")
    DIV("s", "%top", "%bottom")
    MUL("z", "%s", "%s")
    MUL("zz", "%z", "%z")
    FMA("p01", "%z", "0x3FD999999997FDB3", "0x3FE5555555555592")
    FMA("p23", "%z", "0x3FCC71C52092E849", "0x3FD24924941F15F6")
    FMA("p45", "%z", "0x3FC39A1B9C3C47FF", "0x3FC74663EF1E9E60")
    FMA("p46", "%zz", "0x3FC2F056D117092D", "%p45")
    FMA("p26", "%zz", "%p46", "%p23")
    FMA("p0", "%zz", "%p26", "%p01")
    NEG("zminus", "%z")
    FMA("rest", "%zminus", "%p0", "%top")
    MUL("tail", "%e", "0x3C7ABC9E3B39803F")
    NEG("sminus", "%s")
    FMA("less", "%sminus", "%rest", "%tail")
    ADD("part", "%top", "%less")
    FMA("sum", "%e", "0x3FE62E42FEFA39EF", "%part")
    IS("itself", "ueq", "%x", "0x7FF0000000000000")
    PICK("out", "%itself", "%x", "%sum")
    TAIL("%out");

/* %odd, %broken: y is an odd integer; y is finite and no integer. */
#define KIND_OF_Y                                                                              \
    CALL1("ywhole", "floor", "%y")                                                             \
    IS("broken", "one", "%ywhole", "%y")                                                       \
    MUL("yhalf", "%y", "0.5")                                                                  \
    CALL1("yhalfwhole", "floor", "%yhalf")                                                     \
    IS("uneven", "one", "%yhalfwhole", "%yhalf")                                               \
    IS("whole", "oeq", "%ywhole", "%y")                                                        \
    BOTH("odd", "%uneven", "%whole")

/* log2 of 2^e m as %l + %ltail. With s = f / d and its rounding error stail, z = s^2 = z + ztail:
 * log2 m = s (2/ln 2 + c z + z^2 Q(z)), the first two terms exact to twice the digits, the last
 * 2^-12 of them; stail comes in by the derivative. */
#define LOG2_PAIR(top)                                                                         \
    DIV("inverse", "1.0", "%d")                                                                \
    MUL("s", top, "%inverse")                                                                  \
    NEG("sminus", "%s")                                                                        \
    ADD("twice", "%s", "%s")                                                                   \
    SUB("remains0", top, "%twice") /* exact */                                                 \
    FMA("remains", "%sminus", top, "%remains0")                                                \
    MUL("stail", "%remains", "%inverse")                                                       \
    MUL("z", "%s", "%s")                                                                       \
    NEG("zminus", "%z")                                                                        \
    FMA("ztail", "%s", "%s", "%zminus")                                                        \
    MUL("zz", "%z", "%z")                                                                      \
    FMA("q01", "%z", "0x3FDA61762A7529B3", "0x3FE2776C50EF9DF2")                               \
    FMA("q23", "%z", "0x3FD0C9A6B71911AA", "0x3FD484B141841F5F")                               \
    FMA("q45", "%z", "0x3FC8877BCE76EED0", "0x3FCC69ABA3EF1055")                               \
    FMA("q67", "%z", "0x3FB0F0D989DD7BD4", "0x3FC75B4FBCF45FF4")                               \
    FMA("q46", "%zz", "%q67", "%q45")                                                          \
    FMA("q26", "%zz", "%q46", "%q23")                                                          \
    FMA("q", "%zz", "%q26", "%q01")                                                            \
    FMA("b", "%z", "0x3FEEC709DC3A03FD", "0x40071547652B82FE") /* c z + 2 / ln 2 */            \
    SUB("btail0", "0x40071547652B82FE", "%b")                                                  \
    FMA("btail1", "%z", "0x3FEEC709DC3A03FD", "%btail0")                                       \
    FMA("btail2", "%ztail", "0x3FEEC709DC3A03FD", "0x3C8777D0FFDA0D24")                        \
    ADD("btail3", "%btail1", "%btail2")                                                        \
    FMA("btail", "%zz", "%q", "%btail3")                                                       \
    FMA("slope", "%z", "0x40071547652B82FE", "0x40071547652B82FE") /* 3 c z + 2 / ln 2 */      \
    MUL("a", "%s", "%b")                                                                       \
    NEG("aminus", "%a")                                                                        \
    FMA("atail0", "%s", "%b", "%aminus")                                                       \
    FMA("atail1", "%stail", "%slope", "%atail0")                                               \
    ADD("l", "%e", "%a")                                                                       \
    SUB("lrounded", "%l", "%e")                                                                \
    SUB("ltail0", "%a", "%lrounded")                                                           \
    ADD("ltail1", "%ltail0", "%atail1")                                                        \
    FMA("ltail", "%s", "%btail", "%ltail1")

/* 2^(%v + %vtail), |vtail| < 1 where it matters; v is clamped to where results overflow or
 * vanish, and the result is 1 where not %usual. */
#define EXP2_PAIR(to)                                                                          \
    ADD("w", "%v", "%vtail")                                                                   \
    ADD("wround", "%w", ROUND)                                                                 \
    SUB("k", "%wround", ROUND)                                                                 \
    IS("whigh", "ogt", "%wround", "6755399441058890.0") /* ROUND + 1100 */                     \
    PICK("wbelow", "%whigh", "6755399441058890.0", "%wround")                                  \
    IS("wlow", "olt", "%wbelow", "6755399441056690.0")                                         \
    PICK("wcut", "%wlow", "6755399441056690.0", "%wbelow")                                     \
    IS("same", "ueq", "%wcut", "%wround")                                                      \
    BOTH("uncut", "%same", "%usual")                                                           \
    PICK("t", "%usual", "%wcut", ROUND)                                                        \
    SUB("r0", "%v", "%k")                                                                      \
    ADD("r1", "%r0", "%vtail")                                                                 \
    PICK("r", "%uncut", "%r1", "0.0")                                                          \
    FMA("g01", "%r", "0x3FAC6B08D7049FE8", "0x3FCEBFBDFF82C5A4")                               \
    FMA("g23", "%r", "0x3F55D87FE78CD729", "0x3F83B2AB6FBA0119")                               \
    FMA("g45", "%r", "0x3EEFFCBFBA96A360", "0x3F24309130ED8F5E")                               \
    FMA("g67", "%r", "0x3E7B5267D09DE32A", "0x3EB62BFC79CDECDC")                               \
    FMA("g89", "%r", "0x3DFE79B7D1A8A9EF", "0x3E3E61B5053FE9BA")                               \
    FIVE_PAIRS("g1", "r", "g")                                                                 \
    FMA("g0", "%r", "%g1", "0x3FE62E42FEFA39EF")                                               \
    SCALE(to, "%r", "%g0", "%t")

/* For x = 0, inf, NaN (%special) the result is |x| or 1 / |x| in the end. A negative base with
 * a broken exponent makes s infinite, which leads to the NaN and the flag. y is clamped to
 * where every base but 1 overflows or vanishes. */
const char lw_own_host_f64_pow[] =
    HEAD("pow", "double %x, double %y")
    KIND_OF_Y
    BITS("xbits", "%x")
    INT("size", "and", "%xbits", "9223372036854775807")
    FLOAT("ax", "%size")
    INT("sizeless", "sub", "%size", "1")
    LET("usual", "icmp ult i64 %sizeless, 9218868437227405311")
    LET("special", "xor i1 %usual, true")
    SPLIT("%ax")
    IS("negative", "olt", "%x", "0.0")
    BOTH("bad", "%negative", "%broken")
    PICK("top", "%bad", "0x7FF0000000000000", "%f")
    LOG2_PAIR("%top")
    IS("yhigh", "ogt", "%y", "0x43F0000000000000") /* 2^64 */
    PICK("ybelow", "%yhigh", "0x43F0000000000000", "%y")
    IS("ylow", "olt", "%ybelow", "0xC3F0000000000000")
    PICK("ycut", "%ylow", "0xC3F0000000000000", "%ybelow")
    MUL("v", "%ycut", "%l")
    NEG("vminus", "%v")
    FMA("vtail0", "%ycut", "%l", "%vminus")
    FMA("vtail", "%ycut", "%ltail", "%vtail0")
    EXP2_PAIR("core")
    IS("ynegative", "olt", "%y", "0.0")
    BOTH("turned", "%special", "%ynegative")
    PICK("under", "%turned", "%ax", "1.0")
    DIV("turn", "1.0", "%under")
    PICK("upright", "%ynegative", "%turn", "%ax")
    PICK("plain", "%special", "%upright", "%core")
    BITS("plainbits", "%plain")
    LET("signs", "select i1 %odd, i64 -9223372036854775808, i64 0")
    INT("sign", "and", "%xbits", "%signs")
    INT("signedbits", "xor", "%plainbits", "%sign")
    FLOAT("signed", "%signedbits")
    IS("xone", "oeq", "%x", "1.0")
    ADD("either", "%x", "%y")
    PICK("ofnan", "%xone", "1.0", "%either")
    IS("ynan", "uno", "%y", "0.0")
    PICK("known", "%ynan", "%ofnan", "%signed")
    IS("yzero", "oeq", "%y", "0.0")
    PICK("out", "%yzero", "1.0", "%known")
    TAIL("%out");

/* clang-format on */
