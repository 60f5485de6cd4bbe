/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SEND_DIGEST_H
#define SEND_DIGEST_H

#include <stddef.h>
#include <stdint.h>

/* The checksums that object storage asks for. */
struct digest {
	uint64_t size;	 /* of what they are of */
	char sha256[65]; /* in hexadecimal digits */
	char md5[33];	 /* in hexadecimal digits, as an ETag has it; "": this library has none */
	char md5_base64[25];
};

/* Of bytes that come in pieces. All zero is empty; digest_end() frees it. */
struct digest_sums {
	void *sha256, *md5;
	uint64_t size;
};
/* 0 or -ENOMEM */
int digest_begin(struct digest_sums *sums);
int digest_add(struct digest_sums *sums, const void *bytes, size_t size);
/* Null: just frees it. */
void digest_end(struct digest_sums *sums, struct digest *digest);

/* Of all of an open file; 0 or a negative errno. */
int digest_file(int fd, struct digest *digest);

#endif
