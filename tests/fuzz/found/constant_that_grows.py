# parameters: f8 f2 f8
def p3(a, b, c):
    v7 = 2
    if a > b:
        pass
    else:
        n6 = 0
        while n6 < 4 and c < b:
            n6 += 1
            v7 = n6 + v7
    v9 = v7 ** 4
    return 255 ** v9 << 7
