// SPDX-License-Identifier: Apache-2.0
#include "sources/sched/objects.h"

#include <stdlib.h>
#include <string.h>

#include "process/disk.h"

/* Twice as many as come before what is in use is reported again. */
#define PLACES (2u << OBJECT_AGE_BITS)

struct object {
	char *words;
	uint32_t number; /* 0: none */
	uint32_t row;	 /* 0: it has none yet */
	uint32_t device; /* of its file system; 0: it has none */
};

struct objects {
	struct objects_to to;
	struct object *places; /* by number, the latest of each */
	uint32_t places_used;  /* this many, the first */
	struct buf words;
	uint32_t device; /* that was looked up last, and its disk: most are the same */
	char disk[DISK_NAME_MAX];
	uint64_t lost;
};

struct objects *objects_new(const struct objects_to *to)
{
	struct objects *objects = calloc(1, sizeof(*objects));

	if (!objects)
		return NULL;
	objects->to = *to;
	/* memory that is not touched costs nothing */
	objects->places = calloc(PLACES, sizeof(*objects->places));
	if (!objects->places) {
		free(objects);
		return NULL;
	}
	return objects;
}

void objects_free(struct objects *objects)
{
	if (!objects)
		return;
	for (uint32_t i = 0; i < objects->places_used; i++)
		free(objects->places[i].words);
	free(objects->places);
	buf_free(&objects->words);
	free(objects);
}

void objects_add(struct objects *objects, const struct object_report *told, size_t size)
{
	struct object *object;
	char *words;

	if (size < offsetof(struct object_report, text) || !told->number ||
	    !object_words(told, size, &objects->words)) {
		objects->lost++;
		return;
	}
	words = strdup((const char *)objects->words.at);
	if (!words) {
		objects->lost++;
		return;
	}
	object = &objects->places[told->number % PLACES];
	if (told->number % PLACES >= objects->places_used)
		objects->places_used = told->number % PLACES + 1;
	free(object->words);
	*object = (struct object){.words = words, .number = told->number, .device = told->device};
}

static const char *disk_of(struct objects *objects, uint32_t device)
{
	if (objects->device != device)
		disk_of_device(device, objects->disk);
	objects->device = device;
	return objects->disk;
}

uint32_t objects_row(struct objects *objects, uint32_t number)
{
	struct object *object = &objects->places[number % PLACES];

	if (!number || object->number != number)
		return 0;
	if (!object->row)
		object->row = objects->to.row(objects->to.context, object->words,
					      disk_of(objects, object->device));
	return object->row;
}

void objects_turn(struct objects *objects)
{
	for (uint32_t i = 0; i < objects->places_used; i++)
		objects->places[i].row = 0;
}

uint64_t objects_lost(const struct objects *objects)
{
	return objects->lost;
}
