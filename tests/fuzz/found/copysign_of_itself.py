# parameters: f8 i4 i4
def p4(a, b, c):
    a = math.remainder(math.copysign(a, a), b)
    return a
