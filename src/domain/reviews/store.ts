/** The setting of reviews, and decisions that wait for a second reviewer. Columns `…_at` are Unix milliseconds. @module */
import type { Database } from '../../store/database.ts'
import { boolean, bytes, integer, type RowOf, table, text } from '../../store/table.ts'

export const settings = table('review_settings', {
  organisation: text().key(),
  second_reviewer: boolean().merge('last'),
  changed_at: integer().merge('last'),
})

export const proposals = table('review_proposals', {
  organisation: text().key(),
  /** What is decided about, such as `kyc/kyc_…`. */
  item: text().key(),
  /** Counts what was proposed and confirmed about the item. */
  number: integer().merge('last'),
  entry_index: integer().merge('last'),
  verdict: text().merge('last'),
  sealed_reason: bytes().merge('last'),
  /** `acc_…` */
  proposed_by: text().merge('last'),
  proposed_at: integer().merge('last'),
})

export type ProposalRow = RowOf<typeof proposals>

/** Whether an organisation wants a second reviewer. */
export const wantsSecond = async ({ knex }: Database, organisation: string): Promise<boolean> =>
  (await knex(settings.name).where({ organisation }).first('second_reviewer'))?.second_reviewer === true

/** The newest proposals about some items, by item. */
export const findProposals = async (
  { knex }: Database,
  organisation: string,
  items: readonly string[],
): Promise<ReadonlyMap<string, ProposalRow>> => {
  if (items.length === 0) return new Map()
  const rows: ProposalRow[] = await knex<ProposalRow>(proposals.name)
    .where({ organisation })
    .whereIn('item', [...items])
  return new Map(rows.map((row) => [row.item, row]))
}
