// SPDX-License-Identifier: Apache-2.0
#include "../prelude.h"

#include <errno.h>
#include <string.h>

#include "film/event_list.h"

static void every_row_has_its_words(void **state)
{
	(void)state;
	for (int id = 0; id < EVENT_IDS; id++) {
		const struct event_type *type = event_type((enum event_id)id);

		assert_non_null(type->name);
		assert_non_null(type->title);
		assert_true(*type->rate && *type->noun && *type->about);
		assert_ptr_equal(event_named(type->name), type);
		assert_ptr_equal(event_find(type->name, type->unit), type);
		assert_int_equal(event_quantity(type->unit), type->quantity);
	}
	assert_string_equal(event_usual()->name, "on-cpu");
	assert_true(event_usual()->is_recordable);
}

static void another_unit_is_another_event(void **state)
{
	const struct event_type *type = event_find("calls", "count");

	(void)state;
	assert_null(type->name);
	assert_int_equal(type->shape, SHAPE_SAMPLES);
	assert_int_equal(type->quantity, EVENT_COUNT);
	assert_int_equal(event_find("calls", "ns")->shape, SHAPE_CALLS);
}

static void events_without_a_row_go_by_their_unit(void **state)
{
	(void)state;
	assert_string_equal(event_find("parcels", "bytes")->rate, "bytes/s");
	assert_string_equal(event_find("parcels", "furlongs")->rate, "/s");
	assert_string_equal(event_find("naps", "ns")->rate, "threads");
	assert_string_equal(event_find("naps", "ns")->noun, "samples");
	assert_null(event_named("naps"));
}

static void what_is_there_is_a_level(void **state)
{
	(void)state;
	assert_true(event_find("inuse_space", "bytes")->is_level);
	assert_true(event_find("inuse_objects", "count")->is_level);
	assert_true(event_find("goroutines", "count")->is_level);
	assert_true(event_find("jemalloc_inuse", "bytes")->is_level);
	assert_true(event_find("mem-in-use", "pages")->is_level);
	assert_false(event_find("alloc_space", "bytes")->is_level);
	assert_false(event_find("wall", "ns")->is_level);
	assert_false(event_find("on-cpu", "ns")->is_level);
}

static void names_abroad_lead_back(void **state)
{
	(void)state;
	assert_string_equal(event_type_abroad("on-cpu", "ns"), "cpu");
	assert_string_equal(event_pyroscope("on-cpu", "ns"), "process_cpu");
	assert_string_equal(event_type_abroad("calls", "ns"), "calls");
	assert_string_equal(event_pyroscope("parcels", "count"), "parcels");
	for (int id = 0; id < EVENT_IDS; id++) {
		const struct event_type *type = event_type((enum event_id)id);
		const char *abroad = event_type_abroad(type->name, type->unit);
		const char *unit = event_unit_abroad(type->unit);

		assert_string_equal(event_name_from(abroad, unit), type->name);
	}
	assert_string_equal(event_name_from("cpu", "milliseconds"), "on-cpu");
	assert_string_equal(event_name_from("cpu", "count"), "cpu");
	assert_string_equal(event_name_from("", "count"), "unknown");
}

static void units_are_taken_from_others(void **state)
{
	(void)state;
	assert_string_equal(event_unit_from("milliseconds")->unit, "ns");
	assert_int_equal(event_unit_from("milliseconds")->scale, 1000000);
	assert_string_equal(event_unit_from("By")->unit, "bytes");
	assert_string_equal(event_unit_from("furlongs")->unit, "count");
	assert_string_equal(event_unit_abroad("ns"), "nanoseconds");
	assert_string_equal(event_unit_abroad("furlongs"), "furlongs");
	assert_string_equal(event_unit_speedscope("count"), "none");
	assert_string_equal(event_unit_speedscope("furlongs"), "none");
	assert_true(event_counts_samples("samples", "count"));
	assert_false(event_counts_samples("samples", "ns"));
	assert_int_equal(event_period("ns", 100), 10000000);
	assert_int_equal(event_period("ns", 0), 0);
	assert_int_equal(event_period("bytes", 100), 0);
}

static void endings_are_those_of_clients(void **state)
{
	(void)state;
	assert_true(event_is_pyroscope_ending("cpu"));
	assert_true(event_is_pyroscope_ending("inuse_space"));
	assert_false(event_is_pyroscope_ending("on-cpu"));
	assert_false(event_is_pyroscope_ending("delay"));
	assert_false(event_is_pyroscope_ending("example"));
}

static void only_what_can_be_filmed_is_asked_for(void **state)
{
	static const char *const refused[] = {
		"",	   ",",	    "on-cpu,",	   ",on-cpu",
		"on-cpu ", "calls", "inuse_space", "on-cpu,call-stacks"};
	struct event_list list;
	struct fail why;

	(void)state;
	assert_int_equal(event_list_parse("on-cpu", &list, &why), 0);
	assert_int_equal(list.count, 1);
	assert_true(event_list_has(&list, EVENT_ON_CPU));
	assert_false(event_list_has(&list, EVENT_CALLS));
	assert_int_equal(event_list_parse_more("threads,on-cpu", &list, &why), 0);
	assert_int_equal(list.count, 2);
	assert_true(event_list_has(&list, EVENT_ON_CPU) && event_list_has(&list, EVENT_THREADS));
	/* others come in the place of what was only the default */
	list.yields = true;
	assert_int_equal(event_list_parse_more("deaths", &list, &why), 0);
	assert_int_equal(event_list_parse_more("requests", &list, &why), 0);
	assert_true(event_list_has(&list, EVENT_DEATHS) && event_list_has(&list, EVENT_REQUESTS));
	assert_int_equal(list.count, 2);
	assert_int_equal(event_list_parse("on-cpu,on-cpu", &list, &why), 0);
	assert_int_equal(list.count, 1);
	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
		assert_int_equal(event_list_parse(refused[i], &list, &why), -EINVAL);
		assert_non_null(strstr(why.what, "there is no event '"));
		assert_non_null(strstr(why.what, "on-cpu"));
	}
}

static void long_names_are_cut(void **state)
{
	char name[512], choices[7];
	struct event_list list;
	struct fail why;

	(void)state;
	memset(name, 'x', sizeof(name));
	name[sizeof(name) - 1] = 0;
	assert_int_equal(event_list_parse(name, &list, &why), -EINVAL);
	event_list_choices(choices, sizeof(choices));
	assert_string_equal(choices, "on-cpu");
	event_list_choices(choices, 3);
	assert_string_equal(choices, "on");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(every_row_has_its_words),
		cmocka_unit_test(another_unit_is_another_event),
		cmocka_unit_test(events_without_a_row_go_by_their_unit),
		cmocka_unit_test(what_is_there_is_a_level),
		cmocka_unit_test(names_abroad_lead_back),
		cmocka_unit_test(units_are_taken_from_others),
		cmocka_unit_test(endings_are_those_of_clients),
		cmocka_unit_test(only_what_can_be_filmed_is_asked_for),
		cmocka_unit_test(long_names_are_cut),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
