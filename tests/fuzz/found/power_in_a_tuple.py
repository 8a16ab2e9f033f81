# parameters: f8
def p5(a):
    v1 = 27
    v2 = 0
    if (a, (a + a)) == (a, (v1 ** v1)):
        v2 = 1
    return v2
