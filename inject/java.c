// SPDX-License-Identifier: Apache-2.0
/*
 * libstackcam-java.so: an agent that a running JVM loads when a recorder asks for memory in use of
 * Java's heap (runtime/hotspot/attach.h). The JVM takes samples of objects, by bytes as
 * inject/memory.c does it (JEP 331), and calls the agent for each, in the thread that allocates.
 * The agent tags the object; when the garbage collector has found that nothing refers to it any
 * more, the JVM calls again with the tag. Both are told by executing a nop at which the recorder
 * has a probe, which takes the stack.
 *
 * When the recorder is gone without a word, its beat stops, and the next sample some seconds later is
 * the last one; then the JVM allocates as before. The library stays loaded: the JVM never unloads an
 * agent.
 *
 * It needs no library of its own. Nothing here waits or takes a lock.
 */
#include <stdbool.h>
#include <stddef.h>

#include "java_jvmti.h"
#include "java_places.h"

/* The most samples in use at a time. */
#define HELD_MAX (1u << 18)

/* What the JVM has without an agent (JEP 331). */
#define INTERVAL_USUAL			       (512 << 10)

#define CALL(env, name, ...)		       ((name)JVMTI_FUNCTION(env, CALL_##name))((env), ##__VA_ARGS__)
#define CALL_jvmti_set_event_notification_mode JVMTI_SET_EVENT_NOTIFICATION_MODE
#define CALL_jvmti_deallocate		       JVMTI_DEALLOCATE
#define CALL_jvmti_get_class_signature	       JVMTI_GET_CLASS_SIGNATURE
#define CALL_jvmti_set_tag		       JVMTI_SET_TAG
#define CALL_jvmti_set_event_callbacks	       JVMTI_SET_EVENT_CALLBACKS
#define CALL_jvmti_dispose_environment	       JVMTI_DISPOSE_ENVIRONMENT
#define CALL_jvmti_get_time		       JVMTI_GET_TIME
#define CALL_jvmti_add_capabilities	       JVMTI_ADD_CAPABILITIES
#define CALL_jvmti_set_heap_sampling_interval  JVMTI_SET_HEAP_SAMPLING_INTERVAL

struct java_state stackcam_java_state __attribute__((visibility("hidden")));

/* Changed by the JVM's one thread that executes what other processes ask for. */
static jvmti in_use;
static uint64_t last_tag;

/* The last beat of the recorder's, and when it was noticed. */
static uint64_t beat;
static int64_t beat_time;

/* -- places of probes -------------------------------------------------------------------------- */

/* As in memory_x86_64.S: pairs of a distance from here on and of what is seen there. */
__asm__(".pushsection .rodata.stackcam, \"a\", @progbits\n"
	".globl " MEMORY_PLACES_SYMBOL "\n"
	".type " MEMORY_PLACES_SYMBOL ", @object\n"
	".p2align 3\n" MEMORY_PLACES_SYMBOL ":\n"
	".quad stackcam_java_object - " MEMORY_PLACES_SYMBOL ", 5\n"
	".quad stackcam_java_free - " MEMORY_PLACES_SYMBOL ", 2\n"
	".quad 0, 0\n"
	".size " MEMORY_PLACES_SYMBOL ", . - " MEMORY_PLACES_SYMBOL "\n"
	".globl " MEMORY_ENTRIES_SYMBOL "\n"
	".type " MEMORY_ENTRIES_SYMBOL ", @object\n" MEMORY_ENTRIES_SYMBOL ":\n"
	".quad 0, 0, stackcam_java_state - " MEMORY_ENTRIES_SYMBOL "\n"
	".size " MEMORY_ENTRIES_SYMBOL ", . - " MEMORY_ENTRIES_SYMBOL "\n"
	".popsection");
_Static_assert(MEMORY_PLACE_OBJECT == 5 && MEMORY_PLACE_FREE == 2 && MEMORY_ENTRY_STATE == 2,
	       "the numbers above");

static __attribute__((noinline)) void send_object(uint64_t tag, uint64_t interval, uint64_t bytes,
						  const char *name)
{
	__asm__ volatile("stackcam_java_object: nop"
			 :
			 : "D"(tag), "S"(interval), "d"(bytes), "c"(name)
			 : "memory");
}

static __attribute__((noinline)) void send_free(uint64_t tag)
{
	__asm__ volatile("stackcam_java_free: nop" : : "D"(tag) : "memory");
}

/* -- what the JVM calls ------------------------------------------------------------------------ */

static void on_free(jvmti env, int64_t tag)
{
	(void)env;
	__atomic_fetch_sub(&stackcam_java_state.held, 1, __ATOMIC_RELAXED);
	send_free((uint64_t)tag);
}

/* The clock is the JVM's, as the recorder may live in another namespace of time. */
static bool is_granted(jvmti env)
{
	uint64_t last = __atomic_load_n(&stackcam_java_state.beat, __ATOMIC_RELAXED);
	int64_t now;

	if (CALL(env, jvmti_get_time, &now))
		return false;
	if (__atomic_load_n(&beat, __ATOMIC_RELAXED) != last) {
		__atomic_store_n(&beat_time, now, __ATOMIC_RELAXED);
		__atomic_store_n(&beat, last, __ATOMIC_RELAXED);
	}
	return now - __atomic_load_n(&beat_time, __ATOMIC_RELAXED) < JAVA_BEAT_NS;
}

static void on_object(jvmti env, void *jni, void *thread, void *object, void *klass, int64_t bytes)
{
	uint64_t tag = __atomic_add_fetch(&last_tag, 1, __ATOMIC_RELAXED) | JAVA_TAG;
	char *name = NULL;

	(void)jni, (void)thread;
	if (!is_granted(env)) {
		CALL(env, jvmti_set_event_notification_mode, JVMTI_DISABLE,
		     JVMTI_EVENT_SAMPLED_OBJECT_ALLOC, NULL);
		return;
	}
	if ((int64_t)__atomic_add_fetch(&stackcam_java_state.held, 1, __ATOMIC_RELAXED) >
	    HELD_MAX) {
		__atomic_fetch_sub(&stackcam_java_state.held, 1, __ATOMIC_RELAXED);
		__atomic_fetch_add(&stackcam_java_state.left_out, 1, __ATOMIC_RELAXED);
		return;
	}
	if (CALL(env, jvmti_get_class_signature, klass, &name, NULL))
		name = NULL;
	/* told before it can be freed: the caller has the object */
	send_object(tag, stackcam_java_state.interval, (uint64_t)bytes, name);
	if (CALL(env, jvmti_set_tag, object, (int64_t)tag))
		on_free(env, (int64_t)tag);
	if (name)
		CALL(env, jvmti_deallocate, name);
}

/* -- start and stop ---------------------------------------------------------------------------- */

static void stop(void)
{
	if (in_use) {
		CALL(in_use, jvmti_set_heap_sampling_interval, INTERVAL_USUAL);
		/* its events, capabilities and tags go with it */
		CALL(in_use, jvmti_dispose_environment);
	}
	in_use = NULL;
}

static bool enable(jvmti env, int event)
{
	return !CALL(env, jvmti_set_event_notification_mode, JVMTI_ENABLE, event, NULL);
}

static int begin(jvm vm, const uint64_t numbers[2])
{
	static void *const callbacks[JVMTI_EVENTS] = {
		[JVMTI_EVENT_OBJECT_FREE - JVMTI_EVENT_MIN] = (void *)on_free,
		[JVMTI_EVENT_SAMPLED_OBJECT_ALLOC - JVMTI_EVENT_MIN] = (void *)on_object,
	};
	static const uint32_t needed[JVMTI_CAPABILITIES_WORDS] = {
		1u << JVMTI_CAN_TAG_OBJECTS,
		1u << (JVMTI_CAN_GENERATE_OBJECT_FREE_EVENTS - 32) |
			1u << (JVMTI_CAN_GENERATE_SAMPLED_OBJECT_ALLOC - 32),
	};
	void *env;
	int err = ((jvm_get_env)JVM_FUNCTION(vm, JVM_GET_ENV))(vm, &env, JVMTI_VERSION_11);

	/* a JVM answers requests before it has started, and gives no environment until it has */
	if (err)
		return err == JNI_EVERSION ? JAVA_TOO_OLD : JAVA_EARLY;
	in_use = env;
	beat = 0;
	stackcam_java_state =
		(struct java_state){.interval = numbers[0], .beat = 1, .owner = numbers[1]};
	if (CALL(in_use, jvmti_add_capabilities, needed))
		return JAVA_TAKEN;
	if (CALL(in_use, jvmti_set_heap_sampling_interval, (int)numbers[0]) ||
	    CALL(in_use, jvmti_set_event_callbacks, callbacks, sizeof(callbacks)) ||
	    !enable(in_use, JVMTI_EVENT_OBJECT_FREE) ||
	    !enable(in_use, JVMTI_EVENT_SAMPLED_OBJECT_ALLOC))
		return JAVA_REFUSED;
	return JAVA_DONE;
}

/* Two numbers, each after a comma; false: something else stands there. */
static bool parse(const char *text, uint64_t numbers[2])
{
	for (int i = 0; i < 2; i++) {
		if (*text++ != ',' || *text < '0' || *text > '9')
			return false;
		for (numbers[i] = 0; *text >= '0' && *text <= '9'; text++)
			numbers[i] = numbers[i] * 10 + (uint64_t)(*text - '0');
	}
	return !*text;
}

__attribute__((visibility("default"))) int Agent_OnAttach(jvm vm, const char *options,
							  void *reserved);
__attribute__((visibility("default"))) int Agent_OnAttach(jvm vm, const char *options,
							  void *reserved)
{
	static const char word[] = "start";
	uint64_t numbers[2];
	int result;

	(void)reserved;
	for (size_t i = 0; i < sizeof(word) - 1; i++)
		if (!options || options[i] != word[i]) {
			stop();
			return JAVA_DONE;
		}
	if (!parse(options + sizeof(word) - 1, numbers) || !numbers[0] || numbers[0] > INT32_MAX)
		return JAVA_REFUSED;
	if (in_use && is_granted(in_use) && stackcam_java_state.owner != numbers[1])
		return JAVA_BUSY;
	stop();
	result = begin(vm, numbers);
	if (result != JAVA_DONE)
		stop();
	return result;
}
