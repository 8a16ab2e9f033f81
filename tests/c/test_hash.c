/* SHA-256 against the examples of FIPS 180-4 (NIST, "Example Values", 2015) and itself in
 * pieces. */
#include "core/base/hash.h"

#include <stdio.h>
#include <string.h>

static int n_failed;

static void
expect(const void *data, size_t n, size_t piece, const char *hex)
{
    lw_sha256 sha;
    lw_digest digest;
    char got[65];

    lw_sha256_init(&sha);
    for (size_t at = 0; at < n; at += piece)
        lw_sha256_add(&sha, (const char *)data + at, n - at < piece ? n - at : piece);
    digest = lw_sha256_finish(&sha);
    lw_digest_hex(&digest, got);
    if (strcmp(got, hex) != 0) {
        fprintf(stderr, "%zu bytes by %zu: %s, expected %s\n", n, piece, got, hex);
        n_failed++;
    }
}

int
main(void)
{
    static char million[1000000];
    static const char *const two = "abcdbcdecdefdefgefghfghighijhijkijkljklmklmnlmnomnopnopq";
    static const size_t pieces[] = {1, 7, 63, 64, 65, 1000, 1000000};

    memset(million, 'a', sizeof million);
    expect("", 0, 1, "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855");
    expect("abc", 3, 3, "ba7816bf8f01cfea414140de5dae2223b00361a396177a9cb410ff61f20015ad");
    expect(two, 56, 5, "248d6a61d20638b8e5c026930c3e6039a33ce45964ff2167f6ecedd419db06c1");
    for (size_t i = 0; i < sizeof pieces / sizeof *pieces; i++)
        expect(million, sizeof million, pieces[i],
               "cdc76e5c9914fb9281a1c7e284d73e67f1809a48a497200e046d39ccc7112cd0");
    return n_failed != 0;
}
