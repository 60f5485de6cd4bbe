// SPDX-License-Identifier: Apache-2.0
#include "attach/kernel_types.h"

#include <errno.h>
#include <gelf.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include <bpf/bpf.h>
#include <bpf/btf.h>
#include <bpf/libbpf.h>

#include "base/vec.h"
#include "attach/kfuncs.h"
#include "bpf/probes.skel.h"

/*
 * Whether the verifier accepts a load from an arbitrary address (Linux 6.17), as in KERNEL_READ()
 * of bpf/kernel.h: tries a short program. types: the kernel's types; null: not readable.
 */
static bool kernel_loads_try(const struct btf *types)
{
	int cast = types ? btf__find_by_name_kind(types, "bpf_rdonly_cast", BTF_KIND_FUNC) : -1;
	/* loads from what an address is said to point to: memory without a type */
	const struct bpf_insn insns[] = {
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_1},
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_2},
		{.code = BPF_JMP | BPF_CALL, .src_reg = BPF_PSEUDO_KFUNC_CALL, .imm = cast},
		{.code = BPF_LDX | BPF_MEM | BPF_DW, .dst_reg = BPF_REG_0, .src_reg = BPF_REG_0},
		{.code = BPF_ALU64 | BPF_MOV | BPF_K, .dst_reg = BPF_REG_0},
		{.code = BPF_JMP | BPF_EXIT},
	};
	int program;

	if (cast < 0)
		return false;
	program = bpf_prog_load(BPF_PROG_TYPE_RAW_TRACEPOINT, "stackcam_try", "GPL", insns,
				sizeof(insns) / sizeof(insns[0]), NULL);
	if (program < 0)
		return false;
	close(program);
	return true;
}

struct kernel_types {
	struct btf *all;
	int file; /* -1: none */
	char path[32];
	bool loads;   /* kernel_loads_try() */
	bool resumes; /* it has bpf_task_work_schedule_resume() */
	void *fitted; /* our programs with what this kernel's functions are; null: they fit */
};

/* A name as libbpf compares it: "task_struct" of "task_struct___object". */
struct name {
	const char *at;
	size_t length;
};

static struct name essential(const char *name)
{
	size_t length = strlen(name), i;

	for (i = length; i-- > 1;)
		if (i + 4 <= length && !strncmp(name + i, "___", 3) && name[i - 1] != '_' &&
		    name[i + 3] != '_')
			return (struct name){name, i};
	return (struct name){name, length};
}

static int compare(const void *one, const void *other)
{
	const struct name *a = one, *b = other;
	size_t shorter = a->length < b->length ? a->length : b->length;
	int order = memcmp(a->at, b->at, shorter);

	return order ? order : (a->length > b->length) - (a->length < b->length);
}

/* What a program can be fitted to. */
static bool is_root(const struct btf_type *type)
{
	return btf_is_composite(type) || btf_is_any_enum(type) || btf_is_typedef(type);
}

struct btf *kernel_types_of_probes(void)
{
	struct btf *own = NULL;
	Elf_Scn *section = NULL;
	const void *bytes;
	size_t size, names;
	Elf *elf;

	bytes = probes__elf_bytes(&size);
	elf_version(EV_CURRENT);
	elf = elf_memory((char *)bytes, size);
	if (!elf || elf_getshdrstrndx(elf, &names))
		goto out;
	while (!own && (section = elf_nextscn(elf, section))) {
		GElf_Shdr header;
		Elf_Data *data;
		const char *name = gelf_getshdr(section, &header)
					   ? elf_strptr(elf, names, header.sh_name)
					   : NULL;

		if (!name || strcmp(name, BTF_ELF_SEC) != 0)
			continue;
		data = elf_rawdata(section, NULL);
		if (!data)
			break;
		own = btf__new(data->d_buf, (uint32_t)data->d_size);
	}
out:
	elf_end(elf);
	return own;
}

/* The types that go into the file. */
struct chosen {
	const struct btf *all;
	uint32_t *numbers; /* of each type: its number in the file, 0: it is not there */
	vec(uint32_t) ids; /* of the types in the file, in their order */
	bool full;	   /* no memory */
};

static void choose(struct chosen *chosen, uint32_t id)
{
	if (!id || chosen->numbers[id])
		return;
	if (!vec_push(&chosen->ids, id))
		chosen->full = true;
	else
		chosen->numbers[id] = (uint32_t)chosen->ids.count;
}

/*
 * What a type is made of. Where pointers point to does not matter: a program reads the pointer, and
 * then a field of a type that it names.
 */
static void each_part(struct btf_type *type, void (*emit)(void *context, uint32_t *id),
		      void *context)
{
	uint16_t i;

	if (btf_is_composite(type)) {
		for (i = 0; i < btf_vlen(type); i++)
			emit(context, &btf_members(type)[i].type);
	} else if (btf_is_array(type)) {
		emit(context, &btf_array(type)->type);
		emit(context, &btf_array(type)->index_type);
	} else if (btf_is_mod(type) || btf_is_typedef(type)) {
		emit(context, &type->type);
	}
}

static void choose_part(void *context, uint32_t *id)
{
	choose(context, *id);
}

static void renumber_part(void *context, uint32_t *id)
{
	const struct chosen *chosen = context;

	*id = chosen->numbers[*id];
}

static struct btf_type *type_at(const struct btf *btf, uint32_t id)
{
	return (struct btf_type *)btf__type_by_id(btf, id);
}

/* All types of the kernel that have a name of our own ones, and all that these are made of. */
static void choose_types(struct chosen *chosen, const struct btf *own)
{
	vec(struct name) names = {0};
	uint32_t id, count = btf__type_cnt(chosen->all);
	size_t i;

	for (id = 1; id < btf__type_cnt(own); id++) {
		const struct btf_type *type = btf__type_by_id(own, id);

		if (is_root(type) && type->name_off &&
		    !vec_push(&names, essential(btf__name_by_offset(own, type->name_off))))
			chosen->full = true;
	}
	if (names.count)
		qsort(names.at, names.count, sizeof(*names.at), compare);
	for (id = 1; id < count && names.count; id++) {
		const struct btf_type *type = btf__type_by_id(chosen->all, id);
		struct name name;

		if (!is_root(type) || !type->name_off)
			continue;
		name = essential(btf__name_by_offset(chosen->all, type->name_off));
		if (bsearch(&name, names.at, names.count, sizeof(*names.at), compare))
			choose(chosen, id);
	}
	vec_free(&names);
	for (i = 0; i < chosen->ids.count; i++)
		each_part(type_at(chosen->all, chosen->ids.at[i]), choose_part, chosen);
}

/* The same as types of their own; null: there is no memory. */
static struct btf *copy_types(struct chosen *chosen)
{
	struct btf *few = btf__new_empty();
	bool failed = !few || chosen->full;

	vec_foreach (&chosen->ids, id) {
		int number;

		if (failed)
			break;
		number = btf__add_type(few, chosen->all, btf__type_by_id(chosen->all, *id));
		failed = number != (int)chosen->numbers[*id];
		if (failed)
			break;
		if (btf_is_ptr(type_at(few, (uint32_t)number)))
			type_at(few, (uint32_t)number)->type = 0;
		each_part(type_at(few, (uint32_t)number), renumber_part, chosen);
	}
	if (!failed)
		return few;
	btf__free(few);
	return NULL;
}

static int write_file(struct kernel_types *types, const struct btf *few)
{
	uint32_t size;
	const void *bytes = btf__raw_data(few, &size);

	if (!bytes)
		return -ENOMEM;
	types->file = memfd_create("stackcam-types", MFD_CLOEXEC);
	if (types->file < 0)
		return -errno;
	if (write(types->file, bytes, size) != (ssize_t)size)
		return -EIO;
	snprintf(types->path, sizeof(types->path), "/proc/self/fd/%d", types->file);
	return 0;
}

static void make_file(struct kernel_types *types)
{
	struct chosen chosen = {.all = types->all};
	struct btf *own = kernel_types_of_probes(), *few = NULL;
	const void *object;
	size_t size;

	chosen.numbers = calloc(btf__type_cnt(types->all), sizeof(*chosen.numbers));
	if (own && chosen.numbers) {
		choose_types(&chosen, own);
		few = copy_types(&chosen);
	}
	if (few && write_file(types, few))
		types->path[0] = 0;
	/* where that fails, libbpf says what does not fit */
	object = probes__elf_bytes(&size);
	if (own) {
		kfuncs_fit(object, size, types->all, own, &types->fitted);
		types->resumes = kfunc_state(types->all, own, "bpf_task_work_schedule_resume") >=
				 KFUNC_POINTERS;
	}
	btf__free(few);
	btf__free(own);
	vec_free(&chosen.ids);
	free(chosen.numbers);
}

struct kernel_types *kernel_types_new(void)
{
	struct kernel_types *types = calloc(1, sizeof(*types));

	if (!types)
		return NULL;
	types->file = -1;
	types->all = btf__load_vmlinux_btf();
	types->loads = kernel_loads_try(types->all);
	if (types->all)
		make_file(types);
	return types;
}

void kernel_types_free(struct kernel_types *types)
{
	if (!types)
		return;
	if (types->file >= 0)
		close(types->file);
	btf__free(types->all);
	free(types->fitted);
	free(types);
}

const struct btf *kernel_types_all(const struct kernel_types *types)
{
	return types ? types->all : NULL;
}

void kernel_types_forget(struct kernel_types *types)
{
	if (!types)
		return;
	btf__free(types->all);
	types->all = NULL;
}

void kernel_types_opened(struct kernel_types *types)
{
	if (!types)
		return;
	free(types->fitted);
	types->fitted = NULL;
}

/* As probes__open_opts() does it. */
static struct probes *open_fitted(const void *fitted, const struct bpf_object_open_opts *options)
{
	struct probes *probes = calloc(1, sizeof(*probes));
	int err;

	if (!probes)
		return NULL;
	err = probes__create_skeleton(probes);
	if (!err) {
		probes->skeleton->data = (void *)fitted;
		err = bpf_object__open_skeleton(probes->skeleton, options);
	}
	if (!err)
		return probes;
	probes__destroy(probes);
	errno = -err;
	return NULL;
}

struct probes *kernel_types_open(const struct kernel_types *types)
{
	LIBBPF_OPTS(bpf_object_open_opts, options);
	struct probes *probes;

	if (types && types->path[0])
		options.btf_custom_path = types->path;
	if (types && types->fitted)
		probes = open_fitted(types->fitted, &options);
	else
		probes = probes__open_opts(&options);
	if (probes) {
		probes->rodata->kernel_loads = types && types->loads;
		probes->rodata->hold_resumes = types && types->resumes;
	}
	return probes;
}
