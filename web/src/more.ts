// SPDX-License-Identifier: Apache-2.0
// The views that load when one of them is first opened: readers of profiles never wait for them.
export { Calls } from './views/calls';
export { Compare } from './views/compare';
export { Requests } from './views/requests';
export { Timeline } from './views/timeline';
