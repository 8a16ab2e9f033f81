# parameters: u1
def f(a):
    return np.fmin(1e10 % a, a), np.fmax(a, 1e10 % a)
