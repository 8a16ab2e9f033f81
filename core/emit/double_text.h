/* How the text of our own functions of f64 is written: one line each, `to` without its %. */
#ifndef LW_EMIT_DOUBLE_TEXT_H
#define LW_EMIT_DOUBLE_TEXT_H

#define LET(to, text) "  %" to " = " text "\n"
#define ADD(to, a, b) LET(to, "fadd double " a ", " b)
#define SUB(to, a, b) LET(to, "fsub double " a ", " b)
#define MUL(to, a, b) LET(to, "fmul double " a ", " b)
#define FMA(to, a, b, c)                                                                       \
    LET(to, "call double @llvm.fma.f64(double " a ", double " b ", double " c ")")

/* The whole function, which is inlined. */
#define HEAD(name, params)                                                                     \
    "define internal double @lw_rt_f64_" name "(" params ") nounwind alwaysinline {\n"
#define TAIL(result) "  ret double " result "\n}\n"

#endif
