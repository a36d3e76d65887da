/** docs/envelopes.md: its vector is ours, its signer signs, its limits are those of the code. */
import { createPrivateKey } from 'node:crypto'
import { readFileSync } from 'node:fs'
import { writeFile } from 'node:fs/promises'
import { join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { expect } from 'chai'
import {
  ABOUT_MAX_CHARACTERS,
  AGENT_ID_MAX_CHARACTERS,
  ENVELOPE_ID_CHARACTERS,
  ENVELOPE_SKEW_SECONDS,
} from '../../src/domain/chat/envelopes/schemas-envelope.ts'
import { SETTLED_NAME_MS } from '../../src/domain/chat/posts/posting-mode.ts'
import { ENVELOPE_MAX_LIFE_SECONDS } from '../../src/protocol/envelope.ts'
import { startCommand } from '../support/programs.ts'
import { verifyReference } from '../support/reference/relay-envelope.ts'
import { temporaryDirectories } from '../support/servers/directory.ts'

const page = readFileSync(new URL('../../docs/envelopes.md', import.meta.url), 'utf8')
const { private_key, fingerprint, vectors } = JSON.parse(
  readFileSync(new URL('../vectors/agent-relay.json', import.meta.url), 'utf8'),
)
const block = (language: string): string =>
  new RegExp(`\`\`\`${language}\n(.*?)\`\`\``, 's').exec(page)?.[1] ?? ''

describe('docs/envelopes.md', () => {
  const directory = temporaryDirectories()

  it('shows the first vector', () => {
    expect(JSON.parse(block('json'))).to.deep.equal(vectors[0].envelope)
    for (const text of [private_key.d, fingerprint, vectors[0].signed_sha256]) expect(page).to.include(text)
  })

  it('has a signer that runs as it stands, on a key as openssl makes it', async () => {
    const folder = await directory()
    const key = createPrivateKey({ key: private_key, format: 'jwk' })
    await writeFile(join(folder, 'agent-key.pem'), key.export({ format: 'pem', type: 'pkcs8' }))
    await writeFile(join(folder, 'signer.mjs'), block('js'))
    const script = `import { envelope } from ${JSON.stringify(pathToFileURL(join(folder, 'signer.mjs')))}
      console.log(JSON.stringify(envelope('assay.example', 'chat.post', { text: 'Å\\n"', b: [1, null, { z: 1, a: 2 }] })))`
    await writeFile(join(folder, 'run.mjs'), script)
    const program = startCommand(process.execPath, [join(folder, 'run.mjs')], { cwd: folder })
    expect(await program.ended(), program.errors()).to.equal(0)
    const envelope = JSON.parse(program.lines[0] ?? '')
    expect(verifyReference(envelope)).to.equal(true)
    expect(envelope.key.x).to.equal(private_key.x)
  })

  it('tells the limits that hold', () => {
    const { min, max } = ENVELOPE_ID_CHARACTERS
    expect(page).to.include(`${min} to ${max} visible ASCII characters`)
    expect(page).to.include(`1 to ${AGENT_ID_MAX_CHARACTERS} characters`)
    expect(page).to.include(`${ABOUT_MAX_CHARACTERS} characters at most`)
    expect(page).to.include(`by ${ENVELOPE_MAX_LIFE_SECONDS} s at most`)
    expect(page).to.include(`no more than ${ENVELOPE_SKEW_SECONDS} s in the future`)
    expect(page).to.include(`for ${SETTLED_NAME_MS / 3_600_000} hours`)
  })
})
