// SPDX-License-Identifier: Apache-2.0
import { requests as en, type RequestsText } from './requests_en';
import { foreign } from './foreign';

export const requestsText: RequestsText = foreign?.requests ?? en;
