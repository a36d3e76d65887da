/** Names of made-up people, the same at each run, as many as are wanted. @module */
import { seeded } from './seeded.ts'

const SYLLABLES =
  'ka ri mo ha med al iv an pet ro vsk ki li na sha yu ge or gi ber to dra mir zo fa tim us sein ab dul ne wil son ton ger man chen wu qa dir el sa va len ko tis pou los mar ti nez gar ci fer do ma bre kov ich enko wa zy dze shv ani okon kwo ade bay ngu tran vu ho ang jin ping lee cho park'.split(
    ' ',
  )
const GIVEN =
  'vladimir dmitry sergey mohammed ahmed ali hassan hussein maria anna john james robert william li wei wang kim nguyen jose juan carlos fatima omar ivan andrei elena olga peter paul thomas michael david daniel abdul abdullah ibrahim yusuf khalid george thi van jean pierre hans karl'.split(
    ' ',
  )
const ENTRIES_OF_GIVEN_NAMES = 2000
const FAMILY_NAMES = 30_000

/** As in real life, few names are frequent and many are rare. */
export const backgroundNames = (count: number, seed = 1): string[] => {
  const random = seeded(seed)
  const pick = <T>(list: readonly T[], skew: number): T =>
    list[Math.floor(list.length * random() ** skew)] as T
  const word = (): string =>
    Array.from({ length: 2 + Math.floor(random() * 2.6) }, () => pick(SYLLABLES, 1)).join('')
  const given = [...GIVEN, ...Array.from({ length: ENTRIES_OF_GIVEN_NAMES }, word)]
  const family = Array.from({ length: FAMILY_NAMES }, word)
  return Array.from({ length: count }, () => {
    const middle = random() < 0.45 ? [pick(given, 3)] : []
    const particle = random() < 0.08 ? ['al'] : []
    return [pick(given, 3), ...middle, ...particle, pick(family, 1.6)].join(' ')
  })
}
