// SPDX-License-Identifier: Apache-2.0
import { language } from './language';

/** The words of the page where it is not read in English; null: it is. */
export const foreign = language === 'zh' ? await import('./chinese.js') : null;
