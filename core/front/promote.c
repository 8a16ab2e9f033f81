/* Promotion of strong scalars as NumPy does it, of weak Python numbers as NumPy 2 does it (NEP
 * 50), and numba's rules. The one deliberate difference from NEP 50: a run-time Python int that
 * meets a narrower integer widens it to int64 instead of wrapping silently (docs/typing.md). */
#include "core/front/times.h"

static lw_dtype
signed_of(uint32_t bits)
{
    return bits <= 8 ? LW_DT_i8 : bits <= 16 ? LW_DT_i16 : bits <= 32 ? LW_DT_i32 : LW_DT_i64;
}

static lw_dtype
promote_integers(lw_dtype x, lw_dtype y)
{
    const lw_dtype_row *a = &lw_dtypes[x], *b = &lw_dtypes[y];
    const lw_dtype_row *s = a->kind == LW_KIND_INT ? a : b, *u = s == a ? b : a;

    if (a->kind == b->kind)
        return a->bits >= b->bits ? x : y;
    if (s->bits > u->bits)
        return s == a ? x : y;
    return u->bits == 64 ? LW_DT_f64 : signed_of(2u * u->bits);
}

/* The float type that NumPy chooses to hold all integers of this type. */
static lw_dtype
float_for(lw_dtype integer, lw_dtype beside)
{
    switch (lw_dtypes[integer].bits) {
    case 8: return beside == LW_DT_bf16 ? LW_DT_bf16 : LW_DT_f16;
    case 16: return LW_DT_f32;
    default: return LW_DT_f64;
    }
}

static lw_dtype
promote_floats(lw_dtype x, lw_dtype y)
{
    if (x == y)
        return x;
    if (lw_dtypes[x].bits == lw_dtypes[y].bits)
        return LW_DT_f32; /* float16 with bfloat16: neither holds the other's values */
    return lw_dtypes[x].bits > lw_dtypes[y].bits ? x : y;
}

static lw_dtype
complex_of(lw_dtype real)
{
    return lw_dtypes[real].bits > 32 ? LW_DT_c128 : LW_DT_c64;
}

lw_dtype
lw_promote_dtypes(lw_dtype x, lw_dtype y)
{
    lw_kind kx = lw_dtypes[x].kind, ky = lw_dtypes[y].kind;

    if (x == y)
        return x;
    if (lw_is_time(x) || lw_is_time(y))
        return lw_time_common(x, y);
    if (ky == LW_KIND_BOOL)
        return x;
    if (kx == LW_KIND_BOOL)
        return y;
    if (kx == LW_KIND_COMPLEX || ky == LW_KIND_COMPLEX) {
        lw_dtype px = lw_dtypes[x].parts, py = lw_dtypes[y].parts;
        return complex_of(lw_promote_dtypes(px, py));
    }
    if (kx == LW_KIND_FLOAT || ky == LW_KIND_FLOAT)
        return promote_floats(kx == LW_KIND_FLOAT ? x : float_for(x, y),
                              ky == LW_KIND_FLOAT ? y : float_for(y, x));
    return promote_integers(x, y);
}

bool
lw_can_cast_safe(lw_dtype from, lw_dtype to)
{
    if (lw_is_time(from) || lw_is_time(to))
        return lw_time_casts_safely(from, to);
    return lw_promote_dtypes(from, to) == to;
}

/* Kinds of dtypes in the order in which NumPy casts silently. */
static int
kind_rank(lw_dtype dtype)
{
    static const int ranks[] = {
        [LW_KIND_VOID] = -1, [LW_KIND_BOOL] = 0,      [LW_KIND_UINT] = 1,
        [LW_KIND_INT] = 2,   [LW_KIND_FLOAT] = 3,     [LW_KIND_COMPLEX] = 4,
        [LW_KIND_PTR] = -1,  [LW_KIND_DATETIME] = -1, [LW_KIND_TIMEDELTA] = -1,
    };
    return ranks[lw_dtypes[dtype].kind];
}

bool
lw_can_cast_same_kind(lw_dtype from, lw_dtype to)
{
    if (lw_is_time(from) || lw_is_time(to))
        return lw_time_casts_same_kind(from, to);
    return kind_rank(from) >= 0 && kind_rank(from) <= kind_rank(to);
}

/* Kinds of numbers: bool < integer < float < complex. */
static int
kind_of_number(lw_dtype dtype)
{
    if (dtype == LW_DT_b1)
        return 0;
    if (lw_is_integer(dtype))
        return 1;
    return lw_is_complex(dtype) ? 3 : 2;
}

int
lw_cast_cost(lw_dtype from, bool weak, lw_dtype to)
{
    int given = kind_of_number(from), wanted = kind_of_number(to);

    if (lw_is_time(from) || lw_is_time(to))
        return from == to                          ? 0
               : weak                              ? -1
               : lw_time_casts_safely(from, to)    ? 2 + (lw_is_time(from) != lw_is_time(to))
               : lw_time_casts_same_kind(from, to) ? 5
                                                   : -1;
    if (weak)
        return given > wanted   ? -1
               : given < wanted ? 3 + !lw_can_cast_safe(from, to)
                                : 1 + (from != to);
    if (from == to)
        return 0;
    if (lw_can_cast_safe(from, to))
        return 2 + (given != wanted);
    return lw_can_cast_same_kind(from, to) && wanted != 1 /* an integer would wrap */ ? 5 : -1;
}

bool
lw_literal_fits(const lw_types *types, lw_type literal, lw_dtype dtype)
{
    const lw_type_row *row = lw_type_get(types, literal);
    uint32_t bits = lw_dtypes[dtype].bits;
    __int128 one = 1;

    if (row == NULL || row->kind != LW_TK_LITERAL)
        return false;
    switch (lw_dtypes[dtype].kind) {
    case LW_KIND_INT: return row->lo >= -(one << (bits - 1)) && row->hi < (one << (bits - 1));
    case LW_KIND_UINT: return row->lo >= 0 && row->hi < (one << bits);
    case LW_KIND_BOOL: return row->lo >= 0 && row->hi <= 1;
    case LW_KIND_FLOAT:
    case LW_KIND_COMPLEX: return true;
    default: return false;
    }
}

bool
lw_literal_is_wide(const lw_types *types, lw_type type)
{
    return lw_type_kind_of(types, type) == LW_TK_LITERAL &&
           lw_type_stored(types, type) == LW_DT_f64;
}

/* A weak number beside a strong one. */
static lw_type
promote_weak(lw_type_kind kind, lw_type weak, lw_dtype strong)
{
    lw_kind k = lw_dtypes[strong].kind;

    if (k == LW_KIND_BOOL)
        return kind == LW_TK_LITERAL ? LW_T_INDEX : weak;
    if (k == LW_KIND_COMPLEX)
        return strong;
    if (weak == LW_T_PYCOMPLEX)
        return k == LW_KIND_FLOAT ? complex_of(strong) : LW_DT_c128;
    if (k == LW_KIND_FLOAT)
        return strong;
    if (weak == LW_T_PYFLOAT)
        return LW_DT_f64;
    if (kind == LW_TK_LITERAL || strong == LW_DT_u64)
        return strong;
    return lw_promote_dtypes(strong, LW_DT_i64);
}

static int
weak_rank(lw_type type)
{
    return type == LW_T_PYCOMPLEX ? 2 : type == LW_T_PYFLOAT ? 1 : 0;
}

static lw_type
promote_numpy(const lw_types *types, lw_type x, lw_type y)
{
    static const lw_type weak[] = {LW_T_INDEX, LW_T_PYFLOAT, LW_T_PYCOMPLEX};
    lw_type_kind kx = lw_type_kind_of(types, x), ky = lw_type_kind_of(types, y);
    bool sx = kx == LW_TK_SCALAR, sy = ky == LW_TK_SCALAR;

    if (sx && sy)
        return x == LW_DT_b1 && y == LW_DT_b1 ? LW_T_INDEX
                                              : lw_promote_dtypes((lw_dtype)x, (lw_dtype)y);
    if (sx)
        return promote_weak(ky, y, (lw_dtype)x);
    if (sy)
        return promote_weak(kx, x, (lw_dtype)y);
    return weak[weak_rank(x) > weak_rank(y) ? weak_rank(x) : weak_rank(y)];
}

/* As in numba 0.68: integers of any width compute in 64 bits, signed unless both are unsigned;
 * uint16 with float32 gives float64 although float32 holds every uint16, and with complex64
 * complex128. */
static lw_type
promote_numba(lw_dtype x, lw_dtype y)
{
    lw_kind kx = lw_dtypes[x].kind, ky = lw_dtypes[y].kind;

    if (kx <= LW_KIND_UINT && ky <= LW_KIND_UINT)
        return kx == LW_KIND_UINT && ky == LW_KIND_UINT ? LW_DT_u64 : LW_DT_i64;
    return lw_promote_dtypes(x == LW_DT_u16 && lw_dtypes[y].parts == LW_DT_f32 ? LW_DT_f64 : x,
                             y == LW_DT_u16 && lw_dtypes[x].parts == LW_DT_f32 ? LW_DT_f64 : y);
}

/* numba's literals are as strong as arguments; a literal that does not fit int64 is refused. */
static lw_dtype
strong_of(const lw_types *types, lw_type type)
{
    return lw_literal_is_wide(types, type) ? LW_DT_i64 : lw_type_stored(types, type);
}

lw_type
lw_promote(lw_types *types, lw_typing typing, lw_type x, lw_type y)
{
    lw_dtype sx = strong_of(types, x), sy = strong_of(types, y);

    if (sx == LW_DT_void || sy == LW_DT_void)
        return LW_T_BOTTOM;
    if (lw_is_time(sx) || lw_is_time(sy))
        return lw_promote_dtypes(sx, sy);
    return typing == LW_TYPING_NUMBA ? promote_numba(sx, sy) : promote_numpy(types, x, y);
}
