# parameters: i8
def p14(a):
    if a:
        pass
    else:
        if (6 | a) + a ** 4 >= a % a + -0.25:
            a = (a or a) - a * a if 1e-05 <= 0.0 ** 2 else (4 >> a) + (a - a)
        else:
            a = np.int8(-0.25 and -3.0)
        a = -a - (a // 5 + a)
    return a
