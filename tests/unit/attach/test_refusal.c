// SPDX-License-Identifier: Apache-2.0
/* What libbpf says of programs and maps that the kernel refuses, in the words of its versions. */
#include "../prelude.h"

#include "attach/refusal.h"

static void read_all(struct refusal *refusal, const char *const *warnings)
{
	*refusal = (struct refusal){0};
	for (; *warnings; warnings++)
		refusal_read(refusal, *warnings);
}

static void test_programs(void **state)
{
	static const char *const warnings[] = {
		"libbpf: prog 'on_cpu': BPF program load failed: Invalid argument\n",
		"libbpf: prog 'on_cpu': -- BEGIN PROG LOAD LOG --\n"
		"0: R1=ctx() R10=fp0\n"
		"; return *at; @ on_cpu.bpf.c:12\n"
		"R2 invalid mem access 'scalar'\n"
		"verification time 12 usec\n"
		"stack depth 8\n"
		"processed 3 insns (limit 1000000) max_states_per_insn 0\n"
		"-- END PROG LOAD LOG --\n",
		"libbpf: prog 'on_cpu': failed to load: -22\n",
		"libbpf: failed to load object 'probes'\n",
		NULL,
	};
	struct refusal refusal;

	(void)state;
	read_all(&refusal, warnings);
	assert_string_equal(refusal.name, "on_cpu");
	assert_string_equal(refusal.words, "R2 invalid mem access 'scalar'");
	assert_true(refusal.has_log);
}

/* A map that is made without types at the second try is not refused; the last one is. */
static void test_maps(void **state)
{
	static const char *const warnings[] = {
		"libbpf: Error in bpf_create_map_xattr(first):ERROR: strerror_r(-524)=22(-524). "
		"Retrying without BTF.\n",
		"libbpf: prog 'other': relo #1: no matching targets found\n",
		"libbpf: map 'off_cpu_threads': failed to create: Cannot allocate memory(-12)\n",
		"libbpf: failed to load object 'probes'\n",
		NULL,
	};
	struct refusal refusal;

	(void)state;
	read_all(&refusal, warnings);
	assert_string_equal(refusal.name, "off_cpu_threads");
	assert_string_equal(refusal.words, "failed to create: Cannot allocate memory(-12)");
	assert_false(refusal.has_log);
}

static void test_others(void **state)
{
	static const char *const without[] = {
		"",
		"\n",
		"libbpf: failed to load object 'probes'\n",
		"libbpf: prog 'unfinished",
		"libbpf: prog '\n'\n",
		"libbpf: map 'a name that is longer than any of ours may "
		"be, so that it cannot be one': failed\n",
		NULL};
	struct refusal refusal;

	(void)state;
	read_all(&refusal, without);
	assert_string_equal(refusal.name, "");
	/* an empty log says less than libbpf */
	refusal_read(&refusal, "libbpf: prog 'x': failed to load: -7\n");
	refusal_read(&refusal, "libbpf: prog 'x': -- BEGIN PROG LOAD LOG --\n"
			       "-- END PROG LOAD LOG --\n");
	assert_string_equal(refusal.name, "x");
	assert_string_equal(refusal.words, "failed to load: -7");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_programs),
		cmocka_unit_test(test_maps),
		cmocka_unit_test(test_others),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
