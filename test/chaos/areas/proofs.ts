/** Proofs: each is spent once, whoever spends it at the same time. */
import { type Area, byShop, type Context, rowsOf } from '../area.ts'
import type { Operation } from '../model.ts'

interface Made {
  readonly proof_id: string
  readonly circuit_id: string
  readonly proof: unknown
  readonly public_signals: unknown
}

const INPUTS = { data: { age: 36 }, rules: [{ field: 'age', op: 'gte', value: 18 }] }

export const proofs = (context: Context): Area => {
  const { model, random, shop } = context
  const known = new Map<string, Operation>()
  let asked = 0

  const spend = async (made: Made): Promise<void> => {
    const { proof_id, circuit_id, proof, public_signals } = made
    const body = { proof_id, circuit_id, proof, public_signals, consume: true }
    const operations = [0, 1].map((number) => model.begin('proofs', `${proof_id} spend ${number}`))
    const answers = await Promise.all(
      operations.map((operation) =>
        byShop<{ consumed: boolean }>(context, operation, '/v1/proofs/verify', { body, answers: [200, 409] }),
      ),
    )
    const spent = answers.filter((answer) => answer.body.consumed === true).length
    const isCertain = operations.every(({ attempts }) => attempts.length === 1)
    if (spent > 1 || (spent === 0 && isCertain))
      model.broken('no double spend', `proof ${proof_id} was spent ${spent} times`, ...operations)
  }

  return {
    name: 'proofs',
    clients: 1,
    pauseMs: 2_000,
    async step() {
      asked++
      const key = random.name()
      const operation = model.begin('proofs', key)
      const body = { circuit_id: 'yesno', inputs: INPUTS }
      const answer = await byShop<Made>(context, operation, '/v1/proofs/generate', { body, key })
      known.set(answer.body.proof_id, operation)
      await spend(answer.body)
    },
    async check(database) {
      const acknowledged = [...known]
      const rows = await rowsOf<{ id: string }>(database, 'proofs', 'id', shop.organisationId)
      const stored = new Set(rows.map(({ id }) => id))
      for (const [id, operation] of acknowledged)
        if (!stored.has(id)) model.broken('no lost write', `proof ${id} is not stored`, operation)
      if (rows.length > asked)
        model.broken('exactly once', `${rows.length} proofs are stored, and ${asked} asked for`)
    },
  }
}
