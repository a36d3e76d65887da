/** Programs of others that read what we write. Tests that need a missing one are skipped, and say so. */
import { execFileSync, spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'

/** The system's own first: Debian's packages are for no other. */
const PYTHONS = ['/usr/bin/python3', 'python3']

const runs = (program: string, ...args: string[]): boolean => spawnSync(program, args).status === 0

/** A Python that has the package, or undefined. */
const pythonWith = (name: string): string | undefined =>
  PYTHONS.find((python) => runs(python, '-c', `import ${name}`))

interface Context {
  skip(): void
}

/** Reads a QR code with zbarimg (Debian: zbar-tools). @param png the picture @returns what it holds */
export const readQrWithZbar = (test: Context, png: Uint8Array): string => {
  demand(test, 'zbarimg', '--version', 'zbar-tools')
  const folder = mkdtempSync(join(tmpdir(), 'assay-qr-'))
  try {
    const file = join(folder, 'code.png')
    writeFileSync(file, png)
    return execFileSync('zbarimg', ['--quiet', '--raw', '-Sdisable', '-Sqrcode.enable', file], {
      encoding: 'utf8',
    }).replace(/\n$/, '')
  } finally {
    rmSync(folder, { recursive: true })
  }
}

/** @throws the test's end, which is skipped where a program isn't installed @param asked what every version of it answers */
const demand = (test: Context, program: string, asked: string, debian: string): void => {
  if (runs(program, asked)) return
  console.log(`      SKIPPED: ${program} is not installed (apt-get install ${debian})`)
  test.skip()
}

interface Said {
  readonly status: number | null
  readonly said: string
}

const saidBy = (program: string, args: readonly string[], input = ''): Said => {
  const { status, stdout, stderr } = spawnSync(program, args, { input, encoding: 'utf8' })
  return { status, said: `${stdout}${stderr}` }
}

/**
 * Runs promtool (Debian: prometheus). @param input what it reads from standard input
 * @returns its exit status with all that it said
 */
export const promtool = (test: Context, args: readonly string[], input = ''): Said => {
  demand(test, 'promtool', '--version', 'prometheus')
  return saidBy('promtool', args, input)
}

/** Skips a test where there is no Caddy. */
export const demandCaddy = (test: Context): void => demand(test, 'caddy', 'version', 'caddy')

/** Runs kubectl (Debian: kubernetes-client) with what needs no cluster. @returns what it printed */
export const kubectl = (test: Context, ...args: readonly string[]): string => {
  demand(test, 'kubectl', '--help', 'kubernetes-client')
  return execFileSync('kubectl', args, { encoding: 'utf8' })
}

/** Programs that load a JWK set whole, as their users do, and print the payload of a JWS that verifies. */
const PROGRAMS = {
  jwcrypto: `
import json, sys
from jwcrypto import jwk, jws
given = json.load(sys.stdin)
keys = jwk.JWKSet.from_json(json.dumps(given["set"]))
token = jws.JWS()
token.deserialize(given["token"])
token.verify(keys.get_key(token.jose_header["kid"]))
sys.stdout.write(token.payload.decode())
`,
  authlib: `
import json, sys
from authlib.jose import JsonWebKey, JsonWebSignature
given = json.load(sys.stdin)
keys = JsonWebKey.import_key_set(given["set"])
signed = JsonWebSignature(["EdDSA", "ES256"]).deserialize_compact(
    given["token"], lambda header, payload: keys.find_by_kid(header["kid"]))
sys.stdout.write(signed["payload"].decode())
`,
} as const

/**
 * Verifies a compact JWS with a Python library (Debian: python3-jwcrypto, python3-authlib).
 * @param set JWK set as it is published
 * @returns its payload @throws Error when the set can't be loaded or the JWS does not verify
 */
export const verifyWithPython = (
  test: Context,
  library: keyof typeof PROGRAMS,
  token: string,
  set: object,
): unknown => {
  const python = pythonWith(library)
  if (python === undefined) {
    console.log(`      SKIPPED: ${library} is not installed (apt-get install python3-${library})`)
    test.skip()
    return undefined
  }
  const options = { input: JSON.stringify({ token, set }), encoding: 'utf8' } as const
  return JSON.parse(
    execFileSync(python, ['-c', PROGRAMS[library]], { ...options, stdio: ['pipe', 'pipe', 'pipe'] }),
  )
}
