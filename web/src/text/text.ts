// SPDX-License-Identifier: Apache-2.0
import { en, type Text } from './en';
import { foreign } from './foreign';

/** The words of the page. They change only when the page is loaded anew. */
export const text: Text = foreign?.page ?? en;
