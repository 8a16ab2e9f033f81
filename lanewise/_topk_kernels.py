"""Kernels of `lanewise/_topk.py`: the least elements of each of several lines, by a radix select.

An element is known by its key, an unsigned number in the order that is asked for, and by its index in the line. Passes over
all elements (`narrow`) find the key and the index of the last element that is taken, 11 bits at a time: each counts the next
bits of those elements that agree with what is known, and the block that finishes last finds the bits of the element that is
wanted (Alabi, Blanchard, Gordon and Steinbach, "Fast k-selection algorithms for graphics processing units", 2012). `collect`
takes what is not behind that element, in any order, and `arrange` sorts what was taken, in shared memory.
"""

import numpy as np

import lanewise as lw
from lanewise import cuda

BLOCK = 1024  # threads: two blocks for each processor read as fast as the memory gives, and add few counts to those of all
BITS = 11  # of a pass: 2,048 counts take 8 KiB of shared memory, and keys of 32 bits three passes
DIGITS = 1 << BITS
MOST = 2048  # elements that a block sorts: their keys and indices take 32 KiB of shared memory, of 48 that every GPU has

#: What a key is made of: how the bits of an element become an unsigned number.
UNSIGNED, SIGNED, FLOAT, TIME = range(4)

# A line's words of 64 bits: what is known of the last element that is taken, and how many are taken of those that agree with
# it. Then pairs of 32 bits: whether all is known and how many blocks are done; how many elements have been collected. Then
# the counts, if they are those of several blocks.
KEY, INDEX, LEFT, DONE, TAKEN, HEAD = 0, 1, 2, 3, 4, 8
WORDS = HEAD + DIGITS // 2


def key_of(x, kind, sign, infinity, flip):
    """sign: the highest bit of an element; flip: all bits, for the largest elements, or none."""
    key = np.uint64(x)
    if kind == FLOAT:
        magnitude = key & (sign - np.uint64(1))
        if magnitude > infinity:
            key = sign | (sign - np.uint64(1))  # NaN, whichever: the largest
        elif magnitude == np.uint64(0):
            key = sign
        elif key >= sign:
            key = key ^ (sign | (sign - np.uint64(1)))
        else:
            key = key | sign
    elif kind == SIGNED:
        key = key ^ sign
    elif kind == TIME:
        key = (key ^ sign) - np.uint64(1)  # NaT, the least integer: the largest
    return key ^ flip


@lw.jit
def narrow(bits, n, k, kind, sign, infinity, flip, known, shift, by_index, stride, words, ints):
    """The bits from `shift` to `known` of the key, or of the index, of the k-th least element of each line, which has `stride` words: HEAD where
    one block counts alone, WORDS where the counts of several are added."""
    here, ends = cuda.shared.array(DIGITS, np.int32), cuda.shared.array(BLOCK, np.int32)
    t, line, is_alone = cuda.threadIdx.x, cuda.blockIdx.y, cuda.gridDim.x == 1
    head = line * stride
    if ints[2 * (head + DONE)] != 0:
        return
    for d in range(t, DIGITS, BLOCK):
        here[d] = 0
    cuda.syncthreads()
    key_known, index_known, last = words[head + KEY], words[head + INDEX], known - shift
    for i in range(cuda.blockIdx.x * BLOCK + t, n, BLOCK * cuda.gridDim.x):
        key = key_of(bits[line * n + i], kind, sign, infinity, flip)
        if by_index:
            agrees = key == key_known and i >> known == np.int64(index_known) >> known
            digit = (i >> shift) & ((1 << last) - 1)
        else:
            agrees = known == 64 or key >> np.uint64(known) == key_known >> np.uint64(known)
            digit = np.int64(key >> np.uint64(shift)) & ((1 << last) - 1)
        if agrees:
            cuda.atomic.add(here, digit, 1)
    cuda.syncthreads()
    counts = 2 * (head + HEAD)
    if not is_alone:
        for d in range(t, DIGITS, BLOCK):
            if here[d] != 0:
                cuda.atomic.add(ints, counts + d, here[d])
        cuda.threadfence()
        cuda.syncthreads()
        if t == 0:
            ends[0] = cuda.atomic.add(ints, 2 * (head + DONE) + 1, 1)
        cuda.syncthreads()
        is_last = ends[0] == cuda.gridDim.x - 1
        cuda.syncthreads()
        if not is_last:
            return
        cuda.threadfence()
    # A thread has neighbouring digits, whose counts it takes and leaves 0 for the next pass.
    total = 0
    for d in range(t * (DIGITS // BLOCK), (t + 1) * (DIGITS // BLOCK)):
        if not is_alone:
            here[d] = cuda.atomic.exch(ints, counts + d, 0)
        total += here[d]
    ends[t] = total
    cuda.syncthreads()
    step = 1
    while step < BLOCK:
        before = ends[t - step] if t >= step else 0
        cuda.syncthreads()
        ends[t] += before
        cuda.syncthreads()
        step *= 2
    left = np.int64(words[head + LEFT])
    if left == 0:
        left = k
    begin = ends[t] - total
    cuda.syncthreads()
    if begin < left <= begin + total:
        for d in range(t * (DIGITS // BLOCK), (t + 1) * (DIGITS // BLOCK)):
            if begin < left <= begin + here[d]:
                found = np.uint64(d) << np.uint64(shift)
                words[head + LEFT] = np.uint64(left - begin)
                is_all = here[d] == left - begin  # all that agree are taken, whatever comes behind
                if is_all:
                    found |= (np.uint64(1) << np.uint64(shift)) - np.uint64(1)
                    ints[2 * (head + DONE)] = 1
                if by_index:
                    words[head + INDEX] = index_known | found
                else:
                    words[head + KEY] = key_known | found
                    if is_all:
                        words[head + INDEX] = np.uint64(n)
                left = 0
            begin += here[d]
        ints[2 * (head + DONE) + 1] = 0


@lw.jit
def collect(bits, n, k, kind, sign, infinity, flip, stride, words, ints, keys, places):
    """What is not behind the last element that is taken: k elements of each line."""
    line = cuda.blockIdx.y
    head = line * stride
    last_key, last_index = words[head + KEY], np.int64(words[head + INDEX])
    for i in range(cuda.blockIdx.x * BLOCK + cuda.threadIdx.x, n, BLOCK * cuda.gridDim.x):
        key = key_of(bits[line * n + i], kind, sign, infinity, flip)
        if key < last_key or (key == last_key and i <= last_index):
            at = cuda.atomic.add(ints, 2 * (head + TAKEN), 1)
            if at < k:
                keys[line * k + at] = key
                places[line * k + at] = i


@lw.jit
def arrange(bits, n, count, k, kind, sign, infinity, flip, keys, places, out, out_places):
    """The k least of `count` elements of each line, in order. keys, places: those collected, or empty for the line itself."""
    own = cuda.shared.array(0, np.uint64)  # keys, then indices: as large as the launch says
    t, line = cuda.threadIdx.x, cuda.blockIdx.x
    size = 2
    while size < count:
        size *= 2
    for i in range(t, size, cuda.blockDim.x):
        if i >= count:
            own[i], own[size + i] = ~np.uint64(0), np.uint64(n)
        elif keys.size:
            own[i], own[size + i] = keys[line * count + i], np.uint64(places[line * count + i])
        else:
            own[i], own[size + i] = key_of(bits[line * n + i], kind, sign, infinity, flip), np.uint64(i)
    cuda.syncthreads()
    run = 2
    while run <= size:
        step = run // 2
        while step > 0:
            for pair in range(t, size // 2, cuda.blockDim.x):
                i = 2 * pair - (pair & (step - 1))
                j = i + step
                is_behind = own[i] > own[j] or (own[i] == own[j] and own[size + i] > own[size + j])
                if is_behind == ((i & run) == 0):
                    own[i], own[j] = own[j], own[i]
                    own[size + i], own[size + j] = own[size + j], own[size + i]
            cuda.syncthreads()
            step //= 2
        run *= 2
    for i in range(t, k, cuda.blockDim.x):
        at = np.int64(own[size + i])
        out_places[line * k + i] = at
        out[line * k + i] = bits[line * n + at]
