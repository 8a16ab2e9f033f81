/* How the text of our own functions of floats is written: one line each, `to` without its %.
 * Names that end in _OF take the type; the others are for f64. */
#ifndef LW_EMIT_FLOAT_TEXT_H
#define LW_EMIT_FLOAT_TEXT_H

#define LET(to, text)                "  %" to " = " text "\n"
#define BOTH(to, a, b)               LET(to, "and i1 " a ", " b)
#define CALL1_OF(type, to, f, a)     LET(to, "call " type " @llvm." f "(" type " " a ")")
#define PICK_OF(type, to, if_, a, b) LET(to, "select i1 " if_ ", " type " " a ", " type " " b)
#define FMA_OF(type, suffix, to, a, b, c)                                                      \
    LET(to,                                                                                    \
        "call " type " @llvm.fma." suffix "(" type " " a ", " type " " b ", " type " " c ")")

#define ADD(to, a, b)       LET(to, "fadd double " a ", " b)
#define SUB(to, a, b)       LET(to, "fsub double " a ", " b)
#define MUL(to, a, b)       LET(to, "fmul double " a ", " b)
#define FMA(to, a, b, c)    FMA_OF("double", "f64", to, a, b, c)
#define CALL1(to, f, a)     CALL1_OF("double", to, f ".f64", a)
#define PICK(to, if_, a, b) PICK_OF("double", to, if_, a, b)

/* The whole function, which is inlined. */
#define HEAD_OF(type, suffix, name, params)                                                    \
    "define internal " type " @lw_rt_" suffix "_" name "(" params ") nounwind alwaysinline "   \
    "{\n"
#define HEAD(name, params) HEAD_OF("double", "f64", name, params)
#define TAIL(result)       "  ret double " result "\n}\n"

#endif
