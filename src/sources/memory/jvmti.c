// SPDX-License-Identifier: Apache-2.0
#include "sources/memory/jvmti.h"

#include <errno.h>
#include <signal.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "../inject/java_places.h"
#include "base/buf.h"
#include "base/vec.h"
#include "bpf/memory/heap_abi.h"
#include "sources/loss_counts.h"
#include "sources/memory/java.h"
#include "sources/memory/library.h"
#include "sources/memory/record.h"
#include "process/procfs.h"
#include "process/remote.h"
#include "runtime/hotspot/attach.h"

/* What is read of a process's list of mappings. */
#define MAPS_MAX (4u << 20)

/* The most JVMs. */
#define JVMS_MAX 64

/* How often a JVM that is just starting is asked again, once a tick. */
#define TRIES_MAX 30

struct jvm {
	pid_t pid;
	uint64_t state_at;  /* of the agent's struct java_state; 0: it has not loaded it */
	uint64_t left_out;  /* as it said last */
	unsigned int tries; /* left */
};

struct mem_jvmti {
	struct mem_library library;
	uint64_t interval, owner;
	vec(struct jvm) jvms;
	uint64_t without, refused, left; /* JVMs */
	uint64_t left_out;		 /* samples */
	uint64_t damaged, nameless;
};

/* PID_MAX_LIMIT of the kernel */
#define PID_BITS 22

static uint64_t owner_of(pid_t pid, uint64_t born)
{
	return born << PID_BITS | (uint64_t)pid;
}

int mem_jvmti_new(struct uprobes *uprobes, uint64_t interval, struct mem_jvmti **result,
		  struct fail *why)
{
	struct mem_jvmti *jvmti = calloc(1, sizeof(*jvmti));
	struct procfs_stat stat = {0};
	int err = 0;

	if (!jvmti)
		return fail_errno(why, -ENOMEM, NULL, "cannot record allocations");
	procfs_read_stat(getpid(), "stat", &stat);
	jvmti->interval = interval;
	jvmti->owner = owner_of(getpid(), stat.start_ticks);
	if (interval)
		err = mem_library_find(&jvmti->library, JAVA_LIBRARY, why);
	if (interval && !err)
		err = uprobes_attach(uprobes, jvmti->library.path, 0, jvmti->library.places,
				     jvmti->library.count, why);
	if (err)
		free(jvmti);
	else
		*result = jvmti;
	return err;
}

void mem_jvmti_free(struct mem_jvmti *jvmti)
{
	if (!jvmti)
		return;
	vec_free(&jvmti->jvms);
	free(jvmti);
}

/* -- which JVMs -------------------------------------------------------------------------------- */

static bool is_jvm(const struct image *image)
{
	const char *name = image->kind == IMAGE_FILE ? strrchr(image->path, '/') : NULL;

	return name && !strcmp(name, "/libjvm.so");
}

void mem_jvmti_image(struct mem_jvmti *jvmti, pid_t pid, const struct image *image)
{
	if (!is_jvm(image))
		return;
	vec_foreach (&jvmti->jvms, jvm)
		if (jvm->pid == pid)
			return;
	if (jvmti->jvms.count == JVMS_MAX ||
	    !vec_push(&jvmti->jvms, (struct jvm){.pid = pid, .tries = TRIES_MAX}))
		jvmti->refused++;
	jvmti->without += !jvmti->interval;
}

static void forget(struct mem_jvmti *jvmti, struct jvm *jvm)
{
	*jvm = *vec_last(&jvmti->jvms);
	jvmti->jvms.count--;
}

void mem_jvmti_gone(struct mem_jvmti *jvmti, pid_t pid)
{
	vec_foreach (&jvmti->jvms, jvm)
		if (jvm->pid == pid) {
			forget(jvmti, jvm);
			return;
		}
}

/* -- the agent --------------------------------------------------------------------------------- */

/* Where the agent's state is; 0: nowhere. */
static uint64_t find_state(const struct mem_jvmti *jvmti, pid_t pid)
{
	const struct mem_library *library = &jvmti->library;
	struct procfs_mapping mapping;
	struct buf text = {0};
	char *line, *rest = NULL;
	uint64_t at = 0;

	if (!procfs_read(pid, "maps", MAPS_MAX, &text))
		for (line = strtok_r((char *)text.at, "\n", &rest); line && !at;
		     line = strtok_r(NULL, "\n", &rest))
			if (procfs_parse_mapping(line, &mapping) && !mapping.offset &&
			    mapping.device == library->device && mapping.inode == library->inode)
				at = mapping.start + library->entries[MEMORY_ENTRY_STATE];
	buf_free(&text);
	return at;
}

static int check_result(pid_t pid, int result, struct fail *why)
{
	switch (result) {
	case JAVA_DONE:
		return 0;
	case JAVA_TOO_OLD:
		return fail(why, -ENOTSUP, NULL, "the JVM of process %d is older than Java 11",
			    (int)pid);
	case JAVA_EARLY:
		return fail(why, -EAGAIN, NULL, "the JVM of process %d has not started", (int)pid);
	case JAVA_TAKEN:
		return fail(why, -EBUSY, NULL,
			    "another agent of process %d takes samples of its objects", (int)pid);
	case JAVA_BUSY:
		return fail(why, -EBUSY, NULL, "process %d is recorded by another stackcam",
			    (int)pid);
	default:
		return fail(why, -EPROTO, NULL, "the JVM of process %d refuses the agent: %d",
			    (int)pid, result);
	}
}

static int stop(const struct mem_jvmti *jvmti, pid_t pid)
{
	int result, err;

	err = hotspot_load_agent(pid, jvmti->library.path, JAVA_OPTIONS_STOP, &result, NULL);
	return err ? err : check_result(pid, result, NULL);
}

/* A recorder that was killed has left the agent in use. */
static bool is_left(const struct mem_jvmti *jvmti, pid_t pid)
{
	uint64_t at = find_state(jvmti, pid);
	struct procfs_stat stat = {0};
	struct java_state state;
	pid_t owner;

	if (!at || remote_read(pid, &state, sizeof(state), at) || !state.owner)
		return false;
	owner = (pid_t)(state.owner & ((1u << PID_BITS) - 1));
	return !procfs_read_stat(owner, "stat", &stat) ||
	       owner_of(owner, stat.start_ticks) != state.owner;
}

static int put(struct mem_jvmti *jvmti, struct jvm *jvm, struct fail *why)
{
	char options[64];
	int result, err;

	if (is_left(jvmti, jvm->pid))
		stop(jvmti, jvm->pid);
	snprintf(options, sizeof(options), JAVA_OPTIONS_START, (unsigned long long)jvmti->interval,
		 (unsigned long long)jvmti->owner);
	err = hotspot_load_agent(jvm->pid, jvmti->library.path, options, &result, why);
	err = err ? err : check_result(jvm->pid, result, why);
	if (err)
		return err;
	jvm->state_at = find_state(jvmti, jvm->pid);
	if (jvm->state_at)
		return 0;
	stop(jvmti, jvm->pid);
	return fail(why, -ENOENT, NULL, "process %d has another '%s'", (int)jvm->pid,
		    jvmti->library.path);
}

/* The beat also says that this is the JVM that has loaded it. */
static void write_beat(struct mem_jvmti *jvmti, struct jvm *jvm)
{
	struct java_state state;

	if (remote_read(jvm->pid, &state, sizeof(state), jvm->state_at) ||
	    state.owner != jvmti->owner)
		return;
	state.beat++;
	remote_write(jvm->pid, &state.beat, sizeof(state.beat),
		     jvm->state_at + offsetof(struct java_state, beat));
	jvmti->left_out += state.left_out - jvm->left_out;
	jvm->left_out = state.left_out;
}

void mem_jvmti_tick(struct mem_jvmti *jvmti, struct film_writer *film, uint32_t event)
{
	struct fail why;
	char words[640];

	if (!jvmti->interval)
		return;
	vec_foreach (&jvmti->jvms, jvm) {
		int err;

		if (jvm->state_at)
			write_beat(jvmti, jvm);
		if (jvm->state_at || !jvm->tries)
			continue;
		err = put(jvmti, jvm, &why);
		if (err == -EAGAIN && --jvm->tries)
			continue;
		jvm->tries = 0;
		if (!err || !event)
			continue;
		snprintf(words, sizeof(words),
			 "memory in use of Java's heap not known: the JVM has not loaded the "
			 "agent: %s",
			 why.what);
		film_loss(film, event, words, 1);
	}
}

void mem_jvmti_retract(struct mem_jvmti *jvmti)
{
	vec_foreach (&jvmti->jvms, jvm) {
		if (jvm->state_at)
			jvmti->left += stop(jvmti, jvm->pid) && !kill(jvm->pid, 0);
		jvm->state_at = 0;
		jvm->tries = 0;
	}
}

/* -- records ----------------------------------------------------------------------------------- */

#define WORDS (1 + MEM_HEAP_CLASS_BYTES / sizeof(uint64_t))

void mem_jvmti_handle(struct mem_jvmti *jvmti, struct samples *samples, struct mem_live *live,
		      const struct capture_record *record, const struct capture_handover *handover)
{
	const struct capture_identity *identity = &record->identity;
	struct waiting_half half = {
		.key = identity->key, .pid = identity->pid, .time = record->head.time};
	char name[MEM_HEAP_CLASS_BYTES];
	uint64_t behind[WORDS];

	if (!mem_record_words(record, behind, WORDS) || !behind[0]) {
		jvmti->damaged++;
		return;
	}
	memcpy(name, behind + 1, sizeof(name));
	name[sizeof(name) - 1] = 0;
	jvmti->nameless += !*name;
	hotspot_name_of_signature(name, sizeof(name));
	half.value = mem_record_weight(identity->value, behind[0]);
	half.place = samples_resolve(samples, record, handover);
	if (half.place.stack)
		half.place.stack = mem_java_class(samples, half.place.stack, *name ? name : NULL,
						  identity->value);
	mem_live_add(live, &half);
}

void mem_jvmti_report(const struct mem_jvmti *jvmti, struct film_writer *film, uint32_t event)
{
	const struct loss_count losses[] = {
		{"memory in use of Java's heap not known: no JVM was asked for it (--mem-java)",
		 jvmti->without},
		{"memory in use of Java's heap not known: too many JVMs", jvmti->refused},
		{"memory in use of Java's heap left out: the JVM held too many samples",
		 jvmti->left_out},
		{"memory in use of Java's heap: a JVM could not be asked to end it", jvmti->left},
		{"Java object of an unknown class: the JVM does not say it", jvmti->nameless},
		{"allocation lost: the JVM's record is damaged", jvmti->damaged},
	};

	loss_counts_emit_all(film, event, losses);
}
