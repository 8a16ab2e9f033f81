# parameters: b1 i4
def f(a, b):
    v1 = 1.0
    for i2 in range(5):
        if v1:
            break
    else:
        v3 = +b
    v4 = b
    return v4
