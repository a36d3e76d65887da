/** A Dockerfile as its stages and their steps, and what is sent to the builder of an image. */
import { statSync } from 'node:fs'
import { join } from 'node:path'
import ts from 'typescript'
import { filesBelow, ROOT, read } from './sources.ts'

export interface Step {
  /** Such as `COPY`. */
  readonly keyword: string
  readonly rest: string
}
export interface Stage {
  readonly from: string
  readonly name: string | undefined
  readonly steps: readonly Step[]
}

/** Reads a Dockerfile that keeps to one line for each step. */
export const readStages = (text: string): readonly Stage[] => {
  const stages: { from: string; name: string | undefined; steps: Step[] }[] = []
  for (const line of text.split('\n')) {
    const [, keyword = '', rest = ''] = /^([A-Z]+) (.+)$/.exec(line) ?? []
    const [from = '', , name] = rest.split(' ')
    if (keyword === 'FROM') stages.push({ from, name, steps: [] })
    else if (keyword !== '') stages.at(-1)?.steps.push({ keyword, rest })
  }
  return stages
}

/** What the compiler says of a value as one of a type of kubernetes-types, whose members have no others. */
export const kubernetesFaults = (value: { readonly apiVersion: string; readonly kind: string }): string[] => {
  const { apiVersion, kind } = value
  const [version, group = 'core'] = apiVersion.split('/').reverse()
  const types = join(ROOT, `node_modules/kubernetes-types/${group.split('.')[0]}/${version}.js`)
  const name = join(ROOT, 'build/kubernetes-value.ts')
  const text = `import type { ${kind} } from '${types}'\nexport const value: ${kind} = ${JSON.stringify(value)}\n`
  const options: ts.CompilerOptions = {
    strict: true,
    noEmit: true,
    types: [],
    lib: ['lib.es2022.d.ts'],
    skipLibCheck: true,
    module: ts.ModuleKind.NodeNext,
    moduleResolution: ts.ModuleResolutionKind.NodeNext,
  }
  const host = ts.createCompilerHost(options)
  const { fileExists, readFile, getSourceFile } = host
  host.fileExists = (file) => file === name || fileExists(file)
  host.readFile = (file) => (file === name ? text : readFile(file))
  host.getSourceFile = (file, ...rest) =>
    file === name ? ts.createSourceFile(file, text, rest[0], true) : getSourceFile(file, ...rest)
  const program = ts.createProgram([name], options, host)
  return ts
    .getPreEmitDiagnostics(program)
    .map(({ messageText }) => ts.flattenDiagnosticMessageText(messageText, ' '))
}

/** Files of the repository that .dockerignore, which names what is wanted after `*`, lets through. */
export const sentFiles = (): string[] => {
  const wanted = read('.dockerignore')
    .split('\n')
    .flatMap((line) => (line.startsWith('!') ? [line.slice(1)] : []))
  return wanted
    .flatMap((name) => (/\.\w+$|^LICENSE$/.test(name) ? [name] : filesBelow(name, '')))
    .filter((file) => statSync(join(ROOT, file)).isFile())
}

/** Settings that name files which a server reads as it starts. */
export const READ_FILES = ['CREDENTIAL_CERTIFICATE', 'PASS_CERTIFICATES', 'EGRESS_CA_FILE', 'WITNESS_POLICY']
