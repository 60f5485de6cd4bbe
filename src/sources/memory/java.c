// SPDX-License-Identifier: Apache-2.0
#include "sources/memory/java.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buf.h"
#include "base/clock.h"
#include "base/map.h"
#include "base/vec.h"
#include "sources/loss_counts.h"
#include "sources/memory/probes.h"
#include "sources/memory/record.h"
#include "process/procfs.h"

/* What is read of a process's list of mappings. */
#define MAPS_MAX (4u << 20)

/* The most of a class's name. */
#define NAME_MAX_BYTES 256

/* The most classes that are remembered; then they are read again. */
#define CLASSES_MAX 65536

/* A name is read again after so long: the address may be another class's by then. */
#define CLASS_NS 10000000000ull

/* A class of a process, which may be gone when its last records come. */
struct class
{
	uint64_t address, read;
	pid_t pid;
	char *name;
};

struct mem_java {
	struct mem_probes *probes;
	struct map places; /* a hash of process and address, to a place in: */
	vec(struct class) classes;
	uint64_t nameless, damaged;
	bool everywhere;
};

int mem_java_new(struct probes *probes, unsigned int percent, bool everywhere,
		 struct mem_java **result)
{
	struct mem_java *java = calloc(1, sizeof(*java));
	int err;

	if (!java)
		return -ENOMEM;
	java->everywhere = everywhere;
	err = mem_probes_new(probes, MEM_PLACES_JAVA, percent, &java->probes);
	if (err)
		free(java);
	else
		*result = java;
	return err;
}

static void forget_classes(struct mem_java *java)
{
	vec_foreach (&java->classes, class)
		free(class->name);
	vec_free(&java->classes);
	map_free(&java->places);
}

void mem_java_detach(struct mem_java *java)
{
	mem_probes_detach(java->probes);
}

void mem_java_free(struct mem_java *java)
{
	if (!java)
		return;
	mem_probes_free(java->probes);
	forget_classes(java);
	free(java);
}

static void follow_jvm(void *context, pid_t pid)
{
	struct buf maps = {0};

	if (!procfs_read(pid, "maps", MAPS_MAX, &maps) &&
	    strstr((const char *)maps.at, "/libjvm.so"))
		samples_follow(context, pid);
	buf_free(&maps);
}

/*
 * Where JVMs are installed: by Debian's packages and those of others for it, by hand, and by the
 * tools that fetch them for one user.
 */
static const char *const installed[] = {
	"/usr/lib/jvm/*/lib/server/libjvm.so",
	"/usr/lib/jvm/*/jre/lib/*/server/libjvm.so",
	"/opt/*/lib/server/libjvm.so",
	"/opt/*/*/lib/server/libjvm.so",
	"/usr/local/*/lib/server/libjvm.so",
	"/usr/local/*/*/lib/server/libjvm.so",
	"/usr/java/*/lib/server/libjvm.so",
	"/root/.sdkman/candidates/java/*/lib/server/libjvm.so",
	"/root/.jdks/*/lib/server/libjvm.so",
	"/home/*/.sdkman/candidates/java/*/lib/server/libjvm.so",
	"/home/*/.jdks/*/lib/server/libjvm.so",
};

/* A JVM that starts has the probes from its first object on. */
static void probe_installed(struct mem_java *java, char *path)
{
	struct image image = {.kind = IMAGE_FILE, .path = path, .is_elf = true};
	struct stat stat;

	image.fd = open(path, O_RDONLY | O_CLOEXEC);
	if (image.fd < 0)
		return;
	if (!fstat(image.fd, &stat) && S_ISREG(stat.st_mode)) {
		image.device = stat.st_dev;
		image.inode = stat.st_ino;
		mem_probes_image(java->probes, 0, &image);
	}
	close(image.fd);
}

void mem_java_find(struct mem_java *java, struct samples *samples)
{
	procfs_each_number("/proc", follow_jvm, samples);
	for (size_t i = 0; i < sizeof(installed) / sizeof(installed[0]); i++) {
		glob_t found = {0};

		if (!glob(installed[i], GLOB_NOSORT, NULL, &found))
			for (size_t j = 0; j < found.gl_pathc; j++)
				probe_installed(java, found.gl_pathv[j]);
		globfree(&found);
	}
}

void mem_java_image(struct mem_java *java, pid_t pid, const struct image *image)
{
	mem_probes_image(java->probes, java->everywhere ? 0 : pid, image);
}

void mem_java_gone(struct mem_java *java, pid_t pid)
{
	mem_probes_gone(java->probes, pid);
	/* another program has other classes there, but the last records of this one are to come */
	vec_foreach (&java->classes, class)
		class->read = class->pid == pid ? 0 : class->read;
}

void mem_java_balance(struct mem_java *java, uint64_t now)
{
	mem_probes_balance(java->probes, now);
}

/* -- samples ----------------------------------------------------------------------------------- */

/* Arrays of a class have many sizes: by powers of two. */
static void words_of_size(char *to, size_t size, uint64_t bytes)
{
	static const char *const units[] = {"bytes", "KiB", "MiB", "GiB"};
	uint64_t from = 16;
	size_t unit = 0;

	while (from <= bytes / 2 && from < 1ull << 40)
		from *= 2;
	for (; from >= 1024 && unit < 3; unit++)
		from /= 1024;
	snprintf(to, size, "[%" PRIu64 " to %" PRIu64 " %s]", from, 2 * from, units[unit]);
}

/* Null: there is no memory. */
static struct class *class_of(struct mem_java *java, pid_t pid, uint64_t address)
{
	const uint64_t what[] = {(uint64_t)pid, address};
	uint64_t key = hash_bytes(what, sizeof(what)), *known = map_get(&java->places, key);
	struct class *class = known ? &java->classes.at[*known] : NULL;

	if (class && class->pid == pid && class->address == address)
		return class;
	if (java->classes.count == CLASSES_MAX)
		forget_classes(java);
	if (!vec_push(&java->classes, (struct class){.address = address, .pid = pid}) ||
	    !map_put(&java->places, key, java->classes.count - 1))
		return NULL;
	return vec_last(&java->classes);
}

/* Null: it cannot be read, and was not before. */
static const char *name_of(struct mem_java *java, struct samples *samples,
			   const struct capture_identity *identity)
{
	struct class *class = class_of(java, (pid_t)identity->pid, identity->key);
	uint64_t now = clock_ns();
	char name[NAME_MAX_BYTES], *copy;

	if (!class || (class->name && now - class->read < CLASS_NS))
		return class ? class->name : NULL;
	if (samples_class_name(samples, class->pid, class->address, name, sizeof(name)) &&
	    (copy = strdup(name))) {
		free(class->name);
		class->name = copy;
		class->read = now;
	}
	return class->name;
}

uint32_t mem_java_class(struct samples *samples, uint32_t stack, const char *name, uint64_t bytes)
{
	char size[64];
	size_t length;

	if (!name)
		return samples_words(samples, stack, "[class not known]");
	length = strlen(name);
	if (length > 2 && !strcmp(name + length - 2, "[]")) {
		words_of_size(size, sizeof(size), bytes);
		stack = samples_words(samples, stack, size);
	}
	return stack ? samples_words(samples, stack, name) : 0;
}

void mem_java_handle(struct mem_java *java, struct samples *samples, uint32_t event,
		     const struct capture_record *record, const struct capture_handover *handover)
{
	uint64_t behind[2];
	struct samples_place place;

	if (!mem_record_words(record, behind, 2) || !behind[0]) {
		java->damaged++;
		return;
	}
	if (!event)
		return;
	place = samples_resolve(samples, record, handover);
	if (place.stack) {
		const char *name = name_of(java, samples, &record->identity);

		java->nameless += !name;
		place.stack = mem_java_class(samples, place.stack, name, behind[1]);
	}
	samples_add(samples, event, record->head.time, &place,
		    mem_record_weight(record->identity.value, behind[0]));
}

void mem_java_report(const struct mem_java *java, struct film_writer *film, uint32_t alloc)
{
	const struct loss_count losses[] = {
		{"Java object of an unknown class: it was unloaded meanwhile, or cannot be read",
		 java->nameless},
		{"allocation lost: its record is damaged", java->damaged},
	};

	mem_probes_report(java->probes, film, alloc);
	loss_counts_emit_all(film, alloc, losses);
}
