// SPDX-License-Identifier: Apache-2.0
/* What goes out compressed comes in again as it was. */
#include "../prelude.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "server/body.h"
#include "server/out.h"

static const char *const no_packing;

static void test_choice(void **state)
{
	(void)state;
	assert_int_equal(out_choose(NULL), OUT_PLAIN);
	assert_int_equal(out_choose(""), OUT_PLAIN);
	assert_int_equal(out_choose("gzip"), OUT_GZIP);
	assert_int_equal(out_choose("gzip, deflate, br, zstd"), OUT_ZSTD);
	assert_int_equal(out_choose("ZSTD ; q=0.1,gzip"), OUT_ZSTD);
	assert_int_equal(out_choose("zstd;q=0, gzip;q=0.001"), OUT_GZIP);
	assert_int_equal(out_choose("zstd;q=0.000,gzip;q=0"), OUT_PLAIN);
	assert_int_equal(out_choose("xgzip, gzipx, *"), OUT_PLAIN);
	assert_int_equal(out_choose(",,, ,gzip;q="), OUT_PLAIN);
	assert_int_equal(out_choose(";q=1,;;,\t gzip"), OUT_GZIP);
}

static void write_numbers(struct out *out, unsigned int count)
{
	for (unsigned int i = 0; i < count; i++)
		fprintf(out->file, "%u,", i * 7);
}

static uint64_t pack(enum out_coding coding, unsigned int count, struct out *out)
{
	assert_int_equal(out_open(out, coding, &no_packing), 0);
	write_numbers(out, count);
	assert_int_equal(out_finish(out), 0);
	return out->hash;
}

static void unpack(const struct out *packed, const char *encoding, const char *path,
		   const struct out *plain)
{
	struct body body;
	struct buf back = {0};

	assert_int_equal(body_open(&body, path, plain->bytes.count + 1000, NULL), 0);
	for (size_t i = 0; i < packed->bytes.count; i += 1000)
		body_add(&body, packed->bytes.at + i,
			 packed->bytes.count - i < 1000 ? packed->bytes.count - i : 1000);
	assert_int_equal(body_finish(&body, encoding, NULL), 0);
	assert_int_equal(body.count, plain->bytes.count);
	if (path) {
		uint8_t *bytes = malloc(plain->bytes.count + 1);

		assert_int_equal(pread(body.fd, bytes, plain->bytes.count + 1, 0),
				 plain->bytes.count);
		buf_put(&back, bytes, plain->bytes.count);
		free(bytes);
		assert_int_equal(access(path, F_OK), 0);
	} else {
		buf_put(&back, body.bytes.at, body.bytes.count);
	}
	assert_memory_equal(back.at, plain->bytes.at, plain->bytes.count);
	buf_free(&back);
	body_close(&body);
	if (path)
		assert_int_equal(access(path, F_OK), -1);
}

static void test_there_and_back(void **state)
{
	static const unsigned int counts[] = {1, 1000, 200000};

	(void)state;
	for (size_t i = 0; i < 3; i++) {
		struct out plain, gzip, zstd;
		uint64_t hash = pack(OUT_PLAIN, counts[i], &plain);

		assert_int_equal(pack(OUT_GZIP, counts[i], &gzip), hash);
		assert_int_equal(pack(OUT_ZSTD, counts[i], &zstd), hash);
		unpack(&plain, NULL, NULL, &plain);
		unpack(&gzip, "gzip", NULL, &plain);
		unpack(&zstd, "ZSTD", NULL, &plain);
		unpack(&gzip, "x-gzip", "/tmp/stackcam-test-body", &plain);
		unpack(&zstd, "zstd", "/tmp/stackcam-test-body", &plain);
		unpack(&plain, "identity", "/tmp/stackcam-test-body", &plain);
		out_close(&plain);
		out_close(&gzip);
		out_close(&zstd);
	}
}

static int take(const struct buf *bytes, size_t count, const char *encoding, uint64_t max)
{
	struct fail why = {0};
	struct body body;
	int err;

	assert_int_equal(body_open(&body, NULL, max, NULL), 0);
	body_add(&body, bytes->at, count);
	err = body_finish(&body, encoding, &why);
	assert_int_equal(why.err, err);
	body_close(&body);
	return err;
}

static void test_damaged(void **state)
{
	static const char *const encodings[] = {"gzip", "zstd"};

	(void)state;
	for (int i = 0; i < 2; i++) {
		struct out out;

		pack(i ? OUT_ZSTD : OUT_GZIP, 30000, &out);
		assert_int_equal(take(&out.bytes, out.bytes.count, encodings[i], 1 << 20), 0);
		/* cut, too large, the other kind, nothing */
		assert_int_equal(take(&out.bytes, out.bytes.count - 1, encodings[i], 1 << 20),
				 -EBADMSG);
		assert_int_equal(take(&out.bytes, 1, encodings[i], 1 << 20), -EBADMSG);
		assert_int_equal(take(&out.bytes, out.bytes.count, encodings[i], out.count - 1),
				 -E2BIG);
		assert_int_equal(take(&out.bytes, out.bytes.count, encodings[i], 100), -E2BIG);
		assert_int_equal(take(&out.bytes, out.bytes.count, encodings[!i], 1 << 20),
				 -EBADMSG);
		assert_int_equal(take(&out.bytes, out.bytes.count, "br", 1 << 20), -EOPNOTSUPP);
		assert_int_equal(take(&out.bytes, 0, encodings[i], 1 << 20), -EBADMSG);
		out.bytes.at[out.bytes.count / 2] ^= 0x55;
		out.bytes.at[out.bytes.count / 2 + 1] ^= 0xaa;
		(void)take(&out.bytes, out.bytes.count, encodings[i], 1 << 20);
		out_close(&out);
	}
}

/* Films are of whole pages, and so often of just as many bytes as come out of a decoder at once. */
static void test_round_sizes(void **state)
{
	static const char *const encodings[] = {"gzip", "zstd"};
	static uint8_t page[4096];

	(void)state;
	for (size_t i = 0; i < sizeof(page); i++)
		page[i] = (uint8_t)(i * i >> 3);
	for (size_t pages = 1; pages <= 96; pages++) {
		for (int i = 0; i < 2; i++) {
			struct out out;

			assert_int_equal(out_open(&out, i ? OUT_ZSTD : OUT_GZIP, &no_packing), 0);
			for (size_t j = 0; j < pages; j++)
				fwrite(page, 1, sizeof(page), out.file);
			assert_int_equal(out_finish(&out), 0);
			assert_int_equal(take(&out.bytes, out.bytes.count, encodings[i], 1 << 20),
					 0);
			out_close(&out);
		}
	}
}

static void test_packed_already(void **state)
{
	const char *packed = NULL;
	struct out out;

	(void)state;
	assert_int_equal(out_open(&out, OUT_GZIP, &packed), 0);
	packed = "";
	fputs("as it is", out.file);
	assert_int_equal(out_finish(&out), 0);
	assert_int_equal(out.bytes.count, 8);
	assert_null(out_coding_name(out.coding));
	out_close(&out);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_choice),	       cmocka_unit_test(test_there_and_back),
		cmocka_unit_test(test_damaged),	       cmocka_unit_test(test_round_sizes),
		cmocka_unit_test(test_packed_already),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
