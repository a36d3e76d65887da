/** The file NOTICE of a package: whose code is inside, under which terms. @module */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'

/** For packages without a file of their own licence. */
const TERMS: Readonly<Record<string, string>> = {
  circomlib: 'GNU General Public License 3.0, Copyright 2018 0kims association; its text is in LICENSE.',
  'poseidon-lite':
    'MIT License, Copyright (c) vimwitch. Permission is granted by its package.json ("license": "MIT"); the package ships no text.',
}

const manifestOf = (root: string, name: string): { version: string; license: string } =>
  JSON.parse(readFileSync(join(root, 'node_modules', name, 'package.json'), 'utf8'))

/** @throws Error for a package whose terms are not known */
const termsOf = (root: string, name: string): string => {
  const folder = join(root, 'node_modules', name)
  const file = readdirSync(folder).find((entry) => /^licen[cs]e(\.md|\.txt)?$/i.test(entry))
  const terms = file === undefined ? TERMS[name] : readFileSync(join(folder, file), 'utf8').trim()
  if (terms === undefined) throw new Error(`${name} has no file of its licence: say its terms in notice.ts`)
  return terms.startsWith('Apache License') || terms.includes('http://www.apache.org/licenses/')
    ? 'Apache License 2.0; its text is that of https://www.apache.org/licenses/LICENSE-2.0.'
    : terms
}

/**
 * @param held packages whose code is inside @param beside packages that are installed beside it
 * @param hasWasm whether WebAssembly is inside, which holds AssemblyScript's runtime
 */
export const noticeOf = (
  root: string,
  { held, beside, hasWasm }: { held: readonly string[]; beside: readonly string[]; hasWasm: boolean },
): string => {
  const section = (name: string, what: string): string => {
    const { version, license } = manifestOf(root, name)
    return `${'-'.repeat(72)}\n${name} ${version} (${license}): ${what}\n\n${termsOf(root, name)}\n`
  }
  const inside = [
    ...(hasWasm ? [section('assemblyscript', 'its runtime is part of the WebAssembly code')] : []),
    ...held
      .filter((name) => existsSync(join(root, 'node_modules', name)))
      .map((name) => section(name, 'its code is inside')),
    ...beside.map((name) => section(name, 'installed beside this package')),
  ]
  return `Assay\nCopyright the authors of Assay\n\nWork of others:\n\n${inside.join('\n') || 'None.\n'}`
}
