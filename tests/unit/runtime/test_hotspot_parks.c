// SPDX-License-Identifier: Apache-2.0
/* Where locks of java.util.concurrent have their owners, from the classes of a small JVM. */
#include "../prelude.h"

#include <errno.h>
#include <string.h>

#include "runtime/hotspot/hotspot.h"

#define MEMORY 0x10000
#define BASE   0x7f0000000000ull

/* Where things are, from BASE on. */
enum {
	FLAGS = 0x100,
	FLAG_COUNT = 0x1f0,
	FLAG_VALUES = 0x200,
	TEXTS = 0x400,
	OBJECT_VAR = 0x800,
	THREAD_VAR = 0x808,
	HEAP_VAR = 0x810,
	OOP_BASE_VAR = 0x818,
	OOP_SHIFT_VAR = 0x820,
	KLASS_BASE_VAR = 0x828,
	KLASS_SHIFT_VAR = 0x830,
	THREADS_VAR = 0x838,
	HEAP = 0x900,
	OBJECT_CLASS = 0x1000,
	THREAD_CLASS = 0x1100,
	LOCK_CLASS = 0x1200,
	OTHER_CLASS = 0x1300,
	SYNC_CLASS = 0x1400,
	POOL = 0x2000,
	SYMBOLS = 0x3000,
	FIELDS_OF_THREAD = 0x4000,
	FIELDS_OF_LOCK = 0x4400,
	LIST = 0x5000,
	ARRAY = 0x5100,
	JAVA_THREAD = 0x6000,
	HANDLE = 0x6100,
	THREAD_OBJECT = 0x7000,
};

/* Offsets in them. */
enum {
	NAME_AT = 0x18,
	SUPER_AT = 0x20,
	SUBCLASS_AT = 0x28,
	SIBLING_AT = 0x30,
	CONSTANTS_AT = 0x38,
	FIELDS_AT = 0x40,
	COUNT_AT = 0x48,
	POOL_SIZE = 0x40,
	BLOCKER = 0x50,
	STRUCTURE = 0x18,
	OWNER = 0x0c,
};

struct jvm {
	uint8_t bytes[MEMORY];
	struct hotspot hotspot;
	struct runtime_at at;
	uint32_t symbols, texts;
};

static int read_memory(void *context, void *to, size_t size, uint64_t address)
{
	const struct jvm *jvm = context;

	if (address < BASE || address - BASE > MEMORY || size > MEMORY - (address - BASE))
		return -EFAULT;
	memcpy(to, jvm->bytes + (address - BASE), size);
	return 0;
}

static void put(struct jvm *jvm, uint32_t at, uint64_t value, size_t size)
{
	memcpy(jvm->bytes + at, &value, size);
}

/* A symbol as in JDK 17: its length at 0, its text at 6. */
static uint64_t symbol(struct jvm *jvm, const char *name)
{
	uint32_t at = SYMBOLS + jvm->symbols;

	put(jvm, at, strlen(name), 2);
	memcpy(jvm->bytes + at + 6, name, strlen(name));
	jvm->symbols += 128;
	return BASE + at;
}

static void make_class(struct jvm *jvm, uint32_t at, const char *name, uint32_t super,
		       uint32_t sibling, uint32_t fields)
{
	put(jvm, at + NAME_AT, symbol(jvm, name), 8);
	put(jvm, at + SUPER_AT, super ? BASE + super : 0, 8);
	put(jvm, at + SIBLING_AT, sibling ? BASE + sibling : 0, 8);
	put(jvm, at + CONSTANTS_AT, BASE + POOL, 8);
	put(jvm, at + FIELDS_AT, fields ? BASE + fields : 0, 8);
}

static void make_flag(struct jvm *jvm, uint32_t number, const char *name, bool value)
{
	uint32_t at = FLAGS + number * 24, text = TEXTS + jvm->texts;

	strcpy((char *)jvm->bytes + text, name);
	jvm->texts += 64;
	put(jvm, at, BASE + FLAG_VALUES + number, 8);
	put(jvm, at + 8, BASE + text, 8);
	put(jvm, FLAG_VALUES + number, value, 1);
	put(jvm, FLAG_COUNT, number + 1, 8);
}

/* Names of the constants that fields have, by index. */
enum {
	NAME_OF_BLOCKER = 3,
	NAME_OF_STRUCTURE = 4,
	NAME_OF_OWNER = 5,
	NAME_OF_OTHER = 6,
};

struct field {
	uint32_t name, access, offset;
};

#define STATIC 0x8

static const struct field of_thread[] = {
	{NAME_OF_BLOCKER, STATIC, 0x99},
	{NAME_OF_OTHER, 2, 0x10},
	{NAME_OF_STRUCTURE, 2, STRUCTURE},
	{NAME_OF_BLOCKER, 0x40, BLOCKER},
};
static const struct field of_lock[] = {{NAME_OF_OWNER, 0x82, OWNER}};

static void put_array(struct jvm *jvm, uint32_t at, const struct field *fields, size_t count)
{
	put(jvm, at, count * 6, 4);
	for (size_t i = 0; i < count; i++) {
		const uint16_t numbers[] = {(uint16_t)fields[i].access,
					    (uint16_t)fields[i].name,
					    0,
					    0,
					    (uint16_t)(fields[i].offset << 2 | 1),
					    0};

		memcpy(jvm->bytes + at + 4 + i * sizeof(numbers), numbers, sizeof(numbers));
	}
}

/* All numbers here are below 191: one byte each, one more than the number. */
static void put_stream(struct jvm *jvm, uint32_t at, const struct field *fields, size_t count)
{
	uint8_t *to = jvm->bytes + at + 4, *from = to;

	*to++ = (uint8_t)(count + 1);
	*to++ = 1;
	for (size_t i = 0; i < count; i++) {
		bool more = fields[i].name == NAME_OF_OTHER;

		*to++ = (uint8_t)(fields[i].name + 1);
		*to++ = 1;
		*to++ = (uint8_t)(fields[i].offset + 1);
		*to++ = (uint8_t)(fields[i].access + 1);
		/* with a value, a generic signature and a group, each a number more */
		*to++ = more ? 0x15 + 1 : 1;
		for (int k = 0; more && k < 3; k++)
			*to++ = 100;
	}
	put(jvm, at, (uint64_t)(to - from), 4);
}

static void make(struct jvm *jvm, bool has_stream, const char *collector)
{
	uint64_t *facts = jvm->hotspot.facts;

	memset(jvm, 0, sizeof(*jvm));
	memset(facts, 0xff, sizeof(jvm->hotspot.facts));
	jvm->at.memory = (struct runtime_memory){read_memory, jvm};
	facts[HOTSPOT_SYMBOL_BODY] = 6;
	facts[HOTSPOT_SYMBOL_LENGTH] = 0;
	facts[HOTSPOT_CLASS_NAME] = NAME_AT;
	facts[HOTSPOT_CLASS_SUPER] = SUPER_AT;
	facts[HOTSPOT_CLASS_SUBCLASS] = SUBCLASS_AT;
	facts[HOTSPOT_CLASS_SIBLING] = SIBLING_AT;
	facts[HOTSPOT_CLASS_CONSTANTS] = CONSTANTS_AT;
	facts[has_stream ? HOTSPOT_CLASS_FIELD_STREAM : HOTSPOT_CLASS_FIELDS] = FIELDS_AT;
	if (!has_stream)
		facts[HOTSPOT_CLASS_FIELD_COUNT] = COUNT_AT;
	facts[HOTSPOT_SIZE_POOL] = POOL_SIZE;
	facts[HOTSPOT_SIZE_FLAG] = 24;
	facts[HOTSPOT_FLAG_ADDRESS] = 0;
	facts[HOTSPOT_FLAG_NAME] = 8;
	facts[HOTSPOT_FLAGS] = BASE + OBJECT_VAR + 0x80;
	facts[HOTSPOT_FLAG_COUNT] = BASE + FLAG_COUNT;
	facts[HOTSPOT_OBJECT_KLASS] = 8;
	facts[HOTSPOT_THREAD_OBJECT] = 0x28;
	facts[HOTSPOT_THREAD_OS] = 0x30;
	facts[HOTSPOT_OS_NUMBER] = 0x38;
	facts[HOTSPOT_COLLECTION_RUNS] = 0x40;
	facts[HOTSPOT_COLLECTIONS] = 0x50;
	facts[HOTSPOT_JAVA_LANG_OBJECT] = BASE + OBJECT_VAR;
	facts[HOTSPOT_JAVA_LANG_THREAD] = BASE + THREAD_VAR;
	facts[HOTSPOT_HEAP_OBJECTS] = BASE + HEAP_VAR;
	facts[HOTSPOT_OOP_BASE] = BASE + OOP_BASE_VAR;
	facts[HOTSPOT_OOP_SHIFT] = BASE + OOP_SHIFT_VAR;
	facts[HOTSPOT_KLASS_BASE] = BASE + KLASS_BASE_VAR;
	facts[HOTSPOT_KLASS_SHIFT] = BASE + KLASS_SHIFT_VAR;
	facts[HOTSPOT_THREADS] = BASE + THREADS_VAR;
	facts[HOTSPOT_THREADS_LENGTH] = 0;
	facts[HOTSPOT_THREADS_ARRAY] = 8;

	put(jvm, OBJECT_VAR + 0x80, BASE + FLAGS, 8);
	put(jvm, OBJECT_VAR, BASE + OBJECT_CLASS, 8);
	put(jvm, THREAD_VAR, BASE + THREAD_CLASS, 8);
	put(jvm, HEAP_VAR, BASE + HEAP, 8);
	put(jvm, OOP_BASE_VAR, BASE, 8);
	put(jvm, OOP_SHIFT_VAR, 3, 4);
	put(jvm, KLASS_BASE_VAR, BASE, 8);
	make_flag(jvm, 0, "UseCompressedOops", true);
	make_flag(jvm, 1, "UseCompressedClassPointers", true);
	make_flag(jvm, 2, "UseCompactObjectHeaders", false);
	make_flag(jvm, 3, "PrintFlagsFinal", true);
	make_flag(jvm, 4, collector, true);

	make_class(jvm, OBJECT_CLASS, "java/lang/Object", 0, 0, 0);
	make_class(jvm, THREAD_CLASS, "java/lang/Thread", OBJECT_CLASS, LOCK_CLASS,
		   FIELDS_OF_THREAD);
	make_class(jvm, OTHER_CLASS, "java/lang/Other", OBJECT_CLASS, THREAD_CLASS, 0);
	make_class(jvm, LOCK_CLASS, "java/util/concurrent/locks/AbstractOwnableSynchronizer",
		   OBJECT_CLASS, 0, FIELDS_OF_LOCK);
	make_class(jvm, SYNC_CLASS, "Sync", LOCK_CLASS, 0, 0);
	put(jvm, OBJECT_CLASS + SUBCLASS_AT, BASE + OTHER_CLASS, 8);
	put(jvm, THREAD_CLASS + COUNT_AT, 4, 2);
	put(jvm, LOCK_CLASS + COUNT_AT, 1, 2);
	put(jvm, POOL + POOL_SIZE + 8 * NAME_OF_BLOCKER, symbol(jvm, "parkBlocker"), 8);
	put(jvm, POOL + POOL_SIZE + 8 * NAME_OF_STRUCTURE, symbol(jvm, "eetop"), 8);
	put(jvm, POOL + POOL_SIZE + 8 * NAME_OF_OWNER, symbol(jvm, "exclusiveOwnerThread"), 8);
	put(jvm, POOL + POOL_SIZE + 8 * NAME_OF_OTHER, symbol(jvm, "parkBlockers"), 8);
	if (has_stream) {
		put_stream(jvm, FIELDS_OF_THREAD, of_thread, 4);
		put_stream(jvm, FIELDS_OF_LOCK, of_lock, 1);
	} else {
		put_array(jvm, FIELDS_OF_THREAD, of_thread, 4);
		put_array(jvm, FIELDS_OF_LOCK, of_lock, 1);
	}

	put(jvm, THREADS_VAR, BASE + LIST, 8);
	put(jvm, LIST, 1, 4);
	put(jvm, LIST + 8, BASE + ARRAY, 8);
	put(jvm, ARRAY, BASE + JAVA_THREAD, 8);
	put(jvm, JAVA_THREAD + 0x28, BASE + HANDLE, 8);
	put(jvm, HANDLE, BASE + THREAD_OBJECT, 8);
	put(jvm, THREAD_OBJECT + 8, THREAD_CLASS, 4);
	put(jvm, THREAD_OBJECT + STRUCTURE, BASE + JAVA_THREAD, 8);
	hotspot_read_objects(&jvm->at, &jvm->hotspot);
}

static void fields_are_found(void **state)
{
	static struct jvm jvm;
	struct lock_park park;

	(void)state;
	for (int has_stream = 0; has_stream < 2; has_stream++) {
		make(&jvm, has_stream, "UseG1GC");
		assert_true(hotspot_parks(&jvm.at, &jvm.hotspot, &park));
		assert_int_equal(park.blocker, BLOCKER);
		assert_int_equal(park.structure, STRUCTURE);
		assert_int_equal(park.owner, OWNER);
		assert_true(park.is_narrow && park.is_class_narrow && park.is_known);
		assert_int_equal(park.oop_base, BASE);
		assert_int_equal(park.oop_shift, 3);
		assert_int_equal(park.runs, BASE + HEAP + 0x40);
		assert_int_equal(park.collections, BASE + HEAP + 0x50);
	}
}

static void classes_of_locks(void **state)
{
	static struct jvm jvm;

	(void)state;
	make(&jvm, true, "UseSerialGC");
	assert_true(hotspot_park_class(&jvm.at, &jvm.hotspot, SYNC_CLASS));
	assert_true(hotspot_park_class(&jvm.at, &jvm.hotspot, LOCK_CLASS));
	assert_false(hotspot_park_class(&jvm.at, &jvm.hotspot, THREAD_CLASS));
	assert_false(hotspot_park_class(&jvm.at, &jvm.hotspot, 0));
	assert_false(hotspot_park_class(&jvm.at, &jvm.hotspot, MEMORY));
	/* a class that is its own super ends, too */
	put(&jvm, OTHER_CLASS + SUPER_AT, BASE + OTHER_CLASS, 8);
	assert_false(hotspot_park_class(&jvm.at, &jvm.hotspot, OTHER_CLASS));
}

/* Where it cannot be proved, nothing is believed. */
static void without_proof(void **state)
{
	static struct jvm jvm;
	struct lock_park park;

	(void)state;
	make(&jvm, false, "UseZGC");
	assert_false(hotspot_parks(&jvm.at, &jvm.hotspot, &park));
	make(&jvm, false, "UseParallelGC");
	put(&jvm, FLAG_VALUES + 2, 1, 1);
	hotspot_read_objects(&jvm.at, &jvm.hotspot);
	assert_false(hotspot_parks(&jvm.at, &jvm.hotspot, &park));
	/* a thread that is not its object's */
	make(&jvm, false, "UseParallelGC");
	put(&jvm, THREAD_OBJECT + STRUCTURE, BASE + LIST, 8);
	assert_false(hotspot_parks(&jvm.at, &jvm.hotspot, &park));
	/* an object that is not a thread */
	make(&jvm, false, "UseParallelGC");
	put(&jvm, THREAD_OBJECT + 8, OTHER_CLASS, 4);
	assert_false(hotspot_parks(&jvm.at, &jvm.hotspot, &park));
	/* classes without end */
	make(&jvm, true, "UseParallelGC");
	put(&jvm, THREAD_CLASS + SIBLING_AT, BASE + OTHER_CLASS, 8);
	assert_false(hotspot_parks(&jvm.at, &jvm.hotspot, &park));
	/* a stream that is cut, an array that is shorter than its class says */
	for (int has_stream = 0; has_stream < 2; has_stream++) {
		make(&jvm, has_stream, "UseParallelGC");
		put(&jvm, FIELDS_OF_THREAD, 9, 4);
		assert_false(hotspot_parks(&jvm.at, &jvm.hotspot, &park));
	}
	/* a fact that a JVM does not have */
	make(&jvm, false, "UseParallelGC");
	jvm.hotspot.facts[HOTSPOT_COLLECTIONS] = HOTSPOT_ABSENT;
	jvm.hotspot.objects = (struct hotspot_objects){0};
	hotspot_read_objects(&jvm.at, &jvm.hotspot);
	assert_false(hotspot_parks(&jvm.at, &jvm.hotspot, &park));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(fields_are_found),
		cmocka_unit_test(classes_of_locks),
		cmocka_unit_test(without_proof),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
