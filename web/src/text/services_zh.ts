// SPDX-License-Identifier: Apache-2.0
// The words of the services and their map, in Chinese.
import type { ServicesText } from './services_en';

export const services: ServicesText = {
	name: '服务',
	map: '服务关系图',
	mapOf: (n) => `${n} 处；表格说明同样的内容`,
	mapHint: '线的粗细表示请求所用的时间，虚线表示其中有失败。虚线框不在这些影片中。',
	hidden: (n) => `另有 ${n} 处在表格中。`,
	cut: '服务过多，未全部列出。',
	figures: (rate, p99) => `每秒 ${rate} 次，p99 ${p99}`,
	asksOnly: '此处没有处理请求',
	from: '服务', to: '请求对象', protocol: '协议', eachSecond: '每秒',
	share: '占比',
	shareHint: '该服务所处理请求的时间中，这些请求打开的部分',
};
