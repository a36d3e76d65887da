/** Every regular expression in the sources, and every pattern of a schema, as they stand there. */
import { readdirSync, readFileSync } from 'node:fs'
import { dirname, join, relative } from 'node:path'
import ts from 'typescript'

const ROOT = join(import.meta.dirname, '../..')
const LITERAL = /^\/(.*)\/([a-z]*)$/s

export interface Pattern {
  /** File and line. */
  readonly at: string
  readonly source: string
  readonly flags: string
}

interface Found {
  readonly patterns: readonly Pattern[]
  /** Where a pattern is put together from what the sources don't say: `file:line`, and the expression. */
  readonly unknown: readonly { readonly at: string; readonly text: string }[]
}

const parsed = new Map<string, ts.SourceFile>()
const parse = (file: string): ts.SourceFile => {
  const known = parsed.get(file)
  if (known) return known
  const source = ts.createSourceFile(file, readFileSync(file, 'utf8'), ts.ScriptTarget.Latest, true)
  parsed.set(file, source)
  return source
}

/** The value of a constant of the module, or of one that it imports. */
const constant = (name: string, source: ts.SourceFile): string | undefined => {
  for (const statement of source.statements) {
    if (ts.isVariableStatement(statement)) {
      for (const { name: declared, initializer } of statement.declarationList.declarations)
        if (declared.getText() === name && initializer) return textOf(initializer, source)
    }
    if (!ts.isImportDeclaration(statement) || !ts.isStringLiteral(statement.moduleSpecifier)) continue
    const { namedBindings } = statement.importClause ?? {}
    if (
      !namedBindings ||
      !ts.isNamedImports(namedBindings) ||
      !statement.moduleSpecifier.text.startsWith('.')
    )
      continue
    const imported = namedBindings.elements.find((element) => element.name.text === name)
    if (imported) {
      const file = join(dirname(source.fileName), statement.moduleSpecifier.text)
      return constant((imported.propertyName ?? imported.name).text, parse(file))
    }
  }
  return undefined
}

/** What an expression of constants comes to; undefined for any other. */
const textOf = (node: ts.Expression, source: ts.SourceFile): string | undefined => {
  if (ts.isStringLiteralLike(node)) return node.text
  if (ts.isNumericLiteral(node)) return String(Number(node.text))
  if (ts.isIdentifier(node)) return constant(node.text, source)
  if (ts.isAsExpression(node) || ts.isParenthesizedExpression(node)) return textOf(node.expression, source)
  // `PATTERN.source`
  if (ts.isPropertyAccessExpression(node) && node.name.text === 'source') {
    const text = ts.isIdentifier(node.expression) ? constant(node.expression.text, source) : undefined
    return text === undefined ? undefined : LITERAL.exec(text)?.[1]
  }
  if (ts.isRegularExpressionLiteral(node)) return node.text
  if (ts.isBinaryExpression(node)) {
    const [left, right] = [textOf(node.left, source), textOf(node.right, source)]
    if (left === undefined || right === undefined) return undefined
    const areNumbers = [left, right].every((side) => /^\d+$/.test(side))
    if (node.operatorToken.kind === ts.SyntaxKind.MinusToken) return String(Number(left) - Number(right))
    if (node.operatorToken.kind !== ts.SyntaxKind.PlusToken) return undefined
    return areNumbers ? String(Number(left) + Number(right)) : left + right
  }
  if (!ts.isTemplateExpression(node)) return undefined
  let text = node.head.text
  for (const { expression, literal } of node.templateSpans) {
    const part = textOf(expression, source)
    if (part === undefined) return undefined
    text += part + literal.text
  }
  return text
}

/** Patterns below a folder of the repository. */
export const findPatterns = (folder: string): Found => {
  const patterns: Pattern[] = []
  const unknown: { at: string; text: string }[] = []
  const files = readdirSync(join(ROOT, folder), { recursive: true, encoding: 'utf8' })
  for (const name of files.filter((file) => /\.tsx?$/.test(file))) {
    const source = parse(join(ROOT, folder, name))
    const visit = (node: ts.Node): void => {
      const { line } = source.getLineAndCharacterOfPosition(node.getStart())
      const at = `${relative(ROOT, source.fileName)}:${line + 1}`
      const add = (expression: ts.Expression, flags: string): void => {
        const text = textOf(expression, source)
        if (text === undefined) unknown.push({ at, text: expression.getText() })
        else {
          const [, written = text, writtenFlags = flags] = LITERAL.exec(text) ?? []
          patterns.push({ at, source: written, flags: writtenFlags })
        }
      }
      if (ts.isRegularExpressionLiteral(node)) add(node, '')
      const isConstructed =
        (ts.isNewExpression(node) || ts.isCallExpression(node)) && node.expression.getText() === 'RegExp'
      if (isConstructed && node.arguments?.[0]) {
        const flags = node.arguments[1]
        add(node.arguments[0], flags && ts.isStringLiteralLike(flags) ? flags.text : '')
      }
      // Of schemas; ajv compiles them with this flag.
      if (ts.isPropertyAssignment(node) && node.name.getText() === 'pattern') add(node.initializer, 'u')
      ts.forEachChild(node, visit)
    }
    visit(source)
  }
  return { patterns, unknown }
}
