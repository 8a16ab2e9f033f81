"""Kernels of `lanewise/_topk.py`: the least elements of each of several lines, in order.

An element is known by its key, an unsigned number in the order that is asked for, and by its index in the line: no two are equal.

Few elements are taken by blocks, or warps, each of which has a part of a line (`kernel_of`). Its threads divide it into groups, each of which has a
least element. The k-th least of these cannot precede the k-th least element of the part, so a second pass collects in shared memory only what
does not come behind it: few more than k elements, unless a few groups have most of the best. When there is no room for more, those collected are
sorted, and the k-th of them is the new bound. The elements of all parts of a line are a line of their own, from which the same kernel takes its result.

More elements are taken by a radix select. Passes over all elements (`narrow`) find the key and the index of the last element that is taken, 11 bits at
a time: each counts the next bits of those elements that agree with what is known, and the block that finishes last finds the bits of the element that
is wanted (Alabi, Blanchard, Gordon and Steinbach, "Fast k-selection algorithms for graphics processing units", 2012). `collect` takes what is not
behind that element, in any order, and `arrange` sorts what was taken, in shared memory.
"""

import functools

import numpy as np

import lanewise as lw
from lanewise import cuda

#: What a key is made of: how the bits of an element become an unsigned number.
UNSIGNED, SIGNED, FLOAT, TIME = range(4)


def key_of(x, kind, sign, infinity, flip):
    """All but `kind` are unsigned numbers of the same size. sign: the highest bit of an element; flip: all bits, for the largest elements, or none."""
    key = x
    if kind == FLOAT:
        magnitude = x & (sign - 1)
        key = sign if magnitude == 0 else x ^ (sign | (sign - 1)) if x >= sign else x | sign
        key = sign | (sign - 1) if magnitude > infinity else key  # NaN, whichever: the largest
    elif kind == SIGNED:
        key = x ^ sign
    elif kind == TIME:
        key = (x ^ sign) - 1  # NaT, the least integer: the largest
    return key ^ flip


# ---- few elements ----

FEW = 64  # elements that a warp takes from a line
SOME = 256  # elements that a block takes from a line: more of them would be sorted too often
THREADS_OF_SOME = 256  # of such a block


@functools.cache
def kernel_of(KIND, IS_WIDE, THREADS, GROUPS, TIMES, PIECES, ROOM, LINES):
    """A kernel for so many threads of each line, and LINES lines of each block.

    IS_WIDE: keys have 64 bits, not fewer. GROUPS: of each thread. TIMES: elements that a thread loads at once. PIECES: how often, before it is
    seen whether there is room for what was found. ROOM: elements of a line that shared memory holds."""
    BY_WARP = THREADS == 32
    RANKED = min(THREADS, 256)  # elements that are sorted by counting those before each
    assert TIMES % GROUPS == 0 and ROOM >= GROUPS * THREADS and ROOM >= THREADS + (FEW if BY_WARP else SOME)

    @lw.jit
    def meet():
        if BY_WARP:
            cuda.syncwarp()
        else:
            cuda.syncthreads()

    @lw.jit
    def meet_within(reach):
        """After threads have exchanged elements at most so far from each other; those of 64 neighbours belong to a warp."""
        if reach > 64:
            meet()
        else:
            cuda.syncwarp()

    @lw.jit
    def some(is_one):
        if BY_WARP:
            return cuda.any_sync(0xFFFFFFFF, is_one)
        return cuda.syncthreads_or(is_one) != 0

    # Shared memory holds a key and an index in one number, or in two if keys are wide.

    @lw.jit
    def put(keys, places, at, key, place):
        if IS_WIDE:
            keys[at], places[at] = np.uint64(key), place
        else:
            keys[at] = np.uint64(key) << np.uint64(32) | np.uint64(place)

    @lw.jit
    def place_at(keys, places, at):
        return places[at] if IS_WIDE else np.uint32(keys[at])

    @lw.jit
    def key_at(keys, at):
        return keys[at] if IS_WIDE else keys[at] >> np.uint64(32)

    @lw.jit
    def order(keys, places, i, j):
        """Puts the lesser one of two elements first."""
        a, b = keys[i], keys[j]
        if not IS_WIDE:
            keys[i], keys[j] = min(a, b), max(a, b)
        elif a > b or (a == b and places[i] > places[j]):
            keys[i], keys[j] = b, a
            places[i], places[j] = places[j], places[i]

    @lw.jit
    def rank(keys, places, begin, count, t):
        """Sorts at most RANKED elements, no two of which are equal."""
        before, key, place = np.uint32(0), np.uint64(0), np.uint32(0)
        if t < count:
            key, place = keys[begin + t], places[begin + t] if IS_WIDE else np.uint32(0)
            i = begin
            while i < begin + count:
                before += np.uint32(keys[i] < key or (IS_WIDE and keys[i] == key and places[i] < place))
                i += np.uint32(1)
        meet()
        if t < count:
            keys[begin + before] = key
            if IS_WIDE:
                places[begin + before] = place
        meet()

    @lw.jit
    def sort(keys, places, begin, count, t):
        """Sorts `count` elements from `begin` on. A bitonic network whose comparisons all have the lesser element first (Batcher, "Sorting networks
        and their applications", 1968): what would lie behind the last element never moves."""
        if count <= RANKED:
            rank(keys, places, begin, count, t)
            return
        half = np.uint32(1)
        while half + half < count:
            half += half
        reach = np.uint32(1)  # half of what is sorted: elements that many steps apart are compared
        while reach <= half:
            pair = t
            while pair < half:
                i = pair + pair - (pair & (reach - np.uint32(1)))
                j = i ^ (reach + reach - np.uint32(1))
                if j < count:
                    order(keys, places, begin + i, begin + j)
                pair += np.uint32(THREADS)
            meet_within(reach + reach)
            step = reach >> np.uint32(1)
            while step > 0:
                pair = t
                while pair < half:
                    i = pair + pair - (pair & (step - np.uint32(1)))
                    if i + step < count:
                        order(keys, places, begin + i, begin + i + step)
                    pair += np.uint32(THREADS)
                meet_within(step + step)
                step >>= np.uint32(1)
            reach += reach
            meet_within(reach + reach)

    @lw.jit
    def last_of(keys, places, begin, count, k, t):
        """Sorts what has been collected, and gives the key and the index of the k-th."""
        sort(keys, places, begin, count, t)
        return key_at(keys, begin + np.uint32(k - 1)), place_at(keys, places, begin + np.uint32(k - 1))

    @lw.jit
    def offer(keys, places, begin, counts, own, key, place, end, bound, bound_at):
        """Collects an element that is not behind the bound, if there is room; counts it in any case."""
        if (place < end) & ((key < bound) | ((key == bound) & (place <= bound_at))):
            at = np.uint32(cuda.atomic.add(counts, own, 1))
            if at < ROOM:
                put(keys, places, begin + at, key, place)

    @lw.jit
    def least(bits, indices, origin, origin_n, n, per, k, lines, every, sign, infinity, flip, out, out_indices):
        """The k least elements of each part of `per` elements of each line. indices: those in `origin`, of whose elements `bits` are keys, or empty if
        `bits` are themselves those elements. every: the groups have each so many-th run of as many elements as there are threads. out: the elements, or their
        keys if lines have several parts."""
        keys, places = cuda.shared.array(LINES * ROOM, np.uint64), cuda.shared.array(LINES * ROOM if IS_WIDE else 1, np.uint32)
        counts = cuda.shared.array(LINES, np.int32)
        own, t = np.uint32(cuda.threadIdx.x) // np.uint32(THREADS), np.uint32(cuda.threadIdx.x) % np.uint32(THREADS)
        line, part = cuda.blockIdx.x * LINES + np.int64(own), cuda.blockIdx.y
        if line >= lines:
            return
        here, first = own * np.uint32(ROOM), np.uint64(line) * np.uint64(n)
        begin, end = np.uint32(part * per), np.uint32(min(part * per + per, n))
        behind_all, nowhere = sign | (sign - 1), np.uint32(n)
        bound, bound_at = behind_all, nowhere

        if end - begin > GROUPS * THREADS and 4 * k <= GROUPS * THREADS or end - begin > ROOM:
            best, best_at = cuda.local.array(GROUPS, bits.dtype), cuda.local.array(GROUPS, np.uint32)
            for group in range(GROUPS):
                best[group], best_at[group] = behind_all, nowhere + np.uint32(group * THREADS) + t  # so that no two are equal
            for base in range(begin, end, TIMES * THREADS * every):
                for u in range(TIMES):
                    i = np.uint32(base + u * every * THREADS + t)
                    key = key_of(bits[first + min(i, end - 1)], KIND, sign, infinity, flip)
                    key = key if i < end else behind_all
                    if key < best[u % GROUPS]:
                        best[u % GROUPS], best_at[u % GROUPS] = key, i
            for group in range(GROUPS):
                put(keys, places, here + group * THREADS + t, best[group], best_at[group])
            meet()
            size = np.uint32(GROUPS * THREADS)
            while size >= 4 * k and size > 32:
                size >>= np.uint32(1)
                if t < size:
                    order(keys, places, here + t, here + t + size)
                meet()
            if k <= size:
                last, bound_at = last_of(keys, places, here, size, k, t)
                bound = bits.dtype.type(last)
                meet()

        if t == 0:
            counts[own] = 0
        meet()
        before, loaded = np.uint32(0), cuda.local.array(TIMES, bits.dtype)
        for base in range(begin, end, PIECES * TIMES * THREADS):
            for piece in range(PIECES):
                for u in range(TIMES):
                    i = np.uint32(base + (piece * TIMES + u) * THREADS + t)
                    loaded[u] = bits[first + min(i, end - 1)]
                for u in range(TIMES):
                    i = np.uint32(base + (piece * TIMES + u) * THREADS + t)
                    offer(keys, places, here, counts, own, key_of(loaded[u], KIND, sign, infinity, flip), i, end, bound, bound_at)
            meet()
            count = np.uint32(counts[own])
            meet()
            if count > ROOM:
                # once more, and what there is no room for later
                if t == 0:
                    counts[own] = before
                meet()
                count = before
                for u in range(PIECES * TIMES):
                    if count > ROOM - THREADS:
                        last, bound_at = last_of(keys, places, here, count, k, t)
                        bound = bits.dtype.type(last)
                        if t == 0:
                            counts[own] = k
                        meet()
                    i = np.uint32(base + u * THREADS + t)
                    offer(keys, places, here, counts, own, key_of(bits[first + min(i, end - 1)], KIND, sign, infinity, flip), i, end, bound, bound_at)
                    meet()
                    count = np.uint32(counts[own])
                    meet()
            before = count
        count = before
        sort(keys, places, here, count, t)

        to = (line * cuda.gridDim.y + part) * k
        for i in range(t, k, THREADS):
            index = np.int64(place_at(keys, places, here + np.uint32(i))) if i < count else origin_n
            if indices.size and i < count:
                index = indices[np.int64(first) + index]
            out_indices[to + i] = index
            if cuda.gridDim.y == 1:
                out[to + i] = origin[line * origin_n + index]
            else:
                out[to + i] = bits.dtype.type(key_at(keys, here + np.uint32(i))) if i < count else behind_all

    return least


def by_block(kind, itemsize):
    """Blocks take at most SOME elements of a line."""
    return kernel_of(kind, itemsize == 8, THREADS_OF_SOME, 4, 8, 4, 2048, 1)


def by_warp(kind, itemsize):
    """Blocks of 8 warps take at most FEW elements of 8 lines."""
    return kernel_of(kind, itemsize == 8, 32, 2, 4, 1, 256, 8)


# ---- short lines ----

MOST_LANES = 32  # elements of a line that neighbouring threads of a warp have


@functools.cache
def of_short(KIND, LANES):
    """A kernel for lines of at most LANES elements, a power of two, each of which is one thread's: it counts those before it."""

    @lw.jit
    def short(bits, n, k, lines, sign, infinity, flip, out, out_places):
        at = cuda.grid(1)
        line, lane = at // LANES, np.uint32(at % LANES)
        is_one = (line < lines) & (lane < n)
        x = bits[line * n + lane if is_one else 0]
        key = key_of(x, KIND, sign, infinity, flip) if is_one else sign | (sign - 1)  # which none comes behind, and no line begins with
        before = np.uint32(0)
        for apart in range(1, LANES):
            other = cuda.shfl_xor_sync(0xFFFFFFFF, key, apart)
            before += np.uint32((other < key) | ((other == key) & ((lane ^ np.uint32(apart)) < lane)))
        if is_one & (before < k):
            out[line * k + before] = x
            out_places[line * k + before] = np.int64(lane)

    return short


# ---- more elements ----

BLOCK = 1024  # threads: two blocks for each processor read as fast as the memory gives, and add few counts to those of all
BITS = 11  # of a pass: 2,048 counts take 8 KiB of shared memory, and keys of 32 bits three passes
DIGITS = 1 << BITS
MOST = 2048  # elements that a block sorts: their keys and indices take 32 KiB of shared memory, of 48 that every GPU has

# A line's words of 64 bits: what is known of the last element that is taken, and how many are taken of those that agree with
# it. Then pairs of 32 bits: whether all is known and how many blocks are done; how many elements have been collected. Then
# the counts, if they are those of several blocks.
KEY, INDEX, LEFT, DONE, TAKEN, HEAD = 0, 1, 2, 3, 4, 8
WORDS = HEAD + DIGITS // 2


@lw.jit
def wide_key_of(x, kind, sign, infinity, flip):
    return key_of(np.uint64(x), kind, np.uint64(sign), np.uint64(infinity), np.uint64(flip))


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
        key = wide_key_of(bits[line * n + i], kind, sign, infinity, flip)
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
        key = wide_key_of(bits[line * n + i], kind, sign, infinity, flip)
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
            own[i], own[size + i] = wide_key_of(bits[line * n + i], kind, sign, infinity, flip), np.uint64(i)
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
