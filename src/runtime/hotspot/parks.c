// SPDX-License-Identifier: Apache-2.0
/*
 * Locks of java.util.concurrent. A thread that waits for one parks, and names it before that in its
 * java.lang.Thread: parkBlocker (java.util.concurrent.locks.LockSupport). Those that have an owner
 * extend AbstractOwnableSynchronizer, whose exclusiveOwnerThread is the owner's java.lang.Thread;
 * that has the address of its JavaThread in eetop, which is 0 in a virtual thread.
 *
 * Where these three fields are is read from the classes themselves (share/oops/instanceKlass.hpp;
 * up to JDK 20, an array of 6 numbers for each field, share/oops/fieldInfo.hpp, since then a stream
 * of UNSIGNED5, share/oops/fieldInfo.inline.hpp).
 *
 * What is believed needs proof: only collectors that move objects while all threads stand, and say
 * that they do (CollectedHeap::_is_stw_gc_active); a JavaThread that is its own object's thread by
 * these fields; the object's class; and an owner that is a thread of the process.
 */
#include "runtime/hotspot/hotspot.h"

#include <stdlib.h>
#include <string.h>

#define LOCK_CLASS    "java/util/concurrent/locks/AbstractOwnableSynchronizer"
#define THREAD_CLASS  "java/lang/Thread"
#define NAME_MAX      64

#define FLAGS_MAX     8192
#define FLAG_SIZE_MAX 256
#define CLASSES_MAX   65536
#define SUPERS_MAX    16
#define FIELDS_MAX    1024
#define STREAM_MAX    65536
#define PROVING_MAX   16

/* Numbers of a field up to JDK 20, and what marks the last two as its offset. */
enum {
	FIELD_ACCESS,
	FIELD_NAME,
	FIELD_LOW = 4,
	FIELD_HIGH,
	FIELD_NUMBERS,
};
#define FIELD_IS_STATIC	 0x8
#define FIELD_IS_PLACED	 0x1
#define FIELD_TAG_BITS	 2
#define FIELD_HAS_VALUE	 0x1 /* flags of a field since JDK 21: another number follows */
#define FIELD_IS_GENERIC 0x4
#define FIELD_IS_APART	 0x10

/* Offset of Array<T>::_data, behind its length. */
#define ARRAY_DATA 4

static bool has_offset(const struct hotspot *jvm, enum hotspot_fact fact)
{
	return jvm->facts[fact] <= UINT16_MAX;
}

static bool has(const struct hotspot *jvm, enum hotspot_fact fact)
{
	return jvm->facts[fact] != HOTSPOT_ABSENT;
}

/* Whether a symbol is that name. */
static bool is_symbol(const struct runtime_at *at, const struct hotspot *jvm, uint64_t symbol,
		      const char *name)
{
	uint64_t body = jvm->facts[HOTSPOT_SYMBOL_BODY], length = jvm->facts[HOTSPOT_SYMBOL_LENGTH];
	uint8_t bytes[NAME_MAX + 8];
	size_t size = strlen(name);
	uint16_t has_length;

	if (!symbol || body > 8 || length > 6 || size > NAME_MAX ||
	    runtime_read(at, bytes, body + size, symbol))
		return false;
	memcpy(&has_length, bytes + length, sizeof(has_length));
	return has_length == size && !memcmp(bytes + body, name, size);
}

static bool is_class(const struct runtime_at *at, const struct hotspot *jvm, uint64_t klass,
		     const char *name)
{
	uint64_t symbol;

	return !runtime_read_u64(at, &symbol, klass + jvm->facts[HOTSPOT_CLASS_NAME]) &&
	       is_symbol(at, jvm, symbol, name);
}

static bool extends(const struct runtime_at *at, const struct hotspot *jvm, uint64_t klass,
		    const char *name)
{
	for (int i = 0; i < SUPERS_MAX && klass; i++) {
		if (is_class(at, jvm, klass, name))
			return true;
		if (runtime_read_u64(at, &klass, klass + jvm->facts[HOTSPOT_CLASS_SUPER]))
			return false;
	}
	return false;
}

uint64_t hotspot_subclass(const struct runtime_at *at, const struct hotspot *jvm, uint64_t of,
			  const char *name)
{
	uint64_t klass;

	if (!of || runtime_read_u64(at, &klass, of + jvm->facts[HOTSPOT_CLASS_SUBCLASS]))
		return 0;
	for (int i = 0; i < CLASSES_MAX && klass; i++) {
		if (is_class(at, jvm, klass, name))
			return klass;
		if (runtime_read_u64(at, &klass, klass + jvm->facts[HOTSPOT_CLASS_SIBLING]))
			return 0;
	}
	return 0;
}

uint64_t hotspot_class(const struct runtime_at *at, const struct hotspot *jvm, const char *name)
{
	uint64_t klass;

	return runtime_read_u64(at, &klass, jvm->facts[HOTSPOT_JAVA_LANG_OBJECT])
		       ? 0
		       : hotspot_subclass(at, jvm, klass, name);
}

/* Whether the name at an index of a class's constants is that. */
static bool is_named(const struct runtime_at *at, const struct hotspot *jvm, uint64_t constants,
		     uint32_t index, const char *name)
{
	uint64_t symbol;

	return index && index <= UINT16_MAX &&
	       !runtime_read_u64(at, &symbol,
				 constants + jvm->facts[HOTSPOT_SIZE_POOL] + index * 8ull) &&
	       is_symbol(at, jvm, symbol & ~1ull, name);
}

/* Up to JDK 20. 0: there is no such field. */
static uint32_t find_in_array(const struct runtime_at *at, const struct hotspot *jvm,
			      uint64_t klass, uint64_t constants, const char *name)
{
	uint64_t array, length, count;
	uint16_t field[FIELD_NUMBERS];

	if (runtime_read_u64(at, &array, klass + jvm->facts[HOTSPOT_CLASS_FIELDS]) ||
	    hotspot_read_number(at, array, 4, &length) ||
	    hotspot_read_number(at, klass + jvm->facts[HOTSPOT_CLASS_FIELD_COUNT], 2, &count))
		return 0;
	if (count > FIELDS_MAX || count > length / FIELD_NUMBERS)
		return 0;
	for (uint64_t i = 0; i < count; i++) {
		if (runtime_read(at, field, sizeof(field), array + ARRAY_DATA + i * sizeof(field)))
			return 0;
		if (field[FIELD_ACCESS] & FIELD_IS_STATIC || !(field[FIELD_LOW] & FIELD_IS_PLACED))
			continue;
		if (is_named(at, jvm, constants, field[FIELD_NAME], name))
			return ((uint32_t)field[FIELD_HIGH] << 16 | field[FIELD_LOW]) >>
			       FIELD_TAG_BITS;
	}
	return 0;
}

struct stream_field {
	uint32_t name, offset, access;
};

static bool next_field(const uint8_t **at, const uint8_t *end, struct stream_field *field)
{
	uint32_t signature, flags, more;

	if (!hotspot_unsigned5(at, end, 1, &field->name) ||
	    !hotspot_unsigned5(at, end, 1, &signature) ||
	    !hotspot_unsigned5(at, end, 1, &field->offset) ||
	    !hotspot_unsigned5(at, end, 1, &field->access) ||
	    !hotspot_unsigned5(at, end, 1, &flags))
		return false;
	return (!(flags & FIELD_HAS_VALUE) || hotspot_unsigned5(at, end, 1, &more)) &&
	       (!(flags & FIELD_IS_GENERIC) || hotspot_unsigned5(at, end, 1, &more)) &&
	       (!(flags & FIELD_IS_APART) || hotspot_unsigned5(at, end, 1, &more));
}

/* Since JDK 21. 0: there is no such field. */
static uint32_t find_in_stream(const struct runtime_at *at, const struct hotspot *jvm,
			       uint64_t klass, uint64_t constants, const char *name)
{
	uint64_t array, length;
	const uint8_t *next, *end;
	struct stream_field field;
	uint32_t count, injected, offset = 0;
	uint8_t *stream;

	if (runtime_read_u64(at, &array, klass + jvm->facts[HOTSPOT_CLASS_FIELD_STREAM]) ||
	    hotspot_read_number(at, array, 4, &length) || !length || length > STREAM_MAX)
		return 0;
	stream = malloc(length);
	if (!stream || runtime_read(at, stream, length, array + ARRAY_DATA))
		goto out;
	next = stream;
	end = stream + length;
	if (!hotspot_unsigned5(&next, end, 1, &count) ||
	    !hotspot_unsigned5(&next, end, 1, &injected) || count > FIELDS_MAX)
		goto out;
	for (uint32_t i = 0; i < count && next_field(&next, end, &field); i++) {
		if (field.access & FIELD_IS_STATIC ||
		    !is_named(at, jvm, constants, field.name, name))
			continue;
		offset = field.offset;
		break;
	}
out:
	free(stream);
	return offset;
}

bool hotspot_field(const struct runtime_at *at, const struct hotspot *jvm, uint64_t klass,
		   const char *name, uint16_t *offset)
{
	uint64_t constants;
	uint32_t found;

	if (!klass || runtime_read_u64(at, &constants, klass + jvm->facts[HOTSPOT_CLASS_CONSTANTS]))
		return false;
	found = has_offset(jvm, HOTSPOT_CLASS_FIELD_STREAM)
			? find_in_stream(at, jvm, klass, constants, name)
			: find_in_array(at, jvm, klass, constants, name);
	*offset = (uint16_t)found;
	return found && found <= UINT16_MAX;
}

static bool has_facts(const struct hotspot *jvm)
{
	static const enum hotspot_fact offsets[] = {
		HOTSPOT_THREAD_OBJECT,	 HOTSPOT_OBJECT_KLASS,	HOTSPOT_CLASS_SUPER,
		HOTSPOT_CLASS_SUBCLASS,	 HOTSPOT_CLASS_SIBLING, HOTSPOT_CLASS_CONSTANTS,
		HOTSPOT_COLLECTION_RUNS, HOTSPOT_COLLECTIONS,	HOTSPOT_FLAG_NAME,
		HOTSPOT_FLAG_ADDRESS,	 HOTSPOT_SIZE_FLAG,	HOTSPOT_CLASS_NAME,
		HOTSPOT_SIZE_POOL,	 HOTSPOT_THREAD_OS,	HOTSPOT_OS_NUMBER,
	};
	static const enum hotspot_fact addresses[] = {
		HOTSPOT_OOP_BASE,    HOTSPOT_OOP_SHIFT,	       HOTSPOT_KLASS_BASE,
		HOTSPOT_KLASS_SHIFT, HOTSPOT_JAVA_LANG_OBJECT, HOTSPOT_JAVA_LANG_THREAD,
		HOTSPOT_FLAGS,	     HOTSPOT_FLAG_COUNT,       HOTSPOT_HEAP_OBJECTS,
	};

	for (size_t i = 0; i < sizeof(offsets) / sizeof(offsets[0]); i++)
		if (!has_offset(jvm, offsets[i]))
			return false;
	for (size_t i = 0; i < sizeof(addresses) / sizeof(addresses[0]); i++)
		if (!has(jvm, addresses[i]))
			return false;
	return has_offset(jvm, HOTSPOT_CLASS_FIELD_STREAM) ||
	       (has_offset(jvm, HOTSPOT_CLASS_FIELDS) &&
		has_offset(jvm, HOTSPOT_CLASS_FIELD_COUNT));
}

/* The flags of the command line that say how objects are laid out, and what moves them. */
static void match_flag(struct hotspot_objects *objects, const char *name)
{
	if (!strcmp(name, "UseCompressedOops"))
		objects->is_narrow = true;
	else if (!strcmp(name, "UseCompressedClassPointers"))
		objects->is_class_narrow = true;
	else if (!strcmp(name, "UseCompactObjectHeaders"))
		objects->is_compact = true;
	else if (!strcmp(name, "UseSerialGC") || !strcmp(name, "UseParallelGC") ||
		 !strcmp(name, "UseG1GC") || !strcmp(name, "UseEpsilonGC"))
		objects->move_at_stops = true;
}

void hotspot_read_objects(const struct runtime_at *at, struct hotspot *jvm)
{
	struct hotspot_objects objects = {0};
	uint64_t flags, count, size = jvm->facts[HOTSPOT_SIZE_FLAG], name, address, value;
	char text[NAME_MAX];

	if (!has_facts(jvm) || runtime_read_u64(at, &flags, jvm->facts[HOTSPOT_FLAGS]) ||
	    runtime_read_u64(at, &count, jvm->facts[HOTSPOT_FLAG_COUNT]) || !size ||
	    size > FLAG_SIZE_MAX || count > FLAGS_MAX)
		return;
	for (uint64_t i = 0; i < count; i++) {
		uint64_t flag = flags + i * size;

		if (runtime_read_u64(at, &name, flag + jvm->facts[HOTSPOT_FLAG_NAME]))
			return;
		/* the last one has no name */
		if (!name || runtime_read_string(at, text, sizeof(text), name) ||
		    strncmp(text, "Use", 3) != 0)
			continue;
		if (runtime_read_u64(at, &address, flag + jvm->facts[HOTSPOT_FLAG_ADDRESS]) ||
		    hotspot_read_number(at, address, 1, &value))
			return;
		if (value)
			match_flag(&objects, text);
	}
	objects.are_known = true;
	jvm->objects = objects;
}

/* The address of a class that is in an object as klass. */
static bool class_of(const struct runtime_at *at, const struct hotspot *jvm, uint64_t *klass)
{
	uint64_t base, shift;

	if (!jvm->objects.is_class_narrow)
		return *klass != 0;
	if (runtime_read_u64(at, &base, jvm->facts[HOTSPOT_KLASS_BASE]) ||
	    hotspot_read_number(at, jvm->facts[HOTSPOT_KLASS_SHIFT], 4, &shift) || shift > 16)
		return false;
	*klass = base + (*klass << shift);
	return true;
}

/* Whether a thread's object is a java.lang.Thread, of that thread, by what is to be believed. */
static bool proves(const struct runtime_at *at, const struct hotspot *jvm,
		   const struct lock_park *park, uint64_t thread)
{
	uint64_t handle, object, klass, back;

	return !runtime_read_u64(at, &handle, thread + park->thread_object) &&
	       !runtime_read_u64(at, &object, handle) &&
	       !hotspot_read_number(at, object + park->class_at, park->is_class_narrow ? 4 : 8,
				    &klass) &&
	       class_of(at, jvm, &klass) && extends(at, jvm, klass, THREAD_CLASS) &&
	       !runtime_read_u64(at, &back, object + park->structure) && back == thread;
}

bool hotspot_parks(const struct runtime_at *at, const struct hotspot *jvm, struct lock_park *park)
{
	const struct hotspot_objects *objects = &jvm->objects;
	uint64_t threads[PROVING_MAX], thread_class, heap, base, shift;
	int count;

	if (!objects->are_known || !objects->move_at_stops || objects->is_compact)
		return false;
	*park = (struct lock_park){
		.thread_object = (uint32_t)jvm->facts[HOTSPOT_THREAD_OBJECT],
		.os_thread = (uint16_t)jvm->facts[HOTSPOT_THREAD_OS],
		.number = (uint16_t)jvm->facts[HOTSPOT_OS_NUMBER],
		.class_at = (uint16_t)jvm->facts[HOTSPOT_OBJECT_KLASS],
		.is_narrow = objects->is_narrow,
		.is_class_narrow = objects->is_class_narrow,
		.is_known = true,
	};
	if (runtime_read_u64(at, &heap, jvm->facts[HOTSPOT_HEAP_OBJECTS]) || !heap ||
	    runtime_read_u64(at, &base, jvm->facts[HOTSPOT_OOP_BASE]) ||
	    hotspot_read_number(at, jvm->facts[HOTSPOT_OOP_SHIFT], 4, &shift) || shift > 8 ||
	    runtime_read_u64(at, &thread_class, jvm->facts[HOTSPOT_JAVA_LANG_THREAD]))
		return false;
	park->oop_base = base;
	park->oop_shift = (uint8_t)shift;
	park->runs = heap + jvm->facts[HOTSPOT_COLLECTION_RUNS];
	park->collections = heap + jvm->facts[HOTSPOT_COLLECTIONS];
	if (!hotspot_field(at, jvm, thread_class, "parkBlocker", &park->blocker) ||
	    !hotspot_field(at, jvm, thread_class, "eetop", &park->structure) ||
	    !hotspot_field(at, jvm, hotspot_class(at, jvm, LOCK_CLASS), "exclusiveOwnerThread",
			   &park->owner))
		return false;
	count = hotspot_list_threads(at, jvm, threads, PROVING_MAX);
	for (int i = 0; i < count; i++)
		if (proves(at, jvm, park, threads[i]))
			return true;
	return false;
}

bool hotspot_park_class(const struct runtime_at *at, const void *state, uint64_t klass)
{
	const struct hotspot *jvm = state;

	return class_of(at, jvm, &klass) && extends(at, jvm, klass, LOCK_CLASS);
}
