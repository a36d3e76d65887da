/**
 * Writes what a server answers to the examples of its operations, which the documents show. An answer that is kept stays
 * while a new one would have the same shape, so that ids and times change nothing. Usage: npm run docs:answers [-- OPERATION…]; default: all
 * @module
 */
import { readFileSync, writeFileSync } from 'node:fs'
import { routes } from '../../../src/server/routes.ts'
import { startTestApp } from '../app.ts'
import {
  ANSWERS_FILE,
  callExample,
  type ExampleAnswer,
  isShown,
  keptAnswer,
  shapeOf,
} from '../example-answers.ts'
import { startDnsServer } from '../servers/dns-server.ts'

const [, , ...named] = process.argv
const kept: Readonly<Record<string, ExampleAnswer>> = JSON.parse(readFileSync(ANSWERS_FILE, 'utf8'))
const dns = await startDnsServer()
const app = await startTestApp({ env: { DNS_SERVERS: dns.address } })
const answers: Record<string, ExampleAnswer> = {}
for (const route of routes) {
  const before = kept[route.name]
  if (named.length > 0 && !named.includes(route.name)) {
    if (before !== undefined) answers[route.name] = before
    continue
  }
  const answer = await callExample(app, route)
  if (!isShown(route, answer.status)) continue
  const now = keptAnswer(app, answer)
  const isSame = before?.status === now.status && shapeOf(before.body).join() === shapeOf(now.body).join()
  answers[route.name] = isSame ? before : now
  if (!isSame) console.log(`${route.name}: ${before === undefined ? 'new' : 'changed'}`)
}
await app.close()
await dns.close()
writeFileSync(ANSWERS_FILE, `${JSON.stringify(answers, null, 2)}\n`)
process.exit()
