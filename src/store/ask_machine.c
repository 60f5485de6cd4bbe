// SPDX-License-Identifier: Apache-2.0
/* What machines did beside their threads: the films have it, the index does not. */
#include "store/ask_private.h"
#include "store/machine.h"

struct adder {
	struct machine *machine;
	struct fail *why;
};

static int add_film(void *context, const struct ask_film *of)
{
	struct adder *t = context;

	return machine_add(t->machine, of->film, of->host, t->why);
}

int store_machine(struct store *store, const struct store_ask *ask, struct machine *machine,
		  struct store_sum *sum, struct fail *why)
{
	struct adder t = {machine, why};
	struct asked asked = {0};
	int err;

	*sum = (struct store_sum){0};
	err = asked_begin(&asked, store, ask, why);
	machine->from = asked.from;
	machine->to = asked.to;
	if (!err)
		err = ask_films(&asked, film_open, sum, add_film, &t, why);
	if (!err)
		machine_end(machine);
	asked_free(&asked);
	return err;
}
