// SPDX-License-Identifier: Apache-2.0
// Names and numbers for people: those of the page of one flame graph (src/show/flame_page), with types.
import * as plain from '../../src/show/flame_page/format.mjs';
import { text } from './text/text';

/** A name from outside as it may be shown and copied. */
export const safe: (text: string) => string = plain.safe;
/** "1,234,567" */
export const count: (n: number) => string = plain.count;
/** The function that writes values of a unit: "1.234 s", "12.3 MB", "1,234". */
export const formatOf: (unit: string) => (value: number) => string = plain.formatOf;
/** "12.34%" of whole, or a dash where there is no whole. */
export const percent: (part: number, whole: number) => string = plain.percent;
/** "+1.20 points": how a share changed; change is a part of one. */
export const points = (change: number): string => plain.points(change, text.flame.points);
/** "a/b/libc.so.6" to "libc.so.6" */
export const baseName: (path: string) => string = plain.baseName;
/** A C++ or Rust name without its parameters, for where the whole name has no room. */
export const withoutParameters: (name: string) => string = plain.withoutParameters;
