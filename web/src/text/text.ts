// SPDX-License-Identifier: Apache-2.0
import { en, type Text } from './en';
import { language, type Language } from './language';
import { zh } from './zh';

export const TEXTS: Record<Language, Text> = { en, zh };

/** The words of the page. They change only when the page is loaded anew. */
export const text: Text = TEXTS[language];
