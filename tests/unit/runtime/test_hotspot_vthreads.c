// SPDX-License-Identifier: Apache-2.0
/* What runs virtual threads, from the code around ContinuationEntry::_return_pc. */
#include "../prelude.h"

#include <errno.h>
#include <string.h>

#include "runtime/hotspot/hotspot.h"

#define BASE 0x7f0000000000ull

/* Where things are, from BASE on. */
enum {
	RETURN_VAR = 0x8,
	CODE = 0x100,
	RETURN_PC = CODE + 20,
	OWNER_ID = 1312,
};

/* As JDK 25 makes it. */
static const uint8_t code[] = {
	0xe8, 1,    2, 3, 4, 0x0f, 0x1f, 0x84, 0,    5, 6, 7, 8, 0xeb,
	13,   0xe8, 1, 2, 3, 4,	   0x0f, 0x1f, 0x84, 0, 5, 6, 7, 8,
};

struct jvm {
	uint8_t bytes[512];
	struct hotspot hotspot;
	struct runtime_at at;
};

static int read_memory(void *context, void *to, size_t size, uint64_t address)
{
	const struct jvm *jvm = context;

	if (address < BASE || address - BASE > sizeof(jvm->bytes) ||
	    size > sizeof(jvm->bytes) - (address - BASE))
		return -EFAULT;
	memcpy(to, jvm->bytes + (address - BASE), size);
	return 0;
}

static void make(struct jvm *jvm, uint64_t return_pc)
{
	memset(jvm, 0, sizeof(*jvm));
	memset(jvm->hotspot.facts, 0xff, sizeof(jvm->hotspot.facts));
	jvm->at.memory = (struct runtime_memory){read_memory, jvm};
	jvm->hotspot.version = 25;
	jvm->hotspot.facts[HOTSPOT_THREAD_OWNER_ID] = OWNER_ID;
	jvm->hotspot.facts[HOTSPOT_ENTRY_RETURN] = BASE + RETURN_VAR;
	memcpy(jvm->bytes + RETURN_VAR, &return_pc, sizeof(return_pc));
	memcpy(jvm->bytes + CODE, code, sizeof(code));
}

static int look(struct jvm *jvm, struct vthreads_process *process, struct fail *why)
{
	*why = (struct fail){0};
	return hotspot_vthreads(&jvm->at, &jvm->hotspot, 0x468, process, why);
}

static void the_code_is_found(void **state)
{
	struct vthreads_process process;
	struct fail why;
	struct jvm jvm;

	(void)state;
	make(&jvm, BASE + RETURN_PC);
	assert_int_equal(look(&jvm, &process, &why), 0);
	assert_int_equal(process.first, BASE + CODE);
	assert_int_equal(process.end, BASE + CODE + sizeof(code));
	assert_int_equal(process.number, OWNER_ID);
	/* nothing is known of objects: none is read */
	assert_int_equal(process.object, 0);
	assert_int_equal(process.name, 0);
	assert_int_equal(process.state, 0);
}

static void without_virtual_threads_there_is_no_code(void **state)
{
	struct vthreads_process process;
	struct fail why;
	struct jvm jvm;

	(void)state;
	make(&jvm, 0);
	assert_int_equal(look(&jvm, &process, &why), -EAGAIN);
	make(&jvm, 8);
	assert_int_equal(look(&jvm, &process, &why), -ENOTSUP);
	make(&jvm, BASE + sizeof(jvm.bytes));
	assert_int_equal(look(&jvm, &process, &why), -ENOTSUP);
}

static void other_code_is_refused(void **state)
{
	static const uint8_t places[] = {0, 5, 8, 13, 14, 15, 20, 22};
	struct vthreads_process process;
	struct fail why;
	struct jvm jvm;

	(void)state;
	for (size_t i = 0; i < sizeof(places); i++) {
		make(&jvm, BASE + RETURN_PC);
		jvm.bytes[CODE + places[i]] ^= 0x10;
		assert_int_equal(look(&jvm, &process, &why), -ENOTSUP);
		assert_non_null(strstr(why.what, "code of JDK 25 that runs virtual threads"));
	}
}

static void older_ones_are_refused(void **state)
{
	struct vthreads_process process;
	struct fail why;
	struct jvm jvm;

	(void)state;
	make(&jvm, BASE + RETURN_PC);
	jvm.hotspot.version = 21;
	jvm.hotspot.facts[HOTSPOT_THREAD_OWNER_ID] = HOTSPOT_ABSENT;
	assert_int_equal(look(&jvm, &process, &why), -ENOTSUP);
	assert_string_equal(why.what, "JDK 21 is older than JDK 25");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_code_is_found),
		cmocka_unit_test(without_virtual_threads_there_is_no_code),
		cmocka_unit_test(other_code_is_refused),
		cmocka_unit_test(older_ones_are_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
