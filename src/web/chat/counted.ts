/** Numbers with what they count. @module */

/** @returns such as `1 reply`, `2 replies`, `1,000 replies` */
export const counted = (count: number, one: string, many = `${one}s`): string =>
  `${count.toLocaleString('en-GB')} ${count === 1 ? one : many}`
