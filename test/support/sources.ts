/** The sources as text: which files there are, what they import, how long their functions are. @module */
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join, posix } from 'node:path'
import ts from 'typescript'

export const ROOT = join(import.meta.dirname, '../..')

/** Paths from the root, sorted; none where there is no such folder. Of `.ts` there are two kinds: those of components are `.tsx`. */
export const filesBelow = (folder: string, extension: string): string[] =>
  existsSync(join(ROOT, folder))
    ? readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
        .filter((name) => name.endsWith(extension) || (extension === '.ts' && name.endsWith('.tsx')))
        .map((name) => posix.join(folder, name))
        .sort()
    : []

export const read = (file: string): string => readFileSync(join(ROOT, file), 'utf8')

export interface Import {
  from: string
  /** A path from the root for our own files, else the package's name. */
  to: string
  typeOnly: boolean
}

const packageName = (specifier: string): string =>
  specifier.startsWith('node:')
    ? 'node:'
    : specifier
        .split('/')
        .slice(0, specifier.startsWith('@') ? 2 : 1)
        .join('/')

export const importsOf = (file: string): Import[] => {
  const source = ts.createSourceFile(file, read(file), ts.ScriptTarget.Latest, true)
  const found: Import[] = []
  const add = (specifier: ts.Expression | undefined, typeOnly: boolean) => {
    if (!specifier || !ts.isStringLiteral(specifier)) return
    const name = specifier.text
    const to = name.startsWith('.') ? posix.join(posix.dirname(file), name) : packageName(name)
    found.push({ from: file, to, typeOnly })
  }
  const visit = (node: ts.Node): void => {
    if (ts.isImportDeclaration(node))
      add(node.moduleSpecifier, node.importClause?.phaseModifier === ts.SyntaxKind.TypeKeyword)
    else if (ts.isExportDeclaration(node)) add(node.moduleSpecifier, node.isTypeOnly)
    else if (ts.isImportTypeNode(node) && ts.isLiteralTypeNode(node.argument))
      add(node.argument.literal, true)
    else if (ts.isCallExpression(node) && node.expression.kind === ts.SyntaxKind.ImportKeyword)
      add(node.arguments[0], false)
    ts.forEachChild(node, visit)
  }
  visit(source)
  return found
}

interface WrittenFunction {
  readonly name: string
  /** Lines with code of its own: those of functions inside it, comments and empty lines are not counted. */
  readonly lines: number
}

export const functionsOf = (file: string): WrittenFunction[] => {
  const text = read(file)
  const code = text.split('\n').map((line) => !/^\s*(\/\/|\/?\*|$)/.test(line))
  const source = ts.createSourceFile(file, text, ts.ScriptTarget.Latest, true)
  const lineAt = (position: number) => source.getLineAndCharacterOfPosition(position).line
  const found: { name: string; own: Set<number> }[] = []
  const visit = (node: ts.Node, outer: Set<number> | undefined): void => {
    let own = outer
    if (ts.isFunctionLike(node) && 'body' in node && node.body) {
      const first = lineAt(node.getStart(source))
      const lines = Array.from({ length: lineAt(node.getEnd()) - first + 1 }, (_, i) => first + i)
      // The line where it begins is also that of the function around it.
      for (const line of lines.slice(1)) outer?.delete(line)
      own = new Set(lines.filter((line) => code[line]))
      const named = node.name ?? (ts.isVariableDeclaration(node.parent) ? node.parent.name : undefined)
      found.push({ name: named?.getText(source) ?? `line ${first + 1}`, own })
    }
    ts.forEachChild(node, (child) => visit(child, own))
  }
  visit(source, undefined)
  return found.map(({ name, own }) => ({ name, lines: own.size }))
}
