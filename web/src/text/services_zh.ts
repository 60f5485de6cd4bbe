// SPDX-License-Identifier: Apache-2.0
// The words of the services and their map, in Chinese.
import type { ServicesText } from './services_en';

export const services: ServicesText = {
	name: '服务',
	map: '服务关系图',
	mapOf: (n) => `${n} 处；表格说明同样的内容`,
	mapHint: '线越粗：请求用时越多。虚线：其中有失败。虚线框：未拍摄。',
	hidden: (n) => `另有 ${n} 处在表格中。`,
	cut: '服务过多，未全部列出。',
	figures: (rate, p99) => `每秒 ${rate} 次，p99 ${p99}`,
	asksOnly: '仅为客户端',
	from: '服务', to: '请求对象', protocol: '协议', eachSecond: '请求/秒',
	share: '占比',
	shareHint: '该服务所处理请求的时间中，这些请求打开的部分',
};
