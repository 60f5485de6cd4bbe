/* SPDX-License-Identifier: Apache-2.0 */
#ifndef PROCESS_PODS_H
#define PROCESS_PODS_H

#include <stdbool.h>
#include <stddef.h>

/*
 * Which pod of Kubernetes a container belongs to, by what the kubelet leaves on its node: the
 * folders /var/log/pods/NAMESPACE_POD_UID/CONTAINER, and the links
 * /var/log/containers/POD_NAMESPACE_CONTAINER-ID.log (Kubernetes' documentation, "Logging
 * Architecture"). The API is not asked. Names are those that Kubernetes allows; others are passed
 * over.
 */
enum {
	PODS_UID_SIZE = 64,
	PODS_NAMES_SIZE = 384,
};

/* The UID in the path of a control group, as the folders have it; false: it is not of a pod. */
bool pods_uid(const char *cgroup, char uid[PODS_UID_SIZE]);

/*
 * Writes "NAMESPACE/POD/CONTAINER" of the container id in a pod, without the last where it is not
 * known (yet); false: nothing is known. root: what lies before /var/log; "" usually.
 */
bool pods_names(const char *root, const char *uid, const char *id, char names[PODS_NAMES_SIZE]);

/* Whether names that were found lack nothing. */
bool pods_complete(const char *names);

/* Where the node's /var/log is: here, or, in a container with the node's processes, there. */
const char *pods_root(void);

#endif
