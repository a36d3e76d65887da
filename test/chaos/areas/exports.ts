/** Exports: each entry of the shop once and in order, whichever server writes the file and whatever has become of it before. */
import type { Area, Context } from '../area.ts'

interface Exported {
  readonly rows: readonly { readonly type: string; readonly index?: number }[]
}

/** Windows end a while ago: what is committed just now may bear a time just before. */
const WINDOW_END_MS = 5_000
const WINDOW_MS = 15_000
/** By the clock of a server that is ahead, entries bear times to come. */
const AHEAD_MS = 3_600_000

export const exports = ({ model, ask, askAt, servers, random, shop }: Context): Area => {
  const begunAt = Date.now() - AHEAD_MS
  /** Indexes of the entries in a file of each server, of all that happened. */
  let wholes: { readonly url: string; readonly indexes: readonly number[] }[] = []

  const exported = async (from: Context['ask'], since: number, until: number): Promise<number[]> => {
    const operation = model.begin('exports', `${since} to ${until}`)
    const path = `/api/export/siem?format=json&since=${since}&until=${until}`
    const { body } = await from<Exported>(operation, 'GET', path, { key: shop.apiKey, answers: [200] })
    const indexes = body.rows.flatMap(({ type, index }) =>
      type === 'merkle.leaf' && index !== undefined ? [index] : [],
    )
    if (indexes.some((index, place) => place > 0 && index <= (indexes[place - 1] ?? 0)))
      model.broken('exports', `entries stand twice, or in another order, in ${path}`, operation)
    return indexes
  }

  return {
    name: 'exports',
    clients: 1,
    pauseMs: 3_000,
    async step() {
      const until = Date.now() - WINDOW_END_MS - random.below(WINDOW_MS)
      await exported(ask, until - WINDOW_MS, until)
    },
    async settle() {
      wholes = []
      for (const url of servers())
        wholes.push({ url, indexes: await exported(askAt(url), begunAt, Date.now() + AHEAD_MS) })
    },
    async check(database, isEnd) {
      if (!isEnd) return
      const { rows } = await database.query<{ idx: number }>(
        'SELECT idx FROM ledger_entries WHERE organisation = $1 ORDER BY idx',
        [shop.organisationId],
      )
      for (const { url, indexes } of wholes) {
        const wrong = rows.findIndex(({ idx }, place) => indexes[place] !== idx)
        if (wrong >= 0 || indexes.length !== rows.length)
          model.broken(
            'exports',
            `${url} exports ${indexes.length} of ${rows.length} entries; the first that differs is ${rows[wrong]?.idx}`,
          )
      }
    },
  }
}
