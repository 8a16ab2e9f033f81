# parameters: i4
def f(a):
    v1 = 1
    v2 = np.float32(a >> 2) + float(v1 - a)
    a = a
    v4 = False
    if v2 > np.reciprocal(v1 / a):
        for i6 in range(5, 1, -3):
            v1 = i6
            v7 = np.ceil(v2) if v4 else -0.25 * (i6 * a)
        n9 = 0
        n9 += 1
        a = np.where(v2 <= n9, np.int32(v2), (a + n9) * (5 * v1))
    return v2, (1 - a) % 92
