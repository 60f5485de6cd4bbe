// SPDX-License-Identifier: Apache-2.0
// What the page says in Chinese: a file of its own, which only those load who read it (foreign.ts).
export { explain } from './explain_zh';
export { requests } from './requests_zh';
export { services } from './services_zh';
export { timeline } from './timeline_zh';
export { values } from './values_zh';
export { zh as page } from './zh';
