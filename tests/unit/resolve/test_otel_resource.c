// SPDX-License-Identifier: Apache-2.0
/* A process context as an SDK publishes it, right and wrong: this process is the program. */
#include "../prelude.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/protobuf.h"
#include "resolve/otel_resource.h"

enum {
	MAPPED = 8192,
};

/* As OTEP 4719 has it. */
struct published {
	char signature[8];
	uint32_t version, size;
	uint64_t published, payload;
	uint8_t rest[];
};

static void put_attribute(struct buf *resource, const char *key, const void *value, size_t size)
{
	struct buf attribute = {0}, any = {0};

	proto_bytes(&any, 1, value, size);
	proto_text(&attribute, 1, key);
	proto_message(&attribute, 2, &any);
	proto_message(resource, 1, &attribute);
	buf_free(&attribute);
	buf_free(&any);
}

/* The message of a program with these attributes, and others that are left out. */
static struct buf make_payload(void)
{
	struct buf payload = {0}, resource = {0}, number = {0}, attribute = {0};
	char letters[FILM_LABEL_VALUE_MAX + 1];

	memset(letters, 'x', sizeof(letters));
	put_attribute(&resource, "service.version", "1,2", 3);
	put_attribute(&resource, "service.name", "check\nout", 9);
	put_attribute(&resource, "service.name", letters, sizeof(letters));
	put_attribute(&resource, "service.name", "checkout", 8);
	put_attribute(&resource, "service.instance.id", "7", 1);
	put_attribute(&resource, "", "", 0);
	put_attribute(&resource, "service.namespace", "shop", 4);
	put_attribute(&resource, "deployment.environment.name", "prod", 4);
	/* a number is not a text */
	proto_number(&number, 3, 5);
	proto_text(&attribute, 1, "service.version");
	proto_message(&attribute, 2, &number);
	proto_message(&resource, 1, &attribute);
	proto_message(&payload, 1, &resource);
	buf_free(&resource);
	buf_free(&number);
	buf_free(&attribute);
	assert_false(payload.failed);
	return payload;
}

#define SAID "deployment.environment.name=prod,service.name=checkout,service.namespace=shop"

static struct published *map_context(void)
{
	int fd = memfd_create("OTEL_CTX", MFD_CLOEXEC);
	struct published *context;

	assert_true(fd >= 0);
	assert_int_equal(ftruncate(fd, MAPPED), 0);
	context = mmap(NULL, MAPPED, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	assert_ptr_not_equal(context, MAP_FAILED);
	return context;
}

static int read_own(char text[OTEL_RESOURCE_SIZE])
{
	const struct process self = {.pid = getpid()};

	return otel_resource_read(&self, text);
}

static void publish(struct published *context, const struct buf *payload, void *to)
{
	memcpy(to, payload->at, payload->count);
	context->version = 2;
	context->size = (uint32_t)payload->count;
	context->published = 1;
	context->payload = (uint64_t)(uintptr_t)to;
	memcpy(context->signature, "OTEL_CTX", 8);
}

static void test_published(void **state)
{
	struct buf payload = make_payload();
	char text[OTEL_RESOURCE_SIZE], *elsewhere = malloc(payload.count);
	struct published *context;

	(void)state;
	assert_int_equal(read_own(text), -ENOENT);
	context = map_context();
	/* its program has not written it yet */
	assert_int_equal(read_own(text), -ENOENT);
	publish(context, &payload, context->rest);
	assert_int_equal(read_own(text), 0);
	assert_string_equal(text, SAID);
	publish(context, &payload, elsewhere);
	assert_int_equal(read_own(text), 0);
	assert_string_equal(text, SAID);
	munmap(context, MAPPED);
	assert_int_equal(read_own(text), -ENOENT);
	free(elsewhere);
	buf_free(&payload);
}

static void test_wrong(void **state)
{
	struct buf payload = make_payload();
	struct published *context = map_context(), right;
	char text[OTEL_RESOURCE_SIZE];

	(void)state;
	publish(context, &payload, context->rest);
	right = *context;
	context->version = 1;
	assert_int_equal(read_own(text), -EBADMSG);
	*context = right;
	context->signature[7] = 'Y';
	assert_int_equal(read_own(text), -EBADMSG);
	*context = right;
	context->published = 0;
	assert_int_equal(read_own(text), -EAGAIN);
	*context = right;
	context->size = 0;
	assert_int_equal(read_own(text), -EBADMSG);
	context->size = UINT32_MAX;
	assert_int_equal(read_own(text), -EBADMSG);
	/* beyond the end of its mapping */
	context->size = MAPPED;
	assert_int_equal(read_own(text), -EBADMSG);
	*context = right;
	/* nothing is there, and nothing can be */
	context->payload = 8;
	assert_int_equal(read_own(text), -EBADMSG);
	context->payload = UINT64_MAX;
	assert_int_equal(read_own(text), -EBADMSG);
	*context = right;
	assert_int_equal(read_own(text), 0);
	assert_string_equal(text, SAID);
	munmap(context, MAPPED);
	buf_free(&payload);
}

static void test_any_message(void **state)
{
	struct buf payload = make_payload();
	char text[OTEL_RESOURCE_SIZE];

	(void)state;
	assert_int_equal(otel_resource_parse("", 0, text), -EBADMSG);
	/* cut anywhere, and with any byte changed: no more than what was said, or nothing */
	for (size_t i = 0; i < payload.count; i++) {
		uint8_t *copy = malloc(i + 1);

		memcpy(copy, payload.at, i);
		if (!otel_resource_parse(copy, i, text))
			assert_true(strlen(text) <= strlen(SAID));
		free(copy);
		payload.at[i] ^= 0xff;
		otel_resource_parse(payload.at, payload.count, text);
		assert_true(strlen(text) < OTEL_RESOURCE_SIZE);
		payload.at[i] ^= 0xff;
	}
	assert_int_equal(otel_resource_parse(payload.at, payload.count, text), 0);
	buf_free(&payload);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_published),
		cmocka_unit_test(test_wrong),
		cmocka_unit_test(test_any_message),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
