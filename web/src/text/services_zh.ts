// SPDX-License-Identifier: Apache-2.0
// The words of the services and their map, in Chinese.
import type { ServicesText } from './services_en';

export const services: ServicesText = {
	name: '服务',
	map: '服务关系图',
	mapOf: (n) => `${n} 处：哪个服务请求了哪个服务。表格以文字说明同样的内容。`,
	mapHint: '请求从左到右；线的粗细表示请求所用的时间，虚线表示其中有失败。虚线框是地址，其服务端不在这些影片中。',
	hidden: (n) => `另有 ${n} 处只在表格中。`,
	cut: '服务过多，未能全部分开：可用筛选查看。',
	way: (from, to, rate, p99, failed) => `${from} 到 ${to}：每秒 ${rate} 次，p99 ${p99}，失败 ${failed}`,
	figures: (rate, p99) => `每秒 ${rate} 次，p99 ${p99}`,
	asksOnly: '此处没有处理请求',
	unknown: (protocol) => `${protocol}，未拍摄`,
	failedOf: (n) => `失败 ${n}`,
	calls: '哪个服务请求了哪个服务',
	from: '服务', to: '请求对象', protocol: '协议', eachSecond: '每秒',
	several: '多个服务',
	share: '占比',
	shareHint: '在该服务处理的全部请求的时间中，这些请求为其打开的时间所占比例。同时打开的各自计算。',
};
