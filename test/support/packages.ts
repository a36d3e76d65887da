/** Packages as their users get them: packed, installed in an empty project, used as their READMEs say. */
import { execFile } from 'node:child_process'
import { existsSync } from 'node:fs'
import { mkdir, mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { promisify } from 'node:util'
import ts from 'typescript'
import { LIBRARIES } from '../../src/bin/packages/table.ts'
import { atEndOfRun } from './run.ts'

const ROOT = join(import.meta.dirname, '../..')
const PACKAGES = join(ROOT, 'build/packages')
const LONGEST_MS = 300_000

const execute = promisify(execFile)

/** @returns what a program printed @throws Error with all that it printed where it failed */
export const run = async (
  directory: string,
  command: string,
  ...args: readonly string[]
): Promise<string> => {
  try {
    const { stdout } = await execute(command, args, { cwd: directory, timeout: LONGEST_MS })
    return stdout
  } catch (error) {
    const { stdout = '', stderr = '' } = error as { stdout?: string; stderr?: string }
    throw new Error(`${command} ${args.join(' ')} failed:\n${stdout}\n${stderr}`)
  }
}

/** Fills build/packages. */
export const makePackages = (): Promise<string> =>
  run(ROOT, process.execPath, '--import', 'tsx', 'src/bin/package.ts')

export interface Project {
  readonly directory: string
  /** Writes a file of the project. */
  write(name: string, text: string): Promise<string>
  run(command: string, ...args: readonly string[]): Promise<string>
  remove(): Promise<void>
}

/** An empty project with packages of this repository, from their tarballs, and others of the registry. */
export const createProject = async (
  names: readonly string[],
  others: readonly string[] = [],
): Promise<Project> => {
  const directory = await mkdtemp(join(tmpdir(), 'assay-project-'))
  const runHere = (command: string, ...args: readonly string[]) => run(directory, command, ...args)
  await writeFile(
    join(directory, 'package.json'),
    '{ "name": "project", "private": true, "type": "module" }\n',
  )
  await mkdir(join(directory, 'tarballs'))
  const pack = ['pack', '--silent', '--pack-destination', 'tarballs']
  // Without a name it would pack the project.
  const packed =
    names.length > 0 ? await runHere('npm', ...pack, ...names.map((name) => join(PACKAGES, name))) : ''
  const tarballs = packed
    .split('\n')
    .filter(Boolean)
    .map((file) => `./tarballs/${file}`)
  await runHere(
    'npm',
    'install',
    '--silent',
    '--prefer-offline',
    '--no-audit',
    '--no-fund',
    ...tarballs,
    ...others,
  )
  return {
    directory,
    async write(name, text) {
      const file = join(directory, name)
      await writeFile(file, text)
      return file
    },
    run: runHere,
    remove: () => rm(directory, { recursive: true, force: true }),
  }
}

/** What examples import beside our packages; as the repository has it. */
const OF_EXAMPLES = ['canonicalize']

let everything: Promise<Project> | undefined
/**
 * A project with all packages and with what examples need, made once in a process. Nothing that an install would run was run, so whatever
 * works there needs no compiler.
 */
export const installedPackages = (): Promise<Project> => {
  everything ??= (async () => {
    await makePackages()
    const { dependencies } = JSON.parse(await readFile(join(ROOT, 'package.json'), 'utf8'))
    const project = await createProject(
      ['assay', ...LIBRARIES.map(({ suffix }) => `assay${suffix}`)],
      ['--ignore-scripts', ...OF_EXAMPLES.map((name) => `${name}@${dependencies[name]}`)],
    )
    atEndOfRun(project.remove)
    return project
  })()
  return everything
}

interface Locked {
  readonly dependencies?: Readonly<Record<string, string>>
  readonly optionalDependencies?: Readonly<Record<string, string>>
}

/** @returns where a package, and all that was installed for its sake, lies in a project: `node_modules/…`, itself first */
export const broughtBy = async ({ directory }: Project, name: string): Promise<string[]> => {
  const { packages } = JSON.parse(await readFile(join(directory, 'package-lock.json'), 'utf8')) as {
    readonly packages: Readonly<Record<string, Locked>>
  }
  /** As Node looks for it: beside the one that asks, then further up. Optional ones, for other machines, are nowhere. */
  const find = (from: string, dependency: string): string | undefined => {
    const place = join(from, 'node_modules', dependency)
    if (existsSync(join(directory, place))) return place
    return from === '.' ? undefined : find(dirname(from), dependency)
  }
  const found = new Set<string>()
  const walk = (place: string | undefined): void => {
    if (place === undefined || found.has(place)) return
    found.add(place)
    const { dependencies, optionalDependencies } = packages[place] as Locked
    for (const one of Object.keys({ ...dependencies, ...optionalDependencies })) walk(find(place, one))
  }
  walk(find('.', name))
  return [...found]
}

/**
 * The program at the start of a package's README, made one of a server that is there.
 * @param before what the README takes for granted @param replaced its texts by those that hold here
 * @param heading that of another program of the README, which begins below it
 */
export const startOf = async (
  name: string,
  replaced: Readonly<Record<string, string>>,
  before = '',
  heading = '# ',
): Promise<string> => {
  const readme = await readFile(join(PACKAGES, name, 'README.md'), 'utf8')
  const from = `\n${readme}`.indexOf(`\n${heading}`)
  if (from === -1) throw new Error(`the README of ${name} has no heading ${heading}`)
  const [, program = ''] = /```js\n([\s\S]*?)```/.exec(readme.slice(from)) ?? []
  const lines = program.trimEnd().split('\n').length
  if (lines > 25) throw new Error(`the start of ${name} has ${lines} lines`)
  const [imports, rest] = [program.match(/^import .*$/gm) ?? [], program.replace(/^import .*$/gm, '')]
  const text = Object.entries(replaced).reduce((all, [from, to]) => {
    if (!all.includes(from)) throw new Error(`the start of ${name} does not have ${from}`)
    return all.replaceAll(from, to)
  }, rest)
  return `${imports.join('\n')}\n${before}\n${text}`
}

/** Those of TypeScript itself, which are the same each time. */
const libraries = new Map<string, ts.SourceFile | undefined>()

/** @returns what the compiler says of a program, resolving imports in one of its ways */
export const typeFaults = (file: string, resolution: 'Node16' | 'NodeNext' | 'Bundler'): string[] => {
  const options: ts.CompilerOptions = {
    strict: true,
    noEmit: true,
    allowImportingTsExtensions: resolution === 'Bundler',
    types: [],
    lib: ['lib.es2022.d.ts', 'lib.dom.d.ts'],
    target: ts.ScriptTarget.ES2022,
    module: resolution === 'Bundler' ? ts.ModuleKind.ESNext : ts.ModuleKind[resolution],
    moduleResolution: ts.ModuleResolutionKind[resolution],
  }
  const host = ts.createCompilerHost(options)
  const read = host.getSourceFile
  host.getSourceFile = (name, ...rest) => {
    if (!name.includes('/typescript/lib/')) return read(name, ...rest)
    if (!libraries.has(name)) libraries.set(name, read(name, ...rest))
    return libraries.get(name)
  }
  return ts
    .getPreEmitDiagnostics(ts.createProgram([file], options, host))
    .map(({ messageText, file, start = 0 }) => {
      const { line } = file?.getLineAndCharacterOfPosition(start) ?? { line: 0 }
      return `${file?.text.split('\n')[line]?.slice(0, 120)}: ${ts.flattenDiagnosticMessageText(messageText, ' ')}`
    })
}
