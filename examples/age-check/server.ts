/**
 * A website that asks "over 18?", by a challenge: shows a QR code, waits, and says YES with who vouched for it, for what and when.
 *
 *     ASSAY_API_KEY=… ASSAY_ISSUERS='org_…=City Bank' npx tsx examples/age-check/server.ts [port]
 *
 * ASSAY_URL is the service's BASE_URL (default http://127.0.0.1:8080); ASSAY_ISSUERS the organisations whose checks count for you, with
 * the names that you know them by (default: your own). The key, of scope `proof`, stays in this program: browsers talk to it alone.
 */
import { randomBytes } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { createServer, type IncomingMessage, type RequestListener } from 'node:http'
import { createClient } from 'assay-client'

const PURPOSE = 'age-check'
const LEAST_AGE = 18
const COOKIE = 'age_check'
/** Visitors whose question is open; in an application of your own their session keeps it. */
const MAX_VISITORS = 10_000

const { ASSAY_URL: baseUrl = 'http://127.0.0.1:8080', ASSAY_API_KEY: key = '' } = process.env
if (key === '') throw new Error('ASSAY_API_KEY must hold an API key of scope proof.')
const assay = createClient({ baseUrl, key, timeoutMs: 10_000 })
/** `org_…` → name. */
const issuers = new Map<string, string>()
for (const entry of (process.env.ASSAY_ISSUERS ?? '').split(',').filter(Boolean)) {
  const [id = '', name] = entry.trim().split('=', 2)
  issuers.set(id, name ?? id)
}

/** Visitor → the question that is theirs: nobody else is told the answer. */
const questions = new Map<string, string>()

const visitorOf = ({ headers }: IncomingMessage): string | undefined =>
  headers.cookie
    ?.split('; ')
    .find((cookie) => cookie.startsWith(`${COOKIE}=`))
    ?.slice(COOKIE.length + 1)

/** A new question to a new visitor: an answer that was begun before counts for nothing. */
const begin = async () => {
  const { challenge_id, request_url, qr, expires_at } = await assay.createChallenge({
    circuit_id: 'kyc',
    inputs: { minLevel: 'basic', minAge: LEAST_AGE },
    purpose: PURPOSE,
    ...(issuers.size > 0 && { issuers: [...issuers.keys()] }),
    // Visitors may come as often as they like, so nothing is counted, and nobody learns who they are.
    unique: false,
    // A credential that was revoked a minute ago must not count. Where a day doesn't matter, "not_required" tells less.
    status: 'required',
  })
  const visitor = randomBytes(32).toString('base64url')
  questions.set(visitor, challenge_id)
  for (const oldest of questions.keys()) if (questions.size > MAX_VISITORS) questions.delete(oldest)
  return { visitor, shown: { request_url, qr, expires_at } }
}

/** What became of a visitor's question, in what their page shows of it. */
const look = async (challengeId: string) => {
  const { state, result, context, reason_codes } = await assay.getChallenge({ challengeId })
  if (result === null) return { state, reasons: reason_codes }
  return {
    state,
    answer: result.decision === 1 ? 'YES' : 'NO',
    issuer: issuers.get(result.issuer) ?? result.issuer,
    binding: result.binding,
    purpose: context.statement.purpose,
    time: result.verified_at,
  }
}

const file = (name: string, type: string) => ({ body: readFileSync(new URL(name, import.meta.url)), type })
const FILES: Readonly<Record<string, { body: Buffer; type: string }>> = {
  '/': file('page.html', 'text/html; charset=utf-8'),
  '/page.js': file('page.js', 'text/javascript; charset=utf-8'),
  '/page.css': file('page.css', 'text/css; charset=utf-8'),
}
// The QR code is a picture in the text of an answer.
const POLICY = "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:"

const json = (body: object, headers: Readonly<Record<string, string>> = {}, status = 200) => ({
  status,
  headers: { 'Content-Type': 'application/json', 'Cache-Control': 'no-store', ...headers },
  body: JSON.stringify(body),
})

const answer = async (request: IncomingMessage) => {
  const [found, route] = [FILES[request.url ?? ''], `${request.method} ${request.url}`]
  if (found && request.method === 'GET')
    return {
      status: 200,
      headers: { 'Content-Type': found.type, 'Content-Security-Policy': POLICY },
      body: found.body,
    }
  if (route === 'POST /question') {
    // Only this page itself asks: browsers say of each request where it comes from.
    if (request.headers['sec-fetch-site'] === 'cross-site') return json({ error: 'Not from here.' }, {}, 403)
    const { visitor, shown } = await begin()
    return json(shown, { 'Set-Cookie': `${COOKIE}=${visitor}; HttpOnly; SameSite=Strict; Path=/` })
  }
  const challengeId = questions.get(visitorOf(request) ?? '')
  if (route === 'GET /answer' && challengeId !== undefined) return json(await look(challengeId))
  return json({ error: 'There is nothing here.' }, {}, 404)
}

const listener: RequestListener = async (request, response) => {
  const { status, headers, body } = await answer(request).catch((error: unknown) => {
    console.error(error instanceof Error ? error.message : error)
    return json({ error: 'The question could not be asked. Try again in a moment.' }, {}, 502)
  })
  response.writeHead(status, headers).end(body)
}

const server = createServer(listener)
server.listen(Number(process.argv[2] ?? 8090), '127.0.0.1', () => {
  const address = server.address()
  console.log(`listening on http://127.0.0.1:${typeof address === 'object' ? address?.port : address}`)
})
