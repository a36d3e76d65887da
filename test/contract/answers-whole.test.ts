/** Every pair of a route that makes something and a route that takes it: whether the whole answer is taken, or why not. */
import { expect } from 'chai'
import { asJsonSchema, type JsonSchema } from '../../src/http/input/schema.ts'
import { routes } from '../../src/server/routes.ts'

/** The maker's answer is known to the other route, every member of it. test/contract/answers-returned.test.ts sends each. */
const WHOLE: readonly (readonly [maker: string, taker: string])[] = [
  ['generateToken', 'validateToken'],
  ['generateToken', 'revokeToken'],
  ['generateToken', 'validateTokenByCircuit'],
  ['generateHybridToken', 'validateHybridToken'],
  ['generateHybridToken', 'revokeToken'],
  ['generateQuantumSafeToken', 'validateHybridToken'],
  ['generateQuantumSafeToken', 'revokeToken'],
  ['logConsent', 'verifyConsent'],
  ['logConsent', 'revokeConsent'],
  ['logConsent', 'verifyConsentByCircuit'],
  ['verify', 'revokeResult'],
  ['verifyInPod', 'revokeResult'],
  ['getResult', 'revokeResult'],
  ['verifyByPolicy', 'revokeResult'],
  ['generateProof', 'verifyProof'],
  ['generateProofV1', 'verifyProofV1'],
  ['proveEntry', 'verifyEntryProof'],
  ['listAudit', 'proveEntry'],
  ['listAudit', 'proveEntryByCircuit'],
  ['getPosting', 'setPosting'],
  ['setPosting', 'setPosting'],
  ['getPolicy', 'putPolicy'],
  ['putPolicy', 'putPolicy'],
  ['updateOrganisation', 'updateOrganisation'],
  ['listAccounts', 'updateAccount'],
  ['updateAccount', 'updateAccount'],
  ['listPods', 'updatePod'],
  ['updatePod', 'updatePod'],
  ['createWebhook', 'changeWebhook'],
  ['listWebhooks', 'changeWebhook'],
  ['changeWebhook', 'changeWebhook'],
  ['listSecurityAlerts', 'decideAlert'],
  ['listConsoleAlerts', 'decideAlert'],
  ['decideAlert', 'decideAlert'],
  ['getReviewSettings', 'changeReviewSettings'],
  ['changeReviewSettings', 'changeReviewSettings'],
]

/** Answers that have a member of a taker's, and are not what it takes. */
const APART: readonly {
  readonly why: string
  readonly by: readonly string[]
  readonly makers: readonly string[]
  readonly takers?: readonly string[]
}[] = [
  {
    why: 'a person or list is named by its id, and what is asked about it is something else',
    by: ['userId', 'listId'],
    makers: [
      'subscribeToScreening',
      'decideScreeningFinding',
      'decideConsoleScreeningFinding',
      'decidePerson',
    ],
  },
  {
    why: 'an agent is named by its id, and what is asked of it is something else',
    by: ['agent_id'],
    makers: [
      'enrolAgent',
      'createAgent',
      'suspendAgent',
      'resumeAgent',
      'revokeAgent',
      'checkAgentDomain',
      'verifyAgent',
      'auditAgent',
    ],
  },
  {
    why: 'the answer holds an API key, which belongs in no other body',
    by: ['terminalId'],
    makers: ['createTerminal'],
  },
  {
    why: 'it tells what became of the thing, and did not make it',
    by: ['consentId', 'tokenId', 'token_id'],
    makers: ['verifyConsent', 'revokeConsent', 'validateToken', 'revokeToken', 'validateHybridToken'],
  },
  {
    why: 'the token is of another kind',
    by: ['token'],
    makers: ['authenticateTerminal', 'authoriseAgent', 'createProxy'],
  },
  {
    why: 'a hybrid token stands under `token`',
    by: ['token'],
    makers: ['generateToken'],
    takers: ['validateQuantumSafeByCircuit'],
  },
  {
    why: 'the receipt is of another kind',
    by: ['receipt'],
    makers: ['verify', 'verifyInPod', 'authoriseAgent'],
  },
  {
    why: 'the signature is of the service, not of an agent',
    by: ['jws'],
    makers: ['verify', 'verifyInPod', 'verifyByPolicy', 'askHermes', 'issueAgentBadge'],
  },
  {
    why: 'the answer is about something else; the proof or token in it goes on by itself',
    by: ['proof', 'token', 'tokenId'],
    makers: [
      'verify',
      'verifyInPod',
      'verifyByPolicy',
      'askHermes',
      'checkEligibility',
      'validateTokenByCircuit',
      'verifyConsentByCircuit',
      'proveEntryByCircuit',
      'aggregateProofs',
      'validateQuantumSafeByCircuit',
      'validateOfflineByCircuit',
    ],
  },
  {
    why: 'each way of making proofs has its own of checking them',
    by: ['proof'],
    makers: ['generateProof', 'generateProofV1', 'proveEntry'],
    takers: [
      'verifyProof',
      'verifyProofV1',
      'verifyEntryProof',
      'validateOfflineByCircuit',
      'answerChallenge',
    ],
  },
]

/** Members by which a body names what it is about; circuits are no things that somebody made. */
const NAMING = /(?<!circuit)(?:Id|_id)$|^(?:proof|token|receipt|index|jws)$/

const formsOf = (schema: JsonSchema): JsonSchema[] =>
  (schema.anyOf ?? schema.oneOf)?.flatMap(formsOf) ?? [schema]

const routeOf = (name: string) => {
  const route = routes.find((one) => one.name === name)
  if (route === undefined) throw new Error(`no route is called ${name}`)
  return route
}

const bodyForms = (name: string): JsonSchema[] => {
  const { body } = routeOf(name)
  return body ? formsOf(asJsonSchema(body)) : []
}

/** What a route answers where it does as asked; of a list, one of what is listed. */
const answerForms = (name: string): JsonSchema[] => {
  const { response, method } = routeOf(name)
  const forms = [200, 201].flatMap((status) => {
    const schema = response[status]
    return schema ? formsOf(asJsonSchema(schema)) : []
  })
  if (method !== 'GET') return forms
  return forms.flatMap((form) => {
    const list = Object.values(form.properties ?? {}).find(({ type }) => type === 'array')
    return name.startsWith('list') && list?.items ? [list.items] : [form]
  })
}

const namesOf = (form: JsonSchema): string[] => Object.keys(form.properties ?? {})

describe('answers and the routes that take them', () => {
  for (const [maker, taker] of WHOLE)
    it(`every member that ${maker} answers is known to ${taker}`, () => {
      const answered = answerForms(maker)
      expect(answered).not.to.deep.equal([])
      for (const answer of answered) {
        const unknown = bodyForms(taker).map((form) =>
          namesOf(answer).filter((name) => form.properties?.[name] === undefined),
        )
        expect(
          unknown.some((names) => names.length === 0),
          JSON.stringify(unknown),
        ).to.equal(true)
      }
    })

  it('are all told of: whole, or why not', () => {
    const untold = routes.flatMap(({ name: taker }) =>
      routes
        .filter(({ name, method }) => method === 'POST' && name !== taker)
        .flatMap(({ name: maker }) => {
          const answered = answerForms(maker).flatMap(namesOf)
          const by = bodyForms(taker)
            .flatMap(({ required = [] }) => required)
            .filter((name) => NAMING.test(name) && answered.includes(name))
          const isWhole = WHOLE.some(([m, t]) => m === maker && t === taker)
          const isApart = (name: string) =>
            APART.some(
              ({ by: names, makers, takers = [taker] }) =>
                names.includes(name) && makers.includes(maker) && takers.includes(taker),
            )
          return by
            .filter((name) => !isWhole && !isApart(name))
            .map((name) => `${maker} → ${taker} by ${name}`)
        }),
    )
    expect(untold).to.deep.equal([])
  })

  it('are all told of where something is changed in its place', () => {
    const changing = routes
      .filter(({ method, body }) => ['PATCH', 'PUT'].includes(method) && body)
      .map(({ name }) => name)
    expect(WHOLE.map(([, taker]) => taker)).to.include.members(
      // What a password was is no answer of any route.
      changing.filter((name) => name !== 'changePassword'),
    )
  })
})
