/**
 * The programs that README.md and docs/ show, as files that compile and run. A program stands in the lines that it has in its
 * document, so that whatever is said of a line is said of the document's. What it takes for granted is exported by the file of
 * `given/` with the document's name, whose `checks`, one for each program, are handed what the program declared.
 */
import { existsSync } from 'node:fs'
import { mkdtemp, writeFile } from 'node:fs/promises'
import { basename, join } from 'node:path'
import ts from 'typescript'
import { writeClientSource } from '../../../src/bin/packages/client-source.ts'
import { LIBRARIES } from '../../../src/bin/packages/table.ts'
import { describeApi } from '../../../src/server/api-description.ts'
import { routes } from '../../../src/server/routes.ts'
import { ROOT, read } from '../sources.ts'
import { type CodeBlock, codeBlocks, readDocuments, valuesOf } from './code-blocks.ts'

const GIVEN = 'test/support/docs/given'
/** What a program that returns is handed over as: the function that its lines are the body of. */
const ANSWER = 'answer'

export interface DocumentProgram {
  readonly document: string
  /** Of the first opening fence, 1-based. */
  readonly line: number
  /** js is run; its types are not checked. */
  readonly language: string
  /** Why it isn't; empty: it is. */
  readonly notRun: readonly string[]
  readonly text: string
}

const namesOf = (name: ts.BindingName): string[] =>
  ts.isIdentifier(name)
    ? [name.text]
    : name.elements.flatMap((element) => (ts.isOmittedExpression(element) ? [] : namesOf(element.name)))

const importedNames = ({ importClause }: ts.ImportDeclaration): string[] => {
  const named = importClause?.namedBindings
  if (importClause?.phaseModifier === ts.SyntaxKind.TypeKeyword || !named) return []
  return ts.isNamedImports(named)
    ? named.elements.filter(({ isTypeOnly }) => !isTypeOnly).map(({ name }) => name.text)
    : [named.name.text]
}

/** Values that a statement declares or imports. */
const declaredNames = (statement: ts.Statement): string[] => {
  if (ts.isImportDeclaration(statement)) return importedNames(statement)
  if (ts.isVariableStatement(statement))
    return statement.declarationList.declarations.flatMap(({ name }) => namesOf(name))
  return ts.isFunctionDeclaration(statement) && statement.name ? [statement.name.text] : []
}

/** Values that a statement exports. */
const exportedNames = (statement: ts.Statement): string[] => {
  if (
    ts.isExportDeclaration(statement) &&
    statement.exportClause &&
    ts.isNamedExports(statement.exportClause)
  )
    return statement.exportClause.elements.map(({ name }) => name.text)
  const modifiers = ts.canHaveModifiers(statement) ? (ts.getModifiers(statement) ?? []) : []
  return modifiers.some(({ kind }) => kind === ts.SyntaxKind.ExportKeyword) ? declaredNames(statement) : []
}

const parse = (text: string): ts.SourceFile => ts.createSourceFile('', text, ts.ScriptTarget.Latest, true)

const returns = (node: ts.Node): boolean =>
  ts.isReturnStatement(node) ||
  (!ts.isFunctionLike(node) && (ts.forEachChild(node, (child) => returns(child) || undefined) ?? false))

/** Lines as the body of a function, apart from their imports. */
const asFunction = ({ lines }: CodeBlock, { statements, text }: ts.SourceFile): readonly string[] => {
  const end = statements.findLast(ts.isImportDeclaration)?.end ?? 0
  const at = text.slice(0, end).split('\n').length - 1
  return lines.with(at, `${lines[at]}; const ${ANSWER} = async () => {`)
}

/** @param index of the program among those of its document */
const programOf = (document: string, blocks: readonly CodeBlock[], index: number): DocumentProgram => {
  const name = basename(document, '.md').toLowerCase()
  const given = `${GIVEN}/${name}.ts`
  const [{ line, language } = { line: 0, language: '' }] = blocks
  if (!existsSync(join(ROOT, given))) throw new Error(`${document}:${line}: nothing is ${given}`)
  const declared: string[] = []
  const handed: string[] = []
  const lines: string[] = []
  for (const block of blocks) {
    const source = parse(block.lines.join('\n'))
    const isBody = source.statements.some(returns)
    declared.push(...source.statements.flatMap(declaredNames))
    handed.push(...(isBody ? [ANSWER] : source.statements.flatMap(declaredNames)))
    for (const [at, text] of (isBody ? asFunction(block, source) : block.lines).entries())
      lines[block.line + at] = text
    lines[block.line + block.lines.length] = isBody ? '}' : ''
  }
  const notRun = blocks.flatMap((block) => valuesOf(block, 'not run'))
  const taken = parse(read(given))
    .statements.flatMap(exportedNames)
    .filter((name) => !declared.includes(name))
  lines[0] = `import { ${taken.join(', ')} } from '../../${given}'`
  if (notRun.length === 0)
    lines[lines.length - 1] += `; const declared = { ${handed.join(', ')} }; await checks[${index}](declared)`
  return { document, line, language, notRun, text: Array.from(lines, (text) => text ?? '').join('\n') }
}

/** Blocks of a document by program: most are one, some go on with the one before. */
const grouped = (blocks: readonly CodeBlock[]): CodeBlock[][] => {
  const programs: CodeBlock[][] = []
  for (const block of blocks) {
    const last = valuesOf(block, 'program').includes('continued') && programs.at(-1)
    if (last) last.push(block)
    else programs.push([block])
  }
  return programs
}

/** @throws Error where nothing says what a program takes for granted */
export const documentPrograms = (): DocumentProgram[] =>
  readDocuments().flatMap(({ name, text }) =>
    grouped(codeBlocks(text, 'ts', 'js')).map((blocks, index) => programOf(name, blocks, index)),
  )

/** The name that it is written under. */
export const fileOf = ({ document, line, language }: DocumentProgram): string =>
  `${basename(document, '.md')}-${line}.${language}`

const writeConfiguration = (directory: string, files: readonly string[]): Promise<void> => {
  const published = LIBRARIES.flatMap(({ suffix, entries }) =>
    entries.map(({ path, source }) => [`assay${suffix}${path.slice(1)}`, [`../../${source}`]]),
  )
  // As readers have it who ask for no more than strict types.
  const compilerOptions = {
    types: ['node'],
    noUnusedLocals: false,
    noUnusedParameters: false,
    noUncheckedIndexedAccess: false,
    paths: { ...Object.fromEntries(published), 'assay-client': ['./index.ts'] },
  }
  const content = { extends: '../../tsconfig.json', compilerOptions, files, include: [] }
  return writeFile(join(directory, 'tsconfig.json'), JSON.stringify(content))
}

/**
 * Writes programs into a new folder of build/, where their imports lead to what the packages are made of.
 * @param here of a text of the documents, what holds on this machine
 * @returns the folder; remove it
 */
export const writePrograms = async (
  programs: readonly DocumentProgram[],
  here: (text: string) => string = (text) => text,
): Promise<string> => {
  const directory = await mkdtemp(join(ROOT, 'build/programs-'))
  const named = routes.filter(({ name }) => programs.some(({ text }) => text.includes(name)))
  await writeClientSource(directory, describeApi(named, 'https://assay.example.org'))
  for (const program of programs) await writeFile(join(directory, fileOf(program)), here(program.text))
  await writeConfiguration(directory, programs.filter(({ language }) => language === 'ts').map(fileOf))
  return directory
}

/** Where the compiler finds what a checkout has under `assay/…`: in the sources, since declarations may not be built. */
const ownPaths = (): Record<string, string[]> => {
  const { exports } = JSON.parse(read('package.json')) as { exports: Record<string, { types: string }> }
  return Object.fromEntries(
    Object.entries(exports).map(([path, { types }]) => [
      `assay${path.slice(1)}`,
      [types.replace('./build/types', '../..').replace(/\.d\.ts$/, '.ts')],
    ]),
  )
}

/** @returns what the compiler says of programs that were written, by document and line */
export const typeFaultsOf = (directory: string, programs: readonly DocumentProgram[]): string[] => {
  const { fileNames, options } = ts.getParsedCommandLineOfConfigFile(
    join(directory, 'tsconfig.json'),
    undefined,
    {
      ...ts.sys,
      onUnRecoverableConfigFileDiagnostic: ({ messageText }) => {
        throw new Error(ts.flattenDiagnosticMessageText(messageText, ' '))
      },
    },
  ) as ts.ParsedCommandLine
  const compiler = ts.createProgram(fileNames, { ...options, paths: { ...options.paths, ...ownPaths() } })
  return programs.flatMap((program) => {
    const source = compiler.getSourceFile(join(directory, fileOf(program)))
    if (!source) return []
    return [...compiler.getSyntacticDiagnostics(source), ...compiler.getSemanticDiagnostics(source)].map(
      ({ start = 0, messageText }) => {
        const { line } = source.getLineAndCharacterOfPosition(start)
        return `${program.document}:${line + 1}: ${ts.flattenDiagnosticMessageText(messageText, ' ')}`
      },
    )
  })
}
