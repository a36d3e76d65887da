/** Tokens for a single use: issued once, used once whoever asks at the same time, and refused once they are revoked. */
import { type Area, byShop, type Context, rowsOf } from '../area.ts'
import type { Operation } from '../model.ts'

interface Issued {
  readonly tokenId: string
  readonly token: string
}

interface Verdict {
  readonly valid: boolean
  readonly consumed: boolean
  readonly reasonCodes: readonly string[]
}

const REVOCATIONS = 0.3
const TTL_SECONDS = 24 * 3600

export const tokens = (context: Context): Area => {
  const { model, random, shop } = context
  /** Tokens by what was acknowledged of them. */
  const known = {
    tokens: new Map<string, Operation>(),
    token_uses: new Map<string, Operation>(),
    token_revocations: new Map<string, Operation>(),
  }

  let asked = 0

  const issue = async (): Promise<Issued> => {
    asked++
    const subject = `member-${random.name()}`
    const operation = model.begin('tokens', subject)
    const body = { subject, singleUse: true, ttl: TTL_SECONDS }
    const path = '/api/tokens/generate'
    const answer = await byShop<Issued>(context, operation, path, {
      body,
      answers: [201],
      key: random.name(),
    })
    known.tokens.set(answer.body.tokenId, operation)
    return answer.body
  }

  const validate = async (operation: Operation, token: string, consume: boolean) =>
    byShop<Verdict>(context, operation, '/api/tokens/validate', {
      body: { token, consume },
      answers: [200, 409],
    })

  const use = async ({ tokenId, token }: Issued): Promise<void> => {
    const operations = [0, 1].map((number) => model.begin('tokens', `${tokenId} use ${number}`))
    const answers = await Promise.all(operations.map((operation) => validate(operation, token, true)))
    const uses = answers.filter(({ body }) => body.consumed === true).length
    const isCertain = operations.every(({ attempts }) => attempts.length === 1)
    // Where an answer was lost, that one may have used it.
    if (uses > 1 || (uses === 0 && isCertain))
      model.broken('no double spend', `token ${tokenId} was used ${uses} times`, ...operations)
    answers.forEach(({ body }, index) => {
      if (body.consumed === true) known.token_uses.set(tokenId, operations[index] as Operation)
    })
  }

  const revoke = async ({ tokenId, token }: Issued): Promise<void> => {
    const operation = model.begin('tokens', `${tokenId} revocation`)
    await byShop(context, operation, '/api/tokens/revoke', { body: { tokenId }, key: random.name() })
    known.token_revocations.set(tokenId, operation)
    const { body } = await validate(operation, token, false)
    if (body.valid !== false || !body.reasonCodes.includes('TOKEN_REVOKED'))
      model.broken('revoked is revoked', `token ${tokenId} is valid after its revocation`, operation)
  }

  return {
    name: 'tokens',
    clients: 1,
    pauseMs: 120,
    async step() {
      const issued = await issue()
      await (random.chance(REVOCATIONS) ? revoke(issued) : use(issued))
    },
    async check(database) {
      const acknowledged = Object.entries(known).map(([table, ids]) => [table, [...ids]] as const)
      for (const [table, ids] of acknowledged) {
        const column = table === 'tokens' ? 'id' : 'token'
        const rows = await rowsOf<{ id: string }>(database, table, `${column} AS id`, shop.organisationId)
        const stored = new Set(rows.map(({ id }) => id))
        for (const [id, operation] of ids)
          if (!stored.has(id)) model.broken('no lost write', `${id} is not in ${table}`, operation)
        if (table === 'tokens' && rows.length > asked)
          model.broken('exactly once', `${rows.length} tokens were issued, and ${asked} asked for`)
      }
    },
  }
}
