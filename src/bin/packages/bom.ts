/** What a package is made of: its bill of materials (CycloneDX 1.5, as npm writes it), and the licences of all of that. @module */
import { execFileSync } from 'node:child_process'
import { readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'

export const BOM_FILE = 'sbom.cdx.json'
export const LICENCES_FILE = 'LICENSES.txt'

type Licence =
  | { readonly license: { readonly id?: string; readonly name?: string } }
  | { readonly expression: string }

interface Component {
  readonly 'bom-ref': string
  readonly name: string
  readonly version: string
  readonly licenses?: readonly Licence[]
}

/** The part of a document that is read and written here; the rest is passed on. */
interface Bom {
  readonly metadata: { readonly component: Component }
  readonly components: readonly Component[]
  readonly dependencies: readonly { readonly ref: string; readonly dependsOn: readonly string[] }[]
}

/** Of a package: its own names, and what is in it. */
export interface Contents {
  readonly name: string
  readonly version: string
  readonly license: string
  /** Packages whose code is inside. */
  readonly held: readonly string[]
  /** Packages that are installed with it, and theirs with them. */
  readonly beside: readonly string[]
}

const known = new Map<string, Bom>()

/** That of the repository, with everything that package-lock.json names. */
const readBom = (root: string): Bom => {
  const before = known.get(root)
  if (before) return before
  const args = ['sbom', '--package-lock-only', '--sbom-format', 'cyclonedx']
  const text = execFileSync('npm', args, { cwd: root, encoding: 'utf8', maxBuffer: 64 * 1024 * 1024 })
  const bom = JSON.parse(text) as Bom
  known.set(root, bom)
  return bom
}

/** Names of packages → references, as the repository installs them: of several versions, the one on top. */
const readRefs = (root: string): ((name: string) => string | undefined) => {
  const { packages } = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8')) as {
    readonly packages: Readonly<Record<string, { readonly name?: string; readonly version: string }>>
  }
  return (name) => {
    const found = packages[`node_modules/${name}`]
    return found && `${found.name ?? name}@${found.version}`
  }
}

/** What stands in a component's licences, in words of SPDX. */
const licenceOf = ({ licenses = [] }: Component): string =>
  licenses
    .map((one) => ('expression' in one ? one.expression : (one.license.id ?? one.license.name ?? 'unknown')))
    .join(' AND ') || 'unknown'

/** The bill of a package, made from that of the repository. @throws Error for what package-lock.json does not name */
const bomOf = (root: string, { name, version, license, held, beside }: Contents): Bom => {
  const whole = readBom(root)
  const graph = new Map(whole.dependencies.map(({ ref, dependsOn }) => [ref, dependsOn]))
  const refOf = readRefs(root)
  const inside = held.flatMap((one) => refOf(one) ?? [])
  const outside = beside.map((one) => {
    const found = refOf(one)
    if (found === undefined) throw new Error(`package-lock.json has no ${one}`)
    return found
  })
  const installed = new Set<string>()
  const open = [...outside]
  for (let next = open.pop(); next !== undefined; next = open.pop()) {
    if (installed.has(next)) continue
    installed.add(next)
    open.push(...(graph.get(next) ?? []))
  }
  const reached = new Set([...inside, ...installed])
  const ref = `${name}@${version}`
  const { component } = whole.metadata
  const components = whole.components.filter((one) => reached.has(one['bom-ref']))
  return {
    ...whole,
    metadata: {
      ...whole.metadata,
      component: {
        ...component,
        'bom-ref': ref,
        name,
        version,
        licenses: [{ license: { id: license } }],
        purl: `pkg:npm/${name.replace('@', '%40')}@${version}`,
      } as Component,
    },
    components,
    dependencies: [
      { ref, dependsOn: [...new Set([...inside, ...outside])].sort() },
      ...components.map((one) => ({
        ref: one['bom-ref'],
        dependsOn: (graph.get(one['bom-ref']) ?? []).filter((other) => reached.has(other)),
      })),
    ],
  }
}

/** Writes both into the directory of a package. */
export const writeBom = (directory: string, root: string, contents: Contents): void => {
  const bom = bomOf(root, contents)
  writeFileSync(join(directory, BOM_FILE), `${JSON.stringify(bom, null, 2)}\n`)
  const lines = bom.components.map((one) => `${one.name} ${one.version}: ${licenceOf(one)}`).sort()
  const head = `${contents.name} ${contents.version}: ${contents.license}`
  writeFileSync(join(directory, LICENCES_FILE), `${[head, ...lines].join('\n')}\n`)
}
