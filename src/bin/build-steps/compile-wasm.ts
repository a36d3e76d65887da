/**
 * A process that compiles modules of assembly/, one after the other, for which the compiler gets ready once. Started by
 * build-wasm.ts in the root of the repository, without the loader of TypeScript: that would read the compiler's 14
 * megabytes too, which takes longer than compiling.
 * @module
 */
import asc from 'assemblyscript/asc'

/** @throws Error with what the compiler says */
const compile = async (args: string[]): Promise<void> => {
  const { error, stderr } = await asc.main(args)
  if (error) throw new Error(`${args.join(' ')}\n${stderr.toString()}`, { cause: error })
}

// The arguments of the compiler for each module, as JSON.
for (const args of process.argv.slice(1)) await compile(JSON.parse(args))
