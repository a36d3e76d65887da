/** What the pages of the documentation are made with; the pages themselves are in test/domain/system/docs.test.ts. */
import { execFile, execFileSync } from 'node:child_process'
import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { promisify } from 'node:util'
import { expect } from 'chai'
import { addressOfError, addressOfOperation } from '../../../src/bin/build-steps/docs-pages/addresses.ts'
import { bodyOf, curlOf } from '../../../src/bin/build-steps/docs-pages/curl.ts'
import {
  type Description,
  type Operation,
  readDescription,
} from '../../../src/bin/build-steps/docs-pages/description.ts'
import { makeDocs } from '../../../src/bin/build-steps/docs-pages/docs-pages.tsx'
import { readGuides } from '../../../src/bin/build-steps/docs-pages/guides.ts'
import { renderGuide } from '../../../src/bin/build-steps/docs-pages/markdown.ts'
import { isDeep, limitsOf, typeOf } from '../../../src/bin/build-steps/docs-pages/types.ts'
import { ERRORS } from '../../../src/errors.ts'
import { routes } from '../../../src/server/routes.ts'
import { openIndex } from '../../../src/web/docs/finding.ts'
import { startTestApp } from '../../support/app.ts'
import { placeholdersOf, WITHOUT_SUCCESS } from '../../support/fixtures.ts'

const BASE_URL = 'https://assay.example.org'
const ROOT = join(import.meta.dirname, '../../..')

const routeOf = ({ operationId }: Operation) => {
  const route = routes.find(({ name }) => name === operationId)
  if (route === undefined) throw new Error(`no route ${operationId}`)
  return route
}

/** Whether an example can be sent as it is printed by whoever has a key, and is answered for good. */
const takesNoMoreThanKey = (operation: Operation): boolean => {
  const { auth, name, produces } = routeOf(operation)
  const isEndless = [produces].flat().includes('text/event-stream')
  const isOpen = placeholdersOf(routeOf(operation)).size > 0 || /\$(?!KEY\b)[A-Z]/.test(curlOf(operation, ''))
  return auth !== 'session' && !isOpen && !isEndless && !(name in WITHOUT_SUCCESS)
}

const render = (text: string, file = 'docs/rules.md') =>
  renderGuide(text, file, (target) =>
    target === 'docs/proofs.md' ? { url: '/docs/proofs', title: 'Proofs' } : undefined,
  )

describe('guides as pages', () => {
  it('every guide is named by a group, and the lists for contributors are left out', () => {
    const groups = readGuides()
    expect(groups.map(({ title }) => title)).to.not.include('And more')
    const files = groups.flatMap(({ guides }) => guides.map(({ file }) => file))
    const missing = readdirSync(join(ROOT, 'docs'))
      .filter((name) => name.endsWith('.md'))
      .filter((name) => !files.includes(`docs/${name}`))
    expect(missing).to.deep.equal(['api-coverage.md', 'architecture.md', 'body-members.md', 'decisions.md'])
  })

  it('headings have the anchors that GitHub gives them, also when two are the same', () => {
    const { headings, html } = render('# A\n## What’s `new_one`, and why?\nText.\n## Twice\n## Twice\n')
    expect(headings.map(({ id }) => id)).to.deep.equal(['a', 'whats-new_one-and-why', 'twice', 'twice-1'])
    expect(headings[1]).to.include({ text: 'What’s new_one, and why?', below: 'Text. ', level: 2 })
    expect(html).to.include('<h2 id="twice-1">Twice <a class="anchor" href="#twice-1"')
    expect(html).to.match(/<h1 id="a">A<\/h1>/)
  })

  it('links lead to pages, which go by their titles, and files that are none are named', () => {
    const { html } = render(
      'See [proofs.md](proofs.md), [this](proofs.md#spent), [below](#x), [RFC](https://a.example/), [a program](../examples/a.ts) and [examples/a.ts](../examples/a.ts).',
    )
    expect(html).to.include('<a href="/docs/proofs">Proofs</a>, <a href="/docs/proofs#spent">this</a>')
    expect(html).to.include('<a href="#x">below</a>, <a href="https://a.example/">RFC</a>')
    expect(html).to.include('a program (<code>examples/a.ts</code>) and <code>examples/a.ts</code>.')
  })

  it('comments are dropped, code is text, and no other markup is taken', () => {
    const { html } = render(
      '<!-- server: stopped -->\n```sh\necho "<b>" && ls\n```\n\n| | a |\n|---|---|\n| `x` | y |\n',
    )
    expect(html).to.not.include('server: stopped')
    expect(html).to.include('<pre tabindex="0"><code>echo &quot;&lt;b&gt;&quot; &amp;&amp; ls')
    expect(html).to.include('<td></td>').and.to.include('<th>a</th>')
    expect(() => render('a <img src=x> b')).to.throw('no markup but comments')
    expect(() => render('<script>alert(1)</script>')).to.throw('no markup but comments')
  })
})

describe('schemas in words', () => {
  const document = {
    schemas: {
      Deep: { type: 'object', title: 'Deep', properties: { a: { type: 'string' } } },
      WordInput: { title: 'Word', enum: ['a', 'b'] },
    },
  } as unknown as Description
  const type = (schema: object) => typeOf(schema, document)
  const limits = (schema: object) => limitsOf(schema, document)

  it('types', () => {
    expect(type({ type: 'string' })).to.equal('string')
    expect(type({ enum: ['a', 'b', 1] })).to.equal('`a`, `b` or `1`')
    expect(type({ const: false })).to.equal('`false`')
    expect(type({ anyOf: [{ type: 'integer' }, { type: 'null' }] })).to.equal('integer or null')
    expect(type({ type: 'array', items: { $ref: '#/components/schemas/Deep' } })).to.equal('array of Deep')
    expect(type({ $ref: '#/components/schemas/WordInput' })).to.equal('`a` or `b`')
    expect(type({ type: 'object', additionalProperties: { type: 'number' } })).to.equal('map of number')
    expect(type({})).to.equal('anything')
    expect(() => type({ $ref: '#/components/schemas/Gone' })).to.throw('which it lacks')
  })

  it('limits', () => {
    expect(limits({ type: 'string', minLength: 1, maxLength: 64 })).to.equal('1 to 64 characters')
    expect(limits({ type: 'string', maxLength: 1 })).to.equal('at most 1 character')
    expect(limits({ type: 'integer', minimum: 0, maximum: Number.MAX_SAFE_INTEGER })).to.equal('at least 0')
    expect(limits({ type: 'array', minItems: 2, maxItems: 2, items: { pattern: '^a$' } })).to.equal(
      'exactly 2 items; each matches `^a$`',
    )
    expect(limits({ anyOf: [{ type: 'string', format: 'date-time' }, { type: 'null' }] })).to.equal(
      'format date-time',
    )
    expect(limits({ dependentRequired: { a: ['b', 'c'] } })).to.equal('`a` needs `b` and `c`')
    expect(limits({})).to.equal('')
  })

  it('what has members is told from what has none', () => {
    for (const schema of [
      { $ref: '#/components/schemas/Deep' },
      { type: 'array', items: { $ref: '#/components/schemas/Deep' } },
      { anyOf: [{ type: 'null' }, { type: 'object', properties: { a: {} } }] },
    ])
      expect(isDeep(schema, document), JSON.stringify(schema)).to.equal(true)
    for (const schema of [
      { type: 'string' },
      { type: 'object' },
      { type: 'array', items: { $ref: '#/components/schemas/WordInput' } },
    ])
      expect(isDeep(schema, document), JSON.stringify(schema)).to.equal(false)
  })
})

describe('examples for a shell', () => {
  const { operations } = readDescription(BASE_URL)

  it('call what the document says, with its body', () => {
    // What a shell makes of it: one argument after another, a line of its own between two calls.
    const script = [
      `curl() { printf '%s\\0' "$@"; printf '\\1'; }`,
      ...operations.map((operation) => curlOf(operation, BASE_URL)),
    ].join('\n')
    const calls = execFileSync('bash', ['-c', script], { encoding: 'utf8', maxBuffer: 2 ** 24 })
      .split('\u0001')
      .map((call) => call.split('\0').slice(0, -1))
    expect(calls).to.have.length(operations.length + 1)
    for (const [index, operation] of operations.entries()) {
      const call = calls[index] ?? []
      const following = (flag: string) => call.flatMap((word, at) => (call[at - 1] === flag ? [word] : []))
      expect(following('-X')[0] ?? 'GET', operation.operationId).to.equal(operation.method)
      const body = bodyOf(operation)
      expect(following('-d').map((text) => JSON.parse(text))).to.deep.equal(body === undefined ? [] : [body])
      const url = call.find((word) => word.startsWith(BASE_URL)) ?? ''
      expect(url, operation.operationId).to.not.match(/[{}]/)
      const segments = (path: string) => path.split('?')[0]?.split('/').length
      expect(segments(url.slice(BASE_URL.length)), url).to.equal(segments(operation.path))
    }
  })

  it('are answered as printed: one of each group, with a body where there is such, that takes no more than a key', async () => {
    // One of its own: some examples change what holds for everybody.
    const app = await startTestApp()
    try {
      const { apiKey } = await app.organisation()
      const possible = readDescription(app.url).operations.filter(takesNoMoreThanKey)
      const groups = [...new Set(possible.map(({ tags }) => tags[0]))]
      const sent = groups.flatMap((group) => {
        const those = possible.filter(({ tags }) => tags[0] === group)
        return those.find((operation) => bodyOf(operation) !== undefined) ?? those.slice(0, 1)
      })
      const isOperators = (operation: Operation) =>
        ['admin', 'metrics'].includes(String(routeOf(operation).scope))
      const script = [
        `curl() { command curl -o /dev/null -w '%{http_code}\\n' "$@"; }`,
        ...sent.flatMap((operation) => [
          `KEY=${isOperators(operation) ? app.adminKey : apiKey}`,
          curlOf(operation, app.url),
        ]),
      ]
      const { stdout } = await promisify(execFile)('bash', ['-c', script.join('\n')])
      const statuses = stdout.trim().split('\n')
      const answers = sent.map(({ operationId }, at) => `${operationId}: ${statuses[at]}`)
      expect(answers.filter((line) => !/: 20\d$/.test(line))).to.deep.equal([])
      expect(answers.length).to.be.greaterThan(20)
    } finally {
      await app.close()
    }
  })

  it('carry the credential that the operation takes', () => {
    const headersOf = (name: string) => {
      const operation = operations.find(({ operationId }) => operationId === name)
      if (operation === undefined) throw new Error(`no operation ${name}`)
      return [...curlOf(operation, BASE_URL).matchAll(/-H "([^"]+)"/g)].map(([, header]) => header)
    }
    expect(headersOf('verify')).to.deep.equal(['X-API-Key: $KEY'])
    expect(headersOf('getHealth')).to.deep.equal([])
    expect(headersOf('verifyInPod')).to.deep.equal(['X-Pod-Key: $POD_KEY'])
    expect(headersOf('deleteSession')).to.deep.equal([
      'Cookie: assay_session=$SESSION',
      'X-CSRF-Token: $CSRF_TOKEN',
    ])
  })
})

describe('the search', () => {
  const { operations } = readDescription(BASE_URL)
  let find: ReturnType<typeof openIndex>
  before(() => {
    find = openIndex(makeDocs().index)
  })
  const addresses = (text: string) => find(text).map(({ url }) => url)

  it('finds every operation by its name, its summary, its path, and its method and path', () => {
    expect(operations.length).to.be.greaterThan(200)
    for (const operation of operations) {
      const { operationId, path, method, summary } = operation
      const url = addressOfOperation(operation)
      expect(addresses(operationId).slice(0, 2), operationId).to.include(url)
      const ofSummary = operations.filter((one) => one.summary === summary).length
      expect(addresses(summary ?? '').slice(0, ofSummary + 1), summary).to.include(url)
      expect(addresses(`${method} ${path}`)[0], `${method} ${path}`).to.equal(url)
      const ofPath = operations.filter((one) => one.path === path).map(addressOfOperation)
      expect(addresses(path).slice(0, ofPath.length), path).to.have.members(ofPath)
    }
  })

  it('finds every error code first, also in capitals and before it is whole', () => {
    for (const code of Object.keys(ERRORS)) {
      expect(addresses(code).slice(0, 2), code).to.include(addressOfError(code))
      expect(addresses(code.toUpperCase()).slice(0, 2), code).to.include(addressOfError(code))
      expect(addresses(code.slice(0, -1)), code).to.include(addressOfError(code))
    }
  })

  it('finds events, and headings of guides by their words, misspelt ones too', () => {
    expect(addresses('proof.spent')[0]).to.equal('/docs/webhook-events#proof-spent')
    expect(addresses('saying what you expect')[0]).to.equal('/docs/proofs#saying-what-you-expect')
    expect(addresses('screning again')).to.include('/docs/aml#screening-again-when-lists-change')
  })

  it('finds nothing for what is nowhere', () => {
    for (const text of ['', '   ', 'xylophone quartz', '///']) expect(find(text), text).to.deep.equal([])
  })
})
