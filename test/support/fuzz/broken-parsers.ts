/** Parsers with the faults that fuzzing has to find. @module */
import { ofText, type Parser, promise } from './parser.ts'

const held: Buffer[] = []

export const PARSERS: readonly Parser[] = [
  ofText('throws what it does not declare', ['["a"]'], (text) => {
    if (text.startsWith('["a"')) return
    JSON.parse(text)
  }),
  ofText('rejects with it', ['a'], async (text) => {
    await undefined
    if (text.length > 3) throw new RangeError('too long')
  }),
  ofText('breaks a promise', ['a=b'], (text) => promise(!text.includes('=='), 'there is one equals sign')),
  ofText('hangs', ['aaaa'], (text) => {
    while (text.length === 3);
  }),
  ofText('waits for ever', ['aaaa'], () => new Promise<void>(() => undefined)),
  ofText('grows', ['a'], (text) => {
    held.push(Buffer.alloc(20_000, `${text}.`))
  }),
]
