// SPDX-License-Identifier: Apache-2.0
// Of a row of the timeline, in pixels.
export const ROW = 20;
/** Which part the slices fill, and how far below its upper edge. */
export const STRIP = 14;
export const STRIP_TOP = 3;
