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
  if (!runs('zbarimg', '--version')) {
    console.log('      SKIPPED: zbarimg is not installed (apt-get install zbar-tools)')
    test.skip()
  }
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

const JWCRYPTO_PROGRAM = `
import json, sys
from jwcrypto import jwk, jws
given = json.load(sys.stdin)
keys = jwk.JWKSet()
for key in given["keys"]:
    if key["kty"] == "OKP":
        keys.add(jwk.JWK(**key))
token = jws.JWS()
token.deserialize(given["token"])
token.verify(keys.get_key(token.jose_header["kid"]), alg="EdDSA")
sys.stdout.write(token.payload.decode())
`

/**
 * Verifies a compact JWS (EdDSA) with jwcrypto (Debian: python3-jwcrypto). @param keys of a JWK set
 * @returns its payload @throws Error when it does not verify
 */
export const verifyWithJwcrypto = (test: Context, token: string, keys: readonly object[]): unknown => {
  const python = pythonWith('jwcrypto')
  if (python === undefined) {
    console.log('      SKIPPED: jwcrypto is not installed (apt-get install python3-jwcrypto)')
    test.skip()
    return undefined
  }
  const options = { input: JSON.stringify({ token, keys }), encoding: 'utf8' } as const
  return JSON.parse(
    execFileSync(python, ['-c', JWCRYPTO_PROGRAM], { ...options, stdio: ['pipe', 'pipe', 'pipe'] }),
  )
}
