# parameters: i8
def f(a):
    if (w2 := 0.0):
        pass
    elif a:
        pass
    else:
        w2 = a
    v8 = w2
    return v8
