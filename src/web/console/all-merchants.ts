/** All merchants, for what names or chooses one of them. @module */
import type { Merchant, MerchantList } from '../../domain/accounts/schemas.ts'
import { type Reading, useWork } from './parts/loaded.tsx'
import { readRows } from './parts/read-rows.ts'
import { ask } from './session.ts'

const PATH = '/console/api/merchants'

const readAll = async (): Promise<readonly Merchant[]> => {
  const all: Merchant[] = []
  for (let next: string | null | undefined; next !== null; ) {
    const page = await readRows(
      (path) => ask<MerchantList>('GET', path),
      PATH,
      ({ merchants }) => merchants,
      next,
    )
    all.push(...page.rows)
    next = page.next
  }
  return all
}

/** Reads them to their end. */
export const useMerchants = (): Reading<readonly Merchant[]> => useWork(PATH, readAll)
