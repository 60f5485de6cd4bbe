/* SPDX-License-Identifier: Apache-2.0 */
#ifndef INJECT_JAVA_JVMTI_H
#define INJECT_JAVA_JVMTI_H

#include <stdint.h>

/*
 * What is used of the JVM Tool Interface, by the positions that its specification gives each
 * function, capability and event (https://docs.oracle.com/en/java/javase/17/docs/specs/jvmti.html);
 * they have not changed since Java 11, which brought the last of these. Declared here, so that
 * stackcam builds without a JDK.
 */

/* Both begin with a pointer to their functions. */
typedef void **const *jvm;
typedef void **const *jvmti;

/* Positions count from 1. */
#define JVM_FUNCTION(vm, at)	((*(vm))[at])
#define JVMTI_FUNCTION(env, at) ((*(env))[(at)-1])

/* Of the JNI's invocation interface: its functions follow three reserved words. */
#define JVM_GET_ENV 6
typedef int (*jvm_get_env)(jvm vm, void **env, int version);

#define JNI_EVERSION -3

#define JVMTI_VERSION_11		  0x300b0000

#define JVMTI_SET_EVENT_NOTIFICATION_MODE 2
#define JVMTI_DEALLOCATE		  47
#define JVMTI_GET_CLASS_SIGNATURE	  48
#define JVMTI_SET_TAG			  107
#define JVMTI_SET_EVENT_CALLBACKS	  122
#define JVMTI_DISPOSE_ENVIRONMENT	  127
#define JVMTI_GET_TIME			  139
#define JVMTI_ADD_CAPABILITIES		  142
#define JVMTI_SET_HEAP_SAMPLING_INTERVAL  156

typedef int (*jvmti_set_event_notification_mode)(jvmti env, int mode, int event, void *thread, ...);
typedef int (*jvmti_deallocate)(jvmti env, char *memory);
typedef int (*jvmti_get_class_signature)(jvmti env, void *klass, char **signature, char **generic);
typedef int (*jvmti_set_tag)(jvmti env, void *object, int64_t tag);
typedef int (*jvmti_set_event_callbacks)(jvmti env, void *const *callbacks, int bytes);
typedef int (*jvmti_dispose_environment)(jvmti env);
typedef int (*jvmti_get_time)(jvmti env, int64_t *ns);
typedef int (*jvmti_add_capabilities)(jvmti env, const uint32_t *capabilities);
typedef int (*jvmti_set_heap_sampling_interval)(jvmti env, int bytes);

/* Bits of 128. */
#define JVMTI_CAPABILITIES_WORDS		4
#define JVMTI_CAN_TAG_OBJECTS			0
#define JVMTI_CAN_GENERATE_OBJECT_FREE_EVENTS	32
#define JVMTI_CAN_GENERATE_SAMPLED_OBJECT_ALLOC 43

/* Events; their callbacks lie in an array, in which the first has the number MIN. */
#define JVMTI_EVENT_MIN			 50
#define JVMTI_EVENT_OBJECT_FREE		 83
#define JVMTI_EVENT_SAMPLED_OBJECT_ALLOC 86
#define JVMTI_EVENTS			 (JVMTI_EVENT_SAMPLED_OBJECT_ALLOC + 1 - JVMTI_EVENT_MIN)

#define JVMTI_DISABLE			 0
#define JVMTI_ENABLE			 1

#endif
