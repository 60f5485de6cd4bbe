// SPDX-License-Identifier: Apache-2.0
import { values as en, type ValuesText } from './values_en';
import { foreign } from './foreign';

export const valuesText: ValuesText = foreign?.values ?? en;
