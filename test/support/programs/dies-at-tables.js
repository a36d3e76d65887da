/** A thread that ends when it is to make a slice of tables. */
// biome-ignore lint/style/noDefaultExport: the pool calls the default export
export default (task) => {
  if ('warm' in task) return undefined
  if (task.slice === undefined) return { bytes: 64, slices: 2 }
  return process.exit(1)
}
