// SPDX-License-Identifier: Apache-2.0
/*
 * Virtual threads. Their frames are moved by freeze() and thaw() (share/runtime/
 * continuationFreezeThaw.cpp), whose places are known by the symbols of libjvm.so. What brings one
 * to a carrier is Continuation.enterSpecial, whose code the JVM makes (gen_continuation_enter() in
 * cpu/x86/sharedRuntime_x86_64.cpp) when the first virtual thread runs. Around
 * ContinuationEntry::_return_pc it has
 *
 *	call Continuation.enter		one is mounted for the first time
 *	nop				of 8 bytes, as behind each call of compiled code
 *	jmp exit
 *	call thaw			its frames are brought back
 *	nop				here is _return_pc
 *  exit:				it has ended, or has to go on waiting for a monitor
 */
#include "runtime/hotspot/vthreads.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "elf/image.h"
#include "runtime/hotspot/hotspot.h"
#include "arch/insn.h"

#define THREAD_CLASS  "java/lang/Thread"
#define BASE_CLASS    "java/lang/BaseVirtualThread"
#define VIRTUAL_CLASS "java/lang/VirtualThread"
#define STRING_CLASS  "java/lang/String"

/* The first version whose tables tell of all that is needed. */
#define OLDEST 25

/* The most bytes of a function that is looked at for its end. */
#define CODE_MAX 4096

/* -- the file ---------------------------------------------------------------------------------- */

#define HEAPS(X)                    \
	X("12G1BarrierSet")         \
	X("19CardTableBarrierSet")  \
	X("17EpsilonBarrierSet")    \
	X("20ShenandoahBarrierSet") \
	X("11ZBarrierSet")

#define FREEZE(heap)                                                                               \
	{"_Z6freezeI6ConfigIL8oop_kind0E" heap "EEiP10JavaThreadPl", VTHREADS_FROZEN, true, true}, \
		{"_Z6freezeI6ConfigIL8oop_kind1E" heap "EEiP10JavaThreadPl", VTHREADS_FROZEN,      \
		 true, true},

/* The functions: mangled names. */
static const struct function {
	const char *name;
	enum vthreads_place place;
	bool at_end;   /* the probe is where it returns */
	bool may_lack; /* of a kind of heap that this JVM does not have, or not needed */
} functions[] = {
	{"_ZN12Continuation12prepare_thawEP10JavaThreadb", VTHREADS_THAWS, false, false},
	{"_ZN13ObjectMonitor21vthread_monitor_enterEP10JavaThreadP12ObjectWaiter", VTHREADS_ENTERS,
	 false, false},
	{"_ZN13ObjectMonitor12vthread_waitEP10JavaThreadl", VTHREADS_AWAITS, false, false},
	{"_ZN13ObjectMonitor16resume_operationEP10JavaThreadP12ObjectWaiterR19ContinuationWrapper",
	 VTHREADS_RESUMED, true, false},
	{"_ZN17ContinuationEntry14set_enter_codeEP7nmethodi", VTHREADS_MADE, true, false},
	{"_ZN23java_lang_VirtualThread17set_onWaitingListEP7oopDescR9OopHandle", VTHREADS_WAKES,
	 false, true},
	HEAPS(FREEZE)};

enum {
	FUNCTIONS = sizeof(functions) / sizeof(functions[0]),
	/* JavaThread::set_vthread(): mov OFFSET(%rdi),%rdi; jmp … */
	SET_VTHREAD = FUNCTIONS,
	/* only those with virtual threads have it */
	RUN_CONTINUATION,
	SYMBOLS,
};

static bool add_site(struct hotspot_vthreads *vthreads, const struct elf_image *elf,
		     uint64_t address, enum vthreads_place place)
{
	struct hotspot_vthreads_site site = {.place = place};

	if (vthreads->site_count == HOTSPOT_VTHREADS_SITES_MAX ||
	    !elf_image_code_offset(elf, address, &site.offset))
		return false;
	vthreads->sites[vthreads->site_count++] = site;
	return true;
}

/* Where a function returns: each place is a site. False: none was found, or not all. */
static bool add_ends(struct hotspot_vthreads *vthreads, const struct elf_image *elf,
		     const struct image *image, const struct runtime_symbol *symbol,
		     enum vthreads_place place)
{
	struct insn insn;
	uint8_t code[CODE_MAX];
	size_t before = vthreads->site_count;
	bool whole = symbol->size && symbol->size <= sizeof(code) &&
		     !runtime_read_image(image, code, symbol->size, symbol->address);
	uint64_t at = 0;

	while (whole && at < symbol->size) {
		if (!insn_read(&insn, code + at, symbol->size - at, symbol->address + at))
			whole = false;
		else if (insn.kind == INSN_RETURN)
			whole = add_site(vthreads, elf, symbol->address + at, place);
		at += whole ? insn.size : 0;
	}
	return whole && vthreads->site_count > before;
}

/* Where a JavaThread has its virtual thread's object; 0: the code is not as it should be. */
static uint32_t find_object(const struct image *image, const struct runtime_symbol *symbol)
{
	static const uint8_t load[] = {0x48, 0x8b, 0xbf};
	uint8_t code[sizeof(load) + 4];
	uint32_t offset;

	if (!symbol->address || symbol->size < sizeof(code) ||
	    runtime_read_image(image, code, sizeof(code), symbol->address) ||
	    memcmp(code, load, sizeof(load)) != 0)
		return 0;
	memcpy(&offset, code + sizeof(load), sizeof(offset));
	return offset <= UINT16_MAX ? offset : 0;
}

static int add_sites(struct hotspot_vthreads *vthreads, const struct elf_image *elf,
		     const struct image *image, const struct runtime_symbol *symbols,
		     struct fail *why)
{
	for (size_t i = 0; i < FUNCTIONS; i++) {
		const struct function *function = &functions[i];
		bool added;

		if (!symbols[i].address && function->may_lack)
			continue;
		added = function->at_end
				? symbols[i].address && add_ends(vthreads, elf, image, &symbols[i],
								 function->place)
				: symbols[i].address && add_site(vthreads, elf, symbols[i].address,
								 function->place);
		if (!added)
			return fail(why, -ENOTSUP, NULL,
				    "libjvm.so has no symbols of its functions, or is older than "
				    "JDK %d",
				    OLDEST);
	}
	return 0;
}

int hotspot_vthreads_of(struct hotspot_vthreads *vthreads, const struct image *image,
			struct fail *why)
{
	struct runtime_symbol symbols[SYMBOLS] = {0};
	struct elf_image elf;
	struct budget budget;
	int err;

	runtime_budget(&budget);
	if (!runtime_is_suspect(&runtime_hotspot, image, &budget))
		return -ENOENT;
	for (size_t i = 0; i < FUNCTIONS; i++)
		symbols[i].name = functions[i].name;
	symbols[SET_VTHREAD].name = "_ZN10JavaThread11set_vthreadEP7oopDesc";
	symbols[RUN_CONTINUATION].name = "JVM_RegisterContinuationMethods";
	runtime_find_symbols(image, &budget, symbols, SYMBOLS);
	if (!symbols[RUN_CONTINUATION].address)
		return -ENOENT;
	*vthreads = (struct hotspot_vthreads){.object = find_object(image, &symbols[SET_VTHREAD])};
	err = elf_image_open_bare(&elf, image->fd, NULL, 0, why);
	if (!err)
		err = add_sites(vthreads, &elf, image, symbols, why);
	elf_image_close(&elf);
	return err;
}

/* -- a process --------------------------------------------------------------------------------- */

/* The code around ContinuationEntry::_return_pc, from its call of Continuation.enter on. */
enum {
	CODE_CALL = 5,
	CODE_NOP = 8,
	CODE_JUMP = 2,
	CODE_BEFORE = CODE_CALL + CODE_NOP + CODE_JUMP + CODE_CALL,
	CODE_SIZE = CODE_BEFORE + CODE_NOP,
};

/* nop DWORD PTR [rax+rax*1+…] */
static const uint8_t nop[] = {0x0f, 0x1f, 0x84, 0x00};

/* Fills first and end. False: the code is not as it should be. */
static bool find_code(const struct runtime_at *at, uint64_t return_pc, struct vthreads_process *to)
{
	uint8_t code[CODE_SIZE];
	const uint8_t *jump = code + CODE_CALL + CODE_NOP, *thaw = jump + CODE_JUMP;

	if (return_pc < CODE_BEFORE ||
	    runtime_read(at, code, sizeof(code), return_pc - CODE_BEFORE))
		return false;
	if (code[0] != 0xe8 || memcmp(code + CODE_CALL, nop, sizeof(nop)) != 0 || jump[0] != 0xeb ||
	    thaw[0] != 0xe8 || memcmp(thaw + CODE_CALL, nop, sizeof(nop)) != 0 ||
	    jump[1] != CODE_CALL + CODE_NOP)
		return false;
	to->first = return_pc - CODE_BEFORE;
	to->end = return_pc + CODE_NOP;
	return true;
}

/* What is read of objects; where it cannot be, it is not. */
static void find_fields(const struct runtime_at *at, const struct hotspot *jvm, uint32_t object,
			struct vthreads_process *to)
{
	const struct hotspot_objects *objects = &jvm->objects;
	uint64_t base, shift, thread = 0, virtual, string;
	uint16_t name, state, value, coder, tid;

	if (!object || !objects->are_known || !objects->move_at_stops ||
	    runtime_read_u64(at, &base, jvm->facts[HOTSPOT_OOP_BASE]) ||
	    hotspot_read_number(at, jvm->facts[HOTSPOT_OOP_SHIFT], 4, &shift) || shift > 8 ||
	    runtime_read_u64(at, &thread, jvm->facts[HOTSPOT_JAVA_LANG_THREAD]))
		return;
	virtual = hotspot_subclass(at, jvm, hotspot_subclass(at, jvm, thread, BASE_CLASS),
				   VIRTUAL_CLASS);
	string = hotspot_class(at, jvm, STRING_CLASS);
	if (!hotspot_field(at, jvm, thread, "name", &name) ||
	    !hotspot_field(at, jvm, virtual, "state", &state) ||
	    !hotspot_field(at, jvm, string, "value", &value) ||
	    !hotspot_field(at, jvm, string, "coder", &coder))
		return;
	/* without it, it is not known who ends waits for monitors */
	to->tid = hotspot_field(at, jvm, thread, "tid", &tid) ? tid : 0;
	to->base = base;
	to->shift = (uint8_t)shift;
	to->is_narrow = objects->is_narrow;
	to->object = object;
	to->name = name;
	to->state = state;
	to->value = value;
	to->coder = coder;
	/* behind the mark word and the class (share/oops/arrayOop.hpp) */
	to->length = objects->is_compact ? 8 : objects->is_class_narrow ? 12 : 16;
}

int hotspot_vthreads(const struct runtime_at *at, const void *state, uint32_t object,
		     struct vthreads_process *to, struct fail *why)
{
	const struct hotspot *jvm = state;
	const uint64_t number = jvm->facts[HOTSPOT_THREAD_OWNER_ID];
	uint64_t return_pc = 0;

	if (number > UINT16_MAX || jvm->facts[HOTSPOT_ENTRY_RETURN] == HOTSPOT_ABSENT)
		return fail(why, -ENOTSUP, NULL, "JDK %u is older than JDK %d", jvm->version,
			    OLDEST);
	*to = (struct vthreads_process){.number = (uint32_t)number};
	/* as long as there is no virtual thread, there is no code that runs one */
	if (runtime_read_u64(at, &return_pc, jvm->facts[HOTSPOT_ENTRY_RETURN]) || !return_pc)
		return -EAGAIN;
	if (!find_code(at, return_pc, to))
		return fail(why, -ENOTSUP, NULL,
			    "code of JDK %u that runs virtual threads is not as it should be",
			    jvm->version);
	find_fields(at, jvm, object, to);
	return 0;
}
