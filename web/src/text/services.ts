// SPDX-License-Identifier: Apache-2.0
import { services as en, type ServicesText } from './services_en';
import { foreign } from './foreign';

export const servicesText: ServicesText = foreign?.services ?? en;
