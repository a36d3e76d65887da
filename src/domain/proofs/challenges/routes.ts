/** Routes of challenges: asked with a key, answered without one. @module */
import Type from 'typebox'
import { prefers } from '../../../http/accept.ts'
import { Reply, route } from '../../../http/route.ts'
import type { Pages } from '../../system/pages.ts'
import {
  ChallengeAnswer,
  ChallengeMade,
  ChallengeParams,
  ChallengeReceived,
  ChallengeTold,
  NewChallenge,
  PublicChallenge,
} from './schemas.ts'
import type { ChallengesService } from './service.ts'

interface Services {
  readonly challenges: ChallengesService
  readonly pages: Pages
}

const tag = 'Proofs'
const PATH = '/v1/proofs/challenge'
const MINUTE_SECONDS = 60
/** An answer takes about as long as a check with a key, and anyone may send one. */
const ANSWERS_PER_MINUTE = 30
const JSON_TYPE = 'application/json'
const HTML_TYPE = 'text/html'

/** The page looks the request up itself; it comes with 404 where it will find none. */
const requestPage = async (id: string, { challenges, pages: { holder } }: Services) =>
  new Reply((await challenges.isKnown(id)) ? 200 : 404, holder.body, holder.headers)

const requestJson = async (id: string, { challenges }: Services) =>
  new Reply(200, await challenges.request(id), { 'Cache-Control': 'no-store', Vary: 'Accept' })

const createChallenge = route({
  name: 'createChallenge',
  method: 'POST',
  path: PATH,
  auth: 'key',
  scope: 'proof',
  tag,
  summary: 'Ask somebody who keeps a credential for a proof',
  description:
    'Whoever opens `request_url`, or scans the QR code, sees who asks and what, and can answer once. You learn the answer by asking for the challenge, or by the event `proof.verified` with this `proof_id`. At most 1,000 of an organisation can be open. A challenge can be relayed to somebody else, which nothing here prevents.',
  body: NewChallenge,
  response: { 201: ChallengeMade },
  errors: ['not_found', 'proof_not_accepted', 'limit_reached'],
  example: {
    body: {
      circuit_id: 'kyc',
      inputs: { minLevel: 'basic', minAge: 18 },
      purpose: 'age-check',
    },
  },
  handler: ({ caller, body }, { challenges }: Services) => challenges.create(caller, body),
})

const getChallenge = route({
  name: 'getChallenge',
  method: 'GET',
  path: `${PATH}/{challengeId}`,
  auth: 'key',
  scope: 'proof',
  tag,
  summary: 'Get what became of a challenge',
  description: 'Only for the organisation that asked, until a day after its end.',
  params: ChallengeParams,
  response: { 200: ChallengeTold },
  errors: ['not_found'],
  example: { params: { challengeId: '{challengeId}' } },
  handler: ({ caller, params }, { challenges }: Services) => challenges.find(caller, params.challengeId),
})

const getChallengeRequest = route({
  name: 'getChallengeRequest',
  method: 'GET',
  path: '/challenge/{challengeId}',
  auth: 'none',
  tag,
  summary: 'Get what somebody is asked to prove',
  description:
    'For whoever was given the address: who asks, by the name and the proven domain of the organisation, and what. Nothing in it is text of the asker but the `purpose` that the proof is bound to. Browsers get a page that proves and answers.',
  params: ChallengeParams,
  produces: [JSON_TYPE, HTML_TYPE],
  response: { 200: PublicChallenge, 404: Type.String({ description: 'The page, for browsers.' }) },
  errors: ['not_found'],
  example: { params: { challengeId: '{challengeId}' } },
  handler: ({ params: { challengeId }, headers }, services: Services) =>
    prefers(headers.accept, HTML_TYPE, JSON_TYPE)
      ? requestPage(challengeId, services)
      : requestJson(challengeId, services),
})

const answerChallenge = route({
  name: 'answerChallenge',
  method: 'POST',
  path: `${PATH}/{challengeId}/answer`,
  auth: 'none',
  tag,
  summary: 'Answer a challenge',
  description:
    'With a proof of the context that the challenge names. The answer is the same whatever comes of it: only the asker is told. A challenge takes five answers at most, and none after the first that is verified.',
  params: ChallengeParams,
  body: ChallengeAnswer,
  bodyLimit: 'chat',
  response: { 200: ChallengeReceived },
  errors: ['not_found', 'challenge_closed', 'proof_service_unavailable'],
  addressLimit: { requests: ANSWERS_PER_MINUTE, windowSeconds: MINUTE_SECONDS },
  example: { params: { challengeId: '{challengeId}' }, body: { proof: '{zk1}' } },
  handler: async ({ params, body }, { challenges }: Services) => {
    await challenges.answer(params.challengeId, body)
    return { status: 'received' as const }
  },
})

export const challengeRoutes = [createChallenge, getChallenge, getChallengeRequest, answerChallenge]
