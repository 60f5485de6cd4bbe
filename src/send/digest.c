// SPDX-License-Identifier: Apache-2.0
#include "send/digest.h"

#include <errno.h>
#include <gnutls/crypto.h>
#include <gnutls/gnutls.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/text.h"

enum {
	SHA256_BYTES = 32,
	MD5_BYTES = 16,
	PIECE = 64 << 10,
};

int digest_begin(struct digest_sums *sums)
{
	gnutls_hash_hd_t sha256 = NULL, md5 = NULL;

	*sums = (struct digest_sums){0};
	if (gnutls_hash_init(&sha256, GNUTLS_DIG_SHA256))
		return -ENOMEM;
	sums->sha256 = sha256;
	/* where a system's policy forbids it, the server's ETag is not looked at */
	if (!gnutls_hash_init(&md5, GNUTLS_DIG_MD5))
		sums->md5 = md5;
	return 0;
}

int digest_add(struct digest_sums *sums, const void *bytes, size_t size)
{
	sums->size += size;
	if (gnutls_hash(sums->sha256, bytes, size) ||
	    (sums->md5 && gnutls_hash(sums->md5, bytes, size)))
		return -ENOMEM;
	return 0;
}

/* Four characters for each three bytes, and what is left. */
static void put_base64(char *to, size_t size, const uint8_t *bytes, size_t count)
{
	const gnutls_datum_t from = {(unsigned char *)bytes, (unsigned int)count};
	gnutls_datum_t encoded = {0};

	*to = 0;
	if (gnutls_base64_encode2(&from, &encoded))
		return;
	snprintf(to, size, "%.*s", (int)encoded.size, (const char *)encoded.data);
	gnutls_free(encoded.data);
}

void digest_end(struct digest_sums *sums, struct digest *digest)
{
	uint8_t sha256[SHA256_BYTES] = {0}, md5[MD5_BYTES] = {0};

	if (sums->sha256)
		gnutls_hash_deinit(sums->sha256, sha256);
	if (sums->md5)
		gnutls_hash_deinit(sums->md5, md5);
	if (digest) {
		*digest = (struct digest){.size = sums->size};
		text_hex(digest->sha256, sizeof(digest->sha256), sha256, sizeof(sha256));
	}
	if (digest && sums->md5) {
		text_hex(digest->md5, sizeof(digest->md5), md5, sizeof(md5));
		put_base64(digest->md5_base64, sizeof(digest->md5_base64), md5, sizeof(md5));
	}
	*sums = (struct digest_sums){0};
}

int digest_file(int fd, struct digest *digest)
{
	struct digest_sums sums;
	char piece[PIECE];
	ssize_t count = 0;
	int err = digest_begin(&sums);

	while (!err && (count = pread(fd, piece, sizeof(piece), (off_t)sums.size)) > 0)
		err = digest_add(&sums, piece, (size_t)count);
	if (!err && count < 0)
		err = -errno;
	digest_end(&sums, digest);
	return err;
}
