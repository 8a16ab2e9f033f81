# parameters: f8 i4
def f(a, b):
    return np.fmod(round((w := a)), np.uint32(w)), np.fmod((v := b), v - 1)
