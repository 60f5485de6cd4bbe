// SPDX-License-Identifier: Apache-2.0
/* Attaches all programs of a BPF object, says "ready", and keeps them until its input ends. */
#include <stdio.h>
#include <unistd.h>

#include <bpf/libbpf.h>

int main(int argc, char **argv)
{
	struct bpf_object *object = argc > 1 ? bpf_object__open_file(argv[1], NULL) : NULL;
	struct bpf_program *program;
	char byte;

	if (!object || bpf_object__load(object))
		return 1;
	bpf_object__for_each_program (program, object) {
		if (!bpf_program__attach(program))
			return 1;
	}
	puts("ready");
	fflush(stdout);
	while (read(STDIN_FILENO, &byte, 1) > 0)
		;
	return 0;
}
