/** Consents: what was recorded holds, and what was withdrawn does not, from the answer on and whichever server is asked. */
import { type Area, byShop, type Context, rowsOf } from '../area.ts'
import type { Operation } from '../model.ts'

const WITHDRAWALS = 0.5

export const consents = (context: Context): Area => {
  const { model, random, shop } = context
  const known = {
    consents: new Map<string, Operation>(),
    consent_withdrawals: new Map<string, Operation>(),
  }
  let asked = 0

  const expectStanding = async (operation: Operation, consentId: string, isValid: boolean): Promise<void> => {
    const { body } = await byShop<{ valid: boolean; reason?: string }>(
      context,
      operation,
      '/api/consent/verify',
      { body: { consentId } },
    )
    if (body.valid !== isValid)
      model.broken('revoked is revoked', `consent ${consentId}: ${JSON.stringify(body)}`, operation)
  }

  return {
    name: 'consents',
    clients: 1,
    pauseMs: 150,
    async step() {
      asked++
      const subjectId = `person-${random.name()}`
      const operation = model.begin('consents', subjectId)
      const body = { subjectId, controller: 'https://shop.example', purposes: ['newsletter'] }
      const logged = await byShop<{ consentId: string }>(context, operation, '/api/consent/log', {
        body,
        answers: [201],
        key: random.name(),
      })
      const { consentId } = logged.body
      known.consents.set(consentId, operation)
      await expectStanding(operation, consentId, true)
      if (!random.chance(WITHDRAWALS)) return
      await byShop(context, operation, '/api/consent/revoke', { body: { consentId }, key: random.name() })
      known.consent_withdrawals.set(consentId, operation)
      await expectStanding(operation, consentId, false)
    },
    async check(database) {
      for (const [table, column] of [
        ['consents', 'id'],
        ['consent_withdrawals', 'consent'],
      ] as const) {
        const acknowledged = [...known[table]]
        const rows = await rowsOf<{ id: string }>(database, table, `${column} AS id`, shop.organisationId)
        const stored = new Set(rows.map(({ id }) => id))
        for (const [id, operation] of acknowledged)
          if (!stored.has(id)) model.broken('no lost write', `${id} is not in ${table}`, operation)
        if (rows.length > asked)
          model.broken('exactly once', `${rows.length} rows in ${table}, and ${asked} asked for`)
      }
    },
  }
}
