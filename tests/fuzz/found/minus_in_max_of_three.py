# parameters: u1 b1 i4
def p7(a, b, c):
    c = (w1 := c) + a
    w1 = max(w1 - (c | c), c // c, w1)
    return w1
